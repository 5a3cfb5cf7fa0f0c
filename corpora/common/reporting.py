"""Progress and notes of library code, discarded unless a reporter is installed.

The reporter is one per process, so that threads share it. The command line and
:func:`firth.show_progress` install the one that writes to the terminal.
"""

import contextlib
from collections.abc import Iterator
from typing import Protocol

from firth.corpora.common.urls import public


class Progress(Protocol):
    """Receives progress updates."""

    def __call__(self, done: float, total: float | None = None, detail: str = "") -> None:
        """Report that ``done`` of ``total`` units are finished."""


def no_progress(done: float, total: float | None = None, detail: str = "") -> None:
    """Discard the progress."""


class Reporter(Protocol):
    """Receives the notes and progress of library code."""

    def note(self, message: str) -> None:
        """Receive a message of one line."""

    def progress(self, label: str, unit: str) -> contextlib.AbstractContextManager[Progress]:
        """Return a context manager that reports progress, counted in ``unit``."""


class SilentReporter:
    """Discards everything."""

    def note(self, message: str) -> None:
        """Discard the message."""

    def progress(self, label: str, unit: str) -> contextlib.AbstractContextManager[Progress]:
        """Discard the progress."""
        return contextlib.nullcontext(no_progress)


_current: Reporter = SilentReporter()


def install(reporter: Reporter) -> Reporter:
    """Send everything to a reporter from now on; return the previous one."""
    global _current
    before, _current = _current, reporter
    return before


@contextlib.contextmanager
def reporting_to(reporter: Reporter) -> Iterator[None]:
    """Send everything to a reporter for the duration of a block."""
    before = install(reporter)
    try:
        yield
    finally:
        install(before)


def is_silent() -> bool:
    """Return whether notes and progress are discarded."""
    return isinstance(_current, SilentReporter)


def note(message: str) -> None:
    """Report a message of one line, in which secrets of URLs are left out."""
    _current.note(public(message))


def progress(label: str, unit: str) -> contextlib.AbstractContextManager[Progress]:
    """Report the progress of a block."""
    return _current.progress(label, unit)
