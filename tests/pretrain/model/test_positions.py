"""Sinusoids and rotations."""

import math

import torch

from firth.pretrain.model.positions import angles, rotate, sinusoids


def test_sinusoids_are_those_of_the_formula():
    table = sinusoids(5, 6)

    for t in range(5):
        for i in range(3):
            angle = t / 10000 ** (2 * i / 6)
            assert math.isclose(table[t, 2 * i], math.sin(angle), abs_tol=1e-6)
            assert math.isclose(table[t, 2 * i + 1], math.cos(angle), abs_tol=1e-6)


def turned(x, position):
    phase = angles(64, x.shape[-1])[position].float()
    return rotate(x.view(1, 1, 1, -1), phase.cos(), phase.sin()).flatten()


def test_a_rotation_keeps_lengths_and_products_depend_on_the_distance_alone():
    q, k = torch.randn(2, 8, generator=torch.Generator().manual_seed(1))

    near, far = turned(q, 3) @ turned(k, 8), turned(q, 40) @ turned(k, 45)
    other = turned(q, 3) @ turned(k, 9)

    torch.testing.assert_close(turned(q, 17).norm(), q.norm())
    torch.testing.assert_close(near, far, atol=1e-5, rtol=1e-5)
    assert abs(near - other) > 1e-3


def test_position_zero_is_not_rotated():
    q = torch.randn(8, generator=torch.Generator().manual_seed(1))

    assert torch.equal(turned(q, 0), q)
