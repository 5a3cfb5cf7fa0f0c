"""Word vectors in scikit-learn."""

import pickle

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import cross_val_score
from sklearn.pipeline import make_pipeline
from sklearn.utils import estimator_checks

from firth.corpora.common.errors import SettingError
from firth.embed.contextual.sif import encode_lines
from firth.embed.vectors.word_vectors import WordVectors
from firth.sklearn import TextVectors

WORDS = ["the", "sea", "ship", "tree", "leaf", "of"]
MATRIX = np.random.default_rng(3).standard_normal((6, 4)).astype(np.float32)
PLAIN = WordVectors(WORDS, MATRIX)
COUNTED = WordVectors(WORDS, MATRIX, counts=np.array([900, 50, 40, 30, 20, 10]))
TEXTS = ["The sea of the ship", "the tree", "leaf of the tree tree unknown", "sea ship sea", ""]


def test_sif_is_that_of_the_command_line(tmp_path):
    (tmp_path / "lines.txt").write_text("\n".join(TEXTS) + "\n")
    encode_lines(COUNTED, tmp_path / "lines.txt", tmp_path / "lines.npz", fit=True)
    with np.load(tmp_path / "lines.npz") as written:
        expected = written["vectors"]
    found = TextVectors(COUNTED).fit_transform(TEXTS)
    # float32 sums of at most 6 words in another order
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)
    assert not found[-1].any()


def test_without_counts_sif_takes_those_of_the_texts():
    # of 17 tokens
    of_texts = WordVectors(WORDS, MATRIX, counts=np.array([4, 3, 2, 3, 1, 2]))
    words = [text.replace(" unknown", "") for text in TEXTS]
    found = TextVectors(PLAIN).fit_transform(words)
    np.testing.assert_allclose(found, TextVectors(of_texts).fit_transform(words), atol=1e-6)


def test_tfidf_weighs_by_the_texts_of_fit():
    fitted = TextVectors(PLAIN, weighting="tfidf").fit(["sea ship", "sea", "sea tree"])
    weights = np.log(np.array([4 / 4, 4 / 2, 4 / 1])) + 1  # of sea, ship and leaf
    expected = (2 * weights[0] * MATRIX[1] + weights[1] * MATRIX[2] + weights[2] * MATRIX[4]) / (
        2 * weights[0] + weights[1] + weights[2]
    )
    [found] = fitted.transform(["sea leaf Sea ship"])
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-6)


def test_a_text_has_the_same_vector_alone_as_among_others():
    fitted = TextVectors(COUNTED).fit(TEXTS)
    alone = np.concatenate([fitted.transform([text]) for text in TEXTS])
    np.testing.assert_allclose(alone, fitted.transform(TEXTS), rtol=0, atol=1e-6)
    assert fitted.transform([]).shape == (0, 4)


def test_columns_have_names():
    pytest.importorskip("pandas")
    frame = TextVectors(PLAIN, weighting="mean").set_output(transform="pandas").fit_transform(TEXTS)
    assert list(frame.columns) == [f"textvectors{column}" for column in range(4)]


def test_it_is_cloned_pickled_and_cross_validated_with_a_path(tmp_path):
    COUNTED.save(tmp_path / "run")
    steps = make_pipeline(TextVectors(str(tmp_path / "run")), LogisticRegression(C=1000))
    labels = [0, 1, 1, 0] * 3
    assert cross_val_score(clone(steps), TEXTS[:4] * 3, labels, cv=3).tolist() == [1.0] * 3
    fitted = steps[0].fit(TEXTS)
    again = pickle.loads(pickle.dumps(fitted))  # noqa: S301
    np.testing.assert_array_equal(again.transform(TEXTS), fitted.transform(TEXTS))
    assert again.vectors_.path == tmp_path / "run"
    assert clone(TextVectors(COUNTED)).vectors is COUNTED


@pytest.mark.parametrize(
    ("options", "texts", "message"),
    [
        ({"weighting": "idf"}, TEXTS, "weighting must be one of sif, mean, tfidf, got 'idf'"),
        ({}, "the sea", "pass a list of texts, got str"),
        ({}, iter(TEXTS), "pass a list of texts, got list_iterator"),
        (
            {},
            np.array([TEXTS[:2], TEXTS[2:4]]),
            "pass one column of texts, such as frame['text'], got ndarray",
        ),
        (
            {},
            {"text": TEXTS},
            "pass one column of texts, such as frame['text'], got dict",
        ),
        ({}, ["the sea", None], "text 1 must be a string, got NoneType"),
        (
            {},
            ["the sea", "?"],
            (
                "fewer than two texts have a word with a vector, so that all they hold is common "
                "to all, which SIF subtracts; pass more texts"
            ),
        ),
    ],
    ids=["weighting", "string", "iterator", "array of two columns", "table", "missing", "one text"],
)  # fmt: skip
def test_refusals(options, texts, message):
    with pytest.raises(SettingError) as refused:
        TextVectors(COUNTED, **options).fit(texts)
    assert str(refused.value) == message


def test_a_data_frame_is_not_read_as_the_names_of_its_columns():
    pandas = pytest.importorskip("pandas")
    frame = pandas.DataFrame({"sea": TEXTS[:2], "ship": TEXTS[2:4]})
    fitted = TextVectors(COUNTED).fit(frame["sea"])
    with pytest.raises(SettingError, match=r"^pass one column of texts, .*, got DataFrame$"):
        fitted.transform(frame)


class OfNumbers(TextVectors):
    """Reads the rows of scikit-learn's checks, which are numbers, as texts."""

    def _counted(self, texts):
        rows = np.asarray(texts, dtype=np.float64)
        return super()._counted(
            [" ".join(WORDS[int(100 * abs(x)) % 6] for x in row) for row in rows]
        )


WITHOUT_DATA = [
    "estimator_cloneable",
    "estimator_tags_renamed",
    "valid_tag_types",
    "estimator_repr",
    "no_attributes_set_in_init",
    "get_params_invariance",
    "set_params",
    "mixin_order",
    "do_not_raise_errors_in_init_or_set_params",
    "get_feature_names_out_error",
]
WITH_NUMBERS = [
    "fit_score_takes_y",
    "estimators_overwrite_params",
    "dont_overwrite_parameters",
    "estimators_fit_returns_self",
    "readonly_memmap_input",
    "estimators_unfitted",
    "n_features_in_after_fitting",
    "estimators_dtypes",
    "pipeline_consistency",
    "estimators_pickle",
    "dict_unchanged",
    "fit_idempotent",
    "fit_check_is_fitted",
    "methods_sample_order_invariance",
    "methods_subset_invariance",
    "f_contiguous_array_estimator",
]


@pytest.mark.parametrize(
    ("kind", "check"),
    [(TextVectors, check) for check in WITHOUT_DATA]
    + [(OfNumbers, check) for check in WITH_NUMBERS],
)
@pytest.mark.parametrize("weighting", ["sif", "tfidf"])
def test_it_passes_the_checks_of_scikit_learn(kind, check, weighting):
    getattr(estimator_checks, f"check_{check}")(kind.__name__, kind(COUNTED, weighting=weighting))
