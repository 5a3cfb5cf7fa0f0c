"""What 8 bits a number cost: scores of runs and of their int8 exports, size and time of a search.

RUNs are finished runs, such as those of the other benchmarks. Sets are those that ``compare`` uses
by default. The search is for the 10 nearest words of 100 words, in this process.
"""

import argparse
import statistics
import tempfile
from pathlib import Path
from typing import Any

import harness

from firth import compare, load_vectors, nearest, write_vectors
from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.vectors.word_vectors import WordVectors


def options(parser: argparse.ArgumentParser) -> None:
    """Add the runs."""
    parser.add_argument("runs", nargs="+", type=Path, metavar="RUN")


def scores(run: Path, packed: Path) -> dict[str, dict[str, float]]:
    """Return the two scores and their difference, by set."""
    found: dict[str, dict[str, float]] = {}
    for score in compare({"float32": run, "int8": packed}).comparison.scores:
        made, value = score.measured, score.score
        measured = score.run in ("float32", "int8") and score.shared and value is not None
        if measured and made.task in ("similarity", "analogy") and not made.section:
            found.setdefault(f"{made.dataset} {made.metric}", {})[score.run] = value
    return {
        name: {**pair, "difference": pair["int8"] - pair["float32"]} for name, pair in found.items()
    }


def search_seconds(vectors: WordVectors, repeats: int) -> float:
    """Return the median time of a search."""
    words = list(vectors.vocabulary[:100])
    timed = harness.time_functions({"search": lambda: nearest(vectors, words)}, repeats)
    return statistics.median(timed["search"].seconds)


def size(run: Path, *names: str) -> int:
    """Return the bytes of some files."""
    return sum((run / name).stat().st_size for name in names)


def main() -> None:
    """Export each run, and compare."""
    arguments = harness.parse(__doc__, repeats=5, more=options)
    results: dict[str, Any] = {}
    for run in arguments.runs:
        with tempfile.TemporaryDirectory() as folder:
            packed = Path(folder) / "int8"
            write_vectors(load_vectors(run), packed, "int8")
            results[run.name] = {
                "scores": scores(run, packed),
                "bytes": size(run, "vectors.npy"),
                "int8_bytes": size(packed, "vectors.int8.npy", "scales.npy"),
                "search_seconds": search_seconds(load_vectors(run), arguments.repeats),
                "int8_search_seconds": search_seconds(load_vectors(packed), arguments.repeats),
            }
    rows = [
        [run, name, f"{pair['float32']:.4f}", f"{pair['int8']:.4f}", f"{pair['difference']:+.4f}"]
        for run, figures in results.items()
        for name, pair in figures["scores"].items()
    ]
    print_table(["run", "set", "float32", "int8", "difference"], rows)
    for run, figures in results.items():
        print(run, {key: value for key, value in figures.items() if key != "scores"})
    if arguments.json:
        write_json(arguments.json, {"results": results, **harness.machine()})


if __name__ == "__main__":
    main()
