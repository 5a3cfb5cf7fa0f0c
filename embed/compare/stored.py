"""A comparison as a run of its own, which names what was compared."""

import dataclasses
import datetime
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from corpora.artifacts import making, write_json
from corpora.provenance import provenance
from embed.compare.config import CompareConfig
from embed.compare.csv_table import write_csv

FORMAT = 1
METHOD = "compare"
DOCUMENT, TABLE = "comparison.json", "scores.csv"


def store_comparison(
    document: Mapping[str, Any],
    config: CompareConfig,
    out: Path,
    *,
    started: datetime.datetime,
    force: bool = False,
) -> Path:
    """Write a comparison as a run.

    Parameters
    ----------
    document : mapping
        Of :func:`~embed.compare.report.to_json`.
    config : CompareConfig
        How it was made.
    out : Path
        Where the run will stand.
    started : datetime
        When the comparison began.
    force : bool
        Replace a run that stands there.

    Returns
    -------
    Path
        ``out``: ``comparison.json``, ``scores.csv``, ``config.json``, ``provenance.json`` with
        the fingerprints of the runs, ``checksums.json``.

    Raises
    ------
    ArtifactError
        ``out`` exists, is being made, or cannot be written.
    """
    options = dataclasses.asdict(config)
    compared = {run["run"]: run["fingerprint"] for run in document["runs"] if run["fingerprint"]}
    maker = {"command": METHOD, "runs": compared, **options}
    with making(out, maker, force=force) as partial:
        write_json(partial / DOCUMENT, document)
        with open(partial / TABLE, "w", encoding="utf-8", newline="") as file:
            write_csv(document["results"], file)
        write_json(partial / "config.json", {"format": FORMAT, "method": METHOD, **options})
        made = provenance(started, seeds=[config.seed], compared=compared)
        write_json(partial / "provenance.json", made)
    return out
