"""SplitMix64 for kernels: the same function, compiled for one number."""

import numba

from corpora.common import hashing

mix = numba.njit(cache=True, nogil=True, inline="always")(hashing.mix)
