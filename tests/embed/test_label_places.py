"""Names beside points: none hides another where there is room."""

import numpy as np

from embed.label_places import place_labels

GAP = 0.08


def overlaps(middles, sizes):
    """Pairs of labels that share ground."""
    apart = np.abs(middles[:, None] - middles)
    touching = (apart < (sizes[:, None] + sizes) / 2 - 1e-9).all(axis=2)
    return [(a, b) for a, b in np.argwhere(touching).tolist() if a < b]


def test_a_lone_point_has_its_name_at_its_right():
    middles, far = place_labels(np.array([[1.0, 1.0]]), np.array([[0.5, 0.1]]), (4, 4), GAP)
    np.testing.assert_allclose(middles, [[1 + GAP + 0.25, 1.0]])
    assert not far.any()


def test_at_the_right_edge_the_name_stands_at_the_left():
    middles, _ = place_labels(np.array([[3.9, 1.0]]), np.array([[0.5, 0.1]]), (4, 4), GAP)
    np.testing.assert_allclose(middles, [[3.9 - GAP - 0.25, 1.0]])


def test_names_of_two_near_points_stand_apart_from_both():
    points = np.array([[2.0, 2.0], [2.2, 2.0]])
    sizes = np.array([[0.5, 0.1], [0.5, 0.1]])
    middles, far = place_labels(points, sizes, (4, 4), GAP)
    np.testing.assert_allclose(middles, [[2.0 - GAP - 0.25, 2.0], [2.2 + GAP + 0.25, 2.0]])
    assert not far.any()


def test_no_names_overlap_or_leave_the_frame_in_a_crowd_with_room_around():
    rng = np.random.default_rng(8)
    points = rng.normal(4, 1.2, (60, 2)).clip(0.5, 7.5)
    sizes = np.column_stack([rng.uniform(0.2, 0.7, 60), np.full(60, 0.12)])
    middles, _ = place_labels(points, sizes, (8, 8), GAP)
    assert overlaps(middles, sizes) == []
    assert (middles - sizes / 2 >= 0).all()
    assert (middles + sizes / 2 <= 8).all()
    naive = points + [GAP, 0] + sizes * [0.5, 0]
    assert len(overlaps(naive, sizes)) > 5  # there was something to do


def test_a_name_that_had_to_go_far_is_told():
    points = np.repeat([[2.0, 2.0]], 12, axis=0)  # eight directions do not do for twelve
    sizes = np.full((12, 2), [0.3, 0.1])
    middles, far = place_labels(points, sizes, (4, 4), GAP)
    assert overlaps(middles, sizes) == []
    box = np.clip(points, middles - sizes / 2, middles + sizes / 2)
    distances = np.linalg.norm(points - box, axis=1)
    np.testing.assert_array_equal(far, distances > 1.5 * GAP)
    assert 4 <= far.sum() < 12


def test_the_same_points_give_the_same_places():
    points = np.random.default_rng(1).uniform(0, 3, (30, 2))
    sizes = np.full((30, 2), [0.4, 0.1])
    one, other = (place_labels(points, sizes, (3, 3), GAP)[0] for _ in range(2))
    np.testing.assert_array_equal(one, other)
