"""The limit to one thread, and its restoration."""

import pytest
import torch
from threadpoolctl import threadpool_info, threadpool_limits

from firth.embed.vectors.one_thread import ONE_THREAD


def threads():
    """Threads of torch and of each loaded BLAS."""
    blas = [each["num_threads"] for each in threadpool_info() if each["user_api"] == "blas"]
    return [torch.get_num_threads(), *blas]


@pytest.fixture(autouse=True)
def _two_threads():
    """Start with two threads on every machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    with threadpool_limits(2, user_api="blas"):
        yield
    torch.set_num_threads(before)


def test_the_number_of_threads_is_restored():
    before = threads()
    assert len(before) > 1
    assert set(before) == {2}
    with ONE_THREAD:
        with ONE_THREAD:
            assert set(threads()) == {1}
        assert set(threads()) == {1}  # one caller is still inside
    assert threads() == before
