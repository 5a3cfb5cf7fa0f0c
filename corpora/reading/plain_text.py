"""Plain text: one document per file, per line, or per block between blank lines."""

import re
from collections.abc import Iterator

import numpy as np
from numpy.typing import NDArray

from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import after_line_end, cut_blocks, line_ends, with_line_end
from firth.corpora.reading.sources import Stream
from firth.corpora.reading.text_blocks import (
    ENTITY,
    RawBlock,
    ReadOptions,
    TextBlock,
    without_entities,
)

_SPACES = b" \t\x0b\x0c\x1c\x1d\x1e\x1f\n"
_SPACED_BLANK_LINE = re.compile(rb"\n[ \t\x0b\x0c\x1c-\x1f]+\n")
_AFTER_AMPERSAND = re.compile(ENTITY.pattern.removeprefix("&").encode())
_DIVIDED = ("\u00ad\n".encode(), "¬\n".encode())  # ends of lines inside a word


def text_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut plain text at line ends, or at blank lines if these separate documents or paragraphs."""
    if options.documents == "line":
        boundary = after_line_end
    elif options.wrapped:
        boundary = _after_blank_line
    elif options.documents == "block":
        # without blank lines a document may be as long as the file, so line ends are allowed too
        boundary = _after_blank_line_or_line_end
    else:
        boundary = _after_undivided_line
    inside = False
    for line, data in cut_blocks(chunks, boundary, block_bytes, stream.limit):
        yield RawBlock(data, stream.name, line, options, parse_text, continues=inside)
        inside = options.documents == "file" or (
            options.documents == "block" and not _ends_blank(data)
        )


def parse_text(raw: RawBlock) -> TextBlock:
    """Split plain text into documents.

    Blank lines are dropped, except that in one-document files they are empty paragraphs. In
    wrapped text, line ends inside paragraphs become spaces.
    """
    data, counts = raw.checked()
    data = with_line_end(data)
    if any(map(_AFTER_AMPERSAND.match, data.split(b"&")[1:])):  # decoding takes longer
        data = without_entities(data.decode(), raw.options, counts).encode()
    if raw.options.documents == "file" and not raw.options.wrapped:
        return _one_document(raw, data, counts)
    starts, filled = _lines(data)
    if raw.options.wrapped:
        data = _unwrapped(data, starts, filled)
    if raw.options.documents == "file":
        return _one_document(raw, data, counts)
    first = filled.copy()
    if raw.options.documents == "block":
        first[1:] &= ~filled[:-1]
    lines = np.flatnonzero(first)
    text, offsets = _without_blank_lines(data, starts, filled)
    return TextBlock(
        text,
        np.append(offsets[lines], len(text)),
        lines + raw.first_line,
        raw.source,
        {},
        continues=raw.continues and bool(filled[0]),
        counts=counts,
    )


def _one_document(raw: RawBlock, text: bytes, counts: dict[str, int]) -> TextBlock:
    """Return a block of one document, or of a part of it."""
    documents = np.array([0, len(text)], np.int64)
    positions = np.array([raw.first_line], np.int64)
    return TextBlock(text, documents, positions, raw.source, {}, raw.continues, counts=counts)


def _lines(data: bytes) -> tuple[NDArray[np.int64], NDArray[np.bool_]]:
    """Return where each line starts and whether it is non-blank; every line must end in LF."""
    ends = line_ends(data)
    starts = np.concatenate([np.zeros(1, np.int64), ends[:-1] + 1])[: len(ends)]
    filled = ends > starts
    # few lines start with a space, so a Python loop over them is cheap
    spaced = np.isin(np.frombuffer(data, np.uint8)[starts], np.frombuffer(_SPACES, np.uint8))
    for line in np.flatnonzero(spaced & filled).tolist():
        filled[line] = bool(data[starts[line] : ends[line]].strip(_SPACES))
    return starts, filled


def _unwrapped(data: bytes, starts: NDArray[np.int64], filled: NDArray[np.bool_]) -> bytes:
    """Replace line ends between two non-blank lines by spaces; the length is unchanged."""
    text = np.frombuffer(data, np.uint8).copy()
    text[starts[1:][filled[:-1] & filled[1:]] - 1] = ord(" ")
    return text.tobytes()


def _without_blank_lines(
    data: bytes, starts: NDArray[np.int64], filled: NDArray[np.bool_]
) -> tuple[bytes, NDArray[np.int64]]:
    """Return the non-blank lines, and the offset of each input line in them."""
    bounds = np.append(starts, len(data))
    offsets = np.cumsum(np.diff(bounds) * filled) - np.diff(bounds) * filled
    if filled.all():
        return data, offsets
    runs = np.flatnonzero(np.diff(filled, prepend=False, append=False))
    begins, ends = bounds[runs[::2]].tolist(), bounds[runs[1::2]].tolist()
    view = memoryview(data)
    return b"".join(map(view.__getitem__, map(slice, begins, ends))), offsets


def _after_undivided_line(data: bytes) -> int:
    """Return the offset after the last line end that is not inside a word; 0 if there is none."""
    cut = after_line_end(data)
    while data.endswith(_DIVIDED, 0, cut):
        cut = data.rfind(b"\n", 0, cut - 1) + 1
    return cut


def _after_blank_line(data: bytes) -> int:
    """Return the offset after the last complete blank line; 0 if there is none."""
    cut = data.rfind(b"\n\n") + 2
    if cut >= 2:
        return cut
    last = 0
    for match in _SPACED_BLANK_LINE.finditer(data):
        last = match.end()
    return last


def _after_blank_line_or_line_end(data: bytes) -> int:
    """Return the offset after the last blank line, else after the last line end."""
    return _after_blank_line(data) or after_line_end(data)


def _ends_blank(data: bytes) -> bool:
    """Return whether the last line is blank."""
    end = data.rfind(b"\n")
    return end >= 0 and not data[data.rfind(b"\n", 0, end) + 1 :].strip(_SPACES)


TEXT = Format(text_blocks, ("line", "block", "wrapped"))
