"""Training threads, and how they share chunks in the fast and the deterministic mode."""

import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np

from firth.embed.word2vec.kernel_settings import Rounds, allocate_chunks, allocate_copies
from firth.embed.word2vec.kernels import rounds as kernels
from firth.embed.word2vec.kernels.rounds import Plan
from firth.embed.word2vec.schedule import TextBatch, held_out_state, random_state
from firth.embed.word2vec.tables import Tables
from firth.embed.word2vec.text_session import LossSum


class Workers:
    """Threads and their buffers, which train the tables batch by batch."""

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
        self._tables = kernels.FlatTables(
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
        self._threads = min(threads, rounds.chunks) if rounds else threads
        self._pool = ThreadPoolExecutor(self._threads)
        started = threading.Barrier(self._threads)  # a thread that cannot start fails here
        list(self._pool.map(lambda _: started.wait(), range(self._threads)))
        n_words = tables.n_words
        if rounds:
            self._chunks = allocate_chunks(plan, rounds, n_words, self._tables.width)
        composed = len(tables.parts) > 0
        self._copies = [
            allocate_copies(plan, n_words if composed else 0, self._tables.width)
            for _ in range(1 if rounds else self._threads)
        ]

    @property
    def batch_size(self) -> int:
        """Number of chunks in a full batch."""
        return self._rounds.chunks if self._rounds else max(self._batch_chunks, 8 * self._threads)

    def train(self, batch: TextBatch, rates: list[float]) -> LossSum:
        """Train on a batch, given the learning rates before each chunk and after the last."""
        states = [
            random_state(self._seed, batch.epoch, batch.number + c) for c in range(len(batch))
        ]
        if self._rounds:
            ends = (rates[0], rates[-1])
            return self._train_lockstep(batch, ends, np.array(states), self._rounds.words)
        numbers = iter(range(len(batch)))
        losses = [LossSum(0.0, 0)] * len(batch)

        def work(thread: int) -> None:
            for c in numbers:  # next() of a range is atomic: no two threads get the same chunk
                ends = (rates[c], rates[c + 1])
                losses[c] = self._train_chunk(batch.chunk(c), ends, states[c], thread)

        list(self._pool.map(work, range(self._threads)))
        return sum(losses, start=LossSum(0.0, 0))

    def losses_of(self, batch: TextBatch) -> list[LossSum]:
        """Measure the loss on each chunk of held-out text, in one thread: it is deterministic."""
        return [
            self._train_chunk(batch.chunk(c), (0.0, 0.0), held_out_state(batch.number + c), 0)
            for c in range(len(batch))
        ]

    def close(self) -> None:
        """Wait for the threads and end them."""
        self._pool.shutdown()

    def _train_chunk(
        self,
        chunk: tuple[np.ndarray, np.ndarray],
        rates: tuple[float, float],
        state: np.ndarray,
        thread: int,
    ) -> LossSum:
        """Train on one chunk in one thread."""
        loss = np.zeros(1)
        text = kernels.TokenText(*chunk)
        pairs = kernels.train_chunk(
            self._tables, text, self._plan, rates, state, self._copies[thread], loss
        )
        return LossSum(float(loss[0]), int(pairs))

    def _train_lockstep(
        self, batch: TextBatch, rates: tuple[float, float], states: np.ndarray, round_words: int
    ) -> LossSum:
        """Train on all chunks in lockstep, round by round."""
        offsets = batch.offsets[batch.bounds[0] : batch.bounds[-1] + 1]
        text = kernels.TokenText(batch.rows[offsets[0] : offsets[-1]], offsets)
        n = len(batch)
        chunks = self._chunks._replace(
            bounds=batch.bounds - batch.bounds[0],
            kept=np.empty(len(text.rows), dtype=np.int32),
            kept_offsets=np.empty(len(offsets) + n, dtype=np.int64),
        )
        losses, pairs = np.zeros((n, 1)), np.zeros(n, dtype=np.int64)
        arrivals = np.zeros(1, dtype=np.int64)

        def work(thread: int) -> None:
            worker = (thread, self._threads, arrivals, round_words)
            kernels.train_lockstep(
                self._tables, text, self._plan, rates, states, chunks, worker, losses, pairs
            )

        list(self._pool.map(work, range(self._threads)))
        return LossSum(float(sum(losses[:, 0].tolist())), int(pairs.sum()))
