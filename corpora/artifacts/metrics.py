"""``metrics.jsonl``: training metrics, one JSON object per line."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpora.artifacts.atomic import write_whole

METRICS = "metrics.jsonl"


class Metrics:
    """Appends to the metrics file; on resuming, lines that ``keep`` rejects are dropped."""

    def __init__(self, path: Path, keep: Callable[[dict[str, Any]], bool]) -> None:
        self._path = path
        kept = [line for line in read_metrics(path) if keep(line)]
        text = "".join(json.dumps(line) + "\n" for line in kept)
        write_whole(path, lambda new: new.write_text(text, encoding="utf-8"))

    def write(self, **line: Any) -> None:
        """Append a line; infinite values and NaN become null."""
        finite = {
            name: None if isinstance(value, float) and not math.isfinite(value) else value
            for name, value in line.items()
        }
        with open(self._path, "a", encoding="utf-8") as file:
            file.write(json.dumps(finite) + "\n")


def read_metrics(path: Path) -> list[dict[str, Any]]:
    """Read the metrics of a finished or running training, except a line cut short."""
    if not path.is_file():
        return []
    lines = path.read_text(encoding="utf-8").splitlines(keepends=True)
    return [json.loads(line) for line in lines if line.endswith("\n")]
