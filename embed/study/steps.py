"""Steps of a study: each command runs in its own process, which frees its memory."""

import contextlib
import os
import shlex
import signal
import subprocess
import sys
import tempfile
import threading
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO

import firth
from firth.corpora.common.console import ERRORS_FILE, escape_leading_dash, in_notebook, shell_quoted
from firth.corpora.common.reporting import command, is_silent

_CLI = Path(firth.__file__).parent / "cli.py"  # the script behind "firth"
_TERMINATING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_SI_USER = 0  # si_code of kill(); a terminal's Ctrl-C has SI_KERNEL
_POLL_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    """A command of a study."""

    command: str  # for example ``train-svd``
    inputs: tuple[str, ...]  # its positional arguments: files, folders or named samples
    options: tuple[str, ...] = ()  # without ``--out`` and ``--force``
    out: Path | None = None  # the artifact it makes

    def arguments(self, *, force: bool = False) -> list[str]:
        """Return the command line after ``firth``."""
        out = [] if self.out is None else ["--out", escape_leading_dash(str(self.out))]
        forced = ["--force"] if force else []
        return [self.command, *map(escape_leading_dash, self.inputs), *self.options, *out, *forced]


def firth_command(*arguments: str) -> list[str]:
    """Return the process arguments that run a firth command."""
    return [sys.executable, str(_CLI), *arguments]


def run_command(arguments: Sequence[str], lock: int | None = None) -> str:
    """Print a firth command, run it and return why it failed; empty if it did not.

    The command inherits ``lock``, a file descriptor. On a terminating signal, wait until the
    command has ended and saved its state, then raise KeyboardInterrupt. A Ctrl-C in a terminal
    reaches both processes; a signal sent to this process alone is forwarded.
    """
    command(f"firth {' '.join(map(_quote, arguments))}")
    with recorded_errors() as recorded, tempfile.TemporaryFile() as shown:
        status = _run(arguments, lock, None if shows_output() else shown)
        shown.seek(0)
        crash = shown.read().decode("utf-8", "replace").strip().splitlines()[-1:]
        return describe_exit(status, recorded() or crash) if status else ""


def shows_output() -> bool:
    """Return whether commands may print: neither if silent, nor into the cell of a notebook."""
    return not (is_silent() or in_notebook())


@contextlib.contextmanager
def recorded_errors() -> Iterator[Callable[[], list[str]]]:
    """Yield a function that returns the error lines of the commands run in the block.

    They are lines for users; a crash records none.
    """
    with tempfile.NamedTemporaryFile() as file:
        before = os.environ.get(ERRORS_FILE)
        os.environ[ERRORS_FILE] = file.name
        try:
            yield lambda: file.read().decode().split("\n")[:-1]
        finally:
            del os.environ[ERRORS_FILE]
            if before is not None:
                os.environ[ERRORS_FILE] = before


def _run(arguments: Sequence[str], lock: int | None, errors: IO[bytes] | None) -> int:
    """Run a command; with a file for its errors, discard its output."""
    inherited = () if lock is None else (lock,)
    if threading.current_thread() is not threading.main_thread():  # receives no signals
        return _start(arguments, inherited, errors).wait()
    received: list[int] = []
    handlers = {each: signal.getsignal(each) for each in _TERMINATING}
    watched = [each for each, handler in handlers.items() if handler is not signal.SIG_IGN]
    try:
        # handlers, not a mask, until the command has started: it would inherit the mask
        for each in watched:
            signal.signal(each, lambda number, _: received.append(number))
        process = _start(arguments, inherited, errors)
        _wait(process, {*watched, signal.SIGCHLD}, received)
    finally:
        for each in watched:
            signal.signal(each, handlers[each] or signal.SIG_DFL)
    if received:
        raise KeyboardInterrupt
    return int(process.returncode)


def _start(
    arguments: Sequence[str], inherited: Sequence[int], errors: IO[bytes] | None
) -> "subprocess.Popen[bytes]":
    """Start a command that reads nothing from the terminal."""
    return subprocess.Popen(
        firth_command(*arguments),
        stdin=subprocess.DEVNULL,
        stdout=None if errors is None else subprocess.DEVNULL,
        stderr=errors,
        pass_fds=inherited,
    )


def _wait(
    process: "subprocess.Popen[bytes]", signals: set[signal.Signals], received: list[int]
) -> None:
    """Wait until a process ends; record signals in ``received`` and forward those to us alone."""
    before = signal.pthread_sigmask(signal.SIG_BLOCK, signals)
    try:
        for number in received:  # during startup, when the process may not have seen them
            process.send_signal(number)
        while process.poll() is None:
            info = signal.sigtimedwait(signals, _POLL_SECONDS)
            if info is None or info.si_signo == signal.SIGCHLD:
                continue
            received.append(info.si_signo)
            if info.si_code == _SI_USER:
                process.send_signal(info.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def describe_exit(status: int, errors: Sequence[str] = ()) -> str:
    """Describe the exit status of a failed command, or return its errors on one line."""
    if status < 0:
        return f"killed by {signal.Signals(-status).name}"
    no_message = f"ended with status {status} and no message, which is a bug of the command"
    return "; ".join(errors) or no_message


def _quote(argument: str) -> str:
    """Return an argument quoted for a shell."""
    return shlex.quote(argument) if argument.isprintable() else shell_quoted(argument)
