"""Labels beside points do not overlap if there is room."""

import numpy as np
import pytest

from firth.embed.query import label_places
from firth.embed.query.label_places import place_labels

GAP = 0.08


def overlaps(middles, sizes):
    """Return the pairs of labels that overlap."""
    apart = np.abs(middles[:, None] - middles)
    touching = (apart < (sizes[:, None] + sizes) / 2 - 1e-9).all(axis=2)
    return [(a, b) for a, b in np.argwhere(touching).tolist() if a < b]


@pytest.mark.parametrize(("x", "middle"), [(1.0, 1 + GAP + 0.25), (3.9, 3.9 - GAP - 0.25)])
def test_a_single_point_has_its_label_at_the_right_or_at_the_edge_at_the_left(x, middle):
    middles, far = place_labels(np.array([[x, 1.0]]), np.array([[0.5, 0.1]]), (4, 4), GAP)
    np.testing.assert_allclose(middles, [[middle, 1.0]])
    assert not far.any()


def test_labels_of_two_near_points_cover_neither():
    points = np.array([[2.0, 2.0], [2.2, 2.0]])
    sizes = np.array([[0.5, 0.1], [0.5, 0.1]])
    middles, far = place_labels(points, sizes, (4, 4), GAP)
    np.testing.assert_allclose(middles, [[2.0 - GAP - 0.25, 2.0], [2.2 + GAP + 0.25, 2.0]])
    assert not far.any()


def test_labels_of_a_crowd_neither_overlap_nor_leave_the_frame():
    rng = np.random.default_rng(8)
    points = rng.normal(4, 1.2, (60, 2)).clip(0.5, 7.5)
    sizes = np.column_stack([rng.uniform(0.2, 0.7, 60), np.full(60, 0.12)])
    middles, _ = place_labels(points, sizes, (8, 8), GAP)
    assert overlaps(middles, sizes) == []
    assert (middles - sizes / 2 >= 0).all()
    assert (middles + sizes / 2 <= 8).all()
    naive = points + [GAP, 0] + sizes * [0.5, 0]
    assert len(overlaps(naive, sizes)) > 5  # the naive placement does overlap


def test_labels_far_from_their_points_are_reported():
    points = np.repeat([[2.0, 2.0]], 12, axis=0)  # eight directions are not enough for twelve
    sizes = np.full((12, 2), [0.3, 0.1])
    middles, far = place_labels(points, sizes, (4, 4), GAP)
    assert overlaps(middles, sizes) == []
    box = np.clip(points, middles - sizes / 2, middles + sizes / 2)
    distances = np.linalg.norm(points - box, axis=1)
    np.testing.assert_array_equal(far, distances > 1.5 * GAP)
    assert 4 <= far.sum() < 12


def by_all_others(points, sizes, bounds, gap):
    """The same search, with each label compared to all others and all points."""
    middles = points[:, None] + label_places._shifts(sizes, gap)
    way = label_places._PER_GAP * (np.repeat(label_places._RINGS, 8) - 1)
    own = np.tile(way + label_places._PER_DIRECTION * np.tile(np.arange(8), 5), (len(points), 1))
    for label, size in enumerate(sizes):
        dots = np.full(points.shape, gap)
        covered = label_places._overlaps(middles[label], size, points, dots) * size.prod() / gap**2
        others = np.delete(points, label, axis=0)
        passed = label_places._passed(points[label], middles[label], others, gap / 2)
        own[label] += label_places._ON_POINT * covered + label_places._PASSING * passed
    half = sizes[:, None] / 2
    outside = ((middles - half < 0) | (middles + half > np.array(bounds))).any(axis=2)
    own += label_places._OUTSIDE * outside
    chosen = np.full(len(points), -1)
    for _ in range(label_places._PASSES):
        before = chosen.copy()
        for label, size in enumerate(sizes):
            placed = np.flatnonzero((chosen >= 0) & (np.arange(len(points)) != label))
            standing = middles[placed, chosen[placed]]
            hidden = label_places._overlaps(middles[label], size, standing, sizes[placed])
            chosen[label] = np.argmin(own[label] + label_places._ON_LABEL * hidden)
        if np.array_equal(before, chosen):
            break
    return middles[np.arange(len(points)), chosen], chosen >= 8


@pytest.mark.parametrize(("n", "side"), [(12, 1.0), (60, 8.0), (120, 12.0)])
def test_considering_only_near_labels_and_points_changes_nothing(n, side):
    rng = np.random.default_rng(n)
    points = rng.normal(side / 2, side / 6, (n, 2))
    sizes = np.column_stack([rng.uniform(0.2, 0.9, n), np.full(n, 0.12)])
    expected = by_all_others(points, sizes, (side, side), GAP)
    found = place_labels(points, sizes, (side, side), GAP)
    np.testing.assert_array_equal(found[0], expected[0])
    np.testing.assert_array_equal(found[1], expected[1])
    again = place_labels(points, sizes, (side, side), GAP)
    np.testing.assert_array_equal(again[0], found[0])


def test_a_label_is_compared_only_with_what_it_can_reach(monkeypatch):
    hidden, seen = label_places._overlaps, []

    def counting(middles, size, others, other_sizes):
        seen.append(len(others))
        return hidden(middles, size, others, other_sizes)

    monkeypatch.setattr(label_places, "_overlaps", counting)
    points = np.stack(np.meshgrid(np.arange(20.0), np.arange(20.0)), axis=-1).reshape(-1, 2)
    place_labels(points, np.full((400, 2), [0.5, 0.1]), (20, 20), GAP)
    # labels reach 1.3 and 0.9 from their points: others within 2.6 and 1.8, five times three
    assert max(seen) == 14
