"""The steps of a study: commands, each a process of its own, so that memory is given back."""

import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import corpora
from corpora.common.console import no_option, typed
from corpora.common.reporting import command, is_silent

_CLI = Path(corpora.__file__).parent.parent / "cli.py"  # what "firth" runs
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FROM_A_PROCESS = 0  # si_code SI_USER: kill(); a terminal's Ctrl-C comes from the kernel
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    """A command of a study."""

    command: str  # such as ``train-svd``
    reads: tuple[str, ...]  # what it reads: names of files, folders or samples, which stand first
    options: tuple[str, ...] = ()  # what follows, ``--out`` and ``--force`` apart
    out: Path | None = None  # what it makes

    def typed(self, *, force: bool = False) -> list[str]:
        """Give the words of the command."""
        out = [] if self.out is None else ["--out", no_option(str(self.out))]
        forced = ["--force"] if force else []
        return [self.command, *map(no_option, self.reads), *self.options, *out, *forced]


class Status(int):
    """Exit status of a command, with the error it ended with if that was not shown."""

    error = ""

    def with_errors(self, errors: IO[bytes]) -> "Status":
        """Keep the last line that the command wrote to standard error."""
        errors.seek(0)
        lines = errors.read().decode("utf-8", "replace").strip().splitlines()
        self.error = lines[-1].removeprefix("Error: ") if self and lines else ""
        return self


def firth(*arguments: str) -> list[str]:
    """Give the process that runs a command of this program."""
    return [sys.executable, str(_CLI), *arguments]


def run(arguments: Sequence[str], held: int | None = None) -> int:
    """Run a command of this program, and show it as it is typed.

    What should end us is waited with until the command has ended, which saves what it has. A
    terminal tells both of a Ctrl-C; what a process sends to us alone is passed on.
    """
    command(f"firth {' '.join(map(_shown, arguments))}")
    with tempfile.TemporaryFile() as errors:
        status = _run(arguments, held, errors if is_silent() else None)
        return Status(status).with_errors(errors)


def _run(arguments: Sequence[str], held: int | None, errors: IO[bytes] | None) -> int:
    """Run a command; its output is discarded if there is a file for its errors."""
    held_open = () if held is None else (held,)
    if threading.current_thread() is not threading.main_thread():  # where no signal arrives
        return _start(arguments, held_open, errors).wait()
    came: list[int] = []
    handlers = {each: signal.getsignal(each) for each in _ENDING}
    watched = [each for each, handler in handlers.items() if handler is not signal.SIG_IGN]
    try:
        for each in watched:  # before it starts; while it starts no signal may be blocked for it
            signal.signal(each, lambda number, _: came.append(number))
        process = _start(arguments, held_open, errors)
        _wait(process, {*watched, signal.SIGCHLD}, came)
    finally:
        for each in watched:
            signal.signal(each, handlers[each] or signal.SIG_DFL)
    if came:
        raise KeyboardInterrupt
    return int(process.returncode)


def _start(
    arguments: Sequence[str], held_open: Sequence[int], errors: IO[bytes] | None
) -> "subprocess.Popen[bytes]":
    """Start a command that reads nothing from the terminal."""
    return subprocess.Popen(
        firth(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=None if errors is None else subprocess.DEVNULL,
        stderr=errors,
        pass_fds=held_open,
    )


def _wait(process: "subprocess.Popen[bytes]", waited: set[signal.Signals], came: list[int]) -> None:
    """Wait until a process has ended; pass on, and note in ``came``, the signals to us alone."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, waited)
    try:
        for number in came:  # while it started: perhaps too early for it
            process.send_signal(number)
        while process.poll() is None:
            told = signal.sigtimedwait(waited, _LOOK_SECONDS)
            if told is None or told.si_signo == signal.SIGCHLD:
                continue
            came.append(told.si_signo)
            if told.si_code == _FROM_A_PROCESS:
                process.send_signal(told.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def ended(status: int) -> str:
    """Say how a command ended that did not do what it should."""
    if status >= 0:
        error = getattr(status, "error", "")
        return f"failed: {error}" if error else "failed, see above"
    return f"was ended by {signal.Signals(-status).name}"


def _shown(argument: str) -> str:
    """An argument as a person types it."""
    return shlex.quote(argument) if argument.isprintable() else typed(argument)
