"""Steps on a space: its mean and covariance, and the linear maps that they give."""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from firth.corpora.common.reporting import progress

_BLOCK = 1 << 14  # rows converted at once
_NEGLIGIBLE = float(np.finfo(np.float32).eps) ** 2  # variance by rounding float32, a dimension


@dataclass(frozen=True, eq=False)
class Moments:
    """The mean and the covariance of vectors."""

    mean: np.ndarray  # float64 (D,)
    covariance: np.ndarray  # float64 (D, D)
    least: float  # a component with less variance is rounding error

    @property
    def rank(self) -> int:
        """Return the number of components with variance."""
        return int((self.principal()[0] > self.least).sum())

    def principal(self) -> tuple[np.ndarray, np.ndarray]:
        """Return variances, falling, and the principal components as columns."""
        # float64 (D,), float64 (D, D)
        values, axes = np.linalg.eigh(self.covariance)
        return np.maximum(values[::-1], 0.0), axes[:, ::-1]

    def mapped(self, by: np.ndarray) -> "Moments":
        """Return the moments of the centered vectors after a linear map."""
        # by: float64 (D, E)
        return Moments(np.zeros(by.shape[1]), by.T @ self.covariance @ by, self.least)


def moments(rows: np.ndarray, some: np.ndarray) -> Moments:
    """Return the mean and the covariance of some of the rows."""
    # rows: float32 (V, D); some: bool (V,), not all False
    n, mean = some.sum(), np.zeros(rows.shape[1])
    for block in _blocks(rows, some):
        mean += block.sum(axis=0) / n
    covariance = np.zeros((len(mean), len(mean)))
    for block in _blocks(rows, some):
        covariance += (block - mean).T @ (block - mean) / n
    # the mean counts, as large vectors that hardly differ are rounded before it is subtracted
    least = _NEGLIGIBLE * (len(mean) * np.linalg.norm(covariance, 2) + mean @ mean)
    return Moments(mean, covariance, float(least))


def without_top(space: Moments, n: int) -> np.ndarray:
    """Return the map that removes n components (Mu & Viswanath 2018), float64 (D, D)."""
    top = space.principal()[1][:, :n]
    return np.asarray(np.eye(len(top)) - top @ top.T)


def first_components(space: Moments, n: int) -> np.ndarray:
    """Return the map to the first n principal components, float64 (D, n)."""
    return space.principal()[1][:, :n]


def whitening(space: Moments) -> np.ndarray:
    """Return the map to components of variance 1, or 0 where there is none, float64 (D, D)."""
    values, axes = space.principal()
    some = values > space.least
    return np.asarray(axes * (some / np.sqrt(np.where(some, values, 1.0))))


def apply(rows: np.ndarray, mean: np.ndarray, by: np.ndarray, some: np.ndarray) -> np.ndarray:
    """Subtract the mean and apply a linear map to some of the rows; the others become zero."""
    # rows: float32 (V, D); mean: float64 (D,); by: float64 (D, E); some: bool (V,)
    # returns float32 (V, E)
    made = np.zeros((len(rows), by.shape[1]), np.float32)
    for block in _parts(len(rows)):
        made[block][some[block]] = (rows[block][some[block]].astype(np.float64) - mean) @ by
    return made


def _blocks(rows: np.ndarray, some: np.ndarray) -> Iterator[np.ndarray]:
    """Yield some of the rows as float64, a part at a time."""
    for block in _parts(len(rows)):
        yield rows[block][some[block]].astype(np.float64)


def _parts(n_rows: int) -> Iterator[slice]:
    """Yield the parts of rows that are converted at once, and show progress."""
    with progress("refining", "words") as show:
        for start in range(0, n_rows, _BLOCK):
            yield slice(start, start + _BLOCK)
            show(min(start + _BLOCK, n_rows), n_rows)
