"""What every Unicode character is to segmentation: one table, asked of the library once.

The ``tokenizers`` library's BERT normalizer and pre-tokenizer work character by
character when accents are kept. So one look at each of the 1.1 million code
points tells all that they do, and a kernel can do the same by table lookup.
"""

import contextlib
import functools
import unicodedata
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.atomic import write_cached
from corpora.common.cache import cache_directory

N_CODE_POINTS = 0x110000
_SURROGATES = range(0xD800, 0xE000)

# Classes of a character, in bits 21-23 of a table entry; bits 0-20 hold what it is written as.
WORD, DROP, SPACE, ALONE, START = range(5)
CLASS_SHIFT = 21
CLASS_MASK = 7
CODE_POINT_MASK = (1 << CLASS_SHIFT) - 1
UNSPACED = 1 << 24  # of a script that is written without spaces between words
EXPANDS = 1 << 25  # written as several characters: the code point is a row of the expansions

# Between given tokens and given sentences (CoNLL-U, jieba); never found inside a token.
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
    """How each character is written and what it does to the word around it."""

    # int32 (0x110000,): class, unspaced flag and target code point, packed as the module's
    # constants say
    entries: np.ndarray[Any, np.dtype[np.int32]]
    # uint8 (n, 16): entries with EXPANDS name a row here: a length, then UTF-8 bytes
    expansions: np.ndarray[Any, np.dtype[np.uint8]]


@functools.cache
def character_table(segmenter: str, keep_case: bool, fold_digits: bool) -> CharacterTable:
    """Make the table for one way of segmenting."""
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
    """Tell which characters the library splits off as punctuation."""
    # returns bool (0x110000,)
    library = _library_characters()
    return (library["classes"] == ALONE) & ~library["ideographs"]


def _segmenter_classes(classes: np.ndarray, segmenter: str) -> np.ndarray:
    """Change the classes of ``words`` into those of another segmenter."""
    classes = classes.copy()
    if segmenter in ("whitespace", "pretokenized"):
        classes[classes == ALONE] = WORD
    if segmenter == "pretokenized":
        classes[classes == SPACE] = WORD
        classes[ord("\n")] = SPACE
    if segmenter == "characters":
        classes[(classes == ALONE) | (classes == WORD)] = START
        classes[(classes == START) & _marks()] = WORD  # goes on with the character before it
    for separator in (TOKEN_SEPARATOR, SENTENCE_SEPARATOR):
        classes[ord(separator)] = SPACE if segmenter == "pretokenized" else DROP
    return classes


@functools.cache
def _digits() -> np.ndarray:
    """Code points of decimal digits."""
    return _of_categories("Nd")


@functools.cache
def _marks() -> np.ndarray:
    """Mask of combining marks, which go with the character before them."""
    mask = np.zeros(N_CODE_POINTS, dtype=bool)
    mask[_of_categories("Mn", "Mc", "Me")] = True
    return mask


def _of_categories(*names: str) -> np.ndarray:
    """Code points whose Unicode category is among the names."""
    return np.array([c for c in range(N_CODE_POINTS) if unicodedata.category(chr(c)) in names])


@functools.cache
def _library_characters() -> dict[str, np.ndarray]:
    """The library's view of every character, from the cache or made anew (half a second)."""
    import tokenizers

    path = cache_directory() / f"characters-1-{tokenizers.__version__}.npz"
    try:
        with np.load(path, allow_pickle=False) as saved:
            return dict(saved)
    except (OSError, ValueError, KeyError):
        library = _ask_library()
        with contextlib.suppress(OSError):  # it only saves time
            write_cached(path, lambda new: _save(new, library))
        return library


def _save(path: Path, arrays: dict[str, np.ndarray]) -> None:
    """Write arrays; numpy would add an ending to the name of a path."""
    with open(path, "wb") as file:
        np.savez(file, allow_pickle=False, **arrays)


def _ask_library() -> dict[str, np.ndarray]:
    """Normalize every character by the library and see what comes out."""
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
    # One call over all that is left: punctuation is what comes back as a piece of its own.
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
