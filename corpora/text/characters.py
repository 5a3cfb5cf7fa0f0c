"""Lookup tables of how segmentation treats each Unicode character.

The BERT normalizer and pre-tokenizer of the ``tokenizers`` library work character by character
when accents are kept. So their behavior on each of the 1.1 million code points describes them
completely, and a kernel can reproduce it by table lookup. Three things are changed: all white
space separates, symbols are divided as by UAX #29, and few characters depend on their neighbors.
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
_FORMS = ("{}", "", " ", " {} ", " {}")  # in a text whose words have spaces between them
CLASS_SHIFT = 21
CLASS_MASK = 7
CODE_POINT_MASK = (1 << CLASS_SHIFT) - 1
UNSPACED = 1 << 24  # in a script without spaces between words
SYMBOL = 1 << 25  # alone, but with the marks after it, and joined to others by ZWJ
CONTEXT = 1 << 26  # normalized by its neighbors: the capital sigma, and the dot above an i

# Flags of a neighbor
JOINING, VIRAMA, CASED, IGNORABLE, MARK, EXTENDS, PICTURE, REGIONAL = (1 << bit for bit in range(8))

# What is dropped, by name of its count; bits 0-20 of such an entry are the place here.
DROPPED = (
    "control_characters", "soft_hyphens", "joiners", "format_characters",
    "replacement_characters", "private_characters",
)  # fmt: skip
# Types of the arrays in the cache, and what their numbers are below
_LIMITS: dict[str, tuple[Any, int]] = {
    "classes": (np.uint8, ALONE + 1), "lowered": (np.int32, N_CODE_POINTS),
    "ideographs": (bool, 2), "digits": (bool, 2), "symbols": (bool, 2),
    "neighbors": (np.uint8, 256), "dropped": (np.uint8, len(DROPPED)),
}  # fmt: skip
ZWNJ, ZWJ = 0x200C, 0x200D
CAPITAL_SIGMA, SIGMA, FINAL_SIGMA, DOT_ABOVE, DOTLESS = "Σσς\u0307ı"

# Between pre-segmented tokens and sentences (CoNLL-U, jieba); never inside a token.
TOKEN_SEPARATOR = "\x1f"
SENTENCE_SEPARATOR = "\x1e"
SEPARATORS = ("\n", TOKEN_SEPARATOR, SENTENCE_SEPARATOR)

# Han, kana, Thai, Lao, Myanmar, Khmer, Tibetan
_UNSPACED = "E00-FFF 1000-109F 1780-17FF 3041-30FF 3400-4DBF 4E00-9FFF F900-FAFF 20000-323AF"
# Of Unicode's White_Space those that the library drops, the separators of ASCII, and U+200B.
_SPACES = (0x0B, 0x0C, *range(0x1C, 0x20), 0x85, 0x200B)
# Scripts in which joiners between letters change their form: from Arabic to N'Ko, Mandaic,
# of India, Khmer, Mongolian, the forms of Arabic, Adlam
_JOINING = "600-7FF 840-DFF 1780-18AF FB50-FEFE 1E900-1E95F"
_PICTURES = "2300-23FF 2600-27BF 2B00-2BFF 1F000-1FAFF"
_SKIN_TONES, _REGIONAL = "1F3FB-1F3FF", "1F1E6-1F1FF"
# Symbols that are letters: circled and squared ones, Braille; the fraction slash; skin tones
_NO_SYMBOLS = f"24B6-24E9 2800-28FF 1F130-1F149 1F150-1F169 1F170-1F189 2044-2044 {_SKIN_TONES}"


@dataclass(frozen=True)
class CharacterTable:
    """How each character is normalized, its class, and what it means to its neighbors."""

    # int32 (0x110000,): class, flags and target code point, packed as described above
    entries: np.ndarray[Any, np.dtype[np.int32]]
    # uint8 (0x110000,): flags
    neighbors: np.ndarray[Any, np.dtype[np.uint8]]

    @functools.cached_property
    def spaced(self) -> "_SpacedCharacters":
        """For ``str.translate``: normalizes characters, and sets spaces between words."""
        return _SpacedCharacters(self.entries)


class _SpacedCharacters(dict[int, str]):
    """Each character as normalized, with spaces if it is alone; NUL if neighbors change it."""

    def __init__(self, entries: np.ndarray) -> None:
        self._entries = entries

    def __missing__(self, code: int) -> str:
        entry = int(self._entries[code])
        in_context = entry & (SYMBOL | CONTEXT) or code in (ZWNJ, ZWJ)
        form = "\0" if in_context else _FORMS[entry >> CLASS_SHIFT & CLASS_MASK]
        self[code] = form.format(chr(entry & CODE_POINT_MASK))
        return self[code]


@functools.cache
def character_table(
    segmenter: str, keep_case: bool, fold_digits: bool, dotless: bool = False
) -> CharacterTable:
    """Return the table for a segmenter and its settings; in Turkish I and ı are ``dotless``."""
    traits = _characters()
    classes = _segmenter_classes(traits, segmenter)
    targets = np.arange(N_CODE_POINTS, dtype=np.int32)
    if not keep_case:
        targets = traits["lowered"].copy()
        targets[[ord("I"), ord("İ")]] = ord(DOTLESS if dotless else "i"), ord("i")
        targets[ord(CAPITAL_SIGMA)] = ord(CAPITAL_SIGMA)  # small by its neighbors
    if fold_digits:
        targets[traits["digits"]] = ord("0")
    dropped = classes == DROP
    targets[dropped] = traits["dropped"][dropped]
    entries = targets | (classes << CLASS_SHIFT)
    entries[_among(_UNSPACED)] |= UNSPACED
    if segmenter == "words":
        entries[traits["symbols"]] |= SYMBOL
    if segmenter not in ("tokens", "separated"):
        entries[[ord(DOT_ABOVE)] + ([] if keep_case else [ord(CAPITAL_SIGMA)])] |= CONTEXT
    neighbors = traits["neighbors"].copy()
    if segmenter != "characters":
        neighbors[_among(_JOINING) & (classes == WORD)] |= JOINING
    return CharacterTable(entries, neighbors)


def _among(ranges: str) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which characters are in hexadecimal ranges, bool (0x110000,)."""
    mask = np.zeros(N_CODE_POINTS, dtype=bool)
    for first, last in (bounds.split("-") for bounds in ranges.split()):
        mask[int(first, 16) : int(last, 16) + 1] = True
    return mask


def punctuation_characters() -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Return which characters the library splits off as punctuation, bool (0x110000,)."""
    traits = _characters()
    return (traits["classes"] == ALONE) & ~traits["ideographs"]


def _segmenter_classes(traits: dict[str, np.ndarray], segmenter: str) -> np.ndarray:
    """Return the classes of the library, changed for a segmenter."""
    classes = traits["classes"].astype(np.int32)
    if segmenter in ("tokens", "separated"):  # nothing is dropped, not even controls
        spaces = filter(str.isspace, map(chr, range(N_CODE_POINTS)))
        classes.fill(WORD)
        classes[[*map(ord, spaces if segmenter == "tokens" else SEPARATORS)]] = SPACE
        return classes
    classes[[*_SPACES]] = SPACE
    if segmenter == "words":
        classes[traits["symbols"]] = ALONE
    if segmenter in ("whitespace", "pretokenized"):
        classes[classes == ALONE] = WORD
    if segmenter == "pretokenized":
        classes[classes == SPACE] = WORD
        classes[[*_SPACES]] = DROP  # as in the library: they separate no tokens
        classes[[*map(ord, SEPARATORS)]] = SPACE
    if segmenter == "characters":
        classes[(classes == ALONE) | (classes == WORD)] = START
        classes[(classes == START) & (traits["neighbors"] & MARK > 0)] = WORD  # joins what precedes
    return classes


@functools.cache
def _characters() -> dict[str, np.ndarray]:
    """Return what the library and Unicode say of every character, cached since it takes a second.

    ``classes``, ``lowered`` and ``ideographs`` are the library's; ``digits`` and ``symbols`` (bool)
    and ``neighbors`` (flags) are Unicode's, as is ``dropped``, places in ``DROPPED``.
    """
    import tokenizers

    versions = f"{tokenizers.__version__}-{unicodedata.unidata_version}"
    path = cache_folder("characters") / f"2-{versions}.npz"
    with contextlib.suppress(*UNREADABLE, KeyError):
        traits = load_arrays(path)
        if all(
            (traits[name].shape, traits[name].dtype) == ((N_CODE_POINTS,), dtype)
            and 0 <= traits[name].min() <= traits[name].max() < limit
            for name, (dtype, limit) in _LIMITS.items()
        ):
            return traits
    traits = _probe_library()
    traits |= _unicode(traits["classes"])
    with contextlib.suppress(OSError):  # the cache only saves time
        write_cached(path, lambda new: _save(new, traits))
    return traits


def _unicode(classes: np.ndarray) -> dict[str, np.ndarray]:
    """Return digits, symbols, flags of neighbors and kinds of what is dropped."""
    names = np.array([unicodedata.category(chr(c)) for c in range(N_CODE_POINTS)])
    flags = np.zeros(N_CODE_POINTS, dtype=np.uint8)
    for code in (*np.flatnonzero(~np.isin(names, ("Lo", "Cn", "Co", "Cs"))).tolist(), 0xAA, 0xBA):
        before, inside = (f"A{CAPITAL_SIGMA}{chr(code)}{end}".lower()[1] for end in ("", "A"))
        if inside == SIGMA:  # a capital sigma before it is not final, or may be
            flags[code] = CASED if before == SIGMA else IGNORABLE
        if unicodedata.combining(chr(code)) == 9:
            flags[code] |= VIRAMA
    flags[np.isin(names, ("Mn", "Mc", "Me"))] |= MARK | EXTENDS
    flags[_among(_SKIN_TONES)] |= EXTENDS
    flags[_among(_REGIONAL)] |= REGIONAL
    symbols = np.isin(names, ("So", "Sc", "Sm"))
    symbols[0x1F000 : 0x1FAFF + 1] = True  # also those of later versions of Unicode
    symbols &= (classes == WORD) & ~_among(_NO_SYMBOLS)
    flags[_among(_PICTURES) & symbols] |= PICTURE
    dropped = np.full(N_CODE_POINTS, DROPPED.index("format_characters"), dtype=np.uint8)
    dropped[names == "Cc"] = DROPPED.index("control_characters")
    dropped[names == "Co"] = DROPPED.index("private_characters")
    dropped[0xAD] = DROPPED.index("soft_hyphens")
    dropped[0xFFFD] = DROPPED.index("replacement_characters")
    dropped[[ZWNJ, ZWJ]] = DROPPED.index("joiners")
    return {"digits": names == "Nd", "symbols": symbols, "neighbors": flags, "dropped": dropped}


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
    word_codes = []
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
            word_codes.append(code)
            lowered[code] = ord(output[0])  # only İ has two: an i with a dot
    # One call for all remaining characters: punctuation is returned as separate pieces.
    classes[word_codes] = WORD
    pieces = split("a".join(map(chr, word_codes)))
    classes[[ord(text) for text, _ in pieces if len(text) == 1 and text != "a"]] = ALONE
    return {"classes": classes, "lowered": lowered, "ideographs": ideographs}
