"""Place labels beside points so that they hide neither each other nor the points."""

import numpy as np

# Candidate positions in order of preference: right, left, then above and below.
_DIRECTIONS = np.array(
    [(1, 0), (-1, 0), (1, 1), (1, -1), (-1, 1), (-1, -1), (0, 1), (0, -1)], np.float64
)
_RINGS = (1.0, 2.5, 4.5, 7.0, 10.0)  # distances from the point, in gaps
_NEARER = 0.5
_PASSES = 8
# Costs: a label outside the frame, one that fully covers another label, each covered point, a line
# that passes another point, distance in gaps, and each direction after the first.
_OUTSIDE, _ON_LABEL, _ON_POINT, _PASSING = 100.0, 40.0, 4.0, 0.6
_PER_GAP, _PER_DIRECTION = 0.35, 0.03


def place_labels(
    points: np.ndarray, sizes: np.ndarray, bounds: tuple[float, float], gap: float
) -> tuple[np.ndarray, np.ndarray]:
    """Place a label beside every point.

    Greedy, then improved: each label in turn takes the cheapest of forty places (eight
    directions, five distances) while all others stay, until no label moves. Deterministic.
    """
    # points, sizes: float64 (n, 2)
    # returns label centers: float64 (n, 2); whether each is far from its point: bool (n,)
    middles = points[:, None] + _shifts(sizes, gap)
    own = _own_costs(points, sizes, bounds, gap)
    reach = _RINGS[-1] * gap + sizes  # how far a label can be from its point
    apart = np.abs(points[:, None] - points)
    meet = (apart <= reach[:, None] + reach).all(axis=2) & ~np.eye(len(points), dtype=bool)
    near = [np.flatnonzero(row) for row in meet]
    chosen = np.full(len(points), -1)
    for _ in range(_PASSES):
        before = chosen.copy()
        for label in range(len(points)):
            placed = near[label][chosen[near[label]] >= 0]
            fixed = middles[placed, chosen[placed]]
            others = _overlaps(middles[label], sizes[label], fixed, sizes[placed])
            chosen[label] = int(np.argmin(own[label] + _ON_LABEL * others))
        if np.array_equal(before, chosen):
            break
    return middles[np.arange(len(points)), chosen], chosen >= len(_DIRECTIONS)


def _shifts(sizes: np.ndarray, gap: float) -> np.ndarray:
    """Return offsets from each point to the center of its label, (n, C, 2), nearest first."""
    reach = gap * np.repeat(_RINGS, len(_DIRECTIONS))[:, None]
    directions = np.tile(_DIRECTIONS, (len(_RINGS), 1))
    beside = directions[:, 1:] == 0
    # text rarely fills its line height, so a label above or below looks farther away than it is
    near = np.where(beside | (reach > gap), 1.0, _NEARER)
    return np.asarray(directions * (reach * near + sizes[:, None] / 2))


def _own_costs(
    points: np.ndarray, sizes: np.ndarray, bounds: tuple[float, float], gap: float
) -> np.ndarray:
    """Return the cost of each position (n, C): distance, direction, covered points, the frame."""
    middles = points[:, None] + _shifts(sizes, gap)
    distance = _PER_GAP * (np.repeat(_RINGS, len(_DIRECTIONS)) - 1)
    ranks = _PER_DIRECTION * np.tile(np.arange(len(_DIRECTIONS)), len(_RINGS))
    costs = np.tile(distance + ranks, (len(points), 1))
    reach = (_RINGS[-1] + 0.5) * gap + sizes
    for label, point in enumerate(points):
        near = np.flatnonzero((np.abs(points - point) <= reach[label]).all(axis=1))
        dots = np.full((len(near), 2), gap)
        covered = _overlaps(middles[label], sizes[label], points[near], dots)
        in_points = sizes[label].prod() / gap**2  # instead of shares of the label
        costs[label] += _ON_POINT * covered * in_points
        others = points[near[near != label]]
        costs[label] += _PASSING * _passed(point, middles[label], others, gap / 2)
    half = sizes[:, None] / 2
    outside = ((middles - half < 0) | (middles + half > np.array(bounds))).any(axis=2)
    return costs + _OUTSIDE * outside


def _passed(start: np.ndarray, ends: np.ndarray, points: np.ndarray, near: float) -> np.ndarray:
    """Count the points (m, 2) near the line from ``start`` to each of ``ends`` (C, 2)."""
    lines = ends - start
    along = np.einsum("cd,md->cm", lines, points - start) / (lines**2).sum(axis=1, keepdims=True)
    feet = start + np.clip(along, 0.0, 1.0)[..., None] * lines[:, None]
    apart = np.linalg.norm(feet - points, axis=2)
    return np.asarray((apart < near).sum(axis=1))


def _overlaps(
    middles: np.ndarray, size: np.ndarray, others: np.ndarray, other_sizes: np.ndarray
) -> np.ndarray:
    """Return for each label position (C, 2) the share of the label that covers others (m, 2)."""
    apart = np.abs(middles[:, None] - others)
    overlap = np.clip((size + other_sizes) / 2 - apart, 0.0, np.minimum(size, other_sizes))
    return np.asarray(overlap.prod(axis=2).sum(axis=1) / size.prod())
