"""Finds the files that cannot be read before a build, and raises one error that lists them."""

import dataclasses
import itertools
from collections.abc import Mapping, Sequence

from firth.corpora.common.errors import SourceError, UnreadableError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.reading.detect import HEAD_BYTES
from firth.corpora.reading.readers import PARQUET_HEAD, file_blocks
from firth.corpora.reading.sources import SourceFile, Stream
from firth.corpora.reading.text_blocks import BLOCK_BYTES, ReadOptions

_LISTED = 10  # files that an error lists


def check_readable(
    files: Sequence[SourceFile],
    options: ReadOptions,
    *,
    most_bytes: float,
    progress: Progress = no_progress,
    whole: bool = True,
) -> dict[SourceFile, str]:
    """Return the errors of the files to leave out; raise one for all, without ``skip_unreadable``.

    With it and ``whole`` files are read to their ends, else only their beginnings. Pipes and
    standard input are not checked, since they can be read only once. Raises SourceError for options
    that do not fit a file, and for malformed records.
    """
    if len(files) == 1:
        return {}
    whole = whole and options.skip_unreadable
    quick = dataclasses.replace(options, wrapped=bool(options.wrapped))  # need not be detected
    unreadable, done, total = {}, 0, sum(file.size or 0 for file in files)
    for file in files:
        if file.size is None:
            continue
        try:
            _check(Stream(file, quick, HEAD_BYTES, most_bytes), quick, whole)
        except UnreadableError as error:
            unreadable[file] = str(error)
        done += file.size
        if whole:
            progress(done, total)
    if unreadable and not (options.skip_unreadable and len(unreadable) < len(files)):
        raise SourceError(_listed(unreadable, len(files)))
    return unreadable


def _check(stream: Stream, options: ReadOptions, whole: bool) -> None:
    """Read a file, or its beginning."""
    if whole:
        for block in file_blocks(stream, options, BLOCK_BYTES):
            block.parse()
    # the beginning of Parquet says little, and all of it would have to be copied
    elif stream.is_plain_file or not stream.head.startswith(PARQUET_HEAD):
        for block in itertools.islice(file_blocks(stream, options, HEAD_BYTES), 1):
            if isinstance(block.data, bytes):  # else it was decoded while cutting
                # not parsed: TEI is one block, and fields may be missing only at the beginning
                block.checked()


def _listed(unreadable: Mapping[SourceFile, str], n_files: int) -> str:
    """Return the message for all files that cannot be read."""
    errors = list(unreadable.values())
    if len(errors) == 1:
        return f"{errors[0]} (or pass `skip_unreadable=True` to leave the file out)"
    shown = "; ".join(errors[:_LISTED])
    if len(errors) > _LISTED:
        shown += f"; and {len(errors) - _LISTED:,} more"
    if len(errors) < n_files:
        shown += " (or pass `skip_unreadable=True` to leave these files out)"
    return f"{len(errors):,} of {n_files:,} files cannot be read: {shown}"
