"""Shared parts of the benchmarks: alternating runs, medians, peak memory, a table and JSON.

A benchmark is a script: it names its candidates, calls :func:`time_functions` or
:func:`time_processes`, and passes the measurements to :func:`report`.
"""

import argparse
import contextlib
import datetime
import gc
import lzma
import os
import platform
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import IO, Any

import numpy as np

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.artifacts.provenance import provenance
from firth.corpora.common.console import print_table

ROOT = Path(__file__).resolve().parents[1]

_SAMPLE_SECONDS = 0.05
_STARTED = datetime.datetime.now(datetime.UTC)


@dataclass
class Measurement:
    """Time and memory of the runs of one candidate."""

    seconds: list[float] = field(default_factory=list)  # wall time of each run
    peak_bytes: list[int] = field(default_factory=list)  # of the largest process of each run
    tree_bytes: int | None = None  # sampled peak of all processes, shared pages counted once
    outputs: list[Any] = field(default_factory=list)  # what each run returned or printed
    more: dict[str, float] = field(default_factory=dict)  # other figures to save

    @property
    def median(self) -> float:
        """Median wall time in seconds."""
        return statistics.median(self.seconds)

    @property
    def spread(self) -> tuple[float, float]:
        """Fastest and slowest run in seconds."""
        return min(self.seconds), max(self.seconds)

    def ratios(self, ours: "Measurement") -> dict[str, Any]:
        """Return the time relative to ours: by medians, and the least and greatest of a round."""
        rounds = [a / b for a, b in zip(self.seconds, ours.seconds, strict=True)]
        return {
            "times_ours": self.median / ours.median,
            "times_ours_by_round": [min(rounds), max(rounds)],
        }

    def to_json(self) -> dict[str, Any]:
        """Return everything but the outputs."""
        return {
            "median_seconds": self.median,
            "seconds": self.seconds,
            "peak_bytes": max(self.peak_bytes, default=None),
            "tree_bytes": self.tree_bytes,
            **self.more,
        }


def turns(names: Sequence[str], repeats: int) -> Iterator[str]:
    """Order the runs so that drift of the machine affects all alike: A B C C B A A B C ..."""
    for turn in range(repeats):
        yield from names if turn % 2 == 0 else reversed(names)


def time_functions(
    candidates: Mapping[str, Callable[[], Any]], repeats: int, *, keep_outputs: bool = False
) -> dict[str, Measurement]:
    """Time functions in this process; the first call of each is not measured (compilation)."""
    measured = {name: Measurement() for name in candidates}
    for run in candidates.values():
        run()
    for name in turns(list(candidates), repeats):
        gc.collect()
        _print_turn(name)
        start = time.perf_counter()
        output = candidates[name]()
        measured[name].seconds.append(time.perf_counter() - start)
        if keep_outputs:
            measured[name].outputs.append(output)
        del output
    return measured


def time_processes(
    candidates: Mapping[str, Sequence[str]],
    repeats: int,
    *,
    before: Callable[[str], None] = lambda name: None,
    memory: bool = True,
) -> dict[str, Measurement]:
    """Time whole processes, including start and end.

    ``before`` is called with the name before each run, unmeasured. With ``memory``, an extra
    unmeasured run of each samples the memory of its whole process tree.
    """
    measured = {name: Measurement() for name in candidates}
    for name in turns(list(candidates), repeats):
        before(name)
        _print_turn(name)
        seconds, peak, output, _ = run_process(candidates[name])
        measured[name].seconds.append(seconds)
        measured[name].peak_bytes.append(peak)
        measured[name].outputs.append(output)
    for name in candidates if memory else ():
        before(name)
        _print_turn(f"{name}: memory")
        measured[name].tree_bytes = run_process(candidates[name], sample=True)[3]
    return measured


def run_process(
    command: Sequence[str], *, sample: bool = False
) -> tuple[float, int, str, int | None]:
    """Run a command in the repository root; exit if it fails.

    Return wall seconds, peak bytes of its largest process, standard output, and with ``sample`` the
    peak bytes of the process tree (sampling slows it slightly), else None. Linux counts the peak of
    this process in that of a command, so it must be small when the command starts.
    """
    with (
        tempfile.TemporaryFile("w+", encoding="utf-8") as out,
        tempfile.TemporaryFile("w+", encoding="utf-8") as err,
    ):
        start = time.perf_counter()
        process = subprocess.Popen(command, stdout=out, stderr=err, cwd=ROOT)
        with _sampling(process.pid) if sample else contextlib.nullcontext([]) as samples:
            _, status, usage = os.wait4(process.pid, 0)
        seconds = time.perf_counter() - start
        process.returncode = os.waitstatus_to_exitcode(status)
        out.seek(0)
        err.seek(0)
        if process.returncode:
            sys.exit(f"{' '.join(command)}: status {process.returncode}\n{err.read()}")
        unit = 1 if sys.platform == "darwin" else 1024
        return seconds, usage.ru_maxrss * unit, out.read(), max(samples, default=None)


def report(
    title: str,
    measured: Mapping[str, Measurement],
    *,
    ours: str,
    work: float,
    unit: str,
    arguments: argparse.Namespace,
    notes: Mapping[str, Any] | None = None,
) -> None:
    """Print the table, and write JSON if ``--json`` was given.

    Ratios are relative to the candidate ``ours``; ``work`` is the work of one run in ``unit``.
    ``notes`` are printed below the table and saved too.
    """
    base = measured[ours].median
    rows = [_row(name, entry, base, work) for name, entry in measured.items()]
    columns = ["", "median s", "spread s", f"{unit}/s", "time / ours", "peak MB", "all MB"]
    about = machine()
    git = about["git"] or {"commit": "?", "dirty": False}
    commit = git["commit"][:10] + ("+" if git["dirty"] else "")
    print_table(columns, rows, title=f"{title} ({work:,.4g} {unit})")
    for name, value in (notes or {}).items():
        print(f"{name}: {value}")
    print(f"{about['processor']}, {about['machine']['cores']} cores; commit {commit}")
    if arguments.json:
        results = {
            name: {
                **entry.to_json(),
                "per_second": work / entry.median,
                **entry.ratios(measured[ours]),
            }
            for name, entry in measured.items()
        }
        value = {
            "benchmark": title,
            "work": work,
            "unit": unit,
            "ours": ours,
            "results": results,
            "notes": dict(notes or {}),
            **about,
        }
        write_json(arguments.json, value)


def machine() -> dict[str, Any]:
    """Return processor, memory, versions, git commit and time."""
    about = provenance(_STARTED)
    memory = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES")
    return {**about, "processor": _processor(), "memory_bytes": memory}


def parse(
    description: str | None,
    *,
    repeats: int | None = None,
    more: Callable[[argparse.ArgumentParser], None] | None = None,
) -> argparse.Namespace:
    """Parse ``--json``, ``--repeats`` if there is a default, and the options that ``more`` adds."""
    parser = argparse.ArgumentParser(
        description=description, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    if repeats:
        parser.add_argument("--repeats", type=int, default=repeats, help="measured runs of each")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    if more:
        more(parser)
    return parser.parse_args()


def run_seconds(run: Path) -> float:
    """Return the time that a run took."""
    made = read_json(run / "provenance.json")
    start, end = (datetime.datetime.fromisoformat(made[key]) for key in ("start", "end"))
    return (end - start).total_seconds()


def unpacked(path: Path) -> Path:
    """Unpack an ``.xz`` file to a temporary folder, once, and return the plain file."""

    def unpack(new: IO[bytes]) -> None:
        with lzma.open(path) as packed:
            shutil.copyfileobj(packed, new, 1 << 22)

    return made_once(path.stem, unpack)


def made_once(name: str, write: Callable[[IO[bytes]], None]) -> Path:
    """Return a file in a temporary folder that all benchmarks share; write it if it is missing."""
    made = Path(tempfile.gettempdir()) / "firth-bench" / name
    if not made.exists():
        made.parent.mkdir(exist_ok=True)
        part = made.with_name(f"{name}.{os.getpid()}")
        with open(part, "wb") as file:
            write(file)
        part.rename(made)
    return made


def _row(name: str, entry: Measurement, base: float, work: float) -> list[Any]:
    """Return one row of the table; numbers are formatted text."""
    low, high = entry.spread
    peak = max(entry.peak_bytes, default=0)
    return [
        name,
        _Right(f"{entry.median:.2f}"),
        _Right(f"{low:.2f}-{high:.2f}"),
        _Right(f"{work / entry.median:.3g}"),
        _Right(f"{entry.median / base:.2f}"),
        _Right(f"{peak / 1e6:.0f}" if peak else "-"),
        _Right(f"{entry.tree_bytes / 1e6:.0f}" if entry.tree_bytes else "-"),
    ]


class _Right:
    """Right-aligned text in the table."""

    def __init__(self, text: str) -> None:
        self.text = text

    def __str__(self) -> str:
        return self.text


def _print_turn(name: str) -> None:
    """Print which candidate runs on standard error."""
    print(f"... {name}", file=sys.stderr, flush=True)


@contextlib.contextmanager
def _sampling(pid: int) -> Iterator[list[int]]:
    """Sample the memory of a process tree while the block runs."""
    samples: list[int] = []
    stop = threading.Event()

    def sample() -> None:
        while not stop.wait(_SAMPLE_SECONDS):
            samples.append(sum(map(_proportional_bytes, _tree(pid))))

    thread = threading.Thread(target=sample, daemon=True)
    thread.start()
    try:
        yield samples
    finally:
        stop.set()
        thread.join()


def _tree(pid: int) -> list[int]:
    """Return a process and all its descendants (Linux)."""
    found = [pid]
    for parent in found:  # grows while we walk it
        for children in Path(f"/proc/{parent}/task").glob("*/children"):
            with contextlib.suppress(OSError):
                found += map(int, children.read_text().split())
    return found


def _proportional_bytes(pid: int) -> int:
    """Return resident bytes of a process; pages shared by n processes count 1/n."""
    with contextlib.suppress(OSError):
        for line in Path(f"/proc/{pid}/smaps_rollup").read_text(encoding="utf-8").splitlines():
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


def _processor() -> str:
    """Return the name of the processor."""
    with contextlib.suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def scores(task: Any, vectors: Any) -> list[tuple[Any, float | None]]:
    """Return what a task measures of vectors on all items they cover, with the scores."""
    found = task.measure(vectors, task.known(vectors))
    return [
        (each, None if each.statistic is None else float(each.statistic.evaluate(_once(each))[0]))
        for each in found
    ]


def score_by_set(tasks: Iterable[Any], vectors: Any) -> dict[str, float | None]:
    """Return the first score of each set: Spearman, accuracy by 3CosAdd, or purity."""
    found = (scores(task, vectors)[0] for task in tasks)
    return {measured.dataset: score for measured, score in found}


def _once(measured: Any) -> np.ndarray:
    """Return weights that count every item once."""
    return np.ones((1, len(measured.items)), dtype=np.uint8)
