"""Rounds of training: draw some windows and learn from them, until the chunk of text is done.

In the fast mode threads update shared tables without locks (Recht, Re, Wright and Niu 2011,
"Hogwild!"). In the deterministic mode several chunks are trained in lockstep: in each round a chunk
updates private copies of the rows that it uses, and the updates are then added to the tables in the
order of the chunks.

With subwords an input is the mean of several rows, its parts. Inputs are then private in both
modes: they are composed once per round, and their updates are added to each of their parts, as in
fastText (Bojanowski, Grave, Joulin and Mikolov 2017).
"""

from typing import Any, NamedTuple

import numpy as np

from firth.corpora.common.jit import compiled
from firth.embed.word2vec.kernels.barrier import wait_for_all
from firth.embed.word2vec.kernels.simd import add_to_rows, prefetch_row, sum_rows
from firth.embed.word2vec.kernels.windows import (
    OutputPlaces,
    WindowBatch,
    draw_windows,
    learn_cbow,
    learn_skipgram,
    shuffle,
    subsample,
)

SKIPGRAM, CBOW_MEAN, CBOW_SUM, CBOW_CORRECTED = range(4)
DRAWN = 64  # windows drawn at a time in the fast mode: their words stay in the L1 cache

_AHEAD = 4  # rows between prefetch and use
_OWNERS = 256  # a row is owned by its number modulo this; a power of two, to avoid a division


class FlatTables(NamedTuple):
    """The trained tables: flat float32 arrays, a row every ``width`` floats, a zero row last.

    Input w of V is the mean of the rows ``parts[starts[w]:starts[w + 1]]`` (int32) of
    ``inputs``; without subwords ``parts`` is empty and input w is row w.
    """

    inputs: Any
    outputs: Any
    width: Any
    starts: Any
    parts: Any


class TokenText(NamedTuple):
    """Text as rows of words, int32, and offsets of its units, int64, which may start above 0."""

    rows: Any
    offsets: Any


class Plan(NamedTuple):
    """How windows are drawn and trained on; limits are those of ``noise.py``."""

    method: Any
    window: Any
    shuffled: Any
    dynamic: Any
    negatives: Any
    keep_limits: Any
    noise_limits: Any
    noise_others: Any
    labels: Any


class Copies(NamedTuple):
    """A thread's private copies of inputs that are composed of parts.

    ``slots`` int32 (V, 1): 1 + the number of a word's copy, 0 if it has none. ``words`` int32 lists
    the copied words. ``rows`` and ``originals`` are flat float32 arrays like those of
    :class:`FlatTables`.
    """

    slots: Any
    words: Any
    rows: Any
    originals: Any


class LockstepChunks(NamedTuple):
    """State of the C chunks of the deterministic mode, shared by its threads.

    ``bounds`` int64 (C + 1,): the units of chunk c are ``bounds[c]`` to ``bounds[c + 1] - 1``.
    ``kept`` int32 (n,), ``kept_offsets`` int64 (m + C,), ``n_kept`` int64 (C, 2): the text
    after subsampling. ``words`` int32 (C, 2, W), ``n_words`` int64 (C, 2): inputs and outputs that
    have private rows. Those of inputs are ``inputs`` and ``originals``, float32 (C, ...); those of
    outputs are W rows per chunk in the table itself, from row ``first_row`` on. ``slots`` uint16
    (2, V, C): 1 + the number of a word's private row in a chunk, 0 if it has none.
    """

    bounds: Any
    kept: Any
    kept_offsets: Any
    n_kept: Any
    words: Any
    n_words: Any
    inputs: Any
    originals: Any
    first_row: Any
    slots: Any


@compiled
def train_chunk(
    tables: Any, text: Any, plan: Any, rates: Any, state: Any, copies: Any, loss: Any
) -> Any:
    """Train on one chunk in the fast mode; return the number of pairs.

    Other threads may update the tables at the same time. ``rates`` are the learning rates at the
    start and the end of the chunk.
    """
    # state: uint64 (1,), advanced; loss: float64 (1,), the negative log-likelihood is added
    inputs, outputs, width = tables.inputs, tables.outputs, tables.width
    kept = np.empty(len(text.rows), dtype=np.int32)
    offsets = np.empty(len(text.offsets), dtype=np.int64)
    n_kept, n_units = subsample(text.rows, text.offsets, plan.keep_limits, state, kept, offsets)
    if plan.shuffled:
        shuffle(kept, offsets[: n_units + 1], state)
    windows, shares = _allocate_windows(plan, DRAWN)
    shares[:] = 1
    places = OutputPlaces(windows.targets, shares)
    every = np.ones(_OWNERS, dtype=np.bool_)
    pairs = 0
    for first in range(0, n_kept, DRAWN):
        last = min(first + DRAWN, n_kept)
        drawn = draw_windows(
            plan, kept[:n_kept], offsets[: n_units + 1], first, last, state, windows
        )
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * first / n_kept)
        if len(tables.parts) == 0:
            pairs += _learn(plan, inputs, outputs, width, drawn, places, rate, loss)
            continue
        n = _number_inputs(drawn, copies.slots, 0, copies.words)
        _copy_inputs(tables, copies.words, n, copies.rows, copies.originals)
        _free_slots(copies.words, n, copies.slots, 0)
        pairs += _learn(plan, copies.rows, outputs, width, drawn, places, rate, loss)
        _subtract_originals(copies.rows, copies.originals, n * width)
        _add_inputs(tables, copies.words, n, copies.rows, every)
    return pairs


@compiled
def train_lockstep(
    tables: Any, text: Any, plan: Any, rates: Any, states: Any, chunks: Any, worker: Any,
    losses: Any, pairs: Any,
) -> None:  # fmt: skip
    """Train on some chunks in lockstep, round by round, as one of several threads.

    The bytes do not depend on the number of threads. ``worker`` is the number of this thread, the
    number of threads, the arrivals at the barrier (shared, initially 0) and the words per round.
    """
    # text: that of all chunks; states: uint64 (C, 1)
    # losses: float64 (C, 1) and pairs: int64 (C,), added to
    thread, threads, arrivals, round_words = worker
    width, n_chunks = tables.width, len(chunks.bounds) - 1
    _subsample_chunks(text, plan, states, chunks, thread, threads)
    barriers = 1
    wait_for_all(arrivals, barriers * threads)
    n_rounds = (chunks.n_kept[:n_chunks, 0].max() + round_words - 1) // round_words
    windows, shares = _allocate_windows(plan, round_words)
    places = OutputPlaces(np.empty_like(windows.targets), shares)
    uses = np.empty(chunks.words.shape[2], dtype=np.int32)
    owned = np.arange(_OWNERS) % threads == thread
    composed = len(tables.parts) > 0
    for r in range(n_rounds):
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * r / n_rounds)
        for c in range(thread, n_chunks, threads):
            _free_chunk(chunks, c)
            words, n_words = chunks.words[c], chunks.n_words[c]
            first = r * round_words
            last = min(first + round_words, chunks.n_kept[c, 0])
            if first >= last:
                continue
            kept, offsets = _kept_text(text, chunks, c)
            drawn = draw_windows(plan, kept, offsets, first, last, states[c], windows)
            row = _first_output_row(chunks, c)
            n_words[0] = _number_inputs(drawn, chunks.slots[0], c, words[0])
            n_words[1] = _number_outputs(drawn, row, chunks.slots[1], c, words[1], uses, places)
            _copy_inputs(tables, words[0], n_words[0], chunks.inputs[c], chunks.originals[c])
            _copy_outputs(tables, words[1], n_words[1], uses, row)
            pairs[c] += _learn(
                plan, chunks.inputs[c], tables.outputs, width, drawn, places, rate, losses[c]
            )
            _subtract_originals(chunks.inputs[c], chunks.originals[c], n_words[0] * width)
            _subtract_outputs(tables, words[1], n_words[1], uses, row)
        barriers += 1
        wait_for_all(arrivals, barriers * threads)
        if composed:
            for c in range(n_chunks):
                n = chunks.n_words[c, 0]
                _add_inputs(tables, chunks.words[c, 0], n, chunks.inputs[c], owned)
        for c in range(thread, n_chunks, threads):
            if not composed:
                _add_shared_inputs(tables, chunks, c)
            _add_shared_outputs(tables, chunks, c)
        barriers += 1
        wait_for_all(arrivals, barriers * threads)
    for c in range(thread, n_chunks, threads):
        _free_chunk(chunks, c)


@compiled
def _subsample_chunks(
    text: Any, plan: Any, states: Any, chunks: Any, thread: Any, threads: Any
) -> None:
    """Subsample this thread's chunks."""
    for c in range(thread, len(chunks.bounds) - 1, threads):
        first, last = chunks.bounds[c], chunks.bounds[c + 1]
        start, stop = text.offsets[first] - text.offsets[0], text.offsets[last] - text.offsets[0]
        kept, offsets = chunks.kept[start:stop], chunks.kept_offsets[first + c : last + c + 1]
        n_kept, n_units = subsample(
            text.rows[start:stop], text.offsets[first : last + 1], plan.keep_limits, states[c],
            kept, offsets,
        )  # fmt: skip
        if plan.shuffled:
            shuffle(kept, offsets[: n_units + 1], states[c])
        chunks.n_kept[c, 0] = n_kept
        chunks.n_kept[c, 1] = n_units


@compiled
def _kept_text(text: Any, chunks: Any, c: Any) -> Any:
    """Return the subsampled text of a chunk."""
    first = chunks.bounds[c]
    start = text.offsets[first] - text.offsets[0]
    kept = chunks.kept[start : start + chunks.n_kept[c, 0]]
    return kept, chunks.kept_offsets[first + c : first + c + chunks.n_kept[c, 1] + 1]


@compiled
def _allocate_windows(plan: Any, n: Any) -> Any:
    """Allocate n windows, and the shares of their targets."""
    contexts = np.empty((n, 2 * plan.window), dtype=np.int32)
    targets = np.empty((n, 1 + plan.negatives), dtype=np.int32)
    shares = np.empty((n, 1 + plan.negatives), dtype=np.float32)
    return WindowBatch(contexts, np.empty(n, dtype=np.int64), targets), shares


@compiled
def _learn(
    plan: Any, inputs: Any, outputs: Any, width: Any, drawn: Any, places: Any, rate: Any,
    loss: Any,
) -> Any:  # fmt: skip
    """Learn from windows by the plan's method; return the number of pairs."""
    if plan.method == SKIPGRAM:
        return learn_skipgram(inputs, outputs, width, drawn, places, rate, plan.labels, loss)
    return learn_cbow(
        inputs, outputs, width, drawn, places, rate, plan.labels, loss,
        plan.method != CBOW_SUM, plan.method == CBOW_CORRECTED,
    )  # fmt: skip


@compiled
def _number_inputs(drawn: Any, slots: Any, c: Any, words: Any) -> Any:
    """Replace each context word with the number of its copy; return how many words there are."""
    n = 0
    for w in range(len(drawn.sizes)):
        for k in range(drawn.sizes[w]):
            word = drawn.contexts[w, k]
            if slots[word, c] == 0:
                words[n] = word
                n += 1
                slots[word, c] = n
            drawn.contexts[w, k] = np.int64(slots[word, c]) - 1
    return n


@compiled
def _number_outputs(
    drawn: Any, row: Any, slots: Any, c: Any, words: Any, uses: Any, places: Any
) -> Any:
    """Assign a private row, from ``row`` on, to each target; return how many words there are.

    A target used once, as most negatives are, is read in place, and only its update goes to its
    private row. One used again must see its earlier updates, so it is read from a copy.
    """
    n = 0
    for w in range(len(drawn.sizes)):
        for m in range(drawn.targets.shape[1] if drawn.sizes[w] else 0):
            word = drawn.targets[w, m]
            if slots[word, c] == 0:
                words[n] = word
                uses[n] = 0
                n += 1
                slots[word, c] = n
            slot = np.int64(slots[word, c]) - 1
            uses[slot] += 1
            places.rows[w, m] = row + slot
    for w in range(len(drawn.sizes)):
        for m in range(drawn.targets.shape[1] if drawn.sizes[w] else 0):
            private = places.rows[w, m]
            again = uses[private - row] > 1
            places.shares[w, m] = again
            if again:
                drawn.targets[w, m] = private
    return n


@compiled
def _free_slots(words: Any, n: Any, slots: Any, c: Any) -> None:
    """Free the slots of n words."""
    for k in range(n):
        slots[words[k], c] = 0


@compiled
def _free_chunk(chunks: Any, c: Any) -> None:
    """Free the slots of a chunk, which no other thread reads any more."""
    for table in range(2):
        _free_slots(chunks.words[c, table], chunks.n_words[c, table], chunks.slots[table], c)
        chunks.n_words[c, table] = 0


@compiled
def _first_output_row(chunks: Any, c: Any) -> Any:
    """Return the first row of a chunk's private outputs."""
    return chunks.first_row + c * chunks.words.shape[2]


@compiled
def _copy_inputs(tables: Any, words: Any, n: Any, rows: Any, originals: Any) -> None:
    """Copy inputs, or compose them from their parts."""
    width, starts, parts = tables.width, tables.starts, tables.parts
    offsets = np.empty(1, dtype=np.int64)
    for k in range(n):
        word = words[k]
        if len(parts) == 0:
            offsets[0] = np.int64(word) * width
            size = 1
            if k + _AHEAD < n:
                prefetch_row(tables.inputs, np.int64(words[k + _AHEAD]) * width, width)
        else:
            offsets = _part_offsets(tables, word, offsets)
            size = starts[word + 1] - starts[word]
        share = np.float32(1 / size)
        sum_rows(tables.inputs, offsets, size, width, share, rows, k * width)
    originals[: n * width] = rows[: n * width]


@compiled
def _part_offsets(tables: Any, word: Any, offsets: Any) -> Any:
    """Return the offsets of a word's parts, in a larger array if they do not fit."""
    start, stop = tables.starts[word], tables.starts[word + 1]
    if stop - start > len(offsets):
        offsets = np.empty(2 * (stop - start), dtype=np.int64)
    for k in range(start, stop):
        offsets[k - start] = np.int64(tables.parts[k]) * tables.width
        prefetch_row(tables.inputs, offsets[k - start], tables.width)
    return offsets


@compiled
def _copy_outputs(tables: Any, words: Any, n: Any, uses: Any, row: Any) -> None:
    """Copy the outputs that are used more than once."""
    width = tables.width
    for k in range(n):
        if uses[k] > 1:
            start, copy = np.int64(words[k]) * width, np.int64(row + k) * width
            for d in range(width):
                tables.outputs[copy + d] = tables.outputs[start + d]


@compiled
def _subtract_originals(rows: Any, originals: Any, n: Any) -> None:
    """Turn the first n values into their updates since the copy."""
    for d in range(n):
        rows[d] -= originals[d]


@compiled
def _subtract_outputs(tables: Any, words: Any, n: Any, uses: Any, row: Any) -> None:
    """Turn copies of outputs into their updates; rows of targets used once hold these already."""
    width = tables.width
    for k in range(n):
        if uses[k] > 1:
            start, copy = np.int64(words[k]) * width, np.int64(row + k) * width
            for d in range(width):
                tables.outputs[copy + d] -= tables.outputs[start + d]


@compiled
def _add_inputs(tables: Any, words: Any, n: Any, gains: Any, owned: Any) -> None:
    """Add the updates of composed inputs to those of their parts that this thread owns."""
    offset = np.empty(1, dtype=np.int64)
    for k in range(n):
        for part in tables.parts[tables.starts[words[k]] : tables.starts[words[k] + 1]]:
            if owned[part & (_OWNERS - 1)]:
                offset[0] = np.int64(part) * tables.width
                add_to_rows(tables.inputs, offset, 1, tables.width, gains, k * tables.width)


@compiled
def _add_shared_inputs(tables: Any, chunks: Any, c: Any) -> None:
    """Add the updates of all chunks, in order, to the inputs that this chunk is first to use."""
    width, slots = tables.width, chunks.slots[0]
    offset = np.empty(1, dtype=np.int64)
    for k in range(chunks.n_words[c, 0]):
        word = chunks.words[c, 0, k]
        if _is_first(slots, word, c):
            offset[0] = np.int64(word) * width
            for other in range(c, slots.shape[1]):
                if slots[word, other]:
                    place = (np.int64(slots[word, other]) - 1) * width
                    add_to_rows(tables.inputs, offset, 1, width, chunks.inputs[other], place)


@compiled
def _add_shared_outputs(tables: Any, chunks: Any, c: Any) -> None:
    """Add the updates of all chunks, in order, to the outputs that this chunk is first to use."""
    width, outputs, slots = tables.width, tables.outputs, chunks.slots[1]
    offset = np.empty(1, dtype=np.int64)
    for k in range(chunks.n_words[c, 1]):
        word = chunks.words[c, 1, k]
        if k + _AHEAD < chunks.n_words[c, 1]:
            prefetch_row(outputs, np.int64(chunks.words[c, 1, k + _AHEAD]) * width, width)
        if _is_first(slots, word, c):
            offset[0] = np.int64(word) * width
            for other in range(c, slots.shape[1]):
                if slots[word, other]:
                    row = _first_output_row(chunks, other) + np.int64(slots[word, other]) - 1
                    add_to_rows(outputs, offset, 1, width, outputs, row * width)


@compiled(inline="always")
def _is_first(slots: Any, word: Any, c: Any) -> Any:
    """Return whether no chunk before this one uses the word."""
    first = True
    for other in range(c):
        first &= slots[word, other] == 0
    return first
