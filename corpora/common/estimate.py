"""What a step will take, reckoned from a sample: its size, how it is printed, and its options."""

import datetime
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from firth.corpora.common.console import duration, human, print_json, print_table


@dataclass(frozen=True, kw_only=True)
class Estimate:
    """Disk, memory and time of a step, with what they are reckoned from."""

    disk: int  # bytes of the finished artifact
    memory: int  # peak of anonymous bytes, of all processes together
    seconds: float  # of one run
    reckoned_from: str  # what was read or timed
    runs: int | None = None  # one after the other, that differ in their seeds
    temporary: int = 0  # bytes on disk while it works, besides ``disk``
    sizes: Mapping[str, Any] = field(default_factory=dict)  # of the text and the work

    @property
    def end(self) -> str:
        """The local time at which the step would end if it began now."""
        seconds = datetime.timedelta(seconds=self.seconds * (self.runs or 1))
        return (datetime.datetime.now().astimezone() + seconds).isoformat(timespec="seconds")

    def of_runs(self, runs: int | None) -> "Estimate":
        """Return the cost of several runs."""
        return replace(self, runs=runs)

    def to_json(self) -> dict[str, Any]:
        """Return all entries and sizes in one object."""
        n_runs = self.runs or 1
        total = {"runs": n_runs, "total_seconds": round(n_runs * self.seconds, 1)}
        return {
            "disk": n_runs * self.disk,
            "temporary": self.temporary,
            "memory": self.memory,
            "seconds": round(self.seconds, 3),
            **({} if self.runs is None else total),
            "end": self.end,
            **self.sizes,
            "reckoned_from": self.reckoned_from,
        }


def print_estimate(estimate: Estimate, *, as_json: bool) -> None:
    """Print an estimate as a table with its reasons below, or as JSON."""
    if as_json:
        print_json(estimate.to_json())
        return
    values = estimate.to_json()
    reason = values.pop("reckoned_from")
    print_table(["", "planned"], [[name, _shown(name, value)] for name, value in values.items()])
    print(f"reckoned from {reason}")


def _shown(name: str, value: Any) -> str:
    """Format a value: bytes and seconds with their units, counts in full, ratios with 3 digits."""
    if name in ("disk", "temporary", "memory"):
        return f"{human(value)}B"
    if "seconds" in name.split("_"):
        return f"{value:,.0f} ({duration(value)})"
    if isinstance(value, int) and not isinstance(value, bool):
        return f"{value:,}"
    return human(value) if isinstance(value, float) else str(value)


def dry_run_options(command: Callable[..., Any]) -> Callable[..., Any]:
    """Add ``--dry-run`` and ``--json`` to a command that makes an artifact."""
    from firth.corpora.common.command import OUTPUT, option

    about: dict[str, Any] = {"is_flag": True, "group": OUTPUT}
    as_json = option(
        "--json",
        "as_json",
        needs="--dry-run",
        help="Print the --dry-run as JSON.",
        rare=True,
        **about,
    )
    what = "Show disk, memory and time, reckoned from a sample; write nothing."
    return option("--dry-run", help=what, **about)(as_json(command))


def require_out(out: Path | None, dry_run: bool) -> None:
    """Raise a usage error without ``--out``, unless it is a dry run."""
    import click

    if out is None and not dry_run:
        raise click.UsageError("Missing option '--out'.")


def extrapolated(sizes: Sequence[float], values: Sequence[float], at: float) -> float:
    """Extrapolate a growth that slows down, as a parabola through the logarithms does.

    Its slope goes on falling as it does from point to point, down to 0. Between the points the
    growth is that of a power.
    """
    import numpy as np

    x, y = np.log(np.asarray(sizes, float)), np.log(np.asarray(values, float))
    steps = math.log(at) - x[-1]
    if steps <= 0 or len(x) < 2:
        return float(np.exp(np.interp(math.log(at), x, y)))
    slopes, middles = np.diff(y) / np.diff(x), (x[1:] + x[:-1]) / 2
    bend = min(0.0, float(np.polyfit(middles, slopes, 1)[0])) if len(slopes) > 1 else 0.0
    last = max(0.0, float(slopes[-1] + bend * (x[-1] - middles[-1])))
    steps = min(steps, -last / bend) if bend else steps  # where it has stopped growing
    return float(np.exp(y[-1] + last * steps + bend * steps**2 / 2))
