"""Least squares by cluster, against sums over single occurrences."""

import numpy as np
import pytest

from firth.embed.regress.least_squares import Cells, Fit, jackknife_errors

N_CLUSTERS = 60


@pytest.fixture(scope="module")
def drawn():
    """Occurrences in clusters, whose vectors share a part: design, vectors, clusters."""
    rng = np.random.default_rng(1)
    clusters = np.sort(rng.integers(0, N_CLUSTERS, 400))
    clusters = np.unique(clusters, return_inverse=True)[1]
    party = rng.integers(0, 2, N_CLUSTERS)[clusters]
    year = rng.normal(0, 1, len(clusters)).round(1)  # differs inside a cluster
    design = np.stack([np.ones(len(clusters)), party, year], axis=1)
    vectors = rng.normal(0, 1, (len(clusters), 5)) + rng.normal(0, 1, (N_CLUSTERS, 5))[clusters]
    return design, vectors + np.outer(party, [1, 0, 0, 0, 0]), clusters


def added(design, vectors, clusters):
    """Add up occurrences of a cluster and covariates, one by one."""
    sums = {}
    for row, vector, cluster in zip(design, vectors, clusters, strict=True):
        size, total = sums.get((cluster, *row), (0, 0.0))
        sums[cluster, *row] = (size + 1, total + vector)
    keys = sorted(sums)
    return Cells(
        np.array([key[1:] for key in keys]),
        np.array([float(sums[key][0]) for key in keys]),
        np.array([sums[key][1] for key in keys]),
        np.array([key[0] for key in keys]),
    )


def by_occurrence(design, vectors, clusters):
    """Return the coefficients, and squared lengths less their variances by cluster."""
    inverse = np.linalg.inv(design.T @ design)
    found = inverse @ design.T @ vectors
    residuals = vectors - design @ found
    n, k = design.shape
    numbers = np.unique(clusters)
    meat = np.zeros((vectors.shape[1], k, k))
    for cluster in numbers:
        own = clusters == cluster
        score = design[own].T @ residuals[own]  # (k, D)
        meat += np.einsum("kd,ld->dkl", score, score)
    few = len(numbers) / (len(numbers) - 1) * (n - 1) / (n - k)
    variances = few * np.einsum("jk,dkl,jl->jd", inverse, meat, inverse).sum(axis=1)
    return found, (found**2).sum(axis=1) - variances


def test_a_fit_of_cells_is_that_of_occurrences(drawn):
    fit = Fit(added(*drawn), N_CLUSTERS, 1)
    found, debiased = by_occurrence(*drawn)
    np.testing.assert_allclose(fit.coefficients, found)
    lengths, less, _ = fit.squared()
    np.testing.assert_allclose(lengths, (found**2).sum(axis=1))
    np.testing.assert_allclose(less, debiased)


def test_units_of_a_number_change_nothing_but_its_own_coefficient(drawn):
    """Such as inhabitants in place of millions."""
    units = np.array([1, 1, 1e-9])
    design, vectors, clusters = drawn
    plain = Fit(added(design, vectors, clusters), 20, 1).squared()
    large = Fit(added(design / units, vectors, clusters), 20, 1).squared()
    np.testing.assert_allclose(large, plain * units**2, rtol=1e-6)


def test_draws_are_fits_without_each_cluster(drawn):
    fit = Fit(added(*drawn), N_CLUSTERS, 1)
    design, vectors, clusters = drawn
    without = [
        np.linalg.lstsq(design[clusters != c], vectors[clusters != c], rcond=None)[0]
        for c in range(N_CLUSTERS)
    ]
    order = np.argsort([fit.groups[fit.cells.clusters == c][0] for c in range(N_CLUSTERS)])
    np.testing.assert_allclose(fit.draws, np.array(without)[order])


def test_the_error_is_near_that_of_other_samples():
    rng = np.random.default_rng(2)
    values, errors = [], []
    for _ in range(200):
        design = np.stack([np.ones(120), rng.integers(0, 2, 120)], axis=1).astype(float)
        vectors = rng.normal(0, 1, (120, 4)) + np.outer(design[:, 1], [0.8, 0, 0, 0])
        _, less, error = Fit(Cells(design, np.ones(120), vectors, np.arange(120)), 40, 1).squared()
        values.append(less[1])
        errors.append(error[1])
    assert np.mean(values) == pytest.approx(0.64, abs=0.06)  # without bias
    assert np.mean(errors) == pytest.approx(np.std(values), rel=0.15)


def test_jackknife_errors_of_means_are_the_usual_ones():
    numbers = np.random.default_rng(3).normal(0, 1, 30)
    without = (numbers.sum() - numbers) / 29
    assert jackknife_errors(without) == pytest.approx(numbers.std(ddof=1) / np.sqrt(30))


def test_a_permuted_contrast_is_least_squares_on_dealt_out_groups():
    rng = np.random.default_rng(4)
    group = rng.integers(0, 2, 50).astype(float)
    vectors = rng.normal(0, 1, (50, 3))
    cells = Cells(np.stack([np.ones(50), group], 1), np.ones(50), vectors, np.arange(50))
    found = Fit(cells, 20, 7).contrast(np.array([0.0, 1.0]), np.array([1.0, 0.0]), 30)
    generator = np.random.default_rng([7, 1])
    reached = 1
    for n in range(30):
        dealt = generator.permutation(group - group.mean()) + group.mean()
        design = np.stack([np.ones(50), dealt], 1)
        first, difference = np.linalg.lstsq(design, vectors, rcond=None)[0]
        np.testing.assert_allclose(found.permuted[n], difference, atol=1e-12)
        np.testing.assert_allclose(found.rows[n], first, atol=1e-12)
        statistic, observed = (
            ((x @ vectors) ** 2).sum() / (x**2 @ ((vectors - vectors.mean(0)) ** 2).sum(1))
            for x in (dealt - dealt.mean(), group - group.mean())
        )
        reached += statistic >= observed
    np.testing.assert_allclose(
        found.value, vectors[group == 1].mean(0) - vectors[group == 0].mean(0)
    )
    assert found.p == reached / 31


@pytest.mark.parametrize("effect", [0.0, 1.0])
def test_p_is_small_for_effects_alone_while_another_covariate_matters(effect):
    p = []
    for seed in range(200):
        rng = np.random.default_rng(seed)
        sizes = rng.integers(1, 9, 40)
        party = rng.integers(0, 2, 40)
        year = party + rng.normal(0, 1, 40)  # known in part from the party
        design = np.stack([np.ones(40), party, year], axis=1)
        means = np.outer(year, [1.0, 0, 0]) + np.outer(party, [0, effect, 0])
        noise = rng.normal(0, 0.5, (40, 3)) + rng.normal(0, 1, (40, 3)) / np.sqrt(sizes)[:, None]
        sums = sizes[:, None] * (means + noise)
        fit = Fit(Cells(design, sizes.astype(float), sums, np.arange(40)), 20, seed)
        p.append(fit.contrast(np.array([0.0, 1, 0]), design[0], 59).p)
    share = np.mean(np.array(p) <= 0.05)
    assert share > 0.3 if effect else 0.015 <= share <= 0.095
