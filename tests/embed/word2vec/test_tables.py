"""The trained tables: their layout, the parts of words, and the saved run."""

import numpy as np
import pytest

from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.subwords import END_OF_SENTENCE, ngram_buckets
from firth.embed.word2vec.config import Ngrams
from firth.embed.word2vec.tables import LANES, compose_words, make_tables
from tests.embed.word2vec.word2vec_cases import initial_tables

WORDS = ["the", "king", "a", "kings", END_OF_SENTENCE, "naïve", "図書館"]
COUNTS = np.array([90, 20, 20, 7, 3, 2, 1])
NGRAMS = Ngrams(3, 4, 60)


def perturbed(tables, seed=3):
    """Add noise to the tables, as if trained; return them."""
    rng = np.random.default_rng(seed)
    for table in tables.arrays().values():
        table += rng.normal(size=table.shape).astype(np.float32)
    return tables


@pytest.mark.parametrize("dim", [1, 15, 16, 17, 100])
@pytest.mark.parametrize("ngrams", [None, NGRAMS])
@pytest.mark.parametrize("spare", [0, 23])
def test_tables_are_the_initial_vectors_in_aligned_rows_padded_with_zeros(dim, ngrams, spare):
    tables = make_tables(WORDS, dim, 5, None, ngrams, spare)
    assert (tables.buckets is None) == (ngrams is None)
    buckets = np.empty(0, np.int64) if ngrams is None else tables.buckets
    inputs, outputs = initial_tables(WORDS, dim, 5, None, buckets)
    assert inputs.any()
    for table, expected, more in ((tables.inputs, inputs, 0), (tables.outputs, outputs, spare)):
        assert table.dtype == np.float32
        assert table.shape == (len(expected) + more + 1, -(-dim // LANES) * LANES)
        assert table.flags.c_contiguous
        assert table.ctypes.data % (4 * LANES) == 0
        assert np.array_equal(table[: len(expected), :dim], expected)
        assert not table[len(expected) :].any()
        assert not table[:, dim:].any()
    assert (tables.n_words, tables.dim) == (len(WORDS), dim)


def test_arrays_are_views_of_the_tables():
    tables = make_tables(WORDS, 5, 1, None, NGRAMS, 23)
    arrays = tables.arrays()
    assert list(arrays) == ["inputs", "outputs"]
    arrays["inputs"][3, 4] = 9
    arrays["outputs"][6, 0] = 8
    assert (tables.inputs[3, 4], tables.outputs[6, 0]) == (9, 8)
    assert arrays["inputs"].shape == (len(WORDS) + len(tables.buckets), 5)
    assert arrays["outputs"].shape == (len(WORDS), 5)


@pytest.mark.parametrize("ngrams", [NGRAMS, Ngrams(1, 1, 3), Ngrams(3, 6, 2_000_000)])
def test_the_parts_of_a_word_are_its_own_row_and_its_ngrams(ngrams):
    starts, parts, buckets = compose_words(WORDS, ngrams)
    assert (np.diff(buckets) > 0).all()
    assert starts[0] == 0
    assert starts[-1] == len(parts)
    for w, word in enumerate(WORDS):
        own, *others = parts[starts[w] : starts[w + 1]].tolist()
        assert own == w
        found = [int(buckets[row - len(WORDS)]) for row in others]
        assert found == ngram_buckets(word, *ngrams)
    assert set(range(len(WORDS), len(WORDS) + len(buckets))) == set(parts.tolist()) - set(
        range(len(WORDS))
    )
    assert parts.dtype == np.int32


def test_vectors_with_ngrams_are_means_of_their_parts():
    tables = perturbed(make_tables(WORDS, 5, 1, None, NGRAMS))
    for first, last in ((0, len(WORDS)), (2, 5), (4, 5)):
        expected = [
            tables.inputs[tables.parts[tables.starts[w] : tables.starts[w + 1]], :5].mean(axis=0)
            for w in range(first, last)
        ]
        np.testing.assert_allclose(tables.vectors(first, last), expected, rtol=1e-5, atol=1e-6)
    assert tables.vectors(0, 2).dtype == np.float32


@pytest.mark.parametrize("spare", [0, 23])
def test_saved_tables_load_as_a_run(spare, tmp_path):
    tables = perturbed(make_tables(WORDS, 5, 1, None, None, spare))
    tables.outputs[len(WORDS) : -1] = 7  # work rows
    tables.save(tmp_path, WORDS, COUNTS)
    assert sorted(path.name for path in tmp_path.iterdir()) == [
        "contexts.npy", "vectors.npy", "vocabulary.tsv",
    ]  # fmt: skip
    vectors = load_vectors(tmp_path)
    assert vectors.vocabulary == WORDS
    assert list(vectors.counts) == COUNTS.tolist()
    assert np.array_equal(vectors.matrix, tables.inputs[:-1, :5])
    assert np.array_equal(np.load(tmp_path / "contexts.npy"), tables.outputs[: len(WORDS), :5])


@pytest.mark.parametrize("block", [1, 15, 5000])
def test_saved_tables_with_ngrams_have_composed_vectors_and_their_rows(
    block, tmp_path, monkeypatch
):
    monkeypatch.setattr("firth.embed.word2vec.tables._COMPOSED", block)
    tables = perturbed(make_tables(WORDS, 5, 1, None, NGRAMS, 23))
    tables.outputs[len(WORDS) : -1] = 7
    tables.save(tmp_path, WORDS, COUNTS)
    assert np.array_equal(np.load(tmp_path / "inputs.npy"), tables.inputs[:-1, :5])
    assert np.array_equal(np.load(tmp_path / "buckets.npy"), tables.buckets)
    assert np.array_equal(np.load(tmp_path / "contexts.npy"), tables.outputs[: len(WORDS), :5])
    matrix = np.load(tmp_path / "vectors.npy")
    assert matrix.dtype == np.float32
    assert np.array_equal(matrix, tables.vectors(0, len(WORDS)))
