"""``metrics.jsonl``: training metrics, one JSON object per line; held-out losses and errors."""

import json
import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.atomic import write_whole
from firth.corpora.common.errors import ArtifactError

METRICS = "metrics.jsonl"
UNIT_LOSSES = "held_out.npy"

# A standard error from few units is itself uncertain, by 1 / sqrt(2 (n - 1)): a third from five.
LEAST_UNITS = 5
# Better and worse settings of a method differ in loss by some percent. Errors above two percent
# hide that: two losses then differ significantly from about 2 * sqrt(2) * 2 % = 6 % on.
_MOST_ERROR = 0.02


@dataclass(frozen=True)
class HeldOutLoss:
    """A mean loss over held-out text, with its error."""

    mean: float  # in nats; NaN if nothing was measured
    standard_error: float  # NaN if there are less than two units
    n_units: int  # held-out documents, paragraphs or sentences

    @classmethod
    def of_units(cls, losses: np.ndarray, counts: np.ndarray) -> "HeldOutLoss":
        """Average over pairs or pieces, given their summed loss and their number for each unit.

        The standard error is that of a ratio estimate (Cochran 1977, "Sampling Techniques",
        chapter 6) with units as clusters: units are chosen at random, but pairs within a unit
        resemble each other, so they are not independent observations.
        """
        # losses: float64 (n,); counts: whole numbers (n,)
        used = counts > 0
        losses, counts, n = losses[used], counts[used], int(used.sum())
        if not n:
            return cls(math.nan, math.nan, 0)
        mean = float(losses.sum() / counts.sum())
        if n < 2:
            return cls(mean, math.nan, n)
        residuals = losses - mean * counts
        error = math.sqrt(n / (n - 1) * float(residuals @ residuals)) / float(counts.sum())
        return cls(mean, error, n)

    @classmethod
    def from_line(cls, line: Mapping[str, Any]) -> "HeldOutLoss":
        """Read a line of metrics, in which null is NaN."""
        values = (line.get(f"held_out_{name}") for name in ("loss", "standard_error"))
        mean, error = (math.nan if value is None else float(value) for value in values)
        return cls(mean, error, int(line.get("held_out_units", 0)))

    def to_line(self) -> dict[str, Any]:
        """Return entries for a line of metrics."""
        return {
            "held_out_loss": self.mean,
            "held_out_standard_error": self.standard_error,
            "held_out_units": self.n_units,
        }

    @property
    def decimals(self) -> int:
        """Decimals that the error warrants: it is shown with two digits; 4 if there is none."""
        if not 0 < self.standard_error < math.inf:
            return 4
        return min(max(0, 1 - math.floor(math.log10(self.standard_error))), 6)

    def __str__(self) -> str:
        shown = f"{self.mean:.{self.decimals}f}"
        if math.isfinite(self.standard_error):
            shown += f" ± {self.standard_error:.{self.decimals}f}"
        return shown

    @property
    def warning(self) -> str:
        """A note if the loss says little, to be shown behind it; else empty."""
        few = 0 < self.n_units < LEAST_UNITS or self.standard_error > _MOST_ERROR * self.mean
        return " (too little held-out text to compare)" if few else ""


def write_unit_losses(run: Path, units: np.ndarray) -> None:
    """Replace the unit losses of a run by those of its last evaluation."""
    # units: float64 (2 or 3, n): of each held-out unit the summed loss, the number of pairs or
    # pieces, and the number of characters that next pieces spell
    write_whole(run / UNIT_LOSSES, lambda new: save_array(new, units))


def read_unit_losses(run: Path) -> np.ndarray | None:
    """Return the unit losses of a finished run as written; None if it has none."""
    # float64 (2 or 3, n)
    path, again = run / UNIT_LOSSES, "train the run again"
    if not path.is_file():
        return None
    units = map_array(path, again=again, missing=again)
    if units.dtype != np.float64 or units.ndim != 2 or len(units) not in (2, 3):
        raise ArtifactError(f"{path}: has shape {units.shape}, not (2 or 3, units); {again}")
    return units


class Metrics:
    """Appends to the metrics file, of which the first ``n_lines`` stay when a training resumes."""

    def __init__(self, path: Path, n_lines: int = 0) -> None:
        self._path = path
        lines = read_metrics(path)[:n_lines]
        self.n_lines = len(lines)
        text = "".join(json.dumps(line) + "\n" for line in lines)
        write_whole(path, lambda new: new.write_text(text, encoding="utf-8", newline="\n"))

    def write(self, **line: Any) -> None:
        """Append a line; infinite values and NaN become null."""
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in line.items()
        }
        with open(self._path, "a", encoding="utf-8", newline="\n") as file:
            file.write(json.dumps(finite) + "\n")
        self.n_lines += 1


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the metrics of a finished or running training, except a line cut short."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
