"""Write results as CSV, for spreadsheets and data frames."""

import csv
import json
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, TextIO

COLUMNS = (
    "run", "task", "dataset", "section", "metric", "score", "low", "high", "items_used",
    "items_total", "unknown", "shared_items", "seeds", "deviation", "items_known", "items_composed",
    "items_zero", "reason", "remark",
)  # fmt: skip


def write_csv(
    results: Iterable[Mapping[str, Any]], file: TextIO, columns: Sequence[str] = COLUMNS
) -> None:
    """Write results as CSV with numbers in full precision."""
    rows = list(results)
    names = list(dict.fromkeys([*columns, *(name for row in rows for name in row)]))
    writer = csv.writer(file, lineterminator="\n")
    writer.writerow(names)
    writer.writerows([_cell(row.get(name)) for name in names] for row in rows)


def _cell(value: Any) -> Any:
    """Format booleans and mappings as in JSON; the csv module writes floats in full."""
    if isinstance(value, Mapping):
        return json.dumps(value, ensure_ascii=False)
    return str(value).lower() if isinstance(value, bool) else value
