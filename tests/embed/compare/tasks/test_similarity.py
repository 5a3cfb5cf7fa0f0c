"""Similarity: hand-worked ranks, gensim's own evaluation, and undefined scores."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import ArtifactError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.word_pairs import WordPair, default_sets
from firth.embed.compare.tasks.similarity import SimilarityTask, pair_cosines
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.measuring import ask, score, scores
from tests.embed.compare.refusals import message_of


def naive_spearman(x, y):
    """Pearson's correlation of mean ranks, by counting."""

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
def test_both_correlations_match_their_definitions(pairs):
    judged, angles = np.array(pairs, dtype=np.float64).T
    words = ["base", *(f"w{place}" for place in range(len(pairs)))]
    turned = np.column_stack([np.cos(angles / 2), np.sin(angles / 2)])
    vectors = WordVectors(words, np.vstack([[1, 0], turned]).astype(np.float32))
    task = SimilarityTask(
        "set", [WordPair("base", w, j) for w, j in zip(words[1:], judged, strict=True)]
    )

    found = scores(task, vectors)

    if len(set(judged)) == 1 or len(set(angles)) == 1:
        assert found == {"spearman": None, "pearson": None}
    else:
        expected = naive_spearman(judged.tolist(), (-angles).tolist())
        assert found["spearman"] == pytest.approx(expected, abs=1e-12)
        expected = np.corrcoef(judged, np.cos(angles / 2))[0, 1]
        assert found["pearson"] == pytest.approx(expected, abs=1e-6)


@pytest.mark.parametrize(
    ("pairs", "used", "reason"),
    [
        ([("x", "y", 1.0), ("man", "y", 2.0)], 0, "no pair is known"),
        ([("x", "y", 1.0), ("man", "king", 2.0)], 1, "only one pair is known"),
        ([("man", "woman", 1.0), ("man", "king", 1.0)], 2, "all judgments are equal"),
        ([("man", "king", 1.0), ("man", "king", 2.0)], 2, "all cosines are equal"),
    ],
)
def test_undefined_scores_give_the_reason(tiny, pairs, used, reason):
    task = SimilarityTask("set", [WordPair(*pair) for pair in pairs])

    for result in ask(task, tiny):
        assert (score(result), len(result.items), result.items_total) == (None, used, 2)
        assert result.reason == reason


def test_words_pass_through_the_vectors_own_segmentation():
    class LowerCased:
        of_tokens = False

        def words(self, text):
            return text.lower().replace("-", " - ").split()

    vectors = WordVectors(["new", "york", "old"], np.eye(3, dtype=np.float32), text=LowerCased())
    pairs = [WordPair("NEW", "Old", 1), WordPair("new-york", "old", 2), WordPair("York", "new", 3)]

    result, _ = ask(SimilarityTask("set", pairs), vectors)

    assert (result.items.tolist(), result.items_total) == ([0, 2], 3)


def test_only_the_given_items_are_scored(tiny):
    judged = [("woman", 1.0), ("king", 3.0), ("queen", 2.0), ("apple", 4.0)]
    task = SimilarityTask("set", [WordPair("man", word, score) for word, score in judged])

    [result, _] = task.measure(tiny, np.array([True, True, True, False]))

    assert result.items.tolist() == [0, 1, 2]
    assert score(result) == pytest.approx(1.0)


def test_unknown_words_may_be_zero_or_the_mean(tiny):
    pairs = [WordPair("man", "king", 3), WordPair("pear", "king", 2), WordPair("pear", "plum", 1)]
    task = SimilarityTask("set", pairs)

    assert task.known(tiny).tolist() == [True, False, False]
    for unknown in ("zero", "mean"):
        assert task.known(tiny, unknown).all()
    # cosines: king with man 3 / sqrt 10, with zero 0; zero with zero 0
    zero, _ = ask(task, tiny, "zero")
    assert score(zero) == pytest.approx(1.5 / (2 * 1.5) ** 0.5)
    assert (zero.items_composed, zero.items_zero) == (0, 0)
    # the mean of all rows is (5, 3) / 5: nearer to king than man is, and like itself
    assert scores(task, tiny, "mean")["spearman"] == pytest.approx(-1.0)


def test_items_with_a_zero_vector_are_counted():
    vectors = WordVectors(["a", "b", "c"], np.array([[1, 0], [0, 0], [1, 1]], dtype=np.float32))
    pairs = [WordPair("a", "b", 1), WordPair("b", "c", 2), WordPair("a", "c", 3)]

    result, _ = ask(SimilarityTask("set", pairs), vectors)

    assert result.items_zero == 2
    assert score(result) == pytest.approx(1.5 / (2 * 1.5) ** 0.5)


@pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix], ids=["dense", "sparse"])
def test_words_paired_with_themselves_tie(form):
    words = [f"w{row}" for row in range(40)]
    matrix = np.random.default_rng(3).normal(size=(40, 50)).astype(np.float32)
    vectors = WordVectors(words, form(matrix))
    own = [WordPair(word, word, place) for place, word in enumerate(words[:30])]

    result, _ = ask(SimilarityTask("set", own), vectors)
    assert result.reason == "all cosines are equal"

    others = [WordPair(a, b, 31.0) for a, b in zip(words, words[10:], strict=False)]
    expected = naive_spearman([pair.score for pair in own + others], [1.0] * 30 + [
        round(float(cosine), 12) for cosine in pair_cosines(
            vectors, np.array([[place, place + 10] for place in range(30)])
        )
    ])  # fmt: skip
    assert scores(SimilarityTask("set", own + others), vectors)["spearman"] == pytest.approx(
        expected, abs=1e-12
    )


def test_sparse_and_dense_vectors_give_the_same_cosines():
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

    assert message_of(
        ArtifactError, ask, SimilarityTask("set", [WordPair("a", "b", 1.0)]), vectors
    ) == ("broken.vec: the vector of 'b' holds NaN or infinity; train the run again")


@pytest.mark.slow
@pytest.mark.parametrize("number", [0, 1], ids=["wordsim353", "simlex999"])
def test_gensim_gives_the_same_correlations_and_coverage(synthetic, number):
    KeyedVectors = pytest.importorskip("gensim.models").KeyedVectors
    path = default_sets()[number][1]

    half = len(synthetic.vocabulary) // 2
    words, matrix = list(synthetic.vocabulary[:half]), np.asarray(synthetic.matrix[:half])
    theirs = KeyedVectors(matrix.shape[1])
    theirs.add_vectors(words, matrix)

    ranked, plain = ask(SimilarityTask.read(path, CompareConfig()), WordVectors(words, matrix))
    pearson, spearman, unknown = theirs.evaluate_word_pairs(str(path))

    assert score(ranked) == pytest.approx(spearman[0], abs=1e-6)
    assert score(plain) == pytest.approx(pearson[0], abs=1e-6)
    assert 100 * (1 - len(ranked.items) / ranked.items_total) == pytest.approx(unknown)


def test_pairs_know_the_words_that_they_share(tiny):
    pairs = [("Man", "king"), ("queen", "man"), ("apple", "nosuch"), ("king", "queen")]
    task = SimilarityTask("set", [WordPair(a, b, n) for n, (a, b) in enumerate(pairs)])

    spearman, pearson = ask(task, tiny)

    [(man, king), (queen, again), other] = spearman.words.tolist()
    assert (man, [king, queen]) == (again, other)  # whatever the case, and without the unknown
    assert len({man, king, queen}) == 3
    part = pearson.part("band", np.array([True, False, False, True]))
    assert part.words.tolist() == [[man, king], [king, queen]]
