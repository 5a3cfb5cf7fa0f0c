"""Rounds: drawing and learning put together, composed words, and the deterministic mode."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from embed.word2vec.kernel_settings import (
    Rounds,
    room_for_inputs,
    room_for_rounds,
    spare_rows,
)
from embed.word2vec.kernels import rounds as kernels
from embed.word2vec.kernels.barrier import wait_for_all
from embed.word2vec.kernels.windows import (
    Windows,
    draw_windows,
    learn_cbow,
    learn_skipgram,
    subsample,
)
from tests.embed.word2vec.naive_word2vec import Stream, composed_round, rounds, shards_round
from tests.embed.word2vec.word2vec_cases import (
    LENGTHS,
    LOSS_SHARE,
    METHODS,
    assert_tables_near,
    counts_of,
    doubles,
    filled_tables,
    in_place,
    laid_out,
    plan_of,
    room_for,
    rounding,
    twin_learner,
    twin_windows,
    zipf_units,
)

N_WORDS, N_BUCKETS = 40, 25
RATES = (0.004, 0.002)


def parts_of_words():
    """Each word with rows of its own and others': some repeated, one word with a single part."""
    rng = np.random.default_rng(6)
    parts = [[w, *(N_WORDS + rng.integers(0, N_BUCKETS, w % 7))] for w in range(N_WORDS)]
    return [[int(row) for row in rows] for rows in parts]


class Rows(list):
    """Each word with its own row alone, which the kernels take as no parts at all."""

    def __init__(self, n_words):
        super().__init__([w] for w in range(n_words))


ALONE = Rows(N_WORDS)


def kernel_tables(tables, parts):
    """Tables as kernels take them."""
    starts, flat = np.zeros(1, np.int64), np.empty(0, np.int32)
    if not isinstance(parts, Rows):
        starts = np.cumsum([0] + [len(rows) for rows in parts])
        flat = np.array([row for rows in parts for row in rows], dtype=np.int32)
    inputs, outputs = (table.reshape(-1) for table in tables)
    return kernels.Tables(inputs, outputs, tables[0].shape[1], starts, flat)


def train_chunk(tables, parts, units, plan, state=17):
    """Train by the kernel; loss, pairs and the state left behind."""
    states, loss = np.array([state], dtype=np.uint64), np.zeros(1)
    pairs = kernels.train_chunk(
        kernel_tables(tables, parts), kernels.Text(*laid_out(units)), plan, RATES, states,
        room_for_inputs(plan, N_WORDS, tables[0].shape[1]), loss,
    )  # fmt: skip
    return loss[0], pairs, int(states[0])


def learn_from_all(tables, units, plan, state=17):
    """Draw every window first, then learn DRAWN at a time; as :func:`train_chunk` gives it."""
    rows, offsets = laid_out(units)
    kept, kept_offsets = np.empty_like(rows), np.empty_like(offsets)
    states, loss, pairs = np.array([state], dtype=np.uint64), np.zeros(1), 0
    n, m = subsample(rows, offsets, plan.keep_limits, states, kept, kept_offsets)
    windows = draw_windows(
        kept[:n], kept_offsets[: m + 1], 0, n, plan.window, plan.dynamic, plan.noise_limits,
        plan.noise_others, states, room_for(n, plan.window, plan.negatives),
    )  # fmt: skip
    inputs, outputs = (table.reshape(-1) for table in tables)
    for first in range(0, n, kernels.DRAWN):
        some = Windows(*(array[first : first + kernels.DRAWN] for array in windows))
        rate = np.float32(RATES[0] + (RATES[1] - RATES[0]) * first / n)
        width, places = tables[0].shape[1], in_place(some)
        about = (inputs, outputs, width, some, places, rate, plan.labels, loss)
        if plan.method == kernels.SKIPGRAM:
            pairs += learn_skipgram(*about)
        else:
            pairs += learn_cbow(*about, plan.method == kernels.CBOW_MEAN)
    return loss[0], pairs, int(states[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lengths", [LENGTHS, (400,), (1, 1), (64,), (2,) * 70])
def test_a_chunk_is_drawn_and_learnt_to_the_bit(method, lengths):
    units = zipf_units(4, lengths)
    plan = plan_of(counts_of(units), method)
    one, other = (filled_tables(N_WORDS, N_WORDS, 20) for _ in range(2))
    assert train_chunk(one, ALONE, units, plan) == learn_from_all(other, units, plan)
    assert all(map(np.array_equal, one, other))


def test_a_chunk_of_which_nothing_is_kept_teaches_nothing():
    plan = plan_of(np.ones(N_WORDS, np.int64), subsample=0)
    plan = plan._replace(keep_limits=np.zeros(N_WORDS, np.uint64))
    tables = filled_tables(N_WORDS, N_WORDS, 20)
    assert train_chunk(tables, ALONE, [[1, 2, 3]], plan)[:2] == (0, 0)
    assert all(map(np.array_equal, tables, filled_tables(N_WORDS, N_WORDS, 20)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("window", [1, 5, 20])
def test_composed_inputs_are_means_of_their_parts_and_each_part_gains(method, window):
    units, parts = zipf_units(4), parts_of_words()
    plan = plan_of(counts_of(units), method, window=window)
    tables = filled_tables(N_WORDS + N_BUCKETS, N_WORDS, 20)
    expected = doubles(tables, 20)
    found = twin_windows(units, plan, 17, empty=True)
    wanted = [0.0, 0]
    for number, chunk in enumerate(rounds(found, kernels.DRAWN)):
        done = number * kernels.DRAWN / len(found)
        rate = RATES[0] + (RATES[1] - RATES[0]) * done
        result = composed_round(*expected, parts, chunk, twin_learner(plan, rate))
        wanted = np.add(wanted, result)

    loss, pairs, _ = train_chunk(tables, parts, units, plan)

    assert len(found) > 2 * kernels.DRAWN
    assert pairs == wanted[1]
    near = rounding(expected, found)
    assert loss == pytest.approx(wanted[0], rel=LOSS_SHARE)
    assert_tables_near(tables, expected, 20, near)
    for table, start in zip(expected, filled_tables(N_WORDS + N_BUCKETS, N_WORDS, 20), strict=True):
        assert np.abs(table - start[:-1, :20]).max() > 100 * near


def test_words_of_one_part_each_are_as_words_without_parts_but_for_rounding():
    units = zipf_units(4)
    plan = plan_of(counts_of(units))
    one, other = (filled_tables(N_WORDS, N_WORDS, 20) for _ in range(2))
    train_chunk(one, ALONE, units, plan)
    train_chunk(other, [*ALONE], units, plan)
    assert not np.array_equal(one[0], other[0])  # so that it was the other way that was taken
    for table, wanted in zip(one, other, strict=True):
        near = rounding([wanted], twin_windows(units, plan, 17))
        np.testing.assert_allclose(table, wanted, rtol=0, atol=near)


SHARD_LENGTHS = [LENGTHS, (300, 4), (1,), (40, 60, 80), (3, 1, 2)]
ROUND_WORDS = 50


def shard_units(n_shards, n_words=N_WORDS):
    """Units shard by shard; shards differ in length, one has nothing to learn from."""
    return [zipf_units(20 + s, SHARD_LENGTHS[s % 5], n_words) for s in range(n_shards)]


def plan_for(units, method="skipgram", **options):
    """How to learn from shards."""
    n_words = options.pop("n_words", N_WORDS)
    every = [unit for shard in units for unit in shard]
    return plan_of(counts_of(every, n_words), method, **options)


def tables_for(plan, n_shards=8, *, n_buckets=N_BUCKETS):
    """Chance tables, and rows for the shards behind the outputs, which hold no numbers."""
    n_words, spare = len(plan.keep_limits), spare_rows(plan, Rounds(n_shards, ROUND_WORDS))
    return filled_tables(n_words + n_buckets, n_words, 20, spare=spare)


def rows_of(tables, n_words=N_WORDS):
    """What was trained, without the rows that were worked with."""
    inputs, outputs = tables
    return [inputs, outputs[:n_words], outputs[-1]]


def shared_room(plan, units, n_shards, width):
    """Room for so many shards with this text."""
    rows, _ = laid_out([unit for shard in units for unit in shard])
    bounds = np.cumsum([0] + [len(shard) for shard in units])
    rounds = Rounds(n_shards, ROUND_WORDS)
    return room_for_rounds(plan, rounds, len(plan.keep_limits), width)._replace(
        bounds=bounds,
        kept=np.empty(len(rows), dtype=np.int32),
        kept_offsets=np.empty(bounds[-1] + n_shards, dtype=np.int64),
    )


def train_shards(tables, parts, units, plan, threads, *, room=None, offset=0):
    """Train by the kernel; losses and pairs of the shards, state by state."""
    n_shards = len(units)
    rows, offsets = laid_out([unit for shard in units for unit in shard])
    shards = room or shared_room(plan, units, n_shards, tables[0].shape[1])
    states = np.array([[100 + s] for s in range(n_shards)], dtype=np.uint64)
    losses, pairs = np.zeros((n_shards, 1)), np.zeros(n_shards, dtype=np.int64)
    arrivals = np.zeros(1, dtype=np.int64)
    taken = kernel_tables(tables, parts)

    def work(me):
        kernels.train_shards(
            taken, kernels.Text(rows, offsets + offset), plan, RATES, states, shards,
            (me, threads, arrivals, ROUND_WORDS), losses, pairs,
        )  # fmt: skip

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert not shards.slots.any()
    assert not shards.n_words.any()
    return losses[:, 0], pairs, states[:, 0]


def turns_of(units, plan, streams):
    """The windows of each round, shard by shard."""
    found = [
        rounds(twin_windows(shard, plan, stream, empty=True), ROUND_WORDS)
        for shard, stream in zip(units, streams, strict=True)
    ]
    n_turns = max(map(len, found))
    return [
        [chunks[turn] if turn < len(chunks) else [] for chunks in found] for turn in range(n_turns)
    ]


def assert_shards_learn_as_the_twin(units, plan, parts, *, n_buckets=N_BUCKETS):
    """Losses, pairs, states and both tables."""
    n_words, n_shards = len(plan.keep_limits), len(units)
    tables = tables_for(plan, n_shards, n_buckets=n_buckets)
    expected = doubles(tables, 20, n_words)
    streams = [Stream(100 + s) for s in range(n_shards)]
    turns = turns_of(units, plan, streams)
    wanted = np.zeros(n_shards), np.zeros(n_shards)
    for turn, chunks in enumerate(turns):
        rate = RATES[0] + (RATES[1] - RATES[0]) * turn / len(turns)
        for total, more in zip(
            wanted, shards_round(*expected, parts, chunks, twin_learner(plan, rate)), strict=True
        ):
            total += more

    losses, pairs, states = train_shards(tables, parts, units, plan, 1)

    assert len(turns) > 1
    assert pairs.tolist() == wanted[1].tolist()
    np.testing.assert_allclose(losses, wanted[0], rtol=LOSS_SHARE)
    assert states.tolist() == [stream.state for stream in streams]
    near = rounding(expected, [window for chunks in turns for chunk in chunks for window in chunk])
    assert_tables_near(tables, expected, 20, near)
    for table, start in zip(expected, tables_for(plan, n_shards, n_buckets=n_buckets), strict=True):
        assert np.abs(table - start[: len(table), :20]).max() > 100 * near


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parts", [ALONE, parts_of_words()], ids=["words", "subwords"])
@pytest.mark.parametrize("n_shards", [8, 1])
def test_shards_learn_from_copies_whose_gains_are_added_in_their_order(method, parts, n_shards):
    units = shard_units(n_shards)
    assert_shards_learn_as_the_twin(units, plan_for(units, method), parts)


def uses_of(chunk):
    """How often the targets of a shard's round are used: once, several times."""
    uses = Counter(word for w in chunk for word in (w.centre, *w.negatives))
    once = sum(n == 1 for n in uses.values())
    return once, len(uses) - once


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("negatives", [1, 5, 12])
@pytest.mark.parametrize(
    ("n_words", "several"), [(8, (0.85, 1)), (300, (0.05, 0.95)), (3000, (0, 0.15))]
)
def test_targets_used_once_and_targets_used_again_gain_the_same(
    method, negatives, n_words, several
):
    # of few words all come again; of many, drawn all alike, hardly one does
    rng = np.random.default_rng(7)
    units = [[rng.integers(0, n_words, 60).tolist()] for _ in range(3)]
    plan = plan_for(units, method, negatives=negatives, subsample=0, n_words=n_words)
    plan = plan._replace(noise_limits=np.full(n_words, 2**32 - 1, np.uint32))
    streams = [Stream(100 + s) for s in range(3)]
    used = np.sum(
        [uses_of(chunk) for chunks in turns_of(units, plan, streams) for chunk in chunks], axis=0
    )
    assert several[0] <= used[1] / used.sum() <= several[1]

    assert_shards_learn_as_the_twin(units, plan, Rows(n_words), n_buckets=0)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parts", [ALONE, parts_of_words()], ids=["words", "subwords"])
def test_the_bytes_do_not_depend_on_the_threads(method, parts):
    units = shard_units(8)
    plan = plan_for(units, method)
    first = None
    for threads in (1, 2, 3, 8, 2, 8):
        tables = tables_for(plan)
        losses, pairs, states = train_shards(tables, parts, units, plan, threads)
        found = [table.tobytes() for table in rows_of(tables)], losses.tolist(), pairs.tolist()
        found += (states.tolist(),)
        first = first or found
        assert found == first


def test_where_the_text_lies_in_its_array_does_not_matter():
    units = shard_units(3)
    plan = plan_for(units)
    one, other = (tables_for(plan, 3, n_buckets=0) for _ in range(2))
    train_shards(one, ALONE, units, plan, 2)
    train_shards(other, ALONE, units, plan, 2, offset=12345)
    assert all(map(np.array_equal, rows_of(one), rows_of(other)))


@pytest.mark.parametrize("method", METHODS)
def test_what_an_earlier_and_larger_group_left_behind_does_not_matter(method):
    # room is kept from group to group; the last one has fewer and shorter shards
    plan = plan_for(shard_units(8), method)
    used = tables_for(plan, n_buckets=0)
    room = shared_room(plan, shard_units(8), 8, 32)
    train_shards(used, ALONE, shard_units(8), plan, 1, room=room)
    fresh = tables_for(plan, n_buckets=0)
    for table, other in zip(rows_of(used), rows_of(fresh), strict=True):
        table[:] = other  # the rows that were worked with stay as they are
    few = [zipf_units(1, (120,)), zipf_units(2, (90,))]
    room = room._replace(bounds=np.array([0, 1, 2]))
    train_shards(used, ALONE, few, plan, 1, room=room)
    train_shards(fresh, ALONE, few, plan, 1)
    assert np.isfinite(used[1][N_WORDS : N_WORDS + 20]).all()
    assert all(map(np.array_equal, rows_of(used), rows_of(fresh)))


def test_rows_of_shards_that_have_nothing_to_learn_are_left_alone():
    units = [[[1, 2, 3] * 20], [[4]], []]
    plan = plan_for(units, subsample=0)
    tables = tables_for(plan, 3, n_buckets=0)
    _, pairs, _ = train_shards(tables, ALONE, units, plan, 2)
    assert pairs[0] > 0
    assert pairs[1:].tolist() == [0, 0]
    behind = N_WORDS + spare_rows(plan, Rounds(1, ROUND_WORDS))
    assert np.isnan(tables[1][behind:-1, :20]).all()


@pytest.mark.parametrize("threads", [1, 2, 5, 16])  # the last, more than most machines' cores
def test_nobody_passes_a_barrier_before_all_have_come(threads):
    counter, turns = np.zeros(1, dtype=np.int64), 50
    seen = np.zeros((threads, turns), dtype=np.int64)

    def work(me):
        for turn in range(1, turns + 1):
            wait_for_all(counter, turn * threads)
            seen[me, turn - 1] = counter[0]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert counter[0] == threads * turns
    assert (seen >= threads * np.arange(1, turns + 1)).all()


def test_a_thread_that_waits_long_sleeps():
    # one that looks all the time would take as much processor time as it waits, here a second
    counter, taken = np.zeros(1, dtype=np.int64), []

    def work():
        begun = time.thread_time()
        wait_for_all(counter, 2)
        taken.append(time.thread_time() - begun)

    wait_for_all(np.zeros(1, dtype=np.int64), 1)  # compiled
    thread = threading.Thread(target=work)
    thread.start()
    time.sleep(1)
    wait_for_all(counter, 2)
    thread.join()
    assert taken[0] < 0.5
