"""Functions that take vectors take a path."""

import numpy as np
import pytest

import firth
from firth.corpora.common.errors import ArtifactError
from firth.embed.vectors.word_vectors import CONTEXTS


@pytest.mark.parametrize(
    "answer",
    [
        lambda vectors: firth.nearest(vectors, "King", 2),
        lambda vectors: firth.similarity(vectors, "king", "queen"),
        lambda vectors: firth.analogy(vectors, "man", "king", "woman", 1),
        lambda vectors: firth.map_words(vectors, ["king", "queen", "man"]).places.tolist(),
        lambda vectors: firth.with_contexts(vectors)["king"].tolist(),
    ],
    ids=["nearest", "similarity", "analogy", "map", "contexts"],
)
def test_an_answer_is_the_same_by_path(run, answer):
    opened = firth.load_vectors(run)
    np.save(run / CONTEXTS, np.asarray(opened.matrix))
    assert answer(str(run)) == answer(run) == answer(opened)


def test_a_file_of_vectors_is_written_from_a_path_and_opened_by_one(run, tmp_path):
    file = str(tmp_path / "small.vec")
    firth.write_vectors(run, file, "word2vec-text")
    assert [near.word for near in firth.nearest(file, "king", 3)[0]] == [
        near.word for near in firth.nearest(run, "king", 3)[0]
    ]
    with pytest.raises(ArtifactError, match=r"^none: no such run or vectors file$"):
        firth.nearest("none", "king")
