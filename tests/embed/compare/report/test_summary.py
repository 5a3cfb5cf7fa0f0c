"""The sentences on a comparison: what its paired tests show, and nothing else."""

import pytest

from embed.compare.report.summary import summarize
from embed.compare.scoring.notes import FEW_ITEMS, FEW_UNITS
from tests.embed.compare.report.report_pages import pair, result

SIGNIFICANT, NOT, UNTESTED = 0.05, 0.051, None
AT = "similarity of words (ws353)"


def document(scores, tests, **more):
    """Scores of runs, and the p-values of pairs that are named by their first letters."""
    name = {run[0]: run for run in scores}
    differences = {
        pair_of: scores[name[pair_of[0]]] - scores[name[pair_of[1]]] for pair_of in tests
    }
    return {
        "runs": [{"run": run, "method": run, "fingerprint": None} for run in scores],
        "results": [result(run, score, **more) for run, score in scores.items()],
        "pairs": [
            pair(name[a], name[b], differences[a + b], p, **about(more))
            for (a, b), p in tests.items()
        ],
    }


def about(more):
    """Fields that a result shares with its pairs."""
    return {key: more[key] for key in ("task", "dataset", "metric", "section") if key in more}


def joined(*documents):
    """One document with the results of several, which have the same runs."""
    first, *_ = documents
    return first | {
        part: [entry for each in documents for entry in each[part]] for part in ("results", "pairs")
    }


AHEAD = {"ar": SIGNIFICANT, "br": SIGNIFICANT, "cr": SIGNIFICANT}  # of random vectors
SCORES = {"a": 0.5, "b": 0.4, "c": 0.3, "random": 0.0}


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (
            {"ab": SIGNIFICANT, "ac": SIGNIFICANT, "bc": NOT} | AHEAD,
            f"a is better than b and c at {AT}.",
        ),
        (
            {"ab": NOT, "ac": SIGNIFICANT, "bc": SIGNIFICANT} | AHEAD,
            f"a and b are equally good and better than c at {AT}.",
        ),
        # c is worse than a, but not than b: nothing is claimed of b and c
        (
            {"ab": NOT, "ac": SIGNIFICANT, "bc": NOT} | AHEAD,
            f"a and b are equally good at {AT}; c is worse than a.",
        ),
        # b and c differ, though neither differs from the best
        (
            {"ab": NOT, "ac": NOT, "bc": SIGNIFICANT} | AHEAD,
            f"a scores highest at {AT}; b and c are not significantly different from a.",
        ),
        (
            {"ab": NOT, "ac": NOT, "bc": NOT} | AHEAD,
            f"a, b and c are equally good at {AT}.",
        ),
        (
            {"ab": UNTESTED, "ac": UNTESTED, "bc": UNTESTED} | AHEAD,
            (
                f"It cannot be told which of a, b and c is better at {AT}; "
                "no test of b and c was possible."
            ),
        ),
        (
            {"ab": SIGNIFICANT, "ac": SIGNIFICANT, "bc": NOT} | AHEAD | {"cr": NOT},
            (
                f"a is better than b and c at {AT}; c is not significantly better there "
                "than random vectors."
            ),
        ),
        # better than chance and perhaps not better than chance are not called equally good
        (
            {"ab": NOT, "ac": SIGNIFICANT, "bc": SIGNIFICANT} | AHEAD | {"br": NOT},
            (
                f"a and b cannot be told apart but are better than c at {AT}; b is not "
                "significantly better there than random vectors."
            ),
        ),
        (
            {"ab": SIGNIFICANT, "ac": NOT, "bc": NOT, "ar": NOT, "br": NOT, "cr": NOT},
            f"No run is significantly better than random vectors at {AT}.",
        ),
    ],
    ids=["one", "two", "overlap", "chain", "all", "untested", "no-better", "unsure", "chance"],
)
def test_a_sentence_claims_what_the_tests_show(tests, expected):
    assert summarize(document(SCORES, tests)) == [expected]


@pytest.mark.parametrize("few", [FEW_ITEMS, FEW_UNITS])
def test_runs_are_not_called_equally_good_on_few_items(few):
    found = document({"a": 0.5, "b": 0.4}, {"ab": NOT}, remark=f"odd; {few}")
    assert summarize(found) == [f"a and b cannot be told apart at {AT}."]


def test_sets_with_the_same_finding_share_a_sentence():
    scores, other = {"a": 0.5, "b": 0.4}, {"a": 0.4, "b": 0.5}
    sets = [
        document(scores, {"ab": NOT}, dataset="one"),
        document(scores, {"ab": SIGNIFICANT}, dataset="one", metric="pearson"),  # not the first
        document(other, {"ab": NOT}, dataset="two"),  # b scores higher, but not significantly
        document(scores, {"ab": NOT}, task="analogy", dataset="three", metric="accuracy"),
        document(other, {"ab": SIGNIFICANT}, task="tagging", dataset="four", metric="accuracy"),
        document(scores, {"ab": SIGNIFICANT}, dataset="one", section="top 1,000"),
        document(scores, {"ab": SIGNIFICANT}, task="association", ranked=False),
    ]
    assert summarize(joined(*sets)) == [
        "a and b are equally good at similarity of words (one, two) and analogies (three).",
        "b is better than a at labels of words (four).",
    ]


def test_one_run_is_compared_with_the_baselines_only():
    scores, ahead, behind = {"a": 0.5, "random": 0.1}, {"ar": SIGNIFICANT}, {"ar": NOT}
    assert summarize(document(scores, ahead)) == [f"a is better than the baselines at {AT}."]
    assert summarize(document(scores, behind)) == [
        f"a is not significantly better than random vectors at {AT}."
    ]
    assert summarize(document(scores, {})) == [f"a could not be tested at {AT}."]


def test_a_run_without_a_score_is_not_judged():
    found = document({"a": 0.5, "random": 0.1}, {"ar": SIGNIFICANT})
    found["runs"].append({"run": "b", "method": "b", "fingerprint": None})
    found["results"].append(result("b", None))
    assert summarize(found) == [f"Only a could be scored and is better than the baselines at {AT}."]


def test_without_a_score_nothing_is_claimed():
    nothing = ["No evaluation set was scored, so nothing here shows which run is better."]
    assert summarize({"runs": [{"run": "a"}], "results": [], "pairs": []}) == nothing
    assert summarize(document({"a": 0.5}, {}) | {"results": [result("a", None)]}) == nothing
