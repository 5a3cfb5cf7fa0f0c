"""Google analogies: Firth against gensim's evaluation of the same vectors.

Both read the file and answer its questions among the same candidates; Firth by 3CosAdd, 3CosMul and
PairDirection, gensim by 3CosAdd. Without ``--run`` the vectors are synthetic: they contain every
word of the questions, with its relations plus noise.
"""

import argparse
from pathlib import Path

import harness
import numpy as np

from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.questions import read_questions
from firth.embed.compare.datasets.word_pairs import default_sets
from firth.embed.compare.tasks.analogy.analogies import AnalogyTask
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.word_vectors import WordVectors


def synthetic_vectors(path: Path, n_words: int, dim: int) -> WordVectors:
    """Return vectors in which pairs of the same section differ by the same offset, plus noise."""
    rng = np.random.default_rng(1)
    matrix = rng.standard_normal((n_words, dim), dtype=np.float32)
    rows: dict[str, int] = {}
    moves: dict[str, np.ndarray] = {}
    for question in read_questions(path):
        a, b, c, d = (word.lower() for word in question.words)
        move = moves.setdefault(question.section, rng.standard_normal(dim, dtype=np.float32))
        for left, right in ((a, b), (c, d)):
            start = rows.setdefault(left, len(rows))
            if right not in rows:
                rows[right] = len(rows)
                matrix[rows[right]] = matrix[start] + move + 0.8 * matrix[rows[right]]
    filler = (f"w{number}" for number in range(len(rows), n_words))
    order = rng.permutation(n_words)
    words = [*rows, *filler]
    return WordVectors([words[row] for row in order], matrix[order])


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=1, more=_own_options)
    from gensim.models import KeyedVectors

    path = default_sets()[2][1]
    vectors = (
        load_vectors(arguments.run)
        if arguments.run
        else synthetic_vectors(path, arguments.words, arguments.dim)
    )
    config = CompareConfig(restrict=arguments.words)
    theirs = KeyedVectors(vectors.matrix.shape[1])
    theirs.add_vectors(list(vectors.vocabulary), np.asarray(vectors.matrix))

    def ours() -> tuple[float, int]:
        task = AnalogyTask.read(path, config)
        accuracy, *_ = task.measure(vectors, task.known(vectors))
        asked = len(accuracy.items)
        assert accuracy.statistic is not None, accuracy.reason
        return float(accuracy.statistic.evaluate(np.ones((1, asked), dtype=np.int32))[0]), asked

    def gensim() -> tuple[float, int]:
        accuracy, sections = theirs.evaluate_word_analogies(
            str(path), restrict_vocab=arguments.words
        )
        return accuracy, len(sections[-1]["correct"]) + len(sections[-1]["incorrect"])

    measured = harness.time_functions(
        {"firth": ours, "gensim": gensim}, arguments.repeats, keep_outputs=True
    )
    (score, used), (their_score, their_used) = (m.outputs[0] for m in measured.values())
    harness.report(
        "Google analogies",
        measured,
        ours="firth",
        work=used / 1e3,
        unit="k questions",
        arguments=arguments,
        notes={
            "accuracy (3CosAdd)": f"firth {score:.4f}, gensim {their_score:.4f}",
            "questions asked": f"firth {used}, gensim {their_used}",
            "candidates": min(arguments.words, len(vectors.vocabulary)),
            "dimensions": vectors.matrix.shape[1],
        },
    )


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument(
        "--run", type=Path, help="a run or vectors file, instead of synthetic vectors"
    )
    parser.add_argument("--words", type=int, default=30_000, help="candidates")
    parser.add_argument("--dim", type=int, default=300, help="of the synthetic vectors")


if __name__ == "__main__":
    main()
