"""Muon: torch's own, balanced, on whole matrices; parts of fused matrices each by itself."""

import numpy as np
import pytest
import torch
from torch import nn

from firth.pretrain.training.muon import Muon, balanced, orthogonalized

DECAY, MOMENTUM = 0.1, 0.9


def drawn(*shape, seed=1):
    """Random numbers of a shape."""
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed))


def after_steps(make, begun, steps=4):
    """Return weights after steps along gradients that depend only on the step."""
    weights = [nn.Parameter(weight.clone()) for weight in begun]
    optimizer = make(weights)
    for step in range(steps):
        for n, weight in enumerate(weights):
            weight.grad = drawn(*weight.shape, seed=100 * step + n)
        for group in optimizer.param_groups:
            group["lr"] = 0.01 * (steps - step)
        optimizer.step()
    return [weight.detach() for weight in weights]


def balanced_by_loops(direction):
    """Scale each column, then each row, to length 1, and the whole back to its norm."""
    found = direction.double().numpy().copy()
    for column in range(found.shape[1]):
        found[:, column] /= np.linalg.norm(found[:, column])
    for row in range(found.shape[0]):
        found[row] /= np.linalg.norm(found[row])
    found *= np.linalg.norm(direction.double()) / np.linalg.norm(found)
    return torch.tensor(found, dtype=torch.float32)


class BalancedTorch:
    """torch's Muon, each step of which is taken apart and balanced."""

    def __init__(self, weights, momentum):
        self.weights, self.param_groups = weights, [{"lr": 0.0}]
        self.aside = [nn.Parameter(torch.zeros_like(weight)) for weight in weights]
        self.torchs = torch.optim.Muon(self.aside, lr=1.0, weight_decay=0.0, momentum=momentum)

    def step(self):
        for weight, aside in zip(self.weights, self.aside, strict=True):
            aside.data.zero_()
            aside.grad = weight.grad
        self.torchs.step()
        for weight, aside in zip(self.weights, self.aside, strict=True):
            weight.data.mul_(1 - self.param_groups[0]["lr"] * DECAY)
            weight.data.add_(self.param_groups[0]["lr"] * balanced_by_loops(aside.detach()))


def test_whole_matrices_take_the_balanced_steps_of_torchs_muon():
    begun = [drawn(*shape, seed=n) for n, shape in enumerate([(8, 8), (24, 8), (8, 24), (8, 8)])]

    def make(some):
        return Muon([(w, 1) for w in some], weight_decay=DECAY)

    ours = after_steps(make, begun)
    theirs = after_steps(lambda some: BalancedTorch(some, MOMENTUM), begun)
    for mine, other, first in zip(ours, theirs, begun, strict=True):
        torch.testing.assert_close(mine, other, rtol=0, atol=2e-3)  # both round to bfloat16
        assert (mine - first).abs().max() > 0.02


def test_rows_of_a_balanced_matrix_are_alike_and_its_norm_stays():
    matrices = drawn(2, 6, 10, seed=4) * torch.tensor([1.0, 2, 3, 4, 5, 6])[:, None]
    found = balanced(matrices)
    rows, columns = found.norm(dim=2), found.norm(dim=1)
    torch.testing.assert_close(rows, rows.mean(1, keepdim=True).expand_as(rows))
    assert (columns.std(1) < 0.5 * matrices.norm(dim=1).std(1)).all()
    torch.testing.assert_close(found.norm(dim=(1, 2)), matrices.norm(dim=(1, 2)))


def test_units_that_hardly_learn_take_short_steps():
    matrix = drawn(1, 6, 10, seed=5) / 3
    matrix[:, 2] *= 1e-7
    matrix[:, :, 4] *= 1e-7
    found = balanced(matrix)[0]
    others = [row for row in range(6) if row != 2]
    assert found[2].norm() < 0.1 * found[others].norm(dim=1).min()
    assert found[others, 4].norm() < 1e-3


def test_parts_of_a_fused_matrix_are_steps_of_separate_matrices():
    parts = [drawn(8, 8, seed=n) for n in range(3)]

    def muon(weights, n_parts):
        pairs = [(weight, n_parts) for weight in weights]
        return Muon(pairs, weight_decay=0.1, dtype=torch.float32)

    def with_gradients_of_the_whole(weights, optimizer, gradient):
        for weight, part in zip(weights, gradient.chunk(len(weights)), strict=True):
            weight.grad = part.clone()
        optimizer.param_groups[0]["lr"] = 0.02
        optimizer.step()

    whole = [nn.Parameter(torch.cat(parts))]
    single = [nn.Parameter(part.clone()) for part in parts]
    first, second = muon(whole, 3), muon(single, 1)
    for step in range(3):
        gradient = drawn(24, 8, seed=50 + step)
        with_gradients_of_the_whole(whole, first, gradient)
        with_gradients_of_the_whole(single, second, gradient)
    torch.testing.assert_close(whole[0], torch.cat(single), rtol=0, atol=1e-6)


@pytest.mark.parametrize("shape", [(2, 16, 16), (1, 40, 8), (3, 8, 40)])
def test_singular_vectors_stay_and_values_come_near_one(shape):
    matrices = drawn(*shape, seed=3)
    found = orthogonalized(matrices).double().numpy()
    for before, after in zip(matrices.double().numpy(), found, strict=True):
        left, _, right = np.linalg.svd(before, full_matrices=False)
        inside = left.T @ after @ right.T
        assert 0.4 < np.diag(inside).min() < np.diag(inside).max() < 1.3
        assert np.abs(inside - np.diag(np.diag(inside))).max() < 1e-5


def test_a_zero_gradient_moves_nothing():
    weight = nn.Parameter(drawn(8, 4))
    begun, weight.grad = weight.detach().clone(), torch.zeros(8, 4)
    optimizer = Muon([(weight, 1)], weight_decay=0.0)
    optimizer.param_groups[0]["lr"] = 1.0
    optimizer.step()
    torch.testing.assert_close(weight.detach(), begun, rtol=0, atol=0)
