"""Directions of a space: an axis from some words to others, such as from *he* to *she*."""

import itertools
import re
from dataclasses import dataclass

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.embed.vectors.search import unit_length

_SEPARATORS = re.compile(r"[,;\n]+")
_MOST_EXACT = 12  # pairs, of which all ways to turn them around are counted
_DRAWN = 4096  # ways, of more pairs


@dataclass(frozen=True, eq=False)
class Direction:
    """An axis, and whether each of its pairs lies along the axis of the others."""

    axis: np.ndarray  # float64 (D,), unit length
    without: np.ndarray  # float64 (n, D), unit length or zero: the axis without each pair
    left_out: np.ndarray  # float64 (n,), cosine of each pair's difference with the others' axis
    n_right: int  # pairs that are left out and fall on the right side
    p: float | None  # of as many by chance; None for one pair


def pairs_of(text: str) -> list[tuple[str, str]]:
    """Return the pairs of a text such as ``he she, man-woman``."""
    pairs = []
    for pair in [part.strip() for part in _SEPARATORS.split(text) if part.strip()] or [""]:
        words = pair.split() if len(pair.split()) > 1 else re.split("[-–→:]", pair)
        if len(words) != 2 or not all(words):
            raise SettingError(f"{pair!r}: expected two words, for example he she or he-she")
        pairs.append((words[0], words[1]))
    return pairs


def direction(first: np.ndarray, second: np.ndarray, *, seed: int = 1) -> Direction:
    """Return the axis from some vectors to others, pair by pair: the mean of their differences.

    Each pair is held against the axis of the other pairs. By chance, which of its words is the
    second one does not matter, so p is the share of all ways to turn pairs around (a sample of
    them, if there are more than 12 pairs) that have as many pairs on the right side.
    """
    # first, second: float64 (n, D), unit length
    differences = second - first
    lengths = np.linalg.norm(differences, axis=1)
    total = differences.sum(axis=0)
    if not lengths.all() or not (length := float(np.linalg.norm(total))) > 0:
        raise SettingError("a pair has two equal vectors, or pairs cancel out; pass others")
    others = unit_length(total - differences)
    left_out = (differences * others).sum(axis=1) / lengths
    n, p = len(differences), None
    if n > 1:
        products = differences @ differences.T
        np.fill_diagonal(products, 0.0)
        if n <= _MOST_EXACT:
            signs = np.array(list(itertools.product([1.0], *[[1.0, -1.0]] * (n - 1))))
        else:
            signs = np.random.default_rng(seed).choice([-1.0, 1.0], (_DRAWN, n))
            signs[0] = 1.0  # the pairs as they are
        n_right = (signs * (signs @ products) > 0).sum(axis=1)
        p = float((n_right >= n_right[0]).mean())
    return Direction(total / length, others, left_out, int((left_out > 0).sum()), p)
