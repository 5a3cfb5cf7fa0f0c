"""The table of how words changed, which ``firth change`` writes beside the vectors."""

import contextlib
import csv
from collections.abc import Iterator
from pathlib import Path

from firth.corpora.common.errors import ArtifactError
from firth.embed.vectors.wordlist import unescape

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
    with damage_named(file):
        columns = read_columns(file)
        counts = [columns[name] for name in columns if name.startswith(COUNT)]
        pairs = columns.get(PAIRS)
        return {
            word: (
                float(columns["distance"][row]),
                [int(cells[row]) for cells in counts],
                None if pairs is None else float(pairs[row]),
            )
            for row, word in enumerate(columns["word"])
        }


def read_columns(file: Path) -> dict[str, list[str]]:
    """Return the cells of each column of a table by its name."""
    with open(file, encoding="utf-8", newline="") as lines:
        header, *rows = csv.reader(lines, delimiter="\t", quoting=csv.QUOTE_NONE)
    cells = zip(*rows, strict=True) if rows else [()] * len(header)
    columns = {name: list(each) for name, each in zip(header, cells, strict=True)}
    return columns | {"word": [unescape(word) for word in columns["word"]]}


@contextlib.contextmanager
def damage_named(file: Path) -> Iterator[None]:
    """Raise ArtifactError with the name of a table if what is read of it fails."""
    try:
        yield
    except (ValueError, KeyError):
        raise ArtifactError(f"{file}: is damaged; make the run again") from None
