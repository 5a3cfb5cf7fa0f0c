"""Words per second of skip-gram and CBOW: Firth against gensim, pWord2Vec and fastText.

Whole processes, from program start to vectors on disk; each reads its own form of the same text:
Firth its corpus, gensim and fastText a file with a paragraph per line, pWord2Vec numbers (our own
program after the paper, over SciPy's BLAS). gensim counts the words as it always does; so does
fastText, which does not save because it would write all its buckets. A word is a token of the view,
before subsampling, in one epoch. All train with window 5, 5 negatives, subsampling at 1e-3 and a
learning rate of 0.025.

The speed of threads with shared tables depends on the communication between cores, which is
measured before and after (cores of one processor without a shared cache take several times as
long).
"""

import argparse
import itertools
import json
import multiprocessing
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import numba
import numpy as np
import roles

from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.view import View
from firth.embed.word2vec.kernels.barrier import wait_for_all

ROLE = roles.REPORTING
HERE = Path(__file__).resolve().parent
PEER = HERE / "pword2vec_peer.cpp"
CASES = (
    "skipgram", "skipgram-300", "cbow", "cbow-300", "subwords", "threads", "threads-cbow",
    "deterministic",
)  # fmt: skip

FIRTH = """
import json, sys
from firth.corpora.store.corpus import Corpus
import firth
method, corpus, out, options = sys.argv[1], sys.argv[2], sys.argv[3], json.loads(sys.argv[4])
config = {"skipgram": firth.SkipGramConfig, "cbow": firth.CbowConfig}[method]
train = {"skipgram": firth.train_skipgram, "cbow": firth.train_cbow}[method]
train(Corpus.open(corpus), config(**options), out, force=True)
"""
GENSIM = """
import json, sys
import numpy as np
from gensim.models import Word2Vec
model = Word2Vec(corpus_file=sys.argv[1], **json.loads(sys.argv[3]))
np.save(sys.argv[2], model.wv.vectors)
print(model.total_train_time)
"""
FASTTEXT = """
import json, sys
import fasttext
fasttext.train_unsupervised(sys.argv[1], verbose=0, **json.loads(sys.argv[2]))
"""


@dataclass
class Bench:
    """The text in every form, and the folder for results."""

    corpus: Path
    folder: Path
    arguments: argparse.Namespace

    @property
    def options(self) -> dict[str, Any]:
        """The options of all of Firth's runs."""
        return {
            "window": 5, "negatives": 5, "subsample": 1e-3, "learning_rate": 0.025,
            "epochs": self.arguments.epochs, "threads": self.arguments.threads,
        }  # fmt: skip

    def firth(self, method: str = "skipgram", **options: Any) -> list[str]:
        """Return the command of a Firth run."""
        out, options = str(self.folder / "firth"), {**self.options, **options}
        return _python(FIRTH, method, self.corpus, out, json.dumps(options))

    def gensim(self, *, sg: int, dim: int = 100) -> list[str]:
        """Return the command of a gensim run with the same options."""
        options = {
            "vector_size": dim, "window": 5, "negative": 5, "sample": 1e-3, "alpha": 0.025,
            "min_count": 1, "sg": sg, "cbow_mean": 1, "epochs": self.arguments.epochs,
            "workers": self.arguments.threads,
        }  # fmt: skip
        return _python(
            GENSIM,
            self._form("lines.txt", write_lines),
            self.folder / "gensim.npy",
            json.dumps(options),
        )

    def fasttext(self) -> list[str] | None:
        """Return the command of a fastText run with subwords; None if it is not installed."""
        python = self.arguments.fasttext_python
        if not python or subprocess.run([python, "-c", "import fasttext"], check=False).returncode:
            print("left out: fastText; --fasttext-python names a Python that has it")
            return None
        options = {
            "model": "skipgram", "dim": 100, "ws": 5, "neg": 5, "t": 1e-3, "lr": 0.025, "minn": 3,
            "maxn": 6, "bucket": 2_000_000, "minCount": 1, "epoch": self.arguments.epochs,
            "thread": self.arguments.threads,
        }  # fmt: skip
        return [
            python,
            "-c",
            FASTTEXT,
            str(self._form("lines.txt", write_lines)),
            json.dumps(options),
        ]

    def pword2vec(self, dim: int = 100) -> list[str] | None:
        """Return the command of the program after Ji et al.; None if it cannot be compiled."""
        blas = scipy_blas()
        if not shutil.which("g++") or not blas:
            print("left out: pWord2Vec; it needs g++ and a SciPy that brings OpenBLAS")
            return None
        program = self.folder / "pword2vec"
        if not program.exists():
            flags = ["-O3", "-march=native", "-ffast-math", "-std=c++17", "-pthread"]
            subprocess.run(["g++", *flags, PEER, "-o", program, "-ldl"], check=True)
        numbers = (dim, 5, 5, 1e-3, 0.025, self.arguments.epochs, self.arguments.threads, 1)
        files = (
            program,
            blas,
            self._form("numbers.bin", write_numbers),
            self.folder / "pword2vec.f32",
        )
        return [str(part) for part in (*files, *numbers)]

    def _form(self, name: str, write: Callable[[Path, Path], None]) -> Path:
        """Return a form of the text, written once."""
        path = self.folder / name
        if not path.exists():
            apart(write, self.corpus, path)
        return path


def apart(function: Callable[..., Any], *arguments: Any) -> Any:
    """Call a function in another process, so that its memory is not inherited by the candidates."""
    with ProcessPoolExecutor(1, mp_context=multiprocessing.get_context("spawn")) as pool:
        return pool.submit(function, *arguments).result()


def open_text(source: str | Path) -> tuple[Path, int]:
    """Return a corpus directory, perhaps built in the cache, and the number of training tokens."""
    corpus = open_or_build(source).path
    return corpus, open_view(corpus).n_tokens


def open_view(corpus: Path) -> View:
    """Return the words and text that both methods train on by default."""
    return Corpus.open(corpus).view(min_count=5, punctuation="drop", boundary="paragraph")


def write_lines(corpus: Path, path: Path) -> None:
    """Write a paragraph per line."""
    write_view(open_view(corpus), path)


def write_view(view: View, path: Path) -> None:
    """Write a paragraph per line; split long ones because gensim drops their ends."""
    with open(path, "w", encoding="utf-8") as file:
        for rows, offsets in view.shards():
            words = [view.words[row] for row in rows.tolist()]
            for first, last in itertools.pairwise(offsets.tolist()):
                for start in range(first, last, 5000):
                    print(*words[start : min(start + 5000, last)], file=file)


def write_numbers(corpus: Path, path: Path) -> None:
    """Write the numbers of words and tokens, the counts and the rows; -1 ends a paragraph."""
    view = open_view(corpus)
    rows = [np.insert(rows, offsets[1:], np.int32(-1)) for rows, offsets in view.shards()]
    tokens = np.concatenate(rows).astype(np.int32)
    with open(path, "wb") as file:
        np.array([len(view.counts), len(tokens)], dtype=np.int64).tofile(file)
        view.counts.astype(np.int64).tofile(file)
        tokens.tofile(file)


def scipy_blas() -> Path | None:
    """Return the OpenBLAS library in SciPy's wheel."""
    import scipy

    folder = Path(scipy.__file__).parents[1] / "scipy.libs"
    return next(iter(sorted(folder.glob("libscipy_openblas-*.so*"))), None)


def candidates(bench: Bench, case: str) -> dict[str, list[str] | None]:
    """Return the commands to measure, ours first; None for those not available."""
    kind, _, rest = case.partition("-")
    if kind in ("skipgram", "cbow"):
        dim = int(rest or 100)
        found = {
            "firth": bench.firth(kind, dim=dim),
            "gensim corpus_file": bench.gensim(sg=int(kind == "skipgram"), dim=dim),
        }
        return {**found, "pWord2Vec": bench.pword2vec(dim)} if kind == "skipgram" else found
    if kind == "subwords":
        return {"firth": bench.firth(subwords="3-6"), "fastText": bench.fasttext()}
    if kind == "deterministic":
        return {"firth": bench.firth(), "deterministic": bench.firth(deterministic=True)}
    method = rest or "skipgram"
    return {"firth": bench.firth(method), "1 thread": bench.firth(method, threads=1)}


def round_trip(turns: int = 20_000) -> int:
    """Return the round-trip time between two cores in ns, best of five."""
    best = float("inf")
    for _ in range(5):
        counter = np.zeros(1, dtype=np.int64)
        with ThreadPoolExecutor(2) as pool:
            begun = time.perf_counter()
            list(pool.map(_meetings, [counter] * 2, [turns] * 2))
            best = min(best, time.perf_counter() - begun)
    return round(best / turns * 1e9)


@numba.njit(nogil=True)
def _meetings(counter: Any, turns: Any) -> None:
    """Exchange a value with another thread, again and again."""
    for turn in range(1, turns + 1):
        wait_for_all(counter, 2 * turn)


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=3, more=_own_options)
    source = arguments.corpus or harness.unpacked(roles.open_text("enwiki2015-AA", role=ROLE))
    corpus, n_tokens = apart(open_text, source)
    with tempfile.TemporaryDirectory() as folder:
        bench = Bench(corpus, Path(folder), arguments)
        commands = {name: c for name, c in candidates(bench, arguments.case).items() if c}
        _compile(commands)
        before = round_trip()
        measured = harness.time_processes(commands, arguments.repeats, memory=arguments.memory)
        talk = {"round trip between two cores, ns, before and after": [before, round_trip()]}
    harness.report(
        f"word2vec: {arguments.case}, {arguments.epochs} epochs, {arguments.threads} threads",
        measured,
        ours="firth",
        work=n_tokens * arguments.epochs / 1e6,
        unit="M words",
        arguments=arguments,
        notes={**ratios(measured), **talk},
    )


def ratios(measured: dict[str, harness.Measurement]) -> dict[str, Any]:
    """Return the speed of Firth relative to each other program, by medians."""
    ours = measured["firth"].median
    notes: dict[str, Any] = {
        f"firth : {name}": round(entry.median / ours, 3)
        for name, entry in measured.items()
        if name != "firth"
    }
    for name, entry in measured.items():
        if name != "firth" and any(output.strip() for output in entry.outputs):
            seconds = sorted(float(output) for output in entry.outputs)[len(entry.outputs) // 2]
            notes[f"training alone, seconds, {name}"] = round(seconds, 2)
    return notes


def _compile(commands: dict[str, list[str]]) -> None:
    """Run each Firth candidate for one epoch, so that kernels are compiled before timing."""
    for command in commands.values():
        if FIRTH in command:
            options = {**json.loads(command[-1]), "epochs": 1}
            harness.run_process([*command[:-1], json.dumps(options)])


def _python(code: str, *arguments: object) -> list[str]:
    """Return the command line of a Python program."""
    return [sys.executable, "-c", code, *map(str, arguments)]


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--case", choices=CASES, default=CASES[0], help="what to compare")
    parser.add_argument("--corpus", help="a corpus instead of the reference corpus")
    parser.add_argument("--epochs", type=int, default=5)
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--memory", action="store_true", help="one more run of each, for memory")
    parser.add_argument("--fasttext-python", help="a Python that has the package fasttext")


if __name__ == "__main__":
    main()
