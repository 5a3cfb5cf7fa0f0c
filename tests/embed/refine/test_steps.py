"""Linear steps against the definitions on whole arrays."""

import numpy as np
import pytest

from firth.embed.refine import steps
from firth.embed.refine.steps import apply, first_components, moments, whitening, without_top
from firth.embed.vectors.search import unit_matrix


def correlated(n_words=60, dim=6, seed=3):
    """Return vectors with a mean and directions of different variance; rows 5 and 6 are zero."""
    rng = np.random.default_rng(seed)
    rows = rng.standard_normal((n_words, dim)) * np.arange(1, dim + 1)
    rows = rows @ np.linalg.qr(rng.standard_normal((dim, dim)))[0] + 2
    rows[5:7] = 0
    return rows.astype(np.float32), rows.any(axis=1)


ROWS, SOME = correlated()


def naive_center(rows):
    """Subtract the mean of the rows that are not zero from these."""
    present = [row for row in rows if row.any()]
    mean = sum(present) / len(present)
    return np.array([row - mean if row.any() else row for row in rows])


def naive_components(rows):
    """Return principal components as rows, by the SVD of the centered vectors."""
    return np.linalg.svd(naive_center(rows))[2]


def naive_without_top(rows, n):
    """Algorithm 1 of All-but-the-Top."""
    centered, made = naive_center(rows), []
    for row in centered:
        for component in naive_components(rows)[:n]:
            row = row - (component @ row) * component
        made.append(row)
    return np.array(made)


def naive_dim(rows, n):
    """Coordinates along the first components."""
    return naive_center(rows) @ naive_components(rows)[:n].T


def naive_whiten(rows):
    """Coordinates along all components, each divided by its standard deviation."""
    along = naive_dim(rows, rows.shape[1])
    return along / np.sqrt((along[rows.any(axis=1)] ** 2).mean(axis=0))


def done(rows, some, *maps):
    """Apply steps as refine_vectors does: their maps multiplied."""
    start = space = moments(rows, some)
    by = np.eye(rows.shape[1])
    for map_of in maps:
        part = map_of(space)
        by, space = by @ part, space.mapped(part)
    return apply(rows, start.mean, by, some)


def products(rows):
    """Return what a rotation of the axes does not change."""
    return rows @ rows.T


# rows of about 10 in float32, so products of about 100 to 1e-6 of that
@pytest.mark.parametrize("block", [7, 1 << 14], ids=["blocks", "one"])
@pytest.mark.parametrize(
    ("maps", "naive"),
    [
        ((), naive_center),
        ((lambda space: without_top(space, 2),), lambda rows: naive_without_top(rows, 2)),
        ((lambda space: first_components(space, 3),), lambda rows: naive_dim(rows, 3)),
        ((whitening,), naive_whiten),
        (
            (lambda space: without_top(space, 1), lambda space: first_components(space, 3)),
            lambda rows: naive_dim(naive_without_top(rows, 1), 3),
        ),
        (
            (lambda space: first_components(space, 4), whitening),
            lambda rows: naive_whiten(naive_dim(rows, 4)),
        ),
    ],
    ids=["center", "remove-top", "dim", "whiten", "remove-top, dim", "dim, whiten"],
)
def test_steps_match_their_definitions(maps, naive, block, monkeypatch):
    monkeypatch.setattr(steps, "_BLOCK", block)
    expected = naive(ROWS.astype(np.float64))
    np.testing.assert_allclose(
        products(done(ROWS, SOME, *maps)), products(expected), rtol=1e-4, atol=1e-3
    )


def test_removed_components_have_no_variance_and_whitening_leaves_them_zero():
    white = done(ROWS, SOME, lambda space: without_top(space, 2), whitening)
    assert np.linalg.matrix_rank(white, tol=1e-3) == 4
    np.testing.assert_allclose(np.linalg.svd(white)[1][:4] ** 2, SOME.sum(), rtol=1e-4)


def test_vectors_that_are_zero_stay_zero_and_count_for_nothing():
    made = done(ROWS, SOME, whitening)
    assert not made[~SOME].any()
    np.testing.assert_allclose(made[SOME], done(ROWS[SOME], SOME[SOME], whitening), atol=1e-5)


def test_unit_vectors():
    np.testing.assert_allclose(
        unit_matrix(np.array([[3, 4], [0, 0]], np.float32)), [[0.6, 0.8], [0, 0]]
    )
