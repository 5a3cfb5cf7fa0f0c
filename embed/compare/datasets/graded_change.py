"""Read words with the degree of their change, such as those of SemEval-2020 Task 1."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.embed.compare.datasets.fields import Row, is_number, quoted, read_rows
from firth.embed.compare.datasets.head import Head

_TAGGED = re.compile(r"(.+)_(?:nn|vb)")  # as SemEval-2020 writes English words


@dataclass(frozen=True)
class GradedWord:
    """A word and how much people found it to have changed."""

    word: str  # as the file writes it
    score: float  # higher is more change

    @property
    def spellings(self) -> Sequence[str]:
        """The word as written, then without its part of speech."""
        tagged = _TAGGED.fullmatch(self.word)
        return (self.word, tagged[1]) if tagged else (self.word,)


def read_graded(path: Path) -> list[GradedWord]:
    """Read a word and its score a line; a header is left out."""
    nothing = "no words; expected lines of word and score"
    rows = read_rows(path, lambda n_fields: n_fields == 2, nothing=nothing)
    header = len(rows) > 1 and len(rows[0].fields) == 2 and not is_number(rows[0].fields[1])
    words = [_word(row) for row in rows[header:]]
    seen: set[str] = set()
    for row, each in zip(rows[header:], words, strict=True):
        if each.word in seen:
            raise row.error(f"{quoted(each.word)} occurs twice; keep one line")
        seen.add(each.word)
    return words


def looks_graded(head: Head) -> bool:
    """Return whether lines are a word and a number."""
    records = head.records(2)
    words = {word for word, _ in records if not is_number(word)}
    numbers = [score for _, score in records[1:] or records if is_number(score)]
    return (
        bool(records)
        and len(numbers) == len(records[1:] or records)
        and 2 * len(words) > len(records)
    )


def _word(row: Row) -> GradedWord:
    """Parse one line."""
    if len(row.fields) != 2 or not row.fields[0]:
        raise row.malformed(f"a word and a score separated by {row.between}")
    return GradedWord(row.fields[0], row.score(1))
