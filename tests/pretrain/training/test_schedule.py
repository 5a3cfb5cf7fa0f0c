"""Budgets in steps, epochs or minutes; the learning rate over them."""

import itertools

import pytest

from firth.pretrain.config import MlmConfig
from firth.pretrain.training.schedule import Budget, make_budget, rate_factor


@pytest.mark.parametrize(
    ("options", "steps"),
    [
        ({"steps": 7}, 7),
        ({"epochs": 1.0}, 13),  # 100 rows are 12.5 steps of 8
        ({"epochs": 0.5}, 7),
        ({"epochs": 0.001}, 1),
        ({}, 125),  # ten epochs
    ],
)
def test_budgets_are_rounded_up_to_whole_steps(options, steps):
    config = MlmConfig(sequence_length=16, **options).resolved()
    assert make_budget(config, n_rows=100, batch_rows=8) == Budget(steps=steps)


def test_a_budget_in_minutes_stays_a_time():
    assert make_budget(MlmConfig(minutes=1.5).resolved(), 100, 8) == Budget(seconds=90.0)


def test_progress_ends_at_the_last_step_or_second_and_midpoints_are_those_of_steps():
    steps, time = Budget(steps=4), Budget(seconds=10.0)
    assert [steps.progress(step, 1e9) for step in (3, 4)] == [0.75, 1.0]
    assert time.progress(999, 5.0) == 0.5
    assert [steps.midpoint(step, 0.0) for step in range(4)] == [0.125, 0.375, 0.625, 0.875]
    # however long counting took before the first step
    assert time.midpoint(0, 4.0) == time.midpoint(1, 4.0) == 0.4


def test_the_rate_rises_linearly_then_falls_to_zero():
    values = [rate_factor(n / 1000) for n in range(1001)]
    assert (values[10], values[20], values[510], values[1000]) == (0.5, 1.0, 0.5, 0.0)
    assert all(b > a for a, b in itertools.pairwise(values[:21]))
    assert all(b < a for a, b in itertools.pairwise(values[20:]))
