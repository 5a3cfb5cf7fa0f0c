"""Linear probe: multinomial logistic regression on frozen vectors (Alain and Bengio 2016).

The loss has one optimum, which L-BFGS approaches from zero without a seed or a learning rate, along
axes in which it curves nearly alike: a third of the steps do what plain dimensions need.
"""

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np

from firth.embed.compare.probes.examples import Examples, TrainedProbe, scales, sparse_mean_squares
from firth.embed.compare.probes.progress import steps

LINEAR_DECAYS = (1e-3, 1e-4, 1e-5)  # relative to the mean loss, strongest first
_ROWS = 1 << 14  # multiplied at a time
_ITERATIONS = 30  # per decay, each from zero: warm starts would give later ones more


def train_linear(table: Any, train: Examples, dev: Examples, n_labels: int) -> TrainedProbe:
    """Train a linear probe, a softmax of a linear map, by L-BFGS (Liu and Nocedal 1989).

    Each decay starts from zero; the most accurate on ``dev`` wins. Words with the same vector
    become one row with label counts: the same loss, faster.
    """
    # table: float32 (R, D) or scipy.sparse CSR (R, D), standardized
    from scipy.optimize import minimize

    if not isinstance(table, np.ndarray):
        table = _scaled_columns(table, train.rows[:, 0])
    rows, places = np.unique(train.rows[:, 0], return_inverse=True)
    counts = np.bincount(places * n_labels + train.labels, minlength=len(rows) * n_labels)
    loss = _Loss(table[rows], counts.reshape(-1, n_labels))
    zero = np.zeros((table.shape[1] + 1) * n_labels)

    def turned(flat: np.ndarray, decay: float, axes: Any) -> tuple[float, np.ndarray]:
        value, gradient = loss((axes @ flat.reshape(-1, n_labels)).ravel(), decay)
        return value, (axes.T @ gradient.reshape(-1, n_labels)).ravel()

    tried = []
    for decay in steps(LINEAR_DECAYS):
        axes = loss.axes(decay)
        found = minimize(
            turned, zero, args=(decay, axes), jac=True, method="L-BFGS-B",
            options={"maxiter": _ITERATIONS, "ftol": 1e-6, "gtol": 1e-6},
        )  # fmt: skip
        weights = (axes @ found.x.reshape(-1, n_labels)).astype(np.float32)
        score = _scorer(table, weights)
        accuracy = float((score(dev.rows).argmax(axis=1) == dev.labels).mean())
        tried.append(TrainedProbe(score, accuracy, decay, int(found.nit)))
    return max(tried, key=lambda probe: probe.accuracy)


class _Loss:
    """Mean negative log-likelihood of label counts, with its gradient."""

    def __init__(self, matrix: Any, counts: np.ndarray) -> None:
        self._matrix, self._dim = matrix, matrix.shape[1]
        self._transposed = matrix.T if isinstance(matrix, np.ndarray) else matrix.T.tocsr()
        shares = counts / counts.sum()
        self._at = np.nonzero(shares)
        self._shares = shares[self._at].astype(np.float32)
        self._weights = shares.sum(axis=1, keepdims=True).astype(np.float32)

    def __call__(self, flat: np.ndarray, decay: float) -> tuple[float, np.ndarray]:
        weights = flat.reshape(self._dim + 1, -1)
        logits = _product(self._matrix, weights[:-1].astype(np.float32))
        logits += weights[-1].astype(np.float32)
        logits -= logits.max(axis=1, keepdims=True)
        given = logits[self._at]
        errors = np.exp(logits, out=logits)
        sums = errors.sum(axis=1, keepdims=True)
        log_likelihood = self._shares @ (given - np.log(sums)[self._at[0], 0]).astype(np.float64)
        errors *= self._weights / sums
        errors[self._at] -= self._shares
        gradient = np.empty_like(weights)
        gradient[:-1] = _product(self._transposed, errors) + decay * weights[:-1]
        gradient[-1] = errors.sum(axis=0, dtype=np.float64)
        return float(decay / 2 * (weights[:-1] ** 2).sum() - log_likelihood), gradient.ravel()

    def axes(self, decay: float) -> Any:
        """Return axes, (D + 1, D + 1), of a bound of the Hessian, the same for all labels.

        It is half the mean products of inputs, and the decay (Böhning 1992). Columns of sparse
        vectors are scaled, so that they are such axes.
        """
        if not isinstance(self._matrix, np.ndarray):
            import scipy.sparse

            return scipy.sparse.eye_array(self._dim + 1, format="csr")
        bound = self._products / 2
        bound[np.diag_indices(self._dim)] += decay
        return np.linalg.inv(np.linalg.cholesky(bound)).T

    @cached_property
    def _products(self) -> np.ndarray:
        """The mean products of inputs, of which the last one is 1, float64 (D + 1, D + 1)."""
        total = np.zeros((self._dim + 1, self._dim + 1))
        for start in range(0, len(self._matrix), _ROWS):
            part = slice(start, start + _ROWS)
            inputs = np.pad(self._matrix[part].astype(float), ((0, 0), (0, 1)), constant_values=1)
            total += (inputs * self._weights[part]).T @ inputs
        return total


def _product(matrix: Any, right: np.ndarray) -> np.ndarray:
    """Multiply a dense matrix by torch, a sparse one by scipy."""
    if not isinstance(matrix, np.ndarray):
        return np.asarray(matrix @ right)
    import torch

    return np.asarray((torch.from_numpy(matrix) @ torch.from_numpy(right)).numpy())


def _scorer(table: Any, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """Return the scoring function of a linear probe; the last row of weights is the bias."""

    def score(rows: np.ndarray) -> np.ndarray:
        distinct, places = np.unique(rows[:, 0], return_inverse=True)
        return np.asarray((_product(table[distinct], weights[:-1]) + weights[-1])[places])

    return score


def _scaled_columns(table: Any, rows: np.ndarray) -> Any:
    """Divide each dimension by its root mean square, so that rare words converge as fast."""
    import scipy.sparse

    shares = np.bincount(rows, minlength=table.shape[0]) / len(rows)
    columns = scipy.sparse.diags_array(1 / scales(sparse_mean_squares(shares, table)))
    return scipy.sparse.csr_matrix(table @ columns, dtype=np.float32)
