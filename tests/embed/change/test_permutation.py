"""Distances by chance: dealing out, counting and p, each against its definition."""

import itertools

import numpy as np
import pytest

from firth.embed.change.joint import joint_space
from firth.embed.change.periods import PeriodText
from firth.embed.change.permutation import cosine_distances, dealt_text, permuted_distances
from firth.embed.change.permutation_kernels import deal
from firth.embed.svd.train import SvdConfig
from tests.embed.change.test_joint import V, naive_counts, naive_ppmi, random_text

SVD = SvdConfig(dim=4, window=3, subsample=0.02, threads=2)


def alone(text, document):
    """Return the text of one document."""
    ends = zip(itertools.pairwise(text.offsets), text.documents, strict=True)
    parts = [text.rows[start:stop] for (start, stop), own in ends if own == document]
    rows = np.concatenate([text.rows[:0], *parts])
    offsets = np.cumsum([0, *map(len, parts)])
    counts = np.bincount(rows, minlength=len(text.counts))
    return PeriodText(rows, offsets, np.full(len(parts), document), counts)


def naive_deal(sizes, order, targets):
    """Give each block, in order, to the period in which its middle falls."""
    ends = np.cumsum(targets)
    labels, done = {}, 0
    for block in order:
        if sizes[block]:
            middle = done + sizes[block] / 2
            labels[block] = min(int((middle > ends).sum()), len(targets) - 1)
            done += sizes[block]
    return labels


@pytest.mark.parametrize("targets", [[3, 17], [10, 10], [4, 9, 7]], ids=str)
def test_blocks_are_dealt_out_by_the_middle_of_their_tokens(targets):
    rng = np.random.default_rng(1)
    sizes = np.array([5, 0, 1, 7, 1, 1, 0, 2, 3])
    blocks = np.repeat(np.arange(9), sizes).astype(np.uint16)
    orders = np.array([rng.permutation(9) for _ in range(30)], np.uint16)
    labels = np.full((30, 9), -1, np.int8)
    deal(blocks, orders, np.array([9]), np.array([targets]), labels)
    for found, order in zip(labels, orders, strict=True):
        expected = naive_deal(sizes, order.tolist(), targets)
        assert {b: int(found[b]) for b in expected} == expected


def test_blocks_of_each_stratum_are_dealt_out_apart():
    rng = np.random.default_rng(1)
    sizes = np.array([5, 0, 1, 7, 1, 1, 4, 2, 3])
    blocks = np.repeat(np.arange(9), sizes).astype(np.uint16)
    strata, targets = [[0, 3, 4, 6], [1, 2, 5, 7, 8]], [[6, 11], [5, 2]]
    orders = np.array([np.concatenate([rng.permutation(s) for s in strata]) for _ in range(30)])
    labels = np.full((30, 9), -1, np.int8)
    deal(blocks, orders.astype(np.uint16), np.array([4, 9]), np.array(targets), labels)
    for found, order in zip(labels, orders.tolist(), strict=True):
        for part, wanted in zip((order[:4], order[4:]), targets, strict=True):
            expected = naive_deal(sizes, part, wanted)
            assert {b: int(found[b]) for b in expected} == expected


def test_blocks_are_of_one_stratum_and_period():
    texts = [random_text(first, first, 12) for first in (0, 12)]
    strata = np.arange(24) % 3
    dealt = dealt_text(texts, V, 1, 8, strata)
    assert 6 <= len(dealt.periods) <= 14
    documents = np.repeat(
        np.concatenate([t.documents for t in texts]),
        np.concatenate([np.diff(t.offsets) for t in texts]),
    )
    rows = np.concatenate([t.rows for t in texts])
    for word in range(V):  # positions are in the order of the text
        found = dealt.text.units_of(word)
        np.testing.assert_array_equal(dealt.strata[found], strata[documents[rows == word]])
    by_word = [
        np.bincount(dealt.periods[dealt.text.units_of(w)], minlength=2).tolist() for w in range(V)
    ]
    assert by_word == [[int((t.rows == w).sum()) for t in texts] for w in range(V)]


def test_there_may_be_hundreds_of_periods():
    texts = [random_text(seed, seed, seed + 1) for seed in range(300)]
    assert dealt_text(texts, V, 1).periods.max() == 299


def test_single_tokens_keep_the_counts_of_the_periods():
    blocks = np.arange(20, dtype=np.uint16)
    orders = np.array([np.random.default_rng(s).permutation(20) for s in range(9)], np.uint16)
    labels = np.empty((9, 20), np.int8)
    deal(blocks, orders, np.array([20]), np.array([[3, 12, 5]]), labels)
    assert [np.bincount(row).tolist() for row in labels] == [[3, 12, 5]] * 9


@pytest.mark.parametrize("n_words", [V, V - 3], ids=["all", "most-frequent"])
@pytest.mark.parametrize("entries", [1 << 22, 1], ids=["at-once", "one-by-one"])
def test_distances_are_those_of_recounted_text(n_words, entries):
    texts = [random_text(1, 0, 10), random_text(2, 10, 14)]
    space = joint_space(texts, n_words, SVD)
    dealt = dealt_text(texts, n_words, 2)
    assert len(dealt.periods) == 24
    words = np.array([5, 0, 7])
    found = permuted_distances(dealt, space, words, SVD, permutations=6, seed=3, entries=entries)

    generator = np.random.default_rng(3)
    orders = [generator.permutation(24) for _ in range(6)]
    # the counts of each document alone
    counts = []
    for document in range(24):
        text = texts[0] if document < 10 else texts[1]
        counts.append(naive_counts(alone(text, document), 3, n_words))
    together = sum(counts)
    for row, word in zip(found, words, strict=True):
        tokens = [int((t.rows[np.repeat(t.documents == d, 6)] == word).sum())
                  for d in range(24) for t in [texts[0] if d < 10 else texts[1]]]  # fmt: skip
        observed = {d: int(d >= 10) for d in range(24)}
        totals = [sum(tokens[:10]), sum(tokens[10:])]
        for distance, labels in zip(
            row, [observed, *(naive_deal(tokens, o.tolist(), totals) for o in orders)], strict=True
        ):
            rows = [sum((counts[d][word] for d in labels if labels[d] == t), np.zeros(n_words))
                    for t in (0, 1)]  # fmt: skip
            weighed = naive_ppmi(np.array(rows), together, space.keep, SVD.context_smoothing)
            a, b = (weighed @ space.basis)[:, None]
            assert distance == pytest.approx(float(cosine_distances(a, b)[0]), abs=2e-5)


def test_observed_distances_are_those_of_the_space_and_of_any_number_of_blocks():
    texts = [random_text(1, 0, 30), random_text(2, 30, 30)]
    space = joint_space(texts, V, SVD)
    words = np.arange(V)
    expected = cosine_distances(space.vectors[0], space.vectors[1])
    for most in (512, 7):
        dealt = dealt_text(texts, V, 1, most)
        found = permuted_distances(dealt, space, words, SVD, permutations=0, seed=1)
        np.testing.assert_allclose(found[:, 0], expected, atol=1e-5)
    assert len(dealt.periods) <= 8
    assert (np.diff(dealt.periods) >= 0).all()


def test_words_without_a_vector_are_as_far_as_can_be_expected_by_chance():
    a = np.array([[1, 0], [0, 0], [1, 1]], np.float32)
    b = np.array([[0, 2], [1, 1], [2, 2]], np.float32)
    np.testing.assert_allclose(cosine_distances(a, b), [1, 1, 0], atol=1e-6)
