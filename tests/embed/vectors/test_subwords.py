"""N-grams and their hash against the definition and gensim; vectors of unseen words."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.vectors.subwords import (
    SubwordTable,
    composed_rows,
    ngram_buckets,
    parse_subwords,
    word_buckets,
)

any_word = st.text(st.characters(exclude_categories=[]), max_size=12)
lengths = st.tuples(st.integers(1, 7), st.integers(0, 6)).map(lambda two: (two[0], sum(two)))


def naive_hash(text):
    """32-bit FNV-1a as in fastText: each byte is sign-extended."""
    hashed = np.array([2166136261], np.uint32)
    for byte in np.frombuffer(text.encode("utf-8", "surrogatepass"), np.int8):
        hashed ^= np.array([byte]).astype(np.int64).astype(np.uint32)
        hashed *= np.uint32(16777619)
    return int(hashed[0])


def naive_ngrams(word, shortest, longest):
    """Return every substring of <word> of these lengths, except a boundary alone."""
    text = f"<{word}>"
    return [
        text[first : first + size]
        for first in range(len(text))
        for size in range(shortest, longest + 1)
        if first + size <= len(text)
        and not (size == 1 and first in (0, len(text) - 1))
        and word != "</s>"
    ]


@given(words=st.lists(any_word, max_size=6), lengths=lengths, n_buckets=st.integers(1, 2**31 - 1))
def test_buckets_match_the_definition(words, lengths, n_buckets):
    expected = [
        [naive_hash(gram) % n_buckets for gram in naive_ngrams(word, *lengths)] for word in words
    ]

    starts, buckets = word_buckets(words, *lengths, n_buckets)

    assert starts[0] == 0
    found = [buckets[starts[w] : starts[w + 1]].tolist() for w in range(len(words))]
    assert found == expected
    assert [ngram_buckets(word, *lengths, n_buckets) for word in words] == expected


@given(word=st.text(min_size=1, max_size=12).filter(lambda w: w != "</s>"), lengths=lengths)
def test_buckets_are_those_of_gensim(word, lengths):
    ft_ngram_hashes = pytest.importorskip("gensim.models.fasttext").ft_ngram_hashes

    assert ngram_buckets(word, *lengths, 2_000_000) == ft_ngram_hashes(word, *lengths, 2_000_000)


def test_ngrams_repeat_and_a_boundary_alone_is_not_an_ngram():
    assert naive_ngrams("aa", 1, 2) == ["<a", "a", "aa", "a", "a>"]
    assert len(ngram_buckets("aa", 1, 2, 1000)) == 5
    assert ngram_buckets("", 1, 1, 1000) == []
    assert ngram_buckets("</s>", 1, 6, 1000) == []
    # FNV-1a of the one byte of "a" is the published 0xE40C292C
    assert ngram_buckets("a", 1, 1, 2**32) == [0xE40C292C]


@pytest.mark.parametrize(("text", "found"), [("3-6", (3, 6)), ("1-1", (1, 1)), ("2-999", (2, 999))])
def test_lengths_are_parsed(text, found):
    assert parse_subwords(text) == found


@pytest.mark.parametrize(
    "text", ["", "3", "6-3", "0-3", "-3-6", "3-6-9", "3–6", "a-b", "3-1000", " 3-6", "٣-٦", "3-6\n"]
)
def test_invalid_lengths_are_refused(text):
    with pytest.raises(SettingError) as refusal:
        parse_subwords(text)
    assert str(refusal.value) == (
        "`subwords` must be MIN-MAX with 1 <= MIN <= MAX <= 999, lengths of n-grams in characters "
        f"such as 3-6, got {text!r}"
    )


@pytest.mark.parametrize("threads", [1, 3])
def test_composed_rows_are_means(threads):
    rng = np.random.default_rng(4)
    words, grams = (rng.standard_normal((n, 3)).astype(np.float32) for n in (5, 7))
    starts, places = np.array([0, 2, 2, 5, 6, 6]), np.array([0, 6, 3, 3, 1, 4])

    found = composed_rows(words, grams, starts, places, threads, block=2)

    for w in range(5):
        rows = np.vstack([words[w][None], grams[places[starts[w] : starts[w + 1]]]])
        # up to three sums and a quotient, each rounded: of the rows' size, not of the mean's
        atol = 5 * 2.0**-24 * np.abs(rows).max()
        np.testing.assert_allclose(found[w], rows.mean(axis=0), rtol=0, atol=atol)
    with pytest.raises(IndexError, match="places must be rows of 7 n-grams"):
        composed_rows(words, grams, starts, places + 1, threads)


def table(n_buckets, kept=None, **more):
    """Row b holds b and b squared, so that a mean identifies its parts."""
    ids = np.arange(n_buckets) if kept is None else kept
    rows = np.column_stack([ids, ids**2]).astype(np.float32)
    options = {"n_buckets": n_buckets, "shortest": 3, "longest": 4} | more
    return SubwordTable(rows, kept, **options)


def test_an_unseen_word_is_the_mean_of_its_ngrams():
    buckets = np.array(ngram_buckets("ab", 3, 4, 50))
    assert len(buckets) == 3  # <ab, <ab>, ab>
    assert table(50).compose("ab").tolist() == pytest.approx(
        [buckets.mean(), (buckets**2).mean()], rel=1e-6
    )


def test_buckets_without_a_row_are_left_out():
    buckets = ngram_buckets("ab", 3, 4, 1000)
    kept = np.unique([buckets[0], *(b for b in range(0, 1000, 3) if b not in buckets)])

    found = table(1000, kept)

    assert found.compose("ab").tolist() == [buckets[0], buckets[0] ** 2]
    assert found.compose("ab").dtype == np.float32
    without = (
        table(1000, np.setdiff1d(np.arange(1000), buckets)),
        table(1000, np.empty(0, np.int64)),
    )
    longer = [table(50, kept, shortest=5, longest=6) for kept in (None, np.arange(7))]
    assert not any(each.compose("ab").any() for each in (*without, *longer))


def test_a_row_that_is_not_finite_is_refused():
    broken = table(50, name="model.bin")
    broken.rows[:] = np.inf
    with pytest.raises(ArtifactError) as refusal:
        broken.compose("ab")
    assert str(refusal.value) == (
        "model.bin: the n-grams of 'ab' hold NaN or infinity; train the run again"
    )


@pytest.mark.parametrize(
    ("rows", "buckets", "message"),
    [
        (3, [1, 2], "2 buckets do not fit 3 rows"),
        (3, None, "9 buckets do not fit 3 rows"),
        (2, [2, 1], "the buckets do not ascend within 0 and 8"),
        (2, [1, 1], "the buckets do not ascend within 0 and 8"),
        (2, [-1, 1], "the buckets do not ascend within 0 and 8"),
        (2, [1, 9], "the buckets do not ascend within 0 and 8"),
        (2, [[1], [9]], "the buckets do not ascend within 0 and 8"),
    ],
)
def test_rows_and_buckets_must_match(rows, buckets, message):
    ids = None if buckets is None else np.array(buckets)
    with pytest.raises(ArtifactError) as refusal:
        SubwordTable(np.ones((rows, 2), np.float32), ids, n_buckets=9, shortest=3, longest=6)
    assert str(refusal.value) == f"n-grams: {message}; train the run again"
