"""Chunks and batches: every token once per epoch, whole units; rates and random numbers."""

import itertools

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.word2vec.schedule import (
    batches,
    cut_chunks,
    held_out_state,
    learning_rate,
    random_state,
)
from firth.embed.word2vec.training_text import TrainingText
from tests.embed.small_corpus import SmallView


def text_of(n_units, seed=1, units_per_shard=17):
    """Return a text in which every word occurs once, so that a row identifies a token."""
    lengths = np.random.default_rng(seed).integers(1, 9, n_units)
    names = (f"w{n}" for n in itertools.count())
    units = [list(itertools.islice(names, int(length))) for length in lengths]
    view = SmallView(units, units_per_shard=units_per_shard)
    return TrainingText(view, view.words, view.counts)


def units_of(text):
    """Return the rows of every unit."""
    return [
        rows[first:last].tolist()
        for rows, offsets in text.shards()
        for first, last in itertools.pairwise(offsets)
    ]


def units_in(batch):
    """Return the rows of every unit, chunk by chunk."""
    found = []
    for p in range(len(batch)):
        rows, offsets = batch.chunk(p)
        inside = offsets - offsets[0]
        assert inside[-1] == len(rows)
        found += [rows[a:b].tolist() for a, b in itertools.pairwise(inside)]
    return found


@given(
    st.lists(st.integers(1, 30), max_size=40),
    st.integers(1, 50),
)
def test_chunks_are_whole_units_and_neither_empty_nor_too_long(lengths, size):
    offsets = np.cumsum([0, *lengths])
    bounds = cut_chunks(offsets, size)
    if not lengths:
        assert bounds.tolist() == [0]
        return
    assert (bounds[0], bounds[-1]) == (0, len(lengths))
    assert (np.diff(bounds) > 0).all()
    for first, last in itertools.pairwise(bounds.tolist()):
        tokens = offsets[last] - offsets[first]
        assert tokens < size + max(
            lengths[first:last]
        )  # without its last unit it is not longer than size
        if last < len(lengths):
            assert tokens > size - max(lengths[:last])


def test_chunks_worked_by_hand():
    # marks at 0, 10, 20, 30; units begin at 0, 4, 8, 12, 33
    assert cut_chunks(np.array([0, 4, 8, 12, 33, 35]), 10).tolist() == [0, 3, 4, 5]


@pytest.mark.parametrize("size", [1, 3, 8, 1000])
def test_every_token_is_in_one_chunk_per_epoch_in_order(size):
    text = text_of(100)
    for epoch in range(3):
        found = list(batches(text, epoch, size, 0, 13))
        assert [unit for batch in found for unit in units_in(batch)] == units_of(text)
        numbers = [batch.number + p for batch in found for p in range(len(batch))]
        assert numbers == list(range(len(numbers)))
        assert max(map(len, found)) <= size
        assert {batch.epoch for batch in found} == {epoch}


def test_batches_count_the_tokens_before_them():
    text = text_of(60)
    done = 0
    for batch in [batch for epoch in (0, 1) for batch in batches(text, epoch, 4, 0, 13)]:
        assert batch.tokens_before(0) == batch.before == done
        for p in range(len(batch)):
            assert batch.tokens_before(p) == done
            done += len(batch.chunk(p)[0])
        assert batch.tokens_before(len(batch)) == done
        assert batch.n_tokens == done - batch.before
    assert done == 2 * text.n_tokens


def identity(batch):
    """Return what distinguishes a batch from all others."""
    return batch.epoch, batch.number, batch.before, units_in(batch)


def test_batches_from_any_start_are_the_remaining_ones():
    text = text_of(60)
    whole = [identity(batch) for batch in batches(text, 2, 4, 0, 13)]
    for n, (_, number, _, _) in enumerate(whole):
        assert [identity(g) for g in batches(text, 2, 4, number, 13)] == whole[n:]
    after = len(list(batches(text, 2, 1, 0, 13)))
    assert list(batches(text, 2, 4, after, 13)) == []


@pytest.mark.parametrize(("before", "now"), [(4, 8), (8, 4), (3, 100), (2, 7)])
def test_no_token_is_lost_if_a_training_resumes_with_another_batch_size(before, now):
    # as on a machine with more cores
    text = text_of(60)
    first = list(itertools.islice(batches(text, 0, before, 0, 13), 3))
    end = first[-1].number + len(first[-1])
    rest = list(batches(text, 0, now, end, 13))
    found = [unit for batch in [*first, *rest] for unit in units_in(batch)]
    assert found == units_of(text)
    assert rest[0].before == first[-1].before + first[-1].n_tokens


def test_empty_shards_are_skipped():

    class Gaps(SmallView):
        def shards(self):
            for shard in super().shards():
                yield np.empty(0, np.int32), np.zeros(1, np.int64)
                yield shard

    view = Gaps([["a", "b"], ["c"]] * 5, units_per_shard=3)
    text = TrainingText(view, view.words, view.counts)
    assert [unit for g in batches(text, 0, 2, 0, 5) for unit in units_in(g)] == units_of(text)


def test_the_rate_falls_linearly_to_its_floor():
    assert [learning_rate(0.025, 0.0001, done, 1000) for done in (0, 500, 900)] == pytest.approx(
        [0.025, 0.0125, 0.0025]
    )
    assert learning_rate(0.025, 0.0001, 1000, 1000) == 0.0001
    assert learning_rate(0.025, 0.0001, 999, 1000) == 0.0001
    assert learning_rate(0.025, 0, 1000, 1000) == 0
    assert learning_rate(0.025, 0.025, 800, 1000) == 0.025


def test_random_states_differ_by_seed_epoch_and_chunk_and_from_held_out_states():
    keys = list(itertools.product((0, 1, 2**40), (0, 1, 2), (0, 1, 2, 1000)))
    states = [random_state(*key) for key in keys] + [held_out_state(n) for n in range(30)]
    assert all(state.dtype == np.uint64 and state.shape == (1,) for state in states)
    assert len({int(state[0]) for state in states}) == len(states)
    assert random_state(1, 2, 3) == random_state(1, 2, 3)
    assert held_out_state(3) == held_out_state(3)
