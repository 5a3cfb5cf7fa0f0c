"""Classification thresholds, fit on other items than those they are applied to."""

import numpy as np


def best_threshold(positive: np.ndarray, values: np.ndarray) -> float:
    """Return the threshold with the highest accuracy, the median one if several tie."""
    # positive: bool (n,); values: float64 (n,)
    distinct, places = np.unique(values, return_inverse=True)
    ups = np.bincount(places[positive], minlength=len(distinct))
    downs = np.bincount(places[~positive], minlength=len(distinct))
    # correct items if the threshold is just below value k: negatives below it, positives above
    right = np.append(0, np.cumsum(downs - ups)) + ups.sum()
    thresholds = np.concatenate([[-np.inf], (distinct[1:] + distinct[:-1]) / 2, [np.inf]])
    best = np.flatnonzero(right == right.max())
    return float(thresholds[best[(len(best) - 1) // 2]])


def right_by_halves(positive: np.ndarray, values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Classify each half by the best threshold of the other half; return which are correct."""
    # positive: bool (n,); values: float64 (n,); first: bool (n,), the first half
    # returns bool (n,)
    answers = np.empty(len(values), dtype=bool)
    for half in (first, ~first):
        answers[half] = values[half] > best_threshold(positive[~half], values[~half])
    return np.asarray(answers == positive)
