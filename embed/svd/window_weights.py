"""Window weights by distance, as integers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from firth.corpora.common.errors import SettingError

WEIGHTINGS = ("dynamic", "flat", "harmonic")
_LIMIT = 1 << 63


def window_weights(window: int, weighting: str) -> tuple[list[int], int]:
    """Return integer weights by distance (0 at distance 0), and their common denominator.

    ``dynamic`` is (window - d + 1) / window at distance d, the expectation of
    word2vec's random windows; ``harmonic`` is 1 / d, as in GloVe; ``flat`` is 1.
    """
    distances = range(1, window + 1)
    if weighting == "dynamic":
        return [0, *(window - distance + 1 for distance in distances)], window
    if weighting == "harmonic":
        denominator = 1
        for distance in distances:
            denominator = math.lcm(denominator, distance)
            if denominator >= _LIMIT:
                raise _overflow_error(window)
        return [0, *(denominator // distance for distance in distances)], denominator
    return [0, *(1 for _ in distances)], 1


def count_type(counts: np.ndarray, weights: Sequence[int]) -> Any:
    """Return the smallest integer type of counts up to occurrences times weights of both sides."""
    # counts: int64 (V,)
    bound = int(counts.max(initial=0)) * 2 * sum(weights)
    if bound >= _LIMIT:
        raise _overflow_error(len(weights) - 1)
    return np.uint32 if bound < 1 << 32 else np.int64


def _overflow_error(window: int) -> SettingError:
    """Return the error for windows whose least common denominator is too large."""
    return SettingError(
        f"`window`: {window}: weighted counts would overflow 64 bits; "
        "pass a smaller `window` or another `window_weighting`"
    )
