"""Windows of the words before, the order of batches, and the words drawn for the softmax."""

import numpy as np
import pytest

from firth.embed.nplm.config import NplmConfig
from firth.embed.nplm.windows import Noise, batches, unit_starts, windows

PADDING = 9


class Text:
    """Two shards of units, of which the second one has an empty unit."""

    words = [*"abcdefgh"]

    def shards(self):
        yield np.array([0, 1, 2, 3, 4], np.int32), np.array([0, 3, 5])
        yield np.array([5, 6, 7, 0], np.int32), np.array([0, 1, 4])


@pytest.mark.parametrize("width", [1, 2, 5])
def test_windows_match_the_definition(width):
    rng = np.random.default_rng(1)
    units = [rng.integers(0, 9, size=n).tolist() for n in (1, 4, 2, 7)]
    offsets = np.cumsum([0] + [len(unit) for unit in units])
    places = rng.permutation(offsets[-1])

    found = windows(np.concatenate(units), unit_starts(offsets), places, width, PADDING)

    padded = [[PADDING] * width + unit for unit in units]
    naive = [line[i : i + width][::-1] for line in padded for i in range(len(line) - width)]
    assert found.tolist() == [naive[place] for place in places]


def read(epoch, start=0, seed=3):
    """Return the batches of an epoch as lists."""
    made = batches(Text(), epoch, NplmConfig(window=2, batch=2, seed=seed), start)
    return [(contexts.tolist(), targets.tolist()) for contexts, targets in made]


def test_every_epoch_predicts_every_word_once_in_another_order():
    epochs = [[word for _, words in read(epoch) for word in words] for epoch in (0, 1)]
    assert sorted(epochs[0]) == sorted(epochs[1]) == [0, 0, 1, 2, 3, 4, 5, 6, 7]
    assert epochs[0] != epochs[1]
    assert read(1) == read(1) != read(1, seed=4)


def test_a_training_resumes_at_any_batch():
    made = read(1)
    for done in range(len(made) + 1):
        assert read(1, done) == made[done:]


def test_weighted_sums_over_drawn_words_have_the_sum_over_all_as_their_mean():
    counts = np.array([50, 30, 15, 4, 1])
    exponentials = np.array([1.0, 3.0, 0.5, 2.0, 4.0])
    noise = Noise(counts, 16, seed=1)
    sums = [
        weights @ exponentials[words]
        for words, weights in map(weighted, map(noise.draw, range(4000)))
    ]
    # five standard errors: a false alarm in 2 of a million
    error = np.std(sums) / len(sums) ** 0.5
    assert abs(np.mean(sums) - exponentials.sum()) < 5 * error
    assert error < 0.2


def weighted(drawn):
    words, log_weights = drawn
    assert (np.diff(words) > 0).all()
    return words, np.exp(log_weights)


def test_draws_depend_on_seed_and_step_alone():
    draw = lambda seed, step: Noise(np.arange(1, 100), 20, seed).draw(step)[0].tolist()  # noqa: E731
    assert draw(1, 5) == draw(1, 5)
    assert draw(1, 5) != draw(1, 6)
    assert draw(1, 5) != draw(2, 5)
