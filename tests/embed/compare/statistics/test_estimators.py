"""Statistics of weighted items against scipy and scikit-learn on repeated items."""

import tracemalloc

import numpy as np
import pytest
import scipy.stats
import sklearn.metrics
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.compare.statistics.estimators import (
    Contingency,
    Correlation,
    Means,
    SeedMean,
    in_blocks,
)
from firth.embed.compare.statistics.roc import RocArea


def draws(n_items, replicates=40, seed=2):
    """Draws with replacement, and counts of one."""
    rng = np.random.default_rng(seed)
    drawn = rng.multinomial(n_items, np.full(n_items, 1 / n_items), size=replicates)
    return np.vstack([np.ones((1, n_items), np.int64), drawn])


def repeated(values, counts):
    """One array per draw, with every item repeated by its count."""
    return [np.repeat(values, row) for row in counts]


def naive_purity(classes, clusters):
    """The definition."""
    inside = [[c for c, k in zip(classes, clusters, strict=True) if k == j] for j in set(clusters)]
    return sum(max(members.count(c) for c in members) for members in inside) / len(classes)


def test_means_match_those_of_repeated_values():
    values, counts = np.random.default_rng(1).normal(size=30), draws(30)

    found = Means(values).evaluate(counts)

    np.testing.assert_allclose(found, [v.mean() for v in repeated(values, counts)], atol=1e-15)


@pytest.mark.parametrize("steps", [3, 50, None], ids=["many ties", "some ties", "no ties"])
@pytest.mark.parametrize("ranked", [True, False])
def test_correlations_match_those_of_repeated_pairs(ranked, steps):
    rng, counts = np.random.default_rng(3), draws(60)
    x = rng.random(60)
    y = x + rng.normal(size=60)
    if steps:
        x, y = np.round(x * steps), np.round(y * steps)
    theirs = scipy.stats.spearmanr if ranked else scipy.stats.pearsonr

    found = Correlation(x, y, ranked).evaluate(counts)

    both = zip(repeated(x, counts), repeated(y, counts), strict=True)
    expected = [theirs(*series)[0] for series in both]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


def test_pearson_is_stable_for_values_far_from_zero():
    rng, counts = np.random.default_rng(3), draws(60)
    x, y = rng.normal(size=(2, 60)) * 1e-3 + 1e4

    found = Correlation(x, y, ranked=False).evaluate(counts)

    expected = Correlation(x - 1e4, y - 1e4, ranked=False).evaluate(counts)
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@given(st.data())
def test_spearman_matches_scipy_for_any_ties_and_counts(data):
    n_items = data.draw(st.integers(2, 8))
    series = st.lists(st.integers(-2, 2), min_size=n_items, max_size=n_items)
    x, y, counts = (np.array(data.draw(series)) for _ in range(3))
    counts = np.abs(counts)
    distinct = [len(np.unique(np.repeat(s, counts))) for s in (x, y)]

    [found] = Correlation(x, y, ranked=True).evaluate(counts[None])

    if min(distinct) < 2:
        assert np.isnan(found)
    else:
        expected = scipy.stats.spearmanr(np.repeat(x, counts), np.repeat(y, counts))[0]
        assert found == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize("ranked", [True, False])
@pytest.mark.parametrize("constant", ["x", "y"])
def test_a_constant_series_has_no_correlation(ranked, constant):
    # thirds are not exact in binary: their variance is rounding error
    series = {"x": np.array([0.1, 0.7, 1 / 3, 1 / 3]), "y": np.array([0.3, 0.6, 0.8, 0.9])}
    series[constant] = np.array([1 / 3, 1 / 3, 1 / 3, 0.9])

    found = Correlation(series["x"], series["y"], ranked).evaluate(
        np.array([[1, 1, 1, 0], [1, 1, 1, 1], [0, 4, 0, 0], [0, 0, 0, 0]])
    )

    assert np.isnan(found).tolist() == [True, False, True, True]


@pytest.mark.parametrize(
    ("measure", "theirs"),
    [
        ("nmi", sklearn.metrics.normalized_mutual_info_score),
        ("ari", sklearn.metrics.adjusted_rand_score),
        ("purity", naive_purity),
    ],
)
@pytest.mark.parametrize("agreement", [0.0, 0.7, 1.0])
def test_cluster_measures_match_those_of_repeated_items(measure, theirs, agreement):
    rng, counts = np.random.default_rng(4), draws(45)
    classes = rng.choice(["fruit", "tool", "bird", "town"], size=45)
    clusters = np.where(rng.random(45) < agreement, classes, rng.choice(list("abcdef"), size=45))

    found = Contingency(classes, clusters, measure).evaluate(counts)

    expected = [
        theirs(a.tolist(), b.tolist())
        for a, b in zip(repeated(classes, counts), repeated(clusters, counts), strict=True)
    ]
    np.testing.assert_allclose(found, expected, rtol=0, atol=1e-12)


@pytest.mark.parametrize(
    ("classes", "clusters"),
    [([0], [0]), ([0, 0, 0], [1, 1, 1]), ([0, 0, 0], [0, 1, 2]), ([0, 1, 2], [0, 1, 2])],
)
def test_degenerate_clusterings_score_as_in_scikit_learn(classes, clusters):
    once = np.ones((1, len(classes)), np.uint8)

    nmi, ari, purity = (
        Contingency(np.array(classes), np.array(clusters), measure).evaluate(once)[0]
        for measure in ("nmi", "ari", "purity")
    )

    assert nmi == pytest.approx(
        sklearn.metrics.normalized_mutual_info_score(classes, clusters), abs=1e-15
    )
    assert ari == sklearn.metrics.adjusted_rand_score(classes, clusters)
    assert purity == 1.0


def test_several_clusterings_score_their_mean():
    rng, counts = np.random.default_rng(4), draws(45)
    classes, several = rng.integers(4, size=45), rng.integers(5, size=(3, 45))
    alone = [Contingency(classes, one, "ari") for one in several]

    together = Contingency(classes, several, "ari")

    expected = np.mean([one.evaluate(counts) for one in alone], axis=0)
    np.testing.assert_allclose(together.evaluate(counts), expected, atol=1e-14)
    np.testing.assert_allclose(together.once(), [one.once()[0] for one in alone], atol=1e-14)


X, Y = np.random.default_rng(6).normal(size=(2, 50))
CLASSES, CLUSTERS = np.random.default_rng(6).integers(0, 4, size=(2, 50))
STATISTICS = {
    "ari": Contingency(CLASSES, CLUSTERS, "ari"),
    "nmi": Contingency(CLASSES, CLUSTERS, "nmi"),
    "purity": Contingency(CLASSES, CLUSTERS, "purity"),
    "spearman": Correlation(X, Y, ranked=True),
    "pearson": Correlation(X, Y, ranked=False),
    "means": Means(X),
}


@pytest.mark.parametrize("statistic", list(STATISTICS.values()), ids=list(STATISTICS))
def test_scores_do_not_depend_on_batching_or_count_dtype(statistic):
    counts = draws(50)
    expected = statistic.evaluate(counts)
    assert statistic.n_items == 50
    assert expected.dtype == np.float64
    assert expected.shape == (41,)

    for step, dtype in ((1, np.uint8), (3, np.int32), (41, np.float64)):
        parts = [counts[start : start + step].astype(dtype) for start in range(0, 41, step)]
        found = np.concatenate([statistic.evaluate(part) for part in parts])
        np.testing.assert_allclose(found, expected, atol=1e-14)


@pytest.mark.parametrize("block", [1, 170, 10**9])
def test_every_replicate_is_scored_once_for_any_block_size(block):
    counts, seen = draws(50), []

    def score(rows):
        seen.append(len(rows))
        return rows @ X

    np.testing.assert_allclose(in_blocks(counts, score, block=block), counts @ X, atol=1e-13)
    assert max(seen) == min(max(1, block // 50), 41)
    assert sum(seen) == 41


def test_a_draw_of_nothing_is_undefined():
    nothing = np.zeros((1, 50), np.uint8)
    scores = {name: statistic.evaluate(nothing)[0] for name, statistic in STATISTICS.items()}

    assert scores.pop("ari") == 1.0  # no pair of items on which to disagree
    assert np.isnan(list(scores.values())).all()


def test_memory_does_not_grow_with_the_number_of_draws():
    statistic = Means(np.random.default_rng(7).random(19_544) < 0.3)
    counts = np.ones((500, 19_544), np.uint8)

    tracemalloc.start()
    statistic.evaluate(counts)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()

    assert peak < 8 << 20


@pytest.mark.parametrize("chosen", [[0, 2, 5], [1, 3, 4, 5, 6], list(range(8))])
def test_take_equals_zero_counts_for_the_other_items(chosen):
    rng = np.random.default_rng(8)
    x, y = rng.normal(size=(2, 8))
    classes, clusters = rng.integers(3, size=(2, 8))
    statistics = [
        Means(x),
        Correlation(x, y, ranked=True),
        Correlation(x, y, ranked=False),
        Contingency(classes, clusters, "ari"),
        Contingency(classes, np.array([clusters, classes]), "nmi"),
        SeedMean((Means(x), Means(y))),
        RocArea(np.arange(8) % 3 == 0, y),
    ]
    inside = np.isin(np.arange(8), chosen)
    counts = rng.integers(1, 4, size=(6, 8)) * inside

    for statistic in statistics:
        part = statistic.take(inside)
        assert part.n_items == len(chosen)
        np.testing.assert_allclose(
            part.evaluate(counts[:, inside]), statistic.evaluate(counts), atol=1e-12
        )


@pytest.mark.filterwarnings("error")
def test_the_mean_area_leaves_out_classes_without_one():
    positive = np.array([[True, True], [False, True]])  # all items are of the second class
    area = RocArea(positive, np.array([[1.0, 0], [0, 1]]))
    assert area.evaluate(np.array([[1, 1], [1, 0]])).tolist() == pytest.approx(
        [1, np.nan], nan_ok=True
    )
