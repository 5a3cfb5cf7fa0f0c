"""TEI XML, the format of literary corpora: the running text of each text's body, by paragraphs.

Entities that a file declares are refused, not expanded, and nothing outside of it is read.
"""

import html.entities
import re
from collections.abc import Iterator
from typing import Any
from xml.etree import ElementTree
from xml.parsers import expat

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.formats import Format
from firth.corpora.reading.sources import Stream
from firth.corpora.reading.text_blocks import (
    HEAVY_BYTES,
    RawBlock,
    ReadOptions,
    TextBlock,
    text_block,
)

_FIELDS = ("body", "text")  # what `field` selects: the body, or front and back matter, too

_ROOTS = ("TEI", "TEI.2")
_UNEDITED = {"abbr", "orig", "sic"}  # skipped in a choice, for expan, reg and corr
_SOMETIMES_INLINE = {"bibl", "label", "stage"}  # in these, and paragraphs elsewhere:
_INLINE_IN = {"ab", "head", "l", "p"}
# the roles of elements; those of the text that are not listed are inline
_OUTSIDE, _HEADER, _SKIPPED, _DIVISION, _PARAGRAPH, _SPACED, _MILESTONE, _INLINE = range(8)
_PARAGRAPHS = """
    ab addrLine argument body byline castItem closer dateline docImprint docTitle epigraph head
    floatingText imprimatur item lg list opener p postscript row salute signed sp table titlePart
    trailer u
"""
_NO_TEXT = "del facsimile figure fw gap graphic index note noteGrp rdg sourceDoc speaker standOff"
_ROLES = {
    **dict.fromkeys(_NO_TEXT.split(), _SKIPPED),
    **dict.fromkeys(_PARAGRAPHS.split(), _PARAGRAPH),
    **dict.fromkeys(("div", *(f"div{depth}" for depth in range(8))), _DIVISION),
    **dict.fromkeys(("caesura", "cell", "l", "pc", "s", "w"), _SPACED),
    **dict.fromkeys(("cb", "gb", "lb", "milestone", "pb"), _MILESTONE),
}

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
    parts, held = [], 0
    for chunk in chunks:
        parts.append(chunk)
        held += len(chunk)
        stream.limit.check(held, 1)
    data = b"".join(parts)
    yield RawBlock(data, stream.name, 1, options, parse_tei, heavy=len(data) > HEAVY_BYTES)


def parse_tei(raw: RawBlock) -> TextBlock:
    """Parse a TEI file or corpus; a document is a text, or with ``documents=div`` a division.

    Speakers' names, notes and page headers are left out; the lines of a stanza are one paragraph.
    Of a choice the edited reading is taken. ``inclusions`` counts XInclude references.
    """
    data, counts = raw.checked()
    reader = _Reader(raw)
    reader.parse(data)
    parts = ["".join(f"{text}\n" for text in each.paragraphs).encode() for each in reader.documents]
    names = ("author", "title", "year", "language")
    fields = {name: [each.fields.get(name, "") for each in reader.documents] for name in names}
    counts["inclusions"] = reader.inclusions
    return text_block(raw, parts, [each.line for each in reader.documents], fields, counts)


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
        self._open = [("", _OUTSIDE)]  # name and role of each open element
        self._header = ElementTree.TreeBuilder()
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
        outer, role = self._open[-1][1], self._role(name)
        self._open.append((name, role))
        if role == _HEADER:
            if outer != role:
                self._header = ElementTree.TreeBuilder()
            self._header.start(name, attributes)
        elif role == _SKIPPED:
            return
        elif name == "include":
            self.inclusions += 1
        elif name in _ROOTS:
            self._fields = {"language": attributes.get("xml:lang", "")}
            self._new_document()
        elif role == _MILESTONE:
            within = attributes.get("break") == "no" or attributes.get("type") == "inWord"
            self._text.append(_JOIN if within else _BREAK)
        elif outer == _OUTSIDE:
            if name == "text" and attributes.get("xml:lang"):
                self._fields["language"] = attributes["xml:lang"]
            if role != outer and not self.documents:  # the root is not a TEI element
                self._new_document()
        else:
            self._separate(role)

    def _role(self, name: str) -> int:
        """Return the role of an element that starts here."""
        parent, outer = self._open[-1]
        if outer in (_HEADER, _SKIPPED):
            return outer
        if name == "teiHeader":
            return _HEADER
        role = _ROLES.get(name, _INLINE)
        if role == _SKIPPED or (parent == "choice" and name in _UNEDITED):
            return _SKIPPED
        if outer == _OUTSIDE:
            return _PARAGRAPH if name == self._selected else outer
        if name in ("front", "back") and self._selected == "body":  # of a floating text
            return _SKIPPED
        if name in _SOMETIMES_INLINE and parent not in _INLINE_IN:
            return _PARAGRAPH
        return role

    def _end(self, _tag: str) -> None:
        name, role = self._open.pop()
        if role == _HEADER:
            self._header.end(name)
            if self._open[-1][1] != role:
                self._fields = _header_fields(self._header.close(), self._fields)
        elif role == _OUTSIDE and name in _ROOTS:
            self._end_text()
        elif name == "stage" and role == _INLINE:
            self._text.append(" ")
        else:
            self._separate(role, name == "head")

    def _separate(self, role: int, is_heading: bool = False) -> None:
        """Separate what is before the start or the end of an element from what is after it."""
        if role == _SPACED:
            self._text.append(" ")
        elif role in (_PARAGRAPH, _DIVISION):
            self._end_paragraph(is_heading)
        if role == _DIVISION:
            self._end_division()

    def _characters(self, text: str) -> None:
        role = self._open[-1][1]
        if role == _HEADER:
            self._header.data(text)
        elif role not in (_OUTSIDE, _SKIPPED):
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


_BEGINS = re.compile(
    rb"(?>\s*(?:<\?.*?\?>|<!--.*?-->|<!DOCTYPE[^>\[]*(?:\[.*?\]\s*)?>))*+"
    rb"\s*<(?:\w+:)?(?:TEI|TEI\.2|teiCorpus)[\s>]",
    re.DOTALL,
)
TEI = Format(tei_blocks, ("div", "field", "keep"), _BEGINS.match)
