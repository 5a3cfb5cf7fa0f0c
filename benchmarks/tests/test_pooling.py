"""The benchmark of pooling: its default is what train-mlm makes, and every way is another."""

from pathlib import Path

import numpy as np
import pytest

from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.embed.vectors.piece_table import PieceTable
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors
from tests.pretrain.small_run import small_corpus, small_encoder

BENCH = Path(__file__).parents[1]


@pytest.fixture
def bench(monkeypatch):
    """Import benchmarks/bench_pooling.py; its relatives stay importable for this test only."""
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_pooling

    return bench_pooling


def test_the_default_is_among_the_ways_and_all_others_differ(bench, tmp_path):
    encoder, corpus = small_encoder(), small_corpus(tmp_path)

    def pool(**options):
        return pool_words(encoder, corpus, PoolConfig(min_count=1, **options)).vectors

    rows = np.random.default_rng(4).normal(size=(len(encoder.pieces), 6)).astype(np.float32)
    ways = bench.ways(encoder, PieceTable(encoder.pieces, rows), pool)
    found = {(name, n): matrix for name, n, matrix in ways}
    default = np.asarray(pool().matrix)
    np.testing.assert_allclose(found["joined", 30], default, atol=1e-6)
    np.testing.assert_allclose(found["joined, length 0.7", 30], found["joined", 30], atol=1e-6)
    # as this encoder started at random, its words have no vectors but its input embeddings
    np.testing.assert_array_equal(found["counts of words", None], found["input embeddings", None])
    assert len({matrix.tobytes() for matrix in found.values()}) >= len(found) - 4


def test_shares_are_lengths_of_the_second_part_of_both_encoders(bench, tmp_path):
    run, rng = tmp_path / "run", np.random.default_rng(5)
    (run / "start").mkdir(parents=True)
    start, second = (rng.normal(size=(4, width)).astype(np.float32) for width in (3, 2))
    parts = unit_length(start), bench.joined.SHARE * unit_length(second)
    WordVectors([*"abcd"], np.concatenate(parts, axis=1)).write(run)
    WordVectors([*"abcd"], start).write(run / "start")
    np.save(run / "untrained.npy", bench.joined.SHARE * parts[0][:, :2])

    found = bench.shares_of(run, 3)

    assert list(found["start"].vocabulary) == [*"abc"]
    np.testing.assert_array_equal(found["start"].matrix, start[:3])
    for share in bench.CHOICES:
        np.testing.assert_allclose(found[f"trained {share:g}"].matrix, np.concatenate(
            [parts[0], share * unit_length(second)], axis=1)[:3], rtol=1e-5)  # fmt: skip
        np.testing.assert_allclose(found[f"untrained {share:g}"].matrix, np.concatenate(
            [parts[0], share * parts[0][:, :2]], axis=1)[:3], rtol=1e-5)  # fmt: skip
