"""Whether words find their partners in the other space, by cosine and by CSLS."""

from dataclasses import dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import map_in_order, thread_count
from firth.embed.align.pairs import Pairs
from firth.embed.compare.statistics.bootstrap import draw_counts, interval, resample
from firth.embed.compare.statistics.estimators import Means

CSLS_NEIGHBORS = 10  # Conneau et al. 2018, section 2.3
AT = (1, 5)
_REPLICATES = 1000
_BLOCK = 1 << 22  # similarities at once in each thread


@dataclass(frozen=True)
class Precision:
    """The share of held-out words with a right answer among the first ``at``."""

    retrieval: str  # "cosine" or "csls"
    at: int
    score: float
    low: float | None  # 95 % bootstrap interval over words; None for a single word
    high: float | None


def precision(
    a: np.ndarray, b: np.ndarray, pairs: Pairs, n_among: int, seed: int
) -> list[Precision]:
    """Score whether words of A find one of their partners among ``n_among`` rows of B."""
    # a: float32 (V_a, D), b: float32 (V_b, D): one space, unit length or zero
    asked, queries = np.unique(pairs.a, return_inverse=True)
    candidates = np.flatnonzero(b[:n_among].any(axis=1))
    columns = np.searchsorted(candidates, pairs.b)
    sources = a[np.union1d(np.flatnonzero(a[:n_among].any(axis=1)), asked)]
    rows, targets = a[asked], b[candidates]
    hubness = neighborhood_means(targets, sources, CSLS_NEIGHBORS)
    counts = draw_counts(len(asked), _REPLICATES, seed, "align")
    found = []
    for retrieval, subtracted in (("cosine", np.zeros_like(hubness)), ("csls", hubness / 2)):
        before = wrong_before(rows, targets, subtracted, queries, columns)
        for at in AT:
            scored = resample(Means(before < at), counts)
            ends = (None if np.isnan(end) else end for end in interval(scored))
            found.append(Precision(retrieval, at, scored.score, *ends))
    return found


def neighborhood_means(
    targets: np.ndarray, sources: np.ndarray, k: int, *, block: int = _BLOCK
) -> np.ndarray:
    """Return the mean cosine of each target with its k nearest sources, float32 (n,).

    It is r_S of CSLS, high for hubs (Conneau et al. 2018, "Word Translation Without Parallel
    Data", equation 5). All sources count if there are fewer than k.
    """
    # targets: float32 (n, D), sources: float32 (m, D), unit length
    k = min(k, len(sources))
    step = max(1, block // len(sources))
    means = np.empty(len(targets), np.float32)

    def fill(start: int) -> None:
        cosines = targets[start : start + step] @ sources.T
        nearest = np.partition(cosines, cosines.shape[1] - k, axis=1)[:, -k:]
        means[start : start + step] = nearest.mean(axis=1)

    threads, starts = thread_count(None), range(0, len(targets), step)
    with progress("CSLS", "words") as show, threadpool_limits(1, user_api="blas"):
        for done, _ in enumerate(map_in_order(fill, starts, threads), 1):
            show(min(done * step, len(targets)), len(targets))
    return means


def wrong_before(
    rows: np.ndarray,
    targets: np.ndarray,
    subtracted: np.ndarray,
    queries: np.ndarray,
    columns: np.ndarray,
    *,
    block: int = _BLOCK,
) -> np.ndarray:
    """Return how many wrong targets come before the best right one of each row, int64 (q,).

    The score is the cosine less ``subtracted`` of the target: half of r_S for CSLS, whose r_T is
    the same for all targets of a row and so changes no order. Ties count as before.
    """
    # rows: float32 (q, D); targets: float32 (n, D); subtracted: float32 (n,)
    # queries, columns: int64 (p,), the right targets of rows, each row with at least one
    before = np.empty(len(rows), np.int64)
    step = max(1, block // len(targets))
    with progress("searching", "words") as show:
        for start in range(0, len(rows), step):
            scores = rows[start : start + step] @ targets.T - subtracted
            in_block = (queries >= start) & (queries < start + step)
            right = queries[in_block] - start, columns[in_block]
            best = np.full(len(scores), -np.inf, np.float32)
            np.maximum.at(best, right[0], scores[right])
            scores[right] = -np.inf
            before[start : start + step] = (scores >= best[:, None]).sum(axis=1)
            show(start + len(scores), len(rows))
    return before
