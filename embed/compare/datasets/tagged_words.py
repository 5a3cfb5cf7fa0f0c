"""Read words with a label each: parts of speech in CoNLL-U, or columns whose last is the label."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import Row, quoted, read_lines
from embed.compare.datasets.parts import Parts, part_paths, set_name

_UD_COLUMNS = 10
_FORM, _UPOS = 1, 3
_NUMBER = re.compile(r"\d+(?:[-.]\d+)?")
_DOCUMENT = "-DOCSTART-"
_MOST_LABELS = 1_000  # more are no labels, but words or lemmas; probes would learn for days


@dataclass(frozen=True, eq=False)
class TaggedWords:
    """Sentences of words, each with a label."""

    words: list[str]  # sentence after sentence
    tags: list[str]  # sentence after sentence
    # int64 (n_sentences + 1,): sentence s is ``words[offsets[s]:offsets[s + 1]]``; none is empty
    offsets: np.ndarray

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.offsets) - 1


def read_parts(files: str) -> Parts[TaggedWords]:
    """Read the parts of a set."""
    paths = part_paths(files)
    train, *dev, test = (read_tagged(path) for path in paths)
    if not set(train.tags) & set(test.tags):
        raise SourceError(
            f"{paths[-1]}: has no label that {paths[0]} has ({test.tags[0]!r}, there "
            f"{train.tags[0]!r}); give parts of one set"
        )
    if not dev and train.n_sentences == 1:
        raise SourceError(
            f"{paths[0]}: holds one sentence, of which none can be held out; pass TRAIN,DEV,TEST"
        )
    return Parts(set_name(paths[-1]), train, test, dev[0] if dev else None)


def read_tagged(path: Path) -> TaggedWords:
    """Read one file of labeled words.

    CoNLL-U is known by its ten columns between tabs, the first of them a number: the word is
    the form, its label the universal part of speech; surface tokens of several words and empty
    nodes are left out. In any other file the word is the first column and its label the last
    (CoNLL-2003), between tabs or white space. Lines of ``-DOCSTART-`` and comments are left
    out; so are sentences without a word.
    """
    rows = read_lines(path)
    words, tags, offsets = [], [], [0]
    for cells in _conllu(rows) if _is_conllu(rows) else _columns(rows):
        if cells is not None:
            words.append(cells[0])
            tags.append(cells[1])
        elif offsets[-1] < len(words):
            offsets.append(len(words))
    if offsets[-1] < len(words):
        offsets.append(len(words))
    if not words:
        raise SourceError(
            f"{path}: holds no word; give CoNLL-U, or columns of a word and its label"
        )
    if (n_labels := len(set(tags))) > _MOST_LABELS:
        raise SourceError(
            f"{path}: the last column has {n_labels:,} different labels; give files whose last "
            "column is the label"
        )
    return TaggedWords(words, tags, np.array(offsets, np.int64))


def _is_conllu(rows: Sequence[Row]) -> bool:
    """Whether the first line of a word is one of CoNLL-U."""
    texts = (row.text for row in rows)
    first = next((text for text in texts if text.strip() and not text.startswith("#")), "")
    cells = first.split("\t")
    return len(cells) == _UD_COLUMNS and _NUMBER.fullmatch(cells[0]) is not None


def _conllu(rows: Sequence[Row]) -> Iterator[tuple[str, str] | None]:
    """Word and part of speech, and None between sentences."""
    for row in rows:
        if not row.text.strip():
            yield None
        elif not row.text.startswith("#"):
            cells = row.text.split("\t")
            if len(cells) != _UD_COLUMNS:
                raise _ragged(row, len(cells), _UD_COLUMNS)
            if _NUMBER.fullmatch(cells[0]) is None:
                raise row.error(f"{quoted(cells[0])} is no word number; correct it")
            if cells[0].isdecimal():
                yield _labeled(row, cells[_FORM], cells[_UPOS])


def _columns(rows: Sequence[Row]) -> Iterator[tuple[str, str] | None]:
    """First and last column, and None between sentences."""
    first = next((row.text for row in rows if row.text.strip() and not _is_other(row.text)), "")
    delimiter = "\t" if "\t" in first else None
    expected = max(len(first.split(delimiter)), 2) if first else 0  # else all are comments
    begins = True
    for row in rows:
        cells = row.text.split(delimiter)
        opens, begins = begins, not row.text.strip() or cells[0] == _DOCUMENT
        if begins:
            yield None
        elif opens and cells[0] == "#" and "=" in row.text:  # as many cells as words, perhaps
            begins = True
        elif len(cells) == expected:
            yield _labeled(row, cells[0], cells[-1])
        elif not row.text.startswith("#"):  # which, too, may be a word
            raise _ragged(row, len(cells), expected)


def _is_other(text: str) -> bool:
    """Whether a line is a comment or begins a document."""
    return text.startswith(("#", _DOCUMENT))


def _labeled(row: Row, word: str, tag: str) -> tuple[str, str]:
    """A word and its label, which it must have."""
    if not word.strip() or tag.strip() in ("", "_"):
        raise row.error(f"the word {word!r} has the label {tag!r}; label it, or leave it out")
    return word.strip(), tag.strip()


def _ragged(row: Row, found: int, expected: int) -> SourceError:
    """What to say of a line with too few or too many columns."""
    return row.wrong(f"has {found} columns where the file has {expected}; correct it")
