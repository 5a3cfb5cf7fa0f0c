"""SplitMix64 compiled for use in kernels, on one number."""

from corpora.common import hashing
from corpora.common.jit import compiled

mix = compiled(hashing.mix, inline="always")
