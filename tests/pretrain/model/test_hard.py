"""Hard attention: one key for each query, by chance in training, with the gradient of a softmax."""

import math

import pytest
import torch

from firth.corpora.common.hashing import FACTORS, SHIFTS, STRIDE
from firth.pretrain.data.stateless_random import keyed_bits, row_uniform
from firth.pretrain.model.hard import choose_one, gumbel, sparsemax


def keys_of(n, step=0):
    return keyed_bits(3, step, "test", (n,), "cpu")


def scores_and_mask(rows, n_keys=6):
    generator = torch.Generator().manual_seed(1)
    scores = torch.randn(rows, 2, 5, n_keys, generator=generator) * 2
    return scores.masked_fill(torch.arange(n_keys) == 2, -math.inf)


def hashed(number):
    """Hash an integer below 2^64, step by step in Python's integers."""
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        number = (number ^ (number >> int(shift))) * int(factor) % 2**64
    return number ^ (number >> int(SHIFTS[2]))


def test_numbers_of_a_row_are_hashes_of_its_key_the_purpose_and_the_place():
    keys = keys_of(3)
    found = row_uniform(keys, 2, 4)
    for row, key in enumerate(keys.tolist()):
        for place in range(4):
            number = hashed((key + ((2 << 40) + place + 1) * int(STRIDE)) % 2**64)
            assert float(found[row, place]) == (number >> 40) / 2**24


def test_noise_is_finite_and_that_of_the_rows_of_a_micro_batch():
    keys, shape = keys_of(6), (6, 2, 5, 7)
    noise = gumbel(keys, 1, torch.Size(shape))
    assert noise.isfinite().all()
    assert torch.equal(noise[2:4], gumbel(keys[2:4], 1, torch.Size((2, *shape[1:]))))
    assert not (noise == gumbel(keys, 0, torch.Size(shape))).any()
    assert not (noise == gumbel(keys_of(6, step=1), 1, torch.Size(shape))).any()
    # two rows of blocks of local attention have the key of their row
    assert torch.equal(gumbel(keys, 1, torch.Size((12, 1, 5, 7))).view(shape), noise)


@pytest.mark.slow
def test_compiled_code_takes_the_same_numbers():
    """With the backend that writes no C++, which would take long and gets no say in the numbers."""
    torch.compiler.reset()
    compiled = torch.compile(row_uniform, fullgraph=True, backend="aot_eager")
    assert torch.equal(compiled(keys_of(3), 1, 70), row_uniform(keys_of(3), 1, 70))


def test_the_extreme_numbers_have_finite_noise(monkeypatch):
    extremes = torch.tensor([[0.0, 1 - 2.0**-24]])
    monkeypatch.setattr("firth.pretrain.model.hard.row_uniform", lambda *given: extremes)
    assert gumbel(keys_of(1), 0, torch.Size((1, 2))).isfinite().all()


@pytest.mark.parametrize("noise", [None, keys_of(3)], ids=["inference", "training"])
def test_one_allowed_key_has_weight_one_and_gradients_are_those_of_a_softmax(noise):
    scores = scores_and_mask(3).requires_grad_()
    values = torch.randn(scores.shape, generator=torch.Generator().manual_seed(2))

    weights = choose_one(scores, noise, 1)
    (gradient,) = torch.autograd.grad((weights * values).sum(), scores)

    noisy = scores if noise is None else scores + gumbel(noise, 1, scores.shape)
    (expected,) = torch.autograd.grad((torch.softmax(noisy, -1) * values).sum(), scores)
    best = [max(range(6), key=row.tolist().__getitem__) for row in noisy.detach().flatten(0, 2)]
    assert weights.flatten(0, 2).argmax(-1).tolist() == best
    assert weights.unique().tolist() == [0.0, 1.0]
    assert (weights.sum(-1) == 1).all()
    assert torch.equal(gradient, expected)
    assert (gradient[..., 2] == 0).all()


def test_keys_are_chosen_with_the_probabilities_of_the_softmax():
    n = 20_000
    scores = torch.tensor([0.0, 1.0, -1.0, -math.inf]).expand(n, 1, 1, 4)
    shares = choose_one(scores, keys_of(n), 0).mean((0, 1, 2))
    # the numbers are fixed; drawn anew, one of four shares would be beyond 5 deviations of at most
    # .5 / sqrt(n) in less than 3 of a million tests
    assert (shares - torch.softmax(scores[0, 0, 0], -1)).abs().max() < 5 * 0.5 / n**0.5
    assert shares[3] == 0


@pytest.mark.parametrize(
    ("scores", "weights"),
    [
        ([0.0, 0.0, -math.inf], [0.5, 0.5, 0.0]),
        ([1.0, 0.5, -1.0], [0.75, 0.25, 0.0]),  # threshold .25
        ([101.0, 0.0, 99.0], [1.0, 0.0, 0.0]),
        ([0.25, 0.5, 0.25], [0.25, 0.5, 0.25]),  # weights already
    ],
)
def test_sparsemax_worked_by_hand(scores, weights):
    given = torch.tensor(scores, requires_grad=True)
    found = sparsemax(given)
    assert found.tolist() == pytest.approx(weights, abs=1e-6)
    found[0].backward()
    read = [weight > 0 for weight in weights]  # the gradient is that of score - their mean
    expected = [(at == 0) - here / sum(read) for at, here in enumerate(read)]
    assert given.grad.tolist() == pytest.approx(expected)
