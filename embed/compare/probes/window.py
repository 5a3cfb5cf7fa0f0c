"""Window probe: a network of one hidden layer over the vectors of a word and its neighbors.

The window approach of Collobert et al. (2011), section 3.3.1, on frozen vectors.
"""

import copy
import math
from typing import Any

import numpy as np

from embed.compare.probes.examples import Examples, TrainedProbe

WINDOW_DECAYS = (0.01, 1.0)  # decoupled, times the learning rate a step
_HIDDEN = 64
_LEARNING_RATE = 2e-3
_BATCH, _LEAST_BATCH = 1024, 32
_STEPS = 128  # of an epoch at least, or of more epochs: as many without gain end it
_MOST_STEPS, _MOST_EPOCHS = 4096, 8  # whichever is more: few words are to be learnt long enough
_GAIN = 1e-4  # in the mean negative log-likelihood; less is none, else what is learnt never ends
_ROWS = 1 << 14  # asked at a time


def train_window(
    table: Any, train: Examples, dev: Examples, n_labels: int, seed: int
) -> TrainedProbe:
    """Learn a network of one hidden layer over the vectors of a word and its neighbors.

    The vectors side by side, 64 rectified units, softmax (the window approach of Collobert et
    al. 2011, section 3.3.1); AdamW in an order drawn anew each epoch (Loshchilov and Hutter 2019)
    on batches of 1,024, of less where an epoch would not have 128 of them, but at least 32; until
    an epoch, or as many as have 128 steps, lowers the mean negative log-likelihood on ``dev`` by
    less than 0.0001; at most 4,096 steps or 8 epochs, whichever is more. Accuracy would end it
    too early: while all words still get the most frequent label, it stays the same.
    """
    # table: float32 (R, D) or scipy.sparse CSR (R, D)
    best: TrainedProbe | None = None
    for decay in WINDOW_DECAYS:
        found = _trained(table, train, dev, n_labels, decay, seed, _MOST_STEPS, _MOST_EPOCHS)
        if best is None or found.accuracy > best.accuracy:
            best = found
    assert best is not None
    return best


def _trained(
    table: Any,
    train: Examples,
    dev: Examples,
    n_labels: int,
    decay: float,
    seed: int,
    most_steps: int,
    most_epochs: int,
) -> TrainedProbe:
    """A window probe with one decay, as it was when it was best."""
    import torch

    width = train.rows.shape[1]
    network = _Network(table, width, n_labels, seed)
    optimizer = torch.optim.AdamW(
        [network.weights], lr=_LEARNING_RATE, weight_decay=decay, foreach=False
    )
    labels = torch.from_numpy(train.labels)
    n_words = len(train.labels)
    batch = min(_BATCH, max(_LEAST_BATCH, n_words // _STEPS))
    patience = math.ceil(_STEPS * batch / n_words)
    most = max(most_epochs, math.ceil(most_steps * batch / n_words))
    least, kept, best_epoch = math.inf, network, 0
    for epoch in range(1, most + 1):
        order = np.random.default_rng([seed, epoch]).permutation(n_words)
        for start in range(0, n_words, batch):
            some = order[start : start + batch]
            loss = torch.nn.functional.cross_entropy(network.logits(train.rows[some]), labels[some])
            network.gradient.zero_()
            loss.backward()
            optimizer.step()
        unlikely = network.unlikely(dev)
        if epoch == 1 or unlikely < least - _GAIN:
            least, kept, best_epoch = unlikely, network.copied(), epoch
        elif epoch - best_epoch >= patience:
            break
    accuracy = float((kept.answer(dev.rows) == dev.labels).mean())
    return TrainedProbe(kept.answer, accuracy, decay, best_epoch)


class _Network:
    """Vectors side by side, a hidden layer, softmax."""

    def __init__(self, table: Any, width: int, n_labels: int, seed: int) -> None:
        import torch

        self._table = torch.from_numpy(table) if isinstance(table, np.ndarray) else table
        generator = torch.Generator().manual_seed(seed % 2**63)
        dim = table.shape[1]
        # He et al. 2015, with the squared length that standardized vectors have in the mean
        inputs = width * (dim if isinstance(table, np.ndarray) else 1)
        layers = torch.randn((width, dim, _HIDDEN), generator=generator).mul_((2 / inputs) ** 0.5)
        rest = torch.zeros(_HIDDEN + _HIDDEN * n_labels + n_labels)
        self._shapes = [(dim, _HIDDEN)] * width + [(_HIDDEN,), (_HIDDEN, n_labels), (n_labels,)]
        self._take(torch.cat([layers.flatten(), rest]))

    def _take(self, weights: Any) -> None:
        """Make parts of one tensor the weights, so that the optimizer has one to step."""
        self.weights, self.gradient = weights, weights.new_zeros(weights.shape)
        self.weights.grad = self.gradient
        sizes = [math.prod(shape) for shape in self._shapes]
        parts = []
        for shape, part, gradient in zip(
            self._shapes, weights.split(sizes), self.gradient.split(sizes), strict=True
        ):
            parts.append(part.view(shape).detach().requires_grad_())
            parts[-1].grad = gradient.view(shape)
        *self._layers, self._bias, self._out, self._out_bias = parts

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

    def unlikely(self, examples: Examples) -> float:
        """The mean negative log-likelihood of labels; infinite where none can be answered."""
        import torch

        known, total = np.flatnonzero(examples.labels >= 0), 0.0
        with torch.no_grad():
            for start in range(0, len(known), _ROWS):
                some = known[start : start + _ROWS]
                labels = torch.from_numpy(examples.labels[some])
                logits = self.logits(examples.rows[some])
                total += torch.nn.functional.cross_entropy(logits, labels, reduction="sum").item()
        return total / len(known) if len(known) else math.inf

    def copied(self) -> "_Network":
        """This network as it is now; the table is shared."""
        other = copy.copy(self)
        other._take(self.weights.clone())
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
