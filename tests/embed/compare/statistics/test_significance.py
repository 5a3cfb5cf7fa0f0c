"""Bootstrap and tests: definitions, hand-worked values, and simulated error rates."""

import itertools
import math

import numpy as np
import pytest
import scipy.stats

from firth.embed.compare.statistics.bootstrap import (
    Resampled,
    Sharing,
    average_over_seeds,
    draw_counts,
    interval,
    resample,
)
from firth.embed.compare.statistics.estimators import Contingency, Correlation, Means
from firth.embed.compare.statistics.significance import holm, paired, sign_flip
from firth.embed.compare.statistics.span_f1 import Ratios


def pairs_of_runs(rng, n_items):
    """Judgments, and the cosines of two equally good runs."""
    judged, shared, *own = rng.normal(size=(4, n_items))
    return np.round(2 * judged), *(0.6 * judged + 0.5 * shared + 0.6 * noise for noise in own)


def test_draws_follow_a_multinomial():
    # 2,000 draws of 50: the mean of each item's count is 1 +- 0.022, its variance 0.98 +- 0.04;
    # beyond five deviations for any of 100 numbers: chance below 1 in 10,000
    counts = draw_counts(50, 2_000, seed=1, name="set").astype(np.float64)

    assert (counts.sum(axis=1) == 50).all()
    assert np.abs(counts.mean(axis=0) - 1).max() < 0.11
    assert np.abs(counts.var(axis=0) - 0.98).max() < 0.22


def test_draws_depend_only_on_seed_and_name():
    first = draw_counts(100, 5, seed=1, name="wordsim353")

    assert first.dtype == np.uint8
    np.testing.assert_array_equal(first, draw_counts(100, 5, seed=1, name="wordsim353"))
    np.testing.assert_array_equal(first[:2], draw_counts(100, 2, seed=1, name="wordsim353"))
    for seed, name in ((2, "wordsim353"), (1, "simlex999"), (2**63, "wordsim353"), (1, "\udcff")):
        assert (first != draw_counts(100, 5, seed=seed, name=name)).any()


def test_the_score_counts_every_item_once():
    counts = draw_counts(4, 9, seed=1, name="set")
    statistic = Means(np.array([True, False, True, True]))

    resampled = resample(statistic, counts)

    assert resampled.score == 0.75
    np.testing.assert_array_equal(resampled.replicates, statistic.evaluate(counts))


def test_intervals_are_percentiles():
    replicates = np.random.default_rng(1).permutation(np.arange(1001.0))
    resampled = Resampled(Means(np.zeros(2)), 500.0, replicates)

    assert interval(resampled) == pytest.approx((25.0, 975.0))


def test_intervals_skip_undefined_draws_unless_too_many():
    replicates = np.r_[np.arange(96.0), [np.nan] * 4]
    found = Resampled(Means(np.zeros(2)), 0.0, replicates)

    assert interval(found) == pytest.approx((2.375, 92.625))
    replicates[:2] = np.nan
    assert np.isnan(interval(found)).all()


def test_one_item_or_unit_has_no_interval():
    counts = draw_counts(1, 100, seed=1, name="set")
    one = np.array([1])

    for statistic in (Means(one), Correlation(one, one, True), Contingency(one, one, "nmi")):
        assert np.isnan(interval(resample(statistic, counts))).all()
    found = paired(resample(Means(one), counts), resample(Means(one - 1), counts))
    assert (found.difference, found.p) == (1.0, 1.0)
    assert math.isnan(found.low)

    counts = draw_counts(5, 20, seed=1, name="set", units=np.zeros((5, 1), dtype=np.int64))
    resampled = resample(Means(np.array([1, 0, 1, 1, 0])), counts)
    assert resampled.score == 0.6
    assert np.isnan(resampled.replicates).all()


def test_intervals_of_spearman_have_nominal_coverage():
    # Of normal deviates Spearman's correlation is 6 / pi asin(r / 2). At a coverage of 0.945,
    # of 300 fewer than 267 or more than 296 hold it: below 1 in 1,000.
    rng, r = np.random.default_rng(9), 0.6
    true = 6 / np.pi * np.arcsin(r / 2)
    counts = draw_counts(200, 600, seed=1, name="set")

    held = 0
    for _ in range(300):
        x, noise = rng.normal(size=(2, 200))
        statistic = Correlation(x, r * x + math.sqrt(1 - r * r) * noise, ranked=True)
        low, high = interval(resample(statistic, counts))
        held += low <= true <= high

    assert 267 <= held <= 296


@pytest.mark.parametrize("measure", ["purity", "nmi", "ari"])
def test_intervals_of_clusterings_contain_the_score(measure):
    rng = np.random.default_rng(10)
    classes = rng.permutation(np.arange(400) % 20)
    clusters = np.where(rng.random(400) < 0.6, classes, rng.integers(0, 20, 400))
    statistic = Contingency(classes, clusters, measure)
    counts = draw_counts(400, 500, seed=1, name="set")

    resampled = resample(statistic, counts)
    low, high = interval(resampled)

    assert resampled.replicates.mean() == pytest.approx(resampled.score)
    assert 0.4 < (resampled.score - low) / (high - low) < 0.6
    if measure == "nmi":  # the reason: copies of items agree with each other
        assert np.quantile(statistic.evaluate(counts), 0.01) > resampled.score


def test_replicates_of_purity_vary_like_those_of_a_mean():
    # with classes in clusters of their own but for a few strays, purity is a share of items
    classes = np.arange(600) % 3
    clusters = np.where(np.arange(600) < 90, (classes + 1) % 3, classes)
    counts = draw_counts(600, 2_000, seed=1, name="set")

    as_clusters = resample(Contingency(classes, clusters, "purity"), counts)
    as_mean = resample(Means(classes == clusters), counts)

    assert as_clusters.score == as_mean.score
    # each deviation of 2,000 replicates is known to 1.6 %: five times that and more
    assert as_clusters.replicates.std() == pytest.approx(as_mean.replicates.std(), rel=0.12)


def test_replicates_of_several_clusterings_carry_their_chance():
    # With every item drawn once, only the clusterings vary: the deviation of a mean of three. That
    # of 4,000 replicates is known to about 1 %.
    classes = np.repeat([0, 1], 50)
    several = np.array([classes, np.repeat([0, 1, 2, 2], 25), np.zeros(100, int)])
    statistic = Contingency(classes, several, "ari")
    expected = np.std(statistic.once(), ddof=1) / math.sqrt(3)
    counts = draw_counts(100, 4_000, seed=1, name="set")

    every = resample(statistic, np.ones_like(counts))
    drawn = resample(statistic, counts)
    same = resample(Contingency(classes, np.tile(classes, (3, 1)), "ari"), counts)

    assert every.replicates.std() == pytest.approx(expected, rel=0.06)
    assert drawn.replicates.std() >= 0.94 * expected
    assert same.replicates.std() == pytest.approx(0, abs=1e-12)
    assert (paired(drawn, drawn).low, paired(drawn, drawn).high) == (0.0, 0.0)


def test_intervals_of_clusterings_do_not_exceed_one():
    classes = np.arange(40) % 4
    clusters = np.r_[classes[:-1], 9]
    counts = draw_counts(40, 500, seed=1, name="set")

    resampled = resample(Contingency(classes, clusters, "nmi"), counts)

    assert resampled.replicates.max() > 1
    assert interval(resampled)[1] == 1.0


def test_differences_use_the_same_draws():
    rng = np.random.default_rng(11)
    judged, one, other = pairs_of_runs(rng, 150)
    other += 0.8 * rng.normal(size=150)
    counts = draw_counts(150, 800, seed=1, name="set")
    a, b = (resample(Correlation(judged, run, ranked=True), counts) for run in (one, other))

    found = paired(a, b)

    assert found.difference == a.score - b.score
    differences = a.replicates - b.replicates
    assert [found.low, found.high] == pytest.approx(np.quantile(differences, [0.025, 0.975]))
    deviate = found.difference / differences.std(ddof=1)
    assert found.p == pytest.approx(2 * scipy.stats.norm.sf(deviate))
    apart = np.quantile(a.replicates - b.replicates[::-1], [0.025, 0.975])
    assert found.high - found.low < 0.9 * np.ptp(apart)
    swapped = paired(b, a)
    assert (swapped.difference, swapped.p) == (-found.difference, found.p)


def test_a_run_has_no_difference_from_itself_and_none_from_an_undefined_score():
    counts = draw_counts(50, 200, seed=1, name="set")
    x, y = np.random.default_rng(12).normal(size=(2, 50))
    labels = np.arange(50) % 5

    for statistic in (Means(x), Correlation(x, y, True), Contingency(labels, x > 0, "ari")):
        found = paired(resample(statistic, counts), resample(statistic, counts))
        assert (found.difference, found.low, found.high, found.p) == (0.0, 0.0, 0.0, 1.0)

    a, b = (resample(Correlation(x, run, ranked=True), counts) for run in (y, np.zeros(50)))
    found = paired(a, b)
    assert np.isnan([found.difference, found.low, found.high, found.p]).all()


def test_constant_replicates_have_no_p_value():
    counts = draw_counts(6, 200, seed=1, name="set")
    x = np.arange(6.0)

    found = paired(*(resample(Correlation(x, run, ranked=True), counts) for run in (x, -x)))

    assert found.difference == pytest.approx(2.0)
    assert math.isnan(found.p)


@pytest.mark.slow
@pytest.mark.parametrize("ranked", [True, False])
def test_false_positive_rate_of_correlations(ranked):
    # At a chance of 0.065 each, more than 45 of 400 false alarms: below 1 in 1,000.
    rng = np.random.default_rng(13)
    counts = draw_counts(80, 400, seed=1, name="set")

    alarms = 0
    for _ in range(400):
        judged, *runs = pairs_of_runs(rng, 80)
        a, b = (resample(Correlation(judged, run, ranked), counts) for run in runs)
        alarms += paired(a, b).p <= 0.05

    assert 4 < alarms <= 45


def naive_sign_flip(differences):
    """All sign assignments."""
    sums = [
        abs(sum(s * d for s, d in zip(signs, differences, strict=True)))
        for signs in itertools.product((-1, 1), repeat=len(differences))
    ]
    return np.mean(np.array(sums) >= abs(sum(differences)) - 1e-9)


@pytest.mark.parametrize("ones", [0, 1, 3, 7, 10])
def test_sign_flips_of_binary_answers_are_exact(ones):
    differences = np.r_[np.ones(ones), -np.ones(10 - ones), np.zeros(5)]

    assert sign_flip(differences) == pytest.approx(naive_sign_flip(differences[:10]))
    assert sign_flip(differences) == pytest.approx(
        scipy.stats.binomtest(ones, 10).pvalue if ones else 2 / 2**10
    )


def test_sign_flips_of_graded_values_are_sampled():
    # from 9,999 draws a p below 0.2 has a standard deviation of 0.004
    differences = np.array([0.125, 0.5, -0.25, 0.375, 0.25, 0.0, 0.5, -0.125, 0.625, 0.375, -0.5])

    found = sign_flip(differences, block=100)  # several blocks and a short last one

    assert found == pytest.approx(naive_sign_flip(differences), abs=0.02)
    assert found == sign_flip(-differences, block=100)
    assert found == sign_flip(differences[::-1] * 8, block=100)


def test_sign_flips_of_whole_numbers_are_those_of_float64():
    whole = np.random.default_rng(2).integers(-40, 43, size=300)

    assert 0.01 < sign_flip(whole * 1.0) == sign_flip(whole * 0.1) < 0.99


def test_a_sampled_p_is_never_zero():
    assert sign_flip(np.arange(1.0, 40.0)) == 1 / 10_000


def test_holm_by_hand_skips_nan_and_is_at_most_one():
    # 0.005 x 4, then 0.01 x 3, then 0.03 x 2, then 0.04 x 1, which may not fall below 0.06
    assert holm([0.01, 0.04, 0.03, 0.005]).tolist() == [0.03, 0.06, 0.06, 0.02]
    found = holm([0.6, math.nan, 0.5, 0.01])
    assert found[[0, 2, 3]].tolist() == [1.0, 1.0, 0.03]
    assert math.isnan(found[1])
    assert (holm([]).tolist(), holm([0.2]).tolist()) == ([], [0.2])


def test_item_counts_are_products_of_unit_counts():
    units = np.array([[3, 7], [7, 3], [3, 9], [9, 9]])

    lazily = draw_counts(4, 50, seed=1, name="set", units=units)
    counts = lazily[:]

    assert lazily.shape == counts.shape == (50, 4)
    np.testing.assert_array_equal(lazily[7:9], counts[7:9])
    of_unit = draw_counts(3, 50, seed=1, name="set").astype(np.int64)
    np.testing.assert_array_equal(counts[:, 0], of_unit[:, 0] * of_unit[:, 1])
    np.testing.assert_array_equal(counts[:, 1], counts[:, 0])
    np.testing.assert_array_equal(counts[:, 2], of_unit[:, 0] * of_unit[:, 2])
    np.testing.assert_array_equal(counts[:, 3], of_unit[:, 2] ** 2)


@pytest.mark.parametrize("k", [1, 2, 3])
def test_sums_over_units_equal_sums_over_items(k):
    # whole numbers: every order of additions gives the same bytes
    rng = np.random.default_rng(k)
    units = rng.integers(0, 12, size=(300, k))  # with repeated items, and units beside themselves
    counts = draw_counts(300, 40, seed=1, name="set", units=units)
    right, total = rng.integers(0, 2, size=(2, 300))
    items = counts[:].astype(np.float64)

    for statistic, expected in (
        (Means(right == 1), items @ right / items.sum(axis=1)),
        (Ratios(right, right + total), items @ right / (items @ (right + total))),
    ):
        assert statistic.evaluate(counts).tolist() == expected.tolist()
        assert statistic.evaluate(items).tolist() == expected.tolist()


def test_means_of_items_that_share_units_are_tested_by_units():
    # one run answers all questions, the other none: as many signs as there are pairs
    for n_pairs in (4, 5, 6):
        units = np.array(list(itertools.permutations(range(n_pairs), 2)))
        counts = draw_counts(len(units), 500, seed=1, name="set", units=units)
        a, b = (resample(Means(np.full(len(units), right)), counts) for right in (True, False))

        assert paired(a, b, units).p == 2 / 2**n_pairs
        assert paired(a, b).p == pytest.approx(2 / 2 ** len(units))


def test_items_that_share_units_get_the_largest_p():
    units = np.array(list(itertools.permutations(range(9), 2)))
    counts = draw_counts(len(units), 500, seed=1, name="set", units=units)
    left, right = (Means(units[:, 0] < known) for known in (8, 2))
    a, b = resample(left, counts), resample(right, counts)

    alone, sharing = paired(a, b), paired(a, b, units)

    assert sharing.p >= 2 / 2**6  # six pairs differ, and all to one side
    assert alone.p < 1e-9
    assert sharing.difference == alone.difference
    assert (sharing.low, sharing.high) == (alone.low, alone.high)


def naive_inflation(influences, words):
    """Products of the influences of any two items that share a word, over their squares."""
    sharing = [
        (i, j)
        for i, one in enumerate(words.tolist())
        for j, other in enumerate(words.tolist())
        if set(one) & set(other)
    ]
    sums = sum(influences[i] * influences[j] for i, j in sharing)
    return max(1, sums / sum(influences**2))


@pytest.mark.parametrize("scale", [1, -1])
def test_inflation_counts_every_two_items_that_share_a_word_once(scale):
    # a pair of words twice, one of them the other way round, and a word beside itself
    words = np.array([[0, 1], [1, 2], [2, 1], [3, 3], [3, 4], [0, 3], [5, 6], [3, 3]])
    rng = np.random.default_rng(5)

    found, expected = [], []
    for _ in range(20):
        influences = rng.normal(size=8) + scale
        found.append(Sharing(words, influences).inflation())
        expected.append(naive_inflation(influences, words))

    assert found == pytest.approx(expected)
    assert max(found) > 1


def test_influences_are_those_of_leaving_out_items():
    rng = np.random.default_rng(6)
    x, y = rng.normal(size=(2, 9))
    words = rng.integers(5, size=(9, 2))

    found = Sharing.of(Correlation(x, y, True), words).influences

    without = np.array(
        [scipy.stats.spearmanr(np.delete(x, i), np.delete(y, i))[0] for i in range(9)]
    )
    np.testing.assert_allclose(found, without.mean() - without, atol=1e-12)


def test_items_that_an_undefined_score_depends_on_are_not_widened():
    # without the second item all x are equal
    statistic = Correlation(np.array([1.0, 2, 1]), np.array([1.0, 2, 3]), True)

    assert Sharing.of(statistic, np.array([[0, 1], [1, 2], [2, 3]])).inflation() == 1.0


def words_in_pairs(rng, words):
    """Judgments and the cosines of two equally good runs, worse on some words than on others."""

    def of_words():
        return rng.normal(size=words.max() + 1)[words].sum(axis=1)

    judged = rng.normal(size=len(words)) + 0.5 * of_words()
    runs = [(0.5 + 0.35 * of_words()) * judged + rng.normal(size=len(words)) for _ in range(2)]
    return judged, *runs


@pytest.mark.slow
def test_false_positive_rate_of_pairs_that_share_words():
    # 40 words in 100 pairs. At a chance of 0.065 more than 36 of 300 false alarms: below 1 in
    # 1,000. Pairs drawn as if independent give more than 45 of 300 (0.2 each; chance of fewer
    # below 1 in 50).
    rng = np.random.default_rng(15)
    words = np.array([rng.choice(40, size=2, replace=False) for _ in range(100)])
    counts = draw_counts(100, 300, seed=1, name="set")

    alarms = {"words": 0, "none": 0}
    for _ in range(300):
        judged, *runs = words_in_pairs(rng, words)
        for name, shared in (("words", words), ("none", None)):
            a, b = (resample(Correlation(judged, run, True), counts, shared) for run in runs)
            alarms[name] += paired(a, b).p <= 0.05

    assert alarms["words"] <= 36
    assert alarms["none"] > 45


def test_seeds_share_words_too():
    rng = np.random.default_rng(17)
    words = np.array([rng.choice(12, size=2, replace=False) for _ in range(60)])
    counts = draw_counts(60, 300, seed=1, name="set")
    judged, *runs = words_in_pairs(rng, words)
    each = [resample(Correlation(judged, run, True), counts, words) for run in runs]

    averaged = average_over_seeds(each)

    expected = Sharing.of(averaged.statistic, words)
    np.testing.assert_allclose(averaged.sharing.influences, expected.influences, atol=1e-12)
    assert expected.inflation() > 1.2
    width = math.sqrt(expected.inflation()) * np.ptp(
        np.quantile(averaged.replicates, [0.025, 0.975])
    )
    assert np.ptp(interval(averaged)) == pytest.approx(width)


def test_few_seeds_use_the_t_distribution():
    # variance of items 1, of the means over seeds 1 / 2 each: t with 4 / (1 / 4 + 1 / 4) = 8
    # degrees of freedom, by Satterthwaite's formula
    replicates = np.array([-1.0, 1.0] * 50) * math.sqrt(99 / 100)
    two = [
        Resampled(Correlation(np.zeros(2), np.zeros(2), True), score, part, 1.0, 2)
        for score, part in ((3.0, replicates), (0.0, np.zeros(100)))
    ]

    assert paired(*two).p == pytest.approx(2 * scipy.stats.t.sf(3 / math.sqrt(2), 8))


def test_seeds_are_averaged_per_score_and_draw():
    counts = draw_counts(3, 20, seed=1, name="set")
    statistics = [Means(np.array([1.0, 0.0, 1.0])), Means(np.array([1.0, 0.0, 0.0]))]
    resampled = [resample(statistic, counts) for statistic in statistics]

    averaged = average_over_seeds(resampled)

    assert averaged.score == pytest.approx(0.5)
    assert averaged.deviation == pytest.approx(1 / 3 / math.sqrt(2))
    assert averaged.n_seeds == 2
    assert averaged.statistic.values.tolist() == [1.0, 0.0, 0.5]
    np.testing.assert_allclose(averaged.replicates, averaged.statistic.evaluate(counts))


@pytest.mark.parametrize("kind", ["correlation", "clusters"])
def test_other_scores_averaged_over_seeds_are_statistics_too(kind):
    rng = np.random.default_rng(2)
    judged, classes = rng.normal(size=12), rng.integers(3, size=12)
    statistics = [
        Correlation(judged, rng.normal(size=12), True)
        if kind == "correlation"
        else Contingency(classes, rng.integers(3, size=12), "purity")
        for _ in range(3)
    ]
    counts, chosen = draw_counts(12, 30, seed=1, name="set"), np.arange(12) < 5

    averaged = average_over_seeds([resample(statistic, counts) for statistic in statistics])

    expected = np.mean([each.evaluate(counts) for each in statistics], axis=0)
    np.testing.assert_allclose(averaged.statistic.evaluate(counts), expected)
    few = counts[:, :5]
    expected = np.mean([each.take(chosen).evaluate(few) for each in statistics], axis=0)
    np.testing.assert_allclose(averaged.statistic.take(chosen).evaluate(few), expected)
    once = np.ones((1, 12), np.uint8)
    assert averaged.score == pytest.approx(averaged.statistic.evaluate(once)[0])
    low, high = interval(averaged)
    assert 0 <= low <= high <= 1 or kind == "correlation"
