"""Reporters that record what a program reports, and stop a training at some progress."""

import contextlib

from firth.corpora.common.reporting import SilentReporter, reporting_to


class Killed(BaseException):
    """In the place of a kill: no handler catches it, but the test does."""


class Recorder(SilentReporter):
    """Records notes and progress; raises ``error`` at the ``stop``-th progress."""

    def __init__(self, stop=None, error=KeyboardInterrupt):
        self.notes, self.calls, self._stop, self._error = [], [], stop, error

    def note(self, message):
        self.notes.append(message)

    def progress(self, label, unit):
        return contextlib.nullcontext(self._step)

    def _step(self, done, total=None, detail=""):
        self.calls.append((done, total, detail))
        if len(self.calls) == self._stop:
            raise self._error


def stopping(at, error=KeyboardInterrupt):
    """Raise an error at this progress of a training in the block."""
    return reporting_to(Recorder(at, error))
