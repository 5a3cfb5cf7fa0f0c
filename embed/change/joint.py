"""One space for all periods: counts over shared contexts, PPMI, one SVD.

The SVD U S V' is of the PPMI matrix of all periods together. The rows of a word in each period are
folded in: the vector of a PPMI row m is m V S^(p-1), which for the rows of the whole text is
U S^p, as in train-svd. So the vectors of all periods are in one space, and none has to be aligned.

An SVD of the rows of all periods, one above the other, would be in one space, too. But its
dimensions would fit how these documents are divided better than any other division, so that
permutations of them would find false changes: `benchmarks/bench_change.py` measures how many.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from firth.corpora.common.errors import FirthError
from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import thread_count
from firth.embed.change.periods import PeriodText
from firth.embed.resampling.drawn_rows import ContextSpace
from firth.embed.svd.cooccurrence import Cooccurrences, count_cooccurrences
from firth.embed.svd.ppmi import keep_probabilities, pmi_factors, weigh
from firth.embed.svd.train import SvdConfig, powers_of
from firth.embed.svd.truncated_svd import truncated_svd
from firth.embed.svd.window_weights import count_type, window_weights

_CHUNK = 1 << 19  # entries weighed at once


@dataclass(frozen=True, eq=False)
class JointSpace(ContextSpace):
    """Vectors of words in periods, and what maps any other row of counts into their space."""

    vectors: np.ndarray  # float32 (K, V, D)


def joint_space(texts: Sequence[PeriodText], n_words: int, svd: SvdConfig) -> JointSpace:
    """Count each period, weigh all rows with the shares of contexts in all periods, and factor."""
    total = np.sum([text.counts for text in texts], axis=0)
    keep = keep_probabilities(total, svd.subsample)[:n_words]
    stacked = _stacked([_count(text, n_words, svd) for text in texts])
    kind = count_type(total, window_weights(svd.window, svd.window_weighting)[0])
    together = _added(stacked, n_words, kind)
    if not len(stacked.columns):
        raise FirthError(f"no two of the {n_words} words occur in the same {svd.boundary}")
    _, factors = pmi_factors(
        together, keep, svd.context_smoothing, thread_count(svd.threads), _CHUNK
    )
    assert svd.dim is not None
    with progress("factoring", "steps") as show:
        found = truncated_svd(
            _weigh(together, keep, svd), svd.dim, seed=svd.seed, device="cpu",
            threads=svd.threads, progress=show,
        )  # fmt: skip
    powers = powers_of(found.values, svd.singular_power - 1)
    basis = (found.right * powers).astype(np.float32)
    rows = _weigh(stacked, np.tile(keep, len(texts)), svd)[:, :n_words]
    vectors = np.asarray(rows @ basis).reshape(len(texts), n_words, -1)
    return JointSpace(basis, keep, factors, vectors)


def _weigh(counts: Cooccurrences, keep: np.ndarray, svd: SvdConfig) -> Any:
    """Return the PPMI matrix of counts, whose memory is overwritten."""
    return weigh(
        counts, keep=keep, context_smoothing=svd.context_smoothing, shift=svd.shift,
        threads=svd.threads, chunk_entries=_CHUNK,
    )  # fmt: skip


def _count(text: PeriodText, n_words: int, svd: SvdConfig) -> Cooccurrences:
    """Count the contexts of the words of one period."""
    with progress("counting", "tokens") as show:
        return count_cooccurrences(
            text, window=svd.window, n_words=n_words, weighting=svd.window_weighting,
            threads=svd.threads, progress=show,
        )  # fmt: skip


def _stacked(parts: Sequence[Cooccurrences]) -> Cooccurrences:
    """Stack the rows of several counts over the same columns."""
    ends = np.cumsum([0, *(part.starts[-1] for part in parts)])
    starts = [part.starts[1:] + end for part, end in zip(parts, ends[:-1], strict=True)]
    return Cooccurrences(
        np.concatenate([np.zeros(1, np.int64), *starts]),
        np.concatenate([part.columns for part in parts]),
        np.concatenate([part.counts for part in parts]),
        denominator=parts[0].denominator,
    )


def _added(stacked: Cooccurrences, n_words: int, kind: Any) -> Cooccurrences:
    """Add the stacked rows of each word; ``kind`` is a type that holds the sums."""
    from scipy import sparse

    found = sparse.csr_array((n_words, n_words), dtype=kind)
    for first in range(0, len(stacked.starts) - 1, n_words):
        starts = stacked.starts[first : first + n_words + 1]
        part = slice(starts[0], starts[-1])
        arrays = (stacked.counts[part].astype(kind), stacked.columns[part], starts - starts[0])
        found = found + sparse.csr_array(arrays, shape=found.shape)
    found.sort_indices()
    return Cooccurrences(
        found.indptr.astype(np.int64), found.indices.astype(np.int32), found.data,
        denominator=stacked.denominator,
    )  # fmt: skip
