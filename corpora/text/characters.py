"""Lookup table of how segmentation treats each Unicode character.

The BERT normalizer and pre-tokenizer of the ``tokenizers`` library work character by character
when accents are kept. So their behavior on each of the 1.1 million code points describes them
completely, and a kernel can reproduce it by table lookup.
"""

import contextlib
import functools
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import UNREADABLE, load_arrays
from firth.corpora.artifacts.atomic import write_cached
from firth.corpora.common.cache import cache_folder

N_CODE_POINTS = 0x110000
_SURROGATES = range(0xD800, 0xE000)

# Character classes, in bits 21-23 of a table entry; bits 0-20 hold the normalized code point.
WORD, DROP, SPACE, ALONE, START = range(5)
CLASS_SHIFT = 21
CLASS_MASK = 7
CODE_POINT_MASK = (1 << CLASS_SHIFT) - 1
UNSPACED = 1 << 24  # in a script without spaces between words
EXPANDS = 1 << 25  # normalized to several characters; bits 0-20 are a row of the expansions

# Between pre-segmented tokens and sentences (CoNLL-U, jieba); never inside a token.
TOKEN_SEPARATOR = "\x1f"
SENTENCE_SEPARATOR = "\x1e"

# Han, kana, Thai, Lao, Myanmar, Khmer, Tibetan
_UNSPACED_RANGES = (
    (0x0E00, 0x0EFF),
    (0x0F00, 0x0FFF),
    (0x1000, 0x109F),
    (0x1780, 0x17FF),
    (0x3041, 0x30FF),
    (0x3400, 0x4DBF),
    (0x4E00, 0x9FFF),
    (0xF900, 0xFAFF),
    (0x20000, 0x323AF),
)


@dataclass(frozen=True)
class CharacterTable:
    """How each character is normalized, and its class."""

    # int32 (0x110000,): class, flags and target code point, packed as described above
    entries: np.ndarray[Any, np.dtype[np.int32]]
    # uint8 (n, 16): entries with EXPANDS name a row here: a length, then UTF-8 bytes
    expansions: np.ndarray[Any, np.dtype[np.uint8]]


@functools.cache
def character_table(segmenter: str, keep_case: bool, fold_digits: bool) -> CharacterTable:
    """Return the table for a segmenter and its settings."""
    library = _library_characters()
    classes = library["classes"].astype(np.int32)
    targets = np.arange(N_CODE_POINTS, dtype=np.int32)
    expansions = np.zeros((1, 16), dtype=np.uint8)
    expands = np.zeros(0, dtype=np.int64)
    if not keep_case:
        targets = library["lowered"].astype(np.int32)
        expansions, expands = library["expansions"], library["expands"]
    if fold_digits:
        targets[_digits()] = ord("0")
    classes = _segmenter_classes(classes, segmenter)
    targets[expands] = np.arange(len(expands))
    entries = targets | (classes << CLASS_SHIFT)
    entries[expands] |= EXPANDS
    for first, last in _UNSPACED_RANGES:
        entries[first : last + 1] |= UNSPACED
    return CharacterTable(entries, expansions)


def punctuation_characters() -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which characters the library splits off as punctuation, bool (0x110000,)."""
    library = _library_characters()
    return (library["classes"] == ALONE) & ~library["ideographs"]


def _segmenter_classes(classes: np.ndarray, segmenter: str) -> np.ndarray:
    """Convert the classes for ``words`` into those for another segmenter."""
    classes = classes.copy()
    if segmenter in ("whitespace", "pretokenized"):
        classes[classes == ALONE] = WORD
    if segmenter == "pretokenized":
        classes[classes == SPACE] = WORD
        classes[ord("\n")] = SPACE
    if segmenter == "characters":
        classes[(classes == ALONE) | (classes == WORD)] = START
        classes[(classes == START) & _marks()] = WORD  # joins the preceding character
    for separator in (TOKEN_SEPARATOR, SENTENCE_SEPARATOR):
        classes[ord(separator)] = SPACE if segmenter == "pretokenized" else DROP
    return classes


@functools.cache
def _digits() -> np.ndarray:
    """Return the code points of decimal digits."""
    return code_points_in("Nd")


@functools.cache
def _marks() -> np.ndarray:
    """Return a mask of the combining marks, which join the preceding character."""
    mask = np.zeros(N_CODE_POINTS, dtype=bool)
    mask[code_points_in("Mn", "Mc", "Me")] = True
    return mask


def code_points_in(*names: str) -> np.ndarray:
    """Return the code points in the given Unicode categories."""
    return np.array([c for c in range(N_CODE_POINTS) if unicodedata.category(chr(c)) in names])


@functools.cache
def _library_characters() -> dict[str, np.ndarray]:
    """Return the library's behavior on every character, cached since it takes half a second."""
    import tokenizers

    path = cache_folder("characters") / f"1-{tokenizers.__version__}.npz"
    try:
        return load_arrays(path)
    except (*UNREADABLE, KeyError):
        library = _probe_library()
        with contextlib.suppress(OSError):  # the cache only saves time
            write_cached(path, lambda new: _save(new, library))
        return library


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays to an open file, since numpy appends ``.npz`` to paths."""
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _probe_library() -> dict[str, np.ndarray]:
    """Normalize and pre-tokenize every character with the library."""
    from tokenizers.normalizers import BertNormalizer
    from tokenizers.pre_tokenizers import BertPreTokenizer

    normalize = BertNormalizer(lowercase=True, strip_accents=False).normalize_str
    split = BertPreTokenizer().pre_tokenize_str
    classes = np.full(N_CODE_POINTS, DROP, dtype=np.uint8)
    lowered = np.arange(N_CODE_POINTS, dtype=np.int32)
    ideographs = np.zeros(N_CODE_POINTS, dtype=bool)
    expansions: dict[int, bytes] = {}
    kept = []
    for code in range(N_CODE_POINTS):
        if code in _SURROGATES:
            continue
        output = normalize(chr(code))
        if output == " ":
            classes[code] = SPACE
        elif len(output) == 3 and output[0] == " ":
            classes[code] = ALONE
            ideographs[code] = True
        elif output:
            kept.append(code)
            if len(output) == 1:
                lowered[code] = ord(output)
            else:
                expansions[code] = output.encode()
    # One call for all remaining characters: punctuation is returned as separate pieces.
    classes[kept] = WORD
    pieces = split("a".join(map(chr, kept)))
    classes[[ord(text) for text, _ in pieces if len(text) == 1 and text != "a"]] = ALONE
    rows = np.zeros((len(expansions), 16), dtype=np.uint8)
    for row, text in zip(rows, expansions.values(), strict=True):
        row[0] = len(text)
        row[1 : 1 + len(text)] = list(text)
    return {
        "classes": classes,
        "lowered": lowered,
        "ideographs": ideographs,
        "expansions": rows,
        "expands": np.array(list(expansions), dtype=np.int64),
    }
