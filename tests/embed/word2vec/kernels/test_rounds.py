"""Rounds: drawing and learning combined, composed words, and the deterministic mode."""

import threading
import time
from collections import Counter
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from firth.embed.word2vec.kernel_settings import (
    Rounds,
    allocate_chunks,
    allocate_copies,
    spare_rows,
)
from firth.embed.word2vec.kernels import rounds as kernels
from firth.embed.word2vec.kernels.barrier import wait_for_all
from firth.embed.word2vec.kernels.windows import (
    WindowBatch,
    draw_windows,
    subsample,
)
from tests.embed.word2vec.naive_word2vec import Stream, composed_round, lockstep_round, rounds
from tests.embed.word2vec.word2vec_cases import (
    LENGTHS,
    LOSS_SHARE,
    METHODS,
    allocate_windows,
    as_float64,
    assert_tables_near,
    concatenated,
    counts_of,
    learn,
    plan_of,
    random_tables,
    rounding,
    twin_learner,
    twin_windows,
    zipf_units,
)

N_WORDS, N_BUCKETS = 40, 25
RATES = (0.004, 0.002)


def parts_of_words():
    """Give each word its own row and some of others: some repeated, one word with a single part."""
    rng = np.random.default_rng(6)
    parts = [[w, *(N_WORDS + rng.integers(0, N_BUCKETS, w % 7))] for w in range(N_WORDS)]
    return [[int(row) for row in rows] for rows in parts]


class OwnRows(list):
    """Each word with only its own row; the kernels get empty parts."""

    def __init__(self, n_words):
        super().__init__([w] for w in range(n_words))


OWN_ROWS = OwnRows(N_WORDS)


def kernel_tables(tables, parts):
    """Return tables in the form of the kernels."""
    starts, flat = np.zeros(1, np.int64), np.empty(0, np.int32)
    if not isinstance(parts, OwnRows):
        starts = np.cumsum([0] + [len(rows) for rows in parts])
        flat = np.array([row for rows in parts for row in rows], dtype=np.int32)
    inputs, outputs = (table.reshape(-1) for table in tables)
    return kernels.FlatTables(inputs, outputs, tables[0].shape[1], starts, flat)


def train_chunk(tables, parts, units, plan, state=17):
    """Train with the kernel; return loss, pairs and the final random state."""
    states, loss = np.array([state], dtype=np.uint64), np.zeros(1)
    pairs = kernels.train_chunk(
        kernel_tables(tables, parts), kernels.TokenText(*concatenated(units)), plan, RATES, states,
        allocate_copies(plan, N_WORDS, tables[0].shape[1]), loss,
    )  # fmt: skip
    return loss[0], pairs, int(states[0])


def learn_from_all(tables, units, plan, state=17):
    """Draw all windows, then learn DRAWN at a time; return the same as :func:`train_chunk`."""
    rows, offsets = concatenated(units)
    kept, kept_offsets = np.empty_like(rows), np.empty_like(offsets)
    states, loss, pairs = np.array([state], dtype=np.uint64), np.zeros(1), 0
    n, m = subsample(rows, offsets, plan.keep_limits, states, kept, kept_offsets)
    room = allocate_windows(n, plan.window, plan.negatives)
    windows = draw_windows(plan, kept[:n], kept_offsets[: m + 1], 0, n, states, room)
    for first in range(0, n, kernels.DRAWN):
        some = WindowBatch(*(array[first : first + kernels.DRAWN] for array in windows))
        rate = RATES[0] + (RATES[1] - RATES[0]) * first / n
        pairs += learn(tables, plan, some, rate, loss=loss)[1]
    return loss[0], pairs, int(states[0])


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("lengths", [LENGTHS, (400,), (1, 1), (64,), (2,) * 70])
def test_training_a_chunk_is_bit_identical_to_drawing_first_and_learning_then(method, lengths):
    units = zipf_units(4, lengths)
    plan = plan_of(counts_of(units), method)
    one, other = (random_tables(N_WORDS, N_WORDS, 20) for _ in range(2))
    assert train_chunk(one, OWN_ROWS, units, plan) == learn_from_all(other, units, plan)
    assert all(map(np.array_equal, one, other))


def test_a_chunk_whose_words_are_all_dropped_changes_nothing():
    plan = plan_of(np.ones(N_WORDS, np.int64), subsample=0)
    plan = plan._replace(keep_limits=np.zeros(N_WORDS, np.uint64))
    tables = random_tables(N_WORDS, N_WORDS, 20)
    assert train_chunk(tables, OWN_ROWS, [[1, 2, 3]], plan)[:2] == (0, 0)
    assert all(map(np.array_equal, tables, random_tables(N_WORDS, N_WORDS, 20)))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("window", [1, 5, 20, "all"])
def test_composed_inputs_are_means_of_their_parts_and_all_parts_are_updated(method, window):
    units, parts = zipf_units(4), parts_of_words()
    plan = plan_of(counts_of(units), method, window=window)
    tables = random_tables(N_WORDS + N_BUCKETS, N_WORDS, 20)
    expected = as_float64(tables, 20)
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
    tolerance = rounding(expected, found)
    assert loss == pytest.approx(wanted[0], rel=LOSS_SHARE)
    assert_tables_near(tables, expected, 20, tolerance)
    for table, start in zip(expected, random_tables(N_WORDS + N_BUCKETS, N_WORDS, 20), strict=True):
        assert np.abs(table - start[:-1, :20]).max() > 100 * tolerance


def test_words_of_one_part_match_words_without_parts_up_to_rounding():
    units = zipf_units(4)
    plan = plan_of(counts_of(units))
    one, other = (random_tables(N_WORDS, N_WORDS, 20) for _ in range(2))
    train_chunk(one, OWN_ROWS, units, plan)
    train_chunk(other, [*OWN_ROWS], units, plan)
    assert not np.array_equal(one[0], other[0])  # proves that the other code path was taken
    for table, wanted in zip(one, other, strict=True):
        tolerance = rounding([wanted], twin_windows(units, plan, 17))
        np.testing.assert_allclose(table, wanted, rtol=0, atol=tolerance)


CHUNK_LENGTHS = [LENGTHS, (300, 4), (1,), (40, 60, 80), (3, 1, 2)]
ROUND_WORDS = 50


def chunk_units(n_chunks, n_words=N_WORDS):
    """Return units of chunks of different lengths; one chunk has nothing to learn from."""
    return [zipf_units(20 + s, CHUNK_LENGTHS[s % 5], n_words) for s in range(n_chunks)]


def plan_for(units, method="skipgram", **options):
    """Return the plan for the units of some chunks."""
    n_words = options.pop("n_words", N_WORDS)
    every = [unit for shard in units for unit in shard]
    return plan_of(counts_of(every, n_words), method, **options)


def tables_for(plan, n_chunks=8, *, n_buckets=N_BUCKETS):
    """Return random tables, with NaN in the work rows behind the outputs."""
    n_words, spare = len(plan.keep_limits), spare_rows(plan, Rounds(n_chunks, ROUND_WORDS))
    return random_tables(n_words + n_buckets, n_words, 20, spare=spare)


def rows_of(tables, n_words=N_WORDS):
    """Return what is trained, without the work rows."""
    inputs, outputs = tables
    return [inputs, outputs[:n_words], outputs[-1]]


def allocate_for(plan, units, n_chunks, width):
    """Allocate the state of some chunks with this text."""
    rows, _ = concatenated([unit for shard in units for unit in shard])
    bounds = np.cumsum([0] + [len(shard) for shard in units])
    rounds = Rounds(n_chunks, ROUND_WORDS)
    return allocate_chunks(plan, rounds, len(plan.keep_limits), width)._replace(
        bounds=bounds,
        kept=np.empty(len(rows), dtype=np.int32),
        kept_offsets=np.empty(bounds[-1] + n_chunks, dtype=np.int64),
    )


def train_lockstep(tables, parts, units, plan, threads, *, buffers=None, offset=0):
    """Train with the kernel; return losses, pairs and final random states of the chunks."""
    n_chunks = len(units)
    rows, offsets = concatenated([unit for shard in units for unit in shard])
    lockstep = buffers or allocate_for(plan, units, n_chunks, tables[0].shape[1])
    states = np.array([[100 + s] for s in range(n_chunks)], dtype=np.uint64)
    losses, pairs = np.zeros((n_chunks, 1)), np.zeros(n_chunks, dtype=np.int64)
    arrivals = np.zeros(1, dtype=np.int64)
    taken = kernel_tables(tables, parts)

    def work(thread_number):
        kernels.train_lockstep(
            taken, kernels.TokenText(rows, offsets + offset), plan, RATES, states, lockstep,
            (thread_number, threads, arrivals, ROUND_WORDS), losses, pairs,
        )  # fmt: skip

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert not lockstep.slots.any()
    assert not lockstep.n_words.any()
    return losses[:, 0], pairs, states[:, 0]


def windows_by_round(units, plan, streams):
    """Return the windows of each round, by chunk."""
    found = [
        rounds(twin_windows(shard, plan, stream, empty=True), ROUND_WORDS)
        for shard, stream in zip(units, streams, strict=True)
    ]
    n_rounds = max(map(len, found))
    return [[chunks[r] if r < len(chunks) else [] for chunks in found] for r in range(n_rounds)]


def assert_lockstep_matches_the_twin(units, plan, parts, *, n_buckets=N_BUCKETS):
    """Compare losses, pairs, random states and both tables."""
    n_words, n_chunks = len(plan.keep_limits), len(units)
    tables = tables_for(plan, n_chunks, n_buckets=n_buckets)
    expected = as_float64(tables, 20, n_words)
    streams = [Stream(100 + s) for s in range(n_chunks)]
    all_rounds = windows_by_round(units, plan, streams)
    wanted = np.zeros(n_chunks), np.zeros(n_chunks)
    for r, chunks in enumerate(all_rounds):
        rate = RATES[0] + (RATES[1] - RATES[0]) * r / len(all_rounds)
        for total, more in zip(
            wanted, lockstep_round(*expected, parts, chunks, twin_learner(plan, rate)), strict=True
        ):
            total += more

    losses, pairs, states = train_lockstep(tables, parts, units, plan, 1)

    assert len(all_rounds) > 1
    assert pairs.tolist() == wanted[1].tolist()
    np.testing.assert_allclose(losses, wanted[0], rtol=LOSS_SHARE)
    assert states.tolist() == [stream.state for stream in streams]
    tolerance = rounding(
        expected, [window for chunks in all_rounds for chunk in chunks for window in chunk]
    )
    assert_tables_near(tables, expected, 20, tolerance)
    for table, start in zip(expected, tables_for(plan, n_chunks, n_buckets=n_buckets), strict=True):
        assert np.abs(table - start[: len(table), :20]).max() > 100 * tolerance


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parts", [OWN_ROWS, parts_of_words()], ids=["words", "subwords"])
@pytest.mark.parametrize(("n_chunks", "window"), [(8, 5), (1, 5), (8, "all")])
def test_chunks_learn_from_copies_whose_updates_are_added_in_order(method, parts, n_chunks, window):
    units = chunk_units(n_chunks)
    assert_lockstep_matches_the_twin(units, plan_for(units, method, window=window), parts)


def uses_of(chunk):
    """Count the targets of a chunk's round that are used once, and those used several times."""
    uses = Counter(word for w in chunk for word in (w.center, *w.negatives))
    once = sum(n == 1 for n in uses.values())
    return once, len(uses) - once


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("negatives", [1, 5, 12])
@pytest.mark.parametrize(
    ("n_words", "several"), [(8, (0.85, 1)), (300, (0.05, 0.95)), (3000, (0, 0.15))]
)
def test_targets_used_once_and_several_times_get_the_same_updates(
    method, negatives, n_words, several
):
    # with few words all are repeated; with many, drawn uniformly, hardly any
    rng = np.random.default_rng(7)
    units = [[rng.integers(0, n_words, 60).tolist()] for _ in range(3)]
    plan = plan_for(units, method, negatives=negatives, subsample=0, n_words=n_words)
    plan = plan._replace(noise_limits=np.full(n_words, 2**32 - 1, np.uint32))
    streams = [Stream(100 + s) for s in range(3)]
    used = np.sum(
        [uses_of(chunk) for chunks in windows_by_round(units, plan, streams) for chunk in chunks],
        axis=0,
    )
    assert several[0] <= used[1] / used.sum() <= several[1]

    assert_lockstep_matches_the_twin(units, plan, OwnRows(n_words), n_buckets=0)


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("parts", [OWN_ROWS, parts_of_words()], ids=["words", "subwords"])
def test_the_bytes_do_not_depend_on_the_threads(method, parts):
    units = chunk_units(8)
    plan = plan_for(units, method)
    first = None
    for threads in (1, 2, 3, 8, 2, 8):
        tables = tables_for(plan)
        losses, pairs, states = train_lockstep(tables, parts, units, plan, threads)
        found = [table.tobytes() for table in rows_of(tables)], losses.tolist(), pairs.tolist()
        found += (states.tolist(),)
        first = first or found
        assert found == first


def test_offsets_may_start_above_zero():
    units = chunk_units(3)
    plan = plan_for(units)
    one, other = (tables_for(plan, 3, n_buckets=0) for _ in range(2))
    train_lockstep(one, OWN_ROWS, units, plan, 2)
    train_lockstep(other, OWN_ROWS, units, plan, 2, offset=12345)
    assert all(map(np.array_equal, rows_of(one), rows_of(other)))


@pytest.mark.parametrize("method", METHODS)
def test_buffers_of_a_larger_batch_can_be_reused(method):
    # the last batch of a shard has fewer and shorter chunks
    plan = plan_for(chunk_units(8), method)
    used = tables_for(plan, n_buckets=0)
    buffers = allocate_for(plan, chunk_units(8), 8, 32)
    train_lockstep(used, OWN_ROWS, chunk_units(8), plan, 1, buffers=buffers)
    fresh = tables_for(plan, n_buckets=0)
    for table, other in zip(rows_of(used), rows_of(fresh), strict=True):
        table[:] = other  # the work rows keep their values
    few = [zipf_units(1, (120,)), zipf_units(2, (90,))]
    buffers = buffers._replace(bounds=np.array([0, 1, 2]))
    train_lockstep(used, OWN_ROWS, few, plan, 1, buffers=buffers)
    train_lockstep(fresh, OWN_ROWS, few, plan, 1)
    assert np.isfinite(used[1][N_WORDS : N_WORDS + 20]).all()
    assert all(map(np.array_equal, rows_of(used), rows_of(fresh)))


def test_work_rows_of_chunks_without_pairs_are_not_touched():
    units = [[[1, 2, 3] * 20], [[4]], []]
    plan = plan_for(units, subsample=0)
    tables = tables_for(plan, 3, n_buckets=0)
    _, pairs, _ = train_lockstep(tables, OWN_ROWS, units, plan, 2)
    assert pairs[0] > 0
    assert pairs[1:].tolist() == [0, 0]
    behind = N_WORDS + spare_rows(plan, Rounds(1, ROUND_WORDS))
    assert np.isnan(tables[1][behind:-1, :20]).all()


@pytest.mark.parametrize("threads", [1, 2, 5, 16])  # the last, more than most machines' cores
def test_no_thread_passes_a_barrier_before_all_have_arrived(threads):
    counter, all_rounds = np.zeros(1, dtype=np.int64), 50
    seen = np.zeros((threads, all_rounds), dtype=np.int64)

    def work(thread_number):
        for r in range(1, all_rounds + 1):
            wait_for_all(counter, r * threads)
            seen[thread_number, r - 1] = counter[0]

    with ThreadPoolExecutor(threads) as pool:
        list(pool.map(work, range(threads)))
    assert counter[0] == threads * all_rounds
    assert (seen >= threads * np.arange(1, all_rounds + 1)).all()


@pytest.mark.slow
def test_a_thread_that_waits_long_sleeps():
    # a spinning thread would use as much processor time as it waits, here a second
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
