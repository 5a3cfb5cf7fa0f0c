"""Odd-one-out: compactness by definition, phrases, ties, and unknown words."""

import itertools

import numpy as np
import pytest
import scipy.sparse

from firth.embed.compare.datasets.outlier_groups import Topic
from firth.embed.compare.tasks.odd_one_out import OddOneOutTask, outlier_position
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores


def naive_position(units):
    """The share of words with a lower mean cosine of all pairs of the others than the last."""

    def compactness(left_out):
        others = [unit for place, unit in enumerate(units) if place != left_out]
        return np.mean([a @ b for a, b in itertools.permutations(others, 2)])

    *group, outlier = map(compactness, range(len(units)))
    return sum(one < outlier for one in group) / len(group)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(9))
def test_the_position_matches_the_definition(seed, sparse):
    units = np.random.default_rng(seed).normal(size=(2 + seed % 9 + 1, 5))
    units /= np.linalg.norm(units, axis=1, keepdims=True)

    found = outlier_position(scipy.sparse.csr_matrix(units) if sparse else units)

    assert found == pytest.approx(naive_position(units))


def test_a_hand_worked_set(tiny):
    # sums of cosines with the others, man king queen | woman: 1.66 2.16 2.31 | 1.02;
    # man king queen | apple: 0.95 0.95 0.60 | -2.60
    # woman apple | king: -0.39 -1.60 | -0.58: the second of two
    task = OddOneOutTask(
        "set",
        [
            Topic("royal", ("man", "king", "queen"), ("woman", "apple")),
            Topic("others", ("woman", "apple"), ("king",)),
        ],
    )

    accuracy, opp = ask(task, tiny)

    assert (accuracy.metric, score(accuracy)) == ("accuracy", pytest.approx(2 / 3))
    assert (opp.metric, score(opp)) == ("opp", pytest.approx((1 + 1 + 0.5) / 3))
    assert (accuracy.items.tolist(), accuracy.items_total) == ([0, 1, 2], 3)


def test_an_item_with_an_unknown_word_is_not_scored(tiny):
    topics = [
        Topic("one", ("man", "king"), ("apple", "pear")),
        Topic("two", ("man", "plum"), ("apple",)),
    ]
    task = OddOneOutTask("set", topics)

    assert task.known(tiny).tolist() == [True, False, False]
    assert task.known(tiny, "zero").all()
    zero, opp = ask(task, tiny, "zero")
    # the unknown pear is found beside man and king; apple is as unlike man as man is unlike apple
    assert score(zero) == pytest.approx(2 / 3)
    assert (zero.items_composed, zero.items_zero) == (0, 0)
    assert (zero.chance, opp.chance) == (pytest.approx(1 / 3), 0.5)


def test_a_phrase_is_the_mean_of_its_words():
    words = ["new", "york", "boston", "chicago", "pear"]
    matrix = np.array([[1, 0], [0, 1], [1, 1.2], [1.2, 1], [1, -1]], dtype=np.float32)
    topics = [Topic("towns", ("New_York", "boston", "chicago"), ("pear",))]
    task = OddOneOutTask("set", topics)

    accuracy, opp = ask(task, WordVectors(words, matrix))

    assert (score(accuracy), score(opp), opp.items_composed) == (1.0, 1.0, 1)
    assert {"New_York", "New", "York"} <= set(task.texts())


def test_a_tie_is_not_correct():
    # the outlier and the last word are the same vector
    matrix = np.array([[1, 0], [1, 0], [0, 1], [0, 1]], dtype=np.float32)
    task = OddOneOutTask("set", [Topic("t", ("a", "b", "b2"), ("c",))])
    vectors = WordVectors(["a", "b", "c", "b2"], matrix)

    # sums: 1 for every word
    assert scores(task, vectors) == {"accuracy": None, "opp": None}
    task = OddOneOutTask("set", [Topic("t", ("a", "b", "d", "b2"), ("c",))])
    vectors = WordVectors(["a", "b", "c", "b2", "d"], np.vstack([matrix, [[1, 0]]]))
    assert scores(task, vectors) == {"accuracy": 0.0, "opp": 0.75}


def test_equal_cosines_give_an_undefined_score():
    vectors = WordVectors(list("abcd"), np.eye(4, dtype=np.float32))

    for result in ask(OddOneOutTask("set", [Topic("t", ("a", "b", "c"), ("d",))]), vectors):
        assert (result.statistic, result.reason) == (None, "all cosines are equal")
    for result in ask(OddOneOutTask("set", [Topic("t", ("a", "x"), ("d",))]), vectors):
        assert (result.statistic, result.reason) == (None, "no item has all its words known")


def test_items_with_a_zero_vector_are_counted():
    matrix = np.array([[1, 0], [1, 0.1], [0, 0], [0, 1]], dtype=np.float32)
    task = OddOneOutTask("set", [Topic("t", ("a", "b"), ("c", "d"))])

    accuracy, _ = ask(task, WordVectors(list("abcd"), matrix))

    assert (score(accuracy), accuracy.items_zero) == (1.0, 1)
