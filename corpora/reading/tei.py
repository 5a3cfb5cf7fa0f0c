"""TEI XML, the format of literary corpora: the running text of each text's body, by paragraphs.

Entities that a file declares are refused, not expanded, and nothing outside of it is read.
"""

import html.entities
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

import numpy as np

from corpora.common.errors import SourceError
from corpora.reading.sources import Stream
from corpora.reading.text_blocks import RawBlock, ReadOptions, TextBlock, keep_fields

_HEAVY_BYTES = 1 << 20  # smaller files are parsed in less time than a process takes to start
_FIELDS = ("body", "text")  # what `field` selects: the body, or front and back matter, too

_ROOTS = ("TEI", "TEI.2")
_DIVISION = re.compile(r"div[0-7]?")
_SKIPPED = {  # not running text
    "del", "facsimile", "figure", "fw", "gap", "graphic", "index", "note", "noteGrp", "rdg",
    "sourceDoc", "speaker", "standOff",
}  # fmt: skip
_UNEDITED = {"abbr", "orig", "sic"}  # skipped in a choice, for expan, reg and corr
_PARAGRAPHS = {
    "ab", "addrLine", "argument", "body", "byline", "castItem", "closer", "dateline", "docImprint",
    "docTitle", "epigraph", "floatingText", "head", "imprimatur", "item", "lg", "list", "opener",
    "p", "postscript", "row", "salute", "signed", "sp", "table", "titlePart", "trailer", "u",
}  # fmt: skip
_SOMETIMES_INLINE = {"bibl", "label", "stage"}
_INLINE = {"ab", "head", "l", "p"}  # elements in which these are inline, and paragraphs elsewhere
_SPACED = {"caesura", "cell", "l", "pc", "s", "w"}
_BREAKS = {"cb", "gb", "lb", "milestone", "pb"}

# Both are white space to Python, and characters that XML cannot contain.
_JOIN, _BREAK = "\x1c", "\x1d"  # a break inside a word, and one that may be
_JOINED = re.compile(rf"[-‐⸗¬\xad]?[^\S{_JOIN}]*{_JOIN}\s*")
_HYPHENATED = re.compile(
    # not the hyphen of "day- and nighttime"
    rf"(?<=\w)(?:[¬\xad]\s+|[-‐⸗][^\S{_BREAK}]*{_BREAK}\s*(?!(?:and|or|und|oder|et|ou)\b)(?=(\w)))"
)
_YEAR = re.compile(r"\b\d{4}\b")


def tei_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Read a TEI file whole, since its structure is known only from its start."""
    if options.field not in (None, *_FIELDS):
        raise SourceError(
            f"{stream.name}: no field {options.field!r}; the fields are: {', '.join(_FIELDS)}"
        )
    data = b"".join(chunks)
    yield RawBlock(data, stream.name, 1, options, parse_tei, heavy=len(data) > _HEAVY_BYTES)


def parse_tei(raw: RawBlock) -> TextBlock:
    """Parse a TEI file or corpus; a document is a text, or with ``documents=div`` a division.

    Speakers' names, notes and page headers are left out; the lines of a stanza are one paragraph.
    Of a choice the edited reading is taken. ``inclusions`` counts XInclude references.
    """
    data, counts = raw.checked()
    reader = _Reader(raw)
    reader.parse(data)
    parts = ["".join(f"{text}\n" for text in each.paragraphs).encode() for each in reader.documents]
    lengths = np.fromiter((len(part) for part in parts), np.int64, len(parts))
    names = ("author", "title", "year", "language")
    fields = {name: [each.fields.get(name, "") for each in reader.documents] for name in names}
    if reader.inclusions:
        counts["inclusions"] = reader.inclusions
    return TextBlock(
        b"".join(parts),
        np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)]),
        np.array([each.line for each in reader.documents], np.int64),
        raw.source,
        keep_fields(raw.options, fields, raw.source),
        counts=counts,
    )


class _Document:
    """The paragraphs of one document."""

    def __init__(self, line: int) -> None:
        self.line = line
        self.paragraphs: list[str] = []
        self.only_headings = True
        self.fields: dict[str, str] = {}


class _Reader:
    """Handles the events of the XML parser."""

    def __init__(self, raw: RawBlock) -> None:
        self.documents: list[_Document] = []
        self.inclusions = 0
        self._source = raw.source
        self._by_division = raw.options.documents == "div"
        self._selected = "body" if raw.options.field in (None, "body") else "text"
        self._open: list[str] = []  # names of the open elements
        self._skipped = 0  # the depth at which a skipped element opened, or 0
        self._depth = 0  # the depth at which the selected element opened, or 0
        self._header: ElementTree.TreeBuilder | None = None
        self._fields: dict[str, str] = {}
        self._text: list[str] = []
        self._parser: Any = expat.ParserCreate("utf-8")  # whatever the declaration says
        self._parser.buffer_text = True
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.EntityDeclHandler = self._refuse_entity
        self._parser.SkippedEntityHandler = self._undeclared_entity

    def parse(self, data: bytes) -> None:
        """Parse a whole file; errors name the line."""
        try:
            self._parser.Parse(data, True)
        except expat.ExpatError as error:
            reason = expat.ErrorString(error.code)
            raise SourceError(
                f"{self._source}:{error.lineno}: malformed XML ({reason}); fix the file"
            ) from None

    def _start(self, tag: str, attributes: dict[str, str]) -> None:
        name = tag.rpartition(":")[2]
        parent = self._open[-1] if self._open else ""
        self._open.append(name)
        if self._header is not None:
            self._header.start(name, attributes)
        elif self._skipped:
            return
        elif name == "teiHeader":
            self._header = ElementTree.TreeBuilder()
            self._header.start(name, {})
        elif name == "include":
            self.inclusions += 1
        elif name in _ROOTS:
            self._fields = {"language": attributes.get("xml:lang", "")}
            self._new_document()
        elif name in _SKIPPED or (parent == "choice" and name in _UNEDITED):
            self._skipped = len(self._open)
        elif not self._depth:
            self._outside(name, attributes)
        else:
            self._inside(name, parent, attributes)

    def _outside(self, name: str, attributes: dict[str, str]) -> None:
        """Start an element outside of the selected text."""
        if name == "text":
            self._fields["language"] = attributes.get("xml:lang") or self._fields.get(
                "language", ""
            )
        if name == self._selected:
            self._depth = len(self._open)
            if not self.documents:  # the root is not a TEI element
                self._new_document()

    def _inside(self, name: str, parent: str, attributes: dict[str, str]) -> None:
        """Start an element of the selected text."""
        if name in ("front", "back") and self._selected == "body":  # of a floating text
            self._skipped = len(self._open)
        elif name in _BREAKS:
            within = attributes.get("break") == "no" or attributes.get("type") == "inWord"
            self._text.append(_JOIN if within else _BREAK)
        elif _DIVISION.fullmatch(name):
            self._end_paragraph()
            self._end_division()
        elif name in _PARAGRAPHS or (name in _SOMETIMES_INLINE and parent not in _INLINE):
            self._end_paragraph()
        elif name in _SPACED:
            self._text.append(" ")

    def _end(self, tag: str) -> None:
        name = self._open.pop()
        depth = len(self._open) + 1
        if self._header is not None:
            self._header.end(name)
            if name == "teiHeader":
                header, self._header = self._header.close(), None
                self._fields = _header_fields(header, self._fields)
        elif self._skipped:
            self._skipped = 0 if depth == self._skipped else self._skipped
        elif self._depth:
            self._end_inside(name)
            if depth == self._depth:
                self._end_paragraph()
                self._depth = 0
        elif name in _ROOTS:
            self._end_text()

    def _end_inside(self, name: str) -> None:
        """End an element of the selected text."""
        if _DIVISION.fullmatch(name):
            self._end_paragraph()
            self._end_division()
        elif name in _PARAGRAPHS or (name in _SOMETIMES_INLINE and self._open[-1] not in _INLINE):
            self._end_paragraph(name == "head")
        elif name in _SPACED or name == "stage":
            self._text.append(" ")

    def _characters(self, text: str) -> None:
        if self._header is not None:
            self._header.data(text)
        elif self._depth and not self._skipped:
            self._text.append(text)

    def _refuse_entity(self, name: str, *_: object) -> None:
        raise SourceError(
            f"{self._source}:{self._parser.CurrentLineNumber}: declares the entity {name!r}, which "
            "is not expanded for safety; write its text in its place"
        )

    def _undeclared_entity(self, name: str, is_parameter: bool) -> None:
        """Handle an entity of a document type definition, which is not read."""
        if is_parameter:
            return
        text = html.entities.html5.get(f"{name};")
        if text is None:
            raise SourceError(
                f"{self._source}:{self._parser.CurrentLineNumber}: unknown entity {name!r}; write "
                "its text in its place"
            )
        self._characters(text)

    def _new_document(self) -> None:
        self.documents.append(_Document(self._parser.CurrentLineNumber))

    def _end_paragraph(self, is_heading: bool = False) -> None:
        """Add the text since the last paragraph, unless it is blank."""
        text, self._text = "".join(self._text), []
        if _JOIN in text:
            text = _JOINED.sub("", text)
        text = " ".join(_HYPHENATED.sub(_rejoined, text).split())
        if not text:
            return
        document = self.documents[-1]
        document.only_headings &= is_heading
        document.paragraphs.append(text)

    def _end_division(self) -> None:
        """Start a new document, unless the last one has only headings, which belong to the next."""
        if not self._by_division:
            return
        last = self.documents[-1]
        if not last.only_headings:
            last.fields = dict(self._fields)
            self._new_document()
        elif not last.paragraphs:
            last.line = self._parser.CurrentLineNumber

    def _end_text(self) -> None:
        """Complete the last document of a text."""
        last = self.documents[-1]
        if not last.paragraphs and self._by_division and len(self.documents) > 1:
            self.documents.pop()
        else:
            last.fields = dict(self._fields)


def _rejoined(found: re.Match[str]) -> str:
    """Return nothing for a hyphen between parts of a word; the second one has no capital."""
    return "" if found[1] is None or found[1].islower() else found[0]


def _header_fields(header: ElementTree.Element, fields: dict[str, str]) -> dict[str, str]:
    """Return author, title, year of first publication and language, empty where unknown."""
    titles = header.findall("fileDesc/titleStmt/title")
    main = [title for title in titles if title.get("type") == "main"] or titles
    authors = map(_person, header.findall("fileDesc/titleStmt/author"))
    idents = [each.get("ident", "") for each in header.iter("language")]
    return {
        "author": "; ".join(filter(None, authors)),
        "title": _plain(main[0]) if main else "",
        "year": _year(header.find("fileDesc/sourceDesc")),
        "language": fields.get("language") or (idents[0] if idents else ""),
    }


def _plain(element: ElementTree.Element) -> str:
    """Return the text of an element on one line."""
    return " ".join("".join(element.itertext()).split())


def _person(author: ElementTree.Element) -> str:
    """Return a name, surname first if it is marked."""
    surname, forename = (next(author.iter(part), None) for part in ("surname", "forename"))
    if surname is None or forename is None:
        return _plain(author)
    return f"{_plain(surname)}, {_plain(forename)}"


def _year(source: ElementTree.Element | None) -> str:
    """Return the year of the first edition if it is marked (ELTeC), else of the first date."""
    if source is None:
        return ""
    first = [each for each in source.iter("bibl") if each.get("type") == "firstEdition"]
    for part in [*first, source]:
        for date in part.iter("date"):
            known = (*map(date.get, ("when", "notBefore", "from")), _plain(date))
            if found := _YEAR.search(" ".join(filter(None, known))):
                return found[0]
    return ""
