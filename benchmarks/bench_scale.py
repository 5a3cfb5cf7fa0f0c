"""Memory, disk and time of every step by the size of the text, within a bound of memory.

Texts are made by ``scale_text.py``. Steps are whole commands, run once: build-corpus, train-svd
with 200,000 words, one epoch of skip-gram, and neighbors. Memory is the sampled peak of anonymous
pages, of all processes of a command together: mapped files do not count.
"""

import argparse
import hashlib
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
from scale_text import write_text

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.console import print_table
from firth.corpora.common.peak_memory import peak_memory
from firth.corpora.store.corpus import Corpus


def measured(*words: object) -> dict[str, float]:
    """Run a command of Firth, and return its seconds and peak of anonymous memory."""
    command = [sys.executable, "cli.py", *map(str, words)]
    started = time.perf_counter()
    process = subprocess.Popen(command, cwd=harness.ROOT, stdout=subprocess.DEVNULL)
    with peak_memory(process.pid) as peak:
        status = process.wait()
    if status:
        sys.exit(f"{' '.join(command)}: status {status}")
    return {"seconds": time.perf_counter() - started, "anonymous_bytes": peak.bytes}


def size_of(path: Path) -> int:
    """Return the bytes of a file or folder."""
    files = path.rglob("*") if path.is_dir() else [path]
    return sum(file.stat().st_size for file in files if file.is_file())


def steps(folder: Path, n_words: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Measure all steps on a text of one size."""
    text, corpus = folder / "text.txt", folder / "corpus"
    write_text(text, n_words)
    memory = ["--memory", arguments.memory]
    found: dict[str, Any] = {"text_bytes": size_of(text)}
    made = ["build-corpus", text, "--documents", "block", "--out", corpus]
    found["build-corpus"] = {**measured(*made, *memory), "bytes": size_of(corpus)}
    found["types"] = len(Corpus.open(corpus).vocabulary)
    text.unlink()
    svd = ["train-svd", corpus, "--max-vocabulary", 200_000, "--dim", 300, *memory]
    found["train-svd"] = {
        **measured(*svd, "--out", folder / "svd"), "bytes": size_of(folder / "svd"),
    }  # fmt: skip
    found["bounds"] = {bound: within(bound, folder, corpus) for bound in arguments.bounds}
    found["neighbors"] = measured("neighbors", folder / "svd", "ba", "bada")
    found["train-skipgram"] = skipgram(folder, corpus, memory)
    return found


def skipgram(folder: Path, corpus: Path, memory: list[str]) -> dict[str, float]:
    """Measure an epoch of skip-gram."""
    out = folder / "skipgram"
    found = measured("train-skipgram", corpus, "--epochs", 1, *memory, "--out", out)
    return {**found, "bytes": size_of(out)}


def within(bound: str, folder: Path, corpus: Path) -> dict[str, Any]:
    """Measure train-svd with 50,000 words within a bound of memory."""
    out = folder / f"svd-{bound}"
    found = measured("train-svd", corpus, "--dim", 300, "--memory", bound, "--out", out)
    return {**found, "vectors": hashlib.sha256((out / "vectors.npy").read_bytes()).hexdigest()}


def main() -> None:
    """Measure texts of all sizes."""
    arguments = harness.parse(__doc__, more=_own_options)
    found: dict[str, Any] = {}
    if arguments.json and arguments.json.exists():  # other sizes are kept
        found = read_json(arguments.json)["results"]
    for millions in arguments.millions:
        folder = Path(tempfile.mkdtemp(dir=arguments.folder))
        try:
            found[f"{millions}M"] = steps(folder, millions * 1_000_000, arguments)
        finally:
            shutil.rmtree(folder)
        print_table(
            ["step", "seconds", "anonymous MB", "MB on disk"],
            [
                [name, f"{each['seconds']:.1f}", f"{each['anonymous_bytes'] / 1e6:,.0f}",
                 f"{each.get('bytes', 0) / 1e6:,.0f}"]
                for name, each in rows_of(found[f"{millions}M"])
            ],
            title=f"{millions:,} million words",
        )  # fmt: skip
    if arguments.json:
        about = {"benchmark": "scale", "memory": arguments.memory}
        write_json(arguments.json, {**about, "results": found, **harness.machine()})


def rows_of(found: dict[str, Any]) -> Iterator[tuple[str, dict[str, Any]]]:
    """Yield the steps, and the same step within other bounds."""
    for name, each in found.items():
        if name == "bounds":
            yield from ((f"train-svd, 50,000 words, {bound}", part) for bound, part in each.items())
        elif isinstance(each, dict):
            yield name, each


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add sizes, the bound, and where texts and runs are while they are measured."""
    parser.add_argument("--millions", type=int, nargs="+", default=[10, 100])
    parser.add_argument("--memory", default="4G")
    parser.add_argument("--bounds", nargs="*", default=["8G", "1G", "600M"], help="of train-svd")
    parser.add_argument("--folder", type=Path, help="by default the system's temporary one")


if __name__ == "__main__":
    main()
