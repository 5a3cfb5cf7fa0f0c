"""The order of training: epochs, shards of the corpus, groups of pieces; and the rate at each.

A piece is some whole units of text. Its random numbers are keyed by the seed, the epoch and its
number, so that it does not matter who trains on it, or when training was interrupted.
"""

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

from embed.word2vec.training_text import TrainingText

PIECE_TOKENS = 20_000
_TRAINING, _HELD_OUT = 1, 2  # streams of random numbers


@dataclass(frozen=True)
class Group:
    """Some pieces in a row, of one shard of the corpus and one epoch.

    Parameters
    ----------
    epoch : int
        From 0.
    number : int
        Of the first piece, in its epoch.
    rows : int32 (n,)
        The shard's words.
    offsets : int64 (m + 1,)
        Where its units begin.
    bounds : int64 (P + 1,)
        The units of piece p are ``bounds[p]`` to ``bounds[p + 1] - 1``.
    before : int
        Tokens of all epochs before this group.
    """

    epoch: int
    number: int
    rows: np.ndarray
    offsets: np.ndarray
    bounds: np.ndarray
    before: int

    def __len__(self) -> int:
        """Pieces."""
        return len(self.bounds) - 1

    @property
    def n_tokens(self) -> int:
        """Tokens in all pieces."""
        return int(self.offsets[self.bounds[-1]] - self.offsets[self.bounds[0]])

    def piece(self, p: int) -> tuple[np.ndarray, np.ndarray]:
        """Give the words of one piece and where its units begin.

        Parameters
        ----------
        p : int
            From 0.

        Returns
        -------
        rows, offsets : int32 (n,), int64 (m + 1,)
            The first offset is where the piece begins in the shard.
        """
        offsets = self.offsets[self.bounds[p] : self.bounds[p + 1] + 1]
        return self.rows[offsets[0] : offsets[-1]], offsets

    def tokens_before(self, p: int) -> int:
        """Count the tokens of all epochs before a piece.

        Parameters
        ----------
        p : int
            From 0; one more than the last for all.

        Returns
        -------
        int
        """
        return self.before + int(self.offsets[self.bounds[p]] - self.offsets[self.bounds[0]])


def groups(text: TrainingText, epochs: int, size: int, start: tuple[int, int]) -> Iterator[Group]:
    """Go through the text as often as asked for, some pieces at a time.

    Parameters
    ----------
    text : TrainingText
        What is trained on.
    epochs : int
        How often.
    size : int
        Pieces of a group, at most.
    start : tuple of (int, int)
        Epoch and number of the piece to begin with, which begins a group.

    Yields
    ------
    Group
    """
    for epoch in range(start[0], epochs):
        number, before = 0, epoch * text.n_tokens
        for rows, offsets in text.shards():
            offsets = cut_long_units(offsets)
            bounds = cut_pieces(offsets)
            n_pieces = len(bounds) - 1
            skip = min(max(start[1] - number, 0), n_pieces) if epoch == start[0] else 0
            for first in range(skip, n_pieces, size):
                passed = int(offsets[bounds[first]] - offsets[0])
                yield Group(
                    epoch, number + first, rows, offsets, bounds[first : first + size + 1],
                    before + passed,
                )  # fmt: skip
            number += n_pieces
            before += int(offsets[-1] - offsets[0])


def cut_long_units(offsets: np.ndarray) -> np.ndarray:
    """Cut units that are longer than a piece, which one thread would have to itself.

    Every word is trained on; windows near a cut, one in some thousands, end there.

    Parameters
    ----------
    offsets : int64 (m + 1,)
        Where the units begin.

    Returns
    -------
    int64 (m + n + 1,)
        With n cuts.
    """
    long = np.flatnonzero(np.diff(offsets) > 2 * PIECE_TOKENS)
    cuts = [
        np.arange(offsets[unit] + PIECE_TOKENS, offsets[unit + 1] - PIECE_TOKENS, PIECE_TOKENS)
        for unit in long
    ]
    return np.unique(np.concatenate([offsets, *cuts]))


def cut_pieces(offsets: np.ndarray) -> np.ndarray:
    """Cut a shard into pieces of about the same number of tokens.

    Parameters
    ----------
    offsets : int64 (m + 1,)
        Where the units begin.

    Returns
    -------
    int64 (P + 1,)
        The unit that each piece begins with; none is empty.
    """
    if len(offsets) < 2:
        return np.zeros(1, dtype=np.int64)
    marks = np.arange(0, int(offsets[-1]), PIECE_TOKENS)
    firsts = np.searchsorted(offsets[:-1], marks)
    return np.unique(np.append(firsts[firsts < len(offsets) - 1], len(offsets) - 1))


def learning_rate(first: float, last: float, done: int, total: int) -> float:
    """Say what the rate is: it falls linearly with the tokens behind us, down to a floor.

    Parameters
    ----------
    first : float
        At the start.
    last : float
        The floor.
    done, total : int
        Tokens behind us, and in all epochs.

    Returns
    -------
    float
        Example: half way from 0.025 it is 0.0125.
    """
    return max(last, first * (1 - done / total))


def random_state(seed: int, epoch: int, number: int) -> np.ndarray:
    """Key the random numbers of one piece.

    Parameters
    ----------
    seed, epoch, number : int
        Of the training and the piece.

    Returns
    -------
    uint64 (1,)
    """
    return np.random.SeedSequence((_TRAINING, seed, epoch, number)).generate_state(1, np.uint64)


def held_out_state(number: int) -> np.ndarray:
    """Key the random numbers of one piece of the held-out text: the same in every training.

    Parameters
    ----------
    number : int
        Of the piece.

    Returns
    -------
    uint64 (1,)
    """
    return np.random.SeedSequence((_HELD_OUT, number)).generate_state(1, np.uint64)
