"""Thresholds that tell two classes apart, learnt on other items than those they are used on."""

import numpy as np


def best_threshold(positive: np.ndarray, values: np.ndarray) -> float:
    """Find the threshold that classifies the most items correctly."""
    # positive: bool (n,); values: float64 (n,)
    distinct, places = np.unique(values, return_inverse=True)
    ups = np.bincount(places[positive], minlength=len(distinct))
    downs = np.bincount(places[~positive], minlength=len(distinct))
    # right answers with the threshold below value k: all negatives under it, positives from it on
    right = np.append(0, np.cumsum(downs - ups)) + ups.sum()
    thresholds = np.concatenate([[-np.inf], (distinct[1:] + distinct[:-1]) / 2, [np.inf]])
    best = np.flatnonzero(right == right.max())
    return float(thresholds[best[(len(best) - 1) // 2]])


def right_by_halves(positive: np.ndarray, values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Answer either half of some items by the threshold that is best on the other half."""
    # positive: bool (n,); values: float64 (n,); first: bool (n,); returns bool (n,)
    answers = np.empty(len(values), dtype=bool)
    for half in (first, ~first):
        answers[half] = values[half] > best_threshold(positive[~half], values[~half])
    return np.asarray(answers == positive)
