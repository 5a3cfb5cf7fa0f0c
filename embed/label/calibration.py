"""Temperature scaling, and how far probabilities are off (Guo et al. 2017, arXiv:1706.04599)."""

import numpy as np

_BINS = 15
_WIDEST = 4.0  # of the logarithm of a temperature
_SPREAD = 0.5  # its standard deviation before an item is seen, so that few items say little


def probabilities(scores: np.ndarray, temperature: float = 1.0) -> np.ndarray:
    """Return the softmax of scores, -inf where a label is impossible, over a temperature."""
    # scores: float (n, L); returns float64 (n, L)
    scaled = np.asarray(scores, np.float64) / temperature
    likely = np.exp(scaled - scaled.max(axis=1, keepdims=True))
    return np.asarray(likely / likely.sum(axis=1, keepdims=True))


def fit_temperature(scores: np.ndarray, gold: np.ndarray) -> float:
    """Return the likeliest temperature given gold labels, which is near 1 if they are few."""
    # scores: float (n, L); gold: int64 (n,)
    from scipy.optimize import minimize_scalar

    def loss(logarithm: float) -> float:
        likely = probabilities(scores, float(np.exp(logarithm)))[np.arange(len(gold)), gold]
        prior = (logarithm / _SPREAD) ** 2 / 2
        return prior - float(np.log(np.maximum(likely, 1e-300)).sum())

    return float(np.exp(minimize_scalar(loss, bounds=(-_WIDEST, _WIDEST), method="bounded").x))


def fold_probabilities(scores: np.ndarray, gold: np.ndarray, folds: np.ndarray) -> np.ndarray:
    """Return the probabilities of each fold at the temperature that fits the others."""
    # scores: float (n, L); gold, folds: int64 (n,)
    likely = np.empty(scores.shape)
    for fold in np.unique(folds):
        out = folds == fold
        likely[out] = probabilities(scores[out], fit_temperature(scores[~out], gold[~out]))
    return likely


def calibration_error(likely: np.ndarray, gold: np.ndarray) -> float:
    """Return the expected calibration error: the gap of accuracy and probability, by its bins."""
    # likely: float64 (n, L); gold: int64 (n,)
    top = likely.max(axis=1)
    bins = np.minimum((top * _BINS).astype(np.int64), _BINS - 1)
    gaps = np.bincount(bins, top - (likely.argmax(axis=1) == gold))
    return float(np.abs(gaps).sum() / len(top))
