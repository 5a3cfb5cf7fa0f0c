"""Read pairs of sentences with human scores of their similarity."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import (
    Row,
    is_comment,
    is_number,
    names_in_header,
    only_column,
    read_rows,
    split,
)
from firth.embed.compare.datasets.head import Head

_FIRST = ("sentence1", "sentence_a", "sentence_1", "text1", "text_a", "s1")
_SECOND = ("sentence2", "sentence_b", "sentence_2", "text2", "text_b", "s2")
_SCORES = ("score", "similarity", "similarity_score", "relatedness_score", "relatedness", "gold")
_EXPECTED = "a score and two sentences separated by tabs or commas"
_WORDS = 3  # the mean of a sentence, at least; lists of word pairs have fewer


class ScoredSentences(NamedTuple):
    """Two sentences and the human score of their similarity."""

    a: str
    b: str
    score: float  # higher is more similar


def read_scored_sentences(path: Path) -> list[ScoredSentences]:
    """Read a set: columns named in a header, or a score before or after two sentences."""
    nothing = f"no sentence pairs; expected lines of {_EXPECTED}"
    return _pairs(read_rows(path, nothing=nothing, comment=_is_comment))


def looks_like_scored_sentences(head: Head) -> bool:
    """Return whether lines have a number and two texts of several words, or a header says so."""
    rows = [row for row in head.rows if not _is_comment(row.text)]
    try:
        pairs = _pairs(rows) if head.is_list else []
    except SourceError:
        return False
    n_words = sum(len(text.split()) for pair in pairs for text in (pair.a, pair.b))
    return bool(pairs) and n_words >= 2 * _WORDS * len(pairs)


def _is_comment(text: str) -> bool:
    """Return whether a line is a comment; one with tabs is data."""
    return "\t" not in text and is_comment(text)


def _pairs(rows: Sequence[Row]) -> list[ScoredSentences]:
    """Parse lines, of which the first may be a header."""
    if not rows:
        return []
    mark = "\t" if "\t" in rows[0].text else ","
    rows = [row._replace(fields=split(row.text, mark)) for row in rows]
    names = names_in_header([row.fields for row in rows[:2]])
    named = [only_column(names, known) for known in (_FIRST, _SECOND, _SCORES)]
    header = None not in named
    columns = [place for place in named if place is not None]
    if not header:
        numeric = [place for place, field in enumerate(rows[0].fields) if is_number(field)]
        if len(rows[0].fields) != 3 or numeric not in ([0], [2]):
            raise rows[0].malformed(_EXPECTED)
        columns = [*({0, 1, 2} - set(numeric)), *numeric]
    return [_pair(row, columns, len(rows[0].fields)) for row in rows[header:]]


def _pair(row: Row, columns: Sequence[int], width: int) -> ScoredSentences:
    """Parse one line."""
    a, b, score = columns
    if len(row.fields) <= max(columns) or (width == 3 and len(row.fields) != 3):
        raise row.malformed(_EXPECTED)
    if not row.fields[a] or not row.fields[b]:
        raise row.malformed(_EXPECTED)
    return ScoredSentences(row.fields[a], row.fields[b], row.score(score))
