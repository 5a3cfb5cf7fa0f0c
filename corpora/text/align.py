"""Finds the tokens of a sentence in its original text."""

from collections.abc import Sequence

import numpy as np

from firth.corpora.text.characters import (
    ALONE,
    CLASS_MASK,
    CLASS_SHIFT,
    CODE_POINT_MASK,
    DROP,
    EXPANDS,
    SPACE,
    START,
    CharacterTable,
    character_table,
)
from firth.corpora.text.segment import TextSettings, jieba_cutter


def align(text: str, tokens: Sequence[str], settings: TextSettings) -> list[tuple[int, int]] | None:
    """Return where each token starts and stops in the text; None if the text has other tokens.

    An empty token, as pruned types are, equals one word, whatever it is; a phrase (``new_york``)
    the words that it consists of. With lemmas only numbers are compared.
    """
    pieces = _pieces(text, settings.before_lemmas)
    if settings.lemmatize is not None:
        same = len(pieces) == len(tokens)
        return [(start, stop) for _, start, stop in pieces] if same else None
    places, next_piece = [], 0
    for token in tokens:
        first, last = next_piece, next_piece + 1
        if token and "_".join(word for word, _, _ in pieces[first:last]) != token:
            last += token.count("_")
            if "_".join(word for word, _, _ in pieces[first:last]) != token:
                return None
        if last > len(pieces):
            return None
        places.append((pieces[first][1], pieces[last - 1][2]))
        next_piece = last
    return places if next_piece == len(pieces) else None


def _pieces(text: str, settings: TextSettings) -> list[tuple[str, int, int]]:
    """Return the words of a text with their places."""
    if settings.segmenter != "jieba":
        table = character_table(settings.segmenter, settings.keep_case, settings.fold_digits)
        return _walk(text, 0, table)
    table = character_table("pretokenized", settings.keep_case, settings.fold_digits)
    pieces, start = [], 0
    for token in jieba_cutter()(text):
        if not token.isspace():
            pieces += _walk(token, start, table)
        start += len(token)
    return pieces


def _walk(text: str, first: int, table: CharacterTable) -> list[tuple[str, int, int]]:
    """Segment like the kernel, with places, which are counted from ``first``."""
    entries = table.entries[np.frombuffer(text.encode("utf-32-le"), dtype=np.uint32)].tolist()
    pieces: list[tuple[str, int, int]] = []
    inside = False
    for place, entry in enumerate(entries, first):
        kind = (entry >> CLASS_SHIFT) & CLASS_MASK
        if kind in (SPACE, ALONE, START):
            inside = False
        if kind in (SPACE, DROP):
            continue
        target = entry & CODE_POINT_MASK
        if entry & EXPANDS:
            length = table.expansions[target, 0]
            written = table.expansions[target, 1 : 1 + length].tobytes().decode()
        else:
            written = chr(target)
        word, start = pieces.pop()[:2] if inside else ("", place)
        pieces.append((word + written, start, place + 1))
        inside = kind != ALONE
    return pieces
