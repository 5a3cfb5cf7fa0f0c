"""The naive word2vec that the kernels are compared with: by hand, and against its own loss."""

import math

import numpy as np
import pytest

from firth.embed.word2vec.noise import NoiseTable, noise_table
from tests.embed.word2vec.naive_word2vec import (
    Stream,
    Window,
    cbow,
    negative,
    skipgram,
    windows,
)

ALL = [2**32] * 10  # keep limits that drop nothing
UNIFORM = noise_table(np.ones(10, np.int64), 0.0)


class Scripted:
    """A stream of given numbers: upper halves, as shares of 2^32, lower halves 0."""

    def __init__(self, *shares):
        self._numbers = [int(share * 2**32) << 32 for share in shares]

    def next(self):
        return self._numbers.pop(0)

    @property
    def left(self):
        return len(self._numbers)


def chunk_of(units, stream, **options):
    """Draw windows with default settings."""
    settings = {"keep_limits": ALL, "noise": UNIFORM, "window": 2, "dynamic": False, "negatives": 1}
    return windows(units, stream, **{**settings, **options})


def test_the_stream_is_splitmix64():
    # the first numbers of Vigna's reference for seed 1234567
    stream = Stream(1234567)
    assert [stream.next() for _ in range(3)] == [
        6457827717110365317, 3203168211198807973, 9817491932198370423,
    ]  # fmt: skip


def test_flat_windows_worked_by_hand():
    # 4 numbers for keeping words, then for each center one for its reach, one for its negative
    stream = Scripted(0, 0, 0, 0, *[0.99, 0.95] * 4)
    found = chunk_of([[4, 5, 6, 7]], stream)
    assert found == [
        Window(4, (5, 6), (9,)),
        Window(5, (4, 6, 7), (9,)),
        Window(6, (4, 5, 7), (9,)),
        Window(7, (5, 6), (9,)),
    ]
    assert stream.left == 0


def test_dynamic_windows_reach_from_1_to_the_window():
    # shares 0, .33, .34, .99 of a window of 3 reach 1, 1, 2, 3
    stream = Scripted(0, 0, 0, 0, 0, 0.95, 0.33, 0.95, 0.34, 0.95, 0.99, 0.95)
    found = chunk_of([[0, 1, 2, 3]], stream, window=3, dynamic=True)
    assert [window.contexts for window in found] == [(1,), (0, 2), (0, 1, 3), (0, 1, 2)]


def test_windows_span_dropped_words_but_not_units():
    # word 3 is never kept; the words around it are neighbors, those of another unit are not
    limits = [2**32] * 3 + [0] + [2**32] * 6
    found = chunk_of([[1, 3, 2], [4, 5]], Stream(1), keep_limits=limits, window=1)
    assert [(window.center, window.contexts) for window in found] == [
        (1, (2,)), (2, (1,)), (4, (5,)), (5, (4,)),
    ]  # fmt: skip


def test_tokens_are_dropped_before_any_window_is_drawn():
    # limit a half: shares 0 and .49 are kept, .5 is not
    stream = Scripted(0.49, 0.5, 0, 0.7, 0.95, 0.7, 0.95)
    found = chunk_of([[1, 2], [3]], stream, keep_limits=[2**31] * 10)
    assert found == []
    assert stream.left == 2  # a center without contexts only draws its reach


def test_a_negative_that_is_the_center_is_drawn_again():
    stream = Scripted(0.41, 0.45, 0.49, 0.5, 0.6)
    assert negative(stream, UNIFORM, center=4) == 5
    assert stream.left == 1


def test_a_negative_is_the_columns_own_or_its_other():
    noise = NoiseTable(np.array([2**32 - 1, 2**31], np.uint32), np.array([0, 0], np.int32))
    low = Scripted(0.5)
    low._numbers = [(1 << 63) | (2**31 - 1), (1 << 63) | 2**31]
    assert [negative(low, noise, center=7) for _ in range(2)] == [1, 0]


def test_skipgram_worked_by_hand():
    # one input x = (1, 0), outputs (0, 0) and (0, 2): both scores 0, so both sigmoids a half;
    # at rate 1 the gradients are 1/2 and -1/2
    words, contexts = np.array([[1.0, 0], [5, 5]]), np.array([[0.0, 0], [0, 2]])
    loss, n_pairs = skipgram(words, contexts, [Window(0, (0,), (1,))], 1.0)
    assert (loss, n_pairs) == (pytest.approx(2 * math.log(2)), 1)
    np.testing.assert_allclose(words, [[1, -1], [5, 5]])
    np.testing.assert_allclose(contexts, [[0.5, 0], [-0.5, 2]])


def test_a_repeated_input_is_updated_twice_and_its_second_row_is_the_updated_one():
    # scores 0 and 0, gradient 1/2 each time; the output is (0, 2), inputs are word 0 twice:
    # (1, 0), then (1, 1), then (1, 2); the output gains half of (1, 0) and half of (1, 1)
    words, contexts = np.array([[1.0, 0]]), np.array([[0.0, 2]])
    skipgram(words, contexts, [Window(0, (0, 0), ())], 1.0)
    np.testing.assert_allclose(words, [[1, 2]])
    np.testing.assert_allclose(contexts, [[1, 2.5]])


def test_cbow_worked_by_hand():
    # the mean of (2, 0) and (0, 2) is (1, 1); scores 0 and 0; gradients 1/2 and -1/2
    # the mean gains (0, 0) / 2 - (1, -1) / 2
    start, outputs = np.array([[2.0, 0], [0, 2]]), np.array([[0.0, 0], [1, -1]])
    window = [Window(0, (0, 1), (1,))]
    for share, gain in ((lambda n: 1 / n, 0.25), (lambda n: 1, 0.5)):
        words, contexts = start.copy(), outputs.copy()
        loss, n_windows = cbow(words, contexts, window, 1.0, mean=True, input_share=share)
        assert (loss, n_windows) == (pytest.approx(2 * math.log(2)), 1)
        np.testing.assert_allclose(contexts, [[0.5, 0.5], [0.5, -1.5]])
        np.testing.assert_allclose(words, np.add(start, [-gain, gain]))


WINDOW = Window(2, (0, 1, 4, 1), (3, 0, 3))


def tables():
    """Five words and contexts in three dimensions."""
    return np.random.default_rng(4).normal(size=(2, 5, 3))


def loss_of(words, contexts, kind):
    """Return the loss of WINDOW by the formula of the papers."""
    inputs = words[list(WINDOW.contexts)]
    if kind != "skipgram":
        inputs = getattr(inputs, kind)(axis=0, keepdims=True)
    positive = 1 / (1 + np.exp(-inputs @ contexts[WINDOW.center]))
    negatives = 1 / (1 + np.exp(inputs @ contexts[list(WINDOW.negatives)].T))
    return -np.log(positive).sum() - np.log(negatives).sum()


def train(words, contexts, kind, rate, **options):
    """Learn once from the window."""
    if kind == "skipgram":
        return skipgram(words, contexts, [WINDOW], rate, **options)
    share = (lambda n: 1 / n) if kind == "mean" else (lambda n: 1)
    return cbow(
        words, contexts, [WINDOW], rate, mean=kind == "mean", input_share=share, **options
    )  # fmt: skip


@pytest.mark.parametrize("kind", ["skipgram", "mean", "sum"])
def test_updates_are_the_gradient_of_the_loss(kind):
    # even with duplicate inputs and outputs: at a rate of 1e-7 their order has no effect
    rate, step = 1e-7, 1e-5
    before, after = tables(), tables()
    loss, _ = train(*after, kind, rate)
    assert loss == pytest.approx(loss_of(*before, kind))
    slope = np.zeros_like(before)
    for place in np.ndindex(*before.shape):
        above, below = before.copy(), before.copy()
        above[place] += step
        below[place] -= step
        slope[place] = (loss_of(*above, kind) - loss_of(*below, kind)) / (2 * step)
    np.testing.assert_allclose((after - before) / rate, -slope, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("kind", ["skipgram", "mean", "sum"])
def test_blocks_differ_by_terms_of_the_rate_squared_only(kind):
    whole, halves, singles = tables(), tables(), tables()
    train(*whole, kind, 1e-4)
    train(*halves, kind, 1e-4, block=2)
    train(*singles, kind, 1e-4, block=1)
    for blocked in (halves, singles):
        assert 0 < np.abs(blocked - whole).max() < 1e-6
    beyond = tables()
    train(*beyond, kind, 1e-4, block=4)  # as many as there are
    np.testing.assert_array_equal(beyond, whole)
