"""Short names of runs and sets, for tables, pictures and sentences."""

from collections.abc import Sequence
from pathlib import Path

LONGEST = 16  # characters of a name in a table


def short_names(runs: Sequence[str], longest: int = LONGEST) -> dict[str, str]:
    """Return distinct short names of runs for tables and pictures."""
    last = {run: Path(run).name or run for run in runs}
    names = last if len(set(last.values())) == len(runs) else {run: run for run in runs}
    cut = {
        run: name if len(name) <= longest else f"…{name[1 - longest :]}"
        for run, name in names.items()
    }
    if len(set(cut.values())) == len(runs):
        return cut
    return {
        run: f"{number}: {cut_name(names[run], longest - 4)}" for number, run in enumerate(runs, 1)
    }


def cut_name(name: str, longest: int) -> str:
    """Truncate a name with an ellipsis."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"
