"""The first vectors of the pieces: from the text by SVD, and from the words of a run."""

from collections import defaultdict
from itertools import pairwise

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.tokenizer.pieces import FIRST_PIECE
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.packing import piece_counts
from firth.pretrain.data.text import learn_text_pieces, open_text, pack_text
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.shape import INIT_STD
from firth.pretrain.training.warm_start import (
    start_from,
    vectors_from_text,
    vectors_from_words,
    words_from_run,
)
from tests.pretrain.small_training import SMALL, corpus_of

DIM = 16


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """The text, its pieces and its packed rows."""
    corpus = corpus_of(tmp_path_factory.mktemp("corpus"))
    config = MlmConfig(**SMALL)
    opened = open_text(corpus, config)
    pieces = learn_text_pieces(opened, config)
    return opened, pieces, pack_text(opened, pieces, config, torch.device("cpu"))[0]


def slow_ppmi(view, pieces, *, window=7, smoothing=0.75, threshold=1e-5):
    """PPMI of harmonic windows of pieces within documents, as train-svd documents it."""
    segments = [
        pieces.split([view.words[row] for row in rows[start:stop]])[0].tolist()
        for rows, offsets in view.shards()
        for start, stop in pairwise(offsets)
    ]
    counts = np.bincount([p for each in segments for p in each], minlength=len(pieces))
    share = counts / counts.sum()
    keep = np.minimum(1, np.sqrt(threshold / np.maximum(share, 1e-12)))
    pairs = defaultdict(float)
    for each in segments:
        for i, piece in enumerate(each):
            for j in range(max(0, i - window), min(len(each), i + window + 1)):
                if j != i:
                    pairs[piece, each[j]] += keep[piece] * keep[each[j]] / abs(i - j)
    matrix = np.zeros((len(counts), len(counts)))
    for (a, b), weight in pairs.items():
        matrix[a, b] = weight
    contexts = matrix.sum(0) ** smoothing
    expected = np.outer(matrix.sum(1), contexts / contexts.sum())
    with np.errstate(divide="ignore", invalid="ignore"):
        return np.maximum(np.nan_to_num(np.log(matrix / expected), neginf=0), 0)


def test_vectors_of_the_text_are_the_svd_of_its_pieces(text):
    view, pieces = text[0].train, text[1]
    found = vectors_from_text(view, pieces, DIM, seed=1, threads=1).astype(np.float64)
    left, values, _ = np.linalg.svd(slow_ppmi(view, pieces))
    expected = left[:, :DIM] * values[:DIM] ** 0.5
    np.testing.assert_allclose(found @ found.T, expected @ expected.T, atol=2e-3)
    assert np.abs(found).max() > 0.5
    assert not found[:FIRST_PIECE].any()


def vectors_from_run(path, view, pieces):
    """Vectors of pieces from a file of word vectors, as a training makes them."""
    return vectors_from_words(words_from_run(str(path), view, DIM), pieces, run=str(path))


def test_vectors_that_are_not_finite_are_refused(text, tmp_path):
    view = text[0].train
    matrix = np.full((len(view.words), DIM), np.nan, np.float32)
    WordVectors(view.words, matrix).to_gensim().save_word2vec_format(tmp_path / "run.txt")
    with pytest.raises(FirthError, match=r"run\.txt"):
        vectors_from_run(tmp_path / "run.txt", view, text[1])


def test_columns_beyond_the_number_of_pieces_are_zero(text):
    rows = text[2]
    n_pieces = int(np.count_nonzero(piece_counts(rows)))
    found = vectors_from_text(text[0].train, text[1], 128, seed=1, threads=1)
    assert found.shape == (rows.vocabulary_size, 128)
    assert not found[:, n_pieces:].any()


def test_a_start_has_the_deviation_of_random_vectors_and_predicts_frequencies(text):
    rows = text[2]
    counts = piece_counts(rows)
    config = MlmConfig(**SMALL | {"preset": "1/64/2"}).shape(n_pieces=rows.vocabulary_size)
    model = MaskedLanguageModel(config)
    begun = model.pieces.weight.detach().clone()
    vectors = vectors_from_text(text[0].train, text[1], 64, seed=1, threads=1)
    start_from(model, vectors, counts)
    table = model.pieces.weight.detach()
    row, column = (torch.from_numpy(vectors.any(axis)) for axis in (1, 0))
    assert not column.all(), "the text has fewer pieces than dimensions"
    inside = table[row][:, column]
    assert inside.std(correction=0).item() == pytest.approx(INIT_STD, rel=1e-5)
    known = vectors[vectors.any(1)][:, vectors.any(0)]
    np.testing.assert_allclose(inside / inside.abs().max(), known / np.abs(known).max(), atol=1e-6)
    assert torch.equal(table[~row], begun[~row])
    assert torch.equal(table[:, ~column], begun[:, ~column])
    expected = (counts + 1) / (counts + 1).sum()
    torch.testing.assert_close(model.core.bias.exp(), expected.float(), rtol=1e-5, atol=0)


def test_a_piece_starts_from_the_words_of_a_run_that_contain_it(text, tmp_path):
    view, pieces, _ = text
    view = view.train
    rng = np.random.default_rng(0)
    words = [*view.words[5:], "elsewhere"]  # five are missing
    vectors = WordVectors(words, rng.normal(size=(len(words), DIM)).astype(np.float32))
    vectors.to_gensim().save_word2vec_format(tmp_path / "run.txt")
    found = vectors_from_run(tmp_path / "run.txt", view, pieces)

    sums, totals = np.zeros((len(pieces), DIM)), np.zeros(len(pieces))
    for word, count in zip(view.words[5:], view.counts[5:], strict=True):
        for piece in pieces.split([word])[0]:
            sums[piece] += count * vectors[word]
            totals[piece] += count
    sums[:FIRST_PIECE] = totals[:FIRST_PIECE] = 0
    expected = np.divide(sums, totals[:, None], where=totals[:, None] > 0, out=0 * sums)
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5)
    assert found.any()


@pytest.mark.parametrize(
    ("words", "dim", "message"),
    [
        (["word1", "word2"], 8, "has 8 dimensions and the encoder 16; pass `dim=8` or a run"),
        (["casa", "cane"], DIM, "contain 0 of the"),
    ],
)
def test_a_run_that_does_not_fit_is_refused(text, tmp_path, words, dim, message):
    matrix = np.ones((len(words), dim), np.float32)
    WordVectors(words, matrix).to_gensim().save_word2vec_format(tmp_path / "run.txt")
    with pytest.raises(SettingError, match="`init=.*run.txt`: .*" + message):
        vectors_from_run(tmp_path / "run.txt", text[0].train, text[1])
