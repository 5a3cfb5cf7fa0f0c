"""CoNLL-U: sentences, tokens and their syntactic heads are kept as annotated."""

import re
from collections.abc import Iterator

import numpy as np

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import cut_blocks
from firth.corpora.reading.sources import Stream
from firth.corpora.reading.text_blocks import (
    RawBlock,
    ReadOptions,
    TextBlock,
    text_block,
    tokenized,
)
from firth.corpora.text.trees import SentenceTree

_COLUMNS = {"form": 1, "lemma": 2}
_HEAD = 6
_N_COLUMNS = 10


def conllu_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut CoNLL-U before documents or paragraphs, or between sentences if neither is marked."""
    field = options.field or "form"
    if field not in _COLUMNS:
        raise SourceError(f"{stream.name}: no field {field!r}; the fields are: form, lemma")
    for line, data in cut_blocks(chunks, _before_paragraph, block_bytes, stream.limit):
        yield RawBlock(
            data, stream.name, line, options, parse_conllu, heavy=True, continues=line > 1
        )


def parse_conllu(raw: RawBlock) -> TextBlock:
    """Parse CoNLL-U into a pretokenized block; a file without ``# newdoc`` is one document.

    A multiword token yields its surface form, or the lemmas of its words; empty nodes are
    skipped. ``missing_lemmas`` counts words whose lemma is ``_``, replaced by the form. Heads are
    kept if any is given; ``no_trees`` counts sentences whose heads are no tree, and so unknown.
    """
    data, counts = raw.checked()
    builder = _DocumentBuilder(raw)
    for number, line in enumerate(data.decode().split("\n"), raw.first_line):
        if line.startswith("#"):
            builder.comment(line, number)
        elif line.strip():
            builder.token(line, number)
        else:
            builder.end_sentence()
    builder.end_document()
    counts |= {"missing_lemmas": builder.missing_lemmas, "no_trees": builder.no_trees}
    heads = np.array(builder.heads, np.int32) if any(builder.heads) else None
    return text_block(
        raw, builder.documents, builder.positions, {"id": builder.ids}, counts,
        continues=builder.continues, pretokenized=True, heads=heads,
    )  # fmt: skip


class _DocumentBuilder:
    """Collects documents line by line."""

    def __init__(self, raw: RawBlock) -> None:
        self.documents: list[bytes] = []
        self.positions: list[int] = []
        self.ids: list[str] = []
        self.continues = False
        self.missing_lemmas = 0
        self.no_trees = 0
        self.heads: list[int] = []  # of every token, see :class:`TextBlock`
        self._source = raw.source
        self._column = _COLUMNS[raw.options.field or "form"]
        self._open = (raw.first_line, "", raw.continues)
        self._paragraphs: list[list[list[str]]] = [[]]  # of sentences
        self._tokens: list[str] = []
        self._covered = 0  # last word number inside the current multiword token
        self._tree = SentenceTree()

    def comment(self, line: str, number: int) -> None:
        """Start a new document or paragraph if the comment marks one."""
        words = line[1:].split(maxsplit=1)
        if words[:1] == ["newdoc"]:
            self.end_document()
            self._open = (number, line.partition("=")[2].strip(), False)
        elif words[:1] == ["newpar"]:
            self.end_sentence()
            self._paragraphs.append([])

    def token(self, line: str, number: int) -> None:
        """Add a word or multiword token; skip empty nodes."""
        cells = line.split("\t")
        if len(cells) != _N_COLUMNS:
            raise SourceError(
                f"{self._source}:{number}: {len(cells)} columns, but CoNLL-U has {_N_COLUMNS}; "
                "fix the line, or pass `format=text`"
            )
        first, dash, last = cells[0].partition("-")
        if "." in first or (dash and self._column == _COLUMNS["lemma"]):
            return
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise SourceError(
                f"{self._source}:{number}: {cells[0]!r} is not a word number; fix the line"
            )
        if dash:
            self._covered = int(last)
        is_covered = not dash and int(first) <= self._covered
        if not is_covered:
            self._tokens.append(self._selected(cells))
        if not dash and int(first):
            self._tree.add(int(first), cells[_HEAD], len(self._tokens) - 1)

    def _selected(self, cells: list[str]) -> str:
        """Return the selected column; a missing lemma is replaced by the form."""
        cell = cells[self._column]
        if self._column == _COLUMNS["lemma"] and cell == "_" != cells[1]:
            self.missing_lemmas += 1
            cell = cells[1]
        return cell

    def end_sentence(self) -> None:
        """Finish the current sentence, if any."""
        if self._tokens:
            self._paragraphs[-1].append(self._tokens)
            distances = self._tree.distances(len(self._tokens))
            self.no_trees += distances is None
            self.heads += distances or [0] * len(self._tokens)
        self._tokens, self._covered, self._tree = [], 0, SentenceTree()

    def end_document(self) -> None:
        """Finish the current document; one without tokens is dropped."""
        self.end_sentence()
        number, name, continues = self._open
        text = "".join(tokenized(sentences) for sentences in self._paragraphs if sentences)
        if text:
            self.continues |= continues
            self.documents.append(text.encode())
            self.positions.append(number)
            self.ids.append(name)
        self._paragraphs = [[]]


def _before_paragraph(data: bytes) -> int:
    """Return the offset of the last document, else paragraph, else sentence; 0 if none."""
    for mark in (b"\n# newdoc", b"\n# newpar", b"\n"):
        opened = data.rfind(mark)
        # comments of a sentence come in any order: go back to its first line
        cut = data.rfind(b"\n\n", 0, opened + 1)
        if cut >= 0:
            return cut + 2
    return 0


_BEGINS = re.compile(rb"(?:#[^\n]*\n|[ \t]*\n)*[0-9]+(?:[-.][0-9]+)?\t(?:[^\t\n]*\t){8}[^\t\n]*\n")
CONLLU = Format(conllu_blocks, ("field", "keep"), _BEGINS, (".conllu",))
