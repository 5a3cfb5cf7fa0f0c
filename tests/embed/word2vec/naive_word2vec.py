"""Skip-gram and CBOW with negative sampling by definition: slow, one line per step.

First :func:`windows` makes every random choice of a chunk, in the order of the
kernels; then :func:`skipgram` or :func:`cbow` processes the windows, or
:func:`composed_round` and :func:`lockstep_round` process some of them with
subwords and in the deterministic mode. Tables may be float32, as in the kernels,
or float64.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from firth.embed.word2vec.noise import NoiseTable

MASK = 2**64 - 1


class Stream:
    """splitmix64 (Steele, Lea and Flood 2014), in Python integers."""

    def __init__(self, state: int) -> None:
        self.state = int(state) & MASK

    def next(self) -> int:
        """Return the next 64 random bits."""
        self.state = (self.state + 0x9E3779B97F4A7C15) & MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & MASK
        return z ^ (z >> 31)


@dataclass(frozen=True)
class Window:
    """A center, the words around it in the order of the text, and its negative samples."""

    center: int
    contexts: tuple[int, ...]
    negatives: tuple[int, ...]


def windows(
    units: Sequence[Sequence[int]],
    stream: Stream,
    *,
    keep_limits: Sequence[int],
    noise: NoiseTable,
    window: int,
    dynamic: bool,
    negatives: int,
    shuffled: bool = False,
    empty: bool = False,
) -> list[Window]:
    """Return all windows of a chunk; with ``empty`` also those without contexts and negatives."""
    kept = [[row for row in unit if stream.next() >> 32 < int(keep_limits[row])] for unit in units]
    if shuffled:
        kept = [shuffle(unit, stream) for unit in kept]
    found = []
    for unit in kept:
        for i, center in enumerate(unit):
            r = stream.next()
            reach = 1 + ((r >> 32) * window >> 32) if dynamic else window
            contexts = (*unit[max(0, i - reach) : i], *unit[i + 1 : i + reach + 1])
            if contexts:
                drawn = tuple(negative(stream, noise, center) for _ in range(negatives))
                found.append(Window(center, contexts, drawn))
            elif empty:
                found.append(Window(center, (), ()))
    return found


def shuffle(unit: Sequence[int], stream: Stream) -> list[int]:
    """Return the words in random order: the last is any of them, the one before of the rest."""
    rest, drawn = list(unit), []
    while len(rest) > 1:
        n = (stream.next() >> 32) * len(rest) >> 32
        rest[n], rest[-1] = rest[-1], rest[n]
        drawn.append(rest.pop())
    return [*rest, *reversed(drawn)]


def negative(stream: Stream, noise: NoiseTable, center: int) -> int:
    """Draw a word of the noise that is not the center."""
    while True:
        r = stream.next()
        word = (r >> 32) * len(noise.limits) >> 32
        if (r & 0xFFFFFFFF) >= int(noise.limits[word]):
            word = int(noise.others[word])
        if word != center:
            return word


def skipgram(
    words: np.ndarray,
    contexts: np.ndarray,
    chunk: Sequence[Window],
    rate: float,
    *,
    block: int | None = None,
) -> tuple[float, int]:
    """Learn from the windows of a chunk; return the summed loss and the number of positive pairs.

    The words around the center are the inputs, rows of ``words``; the center and
    the negatives, which all inputs of the window share, are the outputs, rows of
    ``contexts``. Outputs are processed ``block`` at a time, by default all at once;
    scores are those before the block's update. A word that is an input twice is
    updated twice, one after the other.
    """
    loss = 0.0
    for window in chunk:
        for outputs, labels in blocks(window, block):
            before = contexts[outputs]  # a copy
            scores = words[list(window.contexts)] @ before.T
            gradients = rate * (labels - sigmoid(scores))
            change = np.zeros_like(before)
            for n, word in enumerate(window.contexts):
                row = words[word].copy()
                change += np.outer(gradients[n], row)
                words[word] = row + gradients[n] @ before
            for m, output in enumerate(outputs):
                contexts[output] += change[m]
            loss += pair_loss(scores, labels)
    return loss, sum(len(window.contexts) for window in chunk)


def cbow(
    words: np.ndarray,
    contexts: np.ndarray,
    chunk: Sequence[Window],
    rate: float,
    *,
    mean: bool,
    input_share: Callable[[int], float],
    block: int | None = None,
) -> tuple[float, int]:
    """Learn from the windows of a chunk; return the summed loss and the number of positive pairs.

    The mean or sum of the rows around the center is the single input. Each of the
    n rows gets ``input_share(n)`` of the input's update: 1 / n is the gradient of
    a mean, 1 that of a sum. Outputs are processed as in :func:`skipgram`.
    """
    loss = 0.0
    for window in chunk:
        inputs = words[list(window.contexts)]
        hidden = inputs.mean(axis=0) if mean else inputs.sum(axis=0)
        gain = np.zeros_like(hidden)
        for outputs, labels in blocks(window, block):
            before = contexts[outputs]
            scores = before @ hidden
            gradients = rate * (labels - sigmoid(scores))
            gain += gradients @ before
            for m, output in enumerate(outputs):
                contexts[output] += gradients[m] * hidden
            loss += pair_loss(scores, labels)
        for word in window.contexts:
            words[word] += input_share(len(window.contexts)) * gain
    return loss, len(chunk)


Learn = Callable[[np.ndarray, np.ndarray, Sequence[Window]], tuple[float, int]]


def rounds(found: Sequence[Window], size: int) -> list[list[Window]]:
    """Return the windows of ``size`` centers at a time; those without contexts count."""
    return [
        [window for window in found[first : first + size] if window.contexts]
        for first in range(0, len(found), size)
    ]


def composed_round(
    inputs: np.ndarray,
    outputs: np.ndarray,
    parts: Sequence[Sequence[int]],
    chunk: Sequence[Window],
    learn: Learn,
) -> tuple[float, int]:
    """Learn from some windows with composed words.

    A word's vector is the mean of some rows of ``inputs``, its parts, as they are at
    the start. ``learn`` updates these vectors and ``outputs``; then the full update of
    a word's vector is added to each of its parts.
    """
    before = np.stack([inputs[list(rows)].mean(axis=0) for rows in parts])
    words = before.copy()
    result = learn(words, outputs, chunk)
    for rows, gain in zip(parts, words - before, strict=True):
        for row in rows:
            inputs[row] += gain
    return result


def lockstep_round(
    inputs: np.ndarray,
    outputs: np.ndarray,
    parts: Sequence[Sequence[int]],
    chunks: Sequence[Sequence[Window]],
    learn: Learn,
) -> tuple[np.ndarray, np.ndarray]:
    """Do one round of the deterministic mode; return losses and pairs of the chunks.

    Each chunk learns from its windows with a copy of both tables as they were at
    the start. The updates of the copies are added in the order of the chunks.
    """
    before = inputs.copy(), outputs.copy()
    results = []
    for chunk in chunks:
        copies = before[0].copy(), before[1].copy()
        results.append(composed_round(*copies, parts, chunk, learn))
        inputs += copies[0] - before[0]
        outputs += copies[1] - before[1]
    losses, pairs = zip(*results, strict=True)
    return np.array(losses), np.array(pairs)


def blocks(window: Window, size: int | None) -> Iterator[tuple[list[int], np.ndarray]]:
    """Yield some outputs at a time with their labels: 1 for the center, 0 for a negative."""
    outputs = [window.center, *window.negatives]
    labels = np.array([1] + [0] * len(window.negatives), np.float32)
    size = size or len(outputs)
    for first in range(0, len(outputs), size):
        yield outputs[first : first + size], labels[first : first + size]


def sigmoid(scores: np.ndarray) -> np.ndarray:
    """Return 1 / (1 + e^-x), without overflow."""
    return np.exp(-np.logaddexp(0, -scores))


def pair_loss(scores: np.ndarray, labels: np.ndarray) -> float:
    """Sum -log sigmoid(s) over labels 1 and -log sigmoid(-s) over labels 0, in float64."""
    signs = 2 * labels.astype(np.float64) - 1
    return float(np.logaddexp(0, -signs * scores).sum())
