"""Builds from the files that can be read, or raises one error that lists all others."""

from collections.abc import Callable, Mapping, Sequence
from typing import TypeVar

from corpora.common.errors import SourceError
from corpora.common.reporting import Progress
from corpora.reading.readers import find_unreadable
from corpora.reading.sources import SourceFile
from corpora.reading.text_blocks import ReadOptions

BuiltT = TypeVar("BuiltT")

_READ_AT_ONCE = 1 << 29  # bytes of files, some seconds
_LISTED = 10  # files that an error lists


def build_readable(
    files: Sequence[SourceFile],
    options: ReadOptions,
    build: Callable[[list[SourceFile], dict[SourceFile, str]], BuiltT],
    *,
    progress: Progress,
) -> BuiltT:
    """Call ``build`` with the files that can be read and the errors of the others.

    Raises SourceError if there are others, unless ``skip_unreadable`` is set. The beginnings of all
    files are read first, so that most errors show at once. If one shows and the files are not huge,
    or if the build itself fails, the files are read to their ends to find all others.
    """
    if len(files) == 1:
        return build(list(files), {})
    unreadable = find_unreadable(files, options, whole=False)
    if unreadable and sum(file.size or 0 for file in files) <= _READ_AT_ONCE:
        unreadable = find_unreadable(files, options, whole=True, progress=progress)
    _check(unreadable, len(files), options)
    readable = [file for file in files if file not in unreadable]
    try:
        return build(readable, unreadable)
    except SourceError:
        more = find_unreadable(readable, options, whole=True, progress=progress)
        if not more:  # all can be read, but do not fit together
            raise
    unreadable |= more
    _check(unreadable, len(files), options)
    return build([file for file in readable if file not in more], unreadable)


def _check(unreadable: Mapping[SourceFile, str], n_files: int, options: ReadOptions) -> None:
    """Raise one error for all files that cannot be read, unless these are to be skipped."""
    if not unreadable or (options.skip_unreadable and len(unreadable) < n_files):
        return
    errors = list(unreadable.values())
    remedy = "fix or exclude them"
    if len(unreadable) < n_files:
        remedy += ", or pass `skip_unreadable=True` to leave them out"
    if len(errors) == 1:
        raise SourceError(f"{errors[0]} (or pass `skip_unreadable=True` to leave the file out)")
    rest = [f"and {len(errors) - _LISTED:,} more"] if len(errors) > _LISTED else []
    lines = [f"{len(errors):,} of {n_files:,} files cannot be read; {remedy}:"]
    raise SourceError("\n  ".join(lines + errors[:_LISTED] + rest))
