"""Similarity: ranks by hand, gensim's own evaluation, and what is undefined."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from corpora.errors import ArtifactError
from embed.compare.config import CompareConfig
from embed.compare.datasets import WordPair, default_sets
from embed.compare.similarity import SimilarityTask, pair_cosines, spearman
from embed.vectors import WordVectors

SIMILARITY, SIMLEX, _ = (path for _, path in default_sets())


def naive_spearman(x, y):
    """Pearson's correlation of mean ranks, each counted out."""

    def ranks(values):
        return [
            sum(other < value for other in values) + (sum(o == value for o in values) + 1) / 2
            for value in values
        ]

    a, b = ranks(x), ranks(y)
    middle = (len(x) + 1) / 2
    top = sum((p - middle) * (q - middle) for p, q in zip(a, b, strict=True))
    return top / (sum((p - middle) ** 2 for p in a) * sum((q - middle) ** 2 for q in b)) ** 0.5


@given(st.lists(st.tuples(st.integers(0, 5), st.integers(0, 5)), min_size=2, max_size=30))
def test_spearman_matches_the_definition_with_ties(pairs):
    x, y = np.array(pairs, dtype=np.float64).T

    score, reason = spearman(x, y)

    if len(set(x)) == 1 or len(set(y)) == 1:
        assert score is None
        assert reason.endswith("are equal")
    else:
        assert score == pytest.approx(naive_spearman(x, y), abs=1e-12)


def test_spearman_of_a_hand_worked_value():
    # ranks 1 2 3 4 and 1 2.5 2.5 4: covariance 4.5, sums of squares 5 and 4.5
    score, _ = spearman(np.array([1.0, 2.0, 3.0, 10.0]), np.array([0.1, 0.2, 0.2, 0.3]))

    assert score == pytest.approx(4.5 / (5 * 4.5) ** 0.5)


def test_scores_are_numbers_so_ten_ranks_above_two(tmp_path, tiny):
    path = tmp_path / "set.tsv"
    path.write_text("man\tapple\t2.0\nman\twoman\t9\nman\tking\t10.0\n")

    [result] = SimilarityTask.read(path, CompareConfig()).score(tiny)

    assert result.score == pytest.approx(1.0)


@pytest.mark.parametrize(
    ("pairs", "used", "reason"),
    [
        ([("x", "y", 1.0), ("man", "y", 2.0)], 0, "no pair is known"),
        ([("x", "y", 1.0), ("man", "king", 2.0)], 1, "only one pair is known"),
        ([("man", "woman", 1.0), ("man", "king", 1.0)], 2, "all judgements are equal"),
        ([("man", "king", 1.0), ("man", "king", 2.0)], 2, "all cosines are equal"),
    ],
)
def test_what_is_undefined_says_why(tiny, pairs, used, reason):
    task = SimilarityTask("set", [WordPair(*pair) for pair in pairs])

    [result] = task.score(tiny)

    assert (result.score, result.items_used, result.items_total) == (None, used, 2)
    assert result.reason == reason


def test_words_pass_through_the_vectors_own_segmentation():
    class LowerCased:
        def words(self, text):
            return text.lower().replace("-", " - ").split()

    vectors = WordVectors(["new", "york", "old"], np.eye(3, dtype=np.float32), text=LowerCased())
    pairs = [WordPair("NEW", "Old", 1), WordPair("new-york", "old", 2), WordPair("York", "new", 3)]

    [result] = SimilarityTask("set", pairs).score(vectors)

    assert (result.items_used, result.items_total) == (2, 3)


def test_sparse_vectors_give_the_cosines_of_dense_ones():
    rng = np.random.default_rng(3)
    dense = (rng.normal(size=(20, 8)) * (rng.random((20, 8)) < 0.4)).astype(np.float32)
    words = [f"w{row}" for row in range(20)]
    pairs = rng.integers(0, 20, size=(50, 2))

    expected = pair_cosines(WordVectors(words, dense), pairs)
    found = pair_cosines(WordVectors(words, scipy.sparse.csr_matrix(dense)), pairs)

    np.testing.assert_allclose(found, expected, atol=1e-12)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_vectors_that_are_not_finite_are_refused(bad):
    matrix = np.ones((2, 2), dtype=np.float32)
    matrix[1, 0] = bad
    vectors = WordVectors(["a", "b"], matrix, name="broken.vec")

    with pytest.raises(ArtifactError) as error:
        SimilarityTask("set", [WordPair("a", "b", 1.0)]).score(vectors)

    assert str(error.value) == (
        "broken.vec: the vector of 'b' holds NaN or infinity; make the run again"
    )


@pytest.mark.parametrize("path", [SIMILARITY, SIMLEX], ids=lambda path: path.stem)
def test_gensim_gives_the_same_spearman_and_coverage(planted, path):
    from gensim.models import KeyedVectors

    half = len(planted.vocabulary) // 2
    words, matrix = list(planted.vocabulary[:half]), np.asarray(planted.matrix[:half])
    theirs = KeyedVectors(matrix.shape[1])
    theirs.add_vectors(words, matrix)

    [ours] = SimilarityTask.read(path, CompareConfig()).score(WordVectors(words, matrix))
    _, correlation, unknown = theirs.evaluate_word_pairs(str(path))

    assert ours.score == pytest.approx(correlation[0], abs=1e-6)
    assert 100 * (1 - ours.items_used / ours.items_total) == pytest.approx(unknown)
