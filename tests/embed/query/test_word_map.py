"""Maps of words: principal components against their definition."""

import numpy as np
import pytest
import scipy.sparse

from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.embed.query.word_map import Ellipse, map_words
from firth.embed.vectors.word_vectors import WordVectors

WORDS = [f"w{n}" for n in range(12)]


@pytest.fixture
def random_vectors():
    """Twelve words of random lengths and directions in five dimensions."""
    matrix = np.random.default_rng(3).standard_normal((12, 5)).astype(np.float32)
    return WordVectors(WORDS, matrix * np.arange(1, 13, dtype=np.float32)[:, None])


def by_covariance(matrix):
    """The definition: eigenvectors of the covariance of the unit vectors."""
    units = matrix / np.linalg.norm(matrix, axis=1, keepdims=True)
    centered = units - units.mean(axis=0)
    values, axes = np.linalg.eigh(centered.T @ centered)
    places = centered @ axes[:, [-1, -2]]
    for column in range(2):
        if places[np.abs(places[:, column]).argmax(), column] < 0:
            places[:, column] *= -1
    return places, values[[-1, -2]] / values.sum()


def test_coordinates_and_shares_match_the_covariance(random_vectors):
    found = map_words(random_vectors, WORDS)
    places, share = by_covariance(random_vectors.matrix.astype(np.float64))
    np.testing.assert_allclose(found.places, places, atol=1e-12)
    np.testing.assert_allclose(found.share, share, atol=1e-12)
    farthest = np.abs(found.places).argmax(axis=0)
    assert (found.places[farthest, [0, 1]] > 0).all()


def test_three_words_at_right_angles_form_a_flat_triangle():
    found = map_words(WordVectors(["a", "b", "c"], 2 * np.eye(3, dtype=np.float32)), list("abc"))
    sides = np.linalg.norm(found.places - np.roll(found.places, 1, axis=0), axis=1)
    np.testing.assert_allclose(sides, np.sqrt(2))
    np.testing.assert_allclose(found.share, 0.5)


def test_a_hand_worked_line():
    # units (1, 0), (0, 1), (-1, 0) twice: mean (-1/4, 1/4); sum of squares 4 - 4 / 8 = 3.5
    matrix = np.array([[2, 0], [0, 3], [-1, 0], [-5, 0]], np.float32)
    found = map_words(WordVectors(list("abcd"), matrix), list("abcd"))
    # the scatter matrix is [[11/4, 1/4], [1/4, 3/4]]
    high = (3.5 + np.sqrt(2**2 + 4 / 16)) / 2
    np.testing.assert_allclose(found.share, [high / 3.5, 1 - high / 3.5], rtol=1e-12)


def test_rotated_vectors_give_the_same_map(random_vectors):
    turn, _ = np.linalg.qr(np.random.default_rng(4).standard_normal((5, 5)))
    turned = WordVectors(WORDS, (random_vectors.matrix @ turn).astype(np.float32))
    one, other = map_words(random_vectors, WORDS), map_words(turned, WORDS)
    np.testing.assert_allclose(one.places, other.places, atol=1e-5)


def test_sparse_and_dense_vectors_give_the_same_map(random_vectors):
    matrix = np.where(random_vectors.matrix > 0, random_vectors.matrix, 0).astype(np.float32)
    wide = scipy.sparse.csr_matrix(np.hstack([matrix, np.zeros((12, 9), np.float32)]))
    dense, sparse = (map_words(WordVectors(WORDS, m), WORDS) for m in (matrix, wide))
    np.testing.assert_allclose(dense.places, sparse.places, atol=1e-12)


def test_one_dimensional_vectors_lie_on_a_line():
    vectors = WordVectors(["a", "b", "c"], np.array([[2], [1], [-3]], np.float32))
    found = map_words(vectors, list("abc"))
    assert found.share == (1.0, 0.0)
    np.testing.assert_allclose(found.places[:, 0], [-2 / 3, -2 / 3, 4 / 3])
    assert not found.places[:, 1].any()


def test_a_repeated_word_is_drawn_once_in_its_first_group(random_vectors):
    groups = ["x", None, "y", "z"]
    found = map_words(random_vectors, ["w1", "w2", "w3", "w1"], groups)
    assert (found.words, found.groups) == (("w1", "w2", "w3"), ("x", None, "y"))


def test_json_has_groups_only_for_words_with_a_group(random_vectors):
    found = map_words(random_vectors, ["w1", "w2", "w3"], ["x", None, "x"])
    given = found.to_json("out/run")
    assert (given["run"], given["share"]) == ("out/run", [*found.share])
    assert [word.get("group") for word in given["words"]] == ["x", None, "x"]
    assert list(given["words"][1]) == ["word", "x", "y"]
    assert [[word["x"], word["y"]] for word in given["words"]] == found.places.tolist()


@pytest.mark.parametrize(
    ("rows", "words", "error", "message"),
    [
        ([[1, 0], [0, 1]], "aba", SettingError, "a map needs at least 3 words, got 2; pass more"),
        (
            np.outer([1, 2, 3], [0.3, 0.1, 0.7]), "abc",
            SettingError, "all 3 words have the same direction; pass others",
        ),
        (
            [[1, 0], [0, 0], [0, 1]], "abc",
            SettingError, "the vector of 'b' is zero and has no direction; remove the word",
        ),
        (
            np.eye(4), ["a", "b", "w1x"],
            UnknownWordError, "vectors: no vector for 'w1x'; did you mean 'w1'",
        ),
    ],
    ids=["few", "equal", "zero", "unknown"],
)  # fmt: skip
def test_refusals(rows, words, error, message):
    vectors = WordVectors(["a", "b", "c", "w1"][: len(rows)], np.array(rows, np.float32))
    with pytest.raises(error, match=f"^{message}"):
        map_words(vectors, list(words))


@pytest.mark.parametrize("seed", range(20))
def test_float32_rounding_is_not_a_difference_of_direction(seed):
    rng = np.random.default_rng(seed)
    direction, lengths = rng.normal(size=50), rng.uniform(0.001, 1000, 4)
    matrix = np.outer(lengths, direction)
    with pytest.raises(SettingError, match="all 4 words have the same direction"):
        map_words(WordVectors(list("abcd"), matrix.astype(np.float32)), list("abcd"))
    matrix[0, 7] += 1e-4 * lengths[0]
    found = map_words(WordVectors(list("abcd"), matrix.astype(np.float32)), list("abcd"))
    assert np.abs(found.places).max() == np.abs(found.places[0]).max()


def test_an_ellipse_holds_95_percent_of_a_normal_distribution():
    assert Ellipse.of(np.diag([4.0, 1.0])).angle % 180 == 0
    covariance = np.array([[2.0, 0.9], [0.9, 1.0]])
    (long, short), angle = Ellipse.of(covariance)
    turns = np.linspace(0, 2 * np.pi, 721)
    turned = np.exp(1j * np.deg2rad(angle)) * (long * np.cos(turns) + 1j * short * np.sin(turns))
    edge = np.array([turned.real, turned.imag])
    # chi-square with two degrees of freedom is below 5.991 in 95 %
    distances = (edge * np.linalg.solve(covariance, edge)).sum(axis=0)
    np.testing.assert_allclose(distances, 5.991, atol=1e-3)
    assert Ellipse.of(np.zeros((2, 2))).half_axes == (0, 0)


def test_vectors_without_a_run_have_no_ellipses(random_vectors):
    class Others:
        def __getattr__(self, name):
            return getattr(random_vectors, name)

    with pytest.raises(SettingError, match="`resamples` needs a run; pass the vectors of one"):
        map_words(Others(), WORDS, resamples=100)
