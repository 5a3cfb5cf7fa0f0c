"""The threads that train: which takes which chunk, in the fast and in the deterministic mode."""

import threading
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass

import numpy as np

from embed.word2vec.kernel_settings import Rounds, room_for_inputs, room_for_rounds
from embed.word2vec.kernels import rounds as kernels
from embed.word2vec.kernels.rounds import Plan
from embed.word2vec.schedule import Batch, held_out_state, random_state
from embed.word2vec.tables import Tables


@dataclass(frozen=True)
class Tally:
    """What a training lost, and over how much."""

    loss: float  # negative log-likelihood, natural logarithm
    pairs: int  # pairs that it is the sum over

    def __add__(self, other: "Tally") -> "Tally":
        return Tally(self.loss + other.loss, self.pairs + other.pairs)

    @property
    def mean(self) -> float:
        """Of a pair; NaN where there is none."""
        return self.loss / self.pairs if self.pairs else float("nan")


class Workers:
    """Threads with room for their work, which move the tables batch by batch."""

    def __init__(
        self,
        tables: Tables,
        plan: Plan,
        threads: int,
        *,
        rounds: Rounds | None,
        seed: int,
        batch_chunks: int,
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
        self._batch_chunks = batch_chunks
        self._rounds = rounds
        self._threads = min(threads, rounds.shards) if rounds else threads
        self._pool = ThreadPoolExecutor(self._threads)
        together = threading.Barrier(self._threads)  # a thread that cannot start fails here
        list(self._pool.map(lambda _: together.wait(), range(self._threads)))
        n_words = tables.n_words
        if rounds:
            self._shards = room_for_rounds(plan, rounds, n_words, self._tables.width)
        composed = len(tables.parts) > 0
        self._copies = [
            room_for_inputs(plan, n_words if composed else 0, self._tables.width)
            for _ in range(1 if rounds else self._threads)
        ]

    @property
    def batch_size(self) -> int:
        """Chunks of the batches to be given."""
        return self._rounds.shards if self._rounds else max(self._batch_chunks, 8 * self._threads)

    def train(self, batch: Batch, rates: list[float]) -> Tally:
        """Train on a batch of chunks."""
        states = [
            random_state(self._seed, batch.epoch, batch.number + p) for p in range(len(batch))
        ]
        if self._rounds:
            both = (rates[0], rates[-1])
            return self._train_shards(batch, both, np.array(states), self._rounds.words)
        numbers = iter(range(len(batch)))
        tallies = [Tally(0.0, 0)] * len(batch)

        def work(me: int) -> None:
            for p in numbers:  # next() of a range is one step: no two threads get the same
                both = (rates[p], rates[p + 1])
                tallies[p] = self._train_chunk(batch.chunk(p), both, states[p], me)

        list(self._pool.map(work, range(self._threads)))
        return sum(tallies, start=Tally(0.0, 0))

    def loss_of(self, batch: Batch) -> Tally:
        """Measure the loss on held-out text, by one thread and always in the same order."""
        found = Tally(0.0, 0)
        for p in range(len(batch)):
            state = held_out_state(batch.number + p)
            found += self._train_chunk(batch.chunk(p), (0.0, 0.0), state, 0)
        return found

    def close(self) -> None:
        """Wait for the threads, and end them."""
        self._pool.shutdown()

    def _train_chunk(
        self,
        chunk: tuple[np.ndarray, np.ndarray],
        rates: tuple[float, float],
        state: np.ndarray,
        me: int,
    ) -> Tally:
        """One chunk, by one thread."""
        loss = np.zeros(1)
        pairs = kernels.train_chunk(
            self._tables, kernels.Text(*chunk), self._plan, rates, state, self._copies[me], loss
        )
        return Tally(float(loss[0]), int(pairs))

    def _train_shards(
        self, batch: Batch, rates: tuple[float, float], states: np.ndarray, round_words: int
    ) -> Tally:
        """All chunks at the same time, each as a shard."""
        offsets = batch.offsets[batch.bounds[0] : batch.bounds[-1] + 1]
        text = kernels.Text(batch.rows[offsets[0] : offsets[-1]], offsets)
        n = len(batch)
        shards = self._shards._replace(
            bounds=batch.bounds - batch.bounds[0],
            kept=np.empty(len(text.rows), dtype=np.int32),
            kept_offsets=np.empty(len(offsets) + n, dtype=np.int64),
        )
        losses, pairs = np.zeros((n, 1)), np.zeros(n, dtype=np.int64)
        arrivals = np.zeros(1, dtype=np.int64)

        def work(me: int) -> None:
            worker = (me, self._threads, arrivals, round_words)
            kernels.train_shards(
                self._tables, text, self._plan, rates, states, shards, worker, losses, pairs
            )

        list(self._pool.map(work, range(self._threads)))
        return Tally(float(sum(losses[:, 0].tolist())), int(pairs.sum()))
