"""Relative positions: values of distances and of keys, rearranged, against loops.

The layer as a whole is compared with its formula in test_attention.py.
"""

import pytest
import torch

from firth.pretrain.model.relative import by_distance, by_key

SIZES = pytest.mark.parametrize(("n_queries", "n_keys"), [(1, 1), (1, 4), (3, 3), (4, 9), (5, 2)])


@SIZES
def test_each_key_gets_the_value_of_its_distance(n_queries, n_keys):
    x = torch.randn(2, n_queries, n_queries + n_keys - 1)
    found = by_key(x, n_keys)
    assert found.shape == (2, n_queries, n_keys)
    for query in range(n_queries):
        for key in range(n_keys):
            at = key - query + n_queries - 1
            assert torch.equal(found[:, query, key], x[:, query, at])


@SIZES
def test_each_distance_gets_the_value_of_its_key(n_queries, n_keys):
    x = torch.randn(2, n_queries, n_keys)
    found = by_distance(x)
    assert torch.equal(by_key(found, n_keys), x)
    assert (found != 0).sum() == x.numel()
