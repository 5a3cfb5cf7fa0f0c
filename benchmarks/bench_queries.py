"""The first query on a large run, as a whole process, against one plain pass over the matrix.

Random vectors (1M x 300 by default) are written to a temporary folder first. The plain pass is
numpy's sum over the memory-mapped file, in its own process. gensim's ``most_similar`` answers the
same query on the same matrix, memory-mapped from its own save format.
"""

import argparse
import sys
import tempfile
from pathlib import Path

import harness
import numpy as np

from firth.embed.formats.vector_files import load_vectors, write_vectors
from firth.embed.vectors.neighbors import nearest
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.vectors.wordlist import write_words

PLAIN = "import sys, numpy; print(numpy.load(sys.argv[1], mmap_mode='r').sum())"
GENSIM = (
    "import sys; from gensim.models import KeyedVectors; "
    "print(KeyedVectors.load(sys.argv[1], mmap='r').most_similar(sys.argv[2]))"
)


def options(parser: argparse.ArgumentParser) -> None:
    """Add the size of the run."""
    parser.add_argument("--words", type=int, default=1_000_000, help="V")
    parser.add_argument("--dim", type=int, default=300, help="D")


def make(folder: Path, n_words: int, dim: int) -> None:
    """Write a run of random vectors."""
    shape = (n_words, dim)
    path = folder / "vectors.npy"
    matrix = np.lib.format.open_memmap(path, mode="w+", dtype=np.float32, shape=shape)
    rng = np.random.default_rng(1)
    for start in range(0, n_words, 50_000):
        part = matrix[start : start + 50_000]
        part[:] = rng.standard_normal(part.shape, dtype=np.float32)
    words = [f"{'w' if row % 3 else 'word'}{row:x}" for row in range(n_words)]
    write_words(folder / "vocabulary.tsv", words, np.arange(n_words, 0, -1))


def main() -> None:
    """Time whole processes, then batches within one."""
    arguments = harness.parse(__doc__, repeats=3, more=options)
    with tempfile.TemporaryDirectory() as name:
        run, keyed = Path(name), Path(name) / "gensim" / "kv"
        make(run, arguments.words, arguments.dim)
        vectors = load_vectors(run)
        word = vectors.vocabulary[arguments.words * 7 // 10]
        write_vectors(vectors, keyed, "gensim")
        python = sys.executable
        ours = "firth neighbors"
        measured = harness.time_processes(
            {
                ours: [python, "cli.py", "neighbors", str(run), word],
                "plain pass": [python, "-c", PLAIN, str(run / "vectors.npy")],
                "gensim most_similar": [python, "-c", GENSIM, str(keyed), word],
            },
            arguments.repeats,
        )
        excess = measured[ours].median - measured["plain pass"].median
        notes = {"seconds beyond the plain pass": round(excess, 3), **batches(vectors)}
        harness.report(
            "First query",
            measured,
            ours=ours,
            work=arguments.words * arguments.dim * 4 / 1e6,
            unit="MB",
            arguments=arguments,
            notes=notes,
        )


def batches(vectors: WordVectors) -> dict[str, float]:
    """Return seconds per word, alone and in batches, within one process."""
    notes = {}
    for n in (1, 100):
        words = list(vectors.vocabulary[:n])
        timed = harness.time_functions({"batch": lambda words=words: nearest(vectors, words)}, 3)
        notes[f"seconds per word in a batch of {n}"] = round(timed["batch"].median / n, 4)
    return notes


if __name__ == "__main__":
    main()
