"""Distances of words by chance, from resamples of the documents: p, and words of one document."""

import numpy as np

ONE_DOCUMENT = 0.5  # share of a word's tokens in one document, from which on the word is marked
BINS = 10  # of words; at most 10, so that q <= 0.05 from 200 resamples on
_FEWEST = 100  # words of a bin
_TINY = 1e-6  # distances below are rounding errors of float32


def pooled_p(
    distances: np.ndarray, sizes: np.ndarray, *, apart: bool = False, most_bins: int = BINS
) -> np.ndarray:
    """Return the p of the first column of distances, from those by chance of all words.

    The logarithms of each word's distances, the observed one among them, are standardized. By
    chance the observed one is as large as any of them, so p is its rank among all of the words of
    similar size: bins with equal numbers of words. Names and other words whose documents differ
    much by chance have a large mean and deviation of their own. Words that all resamples leave as
    they are have a p of 1, and no place in the pool: it would make the p of others too small.

    With ``apart`` those by chance are standardized alone and are the pool, so that words that
    differ do not change the p of others, as they do if resamples are few (with one for the
    observed: Phipson & Smyth 2010, "Permutation p-values should never be zero").
    """
    # distances: (n, 1 + P), NaN where a resample lacks the word; sizes: (n,), its smaller count
    # returns float64 (n,)
    scores = _standardized(distances)
    if apart:
        scores[:, 1:] = _standardized(distances[:, 1:])
    p = np.ones(len(scores))
    n_bins = max(1, min(most_bins, len(sizes) // _FEWEST))
    for rows in np.array_split(np.argsort(sizes, kind="stable"), n_bins):
        pool = np.sort(scores[rows, int(apart) :], axis=None)  # NaN last
        n_pooled = int(np.isfinite(pool).sum())
        beyond = n_pooled - np.searchsorted(pool[:n_pooled], scores[rows, 0], side="left")
        p[rows] = (beyond + apart) / max(n_pooled + apart, 1)
    p[np.isnan(scores[:, 0])] = 1.0
    return p


def typical(distances: np.ndarray) -> np.ndarray:
    """Return the geometric mean of each row; NaN is left out."""
    # distances: (n, P); returns float64 (n,)
    return np.asarray(np.exp(np.nanmean(_logs(distances), axis=1)))


def top_counts(rows: np.ndarray, documents: np.ndarray, n_words: int) -> np.ndarray:
    """Return the tokens of each word in the document that has most of them, int64 (n_words,)."""
    # rows: int (n,), the word of each token; documents: int (n,), not negative
    from scipy import sparse

    shape = (n_words, int(documents.max(initial=0)) + 1)
    cells = sparse.coo_array((np.ones(len(rows), np.int32), (rows, documents)), shape)
    return np.asarray(cells.tocsr().max(axis=1).toarray().ravel(), np.int64)


def _standardized(distances: np.ndarray) -> np.ndarray:
    logs = _logs(distances)
    logs -= np.nanmean(logs, axis=1, keepdims=True)
    deviations = np.nanstd(logs, axis=1, keepdims=True)
    return np.asarray(logs / np.where(deviations < _TINY, np.nan, deviations))


def _logs(distances: np.ndarray) -> np.ndarray:
    return np.log(np.maximum(distances.astype(np.float64), _TINY))
