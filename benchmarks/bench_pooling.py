"""Word vectors of a masked LM, made in several ways from one run of a tuning text: which is best?

The counts of words and of pieces, the input embeddings, mean states, mean states of masked words,
and joined vectors with other numbers of contexts, other lengths of the second part, and other
centers. ``firth train-mlm`` makes RUN, whose corpus is read again.

    python benchmarks/bench_pooling.py out/AB-mlm --json benchmarks/results/mlm-pooling.json

``--shares SVD`` compares lengths of the second part instead, with intervals: joined vectors of the
encoder, and of the same encoder before its training, with their first part alone and with the run
SVD, made by ``firth train-svd --side-means 100``.

    python benchmarks/bench_pooling.py out/AB-mlm --words 30000 --shares out/AB-sides \
        --json benchmarks/results/mlm-shares.json
"""

import argparse
import time
from collections.abc import Callable, Iterator
from itertools import product
from pathlib import Path
from typing import Any

import harness
import mlm_quality
import numpy as np
import roles
from choosing import advantage

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.contextual import joined
from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.embed.runs.run import Run
from firth.embed.vectors.piece_table import FIRST_VECTORS, PieceTable
from firth.embed.vectors.word_vectors import WordVectors, with_matrix
from firth.pretrain.inference.mlm_encoder import MlmEncoder, open_run

ROLE = roles.TUNING
SETS = {"similarity": ("mturk287", "rg65"), "analogy": ("msr",), "categorization": ("ap",)}
CONTEXTS = (1, 3, 10, 30)
SHARES = (0.35, 0.5, 0.7, 1.0, 1.4)
CHOICES = (0.35, 0.5, 0.7)  # of --shares


def ways(
    encoder: MlmEncoder, first: PieceTable, pool: Callable[..., WordVectors]
) -> Iterator[tuple[str, int | None, np.ndarray]]:
    """Yield the name of a way, the number of contexts, and the vectors that it makes."""
    states = pool(source="states")
    words = list(states.vocabulary)
    static, n_pieces = encoder.static_embeddings(words), encoder.n_pieces(words)
    table, pieces = encoder.input_embeddings(words), first.means(words)
    yield "counts of words", None, static
    yield "counts of pieces", None, pieces
    yield "input embeddings", None, table
    yield "states", 10, np.asarray(states.matrix)
    masked = {n: np.asarray(pool(source="masked", contexts_per_word=n).matrix) for n in CONTEXTS}
    yield "masked", 10, masked[10]
    for n_contexts, found in masked.items():
        yield "joined", n_contexts, join(static, found, n_pieces)
    for share in SHARES:
        yield f"joined, length {share:g}", 30, join(static, masked[30], n_pieces, share=share)
    one = np.ones_like(n_pieces)
    yield "joined, one center", 30, join(static, masked[30], one)
    yield "joined, no center", 30, join(static, masked[30], n_pieces, center=False)
    yield "joined with the counts of pieces", 30, join(pieces, masked[30], n_pieces)
    yield "joined with the input embeddings", 30, join(table, masked[30], n_pieces)


def shares_of(run: Path, n_words: int) -> dict[str, WordVectors]:
    """Return the vectors of a run, trained and not, with each length of the second part."""
    trained, untrained, start = (
        _first_words(vectors, n_words)
        for opened in [WordVectors.open(run)]
        for vectors in (opened, opened.untrained, opened.start)
    )
    candidates = {"start": start}
    for (kind, vectors), share in product(
        {"trained": trained, "untrained": untrained}.items(), CHOICES
    ):
        matrix = np.array(vectors.matrix)
        matrix[:, start.dim :] *= share / joined.SHARE
        candidates[f"{kind} {share:g}"] = with_matrix(vectors, matrix, f"{kind} {share:g}")
    return candidates


def _first_words(vectors: WordVectors | None, n_words: int) -> WordVectors:
    """Return the most frequent words."""
    assert vectors is not None, "trained with --init none, or by an earlier version"
    words = list(vectors.vocabulary[:n_words])
    return WordVectors(words, vectors.rows(words), text=vectors.text)


def advantages(
    candidates: dict[str, WordVectors], tasks: list[Any]
) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the mean difference of two candidates over the sets, with its interval."""
    default = f"trained {joined.SHARE:g}"
    shares = [f"{kind} {share:g}" for kind in ("trained", "untrained") for share in CHOICES]
    pairs = [(name, "start") for name in (*shares, "side means")]
    pairs += [(f"trained {share:g}", default) for share in CHOICES if share != joined.SHARE]
    pairs += [(f"trained {share:g}", f"untrained {share:g}") for share in CHOICES]
    pairs.append((default, f"untrained {CHOICES[0]:g}"))  # the length that suits it best
    pairs += [(name, "side means") for name in shares]
    for new, old in pairs:
        found = advantage([candidates[new]], [candidates[old]], tasks)
        rounded = {key: round(getattr(found, key), 4) for key in ("difference", "low", "high")}
        by_set = {name: round(value, 4) for name, value in found.by_set.items()}
        yield f"{new} - {old}", {**rounded, "by_set": by_set}


def choose(run: Path, side_means: Path, n_words: int, json: Path | None) -> None:
    """Score each length of the second part, and compare them."""
    tasks, candidates = roles.read_sets(SETS, role=ROLE), shares_of(run, n_words)
    words = list(candidates["start"].vocabulary)
    sides = WordVectors.open(side_means)
    candidates["side means"] = WordVectors(words, sides.rows(words), text=sides.text)
    training = mlm_quality.last_scores(run)
    kept = ("step", "tokens", "seconds", "held_out_loss", "unigram_loss")
    measured: dict[str, Any] = {
        "benchmark": "pooling", "words": len(words), "preset": Run.open(run).options["preset"],
        "training": {key: training[key] for key in kept}, "shares": {}, "advantages": {},
    }  # fmt: skip
    for name, vectors in candidates.items():
        scores = harness.score_by_set(tasks, vectors)
        mean = float(np.mean([score or 0.0 for score in scores.values()]))
        measured["shares"][name] = {"scores": scores, "mean": mean}
        print(name, scores, f"{mean:.4f}", flush=True)
    for name, found in advantages(candidates, tasks):
        measured["advantages"][name] = found
        print(name, found, flush=True)
        if json:
            write_json(json, {**measured, "machine": harness.machine()})


def join(
    static: np.ndarray, masked: np.ndarray, n_pieces: np.ndarray, *,
    share: float = joined.SHARE, center: bool = True,
) -> np.ndarray:  # fmt: skip
    """Join vectors as ``joined`` does, with another share or without centers."""
    centers = joined.centers_of(masked, n_pieces) * center
    found = joined.joined(static, masked, n_pieces, centers)
    found[:, static.shape[1] :] *= share / joined.SHARE
    return found


def main() -> None:
    """Pool and score."""
    arguments = harness.parse(__doc__, more=_own_options)
    if arguments.shares:
        choose(arguments.run, arguments.shares, arguments.words, arguments.json)
        return
    encoder, corpus = open_run(arguments.run, "cpu"), Run.open(arguments.run).corpus()
    first = PieceTable.open(arguments.run, FIRST_VECTORS)
    assert first is not None, f"{arguments.run} was trained with --init none"
    tasks, seconds = roles.read_sets(SETS, role=ROLE), {}
    vocabulary: list[str] = []

    def pool(**options: Any) -> WordVectors:
        begun = time.perf_counter()
        config = PoolConfig(max_vocabulary=arguments.words, **options)
        vectors = pool_words(encoder, corpus, config).vectors
        vocabulary[:] = vectors.vocabulary
        key = f"{config.source}, {config.contexts_per_word or 10} contexts"
        seconds[key] = round(time.perf_counter() - begun, 1)
        return vectors

    found = []
    for name, contexts, matrix in ways(encoder, first, pool):
        vectors = WordVectors(vocabulary, matrix, text=corpus.text)
        scores = harness.score_by_set(tasks, vectors)
        mean = float(np.mean([score or 0.0 for score in scores.values()]))
        found.append({"vectors": name, "contexts": contexts, "scores": scores, "mean": mean})
        print(found[-1], flush=True)
    if arguments.json:
        about = {"words": len(vocabulary), "pieces": len(encoder.pieces), "seconds": seconds}
        measured = {"benchmark": "pooling", **about, "ways": found}
        write_json(arguments.json, {**measured, "machine": harness.machine()})
    sets = list(found[0]["scores"])
    print_table(["vectors", "contexts", *sets, "mean"], [
        [each["vectors"], each["contexts"], *each["scores"].values(), each["mean"]]
        for each in found
    ])  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("run", type=Path, help="a run of train-mlm on a tuning text")
    parser.add_argument("--words", type=int, default=10_000, help="the most frequent words")
    parser.add_argument("--shares", type=Path, metavar="SVD", help="compare shares; with this run")


if __name__ == "__main__":
    main()
