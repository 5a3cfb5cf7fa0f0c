"""The report of a comparison: its JSON contract, and a table that fits 100 columns."""

import json
import math
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.report.document import held_out_json, to_json
from firth.embed.compare.report.terminal import print_report
from firth.embed.compare.scoring.held_out import compare_losses
from firth.embed.compare.scoring.results import Comparison, Pair, Score
from firth.embed.compare.statistics.significance import Difference
from firth.embed.compare.task import Measurement

EQUAL = "all cosines are equal"
MARKS = "* best, = no significant difference (p > 0.05, Holm), ? untested"


def scored(run, value, used=40, own=None, set_index=0, **about):
    """One run on the shared items and on its own."""
    entry = {"task": "similarity", "dataset": "über", "metric": "spearman"} | about
    ends = (None, None) if value is None else (value - 0.25, value + 0.25)
    return [
        Score(
            run,
            set_index,
            shared,
            Measurement(items=np.arange(items), items_total=42 if items < 42 else 19_544, **entry),
            value,
            *ends,
            known=own or used,
        )
        for shared, items in ((True, used), (False, own or used))
    ]


def pair(a, b, p, set_index=0, section=None, metric="spearman"):
    found = Difference(0.25, -0.5, 0.75, p)
    return Pair(a, b, set_index, "similarity", "über", metric, section, found)


def comparison(*columns, pairs=()):
    scores = [score for column in columns for score in column]
    return Comparison({s.run: s.run for s in scores}, scores, list(pairs))


def table(capsys, found):
    """Printed output with spaces collapsed."""
    print_report(to_json(found, CompareConfig(), {}), "skip")
    lines = [" ".join(line.split()) for line in capsys.readouterr().out.splitlines()]
    return [line for line in lines if line]


FEW = {
    "items": "fewer than 30 items, so intervals and tests are rough",
    "units": "items of fewer than 30 pairs, topics or words, so intervals and tests are rough",
}


@pytest.mark.parametrize(
    ("made_of", "number", "few"),
    [
        (None, 29, "items"),
        (None, 30, None),
        # questions of two pairs each, or pairs of two words, that share them
        ("units", 29, "units"),
        ("units", 30, None),
        ("words", 29, "units"),
    ],
)
def test_a_score_on_few_items_or_units_says_so(capsys, made_of, number, few):
    numbers = {} if made_of is None else {made_of: np.arange(80).reshape(40, 2) % number}
    used = number if made_of is None else 40
    found = comparison(
        scored("a", 0.5, used=used, own=40, note="odd", **numbers),
        scored("one-hot", None, used=used),
    )

    lines = table(capsys, found)
    shared, own, nothing, _ = to_json(found, CompareConfig(), {})["results"]

    row, *_ = [line for line in lines if " a " in line]
    assert ("0.500 *~" in row) == (few is not None)
    assert [f"~ {text}" in lines for text in FEW.values()] == [few == what for what in FEW]
    assert shared["remark"] == (f"odd; {FEW[few]}" if few else "odd")
    assert shared.get("few") == few
    assert own["remark"] == ("odd" if made_of is None else shared["remark"])
    assert "remark" not in nothing  # an undefined score has its reason


def test_json_fields_and_null_with_a_reason():
    found = comparison(
        scored("a", 0.5, own=41),
        scored("one-hot", None, reason=EQUAL),
        pairs=[pair("a", "random", 0.125)],
    )

    shared = {"task": "similarity", "dataset": "über", "metric": "spearman"}
    nothing = {"score": None, "low": None, "high": None}
    numbers = {"score": 0.5, "low": 0.25, "high": 0.75}

    def items(used, shared_items, known=40):
        counts = {"items_used": used, "items_total": 42}
        return {**counts, "unknown": "zero", "items_known": known, "shared_items": shared_items}

    about = {"a": {"method": "svd", "fingerprint": "0123"}}
    assert to_json(found, CompareConfig(unknown="zero"), about) == {
        "runs": [
            {"run": "a", "method": "svd", "fingerprint": "0123"},
            {"run": "one-hot", "method": "one-hot", "fingerprint": None},
        ],
        "results": [
            {"run": "a", **shared, **numbers, **items(40, True, 41)},
            {"run": "a", **shared, **numbers, **items(41, False, 41)},
            {"run": "one-hot", **shared, **nothing, **items(40, True), "reason": EQUAL},
            {"run": "one-hot", **shared, **nothing, **items(40, False), "reason": EQUAL},
        ],
        "pairs": [
            {"a": "a", "b": "random", **shared}
            | {"difference": 0.25, "low": -0.5, "high": 0.75, "p": 0.125, "family": "runs"}
        ],
    }


def test_json_has_optional_fields_only_if_present_and_null_for_nan():
    about = {"section": "royal", "items_composed": 3, "items_zero": 2}
    pairs = [pair("a", "b", 1.0, section="royal"), pair("a", "b", math.nan)]

    made = to_json(comparison(scored("a", 0.5, **about), pairs=pairs), CompareConfig(), {})

    assert about.items() <= made["results"][0].items()
    of_section, whole = made["pairs"]
    assert of_section["section"] == "royal"
    assert (whole["difference"], whole["p"], "section" in whole) == (0.25, None, False)


def test_the_table_marks_best_and_tied_runs(capsys):
    found = comparison(
        scored("runs/a", 0.25, own=41),
        scored("runs/b", 0.5),
        scored("runs/c", 0.375),
        scored("runs/d", 0.3125),
        scored("one-hot", None, reason=EQUAL),
        scored("runs/a", -0.125, set_index=1),
        scored("runs/b", -0.25, set_index=1),
        pairs=[
            pair("runs/a", "runs/b", 0.05),
            pair("runs/b", "runs/c", 0.051),
            pair("runs/a", "runs/c", 0.9),  # neither is the best
            pair("runs/b", "runs/d", math.nan),  # no test says that it is worse
            pair("runs/a", "runs/b", 0.01, set_index=1),
        ],
    )

    lines = table(capsys, found)

    assert lines[:9] == [
        "dataset metric run score 95 % items coverage",
        lines[1],
        "über spearman a 0.250 .000 .500 40 41/42",
        "b 0.500 * .250 .750 40 40/42",
        "c 0.375 = .125 .625 40 40/42",
        "d 0.312 ? .062 .562 40 40/42",
        "one-hot undefined 40 40/42",
        "über spearman a -0.125 * -.375 .125 40 40/42",
        "b -0.250 -.500 .000 40 40/42",
    ]
    assert lines[-2:] == [
        f"on items covered by all runs; {MARKS}",
        f"undefined: one-hot on über: {EQUAL}",
    ]


def test_marks_are_separate_per_metric_and_section(capsys):
    found = comparison(
        *[
            scored(run, value, metric=metric, section=section)
            for metric, section in (("spearman", None), ("pearson", None), ("spearman", "one"))
            for run, value in (("a", 0.5), ("b", 0.25))
        ],
        pairs=[pair("a", "b", 0.01), pair("a", "b", 0.01, section="one")],
    )

    # the mark, or else the score, precedes interval, items and coverage
    marks = [line.split()[-5] for line in table(capsys, found) if line.endswith(" 40/42")]

    assert [mark if mark in "*=?" else "" for mark in marks] == ["*", "", "*", "?", "*", ""]


@pytest.mark.parametrize("seeds", [False, True])
@pytest.mark.parametrize("section", [None, "gram1-adjective-to-adverb"])
def test_the_table_fits_a_hundred_columns_of_a_terminal(capsys, monkeypatch, section, seeds):
    monkeypatch.setattr("firth.embed.compare.report.terminal.name_room", lambda width: width)
    about = {
        "task": "analogy",
        "dataset": "questions-words",
        "metric": "accuracy_pairdirection",
        "section": section,
    }
    names = [f"/data/{letter}/{letter * 40}" for letter in "abc"]
    found = comparison(
        *[scored(name, -0.25, used=11_608, **about) for name in names],
        scored("one-hot", None, **about, reason="no question has all its words"),
        pairs=[pair(names[0], names[1], 1.0)],
    )
    if seeds:
        scores = [replace(s, deviation=0.0123) for s in found.scores]
        found = replace(found, scores=scores, groups=dict.fromkeys(names, ("one", "two")))

    print_report(to_json(found, CompareConfig(), {}), "skip")

    lines = capsys.readouterr().out.splitlines()
    assert max(map(len, lines[:12])) <= 100
    for letter in "abc":  # each in one row, not folded
        [row] = [line for line in lines if f"…{letter * (12 if seeds else 15)}" in line]
        assert row.rstrip().endswith("11608/19544")
        assert ("±.012" in row) == seeds
    start = "questions-wo" if section is None else ": gram1-ad"  # perhaps cut, no bare colon
    assert any(line.strip().startswith(start) for line in lines)
    assert any("pairdirection" in line for line in lines)


def test_names_are_whole_and_rows_unfolded_in_a_file_or_pipe(capsys):
    run, section = f"out/{'long-' * 12}run", f"section-{'of-an-analogy-set-' * 6}"
    found = comparison(scored(run, 0.25, section=section, dataset="d", task="analogy"))

    [row] = [line for line in table(capsys, found) if line.endswith("/42")]

    assert f": {section} " in row
    assert f" {Path(run).name} " in row


@pytest.mark.parametrize(
    ("folders", "names"), [("xy", "ss"), ("oo", ["small-skipgram-w5", "large-skipgram-w5"])]
)
def test_runs_are_named_by_their_paths_only_if_they_share_a_name(capsys, folders, names):
    paths = [f"{folder}/{name}" for folder, name in zip(folders, names, strict=True)]
    found = comparison(scored(paths[0], 0.25), scored(paths[1], 0.5))

    first, second = (line.split() for line in table(capsys, found) if line.endswith("/42"))

    assert [first[2], second[0]] == (paths if names == "ss" else names)


def test_composed_and_zero_vectors_are_counted_once_below_the_table(capsys):
    found = comparison(
        scored("a", 0.5, own=41, items_composed=3, items_zero=2),
        scored("a", 0.25, own=41, items_composed=3, items_zero=2, metric="pearson"),
    )

    assert table(capsys, found)[-2:] == [
        "composed: a on über: 3 of 41 items have a word composed of n-grams, pieces or parts",
        "zero: a on über: 2 of 41 items have a word with a zero vector",
    ]

    probed = comparison(scored("a", 0.5, own=41, items_zero=2, task="sentences"))
    assert table(capsys, probed)[-1] == (
        "unknown: a on über: 2 of 41 items have a word without a vector"
    )


def test_a_level_of_chance_is_told_once_for_metrics_that_share_it(capsys):
    found = comparison(
        *(scored("a", 0.5, metric=metric, chance=0.5) for metric in ("accuracy", "attention")),
        scored("a", 0.5, dataset="wic", metric="auc", chance=0.5),
        scored("a", 0.5, dataset="wic", metric="accuracy", chance=0.625),
        scored("a", 0.5, set_index=1, task="tagging", metric="accuracy", chance=0.75),
    )

    assert table(capsys, found)[-1] == (
        "chance: über .500; wic auc .500, accuracy .625; über .750 (guessing, or always the most "
        "frequent answer)"
    )


def test_held_out_losses_that_are_not_numbers_are_null_in_json():
    rows = compare_losses({"a": np.zeros((2, 3)), "b": np.zeros((1, 3))}, np.zeros(3))

    [a, b] = json.loads(json.dumps(held_out_json(rows), allow_nan=False))

    assert a == {"run": "a", "units": 0, "loss": None, "standard_error": None, "deviation": None}
    assert (b["loss"], b["behind_loss"], b["behind_standard_error"]) == (None, None, None)
