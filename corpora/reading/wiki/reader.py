"""Readers of MediaWiki XML dumps and of WikiExtractor output."""

import html
import re
from collections.abc import Collection, Iterator
from xml.etree import ElementTree

import numpy as np
from numpy.typing import NDArray

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import after_line_end, cut_blocks, line_ends, with_line_end
from firth.corpora.reading.sources import Stream
from firth.corpora.reading.text_blocks import (
    RawBlock,
    ReadOptions,
    TextBlock,
    keep_fields,
    text_block,
)
from firth.corpora.reading.wiki.namespaces import NAMES

# Attributes, which may hold ">, end with the line, or at the first "> where text follows.
_HEADER = re.compile(
    rb'(?m:^)<doc (id="(?:[^\n]*"(?=>[ \t]*(?:\n|\Z))|[^\n]*?"(?=>)))>(?:[ \t]*(?:\n|\Z))?'
)
_BETWEEN = re.compile(r'"\s+(?=\w+=")')  # attributes, whose values may have quotes
_DOCUMENT_END = b"</doc>"
# A marker line after each document, so that all documents can be cleaned in one call.
_MARKER = b"\x1d\n"

_PAGE_END = b"</page>"
_HIDDEN_KEYS = ("-2", "6", "14")  # of the namespaces of media, files and categories
_NAMESPACE = re.compile(rb'<namespace key="([^"<>]+)"[^<>]*>([^<>]+)</namespace>')


def wikiextractor_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut WikiExtractor files after documents, or at line ends inside very long ones."""
    inside = False
    for line, data in cut_blocks(chunks, _after_document, block_bytes, stream.limit):
        yield RawBlock(data, stream.name, line, options, parse_wikiextractor, continues=inside)
        if data.endswith(_DOCUMENT_END):
            inside = False
        else:
            opened, closed = data.rfind(b'<doc id="'), data.rfind(_DOCUMENT_END)
            inside = opened > closed if max(opened, closed) >= 0 else inside


def parse_wikiextractor(raw: RawBlock) -> TextBlock:
    """Extract the documents between ``<doc>`` tags and remove leftover markup."""
    from firth.corpora.reading.wiki.paragraphs import clean_lines

    data, counts = raw.checked()
    if _MARKER[:1] in data:
        data = data.replace(_MARKER[:1], b" ")
    headers = list(_HEADER.finditer(data))
    bodies, outside = _bodies(data, headers, raw.continues)
    text, cleaned = clean_lines(b"".join(part for body in bodies for part in (body, _MARKER)))
    counts |= {
        name: count
        for name, count in (("markup_lines", cleaned), ("lines_outside_documents", outside))
        if count
    }
    text, documents = _remove_markers(text)
    starts = [0] * raw.continues + [match.start() for match in headers]
    positions = raw.first_line + np.searchsorted(line_ends(data), starts)
    fields = _fields([""] * raw.continues + [match[1].decode() for match in headers], raw)
    return TextBlock(text, documents, positions, raw.source, fields, raw.continues, counts=counts)


def mediawiki_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut a MediaWiki dump after pages."""
    namespaces = None
    for line, data in cut_blocks(chunks, _after_page, block_bytes, stream.limit):
        if namespaces is None:
            found = _NAMESPACE.findall(data[: data.find(b"<page>")])
            namespaces = {
                html.unescape(name.decode("utf-8", "replace")): key.decode("utf-8", "replace")
                for key, name in found
                if key != b"0"
            }
        opened = data.rfind(b"<page>")
        if opened > data.rfind(_PAGE_END):
            line += data.count(b"\n", 0, opened)
            raise SourceError(
                f"{stream.name}:{line}: the last page is incomplete; "
                "the dump is truncated: download it again"
            )
        yield RawBlock(
            data, stream.name, line, options, parse_mediawiki, heavy=True, state=namespaces
        )


def parse_mediawiki(raw: RawBlock) -> TextBlock:
    """Extract articles: namespace 0, wikitext, no redirects, the newest revision."""
    from firth.corpora.reading.wiki.paragraphs import page_text

    data, counts = raw.checked()
    hidden = NAMES.union(name.lower() for name, key in raw.state.items() if key in _HIDDEN_KEYS)
    parts: list[bytes] = []
    starts: list[int] = []
    fields: dict[str, list[str]] = {"id": [], "title": []}
    for start, page in _pages(data, raw):
        if reason := _skip_reason(page, raw.state):
            counts[reason] = counts.get(reason, 0) + 1
            continue
        starts.append(start)
        for name, values in fields.items():
            values.append(page.findtext(name, ""))
        parts.append(with_line_end(page_text(_wikitext(page), hidden).encode()))
    positions = raw.first_line + np.searchsorted(line_ends(data), starts)
    return text_block(raw, parts, positions, fields, counts)


def _after_document(data: bytes) -> int:
    """Return the offset after the last complete document, else after the last line end."""
    cut = data.rfind(b"\n" + _DOCUMENT_END)
    return cut + 1 + len(_DOCUMENT_END) if cut >= 0 else after_line_end(data)


def _after_page(data: bytes) -> int:
    """Return the offset after the last complete page; 0 if there is none."""
    cut = data.rfind(_PAGE_END)
    return cut + len(_PAGE_END) if cut >= 0 else 0


def _bodies(
    data: bytes, headers: list[re.Match[bytes]], continues: bool
) -> tuple[list[bytes | memoryview], int]:
    """Return each document body, and the number of non-blank lines outside of documents."""
    view, outside = memoryview(data), 0
    bodies: list[bytes | memoryview] = []
    ends = [header.start() for header in headers] + [len(data)]
    starts = [header.end() for header in headers]
    if continues:
        starts.insert(0, 0)
    else:
        outside += _count_filled_lines(data[: ends.pop(0)])
    for start, end in zip(starts, ends, strict=True):
        close = data.rfind(_DOCUMENT_END, start, end)
        if close >= 0:
            outside += _count_filled_lines(data[close + len(_DOCUMENT_END) : end])
        end = close if close >= 0 else end
        whole = end == start or data[end - 1] == ord("\n")
        bodies.append(view[start:end] if whole else with_line_end(data[start:end]))
    return bodies, outside


def _count_filled_lines(data: bytes) -> int:
    """Count non-blank lines."""
    return sum(bool(line.strip()) for line in data.split(b"\n")) if data.strip() else 0


def _remove_markers(text: bytes) -> tuple[bytes, NDArray[np.int64]]:
    """Remove the marker lines; return the text and the document offsets."""
    markers = np.flatnonzero(np.frombuffer(text, np.uint8) == _MARKER[0])
    documents = np.zeros(len(markers) + 1, np.int64)
    documents[1:] = markers - len(_MARKER) * np.arange(len(markers))
    starts = [0, *(markers + len(_MARKER)).tolist()]
    view = memoryview(text)
    # ten times as fast as bytes.replace
    return b"".join(map(view.__getitem__, map(slice, starts, markers.tolist()))), documents


def _fields(headers: list[str], raw: RawBlock) -> dict[str, list[str]]:
    """Return the attributes of the tags; empty for a document continued from the previous block."""
    attributes = [  # of those that occur twice, the first
        {name: value for name, _, value in (a.partition('="') for a in _BETWEEN.split(h)[::-1])}
        for h in (header.rstrip().removesuffix('"') for header in headers)
    ]
    names = ("id", "url", "title")
    available = {name: [html.unescape(a.get(name, "")) for a in attributes] for name in names}
    return keep_fields(raw.options, available, raw.source)


def _pages(data: bytes, raw: RawBlock) -> Iterator[tuple[int, ElementTree.Element]]:
    """Yield the offset of each page and its parsed XML."""
    start = data.find(b"<page>")
    while start >= 0:
        end = data.find(_PAGE_END, start) + len(_PAGE_END)
        try:
            page = ElementTree.fromstring(data[start:end])
        except ElementTree.ParseError as error:
            line = raw.first_line + data.count(b"\n", 0, start) + error.position[0] - 1
            reason = str(error).partition(":")[0]
            raise SourceError(
                f"{raw.source}:{line}: malformed XML ({reason}); download the dump again"
            ) from None
        yield start, page
        start = data.find(b"<page>", end)


def _skip_reason(page: ElementTree.Element, namespaces: Collection[str]) -> str | None:
    """Return why a page is skipped, or None; dumps before 2012 lack <ns>, so use the title."""
    namespace = page.findtext("ns")
    if namespace is None:
        prefix, colon, _ = page.findtext("title", "").partition(":")
        namespace = "other" if colon and prefix in namespaces else "0"
    if namespace.strip() != "0":
        return "other_namespaces"
    if page.find("redirect") is not None or _wikitext(page).lstrip()[:9].upper() == "#REDIRECT":
        return "redirects"
    model = page.findtext("revision/model", "wikitext")
    return None if model == "wikitext" else "other_models"


def _wikitext(page: ElementTree.Element) -> str:
    """Return the text of the newest revision, which comes last."""
    revisions = page.findall("revision")
    return revisions[-1].findtext("text", "") if revisions else ""


MEDIAWIKI = Format(
    mediawiki_blocks, ("keep",), re.compile(rb"\s*(?:<\?xml[^>]*>\s*)?<mediawiki[\s>]").match
)
WIKIEXTRACTOR = Format(wikiextractor_blocks, ("keep",), re.compile(rb'\s*<doc id="').match)
