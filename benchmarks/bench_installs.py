"""What the lists of docs/requirements weigh: MB, packages, seconds, memory of a query.

Each LIST is installed with Firth's WHEEL into an empty environment of its PYTHON, in the versions
of constraints.txt, after a first time that fills pip's cache. Bytes are those of the files,
compiled ones included. RUN answers one query in each; a word outside its vocabulary takes more.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import harness

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table

ROOT = Path(__file__).resolve().parents[1]
QUERY = """
import resource, sys, firth
run = firth.load_vectors(sys.argv[1])
firth.nearest(run, run.vocabulary[9])
if sys.argv[2]:
    run.words("of unknown words")
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6)
"""


def options(parser: argparse.ArgumentParser) -> None:
    """Add the run, the wheel and what is installed."""
    parser.add_argument("run", type=Path)
    parser.add_argument("wheel", type=Path)
    parser.add_argument("installs", nargs="+", metavar="LIST=PYTHON")


def install(python: str, name: str, wheel: Path, folder: Path) -> float:
    """Make an environment as docs/small-installs.md says; return the seconds of pip."""
    subprocess.run([python, "-m", "venv", "--without-pip", folder], check=True)
    pip = (sys.executable, "-m", "pip", "--python", folder / "bin" / "python", "install", "-q")
    listed = ("-c", ROOT / "constraints.txt", "-r", ROOT / "docs" / "requirements" / f"{name}.txt")
    started = time.perf_counter()
    if name == "cpu":
        subprocess.run([*pip, *listed, wheel], check=True)
    else:
        subprocess.run([*pip, *listed], check=True)
        subprocess.run([*pip, "--no-deps", wheel], check=True)
    return time.perf_counter() - started


def peak(folder: Path, run: Path, more: str = "") -> float:
    """Return the most resident memory of a query in MB."""
    command = (folder / "bin" / "python", "-c", QUERY, run.resolve(), more)
    env = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}
    done = subprocess.run(command, env=env, capture_output=True, text=True, check=True)
    return float(done.stdout)


def weigh(python: str, name: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Install a list twice, and measure the second time."""
    for _ in range(2):
        shutil.rmtree(folder, ignore_errors=True)
        seconds = install(python, name, arguments.wheel, folder)
    [packages] = folder.glob("lib/python*/site-packages")
    files = [path for path in packages.rglob("*") if path.is_file()]
    return {
        "MB": sum(path.stat().st_size for path in files) / 1e6,
        "packages": len(list(packages.glob("*.dist-info"))),
        "seconds": seconds,
        "query_MB": peak(folder, arguments.run),
        "unknown_MB": peak(folder, arguments.run, "unknown"),
    }


def main() -> None:
    """Weigh each list."""
    arguments = harness.parse(__doc__, more=options)
    results: dict[str, dict[str, Any]] = {}
    with tempfile.TemporaryDirectory() as folder:
        for each in arguments.installs:
            name, _, python = each.partition("=")
            code = "import sys; print('%d.%d' % sys.version_info[:2])"
            done = subprocess.run([python, "-c", code], capture_output=True, text=True, check=True)
            measured = weigh(python, name, arguments, Path(folder, "environment"))
            results[f"{name}, Python {done.stdout.strip()}"] = measured
    columns = ["MB", "packages", "seconds", "query_MB", "unknown_MB"]
    rows = [[name, *(f"{each[key]:.0f}" for key in columns)] for name, each in results.items()]
    print_table(["list", *columns], rows)
    if arguments.json:
        write_json(arguments.json, {"results": results, **harness.machine()})


if __name__ == "__main__":
    main()
