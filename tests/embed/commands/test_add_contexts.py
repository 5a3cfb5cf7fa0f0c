"""--add-contexts of the query commands and of compare; for export see test_export."""

import json

import numpy as np
import pytest

from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, refusal

WORDS = ["man", "king", "woman", "queen"]
MATRIX = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1]], np.float32)
SUMS = np.array([[0, 1, 0], [1, 0, 0], [0, 1, 0], [0, 0, 1]], np.float32)


@pytest.fixture
def runs(tmp_path):
    """Two runs with the same word vectors; the first also has context vectors."""
    for name in ("both", "words"):
        (tmp_path / name).mkdir()
        WordVectors(WORDS, MATRIX).write(tmp_path / name)
    np.save(tmp_path / "both" / "contexts.npy", SUMS - MATRIX)
    return [str(tmp_path / name) for name in ("both", "words")]


@pytest.mark.parametrize(
    ("words", "first_line"),
    [
        (["neighbors", "-k", "1", "man"], "man                1  woman                 1.0000\n"),
        (["similarity", "man", "woman"], "man              woman             1.0000\n"),
        (["similarity", "man", "king"], "man              king              0.0000\n"),
        (
            ["analogy", "-k", "1", "man", "woman", "queen"],
            "man : woman = queen : ?    1  king                  0.0000\n",
        ),
    ],
)
def test_queries_use_the_sums(runs, words, first_line):
    name, *words = words
    result = command(name, runs[0], *words, "--add-contexts")
    assert (result.exit_code, result.stderr, result.stdout) == (0, "", first_line)
    assert command(name, runs[0], *words).stdout != first_line


@pytest.mark.parametrize(
    "words", ["neighbors man", "similarity man king", "analogy man king woman", "compare"]
)
def test_a_run_without_contexts_is_refused(runs, pairs, words):
    name, *words = words.split()
    words += ["--similarity", pairs] if name == "compare" else []
    assert refusal(name, runs[1], *words, "--add-contexts") == (
        f"--add-contexts: {runs[1]} has no context vectors (contexts.npy); only runs of "
        "skip-gram and CBOW with negative sampling have them"
    )


@pytest.fixture
def pairs(tmp_path):
    """A set of word pairs that only the sums rank as humans do."""
    path = tmp_path / "pairs.tsv"
    path.write_text("man\twoman\t9\nman\tking\t1\nman\tqueen\t1\n")
    return str(path)


def test_compare_names_the_runs_with_and_without_added_contexts(runs, pairs):
    result = command("compare", *runs, pairs, "--add-contexts", "--json")
    scores = {entry["run"]: entry["score"] for entry in json.loads(result.stdout)["results"]}
    assert list(scores)[:2] == [f"{runs[0]} w+c", runs[1]]
    assert scores[f"{runs[0]} w+c"] == 1.0
    assert scores[runs[1]] < 0
    assert result.stderr == f"{runs[1]}: has no context vectors, compared as it is\n"
