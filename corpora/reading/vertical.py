"""Vertical files: a word a line, then its tag and lemma; documents and sentences as tags.

Sketch Engine, CWB, TreeTagger and CoNLL-2003 write such files.
"""

import re
from collections import Counter
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.detect import HEAD_BYTES
from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import cut_blocks
from firth.corpora.reading.sources import Stream, peek
from firth.corpora.reading.text_blocks import (
    RawBlock,
    ReadOptions,
    TextBlock,
    unescaped,
)
from firth.corpora.reading.token_documents import TokenDocuments

_TAG = re.compile(r"<(/?)([^\W\d][\w:.-]*)(\s.*)?/?>|<[?!].*>")
_ATTRIBUTE = re.compile(r"""(?<![\w:.-])([\w:.-]+)=(?:"([^"]*)"|'([^']*)'|([^\s"']+))""")
_DOCUMENTS = ("doc", "text", "document", "article", "file")  # the first of them that a file has
_PARAGRAPHS = {"p", "par", "para", "paragraph", "head", "title", "l"}
_SENTENCES = {"s", "sent", "sentence"}
_BOUNDARY = "-DOCSTART-"  # of CoNLL-2003
_CHUNK = re.compile(r"O|[BIES]-\S+")  # its last column
_ENDS = {".", "!", "?", "...", "…", "。", "！", "？", "।", "؟", "۔"}
_MISSING = {"", "_", "-", "<unknown>", "__UNDEF__"}  # no lemma
_LEMPOS = re.compile(r".*-[a-z]")


@dataclass(frozen=True)
class _Layout:
    """What the beginning of a file shows."""

    rows: list[list[str]]  # the cells of its words
    structures: dict[str, dict[str, str]]  # the names of tags, each with attributes
    blank_lines: bool
    separator: str | None  # of cells; None: spaces

    @property
    def sentences(self) -> str:
        """What ends a sentence."""
        if _SENTENCES & self.structures.keys():
            return "tag"
        return "blank line" if self.blank_lines else "full stop"

    @property
    def document(self) -> str:
        """The name of the tags around a document."""
        return next((name for name in _DOCUMENTS if name in self.structures), "")

    def column(self, field: str | None, source: str) -> int:
        """Return the column, from 0, of a field or number; lemmas begin as their words do."""
        width = max(map(len, self.rows), default=1)
        if field in (None, "word", "form"):
            return 0
        if field.isdecimal() and len(field) < 4 and 1 <= int(field) <= width:
            return int(field) - 1
        columns = range(1, width)
        lemma = max(columns, key=self._n_similar, default=0)
        lemma = lemma if self._n_similar(lemma) >= 0.5 * len(self.rows) else 0
        tag = next((column for column in columns if column != lemma), 0)
        column = {"lemma": lemma, "tag": tag}.get(str(field), 0)
        if not column:
            raise SourceError(
                f"{source}: no field {field!r}; pass word, tag or lemma, or the number of a "
                f"column, from 1 to {width}"
            )
        return column

    def _n_similar(self, column: int) -> float:
        """Return how many cells begin as their words do, and a little for those that are equal."""
        pairs = [(row[0].casefold(), row[column].casefold()) for row in self.rows if row[column:]]
        return sum((cell[:1] == word[:1]) + 0.01 * (cell == word) for word, cell in pairs)


def _layout(head: bytes) -> _Layout | None:
    """Return the layout of a file, if nearly all lines are words, with as many cells, or tags."""
    lines = [line.strip(" ") for line in head[:HEAD_BYTES].decode("utf-8", "replace").split("\n")]
    if len(head) >= HEAD_BYTES:
        lines.pop()  # may be cut
    tags = [tag for line in lines if line[:1] == "<" and (tag := _TAG.fullmatch(line))]
    words = [line for line in lines if line.strip() and not _TAG.fullmatch(line)]
    words = [line for line in words if not line.startswith(_BOUNDARY)]
    structures: dict[str, dict[str, str]] = {}
    for tag in tags:
        structures.setdefault(tag[2] or "", {}).update(_attributes(tag[3] or ""))
    blank = any(not line.strip() for line in lines[:-1])
    for separator in ("\t", None):
        layout = _Layout([line.split(separator) for line in words], structures, blank, separator)
        if words and _is_running_text(layout):
            return layout
    return None


def _is_running_text(layout: _Layout) -> bool:
    """Return whether rows are words of a text: one cell or equally many, with marks among them."""
    rows, names = layout.rows, layout.structures.keys()
    width, n_same = Counter(map(len, rows)).most_common(1)[0]
    n_words = sum(bool(row[0]) and " " not in row[0] for row in rows)
    if n_same < 0.9 * len(rows) or n_words < 0.95 * len(rows):
        return False
    marks = any(not any(map(str.isalnum, row[0])) for row in rows)
    if layout.separator is None:
        return width > 1 and len(rows) > 2 and all(_CHUNK.fullmatch(row[-1]) for row in rows)
    if width == 1:
        return bool(names & {*_SENTENCES, "g"}) or (
            marks and len(rows) > 7 and bool(names & {*_DOCUMENTS, "p"})
        )
    if names & {*_SENTENCES, *_DOCUMENTS, *_PARAGRAPHS, "g"}:
        return True
    columns = [[row[column] for row in rows if row[column:]] for column in range(width)]
    # numbers are counts of a list, or places in a sentence
    return marks and not any(all(map(_is_number, column)) for column in columns)


def _is_number(cell: str) -> bool:
    """Return whether a cell is a number."""
    return cell.strip("-+").replace(".", "", 1).replace(",", "", 1).isdecimal()


def vertical_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut vertical files before documents, else paragraphs or sentences."""
    head, chunks = peek(chunks, HEAD_BYTES)
    layout = _layout(head) or _Layout([], {}, False, "\t")
    names = list(layout.structures.get(layout.document, ()))
    for name in options.keep:
        if name not in names:
            raise SourceError(
                f"{stream.name}: no field {name!r} to keep; the attributes of its documents are "
                f"{', '.join(names) or '(none)'}"
            )
    column = layout.column(options.field, stream.name)
    lempos = bool(column) and options.field == "lemma"  # with a part of speech: ``cat-n``
    lempos &= all(_LEMPOS.fullmatch(row[column]) for row in layout.rows if row[column:])
    state = (layout.document, names, column, lempos, layout.sentences, layout.separator)
    boundary = _boundary(layout)
    for line, data in cut_blocks(chunks, boundary, block_bytes, stream.limit):
        yield RawBlock(
            data, stream.name, line, options, parse_vertical, heavy=True, continues=line > 1,
            state=state,
        )  # fmt: skip


def _boundary(layout: _Layout) -> Callable[[bytes], int]:
    """Return where such a file may be cut: before a document, or after a paragraph or sentence.

    A block never ends after the first tag of a document, whose attributes the next would not see.
    """
    openings = [b"\n<%s%s" % (layout.document.encode(), end) for end in (b" ", b">")]
    closings = {
        "tag": [b"\n</%s>" % name.encode() for name in _SENTENCES],
        "blank line": [b"\n\n"],
        "full stop": [b"\n" + mark.encode() + end for mark in _ENDS for end in (b"\t", b"\n")],
    }[layout.sentences]

    def cut(data: bytes) -> int:
        if layout.document and (opened := max(map(data.rfind, openings))) >= 0:
            return opened + 1
        for marks in ([b"\n</p>"], closings):
            at = max(map(data.rfind, marks))
            while at > 0 and marks[0] == b"\n\n" and data[at - 1] == ord(">"):
                at = data.rfind(b"\n\n", 0, at)
            if at >= 0 and (end := data.find(b"\n", at + 1)) >= 0:
                return end + 1
        return 0

    return cut


def parse_vertical(raw: RawBlock) -> TextBlock:
    """Parse the words of a column, with the attributes of documents; count missing lemmas."""
    data, counts = raw.checked()
    document, names, column, lempos, sentences, separator = raw.state
    built, missing = TokenDocuments(raw), 0
    for number, line in enumerate(data.decode().split("\n"), raw.first_line):
        stripped = line.strip()
        if not stripped:
            if sentences == "blank line":
                built.end_sentence()
        elif stripped[0] == "<" and (tag := _TAG.fullmatch(stripped)):
            if tag[2] == document:
                built.begin_document(number, _attributes(tag[3] or ""))
            elif tag[2] in _PARAGRAPHS:
                built.begin_paragraph()
            elif tag[2] in _SENTENCES:
                built.end_sentence()
        elif stripped.startswith(_BOUNDARY):
            built.begin_document(number, {})
        else:
            cells = line.split(separator)
            word = cell = cells[0].strip()
            if column:
                cell = cells[column].strip() if cells[column:] else ""
                cell = cell[:-2] if lempos and _LEMPOS.fullmatch(cell) else cell
                if cell in _MISSING and cell != word:
                    cell, missing = word, missing + 1
            if cell:
                built.tokens.append(unescaped(cell))
            if sentences == "full stop" and word in _ENDS:
                built.end_sentence()
    return built.block(names, counts | {"missing_lemmas": missing})


def _attributes(text: str) -> dict[str, str]:
    """Return the attributes of a tag, each with its first value."""
    found: dict[str, str] = {}
    for match in _ATTRIBUTE.finditer(text):
        found.setdefault(match[1], unescaped(match[2] or match[3] or match[4] or ""))
    return found


VERTICAL = Format(vertical_blocks, ("field", "keep"), _layout)
