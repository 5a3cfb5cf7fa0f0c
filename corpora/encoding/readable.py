"""Finds the files that cannot be read before a build, and raises one error that lists them."""

from collections.abc import Mapping, Sequence

from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import Progress, no_progress
from firth.corpora.reading.readers import find_unreadable
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import ReadOptions

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

    With it and ``whole`` files are read to their ends, else only their beginnings.
    """
    if len(files) == 1:
        return {}
    whole = whole and options.skip_unreadable
    unreadable = find_unreadable(
        files, options, whole=whole, most_bytes=most_bytes, progress=progress
    )
    if unreadable and not (options.skip_unreadable and len(unreadable) < len(files)):
        raise SourceError(_listed(unreadable, len(files)))
    return unreadable


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
