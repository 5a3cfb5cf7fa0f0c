"""Reads a sample of sources: parts from several places, cut into blocks as for a build."""

import bisect
import dataclasses
import itertools
import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.decoding import is_utf8
from firth.corpora.reading.detect import HEAD_BYTES
from firth.corpora.reading.readers import detected_options, file_blocks
from firth.corpora.reading.sources import SourceFile, Stream
from firth.corpora.reading.text_blocks import BLOCK_BYTES, RawBlock, ReadOptions

_PLACES = 16  # parts of the sources that are read
# one record a line, so that reading may begin after any line end
_LINES = ("text", "jsonl")


def sample_blocks(
    files: Sequence[SourceFile],
    options: ReadOptions,
    most_bytes: int,
    *,
    block_bytes: int = BLOCK_BYTES,
    longest: float = math.inf,
) -> Iterator[RawBlock]:
    """Yield blocks of about ``most_bytes`` of text in all, from places spread over the files.

    ``consumed`` of the blocks adds up to the stored bytes that they are of. Plain text and JSON
    lines are read at any place, other formats and compressed files from their beginnings, and
    small sources whole. A piece of more than ``longest`` that cannot be divided is refused.
    """
    n_bytes = stored_bytes(files)
    if n_bytes <= most_bytes // 4:  # compressed text may be four times as long
        places, room = [_Place(0, 0)], float("inf")
    else:
        places = _places(files, options, n_bytes, max(most_bytes, _PLACES * block_bytes))
        room = most_bytes / len(places)

    def between(place: _Place, end: _Place, room: float) -> Iterator[RawBlock]:
        for number in range(place.number, end.number + (end.start > 0)):
            file, at = files[number], place.start if number == place.number else 0
            stop = end.start if number == end.number else _size(file)
            part = dataclasses.replace(file, start=at)
            for block in _blocks(part, options, block_bytes, longest):
                yield block
                # records are split already: as much as fills a block
                room -= len(block.data) if isinstance(block.data, bytes) else block_bytes
                at += block.consumed
                # what was read already must be counted: some formats are read whole before a block
                if (room < block_bytes / 2 or at >= stop) and at < _size(file):
                    break
            if room < block_bytes / 2:
                return

    for place, following in zip(places, [*places[1:], _Place(len(files), 0)], strict=True):
        yield from between(place, following, room)


@dataclass(frozen=True, order=True)
class _Place:
    """Where reading begins or ends."""

    number: int  # of a file
    start: int  # byte in it


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
    files: Sequence[SourceFile], options: ReadOptions, n_bytes: int, sample_bytes: int
) -> list[_Place]:
    """Return where to begin reading, in order: inside files only if the parts do not overlap."""
    ends = list(itertools.accumulate(map(_size, files)))
    places = set()
    for part in range(_PLACES):
        at = n_bytes * part // _PLACES
        number = bisect.bisect_right(ends, at)
        start = at - (ends[number] - _size(files[number]))
        middle = n_bytes >= 2 * sample_bytes and _has_lines(files[number], options)
        places.add(_Place(number, start if middle else 0))
    return sorted(places)


def _has_lines(file: SourceFile, options: ReadOptions) -> bool:
    """Return whether a file may be read from the end of any line on."""
    if not is_utf8(options.encoding) or not _size(file):
        return False
    stream = Stream(file, options, HEAD_BYTES)
    return stream.is_plain_file and detected_options(stream, options)[0].format in _LINES


def _blocks(
    file: SourceFile, options: ReadOptions, block_bytes: int, longest: float
) -> Iterator[RawBlock]:
    """Yield the blocks of a file from its start on, with the stored bytes that they are of."""
    if file.start:  # in its middle the format may look like another one
        beginning = Stream(dataclasses.replace(file, start=0), options, HEAD_BYTES)
        options, _ = detected_options(beginning, options)
    # what is read at once is the error of what was consumed
    stream = Stream(file, options, max(1, block_bytes // 64), longest)
    for block in file_blocks(stream, options, block_bytes):
        yield dataclasses.replace(block, consumed=stream.take_consumed())
