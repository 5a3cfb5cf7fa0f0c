"""The network of attention pooling, over frozen dense or sparse vectors."""

import copy
from collections.abc import Iterator
from typing import Any

import numpy as np

from firth.embed.compare.probes.examples import Bags

_BLOCK = 256  # sentences per prediction block
_EPSILON = 1e-12  # added to squared lengths, so that a zero vector has a gradient


class AttentionNetwork:
    """Attention weights of words, and label scores of the weighted mean, cosines with ``scale``.

    All starts at zero, which is mean pooling, but for label vectors of cosines, drawn by ``seed``.
    With two ``levels``, the sentences of a text, weighted means of their words, are weighted, too.
    """

    def __init__(
        self, table: Any, n_labels: int, scale: float | None, seed: int, levels: int = 1
    ) -> None:
        # table: float32 (R, D) or scipy.sparse CSR (R, D)
        import torch

        self._table, self.scale, dim = table, scale, table.shape[1]
        generator = torch.Generator().manual_seed(seed % 2**63)
        self._attention, self._bias = torch.zeros((levels, dim)), torch.zeros(n_labels)
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
        vectors.pool(self._shares(vectors, bags))
        if self.scale is None:
            return vectors.times(self._out) + self._bias
        units = torch.nn.functional.normalize(self._out, dim=0)
        return self.scale * vectors.times(units) / (vectors.squares() + _EPSILON).sqrt()[:, None]

    def set_gradients(self, bags: Bags, labels: np.ndarray, margin: float) -> None:
        """Set the gradients of the mean loss, with the correct labels' scores less the margin."""
        # labels: int64 (n_sentences,)
        for parameter in self.parameters:
            parameter.grad = None
        margin_loss(self.logits(bags), labels, margin).backward()

    def weights(self, bags: Bags) -> np.ndarray:
        """Return the attention weight of each word, times that of its sentence with two levels."""
        # returns float32 (n_words,)
        import torch

        with torch.no_grad():
            parts = [self._shares(self._vectors(some), some).numpy() for some in _blocks(bags)]
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

    def _shares(self, vectors: "_Dense | _Sparse", bags: Bags) -> Any:
        """Return the share of each word in the pooled vector of its text."""
        # returns torch.float32 (n_words,); those of a text sum to 1
        import torch

        of_words, *of_sentences = self._attention
        texts, n_texts = _owners(bags), len(bags.lengths)
        if not of_sentences:
            return _softmax(vectors.scores(of_words), texts, n_texts)
        assert bags.sentences is not None
        begins = (np.diff(texts, prepend=-1) | np.diff(bags.sentences, prepend=-1)) != 0
        sentences, n_sentences = np.cumsum(begins) - 1, int(begins.sum())
        shares = _softmax(vectors.scores(of_words), sentences, n_sentences)
        owners = torch.from_numpy(sentences)
        # the score of a weighted mean is the weighted mean of scores
        products = shares * vectors.scores(of_sentences[0])
        scores = torch.zeros(n_sentences).index_add(0, owners, products)
        return shares * _softmax(scores, texts[begins], n_texts)[owners]

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
    """The same for sparse vectors, by the cells of pooled vectors with a stored value."""

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


def _softmax(scores: Any, numbers: np.ndarray, n_owners: int) -> Any:
    """Apply the softmax to the scores of each owner, whose number is beside each score."""
    import torch

    owners = torch.from_numpy(numbers)
    most = torch.full((n_owners,), -torch.inf)
    most = most.scatter_reduce(0, owners, scores.detach(), "amax")
    exponentials = (scores - most[owners]).exp()
    return exponentials / torch.zeros(n_owners).index_add(0, owners, exponentials)[owners]


def _owners(bags: Bags) -> np.ndarray:
    """Return the sentence of each word."""
    return np.repeat(np.arange(len(bags.lengths)), bags.lengths)


def _blocks(bags: Bags) -> Iterator[Bags]:
    """Yield a few sentences at a time, so that only their vectors are copied."""
    n_sentences = len(bags.lengths)
    for start in range(0, n_sentences, _BLOCK):
        yield bags.take(np.arange(start, min(start + _BLOCK, n_sentences)))
