"""Text of any size whose vocabulary grows as that of real text, for measuring memory and time.

Ranks of words follow Zipf's law with an exponent of 1 up to rank 8,192, and of 1.7 beyond it, so
that the number of types grows with the 0.59th power of the number of words (Heaps' law): 16 million
words have as many words of five tokens and more as English, 74,000. Each document has one of 50
topics: half of its words but the 64 most frequent are exchanged for the word of the topic among the
50 next to them in rank. Words are syllables, shorter for frequent ones; the same seed gives the
same bytes.
"""

from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.jit import compiled

_HEAD = 8192  # ranks with an exponent of 1
_TAIL = 1.7
_SHIFT = 2.7  # Mandelbrot's
_TOPICS, _COMMON = 50, 64
_CHUNK = 1 << 20  # words
_CONSONANTS, _VOWELS = (
    np.frombuffer(b"bdfghklmnprstvz", np.uint8),
    np.frombuffer(b"aeiou", np.uint8),
)


def write_text(path: Path, n_words: int, seed: int = 1) -> None:
    """Write documents of some 300 words: a paragraph a line, a blank line between documents."""
    weights = 1 / (np.arange(1, _HEAD + 1) + _SHIFT)
    # the tail continues the head: its integral of w (r / R)^-1.7 from R on is w R / 0.7
    tail = weights[-1] * _HEAD / (_TAIL - 1)
    cumulated = np.cumsum(weights) / (weights.sum() + tail)
    buffer = np.empty(_CHUNK * 24, np.uint8)
    state = np.array([seed, 0, 0], np.uint64)
    with open(path, "wb") as file:
        for first in range(0, n_words, _CHUNK):
            n = min(_CHUNK, n_words - first)
            size = _write_words(buffer, n, cumulated, state, _CONSONANTS, _VOWELS)
            file.write(buffer[:size].data)


@compiled
def _random(state: Any) -> Any:
    """Return a number in [0, 1) by SplitMix64."""
    state[0] += np.uint64(0x9E3779B97F4A7C15)
    z = state[0]
    z = (z ^ (z >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    z = (z ^ (z >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return ((z ^ (z >> np.uint64(31))) >> np.uint64(11)) * (1.0 / 9007199254740992.0)


@compiled
def _write_words(out: Any, n: Any, cumulated: Any, state: Any, consonants: Any, vowels: Any) -> Any:
    """Write words and return the number of bytes; ``state`` is of the numbers, topic and place."""
    size = 0
    for _ in range(n):
        u = _random(state)
        if u < cumulated[-1]:
            rank = np.searchsorted(cumulated, u, "right")
        else:
            left = (1.0 - u) / (1.0 - cumulated[-1])
            rank = int(len(cumulated) * max(left, 1e-9) ** (-1.0 / (_TAIL - 1.0)))
        if rank >= _COMMON and _random(state) < 0.5:
            rank = max(rank // _TOPICS * _TOPICS + int(state[1]), _COMMON)
        rank += 1
        while rank > 0:
            rank -= 1
            syllable = rank % 75
            rank //= 75
            out[size] = consonants[syllable // 5]
            out[size + 1] = vowels[syllable % 5]
            size += 2
        state[2] += np.uint64(1)
        place = state[2]
        if place % np.uint64(18) == 0:
            out[size] = 46  # a full stop
            size += 1
        if place % np.uint64(288) == 0:  # four paragraphs of four sentences
            out[size : size + 2] = 10
            size += 2
            state[1] = np.uint64(int(_random(state) * _TOPICS))
        else:
            out[size] = 10 if place % np.uint64(72) == 0 else 32
            size += 1
    return size
