"""Ranking of runs by score and significance."""

from firth.embed.compare.statistics.ranking import Rank, rank_runs

BEST, EQUAL, WORSE, UNTESTED = Rank.BEST, Rank.EQUAL, Rank.WORSE, Rank.UNTESTED


def test_only_tests_against_the_best_count():
    scores = {"a": 0.5, "b": 0.4, "c": 0.3, "d": 0.2, "e": None}
    pairs = [
        ("a", "b", 0.051),
        ("c", "a", 0.05),
        ("b", "c", 0.9),  # neither is the best
        ("a", "d", None),
        ("a", "e", 0.9),
    ]

    assert rank_runs(scores, pairs) == {"a": BEST, "b": EQUAL, "c": WORSE, "d": UNTESTED}


def test_with_two_best_runs_a_tie_needs_both():
    scores = {"a": 0.5, "b": 0.5, "c": 0.4}

    def third(first, second):
        return rank_runs(scores, [("a", "c", first), ("c", "b", second)])

    assert third(0.01, 0.9) == third(0.9, 0.01) == {"a": BEST, "b": BEST, "c": WORSE}
    assert third(0.9, 0.9)["c"] == third(None, 0.9)["c"] == EQUAL


def test_unranked_metrics_and_undefined_scores_have_no_ranking():
    assert rank_runs({"a": 0.5, "b": 0.4}, [("a", "b", 0.9)], ranked=False) == {}
    assert rank_runs({"a": None, "b": None}, []) == {}
