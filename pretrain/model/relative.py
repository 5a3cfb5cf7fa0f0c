"""Relative positions (Shaw et al. 2018, arXiv:1803.02155): vectors of distances.

A score is q.(k + a) and the output the mean of v + b, where a and b are vectors of the distance
between key and query, learned for each layer and head. Beyond ``REACH`` slots they are those of
``REACH``, as in the paper.
"""

import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import Tensor, nn

REACH = 16
_SIZE = 2 * REACH + 1  # distances from -REACH to REACH


class RelativePositions(nn.Module):
    """Vectors of the distances from -REACH to REACH, of keys and of values, by head."""

    def __init__(self, heads: int, head_dim: int) -> None:
        super().__init__()
        self.of_keys = nn.Parameter(torch.empty(heads, _SIZE, head_dim))
        self.of_values = nn.Parameter(torch.empty(heads, _SIZE, head_dim))

    def products(self, q: Tensor, n_keys: int, first: int) -> Tensor:
        """Return q.a of each query and key; key 0 is ``first`` slots after query 0."""
        # q: float (B, heads, n_queries, head_dim); returns (B, heads, n_queries, n_keys)
        by_vector = q @ self.of_keys.transpose(-1, -2).to(q.dtype)
        return by_key(by_vector @ _selection(q, n_keys, first).T, n_keys)

    def mean(self, weights: Tensor, first: int) -> Tensor:
        """Return the sum of b over the keys, by their weights."""
        # weights: float (B, heads, n_queries, n_keys); returns (B, heads, n_queries, head_dim)
        by_vector = by_distance(weights) @ _selection(weights, weights.shape[-1], first)
        return by_vector @ self.of_values.to(weights.dtype)

    def n_products(self, n_queries: int, n_keys: int) -> int:
        """Count the multiplications of a query: with both tables, and with both selections.

        Selections count two thirds, since they are constant and need no gradient.
        """
        heads, _, head_dim = self.of_keys.shape
        return 2 * heads * _SIZE * head_dim + 4 * heads * _SIZE * (n_queries + n_keys - 1) // 3


def _selection(x: Tensor, n_keys: int, first: int) -> Tensor:
    """Return which vector is that of each distance, 0 or 1, (n_queries + n_keys - 1, 2 REACH + 1).

    Products with it have gradients whose sums are in a fixed order; those of indexing have not.
    """
    distances = torch.arange(1 - x.shape[-2], n_keys, device=x.device) + first
    return F.one_hot(distances.clamp(-REACH, REACH) + REACH, _SIZE).to(x.dtype)


def by_key(x: Tensor, n_keys: int) -> Tensor:
    """Rearrange values of each query and distance by query and key.

    Distances rise from that of the last query and the first key.
    """
    # x: (..., n_queries, n_queries + n_keys - 1); returns (..., n_queries, n_keys)
    n_queries, n = x.shape[-2:]
    # rows that are longer by one, read as rows of the old length, shift by one from row to row
    flat = F.pad(x, (0, 1)).flatten(-2)[..., n_queries - 1 : n_queries - 1 + n_queries * n]
    return flat.unflatten(-1, (n_queries, n))[..., :n_keys]


def by_distance(x: Tensor) -> Tensor:
    """Rearrange values of each query and key by query and distance; the inverse of by_key."""
    # x: (..., n_queries, n_keys); returns (..., n_queries, n_queries + n_keys - 1), 0 where no key
    n_queries, n_keys = x.shape[-2:]
    flat = F.pad(F.pad(x, (0, n_queries - 1)).flatten(-2), (n_queries - 1, 1))
    return flat.unflatten(-1, (n_queries, n_queries + n_keys))[..., :-1]
