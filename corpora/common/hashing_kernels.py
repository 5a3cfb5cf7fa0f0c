"""SplitMix64 compiled for use in kernels, on one number."""

from firth.corpora.common import hashing
from firth.corpora.common.jit import compiled

mix = compiled(hashing.mix, inline="always")
