"""Nested samples of documents (smaller ones are subsets of larger ones), and their sizes.

Where text is held out by paragraph or sentence, these are sampled instead of documents.
"""

import re

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.hashing import STRIDE, mix

# 18 digits suffice; Python refuses to parse integers of thousands of digits.
_SIZE = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?\s*([kmgb]?)", re.ASCII)
_MAX_SHOWN = 40  # characters of an invalid size in the message
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
# Default sizes double from _FIRST, or from an eighth of a smaller corpus, but not from less than
# _MIN_FIRST: about 300 words occur five times in it, as the defaults of the SVD need.
_FIRST, _PARTS, _MIN_FIRST = 1_000_000, 8, 20_000


def nested_sample(n_tokens: np.ndarray, eligible: np.ndarray, tokens: int, seed: int) -> np.ndarray:
    """Return a mask of the shortest prefix of the seed's order of units with enough tokens.

    The order is by a hash of the seed and the unit's number, so it depends neither on other
    units nor on the number of tokens. All eligible units are taken if they are too few.
    """
    # n_tokens: int64 (n_units,); eligible: bool (n_units,)
    if tokens < 1:
        raise SettingError(f"a sample must have at least 1 token, got {tokens}")
    if not 0 <= seed < 1 << 64:
        raise SettingError(f"the seed of a sample must be at least 0 and below 2^64, got {seed}")
    candidates = np.flatnonzero(eligible)
    # stable: ties by number
    order = candidates[np.argsort(_keys(seed, len(eligible))[candidates], kind="stable")]
    reached = np.cumsum(n_tokens[order])
    taken = np.zeros(len(eligible), dtype=bool)
    taken[order[: np.searchsorted(reached, tokens) + 1]] = True
    if not len(order) or tokens >= reached[-1]:
        taken[order] = True  # also empty units after the last token
    return taken


def parse_sizes(sizes: str) -> list[int]:
    """Parse token counts such as ``2.5M, 500k`` (powers of 1000) into sorted distinct numbers."""
    numbers = set()
    for part in sizes.split(","):
        found = _SIZE.fullmatch(part.strip().lower())
        whole, fraction, unit = found.groups(default="") if found else ("0", "", "")
        number = int(whole + fraction) * _UNITS[unit] // 10 ** len(fraction)
        if not number:
            shown = part if len(part) <= _MAX_SHOWN else f"{part[:_MAX_SHOWN]}..."
            raise SettingError(
                f"`sizes` must be numbers of tokens such as 500K,1M,2.5M, got {shown!r}"
            )
        numbers.add(number)
    return sorted(numbers)


def size_name(tokens: int) -> str:
    """Format a token count in the shortest form that :func:`parse_sizes` reads back exactly."""
    for unit, factor in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if tokens >= factor and tokens % (factor // 100) == 0:
            whole, hundredths = divmod(tokens // (factor // 100), 100)
            return f"{whole}.{hundredths:02}".rstrip("0").rstrip(".") + unit
    return str(tokens)


def default_sizes(tokens: int) -> list[int]:
    """Return doubling sample sizes up to two thirds of a corpus; empty if it is too small."""
    eighth = tokens // _PARTS
    rounded = eighth // (digit := 10 ** (len(str(eighth)) - 1)) * digit if eighth else 0
    size, sizes = max(_MIN_FIRST, min(_FIRST, rounded)), []
    while 3 * size <= 2 * tokens:  # a size close to the whole adds no information
        sizes.append(size)
        size *= 2
    return sizes


def _keys(seed: int, n_units: int) -> np.ndarray:
    """Return the sort keys of units for a seed, uint64 (n_units,)."""
    numbers = np.arange(1, n_units + 1, dtype=np.uint64)
    return np.asarray(mix(mix(np.array([seed], dtype=np.uint64)) + numbers * STRIDE))
