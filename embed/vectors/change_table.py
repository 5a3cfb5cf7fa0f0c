"""The table of how words changed, which ``firth change`` writes beside the vectors."""

import csv
from pathlib import Path

from firth.corpora.common.errors import ArtifactError

CHANGE = "change.tsv"
COUNT = "count@"  # before the name of a period
PAIRS = "pairs"
# distance, tokens in each period, and the mean distance of occurrences (contextual)
WordChange = tuple[float, list[int], float | None]


def read_changes(run: Path) -> dict[str, WordChange] | None:
    """Return the change of each word; None if there is no table."""
    file = run / CHANGE
    if not file.is_file():
        return None
    try:
        with open(file, encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        return {row["word"]: _read_row(row) for row in rows}
    except (ValueError, KeyError, AttributeError, TypeError):
        raise ArtifactError(f"{file}: is damaged; make the run again") from None


def _read_row(row: dict[str, str]) -> WordChange:
    distance, pairs = (row.get(name) for name in ("distance", PAIRS))
    counts = [int(cell) for name, cell in row.items() if name.startswith(COUNT)]
    return float(distance or ""), counts, None if pairs is None else float(pairs)
