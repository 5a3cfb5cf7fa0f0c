"""Random numbers without a generator: each is a hash of what it is for and of its place.

A number depends on nothing but its arguments, so that any step can be done again,
by any number of processes, on any device. Integers only, which CPUs and GPUs
compute alike: the numbers are the same bits everywhere.
"""

import hashlib
from collections.abc import Sequence
from math import prod

import torch

from corpora.common.hashing import FACTORS, SHIFTS, STRIDE

_FLOAT_BITS = 24  # of a float32's significand: every such share of 1 is exact


def keyed_bits(
    seed: int,
    step: int,
    purpose: str,
    shape: Sequence[int],
    device: torch.device | str,
    *,
    first: int = 0,
) -> torch.Tensor:
    """Make 64 random bits for each place of a tensor."""
    # returns int64 tensor of ``shape``
    n = prod(shape)
    stride = int(STRIDE)
    key = _signed(_key(seed, step, purpose) + (first + 1) * stride)
    # products and sums of int64 wrap around, as the hash wants
    bits = torch.arange(n, device=device).mul_(_signed(stride)).add_(key)
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        bits ^= _shifted(bits, int(shift))
        bits *= _signed(int(factor))
    bits ^= _shifted(bits, int(SHIFTS[2]))
    return bits.view(*shape)


def keyed_uniform(
    seed: int,
    step: int,
    purpose: str,
    shape: Sequence[int],
    device: torch.device | str,
    *,
    first: int = 0,
) -> torch.Tensor:
    """Draw a number from [0, 1) for each place of a tensor."""
    # returns float32 tensor of ``shape``
    bits = keyed_bits(seed, step, purpose, shape, device, first=first)
    return _shifted(bits, 64 - _FLOAT_BITS).to(torch.float32).mul_(2.0**-_FLOAT_BITS)


def keyed_integers(
    seed: int,
    step: int,
    purpose: str,
    shape: Sequence[int],
    device: torch.device | str,
    *,
    below: int,
    first: int = 0,
) -> torch.Tensor:
    """Draw a whole number from 0 to ``below - 1`` for each place of a tensor."""
    # returns int64 tensor of ``shape``
    bits = keyed_bits(seed, step, purpose, shape, device, first=first)
    return (_shifted(bits, 32) * below) >> 32


def _key(seed: int, step: int, purpose: str) -> int:
    """64 bits that a seed, a step and a purpose have in common with no others."""
    name = f"{seed}/{step}/{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def _shifted(bits: torch.Tensor, n: int) -> torch.Tensor:
    """Shift right and fill with zeros; the shift of int64 would fill with the sign."""
    return (bits >> n).bitwise_and_((1 << (64 - n)) - 1)


def _signed(value: int) -> int:
    """The int64 of the same 64 bits."""
    return (value + 2**63) % 2**64 - 2**63
