"""Results as CSV, for spreadsheets and data frames."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

COLUMNS = (
    "run",
    "task",
    "dataset",
    "section",
    "metric",
    "score",
    "low",
    "high",
    "items_used",
    "items_total",
    "unknown",
    "shared_items",
    "seeds",
    "deviation",
    "items_known",
    "items_composed",
    "items_zero",
    "reason",
    "remark",
)


def write_csv(
    results: Iterable[Mapping[str, Any]], file: TextIO, columns: Sequence[str] = COLUMNS
) -> None:
    """Write results as RFC 4180 has it, numbers in full precision.

    Parameters
    ----------
    results : iterable of mapping
        Such as ``results`` of :func:`~embed.compare.report.table.to_json`.
    file : text file
        Opened with ``newline=""``, so that lines end in CR LF.
    columns : sequence of str
        The first line, whether results have them or not, so that every
        comparison has the same columns. What results have beside them follows
        in the order of its appearance.

    Examples
    --------
    >>> import io
    >>> file = io.StringIO()
    >>> write_csv([{"run": "a", "score": None, "shared_items": True}], file, ["run", "score"])
    >>> file.getvalue().split()
    ['run,score,shared_items', 'a,,true']
    """
    rows = list(results)
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    writer = csv.writer(file)
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)


def _cell(value: Any) -> Any:
    """A value as JSON has it, nothing where there is none; csv writes floats in full."""
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value
