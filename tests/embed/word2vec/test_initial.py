"""Initial tables: random, or from earlier vectors, by word and by n-gram."""

import json

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.compare.inputs.baselines import one_hot
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.subwords import SubwordTable, composed_rows, ngram_buckets, word_buckets
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import Ngrams, SkipGramConfig
from firth.embed.word2vec.initial import check_init
from tests.embed.word2vec.word2vec_cases import initial_tables

OLD = ["the", "of", "king", "zug"]
NEW = ["of", "und", "the", "zug", "ab", "king"]
NGRAMS = Ngrams(3, 4, 50)


NONE = np.empty(0, np.int64)


def normal(*shape):
    """Return random numbers that depend on the shape alone."""
    return np.random.default_rng(sum(shape)).standard_normal(shape).astype(np.float32)


def buckets_of(words, ngrams=NGRAMS):
    """Return the sorted buckets of the n-grams of some words."""
    return np.array(sorted({b for word in words for b in ngram_buckets(word, *ngrams)}), np.int64)


@pytest.fixture
def old(tmp_path):
    """A run of four words with contexts."""
    WordVectors(OLD, normal(4, 6)).write(tmp_path)
    np.save(tmp_path / "contexts.npy", normal(4, 6) + 1)
    return load_vectors(tmp_path)


@pytest.fixture
def old_ngrams(tmp_path):
    """A run of four words with contexts and n-grams."""
    buckets = buckets_of(OLD)
    inputs = normal(4 + len(buckets), 6)
    starts, found = word_buckets(OLD, *NGRAMS)
    places = np.searchsorted(buckets, found)
    WordVectors(OLD, composed_rows(inputs[:4], inputs[4:], starts, places)).write(tmp_path)
    np.save(tmp_path / "inputs.npy", inputs)
    np.save(tmp_path / "buckets.npy", buckets)
    np.save(tmp_path / "contexts.npy", normal(4, 6))
    (tmp_path / "config.json").write_text(json.dumps({"subwords": "3-4", "buckets": 50}))
    return load_vectors(tmp_path)


def test_words_start_within_1_over_dim_of_zero_and_contexts_at_zero():
    vectors, contexts = initial_tables([f"w{n}" for n in range(2000)], 20, 1, None, NONE)
    assert vectors.dtype == contexts.dtype == np.float32
    assert vectors.shape == contexts.shape == (2000, 20)
    assert not contexts.any()
    assert -1 / 20 <= vectors.min() < -0.0499
    assert 0.0499 < vectors.max() < 1 / 20
    # the mean of 40,000 uniform numbers is off by 5 standard deviations once in 10**6 seeds
    assert abs(vectors.mean()) < 5 * (2 / 20) / np.sqrt(12 * vectors.size)
    assert len(np.unique(vectors)) > 0.99 * vectors.size


def test_initial_tables_depend_on_the_seed_alone():
    one, again, other = (initial_tables(NEW, 8, seed, None, NONE)[0] for seed in (1, 1, 2))
    assert np.array_equal(one, again)
    assert not (one == other).any()


def test_known_words_keep_both_vectors_and_new_words_start_at_random(old):
    vectors, contexts = initial_tables(NEW, 6, 3, old, NONE)
    fresh, _ = initial_tables(NEW, 6, 3, None, NONE)
    for row, word in enumerate(NEW):
        if word in OLD:
            assert np.array_equal(vectors[row], old.matrix[OLD.index(word)])
            assert np.array_equal(contexts[row], normal(4, 6)[OLD.index(word)] + 1)
        else:
            assert np.array_equal(vectors[row], fresh[row])
            assert not contexts[row].any()


def test_without_initial_contexts_they_start_at_zero():
    vectors, contexts = initial_tables(NEW, 6, 3, WordVectors(OLD, normal(4, 6)), NONE)
    assert np.array_equal(vectors[2], normal(4, 6)[0])
    assert not contexts.any()


@pytest.mark.parametrize("value", [np.nan, np.inf])
def test_initial_vectors_that_are_not_finite_are_refused(value):
    matrix = normal(4, 6)
    matrix[2, 5] = value
    with pytest.raises(ArtifactError) as refusal:
        initial_tables(NEW, 6, 1, WordVectors(OLD, matrix, name="old"), NONE)
    assert str(refusal.value) == "old: contains NaN or infinity, so training cannot start"


def test_own_rows_and_ngrams_start_within_1_over_dim_of_zero():
    buckets = buckets_of(NEW)
    inputs, contexts = initial_tables(NEW, 40, 1, None, buckets)
    assert inputs.shape == (len(NEW) + len(buckets), 40)
    assert contexts.shape == (len(NEW), 40)
    assert not contexts.any()
    assert 0.024 < np.abs(inputs).max() <= 1 / 40


def test_ngrams_start_from_their_bucket_and_words_from_their_own_row(old_ngrams, tmp_path):
    buckets = buckets_of(NEW)
    inputs, contexts = initial_tables(NEW, 6, 3, old_ngrams, buckets)
    fresh, _ = initial_tables(NEW, 6, 3, None, buckets)
    before, places = np.load(tmp_path / "inputs.npy"), np.load(tmp_path / "buckets.npy").tolist()
    for row, word in enumerate(NEW):
        known = word in OLD
        assert np.array_equal(inputs[row], before[OLD.index(word)] if known else fresh[row])
        assert contexts[row].any() == known
    assert 0 < sum(bucket in places for bucket in buckets) < len(buckets)
    for row, bucket in enumerate(buckets.tolist(), len(NEW)):
        known = bucket in places
        assert np.array_equal(
            inputs[row], before[4 + places.index(bucket)] if known else fresh[row]
        )


def test_own_rows_are_computed_if_the_file_has_none():
    own, grams = normal(5, 6), normal(50, 6)
    words = [*OLD, "</s>"]  # the one word without n-grams
    starts, places = word_buckets(words, *NGRAMS)
    table = SubwordTable(grams, None, n_buckets=50, shortest=3, longest=4)
    model = WordVectors(words, composed_rows(own, grams, starts, places), subwords=table)
    text = [*NEW, "</s>"]
    buckets = buckets_of(NEW)

    inputs, _ = initial_tables(text, 6, 3, model, buckets)

    assert np.allclose(inputs[[2, 0, 5, 3, 6]], own, atol=1e-5)
    assert np.array_equal(inputs[len(text) :], grams[buckets])


def test_vectors_without_ngrams_become_own_rows(old):
    inputs, contexts = initial_tables(NEW, 6, 3, old, buckets_of(NEW))
    assert np.array_equal(inputs[[2, 0, 5, 3]], old.matrix)
    assert np.array_equal(contexts[[2, 0, 5, 3]], normal(4, 6) + 1)


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"dim": 7}, "`dim=7` differs from the 6 dimensions of {name}; pass `dim=6`"),
        (
            {"max_vocabulary": 3},
            (
                "`max_vocabulary=3` is smaller than the vocabulary of {name} (4 words), all of "
                "which are kept; pass `max_vocabulary=4` or more"
            ),
        ),
        *(
            (ngrams, "`init={name}`: was trained with `subwords=3-4` `buckets=50`; pass the same")
            for ngrams in (
                {},
                {"subwords": "3-5", "buckets": 50},
                {"subwords": "2-4", "buckets": 50},
                {"subwords": "3-4", "buckets": 51},
            )
        ),
    ],
)
def test_vectors_that_do_not_fit_are_refused(old_ngrams, options, message):
    config = SkipGramConfig(**{"dim": 6, **options})
    with pytest.raises(SettingError) as refusal:
        check_init(old_ngrams, config)
    assert str(refusal.value) == message.format(name=old_ngrams.name)


def test_sparse_vectors_are_refused():
    with pytest.raises(SettingError, match=r"^`init=.*`: its vectors are sparse; pass a run of"):
        check_init(one_hot(["the", "cat"]), SkipGramConfig())


def test_compatible_vectors_are_accepted(old, old_ngrams):
    check_init(old, SkipGramConfig(dim=6, max_vocabulary=4))
    check_init(old, SkipGramConfig(dim=6, subwords="3-5"))
    check_init(old_ngrams, SkipGramConfig(dim=6, subwords="3-4", buckets=50))
