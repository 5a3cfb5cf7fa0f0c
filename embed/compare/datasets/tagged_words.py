"""Read labeled words: CoNLL-U, or columns with the word first and the label last."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.common.errors import SourceError
from firth.corpora.text.trees import SentenceTree
from firth.embed.compare.datasets.fields import Row, quoted, read_lines
from firth.embed.compare.datasets.head import Head
from firth.embed.compare.datasets.parts import Parts, part_paths, refuse_disjoint, set_name

_UD_COLUMNS = 10
_FORM, _UPOS, _HEAD, _MISC = 1, 3, 6, 9
_NO_SPACE = "SpaceAfter=No"
_NUMBER = re.compile(r"\d+(?:[-.]\d+)?")
_DOCUMENT = "-DOCSTART-"
_MAX_LABELS = 1_000  # more would be words or lemmas, and probes would train for days


@dataclass(frozen=True, eq=False)
class TaggedWords:
    """Sentences of labeled words."""

    words: list[str]  # all sentences, concatenated
    labels: list[str]  # one per word
    # int64 (n_sentences + 1,): sentence s is ``words[offsets[s]:offsets[s + 1]]``; none is empty
    offsets: np.ndarray
    # int64 (n_words,): signed distance of each word to its syntactic head, 0 for a root or if it is
    # unknown; None if none is known
    heads: np.ndarray | None = None
    gaps: list[str] | None = None  # before each word, a space or nothing; None if unknown

    @property
    def n_sentences(self) -> int:
        """Number of sentences."""
        return len(self.offsets) - 1


def read_parts(files: str) -> Parts[TaggedWords]:
    """Read the files of a set: ``TRAIN,TEST`` or ``TRAIN,DEV,TEST``."""
    paths = part_paths(files)
    train, *dev, test = (read_tagged(path) for path in paths)
    refuse_disjoint(paths[0], train, paths[-1], test)
    if not dev and train.n_sentences == 1:
        raise SourceError(
            f"{paths[0]}: contains only one sentence, so none can be held out; pass TRAIN,DEV,TEST"
        )
    return Parts(set_name(paths[-1]), train, test, dev[0] if dev else None)


def read_tagged(path: Path, *, labeled: bool = True) -> TaggedWords:
    """Read one file of labeled words, skipping comments and document starts.

    CoNLL-U gives FORM, UPOS and HEAD without multiword tokens and empty nodes; other files the
    first column as word and the last as label (CoNLL-2003). A label may be missing if not
    ``labeled``.
    """
    rows = read_lines(path)
    words, labels, offsets = [], [], [0]
    if _is_conllu(rows):
        found, heads, gaps = _conllu(rows, labeled=labeled)
    else:
        found, heads, gaps = [*_columns(rows), None], np.zeros(0, np.int64), []
    for cells in found:
        if cells is not None:
            words.append(cells[0])
            labels.append(cells[1])
        elif offsets[-1] < len(words):
            offsets.append(len(words))
    if not words:
        raise SourceError(
            f"{path}: contains no words; pass CoNLL-U, or columns with the word first and its "
            "label last"
        )
    if (n_labels := len(set(labels))) > _MAX_LABELS:
        raise SourceError(
            f"{path}: the last column has {n_labels:,} different labels; pass files whose last "
            "column is the label"
        )
    spelled = gaps if gaps and any(_NO_SPACE in row.text for row in rows) else None
    known_heads = heads if heads.any() else None
    return TaggedWords(words, labels, np.array(offsets, np.int64), known_heads, spelled)


def looks_tagged(head: Head) -> bool:
    """Return whether lines are CoNLL-U, or columns with blank lines between sentences."""
    if head.n_files not in (2, 3):
        return False
    if _is_conllu(head.rows):
        return True
    words = [row.text for row in head.rows if not _is_not_word(row.text)]
    delimiter = "\t" if words and "\t" in words[0] else None
    widths = {len(text.split(delimiter)) for text in words}
    return "" in head.lines and len(widths) == 1 and min(widths) > 1


def _is_conllu(rows: Sequence[Row]) -> bool:
    """Return whether the first word line is CoNLL-U."""
    texts = (row.text for row in rows)
    first = next((text for text in texts if text.strip() and not text.startswith("#")), "")
    cells = first.split("\t")
    return len(cells) == _UD_COLUMNS and _NUMBER.fullmatch(cells[0]) is not None


def _conllu(
    rows: Sequence[Row], *, labeled: bool
) -> tuple[list[tuple[str, str] | None], np.ndarray, list[str]]:
    """Return word and part of speech, None between sentences; heads and gaps as TaggedWords has.

    Heads that are no tree are 0. Gaps are also those inside of multiword tokens.
    """
    found: list[tuple[str, str] | None] = []
    heads: list[int] = []
    gaps: list[str] = []
    tree, gap = SentenceTree(), ""
    token, end, end_gap = "", -1, ""  # a multiword token, its last word's number
    for row in [*rows, rows[-1]._replace(text="")]:  # the last sentence may end with the file
        cells, n_words = row.text.split("\t"), len(gaps) - len(heads)
        if not row.text.strip():
            found.append(None)
            heads += tree.distances(n_words) or [0] * n_words
            tree, gap, end = SentenceTree(), "", -1
            continue
        if row.text.startswith("#"):
            continue
        if len(cells) != _UD_COLUMNS:
            raise _ragged(row, len(cells), _UD_COLUMNS)
        if _NUMBER.fullmatch(cells[0]) is None:
            raise row.error(f"{quoted(cells[0])} is not a word number; correct it")
        after = "" if _NO_SPACE in cells[_MISC].split("|") else " "
        if "-" in cells[0]:
            token, end, end_gap = cells[_FORM], int(cells[0].partition("-")[2]), after
        elif cells[0].isdecimal():
            word, tag = cells[_FORM].strip(), cells[_UPOS].strip()
            found.append(_labeled(row, word, tag) if labeled else (word, tag))
            tree.add(int(cells[0]), cells[_HEAD], n_words)
            gaps.append(gap)
            # the words of a contraction such as French "au" are others than what is written
            token = token[len(cells[_FORM]) :] if token.startswith(cells[_FORM]) else ""
            inside = "" if token else " "
            gap = after if int(cells[0]) > end else end_gap if int(cells[0]) == end else inside
    return found, np.array(heads, np.int64), gaps


def _columns(rows: Sequence[Row]) -> Iterator[tuple[str, str] | None]:
    """Yield the first and last column, and None between sentences."""
    first = next((row.text for row in rows if row.text.strip() and not _is_not_word(row.text)), "")
    delimiter = "\t" if "\t" in first else None
    expected = max(len(first.split(delimiter)), 2) if first else 0  # 0: only comments
    at_start = True
    for row in rows:
        cells = row.text.split(delimiter)
        was_at_start, at_start = at_start, not row.text.strip() or cells[0] == _DOCUMENT
        if at_start:
            yield None
        elif was_at_start and cells[0] == "#" and "=" in row.text:
            at_start = True  # a comment, even if it has as many cells as a word line
        elif len(cells) == expected:
            yield _labeled(row, cells[0], cells[-1])
        elif not row.text.startswith("#"):  # "#" may also be a word, hence the tests above
            raise _ragged(row, len(cells), expected)


def _is_not_word(text: str) -> bool:
    """Return whether a line is a comment or the start of a document."""
    return text.startswith(("#", _DOCUMENT))


def _labeled(row: Row, word: str, tag: str) -> tuple[str, str]:
    """Return a word and its label, or raise if either is missing."""
    if not word.strip() or tag.strip() in ("", "_"):
        raise row.error(f"the word {word!r} has the label {tag!r}; label it, or remove it")
    return word.strip(), tag.strip()


def _ragged(row: Row, found: int, expected: int) -> SourceError:
    """Return the error for a line with too few or too many columns."""
    return row.wrong(f"has {found} columns, but the file has {expected}; correct it")
