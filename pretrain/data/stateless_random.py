"""Random numbers without state: each is a hash of seed, step, purpose and position.

Any step can be repeated, by any number of processes, on any device: integer arithmetic gives the
same bits on CPUs and GPUs.
"""

import hashlib
from collections.abc import Sequence
from math import prod

import torch

from firth.corpora.common.hashing import FACTORS, SHIFTS, STRIDE

_PURPOSE_SHIFT = 40  # numbers of a key for each purpose, as a power of 2
_FLOAT_BITS = 24  # of a float32's significand: multiples of 2^-24 below 1 are exact


def keyed_bits(
    seed: int,
    step: int,
    purpose: str,
    shape: Sequence[int],
    device: torch.device | str,
    *,
    first: int = 0,
) -> torch.Tensor:
    """Return 64 random bits per position of a tensor, int64 of ``shape``.

    Positions are numbered in row-major order from ``first``, so that later rows can be made alone.
    Numbers for another ``purpose`` are independent.
    """
    n = prod(shape)
    stride = int(STRIDE)
    key = _signed(_key(seed, step, purpose) + (first + 1) * stride)
    # products and sums of int64 wrap around, as the hash requires
    return _hash(torch.arange(n, device=device).mul_(_signed(stride)).add_(key)).view(*shape)


def as_uniform(bits: torch.Tensor) -> torch.Tensor:
    """Return random bits as uniform numbers in [0, 1), multiples of 2^-24, float32."""
    return _shifted(bits, 64 - _FLOAT_BITS).to(torch.float32).mul_(2.0**-_FLOAT_BITS)


def as_integers(bits: torch.Tensor, below: int) -> torch.Tensor:
    """Return random bits as uniform integers from 0 to ``below - 1``, int64.

    ``below`` is at most 2^31; each probability is off 1 / ``below`` by less than 2^-32.
    """
    return (_shifted(bits, 32) * below) >> 32


# torch.compile calls it as it is: in the C++ that it would write, products of places and the stride
# overflow, from which compilers conclude that loops are short
@torch.library.custom_op("firth::row_uniform", mutates_args=())
def row_uniform(keys: torch.Tensor, purpose: int, n: int) -> torch.Tensor:
    """Return ``n`` uniform numbers in [0, 1) for each key, float32 (B, n).

    Keys are :func:`keyed_bits`, on the device, so that compiled code need not change with the step.
    Numbers for another ``purpose`` are independent; ``n`` is at most 2^40.
    """
    # keys: int64 (B,)
    stride = int(STRIDE)
    first = _signed(((purpose << _PURPOSE_SHIFT) + 1) * stride)
    numbers = torch.arange(n, device=keys.device).mul_(_signed(stride)).add_(first)
    return as_uniform(_hash(keys[:, None] + numbers))


@row_uniform.register_fake
def _(keys: torch.Tensor, purpose: int, n: int) -> torch.Tensor:
    """Return a tensor of the shape, for the compiler."""
    return keys.new_empty((len(keys), n), dtype=torch.float32)


def _hash(bits: torch.Tensor) -> torch.Tensor:
    """Hash int64 in place."""
    for shift, factor in zip(SHIFTS[:2], FACTORS, strict=True):
        bits ^= _shifted(bits, int(shift))
        bits *= _signed(int(factor))
    bits ^= _shifted(bits, int(SHIFTS[2]))
    return bits


def _key(seed: int, step: int, purpose: str) -> int:
    """Hash a seed, a step and a purpose to 64 bits."""
    name = f"{seed}/{step}/{purpose}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little")


def _shifted(bits: torch.Tensor, n: int) -> torch.Tensor:
    """Shift right, filling with zeros; the shift of int64 would fill with the sign bit."""
    return (bits >> n).bitwise_and_((1 << (64 - n)) - 1)


def _signed(value: int) -> int:
    """Return the int64 with the same 64 bits."""
    return (value + 2**63) % 2**64 - 2**63
