"""What every command prints with: progress with rate and ETA, tables, JSON, notes."""

import contextlib
import json
import sys
import time
from collections.abc import Iterator, Sequence
from typing import Any, Protocol

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 10.0


class Progress(Protocol):
    """How a library function tells how far it is."""

    def __call__(self, done: float, total: float | None = None) -> None:
        """Tell that ``done`` of ``total`` units are behind us."""


def no_progress(done: float, total: float | None = None) -> None:
    """Tell nobody.

    Parameters
    ----------
    done, total : float
        Units behind us, and in all.
    """


@contextlib.contextmanager
def progress(label: str, unit: str) -> Iterator[Progress]:
    """Show progress on standard error: a live bar on a terminal, plain lines elsewhere.

    Nothing is shown for work that ends within two seconds.

    Parameters
    ----------
    label : str
        What is being done, such as ``counting``.
    unit : str
        What is counted, such as ``tokens``.

    Yields
    ------
    Progress
        To be called with the units done and, where known, in all.
    """
    started = time.monotonic()
    last = started
    live = sys.stderr is not None and sys.stderr.isatty()

    def show(done: float, total: float | None = None) -> None:
        nonlocal last
        now = time.monotonic()
        wait = 0.2 if live else _LINE_SECONDS
        if now - started < _QUIET_SECONDS or now - last < wait:
            return
        last = now
        line = progress_line(label, unit, done, total, now - started)
        _tell(f"\r\x1b[2K{line}" if live else f"{line}\n")

    try:
        yield show
    finally:
        if live and last > started:
            _tell("\r\x1b[2K")


def progress_line(label: str, unit: str, done: float, total: float | None, seconds: float) -> str:
    """Write one line of progress.

    Parameters
    ----------
    label, unit : str
        What is done, and what is counted.
    done, total : float
        Units behind us, and in all (None where unknown).
    seconds : float
        Time since the start.

    Returns
    -------
    str
        Such as ``counting     40%  8.1M tokens  9.2M/s  ETA 0:01``.
    """
    rate = done / seconds if seconds > 0 else 0.0
    share = f"{done / total:5.0%}  " if total else ""
    left = f"  ETA {_clock((total - done) / rate)}" if total and rate else ""
    return f"{label:<10} {share}{human(done)} {unit}  {human(rate)}/s{left}"


def human(number: float) -> str:
    """Write a number in three figures with its magnitude.

    Parameters
    ----------
    number : float
        At least 0.

    Returns
    -------
    str
        ``999``, ``1.23k``, ``16.3M``, ``2.1G``.
    """
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * limit:  # from there on three figures round up to the limit
            return f"{number / limit:.3g}{suffix}"
    return f"{number:.3g}"


def print_json(value: Any) -> None:
    """Print a value for programs: UTF-8, unescaped.

    Parameters
    ----------
    value : JSON value
        What to print; NaN is refused, since it is no JSON.
    """
    print(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print a table for eyes; numbers align right.

    Parameters
    ----------
    columns : sequence of str
        The headings.
    rows : sequence of sequences
        One entry per column; anything that is no string is aligned right.
    title : str
        A line above the table.
    """
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    table = Table(title=title or None, box=SIMPLE_HEAD, title_justify="left", pad_edge=False)
    for index, column in enumerate(columns):
        numbers = bool(rows) and not isinstance(rows[0][index], str)
        table.add_column(column, justify="right" if numbers else "left", overflow="fold")
    for row in rows:
        table.add_row(*(Text(str(entry)) for entry in row))  # Text: words are no markup
    width = None if sys.stdout.isatty() else 100
    Console(width=width, highlight=False).print(table)


def note(message: str) -> None:
    """Tell the person something on standard error, beside the result.

    Parameters
    ----------
    message : str
        One line.
    """
    _tell(message + "\n")


def _tell(text: str) -> None:
    """Write to standard error, which a person may have closed."""
    if sys.stderr is not None:
        sys.stderr.write(text)
        sys.stderr.flush()


def _clock(seconds: float) -> str:
    """Seconds as h:mm:ss or m:ss."""
    minutes, rest = divmod(round(seconds), 60)
    hours, minutes = divmod(minutes, 60)
    return f"{hours}:{minutes:02}:{rest:02}" if hours else f"{minutes}:{rest:02}"
