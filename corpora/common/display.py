"""Tables for notebooks: HTML and pandas."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from firth.corpora.common.errors import FirthError, imported

_STYLE = "text-align: right"
_SHOWN = 20  # rows of a table in a notebook


class Table:
    """A result that notebooks show as a table, and :meth:`to_pandas` returns as a data frame."""

    _listed: Sequence[str] = ()  # attributes with the rows, named tuples and dataclasses
    _columns: Sequence[str] | None = None  # of a table without rows
    _right: Sequence[str] = ()  # columns of text that end at the word that was found

    def _records(self) -> list[dict[str, Any]]:
        """Return the rows by column; those of a list are its items."""
        parts: Any = [getattr(self, name) for name in self._listed] or [self]
        return [record_of(row) for part in parts for row in part]

    def to_pandas(self) -> Any:
        """Return a pandas.DataFrame of all rows."""
        records = self._records()
        return data_frame(records, columns=None if records else self._columns)

    def __repr__(self) -> str:
        return f"<{type(self).__name__}: {len(self._records()):,} rows>"

    def _repr_html_(self) -> str:
        """Return the table that notebooks show: the first rows."""
        records = self._records()
        columns = list(records[0]) if records else []
        rows = [list(record.values()) for record in records[:_SHOWN]]
        rest = len(records) - _SHOWN
        more = [f"and {rest:,} more rows, which to_pandas() has"] if rest > 0 else []
        caption = "" if isinstance(self, list | dict) else repr(self).strip("<>")
        return html_table(columns, rows, caption, more, self._right)


class TableList(Table, list[Any]):
    """A list of named tuples or dataclasses, shown as a table."""

    __repr__ = list.__repr__


def record_of(row: Any) -> dict[str, Any]:
    """Return a named tuple or dataclass as a dictionary, its fields as they are."""
    return dict(row._asdict() if hasattr(row, "_asdict") else vars(row))


def html_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    caption: str = "",
    legend: Iterable[str] = (),
    right: Sequence[str] = (),
) -> str:
    """Return an HTML table, with lines below it, all escaped; numbers and ``right`` align right."""
    parts = ["<table>"]
    if caption:
        parts.append(f"<caption>{escape(caption)}</caption>")
    if any(columns):
        parts.append(f"<tr>{''.join(f'<th>{escape(column)}</th>' for column in columns)}</tr>")
    marks = [column in right for column in columns]
    parts += [f"<tr>{''.join(map(_cell, row, marks))}</tr>" for row in rows]
    return "\n".join([*parts, "</table>", *(f"<p>{escape(line)}</p>" for line in legend)])


def _cell(value: object, right: bool) -> str:
    """Return one table cell."""
    is_number = isinstance(value, int | float) and not isinstance(value, bool)
    style = f' style="{_STYLE}"' if is_number or right else ""
    return f"<td{style}>{escape(_text(value))}</td>"


def _text(value: object) -> str:
    """Return what a cell says; lists as their items."""
    if value is None or isinstance(value, str):
        return value or ""
    if isinstance(value, list | tuple):
        nested = any(isinstance(each, list | tuple) for each in value)
        return (" | " if nested else ", ").join(map(_text, value))
    if isinstance(value, float):
        return f"{value:.4f}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def data_frame(data: Any, **options: Any) -> Any:
    """Return a pandas.DataFrame; raise FirthError if pandas is not installed."""
    missing = FirthError("to_pandas() needs the package pandas; pip install pandas")
    return imported("pandas", missing).DataFrame(data, **options)
