"""Tables for notebooks: HTML and pandas."""

from collections.abc import Iterable, Sequence
from html import escape
from typing import Any

from firth.corpora.common.errors import FirthError, imported

_STYLE = "text-align: right"


def html_table(
    columns: Sequence[str],
    rows: Sequence[Sequence[object]],
    caption: str = "",
    legend: Iterable[str] = (),
) -> str:
    """Return an HTML table, with lines below it, all escaped; floats have four digits."""
    parts = ["<table>"]
    if caption:
        parts.append(f"<caption>{escape(caption)}</caption>")
    if any(columns):
        parts.append(f"<tr>{''.join(f'<th>{escape(column)}</th>' for column in columns)}</tr>")
    parts += [f"<tr>{''.join(map(_cell, row))}</tr>" for row in rows]
    return "\n".join([*parts, "</table>", *(f"<p>{escape(line)}</p>" for line in legend)])


def _cell(value: object) -> str:
    """Return one table cell; numbers align right."""
    if isinstance(value, str) or value is None:
        return f"<td>{escape(value or '')}</td>"
    text = f"{value:.4f}" if isinstance(value, float) else f"{value:,}"
    return f'<td style="{_STYLE}">{text}</td>'


def data_frame(data: Any, **options: Any) -> Any:
    """Return a pandas.DataFrame; raise FirthError if pandas is not installed."""
    missing = FirthError("to_pandas() needs the package pandas; pip install pandas")
    return imported("pandas", missing).DataFrame(data, **options)
