"""One-hot and random baselines."""

import numpy as np
import pytest
import scipy.sparse

from firth.embed.compare.inputs.baselines import one_hot, random_vectors
from firth.embed.protocols import StaticVectors


def test_one_hot_vectors_are_a_sparse_identity():
    vectors = one_hot(["a", "b", "c"])
    assert isinstance(vectors, StaticVectors)
    assert scipy.sparse.issparse(vectors.matrix)
    assert vectors.matrix.dtype == np.float32
    assert np.array_equal(vectors.matrix.toarray(), np.eye(3))
    assert vectors.name == "one-hot"
    assert vectors.row("c") == 2


def test_a_random_vector_depends_only_on_seed_and_word():
    few = random_vectors(["b", "a"], 5, seed=1)
    many = random_vectors(["a", "c", "b"], 5, seed=1)
    assert np.array_equal(few.matrix[0], many.matrix[2])
    assert np.array_equal(few.matrix[1], many.matrix[0])
    assert not np.array_equal(few.matrix, random_vectors(["b", "a"], 5, seed=2).matrix)
    assert few.name == "random"


def test_random_vectors_do_not_change_between_versions():
    assert random_vectors(["king"], 3, seed=0).matrix[0] == pytest.approx(
        [1.0476, -0.1909, 1.5224], abs=1e-4
    )


def test_random_vectors_are_standard_normal():
    matrix = random_vectors([f"w{n}" for n in range(4000)], 51, seed=7).matrix.astype(np.float64)
    n = matrix.size
    # each bound is five standard errors: a false alarm in about 1 of 2 million
    assert abs(matrix.mean()) < 5 / n**0.5
    assert abs((matrix**2).mean() - 1) < 5 * (2 / n) ** 0.5
    assert abs((matrix**4).mean() - 3) < 5 * (96 / n) ** 0.5
    assert abs((matrix[:, :-1] * matrix[:, 1:]).mean()) < 5 / (n * 50 / 51) ** 0.5
    assert abs((matrix[:-1] * matrix[1:]).mean()) < 5 / n**0.5
