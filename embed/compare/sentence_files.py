"""Read sentences with a label each: lines, tables or JSON lines, found by content."""

import csv
import json
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from corpora.errors import SettingError, SourceError
from embed.compare.lines import Line, quoted, read_bytes
from embed.compare.tasks import set_name

_LABELS = ("label", "labels", "class", "category", "sentiment")
_TEXTS = ("text", "sentence", "question", "review")
_EXPECTED = "expected lines of a label and a sentence, a table with a header, or JSON lines"
_FINER = re.compile(r"([A-Z]+):\w+")  # TREC: a kind of question, and what kind of that
_NAME = re.compile(r"[\w.-]*")  # of a column; in a sentence between commas there is a space
_ENOUGH = 1_000  # lines that tell the form


@dataclass(frozen=True)
class LabelledSentences:
    """Sentences, each with a label.

    Attributes
    ----------
    texts, labels : tuple of str
        In the order of the file; none is empty.
    """

    texts: tuple[str, ...]
    labels: tuple[str, ...]

    @property
    def n_sentences(self) -> int:
        """How many sentences there are."""
        return len(self.texts)


@dataclass(frozen=True)
class SentenceParts:
    """The parts of a set of labelled sentences.

    Attributes
    ----------
    name : str
        Of the test part's file, without its endings for compression and form.
    train, test : LabelledSentences
        What probes learn from, and what they are scored on.
    dev : LabelledSentences or None
        What decides how they learn.
    """

    name: str
    train: LabelledSentences
    test: LabelledSentences
    dev: LabelledSentences | None


def read_sentence_parts(files: str) -> SentenceParts:
    """Read the parts of a set.

    Parameters
    ----------
    files : str
        ``TRAIN,TEST`` or ``TRAIN,DEV,TEST``, each as :func:`read_sentences` takes it.

    Returns
    -------
    SentenceParts
        Of one set: some label of the test part is in TRAIN.

    Raises
    ------
    SettingError
        There are not two or three files.
    SourceError
        One is missing or malformed, nothing can be learnt from TRAIN, or TEST shares no label
        with it.
    """
    paths = split_files(files)
    if len(paths) not in (2, 3):
        raise SettingError(
            f"{files!r} names no two or three files; pass TRAIN,TEST or TRAIN,DEV,TEST"
        )
    train, dev = read_learning(paths[:-1])
    test = read_sentences(paths[-1])
    if not set(train.labels) & set(test.labels):
        raise SourceError(
            f"{paths[-1]}: has no label that {paths[0]} has ({test.labels[0]!r}, there "
            f"{train.labels[0]!r}); give parts of one set"
        )
    return SentenceParts(set_name(paths[-1]), train, test, dev)


def split_files(files: str) -> list[Path]:
    """Part files at commas.

    Parameters
    ----------
    files : str
        Such as ``TRAIN,DEV``.

    Returns
    -------
    list of Path
        None where any is without a name.
    """
    names = [file.strip() for file in files.split(",")]
    return [Path(name) for name in names] if all(names) else []


def read_learning(paths: Sequence[Path]) -> tuple[LabelledSentences, LabelledSentences | None]:
    """Read what probes learn from.

    Parameters
    ----------
    paths : sequence of Path
        TRAIN, or TRAIN and DEV.

    Returns
    -------
    LabelledSentences
        TRAIN.
    LabelledSentences or None
        DEV, where there is one.

    Raises
    ------
    SourceError
        One is missing or malformed; or TRAIN holds one label only, or fewer than two sentences
        to a label, so that most likely no label was found.
    """
    train, *dev = (read_sentences(path) for path in paths)
    n_labels, first = len(set(train.labels)), train.labels[0]
    if n_labels == 1:
        raise SourceError(
            f"{paths[0]}: all {train.n_sentences:,} sentences have the label {quoted(first)}; "
            "nothing can be learnt from one label"
        )
    if 2 * n_labels > train.n_sentences:
        raise SourceError(
            f"{paths[0]}: holds {n_labels:,} labels of {train.n_sentences:,} sentences, such as "
            f"{quoted(first)}; {_EXPECTED}"
        )
    return train, dev[0] if dev else None


def read_sentences(path: Path) -> LabelledSentences:
    """Read one file of labelled sentences.

    JSON lines have ``label``, and ``text``, ``sentence``, ``question`` or ``review``. A table
    has such names in its first line, with tabs or commas between; the latter may be quoted.
    Two columns between tabs without a header: the label is the one that has fewer different
    values. In any other file a line is the label, white space, the sentence. Of labels as
    ``DESC:manner`` (TREC) the part before the colon counts.

    Parameters
    ----------
    path : Path
        UTF-8; compressed by gzip, bzip2, xz or zstd, or not.

    Returns
    -------
    LabelledSentences
        At least one.

    Raises
    ------
    SourceError
        The file is missing, cannot be read or holds no sentence, or one has no label or no
        text; the message quotes the line.
    """
    content = _decoded(path)
    lines = [Line(n, text) for n, text in enumerate(content.split("\n"), 1) if text.strip()]
    if not lines:
        raise SourceError(f"{path}: holds no sentence; {_EXPECTED}")
    texts, labels = [], []
    for number, label, text in _records(path, content, lines):
        label, text = label.strip(), " ".join(text.split())
        if not label or not text:
            missing = "text" if label else "label"
            raise SourceError(
                f"{path}:{number}: {quoted(label or text)} stands there without a {missing}; "
                "give both, or leave the line out"
            )
        finer = _FINER.fullmatch(label)
        labels.append(finer[1] if finer else label)
        texts.append(text)
    if not texts:
        raise SourceError(f"{path}: holds no sentence below its first line; {_EXPECTED}")
    return LabelledSentences(tuple(texts), tuple(labels))


def _decoded(path: Path) -> str:
    """All of a file as text, line ends alike."""
    content = read_bytes(path)
    try:
        return content.decode("utf-8").replace("\r\n", "\n")
    except UnicodeDecodeError as error:
        number = content.count(b"\n", 0, error.start) + 1
        raise SourceError(
            f"{path}:{number}: byte 0x{content[error.start]:02X} is not UTF-8; "
            "convert the evaluation set to UTF-8"
        ) from None


def _records(path: Path, content: str, lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """Line number, label and text of each sentence."""
    first = lines[0].text
    if first.lstrip().startswith("{"):
        return _json_lines(path, lines)
    for delimiter in ("\t", ","):
        names = [name.strip().strip('"').lower() for name in first.split(delimiter)]
        if set(names) & set(_TEXTS) and len(names) > 1 and all(map(_NAME.fullmatch, names)):
            return _named(path, _rows(path, content, lines, delimiter), names)
    if "\t" in first:
        return _two_columns(path, lines)
    return _label_first(lines)


def _json_lines(path: Path, lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """Objects with a label and a text."""
    for line in lines:
        try:
            record = json.loads(line.text)
        except ValueError:
            record = None
        label = record.get("label") if isinstance(record, dict) else None
        texts = [record[name] for name in _TEXTS if name in record] if label is not None else []
        if not isinstance(label, str | int) or len(texts) != 1 or not isinstance(texts[0], str):
            raise SourceError(
                f"{path}:{line.number}: {quoted(line.text)} is no object with a label and "
                f"one of {', '.join(_TEXTS)}; correct it"
            )
        yield line.number, str(label), texts[0]


def _rows(
    path: Path, content: str, lines: Sequence[Line], delimiter: str
) -> Iterator[tuple[int, list[str]]]:
    """Number and cells of each row; between tabs quotation marks are part of the text."""
    if delimiter == "\t":
        yield from ((line.number, line.text.split("\t")) for line in lines)
        return
    reader = csv.reader(content.splitlines(keepends=True), skipinitialspace=True, strict=True)
    try:
        for row in reader:
            if row:
                yield reader.line_num, row
    except csv.Error as error:
        raise SourceError(f"{path}:{reader.line_num}: is no CSV ({error}); correct it") from None


def _named(
    path: Path, rows: Iterator[tuple[int, list[str]]], names: Sequence[str]
) -> Iterator[tuple[int, str, str]]:
    """Rows below a header."""
    text = next(place for place, name in enumerate(names) if name in _TEXTS)
    label = next((place for place, name in enumerate(names) if name in _LABELS), None)
    if label is None:
        raise SourceError(
            f"{path}: its first line names {', '.join(names)} and no label; give labelled sentences"
        )
    for number, cells in islice(rows, 1, None):
        if len(cells) != len(names):
            raise SourceError(
                f"{path}:{number}: {quoted(' '.join(cells))} has {len(cells)} columns where the "
                f"first line names {len(names)}; correct it"
            )
        yield number, cells[label], cells[text]


def _two_columns(path: Path, lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """Label and text between tabs, in either order."""
    head = [line.text.split("\t") for line in lines[:_ENOUGH]]
    distinct = [len({cells[place] for cells in head if len(cells) == 2}) for place in (0, 1)]
    label = int(distinct[1] < distinct[0])
    for line in lines:
        cells = line.text.split("\t")
        if len(cells) != 2:
            raise SourceError(
                f"{path}:{line.number}: {quoted(line.text)} has {len(cells)} columns, not a label "
                "and a sentence with a tab between; correct it, or name the columns in a first line"
            )
        yield line.number, cells[label], cells[1 - label]


def _label_first(lines: Sequence[Line]) -> Iterator[tuple[int, str, str]]:
    """A label, white space, a sentence."""
    for line in lines:
        label, _, text = line.text.strip().partition(" ")
        yield line.number, label, text
