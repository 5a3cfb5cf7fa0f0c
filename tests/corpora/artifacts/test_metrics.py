"""metrics.jsonl: lines are appended, and trimmed when training resumes; errors of losses."""

import json
import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.artifacts.metrics import HeldOutLoss, Metrics, read_metrics


def test_resuming_drops_lines_of_repeated_steps(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path)
    for step in range(5):
        metrics.write(step=step, loss=step / 2)
    metrics = Metrics(path, 3)
    metrics.write(step=3, loss=9.0)
    assert [line["step"] for line in read_metrics(path)] == [0, 1, 2, 3]
    assert read_metrics(path)[-1] == {"step": 3, "loss": 9.0}
    assert [child.name for child in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_truncated_line_is_ignored_and_a_missing_file_has_none(tmp_path):
    path = tmp_path / "metrics.jsonl"
    assert read_metrics(path) == []
    path.write_text('{"step": 1}\n{"step": 2, "lo')
    assert read_metrics(path) == [{"step": 1}]
    Metrics(path, 1).write(step=2)
    assert read_metrics(path) == [{"step": 1}, {"step": 2}]


def test_nan_and_infinity_become_null(tmp_path):
    path = tmp_path / "metrics.jsonl"
    Metrics(path).write(loss=float("nan"), rate=float("inf"), step=1)

    def refuse(name):
        raise AssertionError(name)

    assert json.loads(path.read_text(), parse_constant=refuse) == {
        "loss": None, "rate": None, "step": 1,
    }  # fmt: skip


def test_a_standard_error_worked_by_hand():
    # mean 12 / 6 = 2; residuals 3 - 2, 2 - 2, 7 - 8: sqrt(3 / 2 * (1 + 0 + 1)) / 6
    loss = HeldOutLoss.of_units(np.array([3.0, 2.0, 7.0]), np.array([1, 1, 4]))
    assert loss == HeldOutLoss(2.0, math.sqrt(3) / 6, 3)


def naive_error(units: list[list[float]]) -> float:
    """The definition, pair by pair."""
    n, n_pairs = len(units), sum(map(len, units))
    mean = sum(map(sum, units)) / n_pairs
    scatter = sum(sum(loss - mean for loss in unit) ** 2 for unit in units)
    return math.sqrt(n / (n - 1) * scatter) / n_pairs


@given(st.lists(st.lists(st.floats(0, 9), min_size=1, max_size=5), min_size=2, max_size=9))
def test_the_standard_error_matches_the_naive_twin(units):
    losses, counts = np.array([sum(unit) for unit in units]), np.array([len(u) for u in units])
    expected = naive_error(units)
    # units without pairs change nothing
    found = HeldOutLoss.of_units(np.append(losses, 0.0), np.append(counts, 0))
    assert found.n_units == len(units)
    # both sum up to 45 numbers below 45, rounded to 2^-53 each: errors add up to less than 1e-12
    assert found.standard_error == pytest.approx(expected, abs=1e-12)


def test_intervals_by_unit_cover_the_true_loss_and_intervals_by_pair_do_not():
    # Units of 1 to 200 pairs share a random effect with half of the variance. From 40 units an
    # interval of 1.96 errors covers 93.6 %, a little less than 95 %; the share measured on 2,000
    # texts deviates by 0.55 %. The bounds are four deviations away: passed by chance once in 15,000
    # changes of the random numbers. Errors as if pairs were independent cover 19 % (0.9 %).
    rng, covered, naively = np.random.default_rng(2), 0, 0
    for _ in range(2_000):
        counts = rng.integers(1, 201, size=40)
        effects = 3 + rng.normal(size=40)
        losses = counts * effects + np.sqrt(counts) * rng.normal(size=40)
        loss = HeldOutLoss.of_units(losses, counts)
        covered += abs(loss.mean - 3) < 1.96 * loss.standard_error
        naively += abs(loss.mean - 3) < 1.96 * math.sqrt(2 / counts.sum())
    assert 0.914 < covered / 2_000 < 0.958
    assert naively / 2_000 < 0.25


def test_from_five_units_an_interval_of_students_t_covers():
    # 2.776 is the 97.5 % point of t with 4 degrees of freedom; 1.96 covers 87 %. The deviation of a
    # share of 95 % in 2,000 texts is 0.5 %, the bounds are four deviations away (once in 15,000)
    rng, covered = np.random.default_rng(3), 0
    for _ in range(2_000):
        counts = rng.integers(100, 201, size=5)
        losses = counts * (3 + rng.normal(size=5)) + np.sqrt(counts) * rng.normal(size=5)
        loss = HeldOutLoss.of_units(losses, counts)
        covered += abs(loss.mean - 3) < 2.776 * loss.standard_error
    assert 0.93 < covered / 2_000 < 0.97


@pytest.mark.parametrize(
    ("loss", "shown", "warned"),
    [
        ((2.17436, 0.0312, 40), "2.174 ± 0.031", False),
        ((2.17436, 0.00423, 40), "2.1744 ± 0.0042", False),
        ((2.17436, 0.0442, 40), "2.174 ± 0.044", True),  # above 2 %
        ((2.17436, 0.0042, 4), "2.1744 ± 0.0042", True),
        ((6.2, 1.26, 9), "6.2 ± 1.3", True),
        ((2.17436, math.nan, 1), "2.1744", True),
        ((2.0, 0.0, 9), "2.0000 ± 0.0000", False),
    ],
)
def test_a_loss_is_shown_with_the_digits_of_its_error(loss, shown, warned):
    loss = HeldOutLoss(*loss)
    assert str(loss) == shown
    assert loss.warning == (" (too little held-out text to compare)" if warned else "")


def test_losses_survive_the_file_and_earlier_versions_have_no_error(tmp_path):
    loss = HeldOutLoss(2.5, 0.1, 7)
    Metrics(tmp_path / "m").write(**loss.to_line())
    assert HeldOutLoss.from_line(read_metrics(tmp_path / "m")[0]) == loss
    old = HeldOutLoss.from_line({"held_out_loss": 2.5, "held_out_pairs": 9})
    assert (str(old), old.warning) == ("2.5000", "")
    nothing = HeldOutLoss.of_units(np.empty(0), np.empty(0, dtype=np.int64))
    assert nothing.n_units == 0
    assert math.isnan(nothing.mean)
    assert nothing.warning == ""
