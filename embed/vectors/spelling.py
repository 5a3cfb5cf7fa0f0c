"""Find close spellings of a word among millions of words.

The edit distances to all words of similar length are computed together, one cell of the table at
a time. Distances are in UTF-8 bytes.
"""

from collections.abc import Sequence

import numpy as np

from firth.embed.vectors.wordlist import encode_words

_LONGEST = 64
_CHUNK = 1 << 16


def close_spellings(word: str, vocabulary: Sequence[str], n: int = 3) -> list[str]:
    """Find words spelled similarly to an unknown word."""
    target = word.encode("utf-8", "replace")
    if not word or len(target) > _LONGEST or not len(vocabulary):
        return []
    limit = _limit(word, len(target))
    buffer, starts, ends = encode_words(vocabulary)
    lengths = ends - starts
    near = np.flatnonzero(abs(lengths - len(target)) <= limit)
    distances = np.empty(len(near), np.uint8)
    for begin in range(0, len(near), _CHUNK):
        rows = near[begin : begin + _CHUNK]
        chars = _columns(buffer, starts[rows], len(target) + limit)
        distances[begin : begin + _CHUNK] = edit_distances(target, chars, lengths[rows])
    found = distances <= limit
    order = np.lexsort((near[found], distances[found]))[:n]
    return [vocabulary[int(row)] for row in near[found][order]]


def edit_distances(target: bytes, chars: np.ndarray, lengths: np.ndarray) -> np.ndarray:
    """Return the edit distances of one word to many; a swap of adjacent bytes is one edit."""
    # chars: uint8 (L, M); lengths: int64 (M,); returns uint8 (M,)
    n, m = chars.shape[1], len(target)
    last = [np.full(n, j, np.uint8) for j in range(m + 1)]  # row i - 1 of the table
    before = last
    result = np.where(lengths == 0, np.uint8(m), np.uint8(255))
    for i in range(1, chars.shape[0] + 1):
        now = [np.full(n, i, np.uint8)]
        equal = [chars[i - 1] == byte for byte in target]
        for j in range(1, m + 1):
            cell = np.minimum(last[j], now[j - 1]) + np.uint8(1)
            np.minimum(cell, last[j - 1] + ~equal[j - 1], out=cell)
            if i > 1 and j > 1:
                swap = equal[j - 2] & (chars[i - 2] == target[j - 1])
                np.minimum(cell, before[j - 2] + np.uint8(1), out=cell, where=swap)
            now.append(cell)
        before, last = last, now
        np.copyto(result, now[m], where=lengths == i)
    return result


def _limit(word: str, n_bytes: int) -> int:
    """Return the largest edit distance, in bytes, at which a word counts as similar."""
    letters = 0 if len(word) == 1 else 1 if len(word) < 4 else 2 if len(word) < 8 else 3
    return round(letters * n_bytes / len(word))


def _columns(buffer: np.ndarray, starts: np.ndarray, width: int) -> np.ndarray:
    """Return the first bytes of words, one word per column, arbitrary after a word's end."""
    positions = np.minimum(starts + np.arange(width)[:, None], len(buffer) - 1)
    return buffer[positions]
