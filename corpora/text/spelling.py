"""Find other spellings of a word, and close ones, among millions of words.

The edit distances to all words of similar length are computed together, one cell of the table at
a time. Distances are in UTF-8 bytes.
"""

import re
import unicodedata
from collections.abc import Callable, Mapping
from itertools import islice
from typing import Any

import numpy as np

from firth.corpora.common.errors import UnknownWordError

_LONGEST = 64
_CHUNK = 1 << 16
# bytes that count as the same: small and capital ASCII letters, a space and `_`
_SAME = np.frombuffer(bytes(range(256)).lower().replace(b" ", b"_"), np.uint8)
_SPACE = re.compile(r"[^\S\n]")
_TYPED = str.maketrans("\u2019\u02bc\u2018\u2010\u2011", "'''--")  # apostrophes, hyphens


def fold(text: str) -> str:
    """Return what spellings share: no case, one normal form, typed signs, and ``_`` for spaces."""
    normalized = unicodedata.normalize("NFC", text).casefold().translate(_TYPED)
    return _SPACE.sub("_", unicodedata.normalize("NFC", normalized))


class FoldedWords:
    """Finds words by other spellings; of several words with the same, the first."""

    def __init__(self, words: Any) -> None:
        self._words = words
        hashes = np.empty(len(words), dtype=np.int64)
        first = 0
        following = iter(words)
        while chunk := list(islice(following, _CHUNK)):
            folded = fold("\n".join(chunk)).split("\n")
            if len(folded) != len(chunk):  # a word has a line end
                folded = list(map(fold, chunk))
            hashes[first : first + len(chunk)] = list(map(hash, folded))
            first += len(chunk)
        self._rows = np.argsort(hashes, kind="stable")  # int64 (V,)
        self._hashes = hashes[self._rows]

    def row(self, text: str) -> int | None:
        """Return the row of the first word that differs from a text in its spelling only."""
        wanted = fold(" ".join(text.split()))
        start, stop = (
            int(np.searchsorted(self._hashes, hash(wanted), s)) for s in ("left", "right")
        )
        rows = self._rows[start:stop].tolist() if wanted else []
        return next((row for row in rows if fold(self._words[row]) == wanted), None)


def spelled_row(
    word: str, rows: Mapping[str, int], kind: str, split: Callable[[str], list[str]] | None = None
) -> int:
    """Return the row of a word among some: as it is written, split or spelled otherwise."""
    # rows: ascending from 0
    read = split(word) if split else []
    for form in (read[0] if len(read) == 1 else word, word):
        if form in rows:
            return rows[form]
    words = list(rows)
    row = FoldedWords(words).row(word)
    if row is None:
        offer = did_you_mean(word, words)
        raise UnknownWordError(f"{word!r} is not one of the {len(words):,} {kind}; {offer}")
    return row


def did_you_mean(word: str, words: Any, otherwise: str = "check the spelling") -> str:
    """Return the remedy for an unknown word: close spellings among some words, if there are any."""
    close = close_spellings(word, words)
    return f"did you mean {' or '.join(map(repr, close))}?" if close else otherwise


def encode_words(words: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return any vocabulary as bytes, for searches over all words."""
    # returns buffer: uint8 (n_bytes,); returns starts, ends: int64 (V,)
    if hasattr(words, "encoded"):  # it is on disk
        encoded: tuple[np.ndarray, np.ndarray, np.ndarray] = words.encoded()
        return encoded
    cells = [word.encode("utf-8", "surrogatepass") for word in words]
    ends = np.cumsum(np.fromiter(map(len, cells), np.int64, len(cells)))
    starts = np.concatenate(([0], ends[:-1])) if len(ends) else ends
    return np.frombuffer(b"".join(cells), np.uint8), starts, ends


def close_spellings(word: str, vocabulary: Any, n: int = 3) -> list[str]:
    """Find words spelled similarly to an unknown word."""
    target = word.encode("utf-8", "replace").lower().replace(b" ", b"_")
    if not word or len(target) > _LONGEST or not len(vocabulary):
        return []
    limit = _limit(word, len(target))
    buffer, starts, ends = encode_words(vocabulary)
    lengths = ends - starts
    near = np.flatnonzero(abs(lengths - len(target)) <= limit)
    distances = np.empty(len(near), np.uint8)
    for begin in range(0, len(near), _CHUNK):
        rows = near[begin : begin + _CHUNK]
        chars = _SAME[_columns(buffer, starts[rows], len(target) + limit)]
        distances[begin : begin + _CHUNK] = edit_distances(target, chars, lengths[rows])
    is_close = distances <= limit
    order = np.lexsort((near[is_close], distances[is_close]))[:n]
    return [vocabulary[int(row)] for row in near[is_close][order]]


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
