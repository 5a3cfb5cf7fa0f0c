"""Nested samples of documents, a smaller one contained in every larger one, and their sizes."""

import re

import numpy as np

from corpora.common.errors import SettingError
from corpora.common.hashing import STRIDE, mix

# 18 digits hold every corpus; Python refuses to read numbers of thousands.
_SIZE = re.compile(r"(\d{1,18})(?:\.(\d{1,18}))?\s*([kmgb]?)", re.ASCII)
_SHOWN = 40  # characters of what is no size
_UNITS = {"": 1, "k": 10**3, "m": 10**6, "g": 10**9, "b": 10**9}
# By default sizes double from here; corpora of less than eight times as much begin at an eighth,
# but not below what has some 300 words that occur five times, as the SVD's defaults need.
_FIRST, _PARTS, _FEWEST = 1_000_000, 8, 20_000


def nested_sample(n_tokens: np.ndarray, eligible: np.ndarray, tokens: int, seed: int) -> np.ndarray:
    """Take the shortest prefix, in the order of a seed, that holds enough tokens.

    The place of a document in the order is a hash of the seed and of its number, so
    it depends neither on the other documents nor on how many are asked for.
    """
    # n_tokens: int64 (n_documents,); eligible: bool (n_documents,); returns bool (n_documents,)
    if tokens < 1:
        raise SettingError(f"a sample must have at least 1 token, got {tokens}")
    if not 0 <= seed < 1 << 64:
        raise SettingError(f"the seed of a sample must be at least 0 and below 2^64, got {seed}")
    candidates = np.flatnonzero(eligible)
    # ties, if ever there are, by number
    order = candidates[np.argsort(_keys(seed, len(eligible))[candidates], kind="stable")]
    reached = np.cumsum(n_tokens[order])
    taken = np.zeros(len(eligible), dtype=bool)
    taken[order[: np.searchsorted(reached, tokens) + 1]] = True
    if not len(order) or tokens >= reached[-1]:
        taken[order] = True  # empty documents behind the last token, too
    return taken


def parse_sizes(sizes: str) -> list[int]:
    """Read numbers of tokens as people write them."""
    numbers = set()
    for part in sizes.split(","):
        found = _SIZE.fullmatch(part.strip().lower())
        whole, fraction, unit = found.groups(default="") if found else ("0", "", "")
        number = int(whole + fraction) * _UNITS[unit] // 10 ** len(fraction)
        if not number:
            shown = part if len(part) <= _SHOWN else f"{part[:_SHOWN]}..."
            raise SettingError(
                f"`sizes` must be numbers of tokens such as 500K,1M,2.5M, got {shown!r}"
            )
        numbers.add(number)
    return sorted(numbers)


def size_name(tokens: int) -> str:
    """Write a number of tokens as short as it can be read back exactly."""
    for unit, factor in (("G", 10**9), ("M", 10**6), ("K", 10**3)):
        if tokens >= factor and tokens % (factor // 100) == 0:
            whole, hundredths = divmod(tokens // (factor // 100), 100)
            return f"{whole}.{hundredths:02}".rstrip("0").rstrip(".") + unit
    return str(tokens)


def default_sizes(tokens: int) -> list[int]:
    """Choose sizes for a corpus, doubling, below its own."""
    eighth = tokens // _PARTS
    rounded = eighth // (digit := 10 ** (len(str(eighth)) - 1)) * digit if eighth else 0
    size, sizes = max(_FEWEST, min(_FIRST, rounded)), []
    while 3 * size <= 2 * tokens:  # what is hardly less than the whole tells nothing more
        sizes.append(size)
        size *= 2
    return sizes


def _keys(seed: int, n_documents: int) -> np.ndarray:
    """Where each document stands in the order of a seed, uint64 (n_documents,)."""
    numbers = np.arange(1, n_documents + 1, dtype=np.uint64)
    keys: np.ndarray = mix(mix(np.array([seed], dtype=np.uint64)) + numbers * STRIDE)
    return keys
