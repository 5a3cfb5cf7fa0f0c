"""Keyed random numbers: the published hash, and statistical tests of a generator."""

import itertools

import numpy as np
import pytest
import torch
from scipy.stats import chisquare

import firth.pretrain.data.stateless_random
from firth.pretrain.data.stateless_random import as_integers, as_uniform, keyed_bits

FALSE_ALARM = 1e-6  # of each chi-square test, over all seeds; the seeds are fixed
UNSIGNED = 1 << 64
DEVICES = [
    "cpu",
    pytest.param(
        "cuda", marks=pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
    ),
]


def naive_splitmix64(state, n):
    """The generator as its authors define it, in Python integers."""
    for _ in range(n):
        state = (state + 0x9E3779B97F4A7C15) % UNSIGNED
        z = state
        z = (z ^ (z >> 30)) * 0xBF58476D1CE4E5B9 % UNSIGNED
        z = (z ^ (z >> 27)) * 0x94D049BB133111EB % UNSIGNED
        yield z ^ (z >> 31)


@pytest.mark.parametrize("device", DEVICES)
@pytest.mark.parametrize("key", [0, 1234567, UNSIGNED - 1])
def test_bits_match_the_published_generator(monkeypatch, key, device):
    monkeypatch.setattr(firth.pretrain.data.stateless_random, "_key", lambda *_: key)

    bits = keyed_bits(0, 0, "test", (3, 5), device)

    assert [value % UNSIGNED for value in bits.flatten().tolist()] == [*naive_splitmix64(key, 15)]


def test_the_first_numbers_of_state_0_match_published_values():
    # as in the test of Java's SplittableRandom and many other copies of splitmix64
    assert [*naive_splitmix64(0, 2)] == [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4]


def test_later_rows_can_be_generated_separately():
    whole = keyed_bits(7, 3, "test", (6, 5), "cpu")

    assert torch.equal(keyed_bits(7, 3, "test", (2, 5), "cpu", first=20), whole[4:])


def test_large_positions_do_not_overflow():
    far = keyed_bits(7, 3, "test", (4,), "cpu", first=(1 << 70) + 5)

    assert torch.equal(far, keyed_bits(7, 3, "test", (4,), "cpu", first=5))  # modulo 2^64


def test_seed_step_and_purpose_each_change_the_numbers():
    keys = [*itertools.product([1, 2, 12], [3, 4, 2**40], ["place", "order"])]

    drawn = torch.stack([keyed_bits(*key, (4,), "cpu") for key in keys])

    assert drawn.unique().numel() == 4 * len(keys)


def test_uniform_numbers_are_multiples_of_2_to_the_minus_24_from_the_upper_bits():
    bits = keyed_bits(5, 0, "test", (1000,), "cpu")

    uniform = as_uniform(bits)

    assert uniform.dtype == torch.float32
    assert (uniform.double() * 2**24).tolist() == [b % UNSIGNED >> 40 for b in bits.tolist()]


def test_uniform_numbers_fill_the_interval_evenly():
    uniform = as_uniform(keyed_bits(5, 0, "test", (200_000,), "cpu")).numpy()

    assert uniform.min() >= 0
    assert uniform.max() < 1
    counts = np.histogram(uniform, bins=1000, range=(0, 1))[0]
    assert chisquare(counts).pvalue > FALSE_ALARM


@pytest.mark.parametrize("below", [1, 3, 1000, 2**31])
def test_integers_scale_the_upper_bits(below):
    bits = keyed_bits(5, 0, "test", (1000,), "cpu")

    drawn = as_integers(bits, below)

    assert drawn.tolist() == [(b % UNSIGNED >> 32) * below >> 32 for b in bits.tolist()]


def test_integers_are_equally_likely():
    drawn = as_integers(keyed_bits(5, 0, "test", (200_000,), "cpu"), 777)

    counts = np.bincount(drawn.numpy(), minlength=777)
    assert len(counts) == 777
    assert chisquare(counts).pvalue > FALSE_ALARM


def drawn_twice(neighbors):
    """Numbers from 0 to 31 at pairs of positions that might be correlated."""
    if neighbors == "places":
        return as_integers(keyed_bits(5, 0, "test", (100_000, 2), "cpu"), 32).T
    at = {"steps": [(5, 0, "test"), (5, 1, "test")], "seeds": [(5, 0, "test"), (6, 0, "test")]}
    at["purposes"] = [(5, 0, "test"), (5, 0, "other")]
    bits = torch.stack([keyed_bits(*key, (100_000,), "cpu") for key in at[neighbors]])
    return as_integers(bits, 32)


@pytest.mark.parametrize("neighbors", ["places", "steps", "seeds", "purposes"])
def test_neighbors_are_independent(neighbors):
    first, second = drawn_twice(neighbors)

    counts = np.bincount((first * 32 + second).numpy(), minlength=32 * 32)

    assert chisquare(counts).pvalue > FALSE_ALARM
