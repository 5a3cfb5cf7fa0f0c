"""SplitMix64 against its definition, as arrays and compiled."""

import numpy as np

from firth.corpora.common.hashing import STRIDE, mix
from firth.corpora.common.hashing_kernels import mix as compiled


def test_seed_zero_matches_the_reference_implementation():
    # Vigna, https://prng.di.unimi.it/splitmix64.c, seed 0
    expected = [0xE220A8397B1DCDAF, 0x6E789E6AA1B965F4, 0x06C45D188009454F]
    states = np.arange(1, 4, dtype=np.uint64) * STRIDE

    assert mix(states).tolist() == expected
    assert [int(compiled(state)) for state in states] == expected
