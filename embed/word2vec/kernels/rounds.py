"""Rounds of training: some windows are drawn and learnt from, until a chunk of text is done.

In the fast mode threads move shared tables without locks (Recht, Re, Wright and Niu 2011,
"Hogwild!"). In the deterministic mode a round gives each shard of the text private copies of the
rows that it touches, and what they gained is added to the tables in the order of the shards.

With subwords an input is the mean of several rows, its parts. Inputs are then private in both
modes: composed once a round, and what they gained is added to each of their parts, as fastText
does (Bojanowski, Grave, Joulin and Mikolov 2017).
"""

from typing import Any, NamedTuple

import numpy as np

from corpora.common.jit import compiled
from embed.word2vec.kernels.barrier import wait_for_all
from embed.word2vec.kernels.simd import add_to_rows, prefetch_row, sum_rows
from embed.word2vec.kernels.windows import (
    Places,
    Windows,
    draw_windows,
    learn_cbow,
    learn_skipgram,
    subsample,
)

SKIPGRAM, CBOW_MEAN, CBOW_SUM = range(3)
DRAWN = 64  # windows drawn at a time in the fast mode: their words stay in the first cache

_AHEAD = 4  # rows between prefetch and use
_OWNERS = (
    256  # whose row it is follows from its number modulo this: a mask is quick, a division not
)


class Tables(NamedTuple):
    """What is trained: flat float32 arrays, a row every ``width`` floats, a row of zeros last.

    Input w of V is the mean of the rows ``parts[starts[w]:starts[w + 1]]`` (int32) of
    ``inputs``; ``parts`` is empty where each word has its own row alone.
    """

    inputs: Any
    outputs: Any
    width: Any
    starts: Any
    parts: Any


class Text(NamedTuple):
    """A chunk of text: rows of words, int32, and where its units begin, int64, in some array."""

    rows: Any
    offsets: Any


class Plan(NamedTuple):
    """How windows are drawn and learnt from; limits as :mod:`embed.word2vec.noise` makes them."""

    method: Any
    window: Any
    dynamic: Any
    negatives: Any
    keep_limits: Any
    noise_limits: Any
    noise_others: Any
    labels: Any


class Copies(NamedTuple):
    """A thread's private inputs, for words that are composed of parts.

    ``slots`` int32 (V, 1): 1 + the number of a word's copy, 0 where it has none. ``words`` int32
    lists the copies. ``rows`` and ``before`` are flat float32 arrays as those of
    :class:`Tables`.
    """

    slots: Any
    words: Any
    rows: Any
    before: Any


class Shards(NamedTuple):
    """What the threads of the deterministic mode share; S shards.

    ``bounds`` int64 (S + 1,): the units of shard s are ``bounds[s]`` to ``bounds[s + 1] - 1``.
    ``kept`` int32 (n,), ``kept_offsets`` int64 (m + S,), ``n_kept`` int64 (S, 2): the text
    after subsampling. ``words`` int32 (S, 2, W), ``n_words`` int64 (S, 2): which inputs and
    outputs have private rows. Those of inputs are ``inputs`` and ``before``, float32 (S, ...);
    those of outputs are W rows a shard of the table itself, from row ``first_row`` on.
    ``slots`` uint16 (2, V, S): 1 + the number of the private row of a word in a shard, 0 where it
    has none; a line of it tells who shares a word.
    """

    bounds: Any
    kept: Any
    kept_offsets: Any
    n_kept: Any
    words: Any
    n_words: Any
    inputs: Any
    before: Any
    first_row: Any
    slots: Any


@compiled
def train_chunk(
    tables: Any, text: Any, plan: Any, rates: Any, state: Any, copies: Any, loss: Any
) -> Any:
    """Train on one chunk of text, the fast way."""
    # state: uint64 (1,); loss: float64 (1,)
    inputs, outputs, width = tables.inputs, tables.outputs, tables.width
    kept = np.empty(len(text.rows), dtype=np.int32)
    offsets = np.empty(len(text.offsets), dtype=np.int64)
    n_kept, n_units = subsample(text.rows, text.offsets, plan.keep_limits, state, kept, offsets)
    windows, shares = _room(plan, DRAWN)
    shares[:] = 1
    places = Places(windows.targets, shares)
    every = np.ones(_OWNERS, dtype=np.bool_)
    pairs = 0
    for first in range(0, n_kept, DRAWN):
        last = min(first + DRAWN, n_kept)
        drawn = _draw(plan, kept[:n_kept], offsets[: n_units + 1], first, last, state, windows)
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * first / n_kept)
        if len(tables.parts) == 0:
            pairs += _learn(plan, inputs, outputs, width, drawn, places, rate, loss)
            continue
        n = _number_inputs(drawn, copies.slots, 0, copies.words)
        _copy_inputs(tables, copies.words, n, copies.rows, copies.before)
        _free(copies.words, n, copies.slots, 0)
        pairs += _learn(plan, copies.rows, outputs, width, drawn, places, rate, loss)
        _subtract(copies.rows, copies.before, n * width)
        _add_inputs(tables, copies.words, n, copies.rows, every)
    return pairs


@compiled
def train_shards(
    tables: Any, text: Any, plan: Any, rates: Any, states: Any, shards: Any, worker: Any,
    losses: Any, pairs: Any,
) -> None:  # fmt: skip
    """Train on some shards of text, round after round, as one of several threads.

    The bytes do not depend on how many threads there are.
    """
    # states: uint64 (S, 1); losses, pairs: float64 (S, 1), int64 (S,)
    me, threads, arrivals, round_words = worker
    width, n_shards = tables.width, len(shards.bounds) - 1
    _subsample_shards(text, plan, states, shards, me, threads)
    barriers = 1
    wait_for_all(arrivals, barriers * threads)
    n_rounds = (shards.n_kept[:n_shards, 0].max() + round_words - 1) // round_words
    windows, shares = _room(plan, round_words)
    places = Places(np.empty_like(windows.targets), shares)
    uses = np.empty(shards.words.shape[2], dtype=np.int32)
    mine = np.arange(_OWNERS) % threads == me
    composed = len(tables.parts) > 0
    for turn in range(n_rounds):
        rate = np.float32(rates[0] + (rates[1] - rates[0]) * turn / n_rounds)
        for s in range(me, n_shards, threads):
            _free_shard(shards, s)
            words, n_words = shards.words[s], shards.n_words[s]
            first = turn * round_words
            last = min(first + round_words, shards.n_kept[s, 0])
            if first >= last:
                continue
            kept, offsets = _kept_of(text, shards, s)
            drawn = _draw(plan, kept, offsets, first, last, states[s], windows)
            row = _first_row(shards, s)
            n_words[0] = _number_inputs(drawn, shards.slots[0], s, words[0])
            n_words[1] = _number_outputs(drawn, row, shards.slots[1], s, words[1], uses, places)
            _copy_inputs(tables, words[0], n_words[0], shards.inputs[s], shards.before[s])
            _copy_outputs(tables, words[1], n_words[1], uses, row)
            pairs[s] += _learn(
                plan, shards.inputs[s], tables.outputs, width, drawn, places, rate, losses[s]
            )
            _subtract(shards.inputs[s], shards.before[s], n_words[0] * width)
            _subtract_outputs(tables, words[1], n_words[1], uses, row)
        barriers += 1
        wait_for_all(arrivals, barriers * threads)
        if composed:
            for s in range(n_shards):
                n = shards.n_words[s, 0]
                _add_inputs(tables, shards.words[s, 0], n, shards.inputs[s], mine)
        for s in range(me, n_shards, threads):
            if not composed:
                _add_shared_inputs(tables, shards, s)
            _add_shared_outputs(tables, shards, s)
        barriers += 1
        wait_for_all(arrivals, barriers * threads)
    for s in range(me, n_shards, threads):
        _free_shard(shards, s)


@compiled
def _subsample_shards(
    text: Any, plan: Any, states: Any, shards: Any, me: Any, threads: Any
) -> None:
    """Subsample this thread's shards."""
    for s in range(me, len(shards.bounds) - 1, threads):
        first, last = shards.bounds[s], shards.bounds[s + 1]
        start, stop = text.offsets[first] - text.offsets[0], text.offsets[last] - text.offsets[0]
        n_kept, n_units = subsample(
            text.rows[start:stop], text.offsets[first : last + 1], plan.keep_limits, states[s],
            shards.kept[start:stop], shards.kept_offsets[first + s : last + s + 1],
        )  # fmt: skip
        shards.n_kept[s, 0] = n_kept
        shards.n_kept[s, 1] = n_units


@compiled
def _kept_of(text: Any, shards: Any, s: Any) -> Any:
    """The subsampled text of a shard."""
    first = shards.bounds[s]
    start = text.offsets[first] - text.offsets[0]
    kept = shards.kept[start : start + shards.n_kept[s, 0]]
    return kept, shards.kept_offsets[first + s : first + s + shards.n_kept[s, 1] + 1]


@compiled
def _room(plan: Any, n: Any) -> Any:
    """Room for n windows, and a share for each of their targets."""
    contexts = np.empty((n, 2 * plan.window), dtype=np.int32)
    targets = np.empty((n, 1 + plan.negatives), dtype=np.int32)
    shares = np.empty((n, 1 + plan.negatives), dtype=np.float32)
    return Windows(contexts, np.empty(n, dtype=np.int64), targets), shares


@compiled
def _draw(
    plan: Any, kept: Any, offsets: Any, first: Any, last: Any, state: Any, windows: Any
) -> Any:
    """Draw the windows of some centers."""
    return draw_windows(
        kept, offsets, first, last, plan.window, plan.dynamic, plan.noise_limits,
        plan.noise_others, state, windows,
    )  # fmt: skip


@compiled
def _learn(
    plan: Any, inputs: Any, outputs: Any, width: Any, drawn: Any, places: Any, rate: Any,
    loss: Any,
) -> Any:  # fmt: skip
    """Learn from the windows drawn, by the method asked for."""
    if plan.method == SKIPGRAM:
        return learn_skipgram(inputs, outputs, width, drawn, places, rate, plan.labels, loss)
    return learn_cbow(
        inputs, outputs, width, drawn, places, rate, plan.labels, loss, plan.method == CBOW_MEAN
    )


@compiled
def _number_inputs(drawn: Any, slots: Any, s: Any, words: Any) -> Any:
    """Put in the place of each context word the number of its copy; list the words."""
    n = 0
    for w in range(len(drawn.sizes)):
        for k in range(drawn.sizes[w]):
            word = drawn.contexts[w, k]
            if slots[word, s] == 0:
                words[n] = word
                n += 1
                slots[word, s] = n
            drawn.contexts[w, k] = np.int64(slots[word, s]) - 1
    return n


@compiled
def _number_outputs(
    drawn: Any, row: Any, slots: Any, s: Any, words: Any, uses: Any, places: Any
) -> Any:
    """Give each target a private row, from ``row`` on; list the words, and how often each is used.

    A target that is used once is read where it is, and what it gains goes to its private row;
    most negatives are. One that is used again must see what it gained: it is read from a copy.
    """
    n = 0
    for w in range(len(drawn.sizes)):
        for m in range(drawn.targets.shape[1] if drawn.sizes[w] else 0):
            word = drawn.targets[w, m]
            if slots[word, s] == 0:
                words[n] = word
                uses[n] = 0
                n += 1
                slots[word, s] = n
            slot = np.int64(slots[word, s]) - 1
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
def _free(words: Any, n: Any, slots: Any, s: Any) -> None:
    """Free the slots of n words."""
    for k in range(n):
        slots[words[k], s] = 0


@compiled
def _free_shard(shards: Any, s: Any) -> None:
    """Free the slots of a shard: no other thread looks at them any more."""
    for table in range(2):
        _free(shards.words[s, table], shards.n_words[s, table], shards.slots[table], s)
        shards.n_words[s, table] = 0


@compiled
def _first_row(shards: Any, s: Any) -> Any:
    """Where the private outputs of a shard begin."""
    return shards.first_row + s * shards.words.shape[2]


@compiled
def _copy_inputs(tables: Any, words: Any, n: Any, rows: Any, before: Any) -> None:
    """Copy, or compose, inputs."""
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
            offsets = _offsets_of(tables, word, offsets)
            size = starts[word + 1] - starts[word]
        share = np.float32(1 / size)
        sum_rows(tables.inputs, offsets, size, width, share, rows, k * width)
    before[: n * width] = rows[: n * width]


@compiled
def _offsets_of(tables: Any, word: Any, offsets: Any) -> Any:
    """Where the parts of a word begin; room is made if there is too little."""
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
def _subtract(rows: Any, before: Any, n: Any) -> None:
    """What the first n numbers gained."""
    for d in range(n):
        rows[d] -= before[d]


@compiled
def _subtract_outputs(tables: Any, words: Any, n: Any, uses: Any, row: Any) -> None:
    """What the copies of outputs gained; the others' rows hold that already."""
    width = tables.width
    for k in range(n):
        if uses[k] > 1:
            start, copy = np.int64(words[k]) * width, np.int64(row + k) * width
            for d in range(width):
                tables.outputs[copy + d] -= tables.outputs[start + d]


@compiled
def _add_inputs(tables: Any, words: Any, n: Any, gains: Any, mine: Any) -> None:
    """Add what composed copies gained to each of their parts that is this thread's."""
    offset = np.empty(1, dtype=np.int64)
    for k in range(n):
        for part in tables.parts[tables.starts[words[k]] : tables.starts[words[k] + 1]]:
            if mine[part & (_OWNERS - 1)]:
                offset[0] = np.int64(part) * tables.width
                add_to_rows(tables.inputs, offset, 1, tables.width, gains, k * tables.width)


@compiled
def _add_shared_inputs(tables: Any, shards: Any, s: Any) -> None:
    """Add all shards' gains, in order, to the inputs that this shard is the first to have."""
    width, slots = tables.width, shards.slots[0]
    offset = np.empty(1, dtype=np.int64)
    for k in range(shards.n_words[s, 0]):
        word = shards.words[s, 0, k]
        if _is_first(slots, word, s):
            offset[0] = np.int64(word) * width
            for other in range(s, slots.shape[1]):
                if slots[word, other]:
                    place = (np.int64(slots[word, other]) - 1) * width
                    add_to_rows(tables.inputs, offset, 1, width, shards.inputs[other], place)


@compiled
def _add_shared_outputs(tables: Any, shards: Any, s: Any) -> None:
    """Add all shards' gains, in order, to the outputs that this shard is the first to have."""
    width, outputs, slots = tables.width, tables.outputs, shards.slots[1]
    offset = np.empty(1, dtype=np.int64)
    for k in range(shards.n_words[s, 1]):
        word = shards.words[s, 1, k]
        if k + _AHEAD < shards.n_words[s, 1]:
            prefetch_row(outputs, np.int64(shards.words[s, 1, k + _AHEAD]) * width, width)
        if _is_first(slots, word, s):
            offset[0] = np.int64(word) * width
            for other in range(s, slots.shape[1]):
                if slots[word, other]:
                    row = _first_row(shards, other) + np.int64(slots[word, other]) - 1
                    add_to_rows(outputs, offset, 1, width, outputs, row * width)


@compiled(inline="always")
def _is_first(slots: Any, word: Any, s: Any) -> Any:
    """Whether no shard before this one has the word."""
    first = True
    for other in range(s):
        first &= slots[word, other] == 0
    return first
