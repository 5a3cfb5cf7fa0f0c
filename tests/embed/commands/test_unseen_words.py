"""Queries for words outside the vocabulary, composed from n-grams."""

import json

import numpy as np
import pytest

from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.neighbors import analogy, nearest, similarity
from tests.calls import command, output
from tests.embed.fasttext_model import fasttext_bytes, some_inputs, write_run

WORDS = ["river", "rivers", "sea", "mountain", "schön", "图书馆", "a"]
NOTE = "{!r} is not in the vocabulary; its vector is composed of its n-grams\n"


@pytest.fixture(params=["run", "bin"])
def run(request, tmp_path):
    """A run trained with n-grams, and a fastText file."""
    if request.param == "run":
        write_run(tmp_path / "run", WORDS, dim=6)
        return str(tmp_path / "run")
    path = tmp_path / "model.bin"
    path.write_bytes(fasttext_bytes(WORDS, some_inputs(len(WORDS), 99, 6), longest=4))
    return str(path)


def cosines(run, word):
    """Return the cosine of every word with one word, by the definition."""
    vectors = load_vectors(run)
    matrix = vectors.matrix.astype(np.float64)
    vector = vectors.vector(word).astype(np.float64)
    return dict(
        zip(
            vectors.vocabulary,
            matrix @ vector / np.linalg.norm(matrix, axis=1) / np.linalg.norm(vector),
            strict=True,
        )
    )


@pytest.mark.parametrize("word", ["rivery", "schöner", "图书", "😀river"])
def test_neighbors_of_an_unseen_word(run, word):
    result = command("neighbors", run, word, "river", "--json", "-k", "99")
    assert (result.exit_code, result.stderr) == (0, NOTE.format(word))
    answers = json.loads(result.stdout)
    found = {entry["neighbor"]: entry["cosine"] for entry in answers[word]}
    assert found == pytest.approx(cosines(run, word), abs=1e-6)  # its own row is not left out
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert [entry["neighbor"] for entry in answers["river"]].count("river") == 0


def test_similarity_with_an_unseen_word(run):
    found = json.loads(output("similarity", run, "rivery", "sea", "--json"))
    assert found["cosine"] == pytest.approx(cosines(run, "rivery")["sea"])
    again = output("similarity", run, "rivery", "rivery")
    assert again == "rivery           rivery            1.0000\n"


@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_an_analogy_with_an_unseen_word_answers_from_the_vocabulary(run, method):
    words = ("river", "rivers", "seas", "--method", method, "--json")
    answers = json.loads(output("analogy", run, *words))["answers"]
    assert {entry["word"] for entry in answers} == set(WORDS) - {"river", "rivers"}
    near = {word: cosines(run, word) for word in ("river", "rivers", "seas")}
    if method == "3cosmul":
        expected = {
            word: (near["rivers"][word] + 1) * (near["seas"][word] + 1) / 4
            / ((near["river"][word] + 1) / 2 + 0.001)
            for word in WORDS
        }  # fmt: skip
        for entry in answers:
            assert entry["score"] == pytest.approx(expected[entry["word"]], abs=1e-6)
    else:
        sums = {w: near["rivers"][w] - near["river"][w] + near["seas"][w] for w in WORDS}
        assert [entry["word"] for entry in answers] == sorted(
            (entry["word"] for entry in answers), key=sums.__getitem__, reverse=True
        )


def test_the_python_functions_accept_unseen_words(run):
    vectors = load_vectors(run)
    [neighbors] = nearest(vectors, ["seas"], 3)
    assert len(neighbors) == 3
    assert similarity(vectors, "seas", neighbors[0].word) == pytest.approx(neighbors[0].score)
    assert analogy(vectors, "seas", "seas", "seas", 7) == nearest(vectors, ["seas"], 7)[0]
