"""What every command prints with: progress with rate and ETA, tables, JSON, notes."""

import contextlib
import json
import os
import shlex
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any, Protocol

from corpora.common.options import as_command_line

_QUIET_SECONDS = 2.0
_LINE_SECONDS = 10.0
_SILENT_SECONDS = 3.0
_LEAST_BAR, _BAR_WIDTH = 8, 24


class Progress(Protocol):
    """How a library function tells how far it is."""

    def __call__(self, done: float, total: float | None = None, detail: str = "") -> None:
        """Tell that ``done`` of ``total`` units are behind us, and how it goes."""


def no_progress(done: float, total: float | None = None, detail: str = "") -> None:
    """Tell nobody."""


@contextlib.contextmanager
def progress(label: str, unit: str, *, silent_seconds: float | None = None) -> Iterator[Progress]:
    """Show progress on standard error: a live bar on a terminal, plain lines elsewhere.

    Nothing is shown for work that ends within two seconds. The rate counts from the
    first call that tells of work done, so that compiling kernels does not slow it.
    """
    started = time.monotonic()
    last = started
    first: tuple[float, float] | None = None
    live = sys.stderr is not None and sys.stderr.isatty()
    write = _live_line if live else progress_line

    def show(done: float, total: float | None = None, detail: str = "") -> None:
        nonlocal first, last
        now = time.monotonic()
        first = first or (now, done)
        wait = 0.2 if live else _LINE_SECONDS
        if now - started < _QUIET_SECONDS or now - last < wait:
            return
        last = now
        line = write(label, unit, done, total, _rate(first, (now, done), started), detail)
        _tell(f"\r\x1b[2K{line}" if live else f"{line}\n")

    patience = _SILENT_SECONDS if silent_seconds is None else silent_seconds
    waiting = threading.Timer(patience, _tell_waiting, (label, live, lambda: first))
    waiting.daemon = True
    waiting.start()
    try:
        yield show
    finally:
        waiting.cancel()
        if live and time.monotonic() - started > _QUIET_SECONDS:
            _tell("\r\x1b[2K")


def _rate(first: tuple[float, float], latest: tuple[float, float], started: float) -> float:
    """Units a second since the first call, or, before the second, since the start."""
    seconds, units = latest[0] - first[0], latest[1] - first[1]
    if seconds <= 0 or units <= 0:
        seconds, units = latest[0] - started, latest[1]
    return units / seconds if seconds > 0 else 0.0


def _tell_waiting(label: str, live: bool, begun: Callable[[], object]) -> None:
    """Say why nothing has happened yet: only a first run on a machine takes so long."""
    if begun() is None:
        line = f"{label:<10} ... (a first run compiles its kernels, some seconds)"
        _tell(f"\r\x1b[2K{line}" if live else f"{line}\n")


def progress_line(
    label: str, unit: str, done: float, total: float | None, rate: float, detail: str = ""
) -> str:
    """Write one line of progress."""
    share = f"{min(1.0, done / total):5.0%}  " if total else ""
    parts = [f"{human(done)} {unit}", f"{human(rate)}/s", detail, _time_left(done, total, rate)]
    return f"{label:<10} {share}{'  '.join(part for part in parts if part)}"


def _live_line(
    label: str, unit: str, done: float, total: float | None, rate: float, detail: str
) -> str:
    """The same with a bar, where the terminal has room for one; never wider than it."""
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn
    from rich.table import Column

    console = Console(file=sys.stderr, highlight=False)
    plain = progress_line(label, unit, done, total, rate, detail)
    if len(plain) + _LEAST_BAR > console.width:
        return plain[: console.width]
    share = f"{min(1.0, done / total):.0%}" if total else ""
    texts = [f"{human(done)} {unit}", f"{human(rate)}/s", detail, _time_left(done, total, rate)]
    bar = Progress(
        *_text_columns(TextColumn, [f"{label:<10}", f"{share:>4}"]),
        BarColumn(bar_width=None, table_column=Column(max_width=_BAR_WIDTH)),
        *_text_columns(TextColumn, texts),
        console=console,
        auto_refresh=False,
    )
    bar.add_task(label, total=total, completed=int(done))
    # rendered only: rich's live display has a thread, and hides the cursor, which a killed process
    # cannot show again
    with console.capture() as rendered:
        console.print(bar, end="")
    return rendered.get().rstrip("\n")


def _text_columns(column: Any, texts: Sequence[str]) -> list[Any]:
    """Columns that hold just these texts, whatever characters are in them."""
    return [
        column(text.replace("{", "{{").replace("}", "}}"), markup=False) for text in texts if text
    ]


def _time_left(done: float, total: float | None, rate: float) -> str:
    """``ETA 0:01``, or nothing where that is unknown."""
    left = max(0.0, (total or 0.0) - done)  # a budget of minutes is overrun by a step
    return f"ETA {_clock(left / rate)}" if total and rate else ""


def human(number: float) -> str:
    """Write a number in three figures with its magnitude."""
    for limit, suffix in ((1e12, "T"), (1e9, "G"), (1e6, "M"), (1e3, "k")):
        if number >= 0.9995 * limit:  # from there on three figures round up to the limit
            return f"{number / limit:.3g}{suffix}"
    return f"{number:.3g}"


def print_json(value: Any) -> None:
    """Print a value for programs: UTF-8, unescaped."""
    print(json.dumps(value, ensure_ascii=False, indent=1, allow_nan=False))


def print_table(columns: Sequence[str], rows: Sequence[Sequence[object]], title: str = "") -> None:
    """Print a table for eyes; numbers align right."""
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


def padded(text: str, columns: int) -> str:
    """Fill a text up to some columns of a terminal, of which wide characters take two."""
    from rich.cells import cell_len

    return text + " " * max(0, columns - cell_len(text))


def typed(path: str | Path) -> str:
    """Write a path as a person types it in a command, whatever is in it."""
    text = no_option(str(path))
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped, text))}'"


def no_option(path: str) -> str:
    """Write a path so that no command takes it for an option."""
    return f"./{path}" if path.startswith("-") else path


def _escaped(character: str) -> str:
    """One character within ``$'...'``."""
    if character in "'\\":
        return f"\\{character}"
    if character.isprintable():
        return character
    return "".join(f"\\x{byte:02x}" for byte in os.fsencode(character))


def note(message: str) -> None:
    """Tell the person something on standard error, beside the result."""
    _tell(as_command_line(message) + "\n")


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
