"""Ordered parallel maps, back-pressure, thread counts, even ranges."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common import threads
from firth.corpora.common.threads import even_ranges, map_in_order, thread_count


def test_results_are_in_the_order_of_the_items():
    assert list(map_in_order(lambda item: item * item, range(50), 3)) == [n * n for n in range(50)]


def test_pending_results_are_bounded():
    begun = []
    results = map_in_order(begun.append, range(100), 2)
    next(results)
    assert len(begun) <= 6
    results.close()


def test_an_error_in_a_thread_reaches_the_caller():
    with pytest.raises(ZeroDivisionError):
        list(map_in_order(lambda item: 1 // item, [1, 0, 1], 2))


@pytest.mark.parametrize(
    ("asked", "processes", "count"), [(3, 2, 3), (None, 1, 6), (None, 4, 1), (999, 1, 256)]
)
def test_processes_share_the_cores(monkeypatch, asked, processes, count):
    monkeypatch.setattr(threads, "available_threads", lambda: 6)
    assert thread_count(asked, processes) == count


@given(work=st.lists(st.integers(0, 50), max_size=40), size=st.floats(0.5, 60))
def test_even_ranges_cover_every_task_once(work, size):
    ranges = even_ranges(np.array(work, dtype=float), size)
    assert [task for first, stop in ranges for task in range(first, stop)] == list(range(len(work)))
    assert all(sum(work[first:stop]) <= size + max(work) for first, stop in ranges)
