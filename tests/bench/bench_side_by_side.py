"""Two trainings at once on the cores of one: how much longer both take than one after the other.

Whole processes of ``firth``, each with a thread for every core. Where waiting threads leave their
cores to others, two trainings take twice the time of one; where they spin, many times that. The
last contest has OpenMP wait as it does by default. What other programs took of the cores meanwhile
is told with each figure: it should be next to nothing.
"""

import argparse
import json
import os
import resource
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import harness

from corpora.common.console import print_table

MLM = "train-mlm"
SKIPGRAM = "train-skipgram --deterministic"
SVD = "train-svd"
SPINNING = "train-mlm, OpenMP spinning"
OPTIONS = {
    MLM: ["--preset", "mini", "--steps", "20", "--batch", "16", "--pieces", "2000",
          "--compile", "off", "--dtype", "float32", "--max-vocabulary", "500"],
    SKIPGRAM: ["--epochs", "20"],
    SVD: [],
}  # fmt: skip
PAIRS = ((MLM, MLM), (SKIPGRAM, SKIPGRAM), (SVD, SVD), (MLM, SKIPGRAM), (SPINNING, SPINNING))
_GNU_DEFAULT = {"GOMP_SPINCOUNT": "300000"}


def main() -> None:
    """Measure, print, write JSON."""
    arguments = harness.parse(__doc__ or "", more=_own_options)
    with tempfile.TemporaryDirectory() as folder:
        corpus = Path(folder) / "corpus"
        harness.run_process(_firth("build-corpus", arguments.source, "--out", str(corpus)))
        found = {}
        for pair in PAIRS:
            names = sorted(set(pair))
            for name in names:
                train([name], corpus, Path(folder))  # compiles the kernels
            runs: dict[str, list[dict[str, float]]] = {name: [] for name in (*names, "both")}
            for who in harness.turns(list(runs), arguments.repeats):
                runs[who].append(train(pair if who == "both" else [who], corpus, Path(folder)))
            found[" + ".join(pair)] = summary(pair, runs)
    rows = list(table(found))
    print_table(["", "one alone, s", "two at once, s", "times", "other programs"], rows)
    if arguments.json:
        value = {"benchmark": "side by side", "results": found, **harness.machine()}
        arguments.json.write_text(json.dumps(value, indent=1) + "\n")


def train(names: Any, corpus: Path, folder: Path) -> dict[str, float]:
    """Start these trainings at once; seconds until all have ended, and what others took."""
    commands = [
        _firth(*_command(name), str(corpus), "--out", str(folder / f"run{i}"), "--force", name=name)
        for i, name in enumerate(names)
    ]
    before = _cpu_seconds()
    begun = time.perf_counter()
    with ThreadPoolExecutor(len(commands)) as pool:
        list(pool.map(harness.run_process, commands))
    seconds = time.perf_counter() - begun
    others = (_cpu_seconds() - before) / (seconds * (os.cpu_count() or 1))
    return {"seconds": seconds, "others": max(0.0, others)}


def summary(pair: tuple[str, str], runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Medians, and two at once over the mean of the two alone: 2 where nothing is lost."""
    median = {who: statistics.median(run["seconds"] for run in some) for who, some in runs.items()}
    alone = statistics.mean(median[name] for name in pair)
    return {
        "alone_seconds": alone,
        "both_seconds": median["both"],
        "times": median["both"] / alone,
        "runs": runs,
    }


def table(found: dict[str, Any]) -> Iterator[list[str]]:
    """A line for each pair."""
    for name, one in found.items():
        others = [run["others"] for some in one["runs"].values() for run in some]
        yield [name, f"{one['alone_seconds']:.1f}", f"{one['both_seconds']:.1f}",
               f"{one['times']:.2f}", f"{min(others):.0%}-{max(others):.0%}"]  # fmt: skip


def _command(name: str) -> list[str]:
    """The words of a command, options included."""
    plain = MLM if name == SPINNING else name
    return [*plain.split(), *OPTIONS[plain]]


def _firth(*words: str, name: str = "") -> list[str]:
    """A command line, with the environment that the contestant wants."""
    settings = _GNU_DEFAULT if name == SPINNING else {}
    told = [f"{key}={value}" for key, value in settings.items()]
    return ["env", *told, sys.executable, "cli.py", *words]


def _cpu_seconds() -> float:
    """Processor seconds that all programs but this one and its children took; Linux, else 0."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    every = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    used = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return every - sum(one.ru_utime + one.ru_stime for one in used)


def _own_options(parser: argparse.ArgumentParser) -> None:
    """The option that only this benchmark has."""
    parser.add_argument("--source", default="wiki-sample", help="text, as build-corpus takes it")


if __name__ == "__main__":
    main()
