"""Thresholds that tell two classes apart, learnt on other items than those they are used on."""

import numpy as np


def best_threshold(positive: np.ndarray, values: np.ndarray) -> float:
    """Find the threshold above which the most items are of the one class, and below of the other.

    Parameters
    ----------
    positive : bool (n,)
        Which items belong to the class whose values should be high.
    values : float64 (n,)
        Finite, at least one.

    Returns
    -------
    float
        Midway between two values, or infinite where one class alone is the best answer; of
        equally good ones the middle one.

    Examples
    --------
    >>> best_threshold(np.array([True, False, True, False]), np.array([0.75, 0.5, 0.25, 0.0]))
    0.125
    >>> best_threshold(np.array([True, True]), np.array([0.5, 0.0]))
    -inf
    """
    distinct, places = np.unique(values, return_inverse=True)
    ups = np.bincount(places[positive], minlength=len(distinct))
    downs = np.bincount(places[~positive], minlength=len(distinct))
    # right answers with the threshold below value k: all negatives under it, positives from it on
    right = np.append(0, np.cumsum(downs - ups)) + ups.sum()
    thresholds = np.concatenate([[-np.inf], (distinct[1:] + distinct[:-1]) / 2, [np.inf]])
    best = np.flatnonzero(right == right.max())
    return float(thresholds[best[(len(best) - 1) // 2]])


def right_by_halves(positive: np.ndarray, values: np.ndarray, first: np.ndarray) -> np.ndarray:
    """Answer either half of some items by the threshold that is best on the other half.

    Parameters
    ----------
    positive : bool (n,)
        Which items belong to the class whose values should be high.
    values : float64 (n,)
        Finite.
    first : bool (n,)
        Which items are the first half; neither half is empty.

    Returns
    -------
    bool (n,)
        Which answers are right. No item has a part in the threshold that it is held against.
    """
    answers = np.empty(len(values), dtype=bool)
    for half in (first, ~first):
        answers[half] = values[half] > best_threshold(positive[~half], values[~half])
    return np.asarray(answers == positive)
