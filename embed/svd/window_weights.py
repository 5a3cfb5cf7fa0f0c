"""Weights of a window by distance, as integers."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from corpora.common.errors import SettingError

WEIGHTINGS = ("dynamic", "flat", "harmonic")
_MOST = 1 << 63


def window_weights(window: int, weighting: str) -> tuple[list[int], int]:
    """Weigh the distances of a window in integers.

    ``dynamic`` is (window - d + 1) / window at distance d, the expectation of
    word2vec's random windows; ``harmonic`` is 1 / d, as in GloVe; ``flat`` is 1.
    """
    distances = range(1, window + 1)
    if weighting == "dynamic":
        return [0, *(window - distance + 1 for distance in distances)], window
    if weighting == "harmonic":
        unit = 1
        for distance in distances:
            unit = math.lcm(unit, distance)
            if unit >= _MOST:
                raise _too_fine(window)
        return [0, *(unit // distance for distance in distances)], unit
    return [0, *(1 for _ in distances)], 1


def count_type(counts: np.ndarray, weights: Sequence[int]) -> Any:
    """Choose the type of counts that none can overflow.

    None exceeds the occurrences of its word times all weights of both sides.
    """
    # counts: int64 (V,)
    most = int(counts.max(initial=0)) * 2 * sum(weights)
    if most >= _MOST:
        raise _too_fine(len(weights) - 1)
    return np.uint32 if most < 1 << 32 else np.int64


def _too_fine(window: int) -> SettingError:
    """The least common denominator of long harmonic windows is astronomical."""
    return SettingError(
        f"--window: {window}: its weights are too fine to count in 64 bits; "
        "pass a smaller --window or another --window-weighting"
    )
