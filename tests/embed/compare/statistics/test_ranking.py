"""Who is best and who equals the best: one decision."""

from embed.compare.statistics.ranking import Rank, rank_runs

BEST, EQUAL, WORSE, UNTESTED = Rank.BEST, Rank.EQUAL, Rank.WORSE, Rank.UNTESTED


def test_runs_stand_by_their_tests_against_the_best_alone():
    scores = {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.2, "e": None}
    pairs = [
        ("a", "b", 0.051),
        ("c", "a", 0.05),
        ("b", "c", 0.9),  # neither is the best
        ("a", "d", None),
        ("a", "e", 0.9),
    ]

    assert rank_runs(scores, pairs) == {"a": BEST, "b": EQUAL, "c": WORSE, "d": UNTESTED}


def test_of_two_best_a_run_must_equal_both():
    scores = {"a": 0.5, "b": 0.5, "c": 0.4}

    def third(first, second):
        return rank_runs(scores, [("a", "c", first), ("c", "b", second)])

    assert third(0.01, 0.9) == third(0.9, 0.01) == {"a": BEST, "b": BEST, "c": WORSE}
    assert third(0.9, 0.9)["c"] == third(None, 0.9)["c"] == EQUAL


def test_where_no_score_is_better_nobody_stands_anywhere():
    assert rank_runs({"a": 0.5, "b": 0.4}, [("a", "b", 0.9)], ranked=False) == {}
    assert rank_runs({"a": None, "b": None}, []) == {}
