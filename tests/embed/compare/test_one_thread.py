"""One thread while anyone is inside, as many as before afterwards."""

from embed.compare.one_thread import ONE_THREAD


def test_the_number_of_threads_is_given_back():
    import torch

    before = torch.get_num_threads()
    with ONE_THREAD, ONE_THREAD:
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
