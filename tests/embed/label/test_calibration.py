"""Temperatures and calibration errors against their definitions."""

import numpy as np
import pytest

from firth.embed.label.calibration import (
    calibration_error,
    fit_temperature,
    fold_probabilities,
    probabilities,
)


@pytest.fixture(scope="module")
def drawn():
    """Logits three times too large, and labels drawn from the right ones."""
    rng = np.random.default_rng(1)
    logits = rng.normal(size=(4000, 3))
    labels = np.array([rng.choice(3, p=row) for row in probabilities(logits)])
    return 3 * logits, labels


def naive_error(likely, gold):
    """Guo et al. 2017, equation 3, with 15 bins."""
    total, top = 0.0, likely.max(axis=1)
    for number in range(15):
        inside = (top >= number / 15) & (top < (number + 1) / 15)
        if inside.any():
            right = (likely.argmax(axis=1) == gold)[inside].mean()
            total += inside.sum() * abs(right - top[inside].mean())
    return total / len(gold)


def test_the_temperature_of_logits_too_large_is_found_and_corrects_them(drawn):
    scores, gold = drawn
    temperature = fit_temperature(scores, gold)
    # the standard error over such draws is .07
    assert temperature == pytest.approx(3, abs=0.3)
    before, after = (probabilities(scores, each) for each in (1, temperature))
    assert calibration_error(after, gold) < 0.04 < calibration_error(before, gold)


def test_few_items_that_are_all_right_say_little_of_the_temperature():
    scores = np.tile([[0.1, 0.0]], (20, 1))
    assert 0.4 < fit_temperature(scores, np.zeros(20, np.int64)) < 1
    assert 0.4 < fit_temperature(30 * scores, np.zeros(20, np.int64)) < 1.01


def test_the_error_is_that_of_the_definition(drawn):
    likely = probabilities(*drawn[:1])
    assert calibration_error(likely, drawn[1]) == pytest.approx(naive_error(likely, drawn[1]))


def test_each_fold_has_the_temperature_of_the_others(drawn):
    scores, gold = drawn
    folds = np.arange(len(gold)) % 2
    scores = np.where(folds[:, None] == 1, 2 * scores, scores)
    found = fold_probabilities(scores, gold, folds)
    other = fit_temperature(scores[folds == 1], gold[folds == 1])
    assert np.allclose(found[folds == 0], probabilities(scores[folds == 0], other))


def test_impossible_labels_do_not_count(drawn):
    scores, gold = drawn
    more = np.append(scores, [[0, 0, -np.inf]], axis=0)
    assert fit_temperature(more, np.append(gold, 2)) == pytest.approx(
        fit_temperature(scores, gold), rel=1e-3
    )
