"""The table of how words changed, which ``firth change`` writes beside the vectors."""

import csv
from pathlib import Path

from firth.corpora.common.errors import ArtifactError

CHANGE = "change.tsv"
COUNT = "count@"  # before the name of a period


def read_changes(run: Path) -> dict[str, tuple[float, list[int]]] | None:
    """Return the distance of each word, and its counts by period; None if there is no table."""
    file = run / CHANGE
    if not file.is_file():
        return None
    try:
        with open(file, encoding="utf-8", newline="") as lines:
            rows = list(csv.DictReader(lines, delimiter="\t", quoting=csv.QUOTE_NONE))
        return {
            row["word"]: (
                float(row["distance"]),
                [int(cell) for name, cell in row.items() if name.startswith(COUNT)],
            )
            for row in rows
        }
    except (ValueError, KeyError, AttributeError, TypeError):
        raise ArtifactError(f"{file}: is damaged; make the run again") from None
