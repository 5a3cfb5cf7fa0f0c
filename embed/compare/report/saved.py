"""Store a comparison as a run that names the compared runs, with its results as CSV."""

import csv
import dataclasses
import datetime
import json
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, TextIO

from firth.corpora.artifacts.artifact import refuse_existing, write_json
from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.config import CompareConfig
from firth.embed.formats.model_card import COMPARISON
from firth.embed.runs.run import Run
from firth.embed.runs.writer import new_run

COLUMNS = (
    "run", "task", "dataset", "section", "metric", "score", "low", "high", "items_used",
    "items_total", "unknown", "shared_items", "seeds", "deviation", "items_known", "items_composed",
    "items_zero", "reason", "remark",
)  # fmt: skip
METHOD = "compare"
DOCUMENT, TABLE = COMPARISON, "scores.csv"


def check_out(out: Path, read: Sequence[Path], *, force: bool) -> None:
    """Raise if a comparison must not be written to ``out``: occupied, or inside what is read."""
    refuse_existing(out, force)
    if out.exists() and any(out.iterdir()) and Run.open(out).method != METHOD:
        raise ArtifactError(f"{out}: not a comparison; `force=True` will not overwrite it")
    target = out.resolve()
    for path in (each.resolve() for each in read):
        if target == path or target in path.parents or path in target.parents:
            raise ArtifactError(f"`out={out}`: overlaps {path}, which is read; choose another")


def store_comparison(
    document: Mapping[str, Any],
    config: CompareConfig,
    out: Path,
    *,
    started: datetime.datetime,
    force: bool = False,
) -> Path:
    """Write a comparison as a run and return its path."""
    options = dataclasses.asdict(config)
    compared = {run["run"]: run["fingerprint"] for run in document["runs"] if run["fingerprint"]}
    maker = {"command": METHOD, "runs": compared, **options}
    with new_run(out, maker, force=force, started=started) as run:
        write_json(run.path / DOCUMENT, document)
        # file names need not be valid UTF-8
        with open(
            run.path / TABLE, "w", encoding="utf-8", errors="backslashreplace", newline=""
        ) as file:
            write_csv(document["results"], file)
        run.describe(METHOD, options, None, seeds=[config.seed], compared=compared)
    return out


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
