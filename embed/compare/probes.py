"""Learnt probes: how easily labels can be read off frozen vectors (Alain and Bengio 2016).

A linear probe is multinomial logistic regression: it has one optimum, which is found by L-BFGS from
zero, so that no seed and no learning rate has a part in it. A window probe is a network of one
hidden layer over the vectors of a word and its neighbors. Both are learnt in one thread, so that
they are the same bytes for the same vectors, labels and seed on one machine.
"""

import copy
from collections.abc import Callable
from dataclasses import dataclass
from threading import Lock
from types import TracebackType
from typing import Any

import numpy as np

LINEAR_DECAYS = (1e-3, 1e-4, 1e-5)  # of the mean loss, strong ones first: each starts the next
WINDOW_DECAYS = (0.01, 1.0)  # decoupled, times the learning rate a step
_ITERATIONS = 30
_HIDDEN = 64
_LEARNING_RATE = 2e-3
_BATCH = 1024
_EPOCHS = 8
_ROWS = 1 << 14  # asked at a time


@dataclass(frozen=True, eq=False)
class Examples:
    """Words with their labels.

    Attributes
    ----------
    rows : int64 (n, w)
        Of a table: the vectors that a probe sees for each word.
    labels : int64 (n,)
        From 0; -1 for a label that no training example has, which no probe can answer.
    """

    rows: np.ndarray
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class Learnt:
    """A probe that was learnt.

    Attributes
    ----------
    answer : callable
        Gives the label, int64 (n,), of rows (n, w) as those of :class:`Examples`.
    accuracy : float
        On the development part.
    decay : float
        The weight decay that is best there.
    epochs : int
        Rounds over the training part after which it is best there; iterations of a linear probe.
    """

    answer: Callable[[np.ndarray], np.ndarray]
    accuracy: float
    decay: float
    epochs: int


class _OneThread:
    """While anyone is inside, torch and BLAS use one thread: how many changes sums' last bits."""

    def __init__(self) -> None:
        self._lock, self._inside, self._threads = Lock(), 0, 1
        self._limits: Any = None

    def __enter__(self) -> None:
        import torch
        from threadpoolctl import threadpool_limits

        with self._lock:
            if not self._inside:
                self._threads = torch.get_num_threads()
                self._limits = threadpool_limits(1, user_api="blas")
            self._inside += 1
            torch.set_num_threads(1)

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        at: TracebackType | None,
    ) -> None:
        import torch

        with self._lock:
            self._inside -= 1
            if not self._inside:
                torch.set_num_threads(self._threads)
                self._limits.restore_original_limits()


ONE_THREAD = _OneThread()


def standardized(table: Any, rows: np.ndarray) -> Any:
    """Bring vectors to one scale, so that one weight decay suits them all.

    Parameters
    ----------
    table : float32 (R, D) or scipy.sparse CSR (R, D)
        A dense one is changed in place.
    rows : int64 (n,)
        The rows of the training words, repeated as often as they stand there.

    Returns
    -------
    float32 (R, D) or scipy.sparse CSR (R, D)
        Dense: each dimension less its mean over those rows, divided by its standard deviation
        there; what is constant stays at that scale. Sparse: all divided by one number, so that
        the squared length is 1 in the mean.
    """
    shares = np.bincount(rows, minlength=table.shape[0]) / len(rows)
    if isinstance(table, np.ndarray):
        table -= _mean(shares, table).astype(np.float32)
        table /= _scales(_mean(shares, table, squared=True))
        return table
    length = np.sqrt(_sparse_mean_squares(shares, table).sum())
    return (table / (length or 1.0)).astype(np.float32)


def learn_linear(table: Any, train: Examples, dev: Examples, n_labels: int) -> Learnt:
    """Learn a linear probe: softmax of a linear map of each word's vector.

    The mean negative log-likelihood plus half the decay times the squared weights (the bias
    free), at most 30 iterations of L-BFGS (Liu and Nocedal 1989). Words with one vector are
    one row with a count for each label, which is the same loss: a word has one row in all of
    its occurrences where vectors are static, so this costs a fraction.

    Parameters
    ----------
    table : float32 (R, D) or scipy.sparse CSR (R, D)
        Standardized.
    train, dev : Examples
        Of one row each (w = 1). The decay is the one of LINEAR_DECAYS that is most accurate on
        ``dev``, the strongest of equals.
    n_labels : int
        C.

    Returns
    -------
    Learnt
        The same for the same arguments.
    """
    from scipy.optimize import minimize

    if not isinstance(table, np.ndarray):
        table = _scaled_columns(table, train.rows[:, 0])
    rows, places = np.unique(train.rows[:, 0], return_inverse=True)
    counts = np.bincount(places * n_labels + train.labels, minlength=len(rows) * n_labels)
    loss = _Loss(_product(table[rows]), counts.reshape(-1, n_labels), table.shape[1])
    best: Learnt | None = None
    start = np.zeros((table.shape[1] + 1) * n_labels)
    for decay in LINEAR_DECAYS:
        found = minimize(
            loss, start, args=(decay,), jac=True, method="L-BFGS-B",
            options={"maxiter": _ITERATIONS, "ftol": 1e-6, "gtol": 1e-6},
        )  # fmt: skip
        start = found.x
        answer = _linear_answer(table, start.reshape(-1, n_labels).astype(np.float32))
        accuracy = float((answer(dev.rows) == dev.labels).mean())
        if best is None or accuracy > best.accuracy:
            best = Learnt(answer, accuracy, decay, int(found.nit))
    assert best is not None
    return best


def learn_window(table: Any, train: Examples, dev: Examples, n_labels: int, seed: int) -> Learnt:
    """Learn a network of one hidden layer over the vectors of a word and its neighbors.

    The vectors side by side, 64 rectified units, softmax (the window approach of Collobert et
    al. 2011, section 3.3.1); AdamW on batches of 1,024 in an order drawn anew each epoch
    (Loshchilov and Hutter 2019), until an epoch is no better on ``dev`` than the
    best before it, at most 8 epochs.

    Parameters
    ----------
    table : float32 (R, D) or scipy.sparse CSR (R, D)
        Standardized.
    train, dev : Examples
        Of w rows each. Decay, of WINDOW_DECAYS, and epochs are those that are most accurate on
        ``dev``.
    n_labels : int
        C.
    seed : int
        Of the first weights and of the orders.

    Returns
    -------
    Learnt
        The same for the same arguments, on one machine.
    """
    best: Learnt | None = None
    for decay in WINDOW_DECAYS:
        found = _trained(table, train, dev, n_labels, decay, seed)
        if best is None or found.accuracy > best.accuracy:
            best = found
    assert best is not None
    return best


class _Loss:
    """Mean negative log-likelihood of counted labels, with its gradient."""

    def __init__(self, product: "_Dense | _Sparse", counts: np.ndarray, dim: int) -> None:
        self._product, self._dim = product, dim
        self._total = counts.sum()
        self._shares = (counts / self._total).astype(np.float32)
        self._weights = self._shares.sum(axis=1, keepdims=True)

    def __call__(self, flat: np.ndarray, decay: float) -> tuple[float, np.ndarray]:
        weights = flat.reshape(self._dim + 1, -1)
        logits = self._product.forward(weights[:-1].astype(np.float32))
        logits += weights[-1].astype(np.float32)
        logits -= logits.max(axis=1, keepdims=True)
        exponentials = np.exp(logits)
        sums = exponentials.sum(axis=1, keepdims=True)
        likely = (self._shares * (logits - np.log(sums))).sum(dtype=np.float64)
        errors = exponentials / sums * self._weights - self._shares
        gradient = np.empty_like(weights)
        gradient[:-1] = self._product.backward(errors) + decay * weights[:-1]
        gradient[-1] = errors.sum(axis=0, dtype=np.float64)
        return float(decay / 2 * (weights[:-1] ** 2).sum() - likely), gradient.ravel()


class _Dense:
    """Products with a dense matrix, by torch."""

    def __init__(self, matrix: np.ndarray) -> None:
        import torch

        self._matrix, self._tensor = torch.from_numpy(matrix), torch.from_numpy

    def forward(self, weights: np.ndarray) -> np.ndarray:
        product: np.ndarray = (self._matrix @ self._tensor(weights)).numpy()
        return product

    def backward(self, errors: np.ndarray) -> np.ndarray:
        product: np.ndarray = (self._matrix.T @ self._tensor(errors)).numpy()
        return product


class _Sparse:
    """Products with a sparse matrix, by scipy."""

    def __init__(self, matrix: Any) -> None:
        self._matrix, self._transposed = matrix, matrix.T.tocsr()

    def forward(self, weights: np.ndarray) -> np.ndarray:
        return np.asarray(self._matrix @ weights)

    def backward(self, errors: np.ndarray) -> np.ndarray:
        return np.asarray(self._transposed @ errors)


def _product(matrix: Any) -> _Dense | _Sparse:
    return _Dense(matrix) if isinstance(matrix, np.ndarray) else _Sparse(matrix)


def _linear_answer(table: Any, weights: np.ndarray) -> Callable[[np.ndarray], np.ndarray]:
    """What a linear probe answers; the bias is the last row."""

    def answer(rows: np.ndarray) -> np.ndarray:
        distinct, places = np.unique(rows[:, 0], return_inverse=True)
        logits = _product(table[distinct]).forward(weights[:-1]) + weights[-1]
        return np.asarray(logits.argmax(axis=1)[places])

    return answer


def _trained(
    table: Any, train: Examples, dev: Examples, n_labels: int, decay: float, seed: int
) -> Learnt:
    """A window probe with one decay, as it was when it was best."""
    import torch

    width = train.rows.shape[1]
    network = _Network(table, width, n_labels, seed)
    optimizer = torch.optim.AdamW(
        network.parameters, lr=_LEARNING_RATE, weight_decay=decay, foreach=False
    )
    labels = torch.from_numpy(train.labels)
    best, kept, best_epoch = -1.0, network, 0
    for epoch in range(1, _EPOCHS + 1):
        order = np.random.default_rng([seed, epoch]).permutation(len(train.labels))
        for start in range(0, len(order), _BATCH):
            some = order[start : start + _BATCH]
            loss = torch.nn.functional.cross_entropy(network.logits(train.rows[some]), labels[some])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        accuracy = float((network.answer(dev.rows) == dev.labels).mean())
        if accuracy > best:
            best, kept, best_epoch = accuracy, network.copied(), epoch
        else:
            break
    return Learnt(kept.answer, best, decay, best_epoch)


class _Network:
    """Vectors side by side, a hidden layer, softmax."""

    def __init__(self, table: Any, width: int, n_labels: int, seed: int) -> None:
        import torch

        self._table = torch.from_numpy(table) if isinstance(table, np.ndarray) else table
        generator = torch.Generator().manual_seed(seed % 2**63)
        dim = table.shape[1]
        # He et al. 2015, with the squared length that standardized vectors have in the mean
        inputs = width * (dim if isinstance(table, np.ndarray) else 1)
        self._layers = [
            torch.randn((dim, _HIDDEN), generator=generator).mul_((2 / inputs) ** 0.5)
            for _ in range(width)
        ]
        self._bias = torch.zeros(_HIDDEN)
        self._out, self._out_bias = torch.zeros((_HIDDEN, n_labels)), torch.zeros(n_labels)
        self.parameters = [*self._layers, self._bias, self._out, self._out_bias]
        for parameter in self.parameters:
            parameter.requires_grad_()

    def logits(self, rows: np.ndarray) -> Any:
        """The logit of each label, float32 (n, C)."""
        hidden = self._bias
        for place, layer in enumerate(self._layers):
            hidden = hidden + self._times(rows[:, place], layer)
        return hidden.relu() @ self._out + self._out_bias

    def answer(self, rows: np.ndarray) -> np.ndarray:
        """The most likely label of each word, int64 (n,)."""
        import torch

        with torch.no_grad():
            parts = [
                self.logits(rows[start : start + _ROWS]).argmax(dim=1).numpy()
                for start in range(0, len(rows), _ROWS)
            ]
        return np.concatenate([np.zeros(0, np.int64), *parts])

    def copied(self) -> "_Network":
        """This network as it is now; the table is shared."""
        other = copy.copy(self)
        other.parameters = [parameter.detach().clone() for parameter in self.parameters]
        *other._layers, other._bias, other._out, other._out_bias = other.parameters
        return other

    def _times(self, rows: np.ndarray, layer: Any) -> Any:
        """Rows of the table times a layer."""
        import torch

        if isinstance(self._table, torch.Tensor):
            return self._table[torch.from_numpy(rows)] @ layer
        some = self._table[rows]
        return torch.nn.functional.embedding_bag(
            torch.from_numpy(some.indices.astype(np.int64)),
            layer,
            torch.from_numpy(some.indptr[:-1].astype(np.int64)),
            mode="sum",
            per_sample_weights=torch.from_numpy(some.data),
        )


def _mean(shares: np.ndarray, table: np.ndarray, *, squared: bool = False) -> np.ndarray:
    """The mean of each dimension, or of its square, some rows at a time."""
    total = np.zeros(table.shape[1])
    for start in range(0, len(table), _ROWS):
        part = table[start : start + _ROWS].astype(np.float64)
        total += shares[start : start + _ROWS] @ (part * part if squared else part)
    return total


def _sparse_mean_squares(shares: np.ndarray, table: Any) -> np.ndarray:
    """The mean of the square of each dimension."""
    return np.asarray(table.multiply(table).T @ shares)


def _scaled_columns(table: Any, rows: np.ndarray) -> Any:
    """Each dimension over its root mean square: steps that suit frequent words suit rare ones."""
    import scipy.sparse

    shares = np.bincount(rows, minlength=table.shape[0]) / len(rows)
    scales = scipy.sparse.diags_array(1 / _scales(_sparse_mean_squares(shares, table)))
    return scipy.sparse.csr_matrix(table @ scales, dtype=np.float32)


def _scales(squares: np.ndarray) -> np.ndarray:
    """What to divide by; 1 where nothing varies."""
    roots = np.sqrt(squares)
    least = 1e-6 * roots.max(initial=0.0)  # below it lies what rounding leaves of a constant
    return np.where(roots > least, roots, 1.0).astype(np.float32)
