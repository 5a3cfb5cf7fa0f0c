"""The definition of segmentation, character by character; slow on purpose."""

import re

import numpy as np

from firth.corpora.text.characters import (
    ALONE,
    CAPITAL_SIGMA,
    CLASS_MASK,
    CLASS_SHIFT,
    CODE_POINT_MASK,
    CONTEXT,
    DOT_ABOVE,
    DOTLESS,
    DROP,
    EXTENDS,
    JOINING,
    PICTURE,
    REGIONAL,
    SPACE,
    START,
    SYMBOL,
    VIRAMA,
    ZWJ,
    ZWNJ,
    CharacterTable,
)
from firth.corpora.text.type_table import Piece


def naive_pieces(text: str, table: CharacterTable) -> list[Piece]:
    """Return the words of a text with their places."""
    codes = np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)
    entries = table.entries[codes].tolist()
    neighbors = [*table.neighbors[codes].tolist(), 0]
    pieces: list[Piece] = []
    inside, place = False, 0
    while place < len(text):
        entry, start, written = entries[place], place, chr(entries[place] & CODE_POINT_MASK)
        kind = (entry >> CLASS_SHIFT) & CLASS_MASK
        place += 1
        if kind in (SPACE, ALONE, START):
            inside = False
        if kind == SPACE:
            continue
        if kind == DROP:
            before = table.neighbors[ord(pieces[-1][0][-1])] if inside else 0
            if not _joins(ord(text[start]), before, neighbors[place]):
                continue
            written = text[start]
        elif entry & SYMBOL:
            place = _symbol_end(text, start, neighbors)
            written += text[start + 1 : place]
        word, begin = pieces.pop()[:2] if inside else ("", start)
        pieces.append((word + written, begin, place))
        inside = kind != ALONE
    if any(entry & CONTEXT for entry in entries):
        lowers = bool(table.entries[ord(CAPITAL_SIGMA)] & CONTEXT)
        pieces = [(_normalized_in_context(word, lowers), a, b) for word, a, b in pieces]
    return pieces


def _joins(code: int, before: int, after: int) -> bool:
    """Return whether a joiner is kept between characters with these flags."""
    if code not in (ZWNJ, ZWJ) or not before & JOINING:
        return False
    return bool(after & JOINING or (code == ZWJ and before & VIRAMA))


def _symbol_end(text: str, place: int, neighbors: list[int]) -> int:
    """Return the end of what belongs to the symbol at a place."""
    is_picture, regional = neighbors[place] & PICTURE, neighbors[place] & REGIONAL
    place += 1
    while place < len(text):
        if neighbors[place] & (EXTENDS | regional):
            place += 1
        elif is_picture and text[place] == chr(ZWJ) and neighbors[place + 1] & PICTURE:
            place += 2
        else:
            break
        regional = 0
    return place


def _normalized_in_context(word: str, lowers: bool) -> str:
    """Lower-case capital sigmas by their place, if at all, and drop the dot above an i."""
    word = re.sub(f"[i{DOTLESS}]{DOT_ABOVE}+", "i", word)
    if not lowers:
        return word
    pairs = zip(word, word.lower(), strict=True)
    return "".join(small if character == CAPITAL_SIGMA else character for character, small in pairs)
