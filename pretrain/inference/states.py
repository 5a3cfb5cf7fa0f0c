"""States of all pieces of a text, and of masked words.

The state of a masked word is what an encoder expects in its place (Li et al. 2021).
"""

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import ArtifactError
from firth.pretrain.inference.windows import PiecedText, PieceWindows

_AT_ONCE = 0.15  # of a window's pieces, as an encoder is trained

# Maps windows to the states of the pieces that they keep, float32 (P, D)
Reader = Callable[[PieceWindows], Tensor]
# Maps B windows, and the masked pieces: the number of the window and the place in it, int64 (P,)
# each, to the states of these pieces, float32 (P, D).
MaskedReader = Callable[[PieceWindows, np.ndarray, np.ndarray], Tensor]


def piece_states(
    read: Reader, windows: PieceWindows, *, slots: int, dim: int, name: str
) -> np.ndarray:
    """Return the state of each piece, float32 (P, D); ``name`` is the encoder's in messages."""
    states = np.empty((len(windows.ids), dim), dtype=np.float32)
    with torch.inference_mode():
        for numbers in windows.batches(slots):
            some = windows.take(numbers)
            states[some.kept_pieces()] = read(some).cpu().numpy()
    return _finite(states, name)


def masked_word_states(
    read: MaskedReader,
    text: PiecedText,
    tokens: np.ndarray,
    *,
    length: int,
    slots: int,
    dim: int,
    name: str,
) -> np.ndarray:
    """Return the mean state of the pieces of some words, where all of these are masked.

    Each word is read in its window of ``length`` pieces. A window is read several times if more
    than 15 % of its pieces are to be masked, each time with other words masked, about as many.
    """
    # tokens: int64 (n,), words of the text, ascending; returns float32 (n, D)
    windows = text.windows(length)
    first = text.words[tokens]
    window = windows.keeping(first)
    # a word that is longer than its window ends with it
    lengths = np.minimum(text.words[tokens + 1], windows.stops[window]) - first
    numbers, reading = _readings(windows, window, lengths)
    readings = windows.take(numbers)
    found = np.empty((len(tokens), dim), dtype=np.float32)
    with torch.inference_mode():
        for batch in readings.batches(slots):
            row_of = np.full(len(numbers), -1)
            row_of[batch] = np.arange(len(batch))
            words = np.flatnonzero(row_of[reading] >= 0)
            rows, offsets = row_of[reading[words]], offsets_of(lengths[words])
            some = readings.take(batch)
            places = np.repeat(first[words] - some.starts[rows] - offsets[:-1], lengths[words])
            places += np.arange(offsets[-1])
            states = read(some, np.repeat(rows, lengths[words]), places).cpu().numpy()
            sums = np.add.reduceat(states, offsets[:-1])
            found[words] = sums / lengths[words, None]
    return _finite(found, name)


def _finite(states: np.ndarray, name: str) -> np.ndarray:
    """Return states unless they hold NaN or infinity."""
    if not np.isfinite(states).all():
        raise ArtifactError(f"{name}: the states contain NaN or infinity; choose another model")
    return states


def _readings(
    windows: PieceWindows, window: np.ndarray, lengths: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return the windows to read, some of them repeatedly, and in which reading a word is masked.

    Words that follow each other are masked in turns, so that they see each other.
    """
    # window, lengths: int64 (n,), of each word; returns int64 (n_readings,), int64 (n,)
    pieces = np.bincount(window, weights=lengths, minlength=len(windows.starts))
    words = np.bincount(window, minlength=len(windows.starts))
    room = np.maximum(1, _AT_ONCE * (windows.stops - windows.starts))
    n_readings = np.minimum(words, np.ceil(pieces / room)).astype(np.int64)
    order = np.argsort(window, kind="stable")
    nth = np.empty_like(window)
    nth[order] = np.arange(len(window)) - offsets_of(words)[window[order]]
    numbers = np.repeat(np.arange(len(n_readings)), n_readings)
    return numbers, offsets_of(n_readings)[window] + nth % n_readings[window]
