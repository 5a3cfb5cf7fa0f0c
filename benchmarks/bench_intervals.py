"""Coverage of the intervals of ``compare``, and false alarms of its tests, by simulation.

Pairs of similarity sets share words, so they are not independent. Real vectors (``--run``) show by
how much, on the tuning sets: the correlation of the judgments, of the errors and of the influences
of two pairs that share a word. Simulated judgments and two equally good runs have word effects of
this size on the words of real sets; of the reporting sets only the words of each pair are read.
Drawing pairs, drawing words, and drawing pairs with a spread widened for shared words (which is
what ``compare`` does) are then compared. The same is done with the pairs of SCWS.

Units: questions of an analogy set share their pairs, items of odd one out their topic, minimal
pairs their paradigm. Simulated runs are equally good over all possible units, which differ in
difficulty; drawing single items is compared with drawing units.

Clusterings: how much a score moves with the seed on the first run, and whether intervals contain
the mean score of samples of planted categories, for one clustering and for ten.

Collocates: texts of documents with known rates of a query and of a word near and far from it, even
or clustered (a few documents have most hits, and share of the word near them; its rate elsewhere
varies as well). How often the intervals of each measure hold the value of the rates, of words that
stand near at least 5 times, and how often that of the log odds ratio would if it were read from the
shrunken score.

    python benchmarks/bench_intervals.py --run A --run B --json benchmarks/results/intervals.json

``--part`` measures some parts only; the others stay in the JSON as they are, and so do word effects
that ``--effects`` leaves out.
"""

import argparse
import json
import math
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from itertools import permutations
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles
from scipy.stats import rankdata, spearmanr
from sklearn.cluster import KMeans
from threadpoolctl import threadpool_limits

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.store.collocates import MEASURES, Counts, log_odds
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.lookup import finite_units
from firth.embed.compare.statistics.bootstrap import Resampled, draw_counts, interval, resample
from firth.embed.compare.statistics.estimators import Contingency, Correlation, Means
from firth.embed.compare.statistics.significance import paired
from firth.embed.compare.tasks.categorization import METRICS, CategorizationTask, cluster_words
from firth.embed.compare.tasks.similarity import SimilarityTask
from firth.embed.compare.tasks.word_task import WordTask
from firth.embed.compare.tasks.words_in_context import ContextsTask
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import StaticVectors

ROLE = roles.REPORTING  # chooses nothing by scores
TUNING_SETS = ("mturk287", "rg65")
SETS = (*TUNING_SETS, "ws353", "simlex999")
CONTEXTS = "scws"
REPLICATES = 400
CORRELATION = 0.5  # of judgments and cosines, before word effects
# Share of the variance of judgments that each of the two words has, the same of errors, and the
# deviation of the slope of cosines over judgments by word: runs are better on some words.
EFFECTS = {
    "none": (0.0, 0.0, 0.0), "weak": (0.1, 0.12, 0.15), "strong": (0.15, 0.2, 0.3),
    "strongest": (0.3, 0.35, 0.6),
}  # fmt: skip
WAYS = ("pairs", "words", "widened")
# Deviation of the difficulty of units beside a noise of 1, and its correlation between two runs. Of
# minimal pairs, accuracies of paradigms then have the deviation .25 and the correlation .7.
DIFFICULTY, IN_COMMON = 0.79, 0.71
PLANTED = {"words": 240, "categories": 20, "dim": 50}
NOISE = (1.2, 2.0)  # beside category centers of deviation 1
SEEDS = 12
# Documents; words of a document, and near a hit; the rate of a word elsewhere; the shape of gamma
# rates in clustered documents, where shares of the word near hits have the correlation RHO.
DOCUMENTS, LENGTH, AROUND, FAR, SHAPE, RHO = (30, 300), 400, 8, (0.00005, 0.003), 0.3, 0.3
HITS = {20: 0.5, 60: 0.3, 200: 0.1, 1000: 0.05, 5000: 0.1}  # with the share that has the word


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, more=_own_options)
    machine, path = harness.machine(), arguments.json
    figures = json.loads(path.read_text()) if path and path.exists() else {}
    for part in arguments.part or PARTS:
        about = {"machine": machine, "simulations": arguments.simulations}
        before = figures.get(part, {})
        figures[part] = about | PARTS[part](arguments)
        if arguments.effects and "structure" in figures[part]:
            figures[part]["rows"] = merged(before.get("rows", []), figures[part]["rows"])
            figures[part]["machine_of_other_rows"] = before.get("machine")
        if path:
            write_json(path, figures)


def merged(before: Sequence[dict[str, Any]], new: Sequence[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return rows by set and effects, the new ones in place of earlier ones."""
    rows = {(row["set"], row["effects"]): row for row in (*before, *new)}
    sets, sizes = list(dict.fromkeys(name for name, _ in rows)), list(EFFECTS)
    return [rows[key] for key in sorted(rows, key=lambda k: (sets.index(k[0]), sizes.index(k[1])))]


def real_vectors(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return what real vectors show: effects of words, and how clusterings move with their seed."""
    if not arguments.run:
        sys.exit("pass --run, or --part without vectors")
    vectors = {run.name: load_vectors(run) for run in arguments.run}
    found = [
        {"set": name, "run": run, **effects(read(name), each)}
        for name in TUNING_SETS
        for run, each in vectors.items()
    ]
    show("real vectors", found)
    of_clusters = starts(next(iter(vectors.values())))
    show("starts of k-means", of_clusters)
    return {"found": found, "starts": of_clusters}


def shared_words(tasks: Mapping[str, WordTask], arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate runs on the words of real sets, whose pairs share words."""
    words = {name: words_of(task) for name, task in tasks.items()}
    rows = [
        {"set": name, "effects": size, **similarity(each, size, arguments)}
        for name, each in words.items()
        for size in arguments.effects or EFFECTS
    ]
    show("pairs that share words", rows)
    return {"structure": {name: structure(each) for name, each in words.items()}, "rows": rows}


def shared_units(arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate runs on sets whose items share units."""
    rows = [{"set": name, **accuracy(units, arguments)} for name, units in unit_sets()]
    show("items that share units", rows)
    return {"rows": rows}


def clusterings(arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate samples of planted categories."""
    rows = [each for noise in NOISE for each in planted(noise, arguments)]
    show("clusterings", rows)
    return {"rows": rows}


def collocates(arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate texts with a collocate; return how often intervals hold its true association."""
    rng, n_texts = np.random.default_rng(4), arguments.simulations
    rows = [
        {"documents": documents, "text": text, "far": far, "hits": hits,
         **collocate(documents, text == "clustered", far, (hits, share), rng, n_texts)}
        for documents in DOCUMENTS
        for text in ("even", "clustered")
        for far in FAR
        for hits, share in HITS.items()
    ]  # fmt: skip
    show("collocates", rows)
    return {"rows": rows, "by_hits": summary_by_hits(rows)}


def collocate(
    documents: int, clustered: bool, far: float, query: tuple[int, float],
    rng: np.random.Generator, simulations: int,
) -> dict[str, Any]:  # fmt: skip
    """Return the coverage of each measure in samples of one text."""
    hits, share = query
    near, others = hits * share, documents * LENGTH * far
    # of all draws: the same rates as one unit of text, where half a token has no weight
    whole = [np.array([[n * 1e9]]) for n in (near, hits * AROUND, others, documents * LENGTH)]
    rates = Counts(*whole, np.zeros(1), np.array([[hits * 1e9]]))
    covers: dict[str, list[bool]] = {name: [] for name in (*MEASURES, "shrunken")}
    widths = []
    while len(widths) < simulations:
        units = drawn_text(documents, clustered, far, query, rng)
        if units.near.sum() < 5:
            continue
        for name, measure in MEASURES.items():
            true, _, _ = measure.interval(rates)
            _, low, high = measure.interval(units)
            covers[name].append(bool(low[0] <= true[0] <= high[0]))
        value, low, high = MEASURES["log-odds"].interval(units)
        widths.append(float(high[0] - low[0]))
        true, _, _ = MEASURES["log-odds"].interval(rates)
        totals = [count.sum(0) for count in (units.near, units.n_near, units.other, units.n_other)]
        prior = (totals[0] + totals[2]) / (totals[1] + totals[3])
        score = log_odds(Counts(*totals, prior, units.n_hits.sum(0)))
        covers["shrunken"].append(bool((low + score - value <= true <= high + score - value)[0]))
    del covers["log-likelihood"]  # its interval is that of log-odds
    coverage = {name: round(float(np.mean(held)), 3) for name, held in covers.items()}
    return {"covers": coverage, "width": round(float(np.median(widths)), 2)}


def drawn_text(
    documents: int, clustered: bool, far: float, query: tuple[int, float], rng: np.random.Generator
) -> Counts:
    """Draw counts by document."""
    hits, share = query
    rate, apart = np.full((2, documents), [[hits / documents], [far]])
    shares, lengths = np.full(documents, share), np.full(documents, float(LENGTH))
    if clustered:
        rate, apart = (each * rng.gamma(SHAPE, 1 / SHAPE, documents) for each in (rate, apart))
        shares = rng.beta(share * (1 / RHO - 1), (1 - share) * (1 / RHO - 1), documents)
        lengths *= rng.lognormal(-0.32, 0.8, documents)
    n_hits, n_other = rng.poisson(rate), rng.poisson(lengths)
    near, other = rng.binomial(n_hits, shares), rng.poisson(lengths * apart)
    columns = (near, n_hits * AROUND, np.minimum(other, n_other), n_other)
    return Counts(*(column[:, None] for column in columns), np.zeros(1), n_hits[:, None])


def summary_by_hits(rows: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return the lowest and the highest coverage by kind of text and number of hits."""
    found: dict[tuple[str, int], list[dict[str, float]]] = {}
    for row in rows:
        found.setdefault((row["text"], row["hits"]), []).append(row["covers"])
    return [
        {"text": text, "hits": hits, **{
            name: {"lowest": min(each[name] for each in covers),
                   "highest": max(each[name] for each in covers)}
            for name in covers[0]
        }}
        for (text, hits), covers in found.items()
    ]  # fmt: skip


def read(name: str) -> SimilarityTask:
    """Read a set of word pairs."""
    return SimilarityTask.read(roles.open_set(name, role=ROLE), CompareConfig())


def read_contexts() -> ContextsTask:
    """Read the pairs of words in context."""
    return ContextsTask.read(roles.open_set(CONTEXTS, role=ROLE), CompareConfig())


def words_of(task: WordTask) -> np.ndarray:
    """Return the numbers of the words of each pair."""
    # returns int64 (P, 2)
    words = [text.casefold() for pair in task.items() for text in pair]
    return np.unique(words, return_inverse=True)[1].reshape(-1, 2)


def structure(words: np.ndarray) -> dict[str, float]:
    """Describe how pairs share words."""
    used = np.bincount(words.ravel())
    others = sharing(words).sum() / len(words)
    return {
        "pairs": len(words), "words": len(used), "most_pairs_of_a_word": int(used.max()),
        "others_sharing": round(float(others), 2),
    }  # fmt: skip


def sharing(words: np.ndarray) -> np.ndarray:
    """Return which two different pairs share a word."""
    # returns bool (P, P)
    found = (words[:, None, :, None] == words[None, :, None, :]).any(axis=(2, 3))
    np.fill_diagonal(found, val=False)
    return found


def effects(task: SimilarityTask, vectors: StaticVectors) -> dict[str, float]:
    """Return correlations between pairs that share a word, of one run on one set."""
    [measured, _] = task.measure(vectors, task.known(vectors))
    statistic = measured.statistic
    assert isinstance(statistic, Correlation)
    assert measured.words is not None
    found = resample(statistic, draw_counts(len(measured.items), 100, 1, ""), measured.words)
    judged, cosines = (_standardized(rankdata(each)) for each in (statistic.x, statistic.y))
    errors = cosines - (judged @ cosines / len(judged)) * judged
    assert found.sharing is not None
    series = {"judgments": judged, "errors": errors, "influences": found.sharing.influences}
    shared = sharing(measured.words)
    return {
        "items": len(measured.items),
        **{name: round(_within(each, shared), 3) for name, each in series.items()},
        "inflation": round(found.sharing.inflation(), 3),
    }


def similarity(words: np.ndarray, size: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate judgments and two equally good runs; return coverage, width and false alarms."""
    rng, shared = np.random.default_rng([1, len(words)]), sharing(words)
    apart = np.arange(800_000).reshape(-1, 2)
    same = round(float((words[:, 0] == words[:, 1]).mean()) * len(apart))
    apart[:same, 1] = apart[:same, 0]  # as many pairs of a word with itself
    judged, *runs = drawn(apart, EFFECTS[size], rng)
    true = float(np.mean([spearmanr(judged, run)[0] for run in runs]))
    by_pair = draw_counts(len(words), REPLICATES, 1, "set")
    by_word = draw_counts(len(words), REPLICATES, 1, "set", words)
    found: dict[str, list[tuple[bool, float, bool]]] = {way: [] for way in WAYS}
    influences = []
    for _ in range(arguments.simulations):
        judged, *runs = drawn(words, EFFECTS[size], rng)
        statistics = [Correlation(judged, run, True) for run in runs]
        widened = [resample(each, by_pair, words) for each in statistics]
        ways = {
            "pairs": [replace(each, sharing=None) for each in widened],
            "words": [resample(each, by_word) for each in statistics],
            "widened": widened,
        }
        for way, two in ways.items():
            low, high = interval(two[0])
            found[way].append((low <= true <= high, high - low, paired(*two).p <= 0.05))
        influences += [_within(each.sharing.influences, shared) for each in widened if each.sharing]
    return {"influences": round(float(np.mean(influences)), 3), **_means(found)}


def _means(found: Mapping[str, Sequence[tuple[bool, float, bool]]]) -> dict[str, dict[str, float]]:
    """Return by way the mean coverage, width and share of false alarms."""
    return {
        way: dict(
            zip(
                ("covers", "width", "false_alarms"),
                np.mean(each, axis=0).round(3).tolist(),
                strict=True,
            )
        )
        for way, each in found.items()
    }


def drawn(
    words: np.ndarray, sizes: tuple[float, float, float], rng: np.random.Generator
) -> list[np.ndarray]:
    """Draw judgments and the cosines of two equally good runs for pairs of words."""
    of_judgments, of_errors, of_slopes = sizes

    def by_word() -> np.ndarray:
        return np.asarray(rng.normal(size=words.max() + 1)[words].sum(axis=1))

    own, common = rng.normal(size=(2, len(words)))
    judged = math.sqrt(1 - 2 * of_judgments) * own + math.sqrt(of_judgments) * by_word()
    runs = []
    for _ in range(2):
        error = 0.8 * common + 0.6 * rng.normal(size=len(words))
        error = math.sqrt(1 - 2 * of_errors) * error + math.sqrt(of_errors) * by_word()
        slope = CORRELATION + of_slopes * by_word()
        runs.append(slope * judged + math.sqrt(1 - CORRELATION**2) * error)
    return [judged, *runs]


def unit_sets() -> list[tuple[str, np.ndarray]]:
    """Return sets with the units of each item, int64 (n_items, k)."""
    questions = [np.array(list(permutations(range(n), 2))) for n in (10, 20, 40, 80)]
    minimal_pairs = [np.repeat(np.arange(67), n)[:, None] for n in (40, 1000)]
    return [
        *(("analogies", units) for units in questions),
        ("odd one out", np.repeat(np.arange(8), 8)[:, None]),
        *(("minimal pairs", units) for units in minimal_pairs),
    ]


def accuracy(units: np.ndarray, arguments: argparse.Namespace) -> dict[str, Any]:
    """Simulate two equally good runs; return coverage, width and false alarms."""
    # units: int64 (n_items, k)
    rng, n_units = np.random.default_rng([3, len(units)]), int(units.max()) + 1
    draws = {
        "by item": (draw_counts(len(units), REPLICATES, 1, "set"), None),
        "by unit": (draw_counts(len(units), REPLICATES, 1, "set", units), units),
    }
    found: dict[str, list[tuple[bool, float, bool]]] = {way: [] for way in draws}
    for _ in range(arguments.simulations):
        common, *own = rng.normal(size=(3, n_units))
        runs = []
        for each in own:
            eased = math.sqrt(IN_COMMON) * common + math.sqrt(1 - IN_COMMON) * each
            latent = DIFFICULTY * eased[units].sum(axis=1) + rng.normal(size=len(units))
            runs.append(Means(latent > 0))  # over all units, half of the answers are right
        for way, (counts, given) in draws.items():
            two = [resample(run, counts) for run in runs]
            low, high = interval(two[0])
            found[way].append((low <= 0.5 <= high, high - low, paired(*two, given).p <= 0.05))
    return {"items": len(units), "units": n_units, **_means(found)}


def starts(vectors: StaticVectors) -> list[dict[str, Any]]:
    """Return how a score of AP moves with the seed, and what it costs."""
    task = CategorizationTask.read(roles.open_set("ap", role=roles.TUNING), CompareConfig())
    found = task._look_up(vectors, task.known(vectors), "skip")
    units = finite_units(vectors, found.places[:, 0], found.composed)
    classes = np.array([task.words[item].category for item in found.items.tolist()])
    n_classes = len(set(classes.tolist()))
    ways = {
        "one start": lambda seed: cluster_words(units, n_classes, [seed], starts=1),
        "the best of ten": lambda seed: best_of_ten(units, n_classes, seed),
        "the mean of ten": lambda seed: cluster_words(units, n_classes, [seed]),
    }
    rows = []
    for name, cluster in ways.items():
        cluster(0)
        start = time.perf_counter()
        clusterings = [cluster(seed) for seed in range(1, SEEDS + 1)]
        seconds = (time.perf_counter() - start) / SEEDS
        counts = draw_counts(len(classes), 1_000, 1, "ap")
        start = time.perf_counter()
        for metric in METRICS:
            resample(Contingency(classes, clusterings[0], metric), counts)
        drawing = time.perf_counter() - start
        scores = [Contingency(classes, each, "ari").once().mean() for each in clusterings]
        rows.append(
            {
                "score": name, "items": len(classes), "ari": round(float(np.mean(scores)), 3),
                "deviation": round(float(np.std(scores, ddof=1)), 4),
                "cluster_seconds": round(seconds, 3), "replicate_seconds": round(drawing, 3),
            }
        )  # fmt: skip
    return rows


def planted(noise: float, arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Sample words of planted categories; return how often intervals contain the mean score."""
    rng = np.random.default_rng(2)
    centers = rng.normal(size=(PLANTED["categories"], PLANTED["dim"]))
    found: dict[tuple[str, str], list[Resampled]] = {}
    for sample in range(arguments.simulations):
        classes = rng.integers(PLANTED["categories"], size=PLANTED["words"])
        units = centers[classes] + noise * rng.normal(size=(len(classes), PLANTED["dim"]))
        units /= np.linalg.norm(units, axis=1, keepdims=True)
        n_classes = len(set(classes.tolist()))
        ways = {
            "the best of ten": best_of_ten(units, n_classes, sample),
            "the mean of ten": cluster_words(units, n_classes, [sample]),
        }
        counts = draw_counts(len(classes), REPLICATES, 1, f"{sample}")
        for way, clusters in ways.items():
            for metric in METRICS:
                resampled = resample(Contingency(classes, clusters, metric), counts)
                found.setdefault((way, metric), []).append(resampled)
    return [
        {"noise": noise, "score": way, "metric": metric, **_covered(each)}
        for (way, metric), each in found.items()
    ]


def best_of_ten(units: Any, n_clusters: int, seed: int) -> np.ndarray:
    """Return the clustering of the least inertia from ten starts."""
    with threadpool_limits(1):
        return KMeans(n_clusters, n_init=10, random_state=seed).fit_predict(units).astype(np.int64)


def _covered(resampled: Sequence[Resampled]) -> dict[str, float]:
    """Return the mean and deviation of scores, and how often intervals contain the mean."""
    scores = np.array([each.score for each in resampled])
    low, high = np.array([interval(each) for each in resampled]).T
    covers = ((low <= scores.mean()) & (scores.mean() <= high)).mean()
    figures = {
        "mean": scores.mean(), "deviation": scores.std(ddof=1), "width": (high - low).mean(),
        "covers": covers,
    }  # fmt: skip
    return {name: round(float(value), 4) for name, value in figures.items()}


def _standardized(values: np.ndarray) -> np.ndarray:
    """Return values with mean zero and variance one."""
    return np.asarray((values - values.mean()) / values.std())


def _within(values: np.ndarray, shared: np.ndarray) -> float:
    """Return the correlation of values between two pairs that share a word."""
    centered = values - values.mean()
    return float(
        (centered @ shared @ centered) / shared.sum() / (centered @ centered / len(values))
    )


def show(title: str, rows: Sequence[Mapping[str, Any]]) -> None:
    """Print a table with a column for each figure."""
    flat = [_flat(row) for row in rows]
    print_table(list(flat[0]), [list(row.values()) for row in flat], title=title)


def _flat(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return a row whose figures of a part are named after the part."""
    flat: dict[str, Any] = {}
    for name, value in row.items():
        parts = value.items() if isinstance(value, dict) else [("", value)]
        flat |= {f"{name} {part}".strip(): number for part, number in parts}
    return flat


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "vectors": real_vectors,
    "pairs": lambda arguments: shared_words({name: read(name) for name in SETS}, arguments),
    "contexts": lambda arguments: shared_words({CONTEXTS: read_contexts()}, arguments),
    "units": shared_units,
    "clusterings": clusterings,
    "collocates": collocates,
}


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--part", choices=PARTS, action="append", help="only these")
    parser.add_argument("--run", type=Path, action="append", help="real vectors")
    parser.add_argument("--effects", choices=EFFECTS, nargs="+", help="only these word effects")
    parser.add_argument("--simulations", type=int, default=400, help="samples of each setting")


if __name__ == "__main__":
    main()
