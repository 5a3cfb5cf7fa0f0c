"""Drawing and learning against the naive twin on the same random stream; and statistical tests."""

import math

import numpy as np
import pytest
from scipy.stats import binom, binomtest, chisquare

from firth.embed.word2vec.kernels.windows import (
    OutputPlaces,
    WindowBatch,
    draw_windows,
    next_random,
    pair_labels,
    shuffle,
    subsample,
)
from firth.embed.word2vec.noise import keep_limits
from tests.embed.word2vec.naive_word2vec import Stream, Window
from tests.embed.word2vec.word2vec_cases import (
    LENGTHS,
    LOSS_SHARE,
    METHODS,
    U,
    allocate_windows,
    as_float64,
    assert_tables_near,
    concatenated,
    counts_of,
    learn,
    plan_of,
    random_tables,
    rounding,
    twin_learner,
    twin_windows,
    zipf_units,
)

FALSE_ALARM = 1e-6  # probability that a statistical test fails although the code is right


def drawn(units, plan, state):
    """Draw windows with the kernels; return them and the final random state."""
    rows, offsets = concatenated(units)
    kept, kept_offsets = np.empty_like(rows), np.empty_like(offsets)
    state = np.array([state], dtype=np.uint64)
    n, n_units = subsample(rows, offsets, plan.keep_limits, state, kept, kept_offsets)
    if plan.shuffled:
        shuffle(kept, kept_offsets[: n_units + 1], state)
    room = allocate_windows(n + 3, plan.window, plan.negatives)
    windows = draw_windows(plan, kept[:n], kept_offsets[: n_units + 1], 0, n, state, room)
    return windows, int(state[0])


def assert_learning_matches_the_twin(units, plan, dim, *, rate=0.01, state=11):
    """Compare loss, pairs and both tables."""
    n_words = len(plan.keep_limits)
    tables = random_tables(n_words, n_words, dim)
    expected = as_float64(tables, dim)
    windows, _ = drawn(units, plan, state)
    found = twin_windows(units, plan, state)
    wanted = twin_learner(plan, rate)(*expected, found)

    loss, pairs = learn(tables, plan, windows, rate)

    assert pairs == wanted[1]
    tolerance = rounding(expected, found)
    assert loss == pytest.approx(wanted[0], rel=LOSS_SHARE)
    assert_tables_near(tables, expected, dim, tolerance)
    for table, start in zip(expected, random_tables(n_words, n_words, dim), strict=True):
        assert np.abs(table - start[:-1, :dim]).max() > 100 * tolerance


def test_random_numbers_are_those_of_splitmix64():
    state, stream = np.array([2**64 - 3], dtype=np.uint64), Stream(2**64 - 3)
    assert [int(next_random(state)) for _ in range(50)] == [stream.next() for _ in range(50)]
    assert int(state[0]) == stream.state


@pytest.mark.parametrize("window", [1, 5, 20, "all"])
@pytest.mark.parametrize("negatives", [1, 5, 12])
@pytest.mark.parametrize("dynamic", [True, False])
@pytest.mark.parametrize("lengths", [LENGTHS, (1, 1), (1,), (64,), (0, 3, 0, 0, 2)])
def test_windows_match_the_twin(window, negatives, dynamic, lengths):
    units = zipf_units(3, lengths)
    plan = plan_of(counts_of(units), window=window, negatives=negatives, dynamic=dynamic)

    (contexts, sizes, targets), state = drawn(units, plan, 99)

    stream = Stream(99)
    expected = twin_windows(units, plan, stream, empty=True)
    assert [
        Window(int(target[0]), tuple(context[:size].tolist()), tuple(target[1:].tolist()))
        for context, size, target in zip(contexts, sizes, targets, strict=False)
        if size
    ] == [window for window in expected if window.contexts]
    assert (sizes == 0).tolist() == [not window.contexts for window in expected]
    assert state == stream.state


def test_windows_drawn_in_parts_match_those_drawn_at_once():
    units = zipf_units(5)
    plan = plan_of(counts_of(units), subsample=0)
    whole, end = drawn(units, plan, 7)
    rows, offsets = concatenated(units)
    state = np.array([7], dtype=np.uint64)
    subsample(rows, offsets, plan.keep_limits, state, rows.copy(), offsets.copy())
    for first in range(0, len(rows), 37):
        last = min(first + 37, len(rows))
        room = allocate_windows(37, plan.window, plan.negatives)
        contexts, sizes, targets = draw_windows(plan, rows, offsets, first, last, state, room)
        assert np.array_equal(sizes, whole[1][first:last])
        for w in np.flatnonzero(sizes):
            assert np.array_equal(contexts[w, : sizes[w]], whole[0][first + w, : sizes[w]])
            assert np.array_equal(targets[w], whole[2][first + w])
    assert int(state[0]) == end


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("negatives", [1, 5, 12])
@pytest.mark.parametrize("window", [1, 5, 20])
def test_learning_matches_the_twin(method, negatives, window):
    units = zipf_units(8)
    plan = plan_of(counts_of(units), method, window=window, negatives=negatives)
    assert_learning_matches_the_twin(units, plan, 100)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("dim", [1, 15, 16, 17, 33])
def test_rows_of_any_length_are_trained_and_their_padding_stays_zero(method, dim):
    units = zipf_units(8)
    assert_learning_matches_the_twin(units, plan_of(counts_of(units), method), dim)


@pytest.mark.parametrize("method", METHODS)
def test_a_vocabulary_of_two_words_is_trained(method):
    # every window repeats a word among its contexts and negatives
    units = [[0, 1, 1, 0, 0, 0, 1], [1], [0, 0, 0]]
    plan = plan_of(counts_of(units, 2), method, subsample=0, negatives=7)
    assert_learning_matches_the_twin(units, plan, 20)


def one_window(targets):
    """Return a window of three words, one of them twice, and distinct targets."""
    contexts = np.array([[4, 2, 4, 7, 0, 0]], dtype=np.int32)
    return WindowBatch(contexts, np.array([4]), np.array([targets], dtype=np.int32))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("negatives", [1, 5, 12])
def test_updates_of_outputs_are_written_to_the_given_rows(method, negatives):
    plan = plan_of(np.arange(1, 41), method, window=3, negatives=negatives)
    targets = np.arange(20, 21 + negatives)
    plain, parted = (random_tables(40, 40, 20, spare=negatives + 1) for _ in range(2))
    before = parted[1].copy()
    loss, pairs = learn(plain, plan, one_window(targets), 0.01)

    # every other target keeps its row; for the rest only the update is written, over NaN
    rows = np.where(targets % 2, targets + 20, targets).astype(np.int32)
    shares = (targets % 2 == 0).astype(np.float32)
    places = OutputPlaces(rows[None], shares[None])
    assert learn(parted, plan, one_window(targets), 0.01, places) == (loss, pairs)

    assert np.array_equal(parted[0], plain[0])
    for target, row in zip(targets, rows, strict=True):
        if target == row:
            assert np.array_equal(parted[1][target], plain[1][target])
        else:
            assert np.array_equal(parted[1][target], before[target])
            np.testing.assert_allclose(
                # the sum with a row below 1, and the difference, round once each
                parted[1][row],
                plain[1][target] - before[target],
                rtol=0,
                atol=2 * U,
            )
            assert np.abs(parted[1][row]).max() > 1e-4
    assert np.array_equal(parted[1][:20], before[:20])
    assert not parted[1][-1].any()


def test_the_corrected_gradient_divides_the_update_of_inputs_alone():
    tables = {}
    for method in ("mean", "corrected"):
        plan = plan_of(np.arange(1, 41), method, window=3)
        tables[method] = random_tables(40, 40, 20)
        learn(tables[method], plan, one_window(np.arange(20, 26)), 0.01)
    assert np.array_equal(tables["corrected"][1], tables["mean"][1])
    start = random_tables(40, 40, 20)[0]
    whole, divided = (tables[method][0] - start for method in ("mean", "corrected"))
    # rows are below 1, so a sum rounds by up to U, and a row listed twice is two sums
    np.testing.assert_allclose(4 * divided, whole, rtol=0, atol=10 * U)
    assert np.abs(divided).max() > 1000 * U


@pytest.mark.parametrize("method", METHODS)
def test_units_of_one_word_change_nothing(method):
    units = [[3], [4], [3]]
    plan = plan_of(counts_of(units), method, subsample=0)
    tables = random_tables(40, 40, 16)
    before = [table.copy() for table in tables]
    windows, _ = drawn(units, plan, 5)
    assert learn(tables, plan, windows, 0.05) == (0, 0)
    assert all(map(np.array_equal, tables, before))


@pytest.mark.parametrize("method", METHODS)
def test_a_learning_rate_of_zero_measures_the_loss_and_changes_nothing(method):
    units = zipf_units(8)
    plan = plan_of(counts_of(units), method)
    tables = random_tables(40, 40, 30)
    before = [table.copy() for table in tables]
    windows, _ = drawn(units, plan, 5)
    loss, _ = learn(tables, plan, windows, 0)
    assert loss == pytest.approx(
        twin_learner(plan, 0.0)(*as_float64(before, 30), twin_windows(units, plan, 5))[0],
        rel=LOSS_SHARE,
    )
    assert all(map(np.array_equal, tables, before))


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize(("window", "negatives"), [(200, 5), (1000, 1), (5, 300), (2, 1000)])
def test_the_loss_of_long_windows_and_many_negatives_is_finite(method, window, negatives):
    # zero outputs give every label a probability of one half, thousands of times per window
    units = [np.random.default_rng(1).integers(0, 40, 2 * window + 9).tolist()]
    plan = plan_of(
        counts_of(units), method, window=window, negatives=negatives, dynamic=False, subsample=0
    )
    tables = random_tables(40, 40, 16)
    tables[1][:] = 0
    windows, _ = drawn(units, plan, 5)
    loss, pairs = learn(tables, plan, windows, 0)
    assert loss == pytest.approx(pairs * (1 + negatives) * math.log(2), rel=LOSS_SHARE)


@pytest.mark.parametrize("method", ["skipgram", "mean"])
@pytest.mark.parametrize("more", [1, 15, 16, 17, 200])
def test_the_loss_of_extreme_scores_does_not_underflow(method, more):
    # 16 likelihoods of e^-14.3 stay above 1e-100; 16 more of e^-30 come near the smallest double
    units = [[0] * 16, [1] * more, [2, 3] * 30]
    plan = plan_of(counts_of(units), method, window=1, negatives=5, dynamic=False, subsample=0)
    tables = random_tables(40, 40, 16)
    tables[0][:-1] = np.array([14.3, 80, -80, 1] + [0] * 36)[:, None] * np.eye(1, 16)
    tables[1][:-1] = np.eye(1, 16)
    windows, _ = drawn(units, plan, 5)

    loss, pairs = learn(tables, plan, windows, 0)

    expected = total = 0.0
    for window in twin_windows(units, plan, 5):
        inputs = tables[0][list(window.contexts), 0].clip(-30, 30).astype(float)
        scores = inputs if method == "skipgram" else inputs.mean(keepdims=True)
        total += len(scores)
        expected += (np.logaddexp(0, -scores) + 5 * np.logaddexp(0, scores)).sum()
    assert pairs == total
    assert loss == pytest.approx(expected, rel=LOSS_SHARE)


@pytest.mark.parametrize("method", METHODS)
@pytest.mark.parametrize("word", [0, 9, 37])
def test_a_nan_makes_the_loss_nan(method, word):
    units = zipf_units(8)
    plan = plan_of(counts_of(units), method)
    tables = random_tables(40, 40, 16)
    tables[0][word, 3] = np.nan
    windows, _ = drawn(units, plan, 5)
    assert math.isnan(learn(tables, plan, windows, 0.05)[0])


def test_labels_mark_the_center_its_negatives_and_padding():
    # blocks of 6 outputs in slots of 8; first for two inputs, then for a single one
    first, second = pair_labels(6).reshape(2, 2, 2, 8)
    start, none = [1, 0, 0, 0, 0, 0, -1, -1], [-1] * 8
    rest = [0, -1, -1, -1, -1, -1, -1, -1]
    assert first.tolist() == [[start, start], [start, none]]
    assert second.tolist() == [[rest, rest], [rest, none]]


# Statistical tests. Each would fail right code for one seed in a million.


@pytest.mark.parametrize("exponent", [0.75, 0.0, 1.0, -0.5])
def test_negatives_follow_the_counts_given_that_they_are_not_the_center(exponent):
    counts = np.array([600, 250, 90, 40, 12, 7, 1])
    center, n = 1, 40_000
    plan = plan_of(counts, window=1, unigram_exponent=exponent)
    text, state = (np.full(n, center, np.int32), np.array([0, n]), 0, n), np.array([1], np.uint64)
    _, _, targets = draw_windows(plan, *text, state, allocate_windows(n, 1, 5))
    weights = counts.astype(float) ** exponent
    weights[center] = 0
    found = np.bincount(targets[:, 1:].ravel(), minlength=len(counts))
    assert found[center] == 0
    others = weights > 0
    expected = (weights / weights.sum() * found.sum())[others]
    assert chisquare(found[others], expected).pvalue > FALSE_ALARM
    # the first negative is distributed like the others
    first = np.bincount(targets[:, 1], minlength=len(counts))[others]
    assert chisquare(first, expected * (n / found.sum())).pvalue > FALSE_ALARM


def test_words_are_kept_as_often_as_the_formula_says():
    counts = np.array([60_000, 20_000, 15_000, 4000, 1000])
    rows = np.random.default_rng(2).permutation(np.repeat(np.arange(5), counts)).astype(np.int32)
    kept, offsets = np.empty_like(rows), np.array([0, len(rows)])
    n, n_units = subsample(
        rows, offsets, keep_limits(counts, 0.01), np.array([3], np.uint64), kept, offsets.copy()
    )
    assert n_units == 1
    found = np.bincount(kept[:n], minlength=5)
    ratio = 0.01 * counts.sum() / counts
    expected = np.minimum(1, np.sqrt(ratio) + ratio)
    assert expected[-1] == 1
    assert found[-1] == counts[-1]
    for kept_of_word, count, chance in zip(found[:-1], counts, expected, strict=False):
        assert binomtest(int(kept_of_word), int(count), chance).pvalue > FALSE_ALARM / 4


def test_window_sizes_are_uniform_from_1_to_the_window():
    n, window = 60_000, 7
    about = (np.zeros(n, np.int32), np.array([0, n]), 0, n, np.array([4], np.uint64))

    def sizes_of(dynamic):
        plan = plan_of(np.array([1, 1]), window=window, negatives=1, dynamic=dynamic)
        return draw_windows(plan, *about, allocate_windows(n, window, 1)).sizes

    sizes = sizes_of(dynamic=True)

    inner = sizes[window:-window]
    assert (inner % 2 == 0).all()
    found = np.bincount(inner // 2, minlength=window + 1)
    assert found[0] == 0
    assert chisquare(found[1:]).pvalue > FALSE_ALARM
    # consecutive sizes are independent
    pairs = np.bincount(inner[:-1:2] // 2 * 8 + inner[1::2] // 2, minlength=64).reshape(8, 8)
    assert chisquare(pairs[1:, 1:].ravel()).pvalue > FALSE_ALARM
    sizes = sizes_of(dynamic=False)
    assert (sizes[window:-window] == 2 * window).all()
    assert sizes[0] == sizes[-1] == window


def test_every_pair_of_a_unit_is_drawn_equally_often_with_a_window_of_all():
    n, passes = 40, 300
    plan = plan_of(np.ones(n, np.int64), window="all", subsample=0)
    found = np.zeros((n, n), np.int64)
    for state in range(passes):
        (contexts, sizes, targets), _ = drawn([list(range(n))], plan, state)
        for center, row, size in zip(targets[:, 0], contexts, sizes, strict=False):
            found[center, row[:size]] += 1
    # of the (n - d) pairs at each distance d up to the window, in random order
    window = np.arange(1, plan.window + 1)
    chance = (n - window).sum() / (n * (n - 1) / 2)
    others = found[~np.eye(n, dtype=bool)]
    low, high = binom.interval(1 - FALSE_ALARM / len(others), passes, chance)
    assert low <= others.min()
    assert others.max() <= high
    assert not found.diagonal().any()
