"""Association tests: effect size and p by definition, unknown words, and the report."""

import itertools
import json
import re

import numpy as np
import pytest
import scipy.sparse

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.association_tests import AssociationTest, WordList
from firth.embed.compare.report.document import to_json
from firth.embed.compare.report.terminal import print_report
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.statistics.effect_size import permutation_p
from firth.embed.compare.tasks.associations import AssociationTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score

LISTS = (
    ("X", ["rose", "lily"]),
    ("Y", ["ant", "fly"]),
    ("A", ["love", "joy"]),
    ("B", ["war", "ill"]),
)
# love and joy lie along the first axis, war and ill along the second
HAND = {
    "rose": (3, 0), "lily": (4, 3), "ant": (0, 2), "fly": (-3, -4),
    "love": (1, 0), "joy": (2, 0), "war": (0, 1), "ill": (0, 5),
}  # fmt: skip


def weat(lists=LISTS, name=None):
    """A test as the reader returns it."""
    x, y, a, b = (WordList(each, tuple(words)) for each, words in lists)
    return AssociationTest(name, (x, y, a, b))


def task_of(*tests, seed=1):
    return AssociationTask("weat", tests or (weat(),), seed)


def vectors_of(by_word, name="hand"):
    return WordVectors(list(by_word), np.array(list(by_word.values()), np.float32), name=name)


def planted(seed, noise=1.0, size=6):
    """Four word lists with vectors, X nearer to A and Y to B."""
    rng = np.random.default_rng(seed)
    lists = [(name, [f"{name}{i}".lower() for i in range(size)]) for name in "XYAB"]
    base = {"X": (1, 0), "Y": (0, 1), "A": (1, 0), "B": (0, 1)}
    by_word = {
        word: np.concatenate([base[name], np.zeros(6)]) + noise * rng.normal(size=8)
        for name, words in lists
        for word in words
    }
    return lists, by_word


def naive_associations(words, by_word, a, b):
    """The effect size by its definition."""

    def cosine(one, other):
        u, v = (np.asarray(by_word[word], np.float64) for word in (one, other))
        return u @ v / np.sqrt((u @ u) * (v @ v))

    return [
        np.mean([cosine(word, each) for each in a]) - np.mean([cosine(word, each) for each in b])
        for word in words
    ]


def naive_effect_size(x, y, a, b, by_word):
    s_x, s_y = (naive_associations(words, by_word, a, b) for words in (x, y))
    return (np.mean(s_x) - np.mean(s_y)) / np.std([*s_x, *s_y], ddof=1)


def naive_p(x, y):
    """The share of all permutations with at least the observed difference."""
    every, found = [*x, *y], sum(x) - sum(y)
    differences = []
    for places in itertools.combinations(range(len(every)), len(x)):
        chosen = sum(every[place] for place in places)
        differences.append(chosen - (sum(every) - chosen))
    return np.mean([difference > found - 1e-9 for difference in differences])


def test_a_hand_worked_association_test():
    # associations: rose 1 - 0, lily 0.8 - 0.6, ant 0 - 1, fly -0.6 + 0.8
    # means 0.6 and -0.4; about their mean 0.1: 0.9 0.1 -1.1 0.1, squares 0.81 0.01 1.21 0.01
    [found] = ask(task_of(), vectors_of(HAND))

    assert (found.metric, found.section, found.ranked) == ("effect_size", None, False)
    assert score(found) == pytest.approx(1 / np.sqrt(2.04 / 3))
    # sums over X of two of 1, 0.2, -1, 0.2: 1.2 twice, the one found among them, of six
    assert found.p == pytest.approx(2 / 6)
    assert found.coverage == {"X": [2, 2], "Y": [2, 2], "A": [2, 2], "B": [2, 2]}
    assert (found.items.tolist(), found.items_total) == (list(range(8)), 8)


@pytest.mark.parametrize("sparse", [False, True])
@pytest.mark.parametrize("seed", range(4))
def test_effect_size_and_p_match_the_definition(seed, sparse):
    lists, by_word = planted(seed, size=2 + seed % 4)
    x, y, a, b = (words for _, words in lists)
    matrix = np.array(list(by_word.values()), np.float32)
    vectors = WordVectors(list(by_word), scipy.sparse.csr_matrix(matrix) if sparse else matrix)

    [found] = ask(task_of(weat(lists)), vectors)

    assert score(found) == pytest.approx(naive_effect_size(x, y, a, b, by_word), abs=1e-5)
    s_x, s_y = (naive_associations(words, by_word, a, b) for words in (x, y))
    assert found.p == pytest.approx(naive_p(s_x, s_y))


@pytest.mark.parametrize("seed", range(3))
def test_a_replicate_is_the_score_with_items_repeated(seed):
    rng = np.random.default_rng(seed)
    lists, by_word = planted(seed, size=4)
    words = [word for _, each in lists for word in each]
    counts = rng.integers(0, 3, size=(30, len(words))).astype(np.uint8)
    counts[:, ::2] += 1  # no list is empty

    [found] = ask(task_of(weat(lists)), vectors_of(by_word))

    for row, value in zip(counts, found.statistic.evaluate(counts), strict=True):
        copies = iter(row)
        drawn = [[word for word in each for _ in range(next(copies))] for _, each in lists]
        assert value == pytest.approx(naive_effect_size(*drawn, by_word), abs=1e-5)


def test_a_draw_that_misses_a_list_has_no_score():
    [found] = ask(task_of(), vectors_of(HAND))

    counts = np.ones((5, 8), np.uint8)
    for row, start in enumerate((0, 2, 4, 6)):
        counts[row, start : start + 2] = 0

    assert np.isnan(found.statistic.evaluate(counts)).tolist() == [True] * 4 + [False]


def test_taking_words_equals_measuring_them():
    lists, by_word = planted(3)
    task, vectors = task_of(weat(lists)), vectors_of(by_word)
    chosen = np.ones(24, dtype=bool)
    chosen[[1, 8, 9, 13, 20]] = False

    [whole], [some] = ask(task, vectors), task.measure(vectors, chosen)
    part = whole.part("frequent", chosen)

    assert score(part) == pytest.approx(score(some)) != pytest.approx(score(whole))
    assert (part.p, part.coverage, part.items_total) == (None, None, 19)
    assert some.coverage == {"X": [5, 6], "Y": [4, 6], "A": [5, 6], "B": [5, 6]}


def test_unknown_words_are_dropped_from_their_list():
    lists, by_word = planted(2, size=4)
    x, y, a, b = ([word for word in words if word not in ("x1", "b3")] for _, words in lists)
    for word in ("x1", "b3"):
        del by_word[word]
    task, vectors = task_of(weat(lists)), vectors_of(by_word)

    [found] = ask(task, vectors)

    assert np.flatnonzero(~task.known(vectors)).tolist() == [1, 15]
    assert score(found) == pytest.approx(naive_effect_size(x, y, a, b, by_word), abs=1e-5)
    assert found.coverage == {"X": [3, 4], "Y": [4, 4], "A": [4, 4], "B": [3, 4]}
    [zero] = ask(task, vectors, "zero")
    assert (zero.coverage["X"], len(zero.items), zero.items_zero) == ([4, 4], 16, 0)


@pytest.mark.parametrize("lost", ["rose", "fly", "joy", "war"])
def test_a_test_with_a_list_of_one_word_is_undefined(lost):
    name = next(name for name, words in LISTS if lost in words)

    [found] = ask(task_of(), vectors_of({w: v for w, v in HAND.items() if w != lost}))

    assert (found.statistic, found.p) == (None, None)
    assert found.reason == f"1 of 2 words of {name!r} can be used, fewer than 2"
    assert found.coverage[name] == [1, 2]


def test_a_test_with_equal_associations_is_undefined():
    alone = vectors_of(dict(zip(HAND, np.eye(8), strict=True)))

    [found] = ask(task_of(), alone)

    assert (found.statistic, found.p) == (None, None)
    assert found.reason == "all target words have the same association"


def test_zero_vectors_are_counted():
    [found] = ask(task_of(), vectors_of({**HAND, "lily": (0, 0)}))

    assert found.items_zero == 1
    # rose 1, lily 0, ant -1, fly 0.2
    assert score(found) == pytest.approx((0.5 + 0.4) / np.std([1, 0, -1, 0.2], ddof=1))


def test_several_tests_are_sections():
    lists, by_word = planted(4, size=3)
    task = task_of(weat(name="hand"), weat(lists, name="planted"))
    padded = {word: np.r_[vector, np.zeros(6)] for word, vector in HAND.items()}
    del by_word["y2"]
    vectors = vectors_of({**padded, **by_word})

    hand, other = ask(task, vectors)

    assert (hand.section, hand.first, hand.items_total) == ("hand", 0, 8)
    assert (other.section, other.first, other.items_total) == ("planted", 8, 12)
    assert other.items.tolist() == [place for place in range(8, 20) if place != 13]
    assert score(hand) == pytest.approx(1 / np.sqrt(2.04 / 3))
    assert task.n_items == len(list(task.items())) == 20


@pytest.mark.parametrize(("n_x", "n_y"), [(2, 2), (4, 3), (3, 6), (5, 5)])
def test_few_permutations_are_enumerated(n_x, n_y):
    rng = np.random.default_rng(n_x)
    for shift in (0, 1):
        x, y = rng.normal(size=n_x) + shift, rng.normal(size=n_y)
        assert permutation_p(x, y, "any") == pytest.approx(naive_p(x, y))


def test_permutations_that_tie_with_the_observed_one_count():
    alike = np.array([0.1, 0.2, 0.3])
    assert permutation_p(alike, alike, "any") == naive_p(alike, alike) > 0.5
    assert permutation_p(np.full(9, 0.1), np.full(9, 0.1), "any") == 1.0


def test_permutations_depend_on_the_key_not_on_the_order():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=11) + 0.5, rng.normal(size=9)  # 167,960 divisions
    sums = np.concatenate([x, y])[
        np.array(list(itertools.combinations(range(20), 11)), np.int8)
    ].sum(axis=1)
    exact = (sums >= x.sum() - 1e-9).mean()

    p = permutation_p(x, y, "a")

    # 9,999 draws: further away than 5 deviations in 1 of 10^6 keys
    assert p == pytest.approx(exact, abs=5 * np.sqrt(exact * (1 - exact) / 9_999))
    assert p == permutation_p(x[::-1], y[::-1], "a") != permutation_p(x, y, "b")
    assert permutation_p(x + 9, y, "a") == 1 / 10_000


@pytest.fixture
def compared(tmp_path):
    """Two runs and two seeds of a method on one test; one run lacks a word."""
    lists, by_word = planted(7)
    path = tmp_path / "names.json"
    targets, attributes = dict(lists[:2]), dict(lists[2:])
    path.write_text(json.dumps({"targets": targets, "attributes": attributes}))
    config = CompareConfig(sets=(f"association={path}",), replicates=200)
    some = {word: vector for word, vector in by_word.items() if word != "a2"}
    runs = {
        "near": vectors_of(planted(7, noise=0.5)[1]),
        "lacks": vectors_of(some),
        "sg-seed1": vectors_of(planted(8)[1]),
        "sg-seed2": vectors_of(planted(9)[1]),
    }
    task = AssociationTask.read(path, config)
    return compare_vectors(
        runs, [task], config, groups={"sg-seed*": ("sg-seed1", "sg-seed2")}
    ), config


def test_runs_are_not_ranked_by_bias(compared, capsys):
    found, config = compared

    print_report(to_json(found, config, {}), config.unknown)

    output = capsys.readouterr().out
    rows = [line for line in output.splitlines() if line.rstrip().endswith("/24")]
    assert len(rows) == 5
    assert not any(re.search("[0-9] +[*=]", row) for row in rows)
    assert "* best" not in output
    assert "\nwords: names: X 6/6, Y 6/6, A 5/6, B 6/6\n" in output
    assert "\np: names: near 0.0011, lacks " in output  # 1 of 924
    assert "undefined: one-hot on names: all target words have the same association" in output


def test_json_has_p_and_coverage_of_each_run(compared):
    found, config = compared

    results = to_json(found, config, {})["results"]

    by_run = {each["run"]: each for each in results if each["shared_items"]}
    assert {run for run in by_run if "p" in by_run[run]} == {
        "near", "lacks", "sg-seed1", "sg-seed2", "random"
    }  # fmt: skip
    assert all(each["ranked"] is False for each in results)
    assert {tuple(each["coverage"]["A"]) for each in results if each["shared_items"]} == {(5, 6)}
    own = next(e for e in results if e["run"] == "near" and not e["shared_items"])
    assert (own["coverage"]["A"], own["items_used"]) == ([6, 6], 24)
    seeds = by_run["sg-seed*"]
    members = [by_run[run]["score"] for run in ("sg-seed1", "sg-seed2")]
    assert seeds["score"] == pytest.approx(np.mean(members))
