"""What the intervals of neighbors are worth: coverage, width beside retraining, and speed.

- coverage: fresh synthetic texts of one size, of which some have intervals; how often one holds
  the mean cosine over the others, for each word and its ten nearest, by frequency; and how often
  others list a word, by its share.
- samples: the same of texts of a million words: the articles of Wikipedia, dealt out at random.
- trained, trained_cbow: the same of skip-gram and CBOW, by trainings on halves of the documents.
- retrained: a text of a million words (enwiki2015-AB); standard deviations in the fixed space,
  beside those of vectors trained again on bootstrap draws, by frequency.
- speed: 16 million words (enwiki2015-AA): what is prepared, one word, all words.
"""

import argparse
import functools
import itertools
import json
import multiprocessing
import tempfile
import time
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import ProcessPoolExecutor
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth import build_corpus
from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.reporting import SilentReporter, reporting_to
from firth.corpora.datasets.synthetic import SyntheticConfig, documents
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.datasets.questions import read_questions
from firth.embed.registry import METHODS
from firth.embed.resampling.drawn_text import DrawnCorpus, count_documents
from firth.embed.resampling.draws import WIDENED, CountDraws, errors_of
from firth.embed.resampling.intervals import CANDIDATES, FEWEST_TOKENS, FEWEST_UNITS, excess
from firth.embed.resampling.prepared import prepare
from firth.embed.resampling.scores import Scored, added, errors_and_shares
from firth.embed.resampling.trained_draws import TrainedDraws, train_draws
from firth.embed.runs.run import Run
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.search import top_rows, unit_matrix
from firth.embed.vectors.word_vectors import WordVectors

ROLE = roles.REPORTING
WIKIPEDIA, TUNING = "enwiki2015-AA", "enwiki2015-AB"
NEAREST = 10
FEWEST = 20  # tokens of a word that is looked at
FACTORS = (1, 1.1, 1.2, 1.25, 1.3, 1.4)
SHARES = (0.0, 0.05, 0.25, 0.5, 0.75, 0.9, 0.99)
BANDS = (20, 50, 100, 200, 500, 1 << 62)


def options(parser: argparse.ArgumentParser) -> None:
    """Add sizes."""
    parser.add_argument("--tokens", type=int, default=300_000, help="of a synthetic text")
    parser.add_argument("--fresh", type=int, default=60, help="synthetic texts")
    parser.add_argument("--resampled", type=int, default=4, help="texts with intervals")
    parser.add_argument("--seed", type=int, default=1, help="of the first synthetic text")
    parser.add_argument("--groups", type=int, default=100)
    parser.add_argument("--text", default=WIKIPEDIA, help="of the samples")
    parser.add_argument("--draws", type=int, default=20, help="of a run that is trained again")
    parser.add_argument("--retrained", type=int, default=60, help="trainings")
    parser.add_argument("--part", choices=PARTS, action="append", help="only these")


def main() -> None:
    """Measure everything, or some parts beside what the file has of others, and write it down."""
    arguments = harness.parse(__doc__, more=options)
    found = {}
    for part in arguments.part or PARTS:
        with tempfile.TemporaryDirectory() as name, reporting_to(SilentReporter()):
            found[part] = PARTS[part](Path(name), arguments)
        print(json.dumps({part: found[part]}, indent=1))
    if arguments.json and arguments.part:
        made = harness.machine()
        found = {part: {**measured, "made": made} for part, measured in found.items()}
        before = read_json(arguments.json) if arguments.json.exists() else {}
        write_json(arguments.json, {**before, **found, **made})
    elif arguments.json:
        write_json(arguments.json, {"benchmark": "Intervals", **found, **harness.machine()})


def coverage(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure how often intervals hold the mean cosine over fresh synthetic texts."""
    texts = (
        list(documents(SyntheticConfig(n_tokens=arguments.tokens, seed=arguments.seed + n)))
        for n in range(arguments.fresh)
    )
    about = {"tokens": arguments.tokens, "seed": arguments.seed}
    return {**about, **_held_by_counts(folder, texts, arguments)}


def samples(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure the same with texts of a million words."""
    words, texts = _dealt(arguments)
    about = {"text": arguments.text, "tokens": words}
    return {**about, **_held_by_counts(folder, texts, arguments)}


def trained(
    folder: Path, arguments: argparse.Namespace, method: str = "skipgram"
) -> dict[str, Any]:
    """Measure the same of a method that is trained again."""
    words, texts = _dealt(arguments)
    config_class, train_run = METHODS[method].config_class(), METHODS[method].train_function()
    seconds: dict[str, list[float]] = {"run": [], "draws": []}
    sizes = []

    def train(n: int, corpus: Corpus, out: Path) -> WordVectors:
        start = time.perf_counter()
        run: WordVectors = train_run(corpus, config_class(threads=2, seed=1000 * (n + 1)), out)
        seconds["run"].append(time.perf_counter() - start)
        return run

    def draw(vectors: WordVectors, seed: int) -> CountDraws | TrainedDraws:
        run, start = Run.open(Path(vectors)), time.perf_counter()
        draws = train_draws(run.path, run.corpus(), run.settings(config_class), arguments.draws)
        seconds["draws"].append(time.perf_counter() - start)
        sizes.append(sum(file.stat().st_size for file in (run.path / "resamples").iterdir()))
        return draws

    return {
        "text": arguments.text, "tokens": words, "draws": arguments.draws,
        **_held(folder, texts, arguments.resampled, train, draw),
        "seconds": {name: float(np.median(each)) for name, each in seconds.items()},
        "bytes": float(np.median(sizes)),
    }  # fmt: skip


def _dealt(arguments: argparse.Namespace) -> tuple[int, Iterator[list[str]]]:
    """Deal out the articles of a text to texts of a million words; return its words, too."""
    every = articles(arguments.text, 1 << 62)
    words = sum(len(article.split()) for article in every)
    order = np.random.default_rng(arguments.seed).permutation(len(every))
    parts = np.array_split(order, words // 1_000_000)
    return words, ([every[n] for n in part] for part in parts)


def _held_by_counts(
    folder: Path, texts: Iterable[list[str]], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Measure the intervals of SVD."""
    svd = SvdConfig(threads=2)

    def train(n: int, corpus: Corpus, out: Path) -> WordVectors:
        return train_svd(corpus, svd, out)

    def draw(run: WordVectors, seed: int) -> CountDraws | TrainedDraws:
        return CountDraws(prepare(run), run.matrix, arguments.groups, seed)

    return _held(folder, texts, arguments.resampled, train, draw)


def _held(
    folder: Path,
    texts: Iterable[list[str]],
    resampled: int,
    train: Callable[[int, Corpus, Path], WordVectors],
    draw: Callable[[WordVectors, int], CountDraws | TrainedDraws],
) -> dict[str, Any]:
    """Train on texts, resample the first of them, and measure coverage, widths and shares.

    The neighbors are the nearest by the own run of a text, among words that all texts have, and at
    least 20 times in the median text. Pairs are left out where a user would get no interval but for
    their tokens.
    """
    runs = [
        train(n, build_corpus(text, folder / f"corpus{n}"), folder / f"run{n}")
        for n, text in enumerate(texts)
    ]
    shared = set.intersection(*(set(run.vocabulary) for run in runs))
    counts = {w: np.median([run.counts[run.row(w)] for run in runs]) for w in shared}
    words = sorted(word for word in shared if counts[word] >= FEWEST)
    cosines = np.array([_cosines(run, words) for run in runs], np.float32)
    for each in cosines:
        np.fill_diagonal(each, -1)
    listed = np.array([np.argsort(np.argsort(-each, axis=1), axis=1) < NEAREST for each in cosines])
    frequency = np.array([counts[word] for word in words])
    distances, before, higher, ratios, least, shares, found, beyond = ([] for _ in range(8))
    shown_pairs: list[np.ndarray] = []
    asked: dict[str, list[np.ndarray]] = {"similarity": [], "difference": [], "analogy": []}
    for number, run in enumerate(runs[:resampled]):
        others = np.arange(len(runs)) != number
        near = np.argsort(-cosines[number], axis=1)[:, :CANDIDATES]
        rows = np.array([run.row(word) for word in words])
        own = np.take_along_axis(cosines[number], near, axis=1).astype(np.float64)
        scored = Scored(rows[:, None], rows[near], own)
        draws = draw(run, number + 1)
        errors, share = errors_and_shares(draws, scored, NEAREST, number + 1)
        for kind, held in _held_of_questions(
            cosines, number, draws, rows, words, frequency
        ).items():
            asked[kind].append(held)
        top = near[:, :NEAREST]
        means = np.take_along_axis(cosines[others].mean(axis=0), top, axis=1)
        spread = np.take_along_axis(cosines.std(axis=0, ddof=1), top, axis=1)
        # of the difference from a mean of so many
        scale = np.sqrt(1 + 1 / others.sum())
        shift = excess(own, errors)
        middle = own - shift
        spread_enough = np.array([draws.spread(row) >= FEWEST_UNITS for row in rows.tolist()])
        sure = spread_enough[:, None] & spread_enough[top] & (errors > 1e-6)[:, :NEAREST]
        shown_pairs.append(sure & (shift < 1.96 * errors)[:, :NEAREST])
        distances.append(np.abs(middle[:, :NEAREST] - means) / scale / errors[:, :NEAREST])
        before.append(np.abs(own[:, :NEAREST] - means) / scale / errors[:, :NEAREST])
        higher.append(own[:, :NEAREST] - means)
        ratios.append(errors[:, :NEAREST] / spread)
        least.append(np.minimum(frequency[:, None], frequency[top]))
        often = np.take_along_axis(listed[others].mean(axis=0), near, axis=1)
        printed = frequency >= FEWEST_TOKENS
        beyond.append(1 - often[printed].sum(axis=1) / NEAREST)
        both = printed[:, None] & printed[near] & np.isfinite(errors)
        shares.append(share[both])
        found.append(often[both])
    away, around, above, widths, rarer, share, often = (
        np.concatenate(each).ravel()
        for each in (distances, before, higher, ratios, least, shares, found)
    )
    has_one = np.concatenate(shown_pairs).ravel()
    shown = (rarer >= FEWEST_TOKENS) & has_one
    limits = [*SHARES, 2.0]
    return {
        "fresh": len(runs), "resampled": resampled, "words": len(words), "widened": WIDENED,
        "bands": [
            {
                **band, "with_interval": float(has_one[inside].mean()),
                "coverage": float((away[inside & has_one] <= 1.96).mean()),
                "coverage_around_cosine": float((around[inside & has_one] <= 1.96).mean()),
                "above": float(above[inside & has_one].mean()),
                "width": float(np.median(widths[inside & has_one])),
            }
            for band, inside in bands(rarer)
        ],
        "coverage": float((away[shown] <= 1.96).mean()),
        "coverage_by_widening": {
            f"{factor:g}": float((away[shown] * WIDENED <= 1.96 * factor).mean())
            for factor in FACTORS
        },
        "questions": {
            kind: {"questions": sum(map(len, held)), "coverage": float(np.concatenate(held).mean())}
            for kind, held in asked.items()
            if sum(map(len, held))
        },
        "beyond_candidates": float(np.mean(beyond)),
        "listed_by_share": [
            {"from": low, "words": int(inside.sum()), "listed": float(often[inside].mean())}
            for low, high in itertools.pairwise(limits)
            if (inside := (share >= low) & (share < high)).any()
        ],
    }  # fmt: skip


def _held_of_questions(
    cosines: np.ndarray, number: int, draws: CountDraws | TrainedDraws, rows: np.ndarray,
    words: list[str],
    frequency: np.ndarray,
) -> dict[str, np.ndarray]:  # fmt: skip
    """Return whether intervals hold, of cosines and differences that are asked for, and analogies.

    Two words are asked for beside each: of the ten that are nearest to it in the other texts.
    """
    others = cosines[np.arange(len(cosines)) != number]
    scale = 1.96 * np.sqrt(1 + 1 / len(others))
    means = others.mean(axis=0)
    frequent = np.flatnonzero(frequency >= FEWEST_TOKENS)
    inside = means[np.ix_(frequent, frequent)]
    near = frequent[np.argsort(-inside, axis=1)[:, :NEAREST]]
    chosen = np.random.default_rng(1).permuted(near, axis=1)[:, :2]
    pairs = np.stack(np.broadcast_arrays(frequent[:, None], chosen), axis=-1)  # (n, 2, 2)
    drawn = draws.cosines(rows[pairs.reshape(-1, 2)]).reshape(len(frequent), 2, -1)
    away = cosines[number][pairs[..., 0], pairs[..., 1]] - means[pairs[..., 0], pairs[..., 1]]

    def held(drawn: np.ndarray, away: np.ndarray) -> np.ndarray:
        errors = errors_of(draws.fewest, draws.deviations(drawn))
        return (np.abs(away) <= scale * errors)[np.isfinite(errors)]

    found = {
        "similarity": held(drawn, away).ravel(),
        "difference": held(drawn[:, 0] - drawn[:, 1], away[:, 0] - away[:, 1]),
    }
    place = {words[n]: n for n in frequent}
    questions = [
        [place[word] for word in each.words[:3]]
        for each in read_questions(roles.open_set("questions-words", role=ROLE))
        if all(word in place for word in each.words[:3])
    ]
    if len(questions) > 50:  # a text of English
        asked = np.unique(questions, axis=0)
        triples = asked[np.random.default_rng(1).permutation(len(asked))[:500]]
        scores = np.array(
            [_added(each, triples)[:, frequent] for each in (cosines[number], *others)]
        )
        answers = np.argsort(-scores[0], axis=1)[:, :CANDIDATES]
        own, *rest = np.take_along_axis(scores, answers[None], axis=2)
        scored = Scored(rows[triples], rows[frequent[answers]], own.astype(np.float64))
        errors, _ = errors_and_shares(draws, scored, NEAREST, 1, score=added)
        away = np.abs(own - excess(own, errors) - np.mean(rest, axis=0))
        sure = np.isfinite(errors) & (excess(own, errors) < 1.96 * errors)
        found["analogy"] = (away <= scale * errors)[:, :NEAREST][sure[:, :NEAREST]]
    return found


def _added(cosines: np.ndarray, triples: np.ndarray) -> np.ndarray:
    """Return 3CosAdd of all words for questions a, b, c, whose words have none, (n, V)."""
    a, b, c = triples.T
    squares = 3 + 2 * (cosines[b, c] - cosines[a, b] - cosines[a, c])
    scores = (cosines[b] - cosines[a] + cosines[c]) / np.sqrt(squares)[:, None]
    np.put_along_axis(scores, triples, -1, axis=1)
    return np.asarray(scores)


def retrained(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare standard deviations in the fixed space with those of trainings on the draws."""
    corpus = build_corpus(articles(TUNING, 1_000_000), folder / "corpus")
    svd = SvdConfig(threads=2)
    run = train_svd(corpus, svd, folder / "run")
    rows = np.flatnonzero(np.asarray(run.counts) >= FEWEST)
    found = top_rows(run.matrix, unit_matrix(run.matrix, rows).astype(np.float64), NEAREST,
                     exclude=[[row] for row in rows.tolist()])  # fmt: skip
    pairs = np.array([(a, b) for a, (near, _) in zip(rows, found, strict=True) for b in near])
    start = time.perf_counter()
    draws = CountDraws(prepare(run), run.matrix, arguments.groups, 1)
    drawn = draws.cosines(pairs)
    fixed = errors_of(draws.fewest, draws.deviations(drawn))
    seconds = {"fixed": time.perf_counter() - start}
    shape = count_documents(corpus.stored), arguments.retrained
    copies = np.random.default_rng(2).poisson(1, shape)
    words = [run.vocabulary[row] for row in range(len(run))]
    sums, squares, n = np.zeros((3, len(pairs)))
    start = time.perf_counter()
    for draw in range(arguments.retrained):
        own = DrawnCorpus(corpus, corpus.stored, copies[:, draw], f"draw{draw}")
        again = train_svd(own, svd)
        places = np.array([-1 if (row := again.row(w)) is None else row for w in words])[pairs]
        both = (places >= 0).all(axis=1)
        units = unit_matrix(again.matrix)
        cosines = np.einsum("nd,nd->n", *(units[places[both, side]] for side in (0, 1)))
        sums[both] += cosines
        squares[both] += cosines.astype(np.float64) ** 2
        n[both] += 1
    seconds["retrained"] = time.perf_counter() - start
    known = n > arguments.retrained / 2
    free = np.sqrt(np.maximum(squares - sums**2 / np.maximum(n, 1), 0) / np.maximum(n - 1, 1))
    least = np.asarray(run.counts)[pairs].min(axis=1)
    groups = pairs[:, 0] % 20  # of words, by their rank
    return {
        "words": len(rows), "groups": arguments.groups, "trainings": arguments.retrained,
        "seconds": seconds,
        "bands": [
            {**band, **_quartiles(fixed[inside] / free[inside], groups[inside])}
            for band, inside in bands(np.where(known & (free > 0) & np.isfinite(fixed), least, 0))
        ],
    }  # fmt: skip


def speed(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time what is prepared, one word and all words; count the entrants that are missed."""
    corpus = build_corpus(roles.open_text(WIKIPEDIA, role=ROLE), folder / "corpus")
    train_svd(corpus, SvdConfig(threads=2), folder / "run")
    # in a process of its own, without the memory of the training
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(_speed, folder / "run", arguments.groups).result()


def _speed(path: Path, groups: int) -> dict[str, Any]:
    """Time the intervals of a run."""
    run = WordVectors.open(path)
    seconds: dict[str, Any] = {}
    start = time.perf_counter()
    prepared = prepare(run)
    seconds["prepare"] = time.perf_counter() - start
    start = time.perf_counter()
    prepared = prepare(run)
    seconds["open"] = time.perf_counter() - start
    counts = np.asarray(run.counts)
    for name, row in {"king": run.row("king"), "the": run.row("the"), "a word of 100": int(
            np.searchsorted(-counts, -100))}.items():  # fmt: skip
        start = time.perf_counter()
        scored = _scored(run, np.array([row]))
        draws = CountDraws(prepared, run.matrix, groups, 1)
        errors_and_shares(draws, scored, NEAREST, 1)
        seconds[name] = time.perf_counter() - start
    start = time.perf_counter()
    everything = _scored(run, np.arange(len(run)))
    seconds["candidates"] = time.perf_counter() - start
    start = time.perf_counter()
    errors_and_shares(draws, everything, NEAREST, 1)
    seconds["all words"] = time.perf_counter() - start
    status = Path("/proc/self/status").read_text("ascii")
    peak = 1024 * int(status.partition("VmHWM:")[2].split()[0])
    missed = _missed(run, draws)
    sizes = {
        name: int(getattr(prepared.text, name).nbytes) for name in ("text", "positions", "units")
    }
    return {
        "seconds": seconds, "words": len(run), "groups": groups, "peak_bytes": peak,
        "missed_entrants": missed, "cache_bytes": sum(sizes.values()) + prepared.space.basis.nbytes,
    }  # fmt: skip


def _missed(run: WordVectors, draws: CountDraws) -> float:
    """Return the share of places in simulated lists that words beyond the candidates take.

    Of 1,000 words, as seen among their 2,000 nearest.
    """
    counts = np.asarray(run.counts)
    rows = np.random.default_rng(1).choice(np.flatnonzero(counts >= FEWEST_TOKENS), 1000, False)
    _, shares = errors_and_shares(draws, _scored(run, rows, 2000), NEAREST, 1)
    return float(shares[:, CANDIDATES:].sum(axis=1).mean() / NEAREST)


def _scored(run: WordVectors, rows: np.ndarray, n: int = CANDIDATES) -> Scored:
    """Return the nearest words of some words."""
    units = unit_matrix(run.matrix, rows).astype(np.float64)
    found = top_rows(run.matrix, units, n, exclude=[[row] for row in rows.tolist()])
    return Scored(rows[:, None], *(np.array([each[side] for each in found]) for side in (0, 1)))


def bands(counts: np.ndarray) -> Iterator[tuple[dict[str, int], np.ndarray]]:
    """Yield bands of frequency, and which pairs are in each by their rarer word."""
    for low, high in itertools.pairwise(BANDS):
        inside = (counts >= low) & (counts < high)
        if inside.any():
            yield {"from": low, "pairs": int(inside.sum())}, inside


def _quartiles(ratios: np.ndarray, groups: np.ndarray) -> dict[str, float | list[float]]:
    """Return the median and quartiles of ratios, and an interval of the median by groups."""
    low, median, high = np.quantile(ratios, [0.25, 0.5, 0.75])
    medians = [np.median(ratios[groups == group]) for group in np.unique(groups)]
    away = 2 * np.std(medians, ddof=1) / np.sqrt(len(medians))
    return {
        "ratio": float(median), "interval": [float(median - away), float(median + away)],
        "low_quartile": float(low), "high_quartile": float(high),
    }  # fmt: skip


def _cosines(run: WordVectors, words: list[str]) -> np.ndarray:
    """Return the cosines of all pairs of words, float64 (n, n)."""
    units = unit_matrix(run.matrix, np.array([run.row(word) for word in words])).astype(np.float64)
    return np.asarray(units @ units.T)


def articles(name: str, most_words: int) -> list[str]:
    """Return the first articles of a text, of about so many words."""
    found: list[str] = []
    done = 0
    for article in roles.articles(name, role=ROLE):
        found.append(article)
        done += len(article.split())
        if done >= most_words:
            break
    return found


PARTS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "coverage": coverage,
    "samples": samples,
    "trained": trained,
    "trained_cbow": functools.partial(trained, method="cbow"),
    "retrained": retrained,
    "speed": speed,
}

if __name__ == "__main__":
    main()
