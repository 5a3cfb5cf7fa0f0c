"""Two trainings at once on the cores of one: how much longer they take than one after the other.

Whole processes of ``firth``, each with a thread per core. If waiting threads yield their cores, two
trainings take twice the time of one; if they spin, many times that. The last cases have OpenMP wait
as it does by default, and with fewer spins. CPU use of other programs is reported with each figure
and should be close to zero; if it is not, the CPU seconds still reveal spinning.
"""

import argparse
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

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table

MLM = "train-mlm"
SKIPGRAM = "train-skipgram --deterministic"
SVD = "train-svd"
# With another GOMP_SPINCOUNT than Firth's, which is 10,000; OpenMP's default is the first.
SPINNING = {f"train-mlm, {spins} spins": spins for spins in (300_000, 30_000, 2_000)}
OPTIONS = {
    MLM: ["--preset", "mini", "--steps", "20", "--batch", "16", "--pieces", "2000",
          "--compile", "off", "--dtype", "float32", "--max-vocabulary", "500"],
    SKIPGRAM: ["--epochs", "20"],
    SVD: [],
}  # fmt: skip
PAIRS = ((MLM, MLM), (SKIPGRAM, SKIPGRAM), (SVD, SVD), (MLM, SKIPGRAM),
         *((name, name) for name in SPINNING))  # fmt: skip


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=3, more=_own_options)
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
            if arguments.json:
                value = {"benchmark": "side by side", "results": found, **harness.machine()}
                write_json(arguments.json, value)
    columns = ["", "one alone, s", "two at once, s", "times", "processor s", "times", "others"]
    print_table(columns, list(table(found)))


def train(names: Any, corpus: Path, folder: Path) -> dict[str, float]:
    """Run these trainings at once; return wall seconds, their CPU seconds and those of others."""
    commands = [
        _firth(*_command(name), str(corpus), "--out", str(folder / f"run{i}"), "--force", name=name)
        for i, name in enumerate(names)
    ]
    others, ours = _cpu_seconds()
    begun = time.perf_counter()
    with ThreadPoolExecutor(len(commands)) as pool:
        list(pool.map(harness.run_process, commands))
    seconds = time.perf_counter() - begun
    all_others, all_ours = _cpu_seconds()
    share = (all_others - others) / (seconds * (os.cpu_count() or 1))
    return {"seconds": seconds, "processor": all_ours - ours, "others": max(0.0, share)}


def summary(pair: tuple[str, str], runs: dict[str, list[dict[str, float]]]) -> dict[str, Any]:
    """Return medians, and the time of two at once over the mean time of one: 2 is ideal."""
    found: dict[str, Any] = {}
    for kind in ("seconds", "processor"):
        median = {who: statistics.median(run[kind] for run in some) for who, some in runs.items()}
        alone = statistics.mean(median[name] for name in pair)
        found[kind] = {"alone": alone, "both": median["both"], "times": median["both"] / alone}
    return {**found, "runs": runs}


def table(found: dict[str, Any]) -> Iterator[list[str]]:
    """Yield a row per pair."""
    for name, one in found.items():
        wall, own = one["seconds"], one["processor"]
        others = [run["others"] for some in one["runs"].values() for run in some]
        yield [name, f"{wall['alone']:.1f}", f"{wall['both']:.1f}", f"{wall['times']:.2f}",
               f"{own['alone']:.1f}", f"{own['times']:.2f}",
               f"{min(others):.0%}-{max(others):.0%}"]  # fmt: skip


def _command(name: str) -> list[str]:
    """Return the arguments of a command with its options."""
    plain = MLM if name in SPINNING else name
    return [*plain.split(), *OPTIONS[plain]]


def _firth(*words: str, name: str = "") -> list[str]:
    """Return a command line with the environment of a candidate."""
    variables = [f"GOMP_SPINCOUNT={SPINNING[name]}"] if name in SPINNING else []
    return ["env", *variables, sys.executable, "cli.py", *words]


def _cpu_seconds() -> tuple[float, float]:
    """Return CPU seconds so far: of all other programs (0 if not Linux), and of ours."""
    both = [resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    ours = sum(one.ru_utime + one.ru_stime for one in both)
    try:
        fields = Path("/proc/stat").read_text(encoding="utf-8").split("\n", 1)[0].split()[1:]
    except OSError:
        return 0.0, ours
    user, nice, system, _, _, irq, softirq, steal = map(int, fields[:8])
    every = (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")
    return every - ours, ours


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--source", default="wiki-sample", help="text, as build-corpus takes it")


if __name__ == "__main__":
    main()
