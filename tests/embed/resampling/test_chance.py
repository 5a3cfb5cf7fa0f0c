"""p from resamples: against its definition, and how often it is small by chance alone."""

import numpy as np
import pytest

from firth.embed.resampling.chance import pooled_p, top_counts, typical


def test_p_is_the_rank_among_words_of_similar_frequency():
    rng = np.random.default_rng(5)
    distances = rng.lognormal(size=(300, 21)).astype(np.float32)
    sizes = rng.permutation(300)
    p = pooled_p(distances, sizes)
    logs = np.log(distances.astype(float))
    scores = (logs - logs.mean(axis=1, keepdims=True)) / logs.std(axis=1, keepdims=True)
    for row in range(300):
        pool = scores[sizes // 100 == sizes[row] // 100]
        assert p[row] == pytest.approx((pool >= scores[row, 0]).sum() / pool.size)
    np.testing.assert_allclose(typical(distances), np.exp(logs.mean(axis=1)))


def test_equal_distances_have_p_of_one():
    assert pooled_p(np.ones((2, 5), np.float32), np.array([3, 4])).tolist() == [1, 1]


@pytest.mark.parametrize("apart", [False, True])
def test_words_that_no_resample_changes_have_p_of_one_and_are_not_in_the_pool(apart):
    distances = words_by_chance(300, 21, 10)
    fixed = np.repeat(distances[:200, :1], 21, axis=1)
    p = pooled_p(np.concatenate([fixed, distances]), np.ones(500), apart=apart, most_bins=1)
    assert p[:200].tolist() == [1.0] * 200
    alone = pooled_p(distances, np.ones(300), apart=apart, most_bins=1)
    np.testing.assert_array_equal(p[200:], alone)


def test_those_by_chance_can_be_a_pool_of_their_own_and_lack_words():
    distances = np.random.default_rng(6).lognormal(size=(40, 9))
    distances[:10, [3, 7]] = np.nan
    p = pooled_p(distances, np.arange(40), apart=True)

    def scores(columns):
        logs = np.log(columns)
        return (logs - np.nanmean(logs, axis=1)[:, None]) / np.nanstd(logs, axis=1)[:, None]

    pool = scores(distances[:, 1:])
    pool = pool[np.isfinite(pool)]
    assert len(pool) == 40 * 8 - 20
    for value, score in zip(p, scores(distances)[:, 0], strict=True):
        assert value == pytest.approx((1 + (pool >= score).sum()) / (1 + len(pool)))
    logs = np.log(distances[:, 1:])
    np.testing.assert_allclose(typical(distances[:, 1:]), np.exp(np.nanmean(logs, axis=1)))


def words_by_chance(n_words, n_columns, seed):
    """Draw distances of words; every tenth varies twelve times as much, about a mean of its own."""
    rng = np.random.default_rng(seed)
    spread = np.where(np.arange(n_words) % 10, 0.05, 0.6)[:, None]
    return np.exp(
        rng.normal(-1, 0.5, (n_words, 1)) + spread * rng.normal(size=(n_words, n_columns))
    )


@pytest.mark.parametrize("apart", [False, True])
def test_p_is_uniform_for_words_that_vary_much_and_little(apart):
    p = pooled_p(words_by_chance(20_000, 21, 7), np.arange(20_000), apart=apart, most_bins=1)
    for chosen in (np.arange(20_000) % 10 == 0, np.arange(20_000) % 10 > 0):
        error = np.sqrt(0.05 * 0.95 / chosen.sum())
        # a limit that chance alone exceeds once in 10^4
        assert abs((p[chosen] <= 0.05).mean() - 0.05) < 4 * error


@pytest.mark.parametrize("shift", [-3.0, 3.0], ids=["nearer", "farther"])
def test_words_that_differ_do_not_change_the_p_of_others(shift):
    distances = words_by_chance(20_000, 21, 8)
    changed = np.random.default_rng(9).random(20_000) < 0.7
    distances[changed, 0] *= np.exp(shift)
    p = pooled_p(distances, np.arange(20_000), apart=True, most_bins=1)[~changed]
    assert abs((p <= 0.05).mean() - 0.05) < 4 * np.sqrt(0.05 * 0.95 / len(p))


def test_top_counts_are_of_single_documents():
    rows, documents = np.array([0, 2, 2, 0, 2, 2, 0]), np.array([0, 0, 0, 1, 2, 2, 2])
    assert top_counts(rows, documents, 4).tolist() == [1, 0, 2, 0]
    assert top_counts(rows[:0], documents[:0], 2).tolist() == [0, 0]
