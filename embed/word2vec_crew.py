"""The threads that train: who takes which piece, in the fast and in the deterministic mode."""

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from typing import Any

import numpy as np

from embed import word2vec_rounds_kernels as kernels
from embed.word2vec_pieces import Group, held_out_state, random_state
from embed.word2vec_tables import Tables

# Of the deterministic mode. More words a round, or more shards, and what a round does not yet
# know of itself grows: 32,000 words in all diverge on Wikipedia.
_SHARDS = 8
_ROUND_WORDS = 96
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
    deterministic : bool
        Whether the bytes may not depend on the threads.
    seed : int
        Of the random numbers.
    """

    def __init__(
        self,
        tables: Tables,
        plan: Any,
        threads: int,
        *,
        deterministic: bool,
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
        self._deterministic = deterministic
        self._threads = min(threads, _SHARDS) if deterministic else threads
        self._pool = ThreadPoolExecutor(self._threads)
        n_words = tables.n_words
        if deterministic:
            self._shards = _shared_room(plan, n_words, self._tables.width)
        composed = len(tables.parts) > 0
        self._copies = [
            _copies(plan, n_words if composed else 0, self._tables.width)
            for _ in range(1 if deterministic else self._threads)
        ]

    @property
    def group_size(self) -> int:
        """Pieces of the groups to be given."""
        return _SHARDS if self._deterministic else max(_FAST_PIECES, 8 * self._threads)

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
        if self._deterministic:
            return self._train_shards(group, (rates[0], rates[-1]), np.array(states))
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

    def _train_shards(self, group: Group, rates: tuple[float, float], states: np.ndarray) -> Tally:
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
            crew = (me, self._threads, arrivals, _ROUND_WORDS)
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


def spare_rows(window: int, negatives: int) -> int:
    """Say how many rows the deterministic mode needs to work with behind the outputs.

    Parameters
    ----------
    window, negatives : int
        Of the training.

    Returns
    -------
    int
        Rows.
    """
    return _SHARDS * _most_words(window, negatives)


def _most_words(window: int, negatives: int) -> int:
    """How many inputs, or outputs, a shard can touch in a round."""
    return max(_ROUND_WORDS + 2 * window, _ROUND_WORDS * (1 + negatives))


def _shared_room(plan: Any, n_words: int, width: int) -> Any:
    """Room for the private rows of all shards; their text comes with each group."""
    n_inputs = _ROUND_WORDS + 2 * plan.window
    return kernels.Shards(
        bounds=np.empty(0, dtype=np.int64),
        kept=np.empty(0, dtype=np.int32),
        kept_offsets=np.empty(0, dtype=np.int64),
        n_kept=np.zeros((_SHARDS, 2), dtype=np.int64),
        words=np.empty((_SHARDS, 2, _most_words(plan.window, plan.negatives)), dtype=np.int32),
        n_words=np.zeros((_SHARDS, 2), dtype=np.int64),
        inputs=np.zeros((_SHARDS, (n_inputs + 1) * width), dtype=np.float32),
        before=np.empty((_SHARDS, n_inputs * width), dtype=np.float32),
        first_row=n_words,
        slots=np.zeros((2, n_words, _SHARDS), dtype=np.uint16),
    )
