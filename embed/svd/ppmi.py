"""Turn co-occurrence counts into a weighted matrix: shifted positive PMI, counts or log counts.

Levy, Goldberg and Dagan 2015, "Improving Distributional Similarity with Lessons
Learned from Word Embeddings", TACL 3, sections 2 and 3. ``context_smoothing`` is
their cds, ``shift`` their neg.
"""

from collections.abc import Callable
from typing import Any

import numpy as np

from firth.corpora.common.threads import even_ranges, map_in_order, thread_count
from firth.embed.svd.cooccurrence import Cooccurrences

WEIGHTINGS = ("ppmi", "counts", "log-counts")

_CHUNK_ENTRIES = 1 << 19
_MAX_CHUNKS = 64  # each holds a float64 sum per column


def keep_probabilities(counts: np.ndarray, subsample: float) -> np.ndarray:
    """Return the probability that subsampling keeps an occurrence of each word.

    min(1, sqrt(t / f)) with f the word's share of all tokens: the formula of
    Mikolov et al. 2013 (NIPS, equation 5) and of hyperwords, not the one of
    word2vec's C code. A word that is 1 % of the tokens at t = 1e-4 is kept with
    probability 0.1.
    """
    # counts: int64 (V,); returns float64 (V,), above 0 and at most 1
    return keep_of_shares(np.maximum(counts, 1) / max(1, int(counts.sum())), subsample)


def keep_of_shares(shares: np.ndarray, subsample: float) -> np.ndarray:
    """Return the probability that subsampling keeps a word with a share of all tokens."""
    # shares: float64 (V,); returns float64 (V,); 1 without subsampling
    return np.minimum(1.0, np.sqrt(subsample / shares)) if subsample else np.ones(len(shares))


def weigh(
    cooccurrences: Cooccurrences,
    *,
    weighting: str = "ppmi",
    keep: np.ndarray | None = None,
    context_smoothing: float = 1.0,
    shift: float = 1.0,
    threads: int | None = None,
    chunk_entries: int = _CHUNK_ENTRIES,
) -> Any:
    """Return the matrix to factor, from co-occurrence counts, whose memory is overwritten.

    With N(w, c) the counts times keep[w] keep[c], the value of ``ppmi`` is
    max(log(N(w, c) S / (N(w) N(c)^a)) - log(shift), 0), where N(w) and N(c) are
    the sums of row and column, a is ``context_smoothing`` and S the sum of N(c)^a
    (Levy et al. 2015, equations 3 and 5). ``counts`` is N(w, c) in pairs of
    weight 1, ``log-counts`` is log(1 + N(w, c)).

    Computed in float64; the same bytes at any ``threads``, but not at any
    ``chunk_entries``, since column sums are added up per chunk.
    """
    # keep: float64 (V,); returns scipy.sparse.csr_matrix, float32 (V, V), columns ascending
    from firth.embed.svd.ppmi_kernels import positive_log, scaled

    keep = np.ones(len(cooccurrences.starts) - 1) if keep is None else keep
    threads = thread_count(threads)
    if weighting != "ppmi":
        scales = keep / cooccurrences.denominator, keep, weighting == "log-counts"
        return _apply_in_place(cooccurrences, scaled, scales, threads, chunk_entries)
    by_row, by_context = pmi_factors(cooccurrences, keep, context_smoothing, threads, chunk_entries)
    factors = by_row / shift, by_context
    return _apply_in_place(cooccurrences, positive_log, factors, threads, chunk_entries)


def pmi_factors(
    cooccurrences: Cooccurrences,
    keep: np.ndarray,
    smoothing: float,
    threads: int,
    chunk_entries: int,
) -> tuple[np.ndarray, np.ndarray]:
    """Return factors per row and per column that turn a count into exp(PMI)."""
    from firth.embed.svd.ppmi_kernels import margins

    starts, columns, counts = cooccurrences.rows
    rows, contexts = np.zeros(len(keep)), np.zeros(len(keep))  # sums of the subsampled counts

    def sums(span: tuple[int, int]) -> np.ndarray:
        contexts_of_span = np.zeros(len(keep))
        margins(starts, columns, counts, *span, keep, rows, contexts_of_span)
        return contexts_of_span

    spans = even_ranges(np.diff(starts), max(chunk_entries, int(starts[-1]) / _MAX_CHUNKS))
    for part in map_in_order(sums, spans, threads):
        contexts += part  # in the order of the chunks: the same sum at any thread count
    contexts *= keep
    smoothed = contexts**smoothing
    with np.errstate(divide="ignore"):  # words without pairs have no entries either
        by_row = np.where(rows > 0, keep / rows, 0.0)
        by_context = np.where(contexts > 0, keep * smoothed.sum() / smoothed, 0.0)
    return by_row, by_context


def _apply_in_place(
    cooccurrences: Cooccurrences,
    kernel: Callable[..., int],
    arguments: tuple[Any, ...],
    threads: int,
    chunk_entries: int,
) -> Any:
    """Turn counts into float32 values in their own memory, then close the gaps."""
    from scipy import sparse

    starts, columns, counts = cooccurrences.rows
    values = counts.view(np.float32)
    scale = counts.dtype.itemsize // values.dtype.itemsize
    lengths = np.zeros(len(starts) - 1, np.int64)

    def apply(span: tuple[int, int]) -> tuple[int, int]:
        first, stop = span
        base = int(starts[first])
        out = values[base * scale : int(starts[stop]) * scale]
        return base, int(kernel(starts, columns, counts, first, stop, *arguments, out, lengths))

    end = 0
    for base, kept in map_in_order(apply, even_ranges(np.diff(starts) + 1, chunk_entries), threads):
        columns[end : end + kept] = columns[base : base + kept]
        values[end : end + kept] = values[base * scale : base * scale + kept]
        end += kept
    shape = (len(lengths), len(lengths))
    row_starts = np.concatenate([[0], lengths]).cumsum()
    return sparse.csr_matrix((values[:end], columns[:end], row_starts), shape=shape, copy=False)
