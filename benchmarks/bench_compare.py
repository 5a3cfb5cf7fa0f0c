"""`firth compare` as a whole, and the cost of bootstrap intervals.

Four runs, given by ``--run``, are compared on all English sets of similarity and analogies: the
whole command with an empty and with a full cache, and, within one process, the time to measure each
set (one run, the first) and to draw and score its 1,000 replicates.

    python benchmarks/bench_compare.py --run A --run B --run C --run D --json compare.json
"""

import argparse
import itertools
import os
import statistics
import sys
import tempfile
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.statistics.bootstrap import draw_counts, resample
from firth.embed.compare.task import Task
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import StaticVectors

ROLE = roles.REPORTING
SETS = {
    "similarity": ("ws353", "ws353-sim", "ws353-rel", "simlex999", "mturk287", "rg65"),
    "analogy": ("questions-words", "msr"),
}


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=3, more=_own_options)
    files = roles.set_names(SETS, role=ROLE)
    figures = {
        "machine": harness.machine(),
        "runs": [list(load_vectors(run).matrix.shape) for run in arguments.run],
        "command": command(arguments.run, files, arguments.repeats),
        "sets": sets(arguments.run[0], files, arguments.repeats),
    }
    shown = figures["command"]
    print(f"whole command: {shown['new']:.1f} s, peak {shown['peak_bytes'] / 1e6:.0f} MB")
    print(f"the same again, its scores kept: {shown['kept']:.1f} s")
    print_table(
        ["set", "items", "scores, ms", "draws, ms", "replicates, ms"],
        [
            [name, each["items"], *(round(1e3 * each[part], 1) for part in PARTS)]
            for name, each in figures["sets"].items()
        ],
    )
    if arguments.json:
        write_json(arguments.json, figures)


PARTS = ("measure", "draw", "replicate")


def command(runs: list[Path], files: Mapping[str, tuple[str, ...]], repeats: int) -> dict[str, Any]:
    """Return seconds of the whole command with an empty and a full cache, and its peak memory."""
    named = [f"--{kind}={file}" for kind, each in files.items() for file in each]
    line = [sys.executable, "cli.py", "compare", *map(str, runs), *named, "--json"]
    new, kept, peaks = [], [], []
    for _ in range(repeats):
        with tempfile.TemporaryDirectory() as cache:
            os.environ["FIRTH_CACHE"] = cache
            seconds, peak, _, _ = harness.run_process(line)
            new.append(seconds)
            peaks.append(peak)
            kept.append(harness.run_process(line)[0])
    return {
        "new": statistics.median(new),
        "kept": statistics.median(kept),
        "peak_bytes": max(peaks),
    }


def sets(
    run: Path, files: Mapping[str, tuple[str, ...]], repeats: int
) -> dict[str, dict[str, Any]]:
    """Return for each set the median seconds of measuring, drawing and scoring the replicates."""
    config, vectors = CompareConfig(sets=files), load_vectors(run)
    found = {}
    for task in read_tasks(config):
        once(task, vectors, config)  # compiles kernels and reads the vectors
        timed = [once(task, vectors, config) for _ in range(repeats)]
        items = int(task.known(vectors).sum())
        medians = {part: statistics.median(each[part] for each in timed) for part in PARTS}
        found[task.dataset] = {"items": items, **medians}
    return found


def once(task: Task, vectors: StaticVectors, config: CompareConfig) -> dict[str, float]:
    """Return the seconds of each part, for all metrics of the set together."""
    times = [time.perf_counter()]
    measured = task.measure(vectors, task.known(vectors))
    times.append(time.perf_counter())
    first = measured[0]
    counts = draw_counts(
        len(first.items), config.replicates, config.seed, task.dataset, first.units
    )
    times.append(time.perf_counter())
    for each in measured:
        if each.statistic is not None:
            resample(each.statistic, counts)
    times.append(time.perf_counter())
    spans = [end - start for start, end in itertools.pairwise(times)]
    return dict(zip(PARTS, spans, strict=True))


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--run", type=Path, action="append", required=True, help="a run to compare")


if __name__ == "__main__":
    main()
