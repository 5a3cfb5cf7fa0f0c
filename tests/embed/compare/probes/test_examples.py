"""Standardization of the inputs of probes."""

import numpy as np
import pytest
import scipy.sparse

from firth.embed.compare.probes.examples import standardized


def test_dense_dimensions_get_mean_0_and_variance_1_over_training_words():
    rng = np.random.default_rng(1)
    table = (rng.normal(size=(9, 3)) * [1, 5, 0] + [0, 70, 4]).astype(np.float32)
    rows = np.array([0, 0, 1, 5, 7])

    taken = standardized(table, rows)[rows]

    assert taken.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-5)
    assert taken.std(axis=0) == pytest.approx([1, 1, 0], abs=1e-5)


def test_sparse_vectors_get_mean_squared_length_1():
    table = scipy.sparse.csr_matrix(np.array([[3, 0], [0, 4], [9, 9]], dtype=np.float32))

    lengths = standardized(table, np.array([0, 1])).power(2).sum(axis=1)

    assert np.asarray(lengths).ravel()[:2].mean() == pytest.approx(1)
    assert (table[0, 0], table[1, 1]) == (3, 4)


def test_rare_mark_dimensions_are_not_rescaled():
    rng = np.random.default_rng(1)
    flags = np.zeros((1001, 2))
    flags[3, 0] = flags[-1, 0] = 1  # an unknown word, and the padding
    table = np.hstack([rng.normal(size=(1001, 3)), flags]).astype(np.float32)

    found = standardized(table, np.arange(1000), n_flags=2)

    assert found[:, 3:].tolist() == flags.tolist()
    assert found[:1000, :3].std(axis=0) == pytest.approx([1, 1, 1], abs=1e-5)
