"""The threads that train: who takes which piece, in the fast and in the deterministic mode."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from embed.word2vec.course import Group, held_out_state, random_state
from embed.word2vec.kernels import rounds as kernels
from embed.word2vec.tables import Tables

# Of the deterministic mode. What a round does not yet know of itself grows with its length: on
# Wikipedia one of 32,000 words in all diverges, and one in which the commonest word stands more
# than some 8 times learns worse, wherever frequent words are many.
_SHARDS = 8
_ROUND_WORDS = 96
_MOST_OFTEN = 0.75  # times that the commonest word stands in a shard's round, on average
_USUAL = 30  # window times outputs, of a window of 5 with 5 negatives
_MOST_OUTPUTS = 16_384  # of a shard's round: they are rows to work with, and numbers of 16 bits
_FAST_PIECES = 32


@dataclass(frozen=True)
class Tally:
    """What a training lost, and over how much.

    Parameters
    ----------
    loss : float
        Negative log-likelihood, natural logarithm.
    pairs : int
        Pairs that it is the sum over.
    """

    loss: float
    pairs: int

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.loss + other.loss, self.pairs + other.pairs)

    @property
    def mean(self) -> float:
        """Of a pair; NaN where there is none."""
        return self.loss / self.pairs if self.pairs else float("nan")


class Rounds(NamedTuple):
    """How the deterministic mode divides the text; the same at any number of threads.

    Attributes
    ----------
    shards : int
        Pieces of text at the same time.
    words : int
        Of each, before the gains of all are added up.
    """

    shards: int
    words: int


def choose_rounds(counts: np.ndarray, plan: Any) -> Rounds:
    """Make rounds as long as they may be, and short where one word is much of the text.

    Parameters
    ----------
    counts : int64 (V,)
        Of the words.
    plan : word2vec_rounds_kernels.Plan
        The options.

    Returns
    -------
    Rounds
        One shard alone, which is never behind itself, where even short rounds would be too long.
    """
    kept = counts * plan.keep_limits.astype(np.float64)
    outputs = 1 + plan.negatives
    most = _MOST_OFTEN * kept.sum() / kept.max() * min(1.0, _USUAL / (plan.window * outputs))
    words = int(min(most, _ROUND_WORDS, _MOST_OUTPUTS // outputs))
    return Rounds(_SHARDS, words) if words > 1 else Rounds(1, min(16, _MOST_OUTPUTS // outputs))


class Crew:
    """Threads with room for their work, which move the tables group by group.

    Parameters
    ----------
    tables : Tables
        Moved in place.
    plan : word2vec_rounds_kernels.Plan
        The options.
    threads : int
        How many.
    rounds : Rounds or None
        Of the deterministic mode; None for the fast one.
    seed : int
        Of the random numbers.
    """

    def __init__(
        self,
        tables: Tables,
        plan: Any,
        threads: int,
        *,
        rounds: Rounds | None,
        seed: int,
    ) -> None:
        self._tables = kernels.Tables(
            tables.inputs.reshape(-1),
            tables.outputs.reshape(-1),
            tables.inputs.shape[1],
            tables.starts,
            tables.parts,
        )
        self._plan = plan
        self._seed = seed
        self._rounds = rounds
        self._threads = min(threads, rounds.shards) if rounds else threads
        self._pool = ThreadPoolExecutor(self._threads)
        together = threading.Barrier(self._threads)  # a thread that cannot start fails here
        list(self._pool.map(lambda _: together.wait(), range(self._threads)))
        n_words = tables.n_words
        if rounds:
            self._shards = _shared_room(plan, rounds, n_words, self._tables.width)
        composed = len(tables.parts) > 0
        self._copies = [
            _copies(plan, n_words if composed else 0, self._tables.width)
            for _ in range(1 if rounds else self._threads)
        ]

    @property
    def group_size(self) -> int:
        """Pieces of the groups to be given."""
        return self._rounds.shards if self._rounds else max(_FAST_PIECES, 8 * self._threads)

    def train(self, group: Group, rates: list[float]) -> Tally:
        """Train on a group of pieces.

        Parameters
        ----------
        group : Group
            At most ``group_size`` pieces.
        rates : list of float, one more than pieces
            Learning rate at the start of each piece, and at the end.

        Returns
        -------
        Tally
            Loss before each update.
        """
        states = [
            random_state(self._seed, group.epoch, group.number + p) for p in range(len(group))
        ]
        if self._rounds:
            both = (rates[0], rates[-1])
            return self._train_shards(group, both, np.array(states), self._rounds.words)
        numbers = iter(range(len(group)))
        tallies = [Tally(0.0, 0)] * len(group)

        def work(me: int) -> None:
            for p in numbers:  # next() of a range is one step: no two threads get the same
                both = (rates[p], rates[p + 1])
                tallies[p] = self._train_piece(group.piece(p), both, states[p], me)

        list(self._pool.map(work, range(self._threads)))
        return sum(tallies, start=Tally(0.0, 0))

    def loss_of(self, group: Group) -> Tally:
        """Measure the loss on held-out text, by one thread and always in the same order.

        Parameters
        ----------
        group : Group
            The text.

        Returns
        -------
        Tally
            Of the tables as they are; they stay so.
        """
        found = Tally(0.0, 0)
        for p in range(len(group)):
            state = held_out_state(group.number + p)
            found += self._train_piece(group.piece(p), (0.0, 0.0), state, 0)
        return found

    def close(self) -> None:
        """Wait for the threads, and end them."""
        self._pool.shutdown()

    def _train_piece(
        self,
        piece: tuple[np.ndarray, np.ndarray],
        rates: tuple[float, float],
        state: np.ndarray,
        me: int,
    ) -> Tally:
        """One piece, by one thread."""
        loss = np.zeros(1)
        pairs = kernels.train_piece(
            self._tables, kernels.Text(*piece), self._plan, rates, state, self._copies[me], loss
        )
        return Tally(float(loss[0]), int(pairs))

    def _train_shards(
        self, group: Group, rates: tuple[float, float], states: np.ndarray, round_words: int
    ) -> Tally:
        """All pieces at the same time, each as a shard."""
        offsets = group.offsets[group.bounds[0] : group.bounds[-1] + 1]
        text = kernels.Text(group.rows[offsets[0] : offsets[-1]], offsets)
        n = len(group)
        shards = self._shards._replace(
            bounds=group.bounds - group.bounds[0],
            kept=np.empty(len(text.rows), dtype=np.int32),
            kept_offsets=np.empty(len(offsets) + n, dtype=np.int64),
        )
        losses, pairs = np.zeros((n, 1)), np.zeros(n, dtype=np.int64)
        arrivals = np.zeros(1, dtype=np.int64)

        def work(me: int) -> None:
            crew = (me, self._threads, arrivals, round_words)
            kernels.train_shards(
                self._tables, text, self._plan, rates, states, shards, crew, losses, pairs
            )

        list(self._pool.map(work, range(self._threads)))
        return Tally(float(sum(losses[:, 0].tolist())), int(pairs.sum()))


def _copies(plan: Any, n_words: int, width: int) -> Any:
    """One thread's room for composed inputs; next to nothing where words are not composed."""
    size = kernels.DRAWN + 2 * plan.window if n_words else 0
    return kernels.Copies(
        np.zeros((n_words, 1), dtype=np.int32),
        np.empty(size, dtype=np.int32),
        np.zeros((size + 1) * width, dtype=np.float32),
        np.empty(size * width, dtype=np.float32),
    )


def spare_rows(plan: Any, rounds: Rounds | None) -> int:
    """Say how many rows the deterministic mode needs to work with behind the outputs.

    Parameters
    ----------
    plan : word2vec_rounds_kernels.Plan
        The options.
    rounds : Rounds or None
        None for the fast mode.

    Returns
    -------
    int
        Rows.
    """
    return rounds.shards * _most_words(plan, rounds) if rounds else 0


def _most_words(plan: Any, rounds: Rounds) -> int:
    """How many inputs, or outputs, a shard can touch in a round."""
    return max(rounds.words + 2 * plan.window, rounds.words * (1 + plan.negatives))


def _shared_room(plan: Any, rounds: Rounds, n_words: int, width: int) -> Any:
    """Room for the private rows of all shards; their text comes with each group."""
    n_shards, most = rounds.shards, _most_words(plan, rounds)
    assert most < np.iinfo(np.uint16).max  # a slot's number
    n_inputs = rounds.words + 2 * plan.window
    return kernels.Shards(
        bounds=np.empty(0, dtype=np.int64),
        kept=np.empty(0, dtype=np.int32),
        kept_offsets=np.empty(0, dtype=np.int64),
        n_kept=np.zeros((n_shards, 2), dtype=np.int64),
        words=np.empty((n_shards, 2, most), dtype=np.int32),
        n_words=np.zeros((n_shards, 2), dtype=np.int64),
        inputs=np.zeros((n_shards, (n_inputs + 1) * width), dtype=np.float32),
        before=np.empty((n_shards, n_inputs * width), dtype=np.float32),
        first_row=n_words,
        slots=np.zeros((2, n_words, n_shards), dtype=np.uint16),
    )
