"""The steps of a study: commands, each a process of its own, so that memory is given back."""

import shlex
import signal
import subprocess
import sys
import threading
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import corpora
from corpora.common.console import no_option, typed

_CLI = Path(corpora.__file__).parent.parent / "cli.py"  # what "firth" runs
_ENDING = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
_FROM_A_PROCESS = 0  # si_code SI_USER: kill(); a terminal's Ctrl-C comes from the kernel
_LOOK_SECONDS = 1.0


@dataclass(frozen=True)
class Step:
    """A command of a study.

    Attributes
    ----------
    command : str
        Such as ``train-svd``.
    reads : tuple of str
        What it reads: names of files, folders or samples, which stand first.
    options : tuple of str
        What follows, ``--out`` and ``--force`` apart.
    out : Path or None
        What it makes.
    """

    command: str
    reads: tuple[str, ...]
    options: tuple[str, ...] = ()
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
        out = [] if self.out is None else ["--out", no_option(str(self.out))]
        forced = ["--force"] if force else []
        return [self.command, *map(no_option, self.reads), *self.options, *out, *forced]


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


def run(arguments: Sequence[str], held: int | None = None) -> int:
    """Run a command of this program, and show it as it is typed.

    What should end us is waited with until the command has ended, which saves what it has. A
    terminal tells both of a Ctrl-C; what a process sends to us alone is passed on.

    Parameters
    ----------
    arguments : sequence of str
        Of ``firth``.
    held : int, optional
        A file descriptor that the command holds open for as long as it lives.

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
    process = subprocess.Popen(
        firth(*arguments), stdin=subprocess.DEVNULL, pass_fds=() if held is None else (held,)
    )
    if threading.current_thread() is not threading.main_thread():
        return process.wait()  # no signal comes to other threads
    watched = {each for each in _ENDING if signal.getsignal(each) is not signal.SIG_IGN}
    came = False
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {*watched, signal.SIGCHLD})
    try:
        while process.poll() is None:
            told = signal.sigtimedwait({*watched, signal.SIGCHLD}, _LOOK_SECONDS)
            if told is None or told.si_signo == signal.SIGCHLD:
                continue
            came = True
            if told.si_code == _FROM_A_PROCESS:
                process.send_signal(told.si_signo)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
    if came:
        raise KeyboardInterrupt
    return process.returncode


def ended(status: int) -> str:
    """Say how a command ended that did not do what it should.

    Parameters
    ----------
    status : int
        Of :func:`run`.

    Returns
    -------
    str
        For a message.
    """
    return "failed, see above" if status >= 0 else f"was ended by {signal.Signals(-status).name}"


def _shown(argument: str) -> str:
    """An argument as a person types it."""
    return shlex.quote(argument) if argument.isprintable() else typed(argument)
