"""Sentence vectors: plain means, SIF and its map as runs keep them, SIF of the sentences, one-hot.

SVD and skip-gram with default settings on AA and on WikiText-2, one run of each, kept in a folder.
Scored on the test parts of STS 2012 to 2014 (SemEval; Spearman's correlation with human scores over
the pairs of a year) and on which sentence follows in AC. Nothing is chosen: a is the paper's.

    python benchmarks/bench_sentence_vectors.py --runs out/sentence-vectors \\
        --json benchmarks/results/sentence-vectors.json
"""

import argparse
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bench_refine
import harness
import numpy as np
import roles
from scipy.sparse import csr_matrix

import firth
from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.compare.datasets.scored_sentences import read_scored_sentences
from firth.embed.compare.inputs.baselines import ONE_HOT, make_baselines
from firth.embed.compare.statistics.bootstrap import draw_counts, resample
from firth.embed.compare.statistics.estimators import Correlation, Means, Statistic
from firth.embed.compare.statistics.significance import paired
from firth.embed.compare.tasks.sentence_similarity import SentenceSimilarityTask
from firth.embed.contextual.sif import learn, line_vectors, sif_weights
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors

ROLE = roles.REPORTING
TEXTS = ("enwiki2015-AA", "wikitext2-train")
YEARS = ("sts-2012", "sts-2013", "sts-2014")
MEAN, KEPT, OWN = "mean", "SIF, kept in the run", "SIF, of these sentences"
MAPPED = "SIF, mapped"
WEIGHTED = "weighted mean"  # of one-hot vectors: SIF without its second step
DRAWS = 1000


def options(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the runs."""
    parser.add_argument("--runs", type=Path, required=True, help="folder of the runs")


def train(folder: Path, text: str) -> dict[str, WordVectors]:
    """Return the runs of a text, trained where they are missing."""
    stored, svd, sg = (folder / f"{text}{end}" for end in ("", "-svd", "-sg"))
    if not stored.exists():
        firth.build_corpus(roles.open_text(text, role=ROLE), stored)
    corpus = firth.Corpus.open(stored)
    if not svd.exists():
        firth.train_svd(corpus, firth.SvdConfig(), out=svd)
    if not sg.exists():
        firth.train_skipgram(corpus, firth.SkipGramConfig(), out=sg)
    return {"SVD": firth.load_vectors(svd), "skip-gram": firth.load_vectors(sg)}


def pooled(vectors: WordVectors, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the vectors of sentences by way, at unit length, float64 (n, D)."""
    lines = [vectors.words(text) for text in texts]
    kept, mapped = (firth.SentenceVectors.open(vectors, mapped=each) for each in (False, True))
    plain = firth.SentenceVectors(vectors, {"common": np.zeros(vectors.dim)})
    plain.weights = np.ones_like(kept.weights)
    ways = {MEAN: plain, KEPT: kept, MAPPED: mapped, OWN: learn(vectors, lines, "sentences")}
    return {name: unit_length(line_vectors(way, lines)[0]) for name, way in ways.items()}


def rows_of(name: str, method: str, statistics: Mapping[str, Statistic]) -> list[dict[str, Any]]:
    """Return the score of each way with its interval, and the difference from the mean."""
    counts = draw_counts(next(iter(statistics.values())).n_items, DRAWS, 1, name)
    scored = {way: resample(each, counts) for way, each in statistics.items()}
    rows = []
    for way, each in scored.items():
        low, high = np.quantile(each.replicates, (0.025, 0.975)).tolist()
        row = {"set": name, "vectors": method, "pooling": way, "items": each.statistic.n_items,
               "score": each.score, "low": low, "high": high}  # fmt: skip
        if way != MEAN:
            found = paired(each, scored[MEAN])
            row |= {"difference": found.difference, "from": found.low, "to": found.high}
        if way == MAPPED:
            found = paired(each, scored[KEPT])
            row |= {"more": found.difference, "more_from": found.low, "more_to": found.high}
        rows.append({k: round(v, 4) if isinstance(v, float) else v for k, v in row.items()})
    return rows


def similarity(runs: Mapping[str, WordVectors], name: str) -> list[dict[str, Any]]:
    """Return the scores of a year of STS, one-hot vectors last."""
    files = sorted(roles.open_set(name, role=ROLE).glob("*.test.tsv*"))
    pairs = [pair for file in files for pair in read_scored_sentences(file)]
    scores = np.array([pair.score for pair in pairs])
    rows = []
    for method, vectors in runs.items():
        ways = pooled(vectors, [text for pair in pairs for text in (pair.a, pair.b)])
        cosines = {way: (u[::2] * u[1::2]).sum(axis=1) for way, u in ways.items()}
        correlations = {w: Correlation(scores, c, ranked=True) for w, c in cosines.items()}
        rows += rows_of(name, method, correlations)
    task = SentenceSimilarityTask(name, pairs)
    baseline = make_baselines(list(runs.values()), task.texts(), 1 << 30, 1)[ONE_HOT]
    measured = task.measure(baseline, np.ones(len(pairs), dtype=bool))
    return rows + rows_of(
        name, ONE_HOT, {way: m.statistic for way, m in zip((MEAN, OWN), measured, strict=True)}
    )


def following(runs: Mapping[str, WordVectors]) -> list[dict[str, Any]]:
    """Return how often the nearest of all second sentences is the one that follows the first."""
    pairs = bench_refine.following(ROLE, 0)
    rows = []
    for method, vectors in runs.items():
        ways = pooled(vectors, [text for pair in pairs for text in pair])
        right = {
            way: Means((u[::2] @ u[1::2].T).argmax(axis=1) == np.arange(len(pairs)))
            for way, u in ways.items()
        }
        rows += rows_of("following", method, right)
    firsts, seconds = zip(*pairs, strict=True)
    right = {}
    for way, weights in ((MEAN, np.ones(len(vectors))), (WEIGHTED, sif_weights(vectors))):
        a, b = (bags(vectors, texts, weights) for texts in (firsts, seconds))
        right[way] = Means((a @ b.T).toarray().argmax(axis=1) == np.arange(len(pairs)))
    return rows + rows_of("following", ONE_HOT, right)


def bags(vectors: WordVectors, texts: Sequence[str], weights: np.ndarray) -> Any:
    """Return sums of one-hot vectors of the words of some vectors, weighted, at unit length."""
    rows = [[vectors.row(word) for word in vectors.words(text)] for text in texts]
    known = [[row for row in line if row is not None] for line in rows]
    flat = np.array([row for line in known for row in line])
    shape = len(texts), len(vectors)
    sums = csr_matrix((weights[flat], flat, offsets_of(map(len, known))), shape=shape)
    sums.sum_duplicates()
    return unit_length(sums)


def main() -> None:
    """Train, score, and write the figures."""
    arguments = harness.parse(__doc__, more=options)
    texts = {text: train(arguments.runs, text) for text in TEXTS}
    begun, results = time.perf_counter(), []
    for text, runs in texts.items():
        rows = [row for name in YEARS for row in similarity(runs, name)] + following(runs)
        results += [{"text": text, **row} for row in rows]
    keys = list(dict.fromkeys(key for row in results for key in row))
    print_table(keys, [[str(row.get(key, "")) for key in keys] for row in results])
    if arguments.json:
        about = {"seconds": round(time.perf_counter() - begun, 1)}
        machine = harness.machine()
        machine["command"] = ["benchmarks/bench_sentence_vectors.py"]
        write_json(arguments.json, {**about, "machine": machine, "results": results})


if __name__ == "__main__":
    main()
