"""Reads a sample of sources: parts from several places, cut into blocks as for a build."""

import bisect
import dataclasses
import itertools
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from corpora.common.errors import SourceError
from corpora.reading.decoding import is_utf8
from corpora.reading.readers import detected_options, file_blocks
from corpora.reading.sources import SourceFile, Stream
from corpora.reading.text_blocks import BLOCK_BYTES, RawBlock, ReadOptions

_PLACES = 16  # parts of the sources that are read
_CHUNK_BYTES = 64 << 10  # stored bytes read at once, which is the error of what was consumed
# one record a line, so that reading may begin after any line end
_LINES = ("text", "jsonl")
_LONG_BYTES = 1 << 20  # of a file that is worth reading at several places


def sample_blocks(
    files: Sequence[SourceFile], options: ReadOptions, most_bytes: int
) -> Iterator[RawBlock]:
    """Yield blocks of about ``most_bytes`` of text in all, from places spread over the files.

    ``consumed`` of the blocks adds up to the stored bytes that they are of. Plain text and JSON
    lines are read at any place, other formats and compressed files from their beginnings, and
    small sources whole.
    """
    n_bytes = stored_bytes(files)
    if n_bytes <= most_bytes // 4:  # compressed text may be four times as long
        places, room = [_Place(0, 0)], float("inf")
    else:
        # parts that begin inside files must not overlap
        inside = n_bytes >= 2 * max(most_bytes, _PLACES * BLOCK_BYTES)
        places = _places(files, options, n_bytes, inside)
        room = most_bytes / len(places)
    for place, following in zip(places, [*places[1:], _Place(len(files), 0)], strict=True):
        yield from _between(place, following, files, options, room)


@dataclass(frozen=True, order=True)
class _Place:
    """Where reading begins or ends."""

    number: int  # of a file
    start: int  # byte in it


def _between(
    place: _Place,
    end: _Place,
    files: Sequence[SourceFile],
    options: ReadOptions,
    room: float,
) -> Iterator[RawBlock]:
    """Yield blocks from one place on, until another one or at least ``room`` bytes of text."""
    for number in range(place.number, end.number + (end.start > 0)):
        at = place.start if number == place.number else 0
        stop = end.start if number == end.number else _size(files[number])
        for block in _blocks(dataclasses.replace(files[number], start=at), options):
            yield block
            room -= _text_bytes(block)
            at += block.consumed
            # what was read already must be counted: some formats are read whole before any block
            if (room < BLOCK_BYTES / 2 or at >= stop) and at < _size(files[number]):
                break
        if room < BLOCK_BYTES / 2:
            return


def stored_bytes(files: Sequence[SourceFile]) -> int:
    """Return the bytes of all files; raise for a pipe, which can be read only once."""
    return sum(map(_size, files))


def _size(file: SourceFile) -> int:
    """Return the bytes of a file."""
    if file.size is None:
        raise SourceError(
            f"{file.name}: a pipe cannot be sampled for `dry_run=True`; write it to a file first"
        )
    return file.size


def _places(
    files: Sequence[SourceFile], options: ReadOptions, n_bytes: int, inside: bool
) -> list[_Place]:
    """Return where to begin reading, in order; with ``inside`` also inside files."""
    ends = list(itertools.accumulate(map(_size, files)))
    places = set()
    for part in range(_PLACES):
        at = n_bytes * part // _PLACES
        number = bisect.bisect_right(ends, at)
        start = at - (ends[number] - _size(files[number]))
        middle = inside and _has_lines(files[number], options)
        places.add(_Place(number, start if middle else 0))
    return sorted(places)


def _has_lines(file: SourceFile, options: ReadOptions) -> bool:
    """Return whether a file may be read from the end of any line on, and is worth it."""
    if _size(file) < _LONG_BYTES or not is_utf8(options.encoding):
        return False
    stream = Stream(file, options, _CHUNK_BYTES)
    return stream.is_plain_file and detected_options(stream, options).format in _LINES


def _blocks(file: SourceFile, options: ReadOptions) -> Iterator[RawBlock]:
    """Yield the blocks of a file from its start on, with the stored bytes that they are of."""
    if file.start:  # in its middle the format may look like another one
        beginning = Stream(dataclasses.replace(file, start=0), options, _CHUNK_BYTES)
        options = detected_options(beginning, options)
    stream = Stream(file, options, _CHUNK_BYTES)
    for block in file_blocks(stream, options, BLOCK_BYTES):
        yield dataclasses.replace(block, consumed=stream.take_consumed())


def _text_bytes(block: RawBlock) -> int:
    """Return the bytes of text of a block; about those of a full one if it is split already."""
    return len(block.data) if isinstance(block.data, bytes) else BLOCK_BYTES
