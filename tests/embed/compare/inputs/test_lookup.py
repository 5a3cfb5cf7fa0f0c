"""Lookup of words: substitutes for unknown words, phrases, zero vectors."""

import numpy as np
import pytest
import scipy.sparse

from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.inputs.lookup import find_words, has_zero
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.refusals import message_of

WORDS = ["new", "york", "new_jersey", "blank"]
MATRIX = np.array([[4, 0], [0, 2], [1, 1], [0, 0]], dtype=np.float32)


@pytest.fixture(params=["dense", "sparse"])
def vectors(request):
    """Four words in the plane."""
    return WordVectors(
        WORDS, scipy.sparse.csr_matrix(MATRIX) if request.param == "sparse" else MATRIX
    )


def rows_of(matrix):
    return matrix.tolist() if isinstance(matrix, np.ndarray) else matrix.toarray().tolist()


def test_one_vector_replaces_all_unknown_words(vectors):
    texts = ["york", "x", "y", "new york"]

    found = find_words(vectors, texts)
    assert found.rows == {"york": 1, "x": -1, "y": -1, "new york": -1}
    assert rows_of(found.composed) == []
    for unknown, expected in (("zero", [0, 0]), ("mean", [1.25, 0.75])):
        found = find_words(vectors, texts, unknown)
        assert found.rows == {"york": 1, "x": 4, "y": 4, "new york": 4}
        assert rows_of(found.composed) == [expected]
        assert found.unseen == []
        assert not found.has_composed(np.array([[1, 4]])).any()


def test_no_substitute_if_all_words_are_known(vectors):
    assert rows_of(find_words(vectors, ["new"], "mean").composed) == []


def test_a_phrase_is_one_word_or_else_the_mean_of_its_words(vectors):
    texts = ["New_York", "new york", "new_jersey", "new_haven", "_", "york"]

    found = find_words(vectors, texts, phrases=True)

    assert found.rows == {
        "New_York": 4,
        "new york": 5,
        "new_jersey": 2,
        "new_haven": -1,
        "_": -1,
        "york": 1,
    }
    assert rows_of(found.composed) == [[2, 1], [2, 1]]
    assert found.has_composed(np.array([[4, 1], [2, 1]])).tolist() == [True, False]
    assert find_words(vectors, texts, "zero", phrases=True).rows["new_haven"] == 6


def test_rows_follow_the_order_of_texts(vectors):
    found = find_words(vectors, ["york", "new"])

    assert found.places(["new", "york", "new"]).tolist() == [0, 1, 0]


def test_items_with_a_zero_vector_of_the_vocabulary_are_found(vectors):
    places = np.array([[0, 3], [0, 1], [4, 4], [-1, 2], [3, 3]])

    assert has_zero(vectors, places).tolist() == [True, False, False, False, True]


def test_a_non_finite_mean_is_refused():
    matrix = np.array([[1, 0], [np.inf, 1]], dtype=np.float32)

    assert message_of(
        ArtifactError, find_words, WordVectors(["a", "b"], matrix, name="broken"), ["c"], "mean"
    ) == ("broken: the vector of 'b' holds NaN or infinity; train the run again")
