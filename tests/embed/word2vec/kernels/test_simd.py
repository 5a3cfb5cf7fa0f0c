"""Vector instructions against plain NumPy."""

import inspect
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from numba import njit

from firth.embed.word2vec.kernels import simd as kernels
from firth.embed.word2vec.kernels.simd_ir import BLOCK, LANES, SLOT

ROOT = Path(__file__).resolve().parents[4]
WIDTHS = [16, 32, 112, 304]
N_ROWS = 9
U = 2.0**-24  # unit roundoff of float32


def called(intrinsic):
    """Return a compiled function that calls an intrinsic, which Python cannot."""
    _, *names = inspect.signature(intrinsic._defn).parameters
    arguments = ", ".join(names)
    return njit(eval(f"lambda {arguments}: intrinsic({arguments})", {"intrinsic": intrinsic}))


score_pair, score_one, score_to_step = map(
    called, (kernels.score_pair, kernels.score_one, kernels.score_to_step)
)
step_block, step_one = called(kernels.step_block), called(kernels.step_one)
sum_rows, add_to_rows = called(kernels.sum_rows), called(kernels.add_to_rows)
prefetch_row = called(kernels.prefetch_row)


def normal(seed, *shape):
    """Return normal random numbers, float32."""
    return np.random.default_rng(seed).normal(size=shape).astype(np.float32)


def close(found, expected):
    """Compare sums of at most ten terms whose absolute values add up to 30 or less: 10 u 30."""
    np.testing.assert_allclose(found, expected, rtol=0, atol=10 * U * 30)


def assert_are_products(found, rows, outputs):
    """Compare dot products: each lane sums its terms one by one, then four folds sum the lanes."""
    rows, outputs = rows.astype(np.float64), outputs.astype(np.float64)
    bound = (rows.shape[-1] / LANES + 5) * U * (np.abs(rows) @ np.abs(outputs).T)
    assert (np.abs(found - rows @ outputs.T) <= bound).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [[0, 1, 2, 3, 4, 5], [7, 7, 2, 7, 0, 2]])
def test_scores_of_two_rows_are_their_products(width, rows):
    inputs, outputs = normal(1, N_ROWS, width), normal(2, N_ROWS, width)
    offsets = np.array([99, *rows]) * width  # the first is not of this block
    scores = np.full(5 * SLOT, -1, dtype=np.float32)

    score_pair(inputs.ravel(), 3 * width, 8 * width, outputs.ravel(), offsets, 1, width, scores, 8)

    found = scores.reshape(5, SLOT)
    assert_are_products(found[1:3, :BLOCK], inputs[[3, 8]], outputs[rows])
    assert (found[[0, 3, 4]] == -1).all()


@pytest.mark.parametrize("width", WIDTHS)
def test_scores_of_one_row_are_its_products(width):
    row, outputs = normal(1, width), normal(2, N_ROWS, width)
    rows = [5, 0, 8, 5, 1, 2]
    scores = np.empty(LANES, dtype=np.float32)

    score_one(row, outputs.ravel(), np.array(rows) * width, 0, width, scores)

    assert_are_products(scores[:BLOCK], row, outputs[rows])


def steps_of(scores, labels, rate=1.0):
    """Return steps and likelihoods, computed LANES at a time."""
    scores = np.array(scores, dtype=np.float32)
    labels = np.broadcast_to(np.float32(labels), scores.shape).copy()
    likelihoods = np.ones(len(scores))
    for place in range(0, len(scores), LANES):
        some = likelihoods[place : place + LANES]
        score_to_step(scores, place, labels, place, np.float32(rate), some)
    return scores, likelihoods


# relative error of polynomial and division; rounding of the score adds u times its size
ACCURACY = 5e-7


def assert_relatively_near(found, expected, scores, atol=0.0):
    """Compare within the accuracy of the exponential at each score."""
    bound = (ACCURACY + U * np.abs(scores)) * np.abs(expected) + atol
    assert (np.abs(found - expected) <= bound).all()


def test_the_sigmoid_is_accurate_for_large_and_small_scores():
    scores = np.concatenate(
        [np.linspace(-29.9, 29.9, 40_000), np.linspace(-1, 1, 10_000), [0] * LANES]
    ).astype(np.float32)
    wide = scores.astype(np.float64)
    sigmoid, other = 1 / (1 + np.exp(-wide)), 1 / (1 + np.exp(wide))

    of_noise, likelihood_of_noise = steps_of(scores, 0)
    of_text, likelihood_of_text = steps_of(scores, 1)

    assert_relatively_near(-of_noise, sigmoid, wide)
    assert_relatively_near(likelihood_of_noise, other, wide)
    assert_relatively_near(likelihood_of_text, sigmoid, wide)
    # 1 - sigmoid is a difference: exact to half a unit in the last place of 1
    assert_relatively_near(of_text, other, wide, atol=2e-7)


def test_scores_are_clipped_at_30():
    scores = [31, 88, 1e4, 3e38, np.inf, 30, 0, 0] * 2
    for sign in (1, -1):
        for label in (0, 1):
            steps, likelihoods = steps_of(np.multiply(sign, scores), label, rate=0.5)
            assert np.isfinite(steps).all()
            assert (steps[:5] == steps[5]).all()
            assert (likelihoods[:5] == likelihoods[5]).all()
            right = (sign > 0) == (label == 1)
            assert likelihoods[0] == pytest.approx(
                1 if right else np.exp(-30), rel=ACCURACY + 30 * U, abs=0
            )


def test_nan_scores_stay_nan_except_in_padding():
    steps, likelihoods = steps_of([np.nan] * LANES, 1)
    assert np.isnan(steps).all()
    assert np.isnan(likelihoods).all()
    steps, likelihoods = steps_of([np.nan] * LANES, -1)
    assert (steps == 0).all()
    assert (likelihoods == 1).all()


def test_steps_use_the_learning_rate_and_the_label_at_their_place():
    scores = np.zeros(3 * LANES, dtype=np.float32)
    labels = np.array([9] * LANES + [1, 0, -1, -1] * 4, dtype=np.float32)
    likelihoods = np.full(LANES, 0.5)

    score_to_step(scores, SLOT, labels, LANES, np.float32(0.25), likelihoods)

    assert scores[SLOT : SLOT + LANES].tolist() == [0.125, -0.125, 0, 0] * 4
    assert not scores[:SLOT].any()
    assert not scores[SLOT + LANES :].any()
    assert likelihoods.tolist() == [0.25, 0.25, 0.5, 0.5] * 4


def test_likelihoods_are_multiplied():
    scores = normal(3, 4, LANES)
    likelihoods = np.ones(LANES)
    for row in scores:
        score_to_step(row.copy(), 0, np.ones(LANES, np.float32), 0, np.float32(1), likelihoods)
    expected = (1 / (1 + np.exp(-scores.astype(np.float64)))).prod(axis=0)
    np.testing.assert_allclose(likelihoods, expected, rtol=4 * ACCURACY)


def naive_update(inputs, rows, outputs, targets, steps):
    """Update both tables by the definition, row by row."""
    places, result_offsets, shares = targets
    right = outputs[places]  # a copy
    gains = np.zeros_like(right)
    for n, row in enumerate(rows):
        left = inputs[row].copy()
        inputs[row] += steps[n] @ right
        gains += np.outer(steps[n], left)
    for place, result, share, gain in zip(places, result_offsets, shares, gains, strict=True):
        outputs[result] = share * outputs[place] + gain


# rows of the outputs, rows to write to, and shares of the outputs themselves; rows from 9 on are
# not outputs
IN_PLACE = ([0, 1, 2, 3, 4, 5],) * 2 + ([1] * 6,)
SEVERAL_TIMES = ([1, 1, 6, 3, 1, 6],) * 2 + ([1] * 6,)
ELSEWHERE = ([0, 8, 2, 3, 4, 5], [9, 16, 11, 10, 12, 17], [0] * 6)
MIXED = ([0, 7, 2, 7, 4, 5], [9, 7, 11, 7, 4, 17], [0, 1, 1, 1, 1, 0])
TWO_GAINS_OF_ONE = ([3, 3, 2, 8, 8, 2], [9, 10, 2, 11, 12, 2], [0, 0, 1, 0, 0, 1])
TARGETS = [IN_PLACE, SEVERAL_TIMES, ELSEWHERE, MIXED, TWO_GAINS_OF_ONE]


def offsets_of(targets, width):
    """Return offsets and shares in the form of the kernels, starting at the third entry."""
    places, result_offsets, shares = targets
    return (
        np.array([-1, -1, *places]) * width,
        np.array([-1, -1, *result_offsets]) * width,
        np.array([np.nan, np.nan, *shares], dtype=np.float32),
    )


@pytest.mark.slow
@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [[4], [0, 3, 6, 8], [2, 5, 2, 2, 7], []])
@pytest.mark.parametrize("targets", TARGETS)
def test_step_block_updates_inputs_and_writes_outputs(width, rows, targets):
    inputs, outputs = normal(1, N_ROWS, width), normal(2, 2 * N_ROWS, width)
    steps = 0.1 * normal(3, len(rows) + 1, SLOT)
    expected = inputs.astype(np.float64), outputs.astype(np.float64)
    naive_update(expected[0], rows, expected[1], targets, steps[:, :BLOCK])
    places, result_offsets, shares = offsets_of(targets, width)
    before = outputs.copy()

    step_block(
        inputs.ravel(), np.array([*rows, 0]) * width, len(rows),
        outputs.ravel(), places, 2, result_offsets, shares, width, steps.ravel(),
    )  # fmt: skip

    close(inputs, expected[0])
    close(outputs, expected[1])
    others = np.setdiff1d(np.arange(len(outputs)), targets[1])
    assert (outputs[others] == before[others]).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("targets", TARGETS)
def test_step_one_writes_outputs_and_adds_to_the_gain(width, targets):
    row, gain, outputs = normal(1, width), normal(2, width), normal(3, 2 * N_ROWS, width)
    steps = 0.1 * normal(4, SLOT)
    wide_row, wide_outputs = row[None].astype(np.float64), outputs.astype(np.float64)
    naive_update(wide_row, [0], wide_outputs, targets, steps[None, :BLOCK])
    expected_gain = gain + wide_row[0] - row
    places, result_offsets, shares = offsets_of(targets, width)
    before = row.copy(), outputs.copy()

    step_one(row, gain, outputs.ravel(), places, 2, result_offsets, shares, width, steps)

    assert (row == before[0]).all()
    close(gain, expected_gain)
    close(outputs, wide_outputs)
    others = np.setdiff1d(np.arange(len(outputs)), targets[1])
    assert (outputs[others] == before[1][others]).all()


@pytest.mark.parametrize("width", WIDTHS)
@pytest.mark.parametrize("rows", [[3], [0, 8, 1], [5, 2, 5, 5], []])
def test_sum_rows_and_add_to_rows_match_numpy(width, rows):
    table, totals = normal(1, N_ROWS, width), normal(2, 3, width)
    offsets = np.array([*rows, 0]) * width
    before = totals.copy()

    sum_rows(table.ravel(), offsets, len(rows), width, np.float32(0.3), totals.ravel(), width)

    close(totals[1], 0.3 * table[rows].sum(axis=0))
    assert (totals[[0, 2]] == before[[0, 2]]).all()
    expected = table.astype(np.float64)
    np.add.at(expected, rows, totals[1])
    add_to_rows(table.ravel(), offsets, len(rows), width, totals.ravel(), width)
    close(table, expected)


def test_the_sum_of_one_row_is_bit_identical_to_it():
    table, totals = normal(1, 2, 32), np.empty(32, dtype=np.float32)
    sum_rows(table.ravel(), np.array([32]), 1, 32, np.float32(1), totals, 0)
    assert totals.tobytes() == table[1].tobytes()


def test_prefetching_a_row_changes_nothing():
    table = normal(1, N_ROWS, 112)
    before = table.copy()
    prefetch_row(table.ravel(), 8 * 112, 112)
    assert (table == before).all()


# Run in a process of its own: numba chooses the processor when it is imported.
ON_ANOTHER_PROCESSOR = """
import sys
import pytest
from numba.core.config import CPU_NAME
from firth.embed.svd import product_kernels

here = "tests/embed/word2vec/kernels/test_simd.py"
status = pytest.main(["-p", "no:xdist", "-p", "no:cacheprovider", here,
    "tests/embed/svd/test_truncated_svd.py::test_multiply_rows_matches_the_definition",
    "--deselect", here + "::test_kernels_work_on_a_processor_without_wide_vectors"])
assert status == 0, status
assert CPU_NAME == "generic"
tested = sys.modules["tests.embed.word2vec.kernels.test_simd"]
kernels = [product_kernels.multiply_rows, tested.score_pair]
for kernel in kernels:
    (assembly,) = kernel.inspect_asm().values()
    assert len(assembly) > 1000
    assert "ymm" not in assembly and "zmm" not in assembly
"""


@pytest.mark.process
def test_kernels_work_on_a_processor_without_wide_vectors(tmp_path):
    # "generic" is the baseline of an architecture: on x86-64, vectors of four floats and no fused
    # multiply-add. Code from numba's cache cannot be inspected, so the cache is empty.
    generic = {"NUMBA_CPU_NAME": "generic", "NUMBA_CPU_FEATURES": ""}
    about = {**os.environ, **generic, "NUMBA_CACHE_DIR": str(tmp_path)}
    subprocess.run([sys.executable, "-c", ON_ANOTHER_PROCESSOR], cwd=ROOT, env=about, check=True)
