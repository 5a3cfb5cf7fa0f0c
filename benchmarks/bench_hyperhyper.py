"""Count vectors of hyperhyper beside train-svd: processor seconds and scores on the same words.

Whole processes on the first words of a text, a paragraph per line, with the defaults of both and
one thread: Firth builds a corpus and trains, hyperhyper does the same in memory. Scores are on the
items that both cover.

    python -m venv /tmp/peer && /tmp/peer/bin/pip install hyperhyper==0.3.0
    python benchmarks/bench_hyperhyper.py --peer-python /tmp/peer/bin/python
"""

import argparse
import itertools
import lzma
import os
import resource
import shlex
import sys
import tempfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from statistics import median
from typing import Any

import harness
import roles
from bench_evidence import compared

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.compare.config import CompareConfig

ROLE = roles.REPORTING
SETS = {"similarity": ("ws353", "simlex999"), "analogy": ("questions-words",)}
FIRTH, PEER = "Firth", "hyperhyper 0.3.0"
THREADS = {f"{name}_NUM_THREADS": "1" for name in ("OMP", "OPENBLAS", "MKL", "NUMBA")}
_PEER = """
import sys
import hyperhyper

text, folder, out = sys.argv[1:]
if __name__ == "__main__":
    bunch = hyperhyper.Bunch(folder, hyperhyper.Corpus.from_file(text), force_overwrite=True)
    bunch.svd(evaluate=False, keyed_vectors=True).save_word2vec_format(out, binary=True)
"""


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=3, more=_own_options)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        n_words = write_text(arguments.words, folder / "text.txt")
        os.environ |= THREADS
        os.sched_setaffinity(0, [min(os.sched_getaffinity(0))])  # of the children, too
        commands = {FIRTH: firth(folder), PEER: peer(folder, arguments.peer_python)}
        harness.run_process(commands[FIRTH])  # compiles the kernels
        seconds: dict[str, list[float]] = {system: [] for system in commands}
        for system in harness.turns(list(commands), arguments.repeats):
            seconds[system].append(processor_seconds(commands[system]))
            print(f"{system}: {seconds[system][-1]:.1f} processor seconds", flush=True)
        found = scores({FIRTH: folder / "run", PEER: folder / "peer.bin"})
    times_ours = median(seconds[PEER]) / median(seconds[FIRTH])
    results = {
        system: {
            "processor_seconds": median(of), "least": min(of), "most": max(of), "runs": of,
            "times_ours": times_ours if system == PEER else 1, **found[system],
        }
        for system, of in seconds.items()
    }  # fmt: skip
    columns = ["processor_seconds", "least", "most", *itertools.chain(*SETS.values())]
    rows = [[system, *(f"{row[name]:.3f}" for name in columns)] for system, row in results.items()]
    print_table(["", *columns], rows)
    if arguments.json:
        about = {"benchmark": "hyperhyper", "words": n_words, "results": results}
        write_json(arguments.json, {**about, **harness.machine()})


def write_text(n_words: int, path: Path) -> int:
    """Write the first paragraphs that have this many words; return how many they have."""
    written = 0
    with (
        lzma.open(roles.open_text("enwiki2015-AA", role=ROLE), "rt", encoding="utf-8") as lines,
        open(path, "w", encoding="utf-8") as file,
    ):
        for line in lines:
            if written < n_words and not line.startswith(("<doc ", "</doc>")) and line.strip():
                file.write(line)
                written += len(line.split())
    return written


def firth(folder: Path) -> Sequence[str]:
    """Return the command that builds a corpus and trains."""
    text, corpus, run = (shlex.quote(str(folder / name)) for name in ("text.txt", "corpus", "run"))
    program = f"{shlex.quote(sys.executable)} cli.py"
    build = f"{program} build-corpus {text} --out {corpus} --force"
    return ["sh", "-c", f"{build} && {program} train-svd {corpus} --out {run} --force"]


def peer(folder: Path, python: str) -> Sequence[str]:
    """Return the command of hyperhyper; it starts a worker per core that it counts."""
    script = folder / "peer.py"
    script.write_text(f"import os\nos.cpu_count = lambda: 1\n{_PEER}", encoding="utf-8")
    return [python, str(script), *(str(folder / n) for n in ("text.txt", "bunch", "peer.bin"))]


def processor_seconds(command: Sequence[str]) -> float:
    """Run a command; return the processor seconds of all its processes."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    harness.run_process(command)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def scores(vectors: dict[str, Path]) -> dict[str, dict[str, float]]:
    """Return the scores on the items that all cover, by system and set."""
    config = CompareConfig(sets=roles.set_names(SETS, role=ROLE))
    document = compared({system: [path] for system, path in vectors.items()}, config)
    return {system: dict(_of(system, document["results"])) for system in vectors}


def _of(system: str, results: Sequence[dict[str, Any]]) -> Iterator[tuple[str, float]]:
    """Yield a system's score and number of items for each set."""
    for result in results:
        measured = result["metric"] in ("spearman", "accuracy") and result["shared_items"]
        if measured and result["run"] == system:
            yield result["dataset"], result["score"]
            yield f"{result['dataset']} items", result["items_used"]


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--words", type=int, default=1_000_000, help="of the text")
    parser.add_argument("--peer-python", required=True, help="a Python that has hyperhyper")


if __name__ == "__main__":
    main()
