"""SplitMix64 for kernels: the same function, compiled for one number."""

from corpora.common import hashing
from corpora.common.jit import compiled

mix = compiled(hashing.mix, inline="always")
