"""One space for all periods, against dense arrays."""

import numpy as np
import pytest

from firth.corpora.common.errors import FirthError
from firth.embed.change.joint import joint_space
from firth.embed.change.periods import PeriodText
from firth.embed.svd.ppmi import keep_probabilities
from firth.embed.svd.train import SvdConfig

V = 12


def random_text(seed, first_document, n_documents, n_words=V):
    """Return documents of three parts with random words."""
    rng = np.random.default_rng(seed)
    rows = rng.integers(0, n_words, 3 * n_documents * 6).astype(np.int32)
    documents = first_document + np.repeat(np.arange(n_documents), 3)
    counts = np.bincount(rows, minlength=n_words)
    return PeriodText(rows, np.arange(3 * n_documents + 1) * 6, documents, counts)


def naive_counts(text, window, n_words):
    """The definition: 1 / d for every pair d tokens apart within a part."""
    counts = np.zeros((n_words, n_words))
    for start, stop in zip(text.offsets, text.offsets[1:], strict=False):
        part = text.rows[start:stop]
        for i, a in enumerate(part):
            for j, b in enumerate(part):
                if i != j and abs(i - j) <= window and max(a, b) < n_words:
                    counts[a, b] += 1 / abs(i - j)
    return counts


def naive_ppmi(rows, contexts, keep, smoothing):
    """PPMI of rows of counts with the context sums of another matrix."""
    rows, contexts = rows * keep, contexts * keep * keep[:, None]
    smoothed = contexts.sum(axis=0) ** smoothing
    with np.errstate(divide="ignore", invalid="ignore"):
        ratio = rows * smoothed.sum() / (rows.sum(axis=1, keepdims=True) * smoothed)
        return np.nan_to_num(np.maximum(np.log(ratio), 0), nan=0.0)


@pytest.mark.parametrize("n_words", [V, V - 3], ids=["all", "most-frequent"])
def test_the_space_is_that_of_all_periods_and_rows_are_folded_in(n_words):
    texts = [random_text(1, 0, 10), random_text(2, 10, 14), random_text(3, 24, 5)]
    svd = SvdConfig(dim=4, window=3, subsample=0.02, threads=1)
    space = joint_space(texts, n_words, svd)

    total = sum(text.counts for text in texts)
    keep = keep_probabilities(total, svd.subsample)[:n_words]
    counts = [naive_counts(text, 3, n_words) for text in texts]
    whole = naive_ppmi(sum(counts), sum(counts), keep, svd.context_smoothing)
    left, values, _ = np.linalg.svd(whole)
    # up to the sign of each dimension
    expected = np.abs(left[:, :4] * np.sqrt(values[:4]))
    np.testing.assert_allclose(np.abs(whole @ space.basis), expected, atol=1e-4)
    for period, own in enumerate(counts):
        rows = naive_ppmi(own, sum(counts), keep, svd.context_smoothing)
        np.testing.assert_allclose(space.vectors[period], rows @ space.basis, atol=1e-4)


def test_text_without_pairs_is_refused():
    alone = PeriodText(np.zeros(3, np.int32), np.arange(4), np.arange(3), np.array([3, 0]))
    with pytest.raises(FirthError, match="no two of the 2 words occur in the same paragraph"):
        joint_space([alone, alone], 2, SvdConfig(dim=1, threads=1))
