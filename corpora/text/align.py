"""Finds the tokens of a sentence in its original text."""

from collections.abc import Sequence

from firth.corpora.text.patterns import tokens_by
from firth.corpora.text.segment import TextSettings, characters_of, jieba_cutter
from firth.corpora.text.type_table import Piece, segment_short


def align(text: str, tokens: Sequence[str], settings: TextSettings) -> list[tuple[int, int]] | None:
    """Return where each token starts and stops in the text; None if the text has other tokens.

    An empty token, as pruned types are, equals one word, whatever it is; a phrase (``new_york``)
    the words that it consists of. With lemmas only numbers are compared.
    """
    pieces = _pieces(text, settings.before_lemmas)
    if settings.lemmatize is not None:
        same = len(pieces) == len(tokens)
        return [(start, stop) for _, start, stop in pieces] if same else None
    spans, next_piece = [], 0
    for token in tokens:
        first, last = next_piece, next_piece + 1
        if token and "_".join(word for word, _, _ in pieces[first:last]) != token:
            last += token.count("_")
            if "_".join(word for word, _, _ in pieces[first:last]) != token:
                return None
        if last > len(pieces):
            return None
        spans.append((pieces[first][1], pieces[last - 1][2]))
        next_piece = last
    return spans if next_piece == len(pieces) else None


def _pieces(text: str, settings: TextSettings) -> list[Piece]:
    """Return the words of a text with their places."""
    if settings.pattern is not None:
        return tokens_by(settings.pattern)(text)
    if settings.segmenter != "jieba":
        return segment_short(text, characters_of(settings))
    table, start = characters_of(settings, "pretokenized"), 0
    pieces: list[Piece] = []
    for token in jieba_cutter()(text):
        if not token.isspace():
            pieces += [(word, start + a, start + b) for word, a, b in segment_short(token, table)]
        start += len(token)
    return pieces
