"""Exact search for the rows nearest to a batch of queries, in one pass over a matrix.

Each block of rows is multiplied with all queries while it is in the cache; its norms are
computed at the same time, and only the best rows per query are kept. The pass uses float32. The
best rows and a few more are scored again in float64, so that cosines are accurate and parallel
vectors tie. Ties go to the lower row.
"""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from threadpoolctl import threadpool_limits

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.threads import thread_count, worker_threads
from firth.embed.vectors.int8_rows import is_dense

_BLOCK_ROWS = 1 << 13  # scaled at once
_SPARE = 16  # extra rows kept, since float32 may order near-ties wrongly
_DIGITS = 12  # of scores, so that parallel vectors of different length tie
_TINY, _HUGE = 1e-30, 1e30  # squared norms outside these lose precision in float32

Combine = Callable[[np.ndarray], np.ndarray]


def unit_rows(matrix: Any, rows: Sequence[int] | np.ndarray, first: int = 0) -> Any:
    """Return rows of a matrix scaled to unit length."""
    # matrix: float32 (V, D) or scipy.sparse CSR (V, D); rows: int (n,); returns float64 (n, D) or
    # scipy.sparse CSR (n, D)
    rows = np.asarray(rows, dtype=np.int64)
    taken = matrix[rows].astype(np.float64)
    with np.errstate(invalid="ignore"):
        # float64, in which finite float32 values cannot overflow
        finite = np.isfinite(np.asarray(taken.sum(axis=1)).ravel())
    if not finite.all():
        row = rows[np.argmin(finite)] + first
        raise ArtifactError(f"vectors: row {row} holds NaN or infinity; train the run again")
    return unit_length(taken)


def unit_matrix(matrix: Any, rows: np.ndarray | None = None) -> np.ndarray:
    """Return rows of a dense matrix, by default all, scaled to unit length, float32 (n, D)."""
    rows = np.arange(matrix.shape[0]) if rows is None else rows
    units = np.empty((len(rows), matrix.shape[1]), np.float32)
    for start in range(0, len(rows), _BLOCK_ROWS):
        part = rows[start : start + _BLOCK_ROWS]
        units[start : start + len(part)] = unit_rows(matrix, part)
    return units


def nonzero_rows(matrix: Any, block_rows: int = 1 << 14) -> np.ndarray:
    """Return which rows of a dense or sparse matrix have a nonzero number, bool (n,)."""
    nonzero = [np.empty(0, bool)]
    for start in range(0, matrix.shape[0], block_rows):
        counts = (matrix[start : start + block_rows] != 0).sum(axis=1)
        nonzero.append(np.asarray(counts).ravel() > 0)
    return np.concatenate(nonzero)


def top_rows(
    matrix: Any,
    queries: Any,
    k: int,
    *,
    exclude: Sequence[Sequence[int]] | None = None,
    combine: Combine | None = None,
    block_floats: int = 1 << 20,
    batch: int = 256,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Find the best rows of a matrix for each query, exactly.

    Takes a few MB of memory for a matrix of any size, which may be
    memory-mapped. The result does not depend on threads or blocks.
    """
    # matrix: float32 (V, D) or scipy.sparse CSR (V, D); queries: float64 (q, D) or scipy.sparse
    # CSR (q, D); returns list of (int64 (k,), float64 (k,))
    if k < 1:
        raise SettingError(f"k must be at least 1, got {k}")
    if not queries.shape[0]:
        return []
    per_answer = queries.shape[0] // len(exclude) if combine and exclude is not None else 1
    step = batch * per_answer
    results: list[tuple[np.ndarray, np.ndarray]] = []
    for start in range(0, queries.shape[0], step):
        part = queries[start : start + step]
        n = part.shape[0] // per_answer
        without = exclude[len(results) : len(results) + n] if exclude is not None else [()] * n
        results += _one_pass(matrix, part, k, without, combine or np.asarray, block_floats)
    return results


def best_rows(
    matrix: Any, queries: Any, rows: np.ndarray, k: int, combine: Combine = np.asarray
) -> tuple[np.ndarray, np.ndarray]:
    """Score some rows in float64 for one answer, and return the best k with their scores."""
    # queries: those of the answer, (each, D); rows: int64 (n,); returns int64 (k,), float64 (k,)
    cosines = exact_products(queries, unit_rows(matrix, rows))
    scores = combine(np.clip(cosines, -1.0, 1.0))[0]
    order = np.lexsort((rows, -scores.round(_DIGITS)))[:k]
    return rows[order], scores[order]


def _one_pass(
    matrix: Any,
    queries: Any,
    k: int,
    exclude: Sequence[Sequence[int]],
    combine: Combine,
    block_floats: int,
) -> list[tuple[np.ndarray, np.ndarray]]:
    """Scan the matrix in a few threads for a batch of queries, then score candidates in float64."""
    # small enough for a block and its products to stay in cache
    widest = max(queries.shape[0], matrix.shape[1] if is_dense(matrix) else 1)
    step = max(1, block_floats // widest)
    starts = range(0, matrix.shape[0], step)
    threads = max(1, min(thread_count(None), len(starts)))
    shares = [
        starts[t * len(starts) // threads : (t + 1) * len(starts) // threads]
        for t in range(threads)
    ]
    rounded = queries.astype(np.float32)

    def scan(share: range) -> list[tuple[np.ndarray, np.ndarray]]:
        """Keep the best rows of some blocks for every query, in float32."""
        best = [(np.empty(0, np.int64), np.empty(0, np.float32))] * len(exclude)
        for start in share:
            block = matrix[start : start + step]
            block = np.asarray(block, np.float32) if is_dense(matrix) else block
            scores = combine(_cosines(block, rounded, start))
            for answer, rows in enumerate(exclude):
                inside = [row - start for row in rows if start <= row < start + scores.shape[1]]
                scores[answer, inside] = -np.inf
                best[answer] = _merge(*best[answer], scores[answer], start, k + _SPARE)
        return best

    # BLAS threads synchronize after every small block; on a busy machine the waiting takes ten
    # times as long as the product
    with threadpool_limits(1, user_api="blas"), worker_threads(threads) as pool:
        found = list(pool.map(scan, shares))
    each = queries.shape[0] // len(exclude)
    candidates = [
        np.concatenate([rows for rows, _ in answer]) for answer in zip(*found, strict=True)
    ]
    return [
        best_rows(matrix, queries[number * each : (number + 1) * each], rows, k, combine)
        for number, rows in enumerate(candidates)
    ]


def _cosines(block: Any, queries: Any, start: int) -> np.ndarray:
    """Return cosines (q, R) of unit queries with the rows of a block, in float32."""
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        if isinstance(block, np.ndarray):
            dots = queries @ block.T
            squares = np.einsum("ij,ij->i", block, block)
        else:
            dots = np.asarray((queries @ block.T).toarray(), dtype=np.float32)
            squares = np.asarray(block.multiply(block).sum(axis=1), dtype=np.float32).ravel()
        dots *= 1.0 / np.sqrt(squares)
    usual = (squares > _TINY) & (squares < _HUGE)
    if not usual.all():
        rows = np.flatnonzero(~usual)
        dots[:, rows] = exact_products(queries, unit_rows(block, rows, start))
    return dots


def _merge(
    rows: np.ndarray, scores: np.ndarray, fresh: np.ndarray, start: int, keep: int
) -> tuple[np.ndarray, np.ndarray]:
    """Merge a block's scores into the best ``keep``; ties go to the lower row."""
    floor = scores[-1] if len(scores) == keep else -np.inf
    found = np.flatnonzero(fresh > floor)  # a later row loses a tie
    if not len(found):
        return rows, scores
    if len(found) > keep:
        values = fresh[found]
        found = found[values >= np.partition(values, len(values) - keep)[len(values) - keep]]
    rows = np.concatenate((rows, found + start))
    scores = np.concatenate((scores, fresh[found]))
    order = np.lexsort((rows, -scores))[:keep]
    return rows[order], scores[order]


def unit_length(rows: Any) -> Any:
    """Scale vectors to length 1."""
    # rows: float64 (n, D) or scipy.sparse CSR (n, D); returns float64 (n, D) or scipy.sparse CSR
    # (n, D)
    if isinstance(rows, np.ndarray):
        norms = np.sqrt((rows * rows).sum(axis=1, keepdims=True))
        return rows / np.where(norms > 0, norms, 1.0)
    import scipy.sparse

    norms = np.sqrt(np.asarray(rows.multiply(rows).sum(axis=1)).ravel())
    return scipy.sparse.csr_matrix(scipy.sparse.diags(1.0 / np.where(norms > 0, norms, 1.0)) @ rows)


def exact_products(queries: Any, rows: Any) -> np.ndarray:
    """Multiply in float64; the summation order does not depend on a row's position."""
    # queries: float (q, D) or scipy.sparse CSR (q, D); rows: float64 (R, D) or scipy.sparse CSR
    # (R, D); returns float64 (q, R)
    if isinstance(rows, np.ndarray):
        return np.stack([(rows * query).sum(axis=1) for query in queries.astype(np.float64)])
    return np.asarray((queries.astype(np.float64) @ rows.T).toarray())


def largest(values: np.ndarray, k: int) -> np.ndarray:
    """Return the columns of each row's k largest values, largest first; ties by column."""
    # values: float32 (m, n); returns int64 (m, k)
    # six times as fast as argpartition
    least = np.partition(values, values.shape[1] - k, axis=1)[:, -k, None]
    rows, columns = np.nonzero(values >= least)
    order = np.lexsort((columns, -values[rows, columns], rows))
    firsts = np.searchsorted(rows, np.arange(len(values)))
    return columns[order[firsts[:, None] + np.arange(k)]]
