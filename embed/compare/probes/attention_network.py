"""The network of attention pooling, over frozen dense or sparse vectors."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from firth.embed.compare.probes.examples import Bags

_BLOCK = 256  # sentences per prediction block
_EPSILON = 1e-12  # added to squared lengths, so that a zero vector has a gradient


class AttentionNetwork:
    """Attention weights over the words of a sentence, and label scores of the weighted mean.

    The scores are a linear map, or, with ``scale``, scaled cosines with one vector per label.
    Everything starts at zero, which is mean pooling, except these vectors, which ``seed`` draws.
    """

    def __init__(self, table: Any, n_labels: int, scale: float | None, seed: int) -> None:
        # table: float32 (R, D) or scipy.sparse CSR (R, D)
        import torch

        self._table, self.scale, dim = table, scale, table.shape[1]
        generator = torch.Generator().manual_seed(seed % 2**63)
        self._attention, self._bias = torch.zeros(dim), torch.zeros(n_labels)
        self._out = torch.zeros((dim, n_labels))
        if scale is not None:  # a zero vector has no cosine
            self._out.normal_(generator=generator).div_(dim**0.5)
        self.parameters = [self._attention, self._out, self._bias]
        for parameter in self.parameters:
            parameter.requires_grad_()

    def logits(self, bags: Bags) -> Any:
        """Return the label scores before the softmax."""
        # returns torch.float32 (n_sentences, C)
        import torch

        vectors = self._vectors(bags)
        vectors.pool(_softmax(vectors.scores(self._attention), bags))
        if self.scale is None:
            return vectors.times(self._out) + self._bias
        units = torch.nn.functional.normalize(self._out, dim=0)
        return self.scale * vectors.times(units) / (vectors.squares() + _EPSILON).sqrt()[:, None]

    @property
    def is_sparse(self) -> bool:
        """Whether the vectors are sparse."""
        return not isinstance(self._table, np.ndarray)

    def set_gradients(self, bags: Bags, labels: np.ndarray, margin: float) -> None:
        """Set the gradients of the mean loss, with the correct labels' scores less the margin."""
        # labels: int64 (n_sentences,)
        if self.is_sparse:
            self._set_sparse_gradients(bags, labels, margin)
            return
        for parameter in self.parameters:
            parameter.grad = None
        margin_loss(self.logits(bags), labels, margin).backward()

    def _set_sparse_gradients(self, bags: Bags, labels: np.ndarray, margin: float) -> None:
        """Set the same for sparse vectors by hand: autograd takes most of its time to start."""
        import scipy.sparse

        attention, out, bias = (each.detach().numpy() for each in self.parameters)
        owners, n_sentences = _owners(bags), len(bags.lengths)
        words = self._table[bags.rows]  # (n_words, D)
        scores, most = words @ attention.astype(np.float64), np.full(n_sentences, -np.inf)
        np.maximum.at(most, owners, scores)
        shares = np.exp(scores - most[owners])
        shares /= np.bincount(owners, shares, n_sentences)[owners]
        entries = shares, np.arange(len(owners)), bags.offsets
        pool = scipy.sparse.csr_array(entries, shape=(n_sentences, len(owners)))
        out = out.astype(np.float64)
        lengths = 1.0 if self.scale is None else np.maximum(np.sqrt(_products(out, out)), _EPSILON)
        outputs = words @ out / lengths  # (n_words, C)
        if self.scale is None:
            errors = _errors(pool @ outputs + bias, labels, margin)
            of_sums, of_bias, of_squares = errors, errors.sum(axis=0), np.zeros(len(owners))
        else:
            squares, products = _squared_lengths(words, owners, shares, n_sentences)
            factors = self.scale / np.sqrt(squares)[:, None]
            logits = factors * (pool @ outputs)
            errors = _errors(logits, labels, margin)
            of_sums, of_bias = errors * factors, np.zeros(len(bias))
            of_squares = ((errors * logits).sum(axis=1) / squares)[owners] * products
        of_shares = (outputs * of_sums[owners]).sum(axis=1) - of_squares
        of_scores = shares * (of_shares - (pool @ of_shares)[owners])
        of_words = np.column_stack([of_scores, of_sums[owners] * shares[:, None] / lengths])
        of_attention, of_out = np.split(words.T @ of_words, [1], axis=1)  # (D, 1), (D, C)
        if self.scale is not None:
            of_out = of_out - out * (_products(out, of_out) / lengths**2)
        self._set(of_attention[:, 0], of_out, of_bias)

    def _set(self, *gradients: np.ndarray) -> None:
        import torch

        for parameter, gradient in zip(self.parameters, gradients, strict=True):
            parameter.grad = torch.from_numpy(gradient.astype(np.float32))

    def weights(self, bags: Bags) -> np.ndarray:
        """Return the attention weight of each word; those of a sentence sum to 1."""
        # returns float32 (n_words,)
        import torch

        with torch.no_grad():
            parts = [
                _softmax(self._vectors(some).scores(self._attention), some).numpy()
                for some in _blocks(bags)
            ]
        return np.concatenate(parts)

    def probabilities(self, bags: Bags) -> np.ndarray:
        """Return the probability of each label."""
        # returns float32 (n_sentences, C)
        import torch

        with torch.no_grad():
            parts = [self.logits(some).softmax(dim=1).numpy() for some in _blocks(bags)]
        return np.concatenate(parts)

    def predict(self, bags: Bags) -> np.ndarray:
        """Return the most likely label of each sentence."""
        # returns int64 (n_sentences,)
        return np.asarray(self.probabilities(bags).argmax(axis=1))

    def copy(self) -> "AttentionNetwork":
        """Return a copy with its own parameters; the table is shared."""
        other = copy.copy(self)
        other.parameters = [parameter.detach().clone() for parameter in self.parameters]
        other._attention, other._out, other._bias = other.parameters
        return other

    def _vectors(self, bags: Bags) -> "_Dense | _Sparse":
        rows = self._table[bags.rows]
        return (_Dense if isinstance(rows, np.ndarray) else _Sparse)(rows, bags)


class _Dense:
    """The vectors of some sentences, and their weighted sums."""

    def __init__(self, rows: np.ndarray, bags: Bags) -> None:
        import torch

        self._rows = torch.from_numpy(rows)
        self._starts = torch.from_numpy(bags.offsets[:-1])
        self._pooled: Any = None

    def scores(self, weights: Any) -> Any:
        return self._rows @ weights

    def pool(self, shares: Any) -> None:
        import torch

        self._pooled = torch.nn.functional.embedding_bag(
            torch.arange(len(self._rows)),
            self._rows,
            self._starts,
            mode="sum",
            per_sample_weights=shares,
        )

    def times(self, matrix: Any) -> Any:
        return self._pooled @ matrix

    def squares(self) -> Any:
        return self._pooled.square().sum(dim=1)


class _Sparse:
    """The same for sparse vectors, touching only stored values.

    A cell of a pooled vector sums over the words of its sentence with a value in that dimension;
    for one-hot vectors, over the occurrences of one word.
    """

    def __init__(self, rows: Any, bags: Bags) -> None:
        import torch

        self._n_words, dim = rows.shape
        self._n_sentences = len(bags.lengths)
        words = np.repeat(np.arange(self._n_words), np.diff(rows.indptr))
        cells, places = np.unique(_owners(bags)[words] * dim + rows.indices, return_inverse=True)
        self._words, self._places, self._values, self._columns = map(
            torch.from_numpy, (words, places, rows.data, rows.indices.astype(np.int64))
        )
        self._sentences, self._dimensions = map(torch.from_numpy, (cells // dim, cells % dim))
        self._cells: Any = None

    def scores(self, weights: Any) -> Any:
        import torch

        products = self._values * weights[self._columns]
        return torch.zeros(self._n_words).index_add(0, self._words, products)

    def pool(self, shares: Any) -> None:
        import torch

        products = self._values * shares[self._words]
        nothing = torch.zeros(len(self._dimensions))
        self._cells = nothing.index_add(0, self._places, products)

    def times(self, matrix: Any) -> Any:
        import torch

        products = self._cells[:, None] * matrix[self._dimensions]
        nothing = torch.zeros((self._n_sentences, matrix.shape[1]))
        return nothing.index_add(0, self._sentences, products)

    def squares(self) -> Any:
        import torch

        nothing = torch.zeros(self._n_sentences)
        return nothing.index_add(0, self._sentences, self._cells.square())


def margin_loss(logits: Any, labels: np.ndarray, margin: float) -> Any:
    """Return the mean negative log-likelihood, with the correct labels' logits less the margin."""
    # logits: torch.float32 (n, C); labels: int64 (n,); returns torch.float32 ()
    import torch

    correct = torch.from_numpy(labels)
    margins = torch.nn.functional.one_hot(correct, logits.shape[1]) * margin
    return torch.nn.functional.cross_entropy(logits - margins, correct)


def _products(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the inner product of each column of two matrices, by BLAS, float64 (C,)."""
    return np.asarray((a.T @ b).diagonal())


def _squared_lengths(
    words: Any, owners: np.ndarray, shares: np.ndarray, n_sentences: int
) -> tuple[np.ndarray, np.ndarray]:
    """Return the squared lengths of pooled vectors, and their products with their words."""
    # words: CSR (n_words, D); owners: int64 (n_words,); shares: float64 (n_words,)
    numbers = np.repeat(np.arange(len(owners)), np.diff(words.indptr))
    cells, places = np.unique(owners[numbers] * words.shape[1] + words.indices, return_inverse=True)
    pooled = np.bincount(places, shares[numbers] * words.data)
    squares = np.bincount(cells // words.shape[1], pooled * pooled, n_sentences) + _EPSILON
    return squares, np.bincount(numbers, words.data * pooled[places], len(owners))


def _errors(logits: np.ndarray, labels: np.ndarray, margin: float) -> np.ndarray:
    """Return the gradient of :func:`margin_loss` by the logits."""
    # logits: float64 (n, C); labels: int64 (n,); returns float64 (n, C)
    correct = np.arange(logits.shape[1]) == labels[:, None]
    exponents = logits - margin * correct
    exponentials = np.exp(exponents - exponents.max(axis=1, keepdims=True))
    return (exponentials / exponentials.sum(axis=1, keepdims=True) - correct) / len(labels)


def _softmax(scores: Any, bags: Bags) -> Any:
    """Apply the softmax to the word scores of each sentence."""
    import torch

    owners, n_sentences = torch.from_numpy(_owners(bags)), len(bags.lengths)
    most = torch.full((n_sentences,), -torch.inf)
    most = most.scatter_reduce(0, owners, scores.detach(), "amax")
    exponentials = (scores - most[owners]).exp()
    return exponentials / torch.zeros(n_sentences).index_add(0, owners, exponentials)[owners]


def _owners(bags: Bags) -> np.ndarray:
    """Return the sentence of each word."""
    return np.repeat(np.arange(len(bags.lengths)), bags.lengths)


def _blocks(bags: Bags) -> Iterator[Bags]:
    """Yield a few sentences at a time, so that only their vectors are copied."""
    n_sentences = len(bags.lengths)
    for start in range(0, n_sentences, _BLOCK):
        yield bags.take(np.arange(start, min(start + _BLOCK, n_sentences)))
