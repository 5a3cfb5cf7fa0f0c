"""Directions from words to words, against hand-worked values and a naive count."""

import itertools

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError
from firth.embed.explore.directions import direction, pairs_of
from firth.embed.explore.space import Space
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors


@pytest.mark.parametrize(
    "text",
    ["he she, man woman", "he-she;man → woman", "he she\nman-woman,", " he  she , man:woman"],
    ids=["spaces", "signs", "lines", "blanks"],
)
def test_pairs_are_written_in_several_ways(text):
    assert pairs_of(text.replace(" → ", "→")) == [("he", "she"), ("man", "woman")]
    assert pairs_of("t-shirt e-mail") == [("t-shirt", "e-mail")]


def test_the_axis_is_the_mean_difference_and_pairs_are_held_against_the_others():
    first = np.array([[1.0, 0, 0], [0, 1, 0], [0.6, 0, 0.8]])
    second = np.array([[0, 0, 1.0], [0, 0, 1], [0.6, 0.8, 0]])
    found = direction(first, second)
    # differences (-1, 0, 1), (0, -1, 1) and (0, .8, -.8); their sum is (-1, -.2, 1.2)
    np.testing.assert_allclose(found.axis, np.array([-1, -0.2, 1.2]) / np.sqrt(2.48))
    # of the others: (0, -.2, .2), (-1, .8, .2), (-1, -1, 2)
    cosines = [0.5, -0.6 / np.sqrt(2 * 1.68), -2.4 / np.sqrt(1.28 * 6)]
    np.testing.assert_allclose(found.left_out, cosines)
    assert found.n_right == 1


def test_p_is_the_share_of_all_turned_pairs_with_as_many_on_the_right_side():
    rng = np.random.default_rng(2)
    first, second = (unit_length(rng.normal(size=(7, 4)) + shift) for shift in (0, 0.7))

    def n_right(signs):
        differences = (second - first) * np.array(signs)[:, None]
        return sum(row @ (differences.sum(axis=0) - row) > 0 for row in differences)

    found = direction(first, second)
    every = [n_right(signs) for signs in itertools.product([1, -1], repeat=7)]
    assert found.n_right == n_right([1] * 7)
    assert found.p == np.mean([n >= found.n_right for n in every])
    assert direction(first[:1], second[:1]).p is None


def test_of_many_pairs_p_is_that_of_a_sample_of_them():
    rng = np.random.default_rng(3)
    first = unit_length(rng.normal(size=(20, 6)))
    by_chance = [direction(first, unit_length(rng.normal(size=(20, 6)))).p for _ in range(40)]
    # uniform but for ties: p <= .05 in more than 8 of 40 cases has a chance of 10^-4
    assert sum(p <= 0.05 for p in by_chance) <= 8
    agreeing = direction(first, unit_length(first + np.eye(6)[0]))
    assert (agreeing.n_right, agreeing.p) == (20, pytest.approx(0, abs=0.01))


def test_equal_vectors_have_no_direction():
    units = np.eye(2)
    for first, second in ((units, units), (units, units[::-1])):
        with pytest.raises(SettingError, match="two equal vectors, or pairs cancel out"):
            direction(first, second)


def test_words_lie_along_a_direction(tmp_path):
    words = ["he", "she", "man", "woman", "king", "Queen", "stone"]
    matrix = [[-1, 1, 0], [1, 1, 0], [-1, 0, 1], [1, 0, 1], [-2, 1, 2], [2, 1, 2], [0, 3, 1]]
    WordVectors(words, np.array(matrix, np.float32), counts=np.arange(9, 2, -1)).save(
        tmp_path / "run"
    )
    space = Space(tmp_path / "run", 100)
    found = space.direction("he she, man-woman", [], 2)
    assert found["pairs"][0]["words"] == ("he", "she")
    assert (found["right"], found["p"]) == (2, 0.5)
    near = [(each["word"], each["cosine"]) for each in found["words"]]
    assert [word for word, _ in near] == ["Queen", "stone", "king"]
    assert [cosine for _, cosine in near] == pytest.approx([2 / 3, 0, -2 / 3])
    asked = space.direction("he she", ["queen", "he"], 2)
    assert [each["word"] for each in asked["words"]] == ["Queen", "he"]
    assert asked["pairs"] == [{"words": ("he", "she"), "cosine": None}]
