"""Estimates of --dry-run against what the commands then take.

Texts are made by ``scale_text.py``. A dry run and its command alternate, so that both see the same
load of the machine, which is recorded.
"""

import argparse
import json
import os
import shutil
import statistics
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

import harness
from bench_scale import measured, size_of
from scale_text import write_text

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table


def estimated(*words: object) -> dict[str, Any]:
    """Return the JSON of a dry run."""
    command = [sys.executable, "cli.py", *map(str, words), "--dry-run", "--json"]
    done = subprocess.run(command, cwd=harness.ROOT, stdout=subprocess.PIPE, check=True)
    found: dict[str, Any] = json.loads(done.stdout)
    return found


def compared(words: list[object], out: Path, repeats: int) -> dict[str, Any]:
    """Estimate and run a command in turn; return medians and the ratios of estimate to truth."""
    estimates, truths, load = [], [], []
    for _ in range(repeats):
        estimates.append(estimated(*words))
        truths.append({**measured(*words, "--out", out, "--force"), "disk": size_of(out)})
        load.append(os.getloadavg()[0])
    found = {
        "estimated": {
            name: statistics.median(each[name] for each in estimates)
            for name in ("disk", "memory", "seconds")
        },
        "real": {
            name: statistics.median(each[key] for each in truths)
            for name, key in (
                ("disk", "disk"), ("memory", "anonymous_bytes"), ("seconds", "seconds"),
            )
        },
        "load": max(load),
    }  # fmt: skip
    ratios = {name: found["estimated"][name] / found["real"][name] for name in found["real"]}
    return {**found, "ratio": ratios, "sizes": estimates[-1]}


def steps(folder: Path, millions: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Compare all steps on a text of one size."""
    text, corpus = folder / "text.txt", folder / "corpus"
    write_text(text, millions * 1_000_000)
    memory = ["--memory", arguments.memory]
    commands: dict[str, tuple[list[object], Path]] = {
        "build-corpus": (["build-corpus", text, "--documents", "block", *memory], corpus),
        "train-svd": (
            ["train-svd", corpus, "--max-vocabulary", 200_000, "--dim", 300, *memory],
            folder / "svd",
        ),
        "train-skipgram": (["train-skipgram", corpus, "--epochs", 1], folder / "skipgram"),
        "train-cbow": (["train-cbow", corpus, "--epochs", 1], folder / "cbow"),
    }  # fmt: skip
    return {
        name: compared(words, out, arguments.repeats) for name, (words, out) in commands.items()
    }


def main() -> None:
    """Compare texts of all sizes."""
    arguments = harness.parse(__doc__, repeats=1, more=_own_options)
    found: dict[str, Any] = {}
    for millions in arguments.millions:
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        try:
            found[f"{millions}M"] = steps(folder, millions, arguments)
        finally:
            shutil.rmtree(folder)
        if arguments.json:
            about = {"benchmark": "dry-run", "memory": arguments.memory}
            write_json(arguments.json, {**about, "results": found, **harness.machine()})
    rows = [
        [size, name, *(f"{each['ratio'][key]:.2f}" for key in ("disk", "memory", "seconds")),
         f"{each['real']['seconds']:.1f}", f"{each['load']:.1f}"]
        for size, by_name in found.items()
        for name, each in by_name.items()
    ]  # fmt: skip
    columns = ["text", "step", "disk", "memory", "seconds", "real seconds", "load"]
    print_table(columns, rows, title="estimate / real")


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add sizes, the bound, and where texts and runs are while they are measured."""
    parser.add_argument("--millions", type=int, nargs="+", default=[1, 10], help="of words")
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--folder", type=Path, help="by default the system's temporary one")


if __name__ == "__main__":
    main()
