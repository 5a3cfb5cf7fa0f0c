"""Counting against the definition, by hand, and byte-identical however the work is split."""

import itertools
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import ALL
from firth.embed.svd import cooccurrence
from firth.embed.svd.cooccurrence import CONTEXTS, count_cooccurrences
from firth.embed.svd.window_weights import WEIGHTINGS, window_weights
from tests.embed.small_corpus import SmallView, dense

FRACTIONS = {
    "dynamic": lambda window, distance: Fraction(window - distance + 1, window),
    "harmonic": lambda window, distance: Fraction(1, distance),
    "flat": lambda window, distance: Fraction(1),
}


def naive_counts(view, window, weighting, context):
    """Count by the definition; slow on purpose."""
    matrix = [[Fraction(0)] * len(view.words) for _ in view.words]
    for unit in view.units:
        for i, word in enumerate(unit):
            for j, other in enumerate(unit):
                left, right = context in ("symmetric", "left"), context in ("symmetric", "right")
                if 0 < abs(i - j) <= window and (left if j < i else right):
                    matrix[word][other] += FRACTIONS[weighting](window, abs(i - j))
    return matrix


def as_fractions(counts, n_words):
    """Return the dense counts divided by their denominator."""
    matrix = [[Fraction(0)] * n_words for _ in range(n_words)]
    for row in range(n_words):
        for k in range(counts.starts[row], counts.starts[row + 1]):
            matrix[row][counts.columns[k]] = Fraction(int(counts.counts[k]), counts.denominator)
    return matrix


def same_bytes(a, b):
    return (a.denominator, a.counts.dtype) == (b.denominator, b.counts.dtype) and all(
        getattr(a, name).tobytes() == getattr(b, name).tobytes()
        for name in ("starts", "columns", "counts")
    )


texts = st.lists(st.lists(st.sampled_from("abcdefg"), max_size=12), max_size=8)


@pytest.mark.slow
@given(
    units=texts,
    window=st.integers(1, 7),
    weighting=st.sampled_from(WEIGHTINGS),
    context=st.sampled_from(CONTEXTS),
    units_per_shard=st.integers(1, 9),
    n_words=st.one_of(st.none(), st.integers(1, 8)),
)
def test_counts_equal_the_definition(units, window, weighting, context, units_per_shard, n_words):
    view = SmallView(units, units_per_shard=units_per_shard)

    counts = count_cooccurrences(
        view, window=window, weighting=weighting, context=context, n_words=n_words
    )

    # words beyond n_words have no row and no column, but keep their places in the windows
    expected = [row[:n_words] for row in naive_counts(view, window, weighting, context)[:n_words]]
    assert as_fractions(counts, len(expected)) == expected
    assert len(counts.columns) == sum(value > 0 for row in expected for value in row)


@pytest.mark.slow
@given(units=texts, window=st.integers(1, 7), weighting=st.sampled_from(WEIGHTINGS))
def test_symmetric_counts_are_left_plus_right_and_right_is_left_transposed(
    units, window, weighting
):
    view = SmallView(units)
    both, left, right = (
        dense(count_cooccurrences(view, window=window, weighting=weighting, context=context))
        for context in CONTEXTS
    )
    assert (both == left + right).all()
    assert (right == left.T).all()


@pytest.mark.parametrize(
    ("weighting", "weights", "denominator"),
    [
        ("dynamic", [0, 4, 3, 2, 1], 4),
        ("harmonic", [0, 12, 6, 4, 3], 12),
        ("flat", [0, 1, 1, 1, 1], 1),
    ],
)
def test_weights_of_a_window_of_four(weighting, weights, denominator):
    assert window_weights(4, weighting) == (weights, denominator)


@pytest.mark.parametrize(
    ("weighting", "aa", "ab"),
    [("dynamic", "2/3", "5/3"), ("harmonic", "2/3", "3/2"), ("flat", 2, 2)],
)
def test_counts_worked_by_hand(weighting, aa, ab):
    # a b c a: the two a are 3 apart; b and c are at distances 1 and 2 from them
    view = SmallView([["a", "b", "c", "a"], ["a"]])
    counts = as_fractions(count_cooccurrences(view, window=3, weighting=weighting), 3)
    assert counts[0] == [Fraction(aa), Fraction(ab), Fraction(ab)]
    assert counts[1] == [Fraction(ab), 0, 1]


def test_windows_never_cross_a_boundary():
    view = SmallView([["a", "b"], ["c"], [], ["d", "e"]])
    counts = dense(count_cooccurrences(view, window=5))
    assert sorted(zip(*(axis.tolist() for axis in counts.nonzero()), strict=True)) == [
        (0, 1), (1, 0), (3, 4), (4, 3),
    ]  # fmt: skip


@pytest.fixture(scope="module")
def long_view():
    """Zipf-distributed words, enough for several segments and chunks."""
    rng = np.random.default_rng(11)
    ranks = np.minimum(rng.zipf(1.3, 60_000), 3000)
    words = [f"w{rank}" for rank in ranks]
    cuts = [0, *sorted(rng.integers(0, len(words), 700).tolist()), len(words)]
    units = [words[start:stop] for start, stop in itertools.pairwise(cuts)]
    return SmallView(units, units_per_shard=150)


@pytest.fixture(scope="module")
def long_counts(long_view):
    return count_cooccurrences(long_view, window=5, threads=1)


@pytest.mark.parametrize("threads", [2, 3, 8])
def test_any_number_of_threads_gives_the_same_bytes(long_view, long_counts, threads, monkeypatch):
    monkeypatch.setattr(cooccurrence, "_CHUNK_ENTRIES", 5000)
    counts = count_cooccurrences(long_view, window=5, threads=threads)
    assert same_bytes(counts, long_counts)


@pytest.mark.slow
@pytest.mark.parametrize("memory", [None, 1, 30_000])
def test_a_limit_leaves_the_counts_of_the_other_words_as_they_are(
    long_view, long_counts, memory, tmp_path
):
    limited = count_cooccurrences(
        long_view, window=5, n_words=200, threads=3, memory=memory, directory=tmp_path
    )
    assert (dense(limited) == dense(long_counts)[:200, :200]).all()
    assert long_view.counts[200:].sum() > 2_000  # the limit leaves out enough to matter


@pytest.mark.parametrize("threads", [2, 64])
def test_chunks_of_all_threads_fit_the_memory(threads):
    memory = 512 << 20
    counts = np.full(50_000, 1 << 24)  # entries of 12 bytes
    job = cooccurrence._Job(counts, 5, WEIGHTINGS[0], "symmetric", threads, memory, None)
    assert (2 * threads + 1) * job.chunk * 12 < memory / 3


@pytest.mark.slow
@pytest.mark.parametrize("memory", [1, 30_000, 500_000, 1_500_000])
def test_counts_on_disk_are_the_same_bytes(long_view, long_counts, memory, tmp_path):
    counts = count_cooccurrences(long_view, window=5, memory=memory, directory=tmp_path)
    assert counts.on_disk
    assert same_bytes(counts, long_counts)
    assert list(tmp_path.iterdir()) == []


def test_many_segments_are_merged_on_the_way(tmp_path):
    view = SmallView([[f"w{n * n % 11}"] * (n % 3) + ["w1", "w2"] for n in range(700)])
    assert view.counts.sum() > 66 * len(view.counts)  # more segments than are kept
    counts = count_cooccurrences(view, window=5, memory=1, directory=tmp_path)
    assert counts.on_disk
    assert same_bytes(counts, count_cooccurrences(view, window=5))


def test_a_segment_is_no_shorter_than_the_vocabulary():
    job = cooccurrence._Job(np.ones(70_000, int), 1, WEIGHTINGS[0], "symmetric", 1, 1, None)
    assert job.token_limit == 70_000


def test_ample_memory_stays_off_the_disk(long_view, long_counts, tmp_path):
    counts = count_cooccurrences(long_view, window=5, memory=1 << 30, directory=tmp_path)
    assert not counts.on_disk
    assert same_bytes(counts, long_counts)


def test_progress_ends_at_all_tokens(long_view):
    calls = []
    count_cooccurrences(
        long_view, window=1, memory=200_000, progress=lambda *done: calls.append(done)
    )
    alone = sum(len(unit) for unit in long_view.units if len(unit) < 2)
    assert calls[-1] == (long_view.n_tokens - alone, long_view.n_tokens)
    assert calls == sorted(calls)


def test_counts_that_might_overflow_32_bits_use_64():
    view = SmallView([["a", "b"]])
    assert count_cooccurrences(view, window=5).counts.dtype == np.uint32
    view.counts = np.array([1 << 30, 1])
    counts = count_cooccurrences(view, window=5)
    assert counts.counts.dtype == np.int64
    assert counts.counts.tolist() == [5, 5]


def test_a_vocabulary_beyond_16_bits_is_counted():
    words = [f"{n:05}" for n in range(70_000)]
    view = SmallView([words[-3:]], words=words)
    counts = count_cooccurrences(view, window=1)
    assert counts.columns.tolist() == [69_998, 69_997, 69_999, 69_998]


@pytest.mark.parametrize("memory", [None, 1])
def test_all_pairs_of_a_unit_count_once_with_a_window_of_all(memory):
    rng = np.random.default_rng(2)
    units = [rng.choice(list("abcdefg"), n).tolist() for n in (0, 1, 2, 300, 40)]
    view = SmallView(units)
    counts = dense(count_cooccurrences(view, window=ALL, weighting="flat", memory=memory))
    of_units = [np.bincount(unit, minlength=7) for unit in view.units]
    assert (counts == sum(np.outer(n, n) - np.diag(n) for n in of_units)).all()


@pytest.mark.parametrize("window", [50, 1_000_000])
def test_weights_that_overflow_64_bits_are_refused(window):
    view = SmallView([["a", "b"]])
    with pytest.raises(SettingError) as caught:
        count_cooccurrences(view, window=window, weighting="harmonic")
    assert str(caught.value) == (
        f"`window`: {window}: weighted counts would overflow 64 bits; "
        "pass a smaller `window` or another `window_weighting`"
    )


def test_text_without_pairs_gives_empty_rows():
    for units in ([], [["a"], ["b"]]):
        counts = count_cooccurrences(SmallView(units, words=["a", "b"]), window=2)
        assert counts.starts.tolist() == [0, 0, 0]
        assert len(counts.columns) == len(counts.counts) == 0
