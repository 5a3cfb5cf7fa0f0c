"""Is a candidate better than the present default? The last stage of a search, docs/protocol.md.

Compares runs on the tuning sets: the mean over the sets of new minus old, with a 95 % interval over
items (paired, the draws of ``firth compare``) and seeds. Without a difference the cheaper side
wins if it takes at least a tenth less time, else the old one.

    python benchmarks/choosing.py --new out/wide-seed* --old out/sg-seed*

``--json FILE --name NAME`` adds the comparison to a file of them.
"""

import argparse
import json
import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import roles
from scipy.stats import t as student

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.results import Comparison, Pair
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.task import Task
from firth.embed.formats.vector_files import load_vectors
from firth.embed.protocols import StaticVectors

ROLE = roles.TUNING
SETS = {"similarity": ("mturk287", "rg65"), "analogy": ("msr",), "categorization": ("ap",)}
NEW, OLD = "new", "old"
_CHEAPER = 0.9  # of the other's time, or less


@dataclass(frozen=True)
class Advantage:
    """By how much one side exceeds the other."""

    difference: float  # mean over sets
    low: float  # 95 % interval over items and seeds
    high: float
    by_set: Mapping[str, float]

    def winner(self, new_seconds: float, old_seconds: float) -> str:
        """Return the side to choose, ties going to the cheaper or else the old one."""
        if self.low > 0 or self.high < 0:
            return NEW if self.low > 0 else OLD
        return NEW if new_seconds <= _CHEAPER * old_seconds else OLD


def advantage(
    new: Sequence[StaticVectors], old: Sequence[StaticVectors], tasks: Sequence[Task],
    config: CompareConfig | None = None,
) -> Advantage:  # fmt: skip
    """Compare two sides, each with one run per seed, on the first metric of each set."""
    sides = {NEW: new, OLD: old}
    single = len(new) == len(old) == 1
    names = {side: [side if single else f"{side}-{n}" for n in range(len(runs))]
             for side, runs in sides.items()}  # fmt: skip
    vectors = {
        name: run
        for side, runs in sides.items()
        for name, run in zip(names[side], runs, strict=True)
    }
    groups = {} if single else names
    found = compare_vectors(vectors, tasks, config or CompareConfig(), groups=groups)
    if found.failures:
        raise SystemExit("\n".join(found.failures))
    return _combined(found, {side: len(runs) for side, runs in sides.items()})


def _combined(found: Comparison, n_seeds: Mapping[str, int]) -> Advantage:
    """Average the differences on all sets; add variances over items and over seeds.

    Sets share almost no items, so they count as independent. The degrees of freedom are those of
    Satterthwaite 1946: a variance over three seeds has two.
    """
    by_set, parts = {}, []
    for pair in _first_metrics(found):
        sign = 1 if pair.a == NEW else -1
        by_set[pair.dataset] = sign * pair.difference.difference
        items = (pair.difference.high - pair.difference.low) / (2 * 1.96)
        parts.append((items**2, math.inf))
        for score in found.scores:
            same = (score.set_index, score.measured.metric) == (pair.set_index, pair.metric)
            if same and score.shared and score.run in n_seeds and score.deviation is not None:
                n = n_seeds[score.run]
                parts.append((score.deviation**2 / n, n - 1))
    variance = math.fsum(part for part, _ in parts)
    freedom = variance**2 / max(math.fsum(part**2 / df for part, df in parts), 1e-300)
    margin = float(student.ppf(0.975, freedom)) * math.sqrt(variance) / len(by_set)
    mean = math.fsum(by_set.values()) / len(by_set)
    return Advantage(mean, mean - margin, mean + margin, by_set)


def _first_metrics(found: Comparison) -> list[Pair]:
    """Return the difference of the two sides in the first metric of each set."""
    first: dict[int, str] = {}
    for score in found.scores:
        first.setdefault(score.set_index, score.measured.metric)
    return [
        pair
        for pair in found.pairs
        if {pair.a, pair.b} == {NEW, OLD} and pair.section is None
        if pair.metric == first[pair.set_index]
    ]


def stored(
    found: Advantage, seconds: tuple[float, float], n_seeds: tuple[int, int]
) -> dict[str, Any]:
    """Return a comparison as it is stored, with the machine that scored."""
    return {
        **{field: round(getattr(found, field), 4) for field in ("difference", "low", "high")},
        "by_set": {name: round(value, 4) for name, value in found.by_set.items()},
        "seconds": {NEW: round(seconds[0], 1), OLD: round(seconds[1], 1)},
        "seeds": {NEW: n_seeds[0], OLD: n_seeds[1]},
        "choose": found.winner(*seconds),
        "machine": harness.machine(),
    }


def add(path: Path, name: str, choice: Mapping[str, Any]) -> None:
    """Write a comparison to a file of them, replacing one of the same name."""
    before = json.loads(path.read_text(encoding="utf-8")) if path.exists() else {}
    write_json(path, {**before, name: choice})


def main() -> None:
    """Print the differences and which side to choose."""
    arguments = harness.parse(__doc__, more=_own_options)
    if arguments.json and not arguments.name:
        raise SystemExit("--json needs --name")
    config = CompareConfig(sets=roles.set_names(SETS, role=ROLE))
    new, old = ([load_vectors(run) for run in runs] for runs in (arguments.new, arguments.old))
    found = advantage(new, old, read_tasks(config), config)
    rows = [[name, f"{value:+.4f}"] for name, value in found.by_set.items()]
    interval = f"{found.difference:+.4f} [{found.low:+.4f} {found.high:+.4f}]"
    print_table(["set", "new - old"], [*rows, ["mean", interval]])
    new_seconds, old_seconds = (
        statistics.mean(map(harness.run_seconds, runs)) for runs in (arguments.new, arguments.old)
    )
    times = new_seconds, old_seconds
    print(f"{times[0]:.0f} s and {times[1]:.0f} s of training; choose {found.winner(*times)}")
    if arguments.json:
        add(arguments.json, arguments.name, stored(found, times, (len(new), len(old))))


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this script."""
    parser.add_argument("--new", type=Path, nargs="+", required=True, help="a run of each seed")
    parser.add_argument("--old", type=Path, nargs="+", required=True, help="a run of each seed")
    parser.add_argument("--name", help="of the comparison in the file")


if __name__ == "__main__":
    main()
