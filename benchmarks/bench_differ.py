"""How often ``firth differ`` finds a difference where there is none, and one that was made.

- unchanged: the articles of a text of Wikipedia (enwiki2015-AC) are dealt out at random to two
  parts, several times, and an SVD is trained on each part. Each pair of runs is held against 20 of
  the others, as ``differ`` holds two runs against its resamples: the shares of p at most each
  level, of words that are spread evenly and of those of one document. Beside it, p as the rank of
  distances that are standardized by what is usual at a word's frequency.
- swapped: pairs of words exchange their places in half of the articles, and the runs of the halves
  are held against 20 resamples: the share of these words that are found. In texts of enwiki2015-AC
  they are random pairs of words as frequent, in wiki-sample five pairs of other topics.
"""

import argparse
import itertools
import re
import tempfile
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles
from scipy.stats import false_discovery_control

from firth import ReadOptions, SvdConfig, build_corpus, train_svd
from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.datasets.named import NAMED_CORPORA, named_files
from firth.corpora.reading.readers import read
from firth.embed.explore.chance import random_pairs
from firth.embed.explore.differ import _Compared
from firth.embed.resampling.drawn_text import joined_text, top_shares
from firth.embed.vectors.word_vectors import WordVectors

ROLE = roles.REPORTING
TEXT = "enwiki2015-AC"
K, RESAMPLES = 25, 20
LEVELS = (0.05, 0.01, 0.001)
SPREAD, ONE_DOCUMENT = 0.1, 0.75  # share of a word's tokens in the document that has most of them
SAMPLE, HALVINGS, LOTS = "wiki-sample", 3, 3
TOPICS = [
    ("water", "language"), ("film", "army"), ("city", "energy"), ("law", "river"), ("king", "error")
]  # fmt: skip
PAIRS = 12  # of words that are swapped, in a text and band
BANDS = {"10 to 39": (10, 40), "40 and more": (40, 1 << 30)}  # tokens in either half
FREQUENT = 50  # harmonic mean of the tokens in both halves
BINS, QUANTILE, LEAST_SPREAD, TINY = 20, 0.9, 0.01, 1e-6
WAYS: dict[str, Callable[[_Compared, np.ndarray], np.ndarray]] = {
    "own": lambda observed, by_chance: observed.tested(by_chance)[0],
    "frequency": lambda observed, by_chance: by_frequency(observed, by_chance),
}


def options(parser: argparse.ArgumentParser) -> None:
    """Add sizes."""
    parser.add_argument("--words", type=int, default=400_000, help="of a text")
    parser.add_argument("--texts", type=int, default=4, help="successive ones")
    parser.add_argument("--deals", type=int, default=24, help="pairs of parts of a text")
    parser.add_argument("--part", choices=PARTS, action="append", help="only these")


def main() -> None:
    """Measure all, or some parts beside what the file has of others, and write it down."""
    arguments = harness.parse(__doc__, more=options)
    path, found = arguments.json, {}
    for part in arguments.part or PARTS:
        found[part] = PARTS[part](arguments)
        print(part, found[part])
    if path:
        before = read_json(path) if path.exists() else {}
        write_json(path, {**before, "benchmark": "Differing words", **found, **harness.machine()})


def unchanged(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the shares of small p where only chance is at work."""
    found: dict[str, list[np.ndarray]] = {way: [] for way in WAYS}
    about = []  # share in one document, and size
    for number, articles in enumerate(texts(arguments)):
        halves = dealt(articles, number)
        pairs, shares = trained_pairs(halves, arguments.deals - 1)
        for at, observed in enumerate(pairs):
            others = [pairs[(at + step) % len(pairs)] for step in range(1, RESAMPLES + 1)]
            by_chance = aligned(observed.words, others)
            for way, p_of in WAYS.items():
                found[way].append(p_of(observed, by_chance))
            own = np.array([shares[word] for word in observed.words])
            about.append(np.column_stack([own, observed.sizes]))
        print(number, {way: levels(np.concatenate(p)) for way, p in found.items()}, flush=True)
    own, sizes = np.concatenate(about).T
    kinds = {
        "all": np.ones(len(own), bool),
        "spread": own < SPREAD,
        "one document": own > ONE_DOCUMENT,
        "rare": sizes < FREQUENT,
        "frequent": sizes >= FREQUENT,
    }
    p = {way: np.concatenate(each) for way, each in found.items()}
    usable = np.isfinite(p["own"])
    return {
        "words": arguments.words,
        "texts": arguments.texts,
        "deals": arguments.deals,
        "untested": round(1 - float(usable.mean()), 4),
        "kinds": {
            kind: {"words": int((chosen & usable).sum())}
            | {way: levels(each[chosen & usable]) for way, each in p.items()}
            for kind, chosen in kinds.items()
        },
    }


def swapped(arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the share of swapped words that are found."""
    p: dict[tuple[str, str], list[float]] = {
        (band, way): [] for band in (*BANDS, "topics") for way in WAYS
    }
    q: dict[tuple[str, str], list[float]] = {key: [] for key in p}
    false = dict.fromkeys(WAYS, 0)
    for first, second, bands in cases(arguments):
        partners = {word: other for pairs in bands.values() for word, other in pairs.items()}
        changed = [swap(text, partners) for text in second]
        pairs, _ = trained_pairs((first, changed), RESAMPLES)
        observed, by_chance = pairs[0], aligned(pairs[0].words, pairs[1:])
        rows_of = {word: row for row, word in enumerate(observed.words)}
        others = [row for word, row in rows_of.items() if word not in partners]
        for way, p_of in WAYS.items():
            values = p_of(observed, by_chance)
            values = np.where(np.isfinite(values), values, 1.0)
            corrected = false_discovery_control(values)
            false[way] += int((corrected[others] <= 0.05).sum())
            for band, words in bands.items():
                rows = [rows_of[word] for word in words if word in rows_of]
                p[band, way] += values[rows].tolist()
                q[band, way] += corrected[rows].tolist()
        print({key: levels(np.array(each)) for key, each in p.items() if each}, flush=True)
    return {
        "words": arguments.words,
        "texts": arguments.texts,
        "others_sure": false,
        "bands": {
            band: {"words": len(p[band, "own"])}
            | {
                way: levels(np.array(p[band, way]))
                | {"sure": round(float((np.array(q[band, way]) <= 0.05).mean()), 4)}
                for way in WAYS
            }
            for band in (*BANDS, "topics")
        },
    }


def resamples(_: argparse.Namespace) -> dict[str, Any]:
    """Return how many words of other topics are found by lots of 20 resamples, and by all."""
    first, second = dealt(sample(), 0)
    changed = [swap(text, swapped_topics()) for text in second]
    pairs, _ = trained_pairs((first, changed), LOTS * RESAMPLES)
    observed, by_chance = pairs[0], aligned(pairs[0].words, pairs[1:])
    rows = [row for row, word in enumerate(observed.words) if word in swapped_topics()]

    def found(columns: np.ndarray) -> int:
        p = observed.tested(columns)[0]
        corrected = false_discovery_control(np.where(np.isfinite(p), p, 1.0))
        return int((corrected[rows] <= 0.05).sum())

    lots = [found(columns) for columns in np.split(by_chance, LOTS, axis=1)]
    return {"swapped": len(rows), "lots": lots, "all": found(by_chance)}


def swapped_topics() -> dict[str, str]:
    """Return the partner of each word of other topics."""
    return dict([*TOPICS, *(pair[::-1] for pair in TOPICS)])


def cases(
    arguments: argparse.Namespace,
) -> Iterator[tuple[list[str], list[str], dict[str, dict[str, str]]]]:
    """Yield halves of texts with the words to swap in the second, by band."""
    for number, articles in enumerate(texts(arguments)):
        first, second = dealt(articles, number)
        bands = {band: chosen_pairs(first, second, number, *ends) for band, ends in BANDS.items()}
        yield first, second, bands
    articles = sample()
    for number in range(HALVINGS):
        first, second = dealt(articles, number)
        yield first, second, {"topics": swapped_topics()}


def sample() -> list[str]:
    """Return the articles of wiki-sample."""
    articles = []
    for raw in read(named_files(SAMPLE), ReadOptions(**NAMED_CORPORA[SAMPLE])):
        block = raw.parse()
        for start, stop in itertools.pairwise(block.documents):
            articles.append(bytes(block.text[start:stop]).decode())
    return articles


def texts(arguments: argparse.Namespace) -> Iterator[list[str]]:
    """Yield successive texts, each as its articles."""
    articles: list[str] = []
    size = n_texts = 0
    for article in roles.articles(TEXT, role=ROLE):
        articles.append(article)
        size += len(article.split())
        if size >= arguments.words:
            yield articles
            articles, size, n_texts = [], 0, n_texts + 1
            if n_texts == arguments.texts:
                return


def dealt(articles: Sequence[str], seed: int) -> tuple[list[str], list[str]]:
    """Deal articles out to two halves at random."""
    order = np.random.default_rng(seed).permutation(len(articles)).tolist()
    middle = len(order) // 2
    return [articles[n] for n in order[:middle]], [articles[n] for n in order[middle:]]


def trained_pairs(
    halves: tuple[list[str], list[str]], resamples: int
) -> tuple[list[_Compared], dict[str, float]]:
    """Return the pair of runs of two corpora, then of random parts, and shares of one document."""
    compared: list[_Compared] = []

    def measure(a: WordVectors, b: WordVectors) -> np.ndarray:
        compared.append(_Compared.of(a, b, K, 1))
        return np.zeros(1)

    with tempfile.TemporaryDirectory() as name:
        corpora, runs = [], []
        for half, documents in zip("ab", halves, strict=True):
            folder = Path(name) / half
            folder.mkdir()
            for number, text in enumerate(documents):
                (folder / f"{number:06}.txt").write_text(text, encoding="utf-8")
            read = ReadOptions(documents="file")
            corpora.append(build_corpus(folder, Path(name) / f"{half}-corpus", read=read))
            runs.append(train_svd(corpora[-1], SvdConfig(), Path(name) / f"{half}-run"))
        measure(*runs)
        random_pairs(*runs, measure, resamples=resamples, seed=1)
        text = joined_text(*corpora)
        words = text.vocabulary.words()
        return compared, dict(zip(words, top_shares(text, words).tolist(), strict=True))


def aligned(words: Sequence[str], pairs: Sequence[_Compared]) -> np.ndarray:
    """Return the distances of words in pairs of runs, NaN where a pair lacks the word."""
    # returns float64 (n, n_pairs)
    columns = []
    for pair in pairs:
        distances = dict(zip(pair.words, pair.distances.tolist(), strict=True))
        columns.append([distances.get(word, np.nan) for word in words])
    return np.array(columns).T


def by_frequency(observed: _Compared, by_chance: np.ndarray) -> np.ndarray:
    """Return p with what is usual at a word's frequency in place of its own distances by chance.

    Logarithms are standardized by median and spread (90th percentile minus median) of bins of words
    by size; p is the share of all by chance that are as large.
    """
    log_sizes = np.log(observed.sizes)
    repeated = np.repeat(log_sizes[:, None], by_chance.shape[1], axis=1)
    present = np.isfinite(by_chance)
    sizes, distances = repeated[present], np.log(np.maximum(by_chance[present], TINY))
    bins = np.array_split(np.argsort(sizes, kind="stable"), BINS)
    centers = [sizes[rows].mean() for rows in bins]
    medians = np.array([np.median(distances[rows]) for rows in bins])
    uppers = np.array([np.quantile(distances[rows], QUANTILE) for rows in bins])
    spreads = np.maximum(uppers - medians, LEAST_SPREAD)

    def standardized(size: np.ndarray, distance: np.ndarray) -> np.ndarray:
        middle = np.interp(size, centers, medians)
        return np.asarray((distance - middle) / np.interp(size, centers, spreads))

    pool = np.sort(standardized(sizes, distances))
    seen = standardized(log_sizes, np.log(np.maximum(observed.distances, TINY)))
    beyond = len(pool) - np.searchsorted(pool, seen, side="left")
    return np.asarray((1 + beyond) / (1 + len(pool)))


def chosen_pairs(
    first: Sequence[str], second: Sequence[str], seed: int, least: int, limit: int
) -> dict[str, str]:
    """Choose pairs of words of similar frequency; return the partner of each."""
    counts = [Counter(word for text in half for word in tokens(text)) for half in (first, second)]
    sizes = {word: min(n, counts[1][word]) for word, n in counts[0].items()}
    spread = Counter(word for text in (*first, *second) for word in set(tokens(text)))
    usable = [w for w, n in sizes.items() if least <= n < limit and spread[w] >= n]
    usable.sort(key=lambda word: (sizes[word], word))
    ranks = np.random.default_rng(seed).permutation(len(usable) // 2 - 1)[:PAIRS] * 2
    pairs = [(usable[rank], usable[rank + 1]) for rank in ranks.tolist()]
    return {word: other for pair in pairs for word, other in (pair, pair[::-1])}


def swap(text: str, partners: dict[str, str]) -> str:
    """Exchange words with their partners."""
    return re.sub(r"[^\W\d_]+", lambda m: partners.get(m[0].lower(), m[0]), text)


def tokens(text: str) -> list[str]:
    """Return the words of a text in lower case."""
    return re.findall(r"[^\W\d_]+", text.lower())


def levels(p: np.ndarray) -> dict[str, float]:
    """Return the share of p at most each level."""
    return {f"{level:g}": round(float((p <= level).mean()), 5) for level in LEVELS}


PARTS: dict[str, Callable[[argparse.Namespace], dict[str, Any]]] = {
    "unchanged": unchanged,
    "swapped": swapped,
    "resamples": resamples,
}

if __name__ == "__main__":
    main()
