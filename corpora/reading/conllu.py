"""CoNLL-U and CoNLL-U Plus: sentences, tokens and their syntactic heads are kept as annotated."""

import re
from collections.abc import Iterator

import numpy as np

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import cut_blocks
from firth.corpora.reading.sources import Stream, peek
from firth.corpora.reading.text_blocks import RawBlock, ReadOptions, TextBlock
from firth.corpora.reading.token_documents import TokenDocuments
from firth.corpora.text.trees import SentenceTree

_COLUMNS = ["id", "form", "lemma", "upos", "xpos", "feats", "head", "deprel", "deps", "misc"]
_FIELDS = ("form", "lemma")
# CoNLL-U Plus: the first line names the columns
_DECLARED = re.compile(r"#\s*global\.columns\s*=(.*)")
_MOST_DECLARED = 1000  # bytes of such a line


def conllu_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut CoNLL-U before documents or paragraphs, or between sentences if neither is marked."""
    head, chunks = peek(chunks, _MOST_DECLARED)
    declared = _DECLARED.match(head[:_MOST_DECLARED].decode("utf-8", "replace").lstrip())
    names = declared[1].lower().split() if declared else _COLUMNS
    available = [name for name in _FIELDS if name in names]
    if (options.field or "form") not in available:
        raise SourceError(
            f"{stream.name}: no field {options.field or 'form'!r}; the fields are: "
            f"{', '.join(available) or '(none)'}"
        )
    for line, data in cut_blocks(chunks, _before_paragraph, block_bytes, stream.limit):
        yield RawBlock(
            data, stream.name, line, options, parse_conllu, heavy=True, continues=line > 1,
            state=names,
        )  # fmt: skip


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
    return builder.block(["id"], counts, heads=heads)


class _DocumentBuilder(TokenDocuments):
    """Collects documents line by line."""

    def __init__(self, raw: RawBlock) -> None:
        super().__init__(raw)
        self.missing_lemmas = 0
        self.no_trees = 0
        self.heads: list[int] = []  # of every token, see :class:`TextBlock`
        self._source = raw.source
        self._names: list[str] = raw.state
        self._columns = {name: number for number, name in enumerate(raw.state)}
        self._field = raw.options.field or "form"
        self._n_words = 0  # in the sentence, where words have no numbers
        self._covered = 0  # last word number inside the current multiword token
        self._tree = SentenceTree()

    def comment(self, line: str, number: int) -> None:
        """Start a new document or paragraph if the comment marks one."""
        words = line[1:].split(maxsplit=1)
        if words[:1] == ["newdoc"]:
            self.begin_document(number, {"id": line.partition("=")[2].strip()})
        elif words[:1] == ["newpar"]:
            self.begin_paragraph()
        elif (declared := _DECLARED.match(line)) and declared[1].lower().split() != self._names:
            raise SourceError(
                f"{self._source}:{number}: other columns than at the start of the file; divide it"
            )

    def token(self, line: str, number: int) -> None:
        """Add a word or multiword token; skip empty nodes."""
        cells = line.split("\t")
        if len(cells) != len(self._names):
            by = "CoNLL-U has" if self._names == _COLUMNS else "`global.columns` names"
            raise SourceError(
                f"{self._source}:{number}: {len(cells)} columns, but {by} {len(self._names)}; "
                "fix the line, or pass `format=text`"
            )
        self._n_words += 1
        word = cells[self._columns["id"]] if "id" in self._columns else str(self._n_words)
        first, dash, last = word.partition("-")
        if "." in first or (dash and self._field == "lemma"):
            return
        if not first.isdecimal() or (dash and not last.isdecimal()):
            raise SourceError(
                f"{self._source}:{number}: {word!r} is not a word number; fix the line"
            )
        if dash:
            self._covered = int(last)
        is_covered = not dash and int(first) <= self._covered
        if not is_covered:
            self.tokens.append(self._selected(cells))
        if not dash and int(first):
            head = cells[self._columns["head"]] if "head" in self._columns else "_"
            self._tree.add(int(first), head, len(self.tokens) - 1)

    def _selected(self, cells: list[str]) -> str:
        """Return the selected column; a missing lemma is replaced by the form."""
        cell = cells[self._columns[self._field]]
        form = cells[self._columns.get("form", self._columns[self._field])]
        if self._field == "lemma" and cell == "_" != form:
            self.missing_lemmas += 1
            cell = form
        return cell

    def end_sentence(self) -> None:
        """Finish the current sentence and its tree, if any."""
        if self.tokens:
            distances = self._tree.distances(len(self.tokens))
            self.no_trees += distances is None
            self.heads += distances or [0] * len(self.tokens)
        super().end_sentence()
        self._n_words, self._covered, self._tree = 0, 0, SentenceTree()


def _before_paragraph(data: bytes) -> int:
    """Return the offset of the last document, else paragraph, else sentence; 0 if none."""
    for mark in (b"\n# newdoc", b"\n# newpar", b"\n"):
        opened = data.rfind(mark)
        # comments of a sentence come in any order: go back to its first line
        cut = data.rfind(b"\n\n", 0, opened + 1)
        if cut >= 0:
            return cut + 2
    return 0


_BEGINS = re.compile(
    rb"\s*#\s*global\.columns\s*="
    rb"|(?:#[^\n]*\n|[ \t]*\n)*[0-9]+(?:[-.][0-9]+)?\t(?:[^\t\n]*\t){8}[^\t\n]*\n"
)
CONLLU = Format(conllu_blocks, ("field", "keep"), _BEGINS.match)
