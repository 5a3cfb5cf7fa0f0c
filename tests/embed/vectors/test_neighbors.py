"""Neighbors, similarities and analogies against their definitions."""

import numpy as np
import pytest
import scipy.sparse
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.embed.compare.inputs.baselines import one_hot
from firth.embed.vectors.neighbors import Neighbor, analogy, nearest, similarity, vector_of
from firth.embed.vectors.search import top_rows, unit_rows
from firth.embed.vectors.word_vectors import WordVectors


def naive_units(matrix):
    """Return rows at unit length in float64; zero rows stay zero."""
    rows = np.asarray(matrix.toarray() if scipy.sparse.issparse(matrix) else matrix, np.float64)
    lengths = np.linalg.norm(rows, axis=1)
    return np.array([r / n if n else r for r, n in zip(rows, lengths, strict=True)])


def naive_best(scores, k, exclude):
    """Rank rows by score, ties by row, one by one."""
    rows = [row for row in range(len(scores)) if row not in exclude]
    return sorted(rows, key=lambda row: (-scores[row], row))[:k]


def make(matrix):
    """Vectors of words w0, w1, ..."""
    return WordVectors([f"w{row}" for row in range(matrix.shape[0])], matrix)


def integers(rows, dim, seed=3):
    """Small integers, whose products are exact in float32, with equal and zero rows."""
    matrix = np.random.default_rng(seed).integers(-2, 3, (rows, dim)).astype(np.float32)
    matrix[rows // 2] = matrix[0]
    matrix[rows // 3] = 0
    return matrix


def in_blocks(vectors, words, k, **sizes):
    """``nearest`` with blocks or batches of another size."""
    rows = [vectors.row(word) for word in words]
    units = unit_rows(vectors.matrix, rows)
    found = top_rows(vectors.matrix, units, k, exclude=[[row] for row in rows], **sizes)
    return [
        [Neighbor(vectors.vocabulary[row], score) for row, score in zip(*each, strict=True)]
        for each in found
    ]


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("k", [1, 3, 50, 1000])
def test_neighbors_match_the_definition(kind, k):
    matrix = integers(101, 5)
    words = ["w0", "w7", "w33", "w100"]
    units = naive_units(matrix)
    found = in_blocks(make(kind(matrix)), words, k, block_floats=64)  # the last one is short
    assert found == nearest(make(kind(matrix)), words, k)
    for word, neighbors in zip(words, found, strict=True):
        row = int(word[1:])
        cosines = units @ units[row]
        assert [round(n.score, 9) for n in neighbors] == [
            round(cosines[r], 9) for r in naive_best(np.round(cosines, 9), k, {row})
        ]
        assert [n.word for n in neighbors] == [
            f"w{r}" for r in naive_best(np.round(cosines, 12), k, {row})
        ]


@pytest.mark.slow
@given(
    rows=st.integers(1, 40),
    k=st.integers(1, 12),
    block=st.sampled_from([4, 16, 1 << 20]),
    seed=st.integers(0, 99),
)
def test_the_result_does_not_depend_on_blocks(rows, k, block, seed):
    vectors = make(np.random.default_rng(seed).standard_normal((rows, 4)).astype(np.float32))
    assert in_blocks(vectors, ["w0"], k, block_floats=block) == nearest(vectors, ["w0"], k)


@pytest.mark.slow
def test_a_batch_equals_single_queries():
    vectors = make(np.random.default_rng(1).standard_normal((500, 20)).astype(np.float32))
    words = [f"w{n}" for n in range(0, 500, 7)]
    alone = [nearest(vectors, [word], 5)[0] for word in words]
    assert nearest(vectors, words, 5) == alone
    assert in_blocks(vectors, words, 5, batch=10) == alone
    assert nearest(vectors, [], 5) == []


def test_equal_vectors_tie_and_ties_go_by_row():
    row = np.random.default_rng(2).standard_normal(33).astype(np.float32)
    vectors = make(np.tile(row, (200, 1)))
    [neighbors] = in_blocks(vectors, ["w3"], 6, block_floats=7 * 33)
    assert [n.word for n in neighbors] == ["w0", "w1", "w2", "w4", "w5", "w6"]
    assert len({n.score for n in neighbors}) == 1
    assert neighbors[0].score == pytest.approx(1.0)


def test_vectors_of_extreme_length_have_their_true_cosines():
    unit = np.array([[3, 4], [4, 3], [-3, 4]], np.float64) / 5
    scale = np.array([[1e-30], [1e35], [1e-44]])  # the last is a subnormal float32
    vectors = make((unit * scale).astype(np.float32))
    [neighbors] = nearest(vectors, ["w0"], 2)
    assert neighbors[0] == Neighbor("w1", pytest.approx(0.96, abs=1e-6))
    assert neighbors[1].word == "w2"
    assert np.isfinite(neighbors[1].score)
    huge = np.float32(3e38)
    vectors = make(np.array([[huge, huge], [huge, -huge], [1, 0]], np.float32))
    assert nearest(vectors, ["w0"], 1) == [[Neighbor("w2", pytest.approx(0.5**0.5))]]


def test_zero_vectors_have_cosine_zero():
    vectors = make(np.array([[0, 0], [1, 0], [0, 0]], np.float32))
    assert nearest(vectors, ["w0"]) == [[Neighbor("w1", 0.0), Neighbor("w2", 0.0)]]
    assert similarity(vectors, "w0", "w1") == 0.0
    assert similarity(vectors, "w0", "w2") == 0.0
    assert analogy(vectors, "w0", "w0", "w0") == [Neighbor("w1", 0.0), Neighbor("w2", 0.0)]
    hot = one_hot(["a", "b", "c"])
    assert nearest(hot, ["b"]) == [[Neighbor("a", 0.0), Neighbor("c", 0.0)]]
    assert (similarity(hot, "a", "b"), similarity(hot, "a", "a")) == (0.0, 1.0)
    assert analogy(hot, "a", "b", "a") == [Neighbor("c", 0.0)]


def test_a_similarity_worked_by_hand():
    vectors = make(np.array([[3, 4], [4, 3]], np.float32))
    assert similarity(vectors, "w0", "w1") == pytest.approx(24 / 25, abs=1e-15)
    assert similarity(vectors, "w0", "w0") == pytest.approx(1.0, abs=1e-15)
    assert similarity(vectors, "w0", "w0") <= 1.0


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
@pytest.mark.parametrize("method", ["3cosadd", "3cosmul"])
def test_analogies_match_the_definition(kind, method):
    rng = np.random.default_rng(8)
    matrix = rng.standard_normal((60, 6)).astype(np.float32)
    questions = rng.integers(0, 60, (9, 3))
    units = naive_units(matrix)
    vectors = make(kind(matrix))
    for a, b, c in questions:
        found = analogy(vectors, f"w{a}", f"w{b}", f"w{c}", 5, method)
        if method == "3cosadd":
            target = units[b] - units[a] + units[c]
            expected = units @ target / np.linalg.norm(target)
        else:
            near_a, near_b, near_c = ((units @ units[row] + 1) / 2 for row in (a, b, c))
            expected = near_b * near_c / (near_a + 0.001)
        rows = naive_best(expected, 5, {a, b, c})
        assert [neighbor.word for neighbor in found] == [f"w{row}" for row in rows]
        scores = [neighbor.score for neighbor in found]
        assert scores == pytest.approx(expected[rows], abs=1e-12)


@pytest.mark.parametrize("kind", [np.asarray, scipy.sparse.csr_matrix])
def test_combined_cosines_do_not_depend_on_blocks_and_batches(kind):
    rng = np.random.default_rng(8)
    matrix = kind(rng.standard_normal((60, 6)).astype(np.float32))
    pairs = rng.integers(0, 60, (9, 2))

    def found(**sizes):
        units = unit_rows(matrix, pairs.ravel())
        return top_rows(
            matrix, units, 5, exclude=pairs.tolist(), combine=lambda c: c[::2] + c[1::2], **sizes
        )

    for (rows, scores), whole in zip(found(block_floats=100, batch=4), found(), strict=True):
        assert (rows.tolist(), scores.tolist()) == (whole[0].tolist(), whole[1].tolist())


def test_an_analogy_worked_by_hand():
    words = ["man", "king", "woman", "queen", "apple"]
    matrix = np.array([[1, 0, 0], [1, 1, 0], [0, 0, 1], [0, 1, 1], [1, 0, 1]], np.float32)
    vectors = WordVectors(words, matrix)
    # king - man + woman = (1, 1, 0) / sqrt 2 - (1, 0, 0) + (0, 0, 1); queen = (0, 1, 1) / sqrt 2
    target = np.array([0.5**0.5 - 1, 0.5**0.5, 1])
    expected = (target[1] + target[2]) / 2**0.5 / np.linalg.norm(target)
    assert analogy(vectors, "man", "king", "woman", 1) == [
        Neighbor("queen", pytest.approx(expected))
    ]
    # shifted cosines of queen with king, woman and man: 3/4, (1 + sqrt 1/2) / 2, 1/2
    expected = 0.75 * (1 + 0.5**0.5) / 2 / 0.501
    assert analogy(vectors, "man", "king", "woman", 1, "3cosmul") == [
        Neighbor("queen", pytest.approx(expected))
    ]


@pytest.mark.parametrize("sparse", [False, True])
def test_vectors_with_nan_or_infinity_are_refused(sparse):
    matrix = np.array([[1, 0], [np.inf, -np.inf]], np.float32)
    vectors = make(scipy.sparse.csr_matrix(matrix) if sparse else matrix)
    message = "^vectors: row {} holds NaN or infinity; train the run again$"
    with pytest.raises(ArtifactError, match=message.format(1)):
        similarity(vectors, "w0", "w1")
    matrix = np.ones((9, 2), np.float32)
    matrix[6, 1] = np.nan
    with pytest.raises(ArtifactError, match=message.format(6)):
        in_blocks(make(matrix), ["w0"], 10, block_floats=8)


def test_unknown_words_and_settings_out_of_range_are_refused(vectors):
    for error, message, call in (
        (UnknownWordError, "small: no vector for 'quen'; did you mean 'queen'",
         lambda: nearest(vectors, ["king", "quen"])),
        (UnknownWordError, "small: no vector for 'xylophone'; check the spelling$",
         lambda: vector_of(vectors, "xylophone")),
        (UnknownWordError, ".*'the king'; pass one word at a time$",
         lambda: vector_of(vectors, "the king")),
        (SettingError, "k must be at least 1, got 0$", lambda: nearest(vectors, ["king"], 0)),
        (SettingError, "method must be one of 3cosadd, 3cosmul, got 'cosadd'$",
         lambda: analogy(vectors, "man", "king", "woman", 1, "cosadd")),
    ):  # fmt: skip
        with pytest.raises(error, match=f"^{message}"):
            call()


def test_neighbors_equal_those_of_gensim(vectors):
    keyed = pytest.importorskip("gensim.models").KeyedVectors(4)
    keyed.add_vectors(vectors.vocabulary, vectors.matrix)
    [ours] = nearest(vectors, ["king"], 5)
    theirs = keyed.most_similar("king", topn=5)
    assert [n.word for n in ours] == [word for word, _ in theirs]
    assert [n.score for n in ours] == pytest.approx([score for _, score in theirs], abs=1e-6)
    answers = analogy(vectors, "man", "king", "woman", 5)
    theirs = keyed.most_similar(positive=["king", "woman"], negative=["man"], topn=5)
    assert [n.word for n in answers] == [word for word, _ in theirs]
    assert [n.score for n in answers] == pytest.approx([s for _, s in theirs], abs=1e-6)
