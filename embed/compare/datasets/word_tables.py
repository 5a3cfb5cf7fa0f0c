"""Read tables of words with labels or ratings; a header names the columns."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.categories import CATEGORY_NAMES, WORD_NAMES
from firth.embed.compare.datasets.fields import (
    DELIMITERS,
    Row,
    cut_rows,
    file_and_column,
    is_number,
    no_column,
    only_column,
    read_rows,
    split,
)
from firth.embed.compare.datasets.head import Head

SEQUENCE_NAMES = ("token", "sequence", "smiles", "sentence", "text")
_MEAN = re.compile(r"mean|average|[._ ]m$", re.IGNORECASE)  # how norms name a column of means
_CHANGE = re.compile("score|chang|grade", re.IGNORECASE)  # a single such number is of a change
_MISSING = {".", "na", "n/a", "#n/a", "nan", "null", "none"}


@dataclass(frozen=True)
class WordTable:
    """Words or sequences with the cells of each column, empty where nothing is given."""

    rows: Sequence[Row]  # below the header
    words: list[str]
    groups: list[str]  # of words that are held out together; the words, if there is no such column
    columns: dict[str, list[str]]  # the others by name
    of_sequences: bool = False  # whether the column of words is named as one of sequences
    group: str = ""  # name of the column of groups

    @classmethod
    def of(cls, rows: Sequence[Row], groups: str = "") -> "WordTable | None":
        """Cut lines if the first one names a column of words and another one."""
        for mark in [each for each in DELIMITERS if each != " "] if len(rows) > 1 else ():
            # unlike split, keeps what is empty between tabs
            cut = [row.text.split("\t") if mark == "\t" else split(row.text, mark) for row in rows]
            names = [name.strip() for name in cut[0]]
            lower = [name.lower() for name in names]
            found = (only_column(lower, known) for known in (WORD_NAMES, SEQUENCE_NAMES))
            word = next((place for place in found if place is not None), None)
            if word is not None and len(names) > 1 and not any(map(is_number, names)):
                pairs = zip(rows[1:], cut[1:], strict=True)
                below = [r._replace(fields=f, between=DELIMITERS[mark]) for r, f in pairs]
                return cls._cut(names, word, below, groups)
        return None

    @classmethod
    def read(cls, file: Path, groups: str = "") -> "WordTable":
        """Read a file; without a header, words come first and columns are numbered."""
        rows = read_rows(file, nothing="no words; expected a header, such as word,label")
        table = cls.of(rows, groups) or cls._cut([""], 0, cut_rows(rows, lambda n: n > 1))
        if groups and not table.group:
            raise no_column(file, groups, table.columns)
        for row, word in zip(table.rows, table.words, strict=True):
            if not word or len(row.fields) < 2:
                raise row.malformed(f"a word and its labels or ratings, separated by {row.between}")
        return table

    @classmethod
    def _cut(
        cls, names: list[str], word: int, rows: Sequence[Row], groups: str = ""
    ) -> "WordTable":
        """Return the columns of lines that are cut; those beyond the header are numbered."""
        width = max(len(row.fields) for row in rows)
        names += [f"column {number + 1}" for number in range(len(names), width)]
        columns = [
            [row.fields[n].strip() if n < len(row.fields) else "" for row in rows]
            for n in range(len(names))
        ]
        words = columns[word]
        others = {
            name: ["" if cell.lower() in _MISSING else cell for cell in cells]
            for n, (name, cells) in enumerate(zip(names, columns, strict=True))
            if name and n != word
        }
        wanted = (groups or "group").lower()
        group = next((name for name in others if name.lower() == wanted and len(others) > 1), "")
        cells = zip(others.pop(group, words), words, strict=True)
        of_words = [(cell or word).casefold() for cell, word in cells]
        return cls(rows, words, of_words, others, names[word].lower() in SEQUENCE_NAMES, group)

    def named(self, path: Path, found: Sequence[str]) -> list[str]:
        """Return the column of ``FILE:COLUMN``, else those that were found."""
        file, column = file_and_column(path)
        names = [name for name in self.columns if name.lower() == column.lower()]
        if not (names if column else found):
            raise SourceError(
                f"{file}: has no {f'column {column!r}' if column else 'ratings'}; its columns are "
                f"{', '.join(self.columns)}; name one, as FILE:COLUMN"
            )
        return names or list(found)

    @property
    def ratings(self) -> list[str]:
        """The columns of means, else those of numbers whose name does not begin with another's.

        Such are deviations and numbers of raters: ``ValenceSD`` beside ``Valence``.
        """
        names = []
        for name, cells in self.columns.items():
            given = list(filter(None, cells))
            if given and 10 * sum(map(is_number, given)) >= 9 * len(given):
                names.append(name)
        whole = [n for n in names if not any(n != each and n.startswith(each) for each in names)]
        return [name for name in names if _MEAN.search(name)] or whole

    @property
    def labels(self) -> list[str]:
        """The columns that are named as labels, and those without a name; else all."""
        starts = ("label", "column ")
        return [n for n in self.columns if not self.has_labels or n.lower().startswith(starts)]

    @property
    def has_labels(self) -> bool:
        """Whether a header names labels."""
        return any(name.lower().startswith("label") for name in self.columns)


def looks_rated(head: Head) -> bool:
    """Return whether a header names words and ratings."""
    table = WordTable.of(head.rows) if head.is_list else None
    names = [] if table is None or table.has_labels else table.ratings
    return bool(names) and not (len(names) == 1 and _CHANGE.search(names[0]))


def looks_labeled(head: Head) -> bool:
    """Return whether a header names words and labels, or others whose values recur."""
    table = WordTable.of(head.rows) if head.is_list else None
    if table is None or any(
        len(cell.split()) > 3 for cells in table.columns.values() for cell in cells
    ):
        return False
    if not table.of_sequences and any(len(word.split()) > 3 for word in table.words):
        return False
    labels = list(filter(None, (cell for name in table.labels for cell in table.columns[name])))
    others = table.ratings or {name.lower() for name in table.columns} & {*CATEGORY_NAMES}
    return table.has_labels or (not others and 2 * len(set(labels)) <= len(labels) > 0)
