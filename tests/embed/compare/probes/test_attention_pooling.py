"""Attention pooling: arithmetic, finding informative words, and the margin."""

import numpy as np
import pytest
import scipy.sparse
import torch

from firth.embed.compare.probes.attention_network import AttentionNetwork, margin_loss
from firth.embed.compare.probes.attention_pooling import LabeledBags, train_attention
from firth.embed.compare.probes.examples import Bags
from firth.embed.vectors.one_thread import ONE_THREAD

# the second text is empty; the first has two sentences, of which one has two words
BAGS = Bags(np.array([0, 1, 1, 3, 2]), np.array([0, 3, 3, 5]), np.array([0, 0, 1, 0, 2]))
TABLE = np.array([[1, 0, 2], [0, 3, 0], [1, 1, 0], [0, 0, 0]], np.float32)


def set_weights(network, seed=3):
    """Give a network distinct weights."""
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for parameter in network.parameters:
            parameter.copy_(torch.randn(parameter.shape, generator=generator))
    return [parameter.detach().numpy().astype(np.float64) for parameter in network.parameters]


def naive(attention, out, bias, scale, bags=BAGS):
    """Weights and logits by the definition, sentence by sentence."""
    all_weights, logits = [], []
    for start, stop in zip(bags.offsets[:-1], bags.offsets[1:], strict=True):
        words = TABLE[bags.rows[start:stop]].astype(np.float64)
        weights = np.exp(words @ attention[0]) / np.exp(words @ attention[0]).sum()
        if len(attention) == 2:
            weights = naive_levels(words, bags.sentences[start:stop], *attention)
        pooled = weights @ words
        if scale is None:
            logits.append(pooled @ out + bias)
        else:
            lengths = np.linalg.norm(out, axis=0) * max(np.linalg.norm(pooled), 1e-6)
            logits.append(scale * (pooled @ out) / lengths)
        all_weights.extend(weights)
    return np.array(all_weights), np.array(logits)


def naive_levels(words, numbers, of_words, of_sentences):
    """The weights of a text's words by the definition, sentence by sentence."""
    shares, scores = [], []
    for number in dict.fromkeys(numbers.tolist()):
        vectors = words[numbers == number]
        share = np.exp(vectors @ of_words) / np.exp(vectors @ of_words).sum()
        shares.append(share)
        scores.append(sum(share[:, None] * vectors) @ of_sentences)
    weights = np.exp(scores) / np.exp(scores).sum()
    return np.concatenate([np.zeros(0), *map(np.multiply, weights, shares)])


def naive_loss(parameters, scale, less):
    """Mean negative log-likelihood of labels 0, 1 and 1, by the definition."""
    _, logits = naive(*parameters, scale)
    logits[np.arange(3), [0, 1, 1]] -= less
    return -(logits[np.arange(3), [0, 1, 1]] - np.log(np.exp(logits).sum(axis=1))).mean()


def differences(parameters, scale, less, step=1e-6):
    """Central differences of the naive loss."""
    slopes = []
    for parameter in parameters:
        slope = np.empty_like(parameter)
        for place in np.ndindex(parameter.shape):
            there = parameter[place]
            ends = []
            for moved in (there + step, there - step):
                parameter[place] = moved
                ends.append(naive_loss(parameters, scale, less))
            parameter[place] = there
            slope[place] = (ends[0] - ends[1]) / (2 * step)
        slopes.append(slope)
    return slopes


FORMS = pytest.mark.parametrize("form", [np.asarray, scipy.sparse.csr_matrix])
SCALES = pytest.mark.parametrize("scale", [None, 10.0])
LEVELS = pytest.mark.parametrize("levels", [1, 2])
LAST_EMPTY = Bags(np.array([0, 1, 1]), np.array([0, 2, 3, 3]), np.array([0, 1, 1]))
ALL_EMPTY = Bags(np.zeros(0, np.int64), np.zeros(4, np.int64), np.zeros(0, np.int64))


@FORMS
@SCALES
@LEVELS
@pytest.mark.parametrize(
    "bags", [BAGS, LAST_EMPTY, ALL_EMPTY], ids=["some", "last empty", "all empty"]
)
def test_weights_and_logits_match_the_definition(form, scale, levels, bags):
    network = AttentionNetwork(form(TABLE), 2, scale, 1, levels)
    weights, logits = naive(*set_weights(network), scale, bags)

    assert network.weights(bags) == pytest.approx(weights, abs=1e-5)
    assert network.logits(bags).detach().numpy() == pytest.approx(logits, abs=1e-4)
    assert network.predict(bags).tolist() == logits.argmax(axis=1).tolist()


@FORMS
@SCALES
@LEVELS
def test_gradients_match_finite_differences(form, scale, levels):
    network = AttentionNetwork(form(TABLE), 2, scale, 1, levels)
    expected = differences(set_weights(network), scale, 0.5)
    margin_loss(network.logits(BAGS), np.array([0, 1, 1]), 0.5).backward()

    for parameter, slope in zip(network.parameters, expected, strict=True):
        found = np.zeros_like(slope) if parameter.grad is None else parameter.grad.numpy()
        assert found == pytest.approx(slope, abs=1e-4)
    assert all(np.abs(slope).max() > 0.01 for slope in expected[:2])


@FORMS
@SCALES
def test_a_batch_of_empty_sentences_does_not_change_the_attention(form, scale):
    network = AttentionNetwork(form(TABLE), 2, scale, seed=1)
    set_weights(network)
    margin_loss(network.logits(ALL_EMPTY), np.array([0, 1, 1]), 0.5).backward()

    for parameter in network.parameters[:2]:
        assert parameter.grad is None or not parameter.grad.any()


@pytest.mark.parametrize("bags", [BAGS, ALL_EMPTY], ids=["words", "empty"])
@SCALES
def test_gradients_of_sparse_vectors_are_those_of_dense_ones(scale, bags):
    # 1e-5 is some hundred roundings of float32 numbers near 1
    dense, sparse = (
        AttentionNetwork(table, 2, scale, seed=1)
        for table in (TABLE, scipy.sparse.csr_matrix(TABLE))
    )
    for network in (dense, sparse):
        set_weights(network)
        network.set_gradients(bags, np.array([0, 1, 1]), 0.5)

    for one, other in zip(dense.parameters, sparse.parameters, strict=True):
        if one.grad is not None:
            np.testing.assert_allclose(other.grad, one.grad, rtol=1e-5, atol=1e-5)


@LEVELS
def test_weights_do_not_depend_on_the_block_of_sentences(monkeypatch, levels):
    network = AttentionNetwork(TABLE, 2, None, 1, levels)
    set_weights(network)
    many = BAGS.take(np.arange(600) % 3)
    looked_up = []
    vectors_of = network._vectors
    monkeypatch.setattr(
        network, "_vectors", lambda b: looked_up.append(len(b.lengths)) or vectors_of(b)
    )

    found = network.weights(many)

    assert sum(looked_up) == 600
    assert max(looked_up) <= 256
    assert found == pytest.approx(np.tile(network.weights(BAGS), 200))


@pytest.mark.parametrize(
    ("levels", "first"), [(1, [1 / 3] * 3), (2, [1 / 4, 1 / 4, 1 / 2])], ids=["words", "sentences"]
)
def test_an_untrained_network_weighs_all_equally(levels, first):
    weights = AttentionNetwork(TABLE, 2, None, 1, levels).weights(BAGS)
    assert weights.tolist() == pytest.approx([*first, 1 / 2, 1 / 2])


def test_the_margin_is_subtracted_from_the_right_label_only():
    # s = 10, m = 0.1: exp(10 (.8 - .1)) against exp(10 * .5)
    loss = margin_loss(torch.tensor([[8.0, 5.0]]), np.array([0]), 10 * 0.1)

    # scores of 8 at most, rounded twice in float32; the loss moves by less than they do
    expected = -np.log(np.exp(7) / (np.exp(7) + np.exp(5)))
    assert float(loss) == pytest.approx(expected, rel=0, abs=2 * 8 * 2.0**-24)


def marked_sentences(n, seed):
    """Sentences of twelve words, one of which determines the label; the others are noise."""
    rng = np.random.default_rng(seed)
    table = np.hstack([rng.normal(size=(50, 4)), np.zeros((50, 2))]).astype(np.float32)
    table[:2] = [[0, 0, 0, 0, 1, 3], [0, 0, 0, 0, -1, 3]]
    labels = rng.integers(0, 2, size=n)
    rows = np.where(np.arange(12) == 5, labels[:, None], rng.integers(2, 50, size=(n, 12)))
    return table, LabeledBags(Bags(rows.ravel(), np.arange(n + 1) * 12), labels)


@pytest.mark.slow
@pytest.mark.usefixtures("brief_attention")
@pytest.mark.parametrize("margin", [False, True])
def test_the_word_that_determines_the_label_gets_the_most_weight(margin):
    table, every = marked_sentences(400, 2)
    train, dev, test = (
        LabeledBags(every.bags.take(places), every.labels[places])
        for places in np.split(np.arange(400), [300, 350])
    )

    with ONE_THREAD:
        found = train_attention(table, train, dev, 2, seed=1, margin=margin)
        again = train_attention(table, train, dev, 2, seed=1, margin=margin)

    weights = found.network.weights(test.bags).reshape(-1, 12)
    assert weights.mean(axis=0).argmax() == 5
    assert weights[:, 5].mean() > 0.4  # equal weights would be 1 in 12
    assert (found.network.predict(test.bags) == test.labels).mean() > 0.9
    assert (found.margin > 0) == margin
    assert again.network.weights(test.bags).tobytes() == weights.tobytes()


def test_take_returns_sentences_in_the_given_order():
    taken = BAGS.take(np.array([2, 1, 0, 2]))

    assert taken.rows.tolist() == [3, 2, 0, 1, 1, 3, 2]
    assert taken.offsets.tolist() == [0, 2, 2, 5, 7]
    assert taken.sentences.tolist() == [0, 2, 0, 0, 1, 0, 2]
