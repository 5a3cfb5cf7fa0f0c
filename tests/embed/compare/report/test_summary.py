"""The sentences on a comparison: what its paired tests show, and nothing else."""

import pytest

from firth.embed.compare.report.summary import summarize
from tests.embed.compare.report.report_pages import pair, plain_document, result

SIGNIFICANT, NOT, UNTESTED = 0.05, 0.051, None
AT = "similarity of words (ws353)"


def document(scores, tests, **more):
    """Scores of runs, and the p-values of pairs that are named by their first letters."""
    name = {run[0]: run for run in scores}
    shared = {key: value for key, value in more.items() if key != "ranked"}
    return plain_document(
        [result(run, score, **more) for run, score in scores.items()],
        [
            pair(name[a], name[b], scores[name[a]] - scores[name[b]], p, **shared)
            for (a, b), p in tests.items()
        ],
    )


def joined(*documents):
    """One document with the results of several, which have the same runs."""
    first, *_ = documents
    return first | {
        part: [entry for each in documents for entry in each[part]] for part in ("results", "pairs")
    }


AHEAD = {"ar": SIGNIFICANT, "br": SIGNIFICANT, "cr": SIGNIFICANT}  # of random vectors
BEATEN = "; better than random vectors: all runs"
SCORES = {"a": 0.5, "b": 0.4, "c": 0.3, "random": 0.0}


@pytest.mark.parametrize(
    ("tests", "expected"),
    [
        (
            {"ab": SIGNIFICANT, "ac": SIGNIFICANT, "bc": NOT} | AHEAD,
            f"a scores highest at {AT}; worse: b and c{BEATEN}.",
        ),
        # c is worse than a, but not than b: nothing is claimed of b and c
        (
            {"ab": NOT, "ac": SIGNIFICANT, "bc": NOT} | AHEAD,
            f"a scores highest at {AT}; no significant difference: b; worse: c{BEATEN}.",
        ),
        # b and c differ, though neither differs from the best
        (
            {"ab": NOT, "ac": NOT, "bc": SIGNIFICANT} | AHEAD,
            f"a scores highest at {AT}; no significant difference: b and c{BEATEN}.",
        ),
        # b and c were not tested, so they are not among runs without a difference
        (
            {"ab": NOT, "ac": NOT, "bc": UNTESTED} | AHEAD,
            f"a scores highest at {AT}; no significant difference: b and c{BEATEN}.",
        ),
        (
            {"ab": NOT, "ac": NOT, "bc": NOT} | AHEAD,
            f"No significant difference between a, b and c at {AT}{BEATEN}.",
        ),
        (
            {"ab": SIGNIFICANT, "ac": UNTESTED, "bc": UNTESTED} | AHEAD,
            f"a scores highest at {AT}; worse: b; not tested: c{BEATEN}.",
        ),
        # no run beats random vectors, and yet a is better than b
        (
            {"ab": SIGNIFICANT, "ac": NOT, "bc": NOT, "ar": NOT, "br": NOT, "cr": NOT},
            (f"a scores highest at {AT}; no significant difference: c; worse: b; "
            "not significantly better than random vectors: all runs."),
        ),
        (
            {"ab": NOT, "ac": NOT, "bc": NOT, "ar": SIGNIFICANT, "br": NOT, "cr": UNTESTED},
            (f"No significant difference between a, b and c at {AT}; "
            "better than random vectors: a; not significantly better than random vectors: b; "
            "not tested against random vectors: c."),
        ),
    ],
    ids=["one", "overlap", "chain", "no-test", "none", "untested", "chance", "baseline"],
)  # fmt: skip
def test_a_sentence_claims_what_the_tests_show(tests, expected):
    assert summarize(document(SCORES, tests)) == [expected]


def test_runs_with_the_same_highest_score_are_both_named():
    found = document({"a": 0.5, "b": 0.5, "c": 0.3}, {"ac": SIGNIFICANT, "bc": SIGNIFICANT})
    assert summarize(found) == [f"a and b score highest at {AT}; worse: c."]
    [of_tokens] = summarize(found, "token")
    assert of_tokens == "a and b score highest at similarity of tokens (ws353); worse: c."


def test_baselines_are_named_by_the_runs_that_beat_them():
    scores = {"a": 0.5, "b": 0.4, "one-hot": 0.3, "random": 0.0}
    tests = {"ab": SIGNIFICANT, "ao": NOT, "bo": NOT, "ar": SIGNIFICANT, "br": NOT}
    # every run misses a baseline, but a beats random vectors and b
    assert summarize(document(scores, tests)) == [
        (
            f"a scores highest at {AT}; worse: b; better than random vectors: a; "
            "not significantly better than one-hot vectors: a and b; "
            "not significantly better than random vectors: b."
        )
    ]
    assert summarize(document(scores, dict.fromkeys(tests, SIGNIFICANT))) == [
        f"a scores highest at {AT}; worse: b; better than one-hot and random vectors: a and b."
    ]
    popular = document(scores | {"popularity": 0.6}, tests | {"ap": SIGNIFICANT, "bp": NOT})
    assert summarize(popular)[0].endswith(
        "worse than popularity: a; not significantly better than one-hot vectors: a and b; "
        "not significantly better than random and popularity: b."
    )


def test_a_run_significantly_behind_a_baseline_is_called_worse():
    found = document({"a": 0.1, "random": 0.4}, {"ar": SIGNIFICANT})
    assert summarize(found) == [
        f"a is the only run with a score at {AT}; worse than random vectors: a."
    ]


@pytest.mark.parametrize("one_hot", [None, 0.1], ids=["undefined", "untested"])
def test_a_baseline_that_was_not_tested_is_not_claimed_beaten(one_hot):
    found = document({"a": 0.5, "one-hot": one_hot, "random": 0.0}, {"ar": SIGNIFICANT})
    assert summarize(found) == [
        f"a is the only run with a score at {AT}; better than random vectors: a."
    ]


def test_sets_with_the_same_finding_share_a_sentence():
    scores, other = {"a": 0.5, "b": 0.4}, {"a": 0.4, "b": 0.5}
    sets = [
        document(scores, {"ab": NOT}, dataset="one"),
        document(scores, {"ab": SIGNIFICANT}, dataset="one", metric="pearson"),  # not the first
        document(other, {"ab": NOT}, dataset="two"),  # b scores higher, but not significantly
        document(scores, {"ab": NOT}, task="analogy", dataset="three", metric="accuracy"),
        document(other, {"ab": SIGNIFICANT}, task="tagging", dataset="four", metric="accuracy"),
        document(scores, {"ab": SIGNIFICANT}, dataset="one", section="top 1,000"),
    ]
    assert summarize(joined(*sets)) == [
        (
            "No significant difference between a and b at similarity of words (one, two) and "
            "analogies (three)."
        ),
        "b scores highest at labels of words (four); worse: a.",
    ]


def test_a_metric_without_a_score_of_a_run_gives_way_to_the_next():
    first = document({"a": None, "b": None, "random": 0.1}, {}, metric="change")
    found = joined(first, document({"a": 0.5, "b": 0.4, "random": 0.0}, {"ab": SIGNIFICANT}))
    assert summarize(found) == [f"a scores highest at {AT}; worse: b."]
    first["results"][1]["score"] = 0.3  # one run is enough
    assert summarize(found) == [f"b is the only run with a score at {AT}; no score: a."]


def test_scores_of_english_sets_say_nothing_of_other_runs():
    scores = {"a": 0.5, "b": 0.4, "c": 0.3}
    found = document(scores, {"ab": SIGNIFICANT, "ac": SIGNIFICANT, "bc": SIGNIFICANT})
    left_out = f"at {AT}, because the set is English and the vocabulary does not look so."
    found["results"][0]["foreign"] = True
    assert summarize(found) == [f"Left out: a {left_out}", f"b scores highest at {AT}; worse: c."]
    for each in found["results"]:
        each["foreign"] = True
    assert summarize(found) == [f"Left out: a, b and c {left_out}"]


def test_without_a_score_nothing_is_claimed():
    none = {"runs": [{"run": "a"}], "results": [], "pairs": []}
    assert summarize(none) == [
        "No evaluation set was scored, so nothing here shows which run is better."
    ]
    undefined = document({"a": None, "random": 0.1}, {})
    assert summarize(undefined) == [f"No run has a score at {AT}."]
    unranked = document({"a": 0.5, "b": 0.4}, {"ab": SIGNIFICANT}, ranked=False)
    assert summarize(unranked) == [
        f"Runs are not ranked at {AT}, where a higher score is not better."
    ]
