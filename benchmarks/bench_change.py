"""How well ``firth change`` finds changes, how often it finds none that are, and how fast it is.

- planted: synthetic text of two periods, in which the company of eight words changes by a known
  share and the frequency of eight others; the share of p <= 0.05 by kind of word.
- graded: synthetic text in which the company of four pairs changes by different shares; how each
  route ranks the words, a masked LM of the same text among them.
- stacked: the false alarms if the SVD is of the rows of both periods, one above the other.
- strata: synthetic text in which the company of many nouns is of the genre, and changes only with
  the shares of genres; how often p <= 0.05 with and without --within; and what power is kept for
  changes in all genres. Intervals are over texts, as the words of a text are not independent.
- novels: German novels (eltec-de): first and last quarter by year; and random halves of these.
- novels_within: which of their surest words remain within genders, and if an author is a document.
- speed: two halves of 8 million words of Wikipedia (enwiki2015-AB), 200 permutations.
"""

import argparse
import csv
import dataclasses
import itertools
import json
import lzma
import resource
import statistics
import tempfile
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

import tests.embed.change.planted_changes as synthetic
from firth import ReadOptions, build_corpus
from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.datasets.synthetic import SyntheticConfig
from firth.corpora.datasets.synthetic import documents as generated_documents
from firth.corpora.datasets.synthetic_language import synthetic_language
from firth.corpora.store.corpus import Corpus
from firth.embed.change import joint, routes
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import PeriodText
from firth.embed.change.result import WordChanges
from firth.embed.change.table import ChangeTable
from firth.embed.change.words import word_changes
from firth.embed.svd.train import SvdConfig
from firth.embed.svd.truncated_svd import truncated_svd
from firth.pretrain.config import MlmConfig
from firth.pretrain.train import train_mlm

ROLE = roles.REPORTING
NOVELS, WIKIPEDIA = "eltec-de", "enwiki2015-AB"
SHARES = (0.1, 0.2, 0.3, 0.5)
DEGREES = (0.25, 0.5, 0.75, 1.0)
LEVELS = (0.5, 0.05, 0.01, 0.001)
HALVES = 4
STRATA = (2, 40, 120)
EVEN, SHIFTED = (0.5, 0.5), (0.2, 0.8)  # shares of the second kind of genres, early and late
WITHIN_SHARE = 0.25  # of paragraphs, of changes in all genres
JOINED = 8  # generated documents in one, which then has about 1,250 words
UNEVEN = 0.7  # the k-th stratum of a kind has documents in proportion to k ** -UNEVEN
SHOWN = 20


def options(parser: argparse.ArgumentParser) -> None:
    """Add sizes."""
    parser.add_argument("--tokens", type=int, default=400_000, help="of a synthetic text")
    parser.add_argument("--seeds", type=int, default=4, help="synthetic texts of each kind")
    parser.add_argument("--strata-tokens", type=int, default=300_000, help="of a text with genres")
    parser.add_argument("--strata-texts", type=int, default=20, help="texts with genres")
    parser.add_argument("--words", type=int, default=8_000_000, help="of Wikipedia")
    parser.add_argument("--permutations", type=int, default=200)
    parser.add_argument("--epochs", type=int, default=10, help="of the masked LM")
    parser.add_argument("--texts", type=int, default=3, help="graded texts, with a masked LM each")
    parser.add_argument("--part", choices=PARTS, action="append", help="only these")


def main() -> None:
    """Measure everything, or some parts beside what the file has of others, and write it down."""
    arguments = harness.parse(__doc__, more=options)
    with tempfile.TemporaryDirectory() as name:
        parts = arguments.part or PARTS
        found = {part: PARTS[part](Path(name), arguments) for part in parts}
    print(json.dumps(found, indent=1, ensure_ascii=False))
    if arguments.json and arguments.part:
        made = harness.machine()
        found = {part: {**measured, "made": made} for part, measured in found.items()}
        write_json(arguments.json, {**read_json(arguments.json), **found})
    elif arguments.json:
        write_json(arguments.json, {"benchmark": "Change of words", **found, **harness.machine()})


def corpus_of(folder: Path, name: str, documents: Any, keep: Sequence[str]) -> Corpus:
    """Build a corpus of documents with fields."""
    file = folder / f"{name}.jsonl"
    with open(file, "w", encoding="utf-8") as lines:
        for document in documents:
            lines.write(json.dumps(document) + "\n")
    return build_corpus(file, folder / name, read=ReadOptions(keep=tuple(keep)))


def by_p(table: ChangeTable) -> list[str]:
    """Return words by p, then by their distance."""
    return [table.words[row] for row in np.lexsort((-table.distances, table.p))]


def shares(p: np.ndarray) -> dict[str, float]:
    """Return the share of p at most each level."""
    return {f"{level:g}": round(float((p <= level).mean()), 4) for level in LEVELS}


def planted(
    folder: Path,
    arguments: argparse.Namespace,
    share: float,
    *,
    frequency: float = synthetic.FREQUENCY_SHARE,
) -> dict[str, Any]:
    """Return the shares of p by kind of noun over some texts, and how the words are ranked."""
    synthetic.FREQUENCY_SHARE = frequency
    language = synthetic_language()
    chosen = {
        "company": {word for pair in synthetic.company_pairs() for word in pair},
        "frequency": {word for pair in synthetic.frequency_pairs() for word in pair},
    }
    chosen["others"] = {language.words[noun].lower() for noun in language.nouns}
    chosen["others"] -= chosen["company"] | chosen["frequency"]
    nouns = set().union(*chosen.values())
    p: dict[str, list[float]] = {name: [] for name in (*chosen, "all words")}
    ranked: dict[str, list[float]] = {"p": [], "distance": [], "procrustes": []}
    for seed in range(arguments.seeds):
        texts = synthetic.changing_documents(
            SyntheticConfig(n_tokens=arguments.tokens, seed=seed), share
        )
        documents = ({"text": text, "period": period} for period, text in texts)
        corpus = corpus_of(folder, f"planted-{share}-{frequency}-{seed}", documents, ["period"])
        by = {"by": "period", "periods": synthetic.PERIODS}
        config = ChangeConfig(permutations=arguments.permutations)
        table = word_changes(corpus, config=config, **by).table
        for word, value in zip(table.words, table.p, strict=True):
            p["all words"].append(value)
            for name, words_of_kind in chosen.items():
                if word in words_of_kind:
                    p[name].append(value)
        turned = word_changes(corpus, config=ChangeConfig(route="procrustes"), **by).table
        far = [table.words[row] for row in np.argsort(-table.distances)]
        for name, order in (("p", by_p(table)), ("distance", far), ("procrustes", turned.words)):
            first = [word for word in order if word in nouns][: len(chosen["company"])]
            ranked[name].append(len(chosen["company"] & set(first)) / len(first))
    return {
        "words": {name: len(values) for name, values in p.items()},
        "p": {name: shares(np.array(values)) for name, values in p.items()},
        "precision": {name: round(statistics.mean(each), 3) for name, each in ranked.items()},
    }


def strata(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how often p is small with and without strata, by what changes."""
    found: dict[str, Any] = {"texts": arguments.strata_texts, "tokens": arguments.strata_tokens}
    for name, strata_of, shares_of, changed in (
        ("only_genres", STRATA, SHIFTED, 0.0),
        ("changed", STRATA, EVEN, WITHIN_SHARE),
        ("changed_and_genres", STRATA[:1], SHIFTED, WITHIN_SHARE),
    ):
        kind = "changed" if changed else "genre"
        found[name] = {
            str(n): by_text(
                [
                    within_and_without(folder, arguments, seed, n, shares_of, changed, kind)
                    for seed in range(arguments.strata_texts)
                ]
            )
            for n in strata_of
        }
    return found


def within_and_without(
    folder: Path,
    arguments: argparse.Namespace,
    seed: int,
    n_strata: int,
    shares_of: Sequence[float],
    changed: float,
    kind: str,
) -> dict[str, Any]:
    """Return the p of nouns of a kind in one text, without and within strata."""
    language, nouns = synthetic_language(), noun_pairs()[kind].ravel()
    chosen = {language.words[language.nouns[noun]].lower() for noun in nouns}
    config = SyntheticConfig(n_tokens=arguments.strata_tokens, seed=seed)
    documents = genre_documents(config, n_strata, shares_of, changed)
    name = f"strata-{kind}-{n_strata}-{shares_of[0]}-{seed}"
    corpus = corpus_of(folder, name, documents, ["period", "genre"])
    settings = ChangeConfig(permutations=arguments.permutations)
    by = {"by": "period", "periods": synthetic.PERIODS}
    measured: dict[str, Any] = {}
    for key, fields in (("without", ()), ("within", ("genre",))):
        changes = word_changes(corpus, config=settings, within=fields, **by)
        p = dict(zip(changes.table.words, changes.table.p, strict=True))
        measured[key] = [p[word] for word in sorted(chosen & {*p})]
        measured[f"all_{key}"] = list(p.values())
    kept = changes.periods.period_of >= 0
    measured["documents"] = int(kept.sum())
    measured["strata"] = len(np.unique(changes.periods.strata[kept]))
    return measured


def by_text(texts: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the shares of p <= 0.05, with intervals over texts, and the ratio of both."""
    found: dict[str, Any] = {
        name: round(statistics.mean(text[name] for text in texts), 1)
        for name in ("documents", "strata")
    }
    rates = {}
    for name in ("without", "within", "all_without", "all_within"):
        rates[name] = np.array([(np.array(text[name]) <= 0.05).mean() for text in texts])
        found[name] = {
            "words": sum(len(text[name]) for text in texts),
            **with_interval(rates[name]),
        }
    ratio = rates["within"].mean() / rates["without"].mean()
    off = (rates["within"] - ratio * rates["without"]) / rates["without"].mean()
    return {**found, "ratio": with_interval(ratio + off)}


def with_interval(values: np.ndarray) -> dict[str, float]:
    """Return the mean of values and its 95 % interval by Student's t."""
    from scipy.stats import t

    half = t.ppf(0.975, len(values) - 1) * values.std(ddof=1) / np.sqrt(len(values))
    mean = values.mean()
    return {"share": round(mean, 4), "low": round(mean - half, 4), "high": round(mean + half, 4)}


def noun_pairs() -> dict[str, np.ndarray]:
    """Return pairs of equally frequent nouns: half for genres, a quarter that changes in all."""
    # values: int64 (n, 2), senses of nouns that have one sense
    language = synthetic_language()
    _, senses, counts = np.unique(language.nouns, return_index=True, return_counts=True)
    order = np.random.default_rng(0).permutation(senses[counts == 1])
    order = order[np.argsort(-language.probabilities[order], kind="stable")]
    pairs = order[: len(order) // 2 * 2].reshape(-1, 2)
    return {"genre": pairs[::2], "changed": pairs[1::4]}


def genre_documents(
    config: SyntheticConfig, n_strata: int, shares_of: Sequence[float], changed: float
) -> Iterator[dict[str, str]]:
    """Yield documents of two periods in strata of two kinds, whose shares are of the period.

    In the second kind the nouns of each pair for genres have each other's company. Those of the
    pairs that change have it in a share of the later paragraphs of both kinds.
    """
    language = synthetic_language()
    exchanged = {}
    for kind, pairs in noun_pairs().items():
        senses = np.arange(len(language.nouns))
        senses[pairs] = pairs[:, ::-1]
        exchanged[kind] = language.nouns[senses]
    sizes = np.arange(1, n_strata // 2 + 1) ** -UNEVEN
    ends = np.cumsum(sizes / sizes.sum())

    def stratum(document: int) -> int:
        kind, place = np.random.default_rng([config.seed, document, 1]).random(2)
        return 2 * int(np.searchsorted(ends[:-1], place)) + int(kind < shares_of[document % 2])

    def change(numbers: range) -> synthetic.Change:
        documents_of = [number // JOINED for number in numbers]
        second = np.array([[stratum(document) % 2] for document in documents_of], bool)
        late = np.array([[document % 2] for document in documents_of], bool)

        def of_senses(senses: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            draws = [
                np.random.default_rng([config.seed, number, 2]).random(senses.shape[1])
                for number in numbers
            ]
            nouns = np.where(second, exchanged["genre"][senses], language.nouns[senses])
            moved = (exchanged["changed"] != language.nouns)[senses] & late
            moved &= np.array(draws) < changed
            return senses, np.where(moved, exchanged["changed"][senses], nouns)

        return of_senses

    texts = enumerate(generated_documents(config, change))
    for document, group in itertools.groupby(texts, lambda each: each[0] // JOINED):
        yield {
            "text": "".join(text for _, text in group),
            "period": synthetic.PERIODS[document % 2],
            "genre": str(stratum(document)),
        }


def graded(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return how the distances of each route rank words whose company changes by degrees.

    Spearman's correlation with the degree is over these words and those that change only their
    frequency, whose degree is 0. The precision is the share of words that change among as many
    nouns with the largest distances. The last is the share of those that change only their
    frequency whose distance is above the median of the others.
    """
    pairs = synthetic.company_pairs()
    degrees = {word: degree for pair, degree in zip(pairs, DEGREES, strict=True) for word in pair}
    degrees |= {word: 0.0 for pair in synthetic.frequency_pairs() for word in pair}
    measured: dict[str, list[dict[str, float]]] = {}
    seconds: list[float] = []
    for seed in range(arguments.texts):
        config = SyntheticConfig(n_tokens=arguments.tokens, seed=seed)
        texts = synthetic.changing_documents(config, DEGREES)
        documents = ({"text": text, "period": period} for period, text in texts)
        corpus = corpus_of(folder, f"graded-{seed}", documents, ["period"])
        run, started = folder / f"mlm-{seed}", time.perf_counter()
        options = MlmConfig(preset="tiny", epochs=arguments.epochs, device="cpu")
        train_mlm(corpus, options, run)
        seconds.append(time.perf_counter() - started)
        for name, distances in distances_by_route(corpus, run).items():
            measured.setdefault(name, []).append(agreement(distances, degrees))
    return {
        "degrees": DEGREES,
        "texts": arguments.texts,
        "epochs": arguments.epochs,
        "training_seconds": round(statistics.median(seconds), 1),
        "routes": {
            name: {key: round(statistics.mean(each[key] for each in texts), 3) for key in texts[0]}
            for name, texts in measured.items()
        },
        "by_text": measured,
    }


def distances_by_route(corpus: Corpus, encoder: Path) -> dict[str, dict[str, float]]:
    """Return the distances of all nouns by each route."""
    by: dict[str, Any] = {"by": "period", "periods": synthetic.PERIODS}
    language = synthetic_language()
    nouns = {language.words[noun].lower() for noun in language.nouns}
    joint = word_changes(corpus, config=ChangeConfig(permutations=0), **by).table
    chosen = sorted(nouns & set(joint.words))
    configs = {
        "procrustes, svd": ChangeConfig(route="procrustes"),
        "procrustes, skipgram": ChangeConfig(route="procrustes", method="skipgram"),
    }
    tables = {name: word_changes(corpus, config=each, **by).table for name, each in configs.items()}
    states = ChangeConfig(route="contextual", encoder=str(encoder))
    table = word_changes(corpus, config=states, words=chosen, **by).table
    assert table.pairs is not None
    found = {
        name: dict(zip(each.words, each.distances.tolist(), strict=True))
        for name, each in {"svd-joint": joint, **tables, "contextual, prototypes": table}.items()
    }
    found["contextual, pairs"] = dict(zip(table.words, table.pairs.tolist(), strict=True))
    return {name: {word: each[word] for word in chosen} for name, each in found.items()}


def agreement(distances: dict[str, float], degrees: dict[str, float]) -> dict[str, float]:
    """Return how distances agree with the degrees of change."""
    from scipy.stats import spearmanr

    known = [word for word in degrees if word in distances]
    changed = {word for word in known if degrees[word] > 0}
    largest = sorted(distances, key=lambda word: -distances[word])[: len(changed)]
    middle = statistics.median(distances[word] for word in changed)
    others = [distances[word] for word in known if word not in changed]
    return {
        "spearman": float(
            spearmanr([degrees[w] for w in known], [distances[w] for w in known]).statistic
        ),
        "precision": len(changed & set(largest)) / len(changed),
        "frequency_above": statistics.mean(value > middle for value in others),
    }


def stacked(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the false alarms with an SVD of the rows of both periods."""
    routes.joint_space = stacked_space  # type: ignore[attr-defined]
    try:
        found: dict[str, Any] = planted(folder, arguments, 0.0, frequency=0.0)["p"]
        return found
    finally:
        routes.joint_space = joint.joint_space  # type: ignore[attr-defined]


def stacked_space(texts: Sequence[PeriodText], n_words: int, svd: SvdConfig) -> joint.JointSpace:
    """Return the space of an SVD of the rows of all periods, one above the other."""
    space = joint.joint_space(texts, n_words, svd)
    counts = joint._stacked([joint._count(text, n_words, svd) for text in texts])
    rows = joint._weigh(counts, np.tile(space.keep, len(texts)), svd)[:, :n_words]
    assert svd.dim is not None
    found = truncated_svd(rows, svd.dim, seed=svd.seed, device="cpu")
    basis = (found.right * found.values ** (svd.singular_power - 1)).astype(np.float32)
    vectors = (rows @ basis).reshape(len(texts), n_words, -1)
    return dataclasses.replace(space, basis=basis, vectors=vectors)


def novels(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the words that change between the first and the last quarter of the novels."""
    about, texts, ends, periods = read_novels()
    outer = [i for i, novel in enumerate(about) if not ends[0] < int(novel["year"]) < ends[1]]
    halves = [random_halves(len(about), outer, seed) for seed in range(HALVES)]
    documents = (
        {"text": text, "year": novel["year"], **{f"half{k}": h[i] for k, h in enumerate(halves)}}
        for i, (novel, text) in enumerate(zip(about, texts, strict=True))
    )
    names = [f"half{k}" for k in range(HALVES)]
    corpus = corpus_of(folder, "novels", documents, ["year", *names])
    config = ChangeConfig(permutations=arguments.permutations)
    started = time.perf_counter()
    found = word_changes(corpus, config=config, by="year", periods=periods)
    seconds = time.perf_counter() - started
    table = found.table
    sure = np.flatnonzero(table.q <= 0.05)
    far = sure[np.argsort(-(table.distances - table.chance)[sure], kind="stable")][:SHOWN]
    asked = [word for word in ("bahn", "zug") if word in table.words]
    by_chance = [
        shares(word_changes(corpus, config=config, by=name, periods=["a", "b"]).table.p)
        for name in names
    ]
    return {
        "periods": periods,
        "novels": [int(np.sum(found.periods.period_of == number)) for number in (0, 1)],
        "tokens": found.counts.sum(axis=1).tolist(),
        "seconds": round(seconds, 1),
        "tested": len(table),
        "sure": len(sure),
        "one_document": int(table.one_document.sum()),
        "sure_of_one_document": int(table.one_document[sure].sum()),
        "p": shares(table.p),
        "random_halves": by_chance,
        "mean_of_random_halves": {
            level: round(statistics.mean(each[level] for each in by_chance), 4)
            for level in by_chance[0]
        },
        "surest": list(shown(found, by_p(table)[:SHOWN])),
        "farthest": list(shown(found, [table.words[row] for row in far])),
        "asked": list(shown(found, asked)),
    }


def read_novels() -> tuple[list[dict[str, str]], list[str], tuple[int, int], list[str]]:
    """Return rows about novels, their texts, the inner years of the outer quarters, and these."""
    packed = roles.open_text(NOVELS, role=ROLE)
    with open(packed.with_name(f"{NOVELS}-novels.tsv"), encoding="utf-8") as file:
        about = list(csv.DictReader(file, delimiter="\t"))
    with lzma.open(packed, "rt", encoding="utf-8") as file:
        texts = [text for text in file.read().split("\n\n") if text.strip()]
    years = sorted(int(novel["year"]) for novel in about)
    n = len(years) // 4
    periods = [f"{years[0]}-{years[n - 1]}", f"{years[-n]}-{years[-1]}"]
    return about, texts, (years[n - 1], years[-n]), periods


def novels_within(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Return which of the surest words remain within genders, and if an author is a document."""
    about, texts, ends, periods = read_novels()
    novels, authors = [], {}
    for novel, text in zip(about, texts, strict=True):
        fields = {"year": novel["year"], "gender": novel["author_gender"]}
        novels.append({"text": text, **fields})
        if not ends[0] < int(novel["year"]) < ends[1]:
            key = novel["author"], novel["author_gender"], int(novel["year"]) <= ends[0]
            authors.setdefault(key, {**fields, "text": ""})["text"] += f"{text}\n"
    config = ChangeConfig(permutations=arguments.permutations)
    found: dict[str, Any] = {"matched_authors": matched_authors(about), "tests": {}}
    tables = {}
    for unit, documents in (("novels", novels), ("authors", authors.values())):
        corpus = corpus_of(folder, f"{unit}-within", documents, ["year", "gender"])
        for name, within in ((unit, ()), (f"{unit}_within_gender", ("gender",))):
            changes = word_changes(corpus, config=config, by="year", periods=periods, within=within)
            tables[name] = changes.table
            found["tests"][name] = {
                "documents": [int(np.sum(changes.periods.period_of == n)) for n in (0, 1)],
                "tested": len(changes.table),
                "sure": int(np.sum(changes.table.q <= 0.05)),
                "p": shares(changes.table.p),
            }
    words = by_p(tables["novels"])[:SHOWN]
    found["words"] = [
        {"word": word, **{name: p_and_q(table, word) for name, table in tables.items()}}
        for word in words
    ]
    for name, test in found["tests"].items():
        test["remaining"] = sum(word[name]["q"] <= 0.05 for word in found["words"])
    return found


def p_and_q(table: ChangeTable, word: str) -> dict[str, float]:
    """Return p and q of a word."""
    row = table.words.index(word)
    return {"p": float(f"{table.p[row]:.2g}"), "q": round(float(table.q[row]), 4)}


def matched_authors(about: Sequence[dict[str, str]]) -> dict[str, Any]:
    """Return the novels by known authors of two periods, by the year that leaves most of them."""
    known = [novel for novel in about if novel["author"] != "unknown"]

    def matched(year: int) -> list[list[str]]:
        early, late = ([n["author"] for n in known if (int(n["year"]) < year) == e] for e in (1, 0))
        both = {*early} & {*late}
        return [[author for author in side if author in both] for side in (early, late)]

    years = sorted({int(novel["year"]) for novel in known})
    best = max(years, key=lambda year: min(map(len, matched(year))))
    novels_of = matched(best)
    return {"from": best, "authors": len({*novels_of[0]}), "novels": [*map(len, novels_of)]}


def random_halves(n: int, outer: Sequence[int], seed: int) -> list[str]:
    """Divide some documents into halves at random; the others get an empty name."""
    names = np.full(n, "", dtype=object)
    order = np.random.default_rng(seed).permutation(outer)
    names[order[: len(order) // 2]], names[order[len(order) // 2 :]] = "a", "b"
    return names.tolist()


def shown(found: WordChanges, chosen: Sequence[str]) -> Iterator[dict[str, Any]]:
    """Return what a table shows of some words."""
    for word in found.describe(chosen, k=5):
        assert word.p is not None
        assert word.q is not None
        assert word.chance is not None
        yield {
            "word": word.word,
            "distance": round(word.distance, 3),
            "chance": round(word.chance, 3),
            "p": word.p,
            "q": round(word.q, 3),
            "counts": word.counts,
            "near": word.neighbors,
        }


def speed(folder: Path, arguments: argparse.Namespace) -> dict[str, Any]:
    """Time two halves of a text of Wikipedia."""
    corpus = corpus_of(folder, "wiki", wikipedia(arguments), ["half"])
    config = ChangeConfig(permutations=arguments.permutations)
    periods = ["a", "b"]
    word_changes(corpus, config=ChangeConfig(permutations=1), by="half", periods=periods)  # compile
    started, before = time.perf_counter(), time.process_time()
    found = word_changes(corpus, config=config, by="half", periods=periods)
    return {
        "seconds": round(time.perf_counter() - started, 1),
        "processor_seconds": round(time.process_time() - before, 1),
        "tokens": found.counts.sum(axis=1).tolist(),
        "tested": len(found.table),
        "permutations": arguments.permutations,
        "peak_bytes": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024,
    }


def wikipedia(arguments: argparse.Namespace) -> Iterator[dict[str, str]]:
    """Yield articles with the half they are of."""
    done = 0
    for text in roles.articles(WIKIPEDIA, role=ROLE):
        yield {"text": text, "half": "a" if done < arguments.words / 2 else "b"}
        done += len(text.split())
        if done >= arguments.words:
            return


PARTS: dict[str, Callable[[Path, argparse.Namespace], dict[str, Any]]] = {
    "speed": speed,
    "novels": novels,
    "novels_within": novels_within,
    "strata": strata,
    "planted": lambda folder, arguments: {
        f"{share:g}": planted(folder, arguments, share) for share in SHARES
    },
    "unchanged": lambda folder, arguments: planted(folder, arguments, 0.0, frequency=0.0),
    "graded": graded,
    "stacked": stacked,
}

if __name__ == "__main__":
    main()
