"""The steps of a study: commands, each a process of its own, so that memory is given back."""

import shlex
import signal
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path
from types import FrameType

import corpora
from corpora.console import typed

_CLI = Path(corpora.__file__).parent.parent / "cli.py"  # what "firth" runs
_PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


@dataclass(frozen=True)
class Step:
    """A command of a study.

    Attributes
    ----------
    command : str
        Such as ``train-svd``.
    arguments : tuple of str
        All that follows it, ``--out`` and ``--force`` apart.
    out : Path or None
        What it makes.
    """

    command: str
    arguments: tuple[str, ...]
    out: Path | None = None

    def typed(self, *, force: bool = False) -> list[str]:
        """Give the words of the command.

        Parameters
        ----------
        force : bool
            Whether what stands at ``out`` is replaced.

        Returns
        -------
        list of str
            Behind ``firth``.
        """
        out = [] if self.out is None else ["--out", str(self.out)]
        return [self.command, *self.arguments, *out, *(["--force"] if force else [])]


def firth(*arguments: str) -> list[str]:
    """Give the process that runs a command of this program.

    Parameters
    ----------
    *arguments : str
        Of ``firth``.

    Returns
    -------
    list of str
        Program and arguments.
    """
    return [sys.executable, str(_CLI), *arguments]


def run(arguments: list[str]) -> int:
    """Run a command of this program, and show it as it is typed.

    A signal that should end us is passed on once, and waited for: the command saves what it
    has. It is in a process group of its own, or a terminal's Ctrl-C would reach it twice.

    Parameters
    ----------
    arguments : list of str
        Of ``firth``.

    Returns
    -------
    int
        Its exit status, or less than zero, the signal that ended it.

    Raises
    ------
    KeyboardInterrupt
        We were interrupted; the command has ended.
    """
    print(f"$ firth {' '.join(map(_shown, arguments))}", flush=True)
    came: list[int] = []
    started: list[subprocess.Popen[bytes]] = []

    def pass_on(number: int, _: FrameType | None) -> None:
        if not came and started:
            started[0].send_signal(number)
        came.append(number)

    before = {number: signal.signal(number, pass_on) for number in _PASSED_ON}
    try:
        started.append(
            subprocess.Popen(firth(*arguments), stdin=subprocess.DEVNULL, process_group=0)
        )
        status = started[0].wait()
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)
    if came:
        raise KeyboardInterrupt
    return status


def _shown(argument: str) -> str:
    """An argument as a person types it."""
    return shlex.quote(argument) if argument.isprintable() else typed(argument)
