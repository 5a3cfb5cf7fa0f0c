"""SplitMix64: 64 random bits from a number, the same on every machine.

Steele, Lea and Flood 2014, "Fast Splittable Pseudorandom Number Generators" (OOPSLA), section 4;
the stride is 2^64 over the golden ratio, the factors are Stafford's.
"""

from typing import Any

import numpy as np

STRIDE = np.uint64(0x9E3779B97F4A7C15)
SHIFTS = np.uint64(30), np.uint64(27), np.uint64(31)
FACTORS = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)


def mix(value: Any) -> Any:
    """Return the splitmix64 output of a state, a bijection on uint64 numbers or arrays."""
    value = (value ^ (value >> SHIFTS[0])) * FACTORS[0]
    value = (value ^ (value >> SHIFTS[1])) * FACTORS[1]
    return value ^ (value >> SHIFTS[2])
