"""Output to the terminal: progress with rate and ETA, notes, tables, JSON."""

import contextlib
import csv
import io
import json
import os
import re
import shlex
import shutil
import sys
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

from firth.corpora.common.options import as_command_line
from firth.corpora.common.reporting import Progress, SilentReporter, install
from firth.corpora.common.system import WINDOWS, system
from firth.corpora.common.urls import public

_QUIET_SECONDS = 2.0
_LINE_SECONDS, _CELL_SECONDS = 10.0, 1.0  # between lines of a file, and updates of a notebook
_COLUMNS = 100  # of tables on a narrow terminal; more than a line of progress has
_SILENT_SECONDS = 3.0
_UNFOLDED = 10_000  # columns of a table that is written to a file or pipe
_LEAST_BAR, _BAR_WIDTH = 8, 24
_CLEARED = "\r\x1b[2K"
_NUMBERS = re.compile(r"\[(.*?)\|(.*?)\]")  # singular and plural
# What a terminal would obey: control characters but tab and line end, and overrides of direction.
# Bold, italic and their end, which tables and marked words have, are let through.
_CONTROL = re.compile(r"(\x1b\[[013]m)|[\x00-\x08\x0b-\x1f\x7f-\x9f\u202d\u202e]")


class TerminalReporter:
    """Writes progress and notes to standard error."""

    def __init__(self, *, as_options: bool = False) -> None:
        self._as_options = as_options  # write settings in notes as command-line options

    def note(self, message: str) -> None:
        """Write a message."""
        _write((as_command_line(message) if self._as_options else message) + "\n")

    @contextlib.contextmanager
    def progress(self, label: str, unit: str) -> Iterator[Progress]:
        """Show progress: a live bar on a terminal, one line in a notebook, plain lines elsewhere.

        Nothing is shown for work that ends within two seconds. The rate counts from the first
        call that reports work done, so that compiling kernels does not lower it; a long silence
        before that is explained.
        """
        started = time.monotonic()
        last = started
        first: tuple[float, float] | None = None
        terminal = sys.stderr is not None and sys.stderr.isatty()
        live = terminal or in_notebook()
        line_of = _live_line if terminal else progress_line

        def show(done: float, total: float | None = None, detail: str = "") -> None:
            nonlocal first, last
            now = time.monotonic()
            first = first or (now, done)
            wait = 0.2 if terminal else _CELL_SECONDS if live else _LINE_SECONDS
            if now - started < _QUIET_SECONDS or now - last < wait:
                return
            last = now
            line = line_of(label, unit, done, total, _rate(first, (now, done)), detail)
            _write(line if live else f"{line}\n", clear=live)

        waiting = threading.Timer(_SILENT_SECONDS, _write_waiting, (label, live, lambda: first))
        waiting.daemon = True
        waiting.start()
        try:
            yield show
        finally:
            waiting.cancel()
            if live and time.monotonic() - started > _QUIET_SECONDS:
                _write("", clear=True)


class show_progress:  # noqa: N801 - called like a function, and used as a context manager
    """Show progress and notes of long operations on standard error, as the commands do.

    Called alone, it takes effect for the rest of the process; in a ``with`` statement, for the
    block. Without it the packages print nothing.

    Parameters
    ----------
    shown : bool
        False to be silent again.

    Examples
    --------
    >>> with show_progress():
    ...     pass  # firth.train_svd(...) would show how far it is
    """

    def __init__(self, shown: bool = True) -> None:
        self._before = install(TerminalReporter() if shown else SilentReporter())

    def __enter__(self) -> None:
        return None

    def __exit__(self, *error: object) -> None:
        install(self._before)

    def __repr__(self) -> str:
        return "<progress is shown on standard error>"


def _rate(first: tuple[float, float], latest: tuple[float, float]) -> float:
    """Return units per second since the first call; 0 if unknown."""
    seconds, units = latest[0] - first[0], latest[1] - first[1]
    return units / seconds if seconds > 0 else 0.0


def _write_waiting(label: str, live: bool, begun: Callable[[], object]) -> None:
    """Write a note that kernels are being compiled, which only the first run on a machine does."""
    if begun() is None:
        line = f"{label:<10} ... (the first run compiles kernels, which takes some seconds)"
        _write(line if live else f"{line}\n", clear=live)


def in_notebook() -> bool:
    """Return whether a notebook shows standard error: not a terminal, but it can rewrite lines."""
    return type(sys.stderr).__module__.partition(".")[0] == "ipykernel"


def progress_line(
    label: str, unit: str, done: float, total: float | None, rate: float, detail: str = ""
) -> str:
    """Format one line of progress."""
    share = f"{min(1.0, done / total):5.0%}  " if total else ""
    speed = f"{human(rate)}/s" if rate > 0 else ""
    parts = [f"{human(done)} {unit}", speed, detail, _time_left(done, total, rate)]
    return f"{label:<10} {share}{'  '.join(part for part in parts if part)}"


def _live_line(
    label: str, unit: str, done: float, total: float | None, rate: float, detail: str
) -> str:
    """Format one line of progress with a bar, if the terminal is wide enough for one."""
    columns = _columns()
    line = progress_line(label, unit, done, total, rate, detail)
    width = min(_BAR_WIDTH, columns - len(line) - 2)
    if not total or width < _LEAST_BAR:
        return line[:columns]
    bar = "━" * round(width * min(1.0, done / total))
    before, share, after = line.partition("%  ")
    return f"{before}{share}{bar:<{width}}  {after}"


def _columns() -> int:
    """Return the width of the terminal, of which standard output need not be a part."""
    try:
        terminal = os.get_terminal_size(2)
    except OSError:
        return shutil.get_terminal_size().columns
    return shutil.get_terminal_size(terminal).columns


def _time_left(done: float, total: float | None, rate: float) -> str:
    """Return ``ETA 0:01``, or an empty string if it is unknown."""
    left = max(0.0, (total or 0.0) - done)  # the last step may overrun a budget of minutes
    return f"ETA {_clock(left / rate)}" if total and rate > 0 else ""


def human(number: float) -> str:
    """Format a number with three significant digits and a suffix such as k or M."""
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * limit:  # from there on three figures round up to the limit
            return f"{number / limit:.3g}{suffix}"
    return f"{number:.3g}"


def counted(number: int, words: str) -> str:
    """Write a number with its noun, or with words such as ``edge[|s] [was|were] left out``."""
    words = words if "[" in words else f"{words}[|s]"
    return f"{number:,} " + _NUMBERS.sub(r"\1" if number == 1 else r"\2", words)


def bare(number: float) -> str:
    """Format a number in three decimals without a zero before the point, such as -.512."""
    return re.sub(r"^(-?)0\.", r"\1.", f"{number:.3f}")


def duration(seconds: float) -> str:
    """Format seconds with two digits, from a minute on as minutes or hours, such as 1:05 min."""
    if seconds < 59.5:
        return f"{seconds:.2g} s"
    return f"{_clock(seconds)} {'h' if round(seconds) >= 3600 else 'min'}"


def print_error(message: str) -> None:
    """Write an error of one line."""
    _write(f"Error: {message}\n")


def print_json(value: Any) -> None:
    """Print a value as JSON, in UTF-8 without escapes."""
    print(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print a table; numbers align right. Outside a terminal no line is folded."""
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, column in enumerate(columns):
        numbers = bool(rows) and not isinstance(rows[0][index], str)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(entry)) for entry in row))  # Text: no markup in words
    width = None if sys.stdout.isatty() else _UNFOLDED
    Console(width=width, highlight=False).print(table)


def name_room(characters: int) -> int:
    """Return the longest name to show in a table of 100 columns with ``characters`` of it."""
    if not sys.stdout.isatty():
        return _UNFOLDED
    return characters + max(0, shutil.get_terminal_size().columns - _COLUMNS) // 2


def padded(text: str, columns: int) -> str:
    """Pad a text to a number of terminal columns; wide characters take two."""
    from rich.cells import cell_len

    return text + " " * max(0, columns - cell_len(text))


def fitted(text: str, columns: int, *, end: bool = False) -> str:
    """Cut a text to a number of terminal columns; with ``end`` keep its end, aligned right."""
    from rich.cells import cell_len, set_cell_size

    if not end:
        return text if cell_len(text) <= columns else set_cell_size(text, columns - 1) + "…"
    text = text[-columns:]
    while cell_len(text) > columns:
        text = text[1:]
    return " " * (columns - cell_len(text)) + text


def print_csv(columns: Sequence[str], rows: Iterable[Sequence[object]]) -> None:
    """Print a table as CSV, with a line of column names."""
    writer = csv.writer(sys.stdout, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(rows)


def shell_quoted(path: str | Path) -> str:
    """Quote a path for the shell; any character is allowed, but secrets of a URL are left out."""
    text = public(str(path))
    text = f"./{text}" if text.startswith("-") else text  # "-x" looks like an option
    if system() == WINDOWS:
        from subprocess import list2cmdline

        return list2cmdline([text])
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def _escaped(character: str) -> str:
    """Escape one character for ``$'...'``."""
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


class Terminal(io.TextIOWrapper):
    """Writes text to a terminal, which obeys no control sequence of a word, title or file name."""

    @classmethod
    def of(cls, stream: io.TextIOWrapper) -> "Terminal":
        """Take over a stream to a terminal."""
        return cls(stream.detach(), stream.encoding, stream.errors, line_buffering=True)

    def write(self, text: str) -> int:
        """Write a text with its control characters as Python writes them, such as ``\\x1b``."""
        return super().write(_CONTROL.sub(lambda c: c[1] or ascii(c[0])[1:-1], text))

    def clear_line(self) -> None:
        """Remove the line that is being written."""
        super().write(_CLEARED)


class _Held(io.StringIO):
    """Standard error while its messages are held."""


def hold_messages() -> None:
    """Hold what is written to standard error until it is released."""
    sys.stderr = _Held()


def release_messages(*, wait: float | None = None) -> None:
    """Write to standard error again if its messages are held; after ``wait`` seconds those, too."""
    if isinstance(sys.stderr, _Held):
        held, sys.stderr = sys.stderr.getvalue(), sys.__stderr__
        if wait is not None:
            time.sleep(wait)
            _write(held)


def _write(text: str, *, clear: bool = False) -> None:
    """Write to standard error, unless it is closed; ``clear`` what its line has."""
    if sys.stderr is not None:
        if clear and isinstance(sys.stderr, Terminal):
            sys.stderr.clear_line()
        elif clear:  # a notebook has no sequence for it
            sys.stderr.write(f"\r{' ' * _COLUMNS}\r" if in_notebook() else _CLEARED)
        sys.stderr.write(text)
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    """Format seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
