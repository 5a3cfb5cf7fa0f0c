"""Linear probe: gradient, optimum, and equal results for dense, sparse and counted words."""

import numpy as np
import pytest
import scipy.sparse

from firth.embed.compare.probes import linear
from firth.embed.compare.probes.examples import Examples, standardized
from firth.embed.compare.probes.linear import train_linear
from tests.embed.compare.probing import separable


def test_gradient_of_the_linear_loss_matches_finite_differences():
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(7, 3)).astype(np.float32)
    counts = rng.integers(0, 4, size=(7, 2))
    loss = linear._Loss(matrix, counts)
    at, step = rng.normal(size=8), 1e-2

    _, gradient = loss(at, 0.1)
    nearly = [
        (loss(at + step * unit, 0.1)[0] - loss(at - step * unit, 0.1)[0]) / (2 * step)
        for unit in np.eye(8)
    ]

    assert gradient == pytest.approx(nearly, abs=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_probe_learns_separable_labels(sparse):
    table, examples = separable()
    held = separable(seed=4)
    both = np.concatenate([table, held[0]])
    both = scipy.sparse.csr_matrix(both) if sparse else standardized(both, np.arange(400))
    dev = Examples(held[1].rows + 400, held[1].labels)

    found = train_linear(both, examples, dev, 4)

    assert found.accuracy > 0.95
    assert found.accuracy == (found.predict(dev.rows) == dev.labels).mean()
    assert found.decay in linear.LINEAR_DECAYS


def test_on_one_hot_vectors_it_predicts_the_most_frequent_label_of_each_word():
    rng = np.random.default_rng(2)
    rows = rng.integers(30, size=3000)
    labels = (rows + (rng.random(3000) < 0.3) * rng.integers(5, size=3000)) % 5
    table = scipy.sparse.identity(31, dtype=np.float32, format="csr")
    examples = Examples(rows[:, None], labels)

    found = train_linear(table, examples, examples, 5)

    counts = np.bincount(rows * 5 + labels, minlength=150).reshape(30, 5)
    assert found.predict(np.arange(30)[:, None]).tolist() == counts.argmax(axis=1).tolist()
    # an unseen word gets the most frequent label
    assert found.predict(np.array([[30]])).tolist() == [np.bincount(labels).argmax()]


def test_words_with_the_same_vector_count_as_often_as_they_occur():
    table, examples = separable(100)
    rows = np.concatenate([examples.rows, examples.rows[:50]])
    repeated = Examples(rows, np.concatenate([examples.labels, examples.labels[:50]]))
    apart = Examples(np.arange(150)[:, None], repeated.labels)

    one = train_linear(table, repeated, repeated, 4)
    other = train_linear(np.concatenate([table, table[:50]]), apart, apart, 4)

    assert one.accuracy == other.accuracy
    assert one.predict(rows).tolist() == other.predict(apart.rows).tolist()


def test_each_decay_is_trained_from_zero(monkeypatch):
    table, examples = separable()
    held = separable(seed=4)
    both = standardized(np.concatenate([table, held[0]]) / 9, np.arange(400))
    dev = Examples(held[1].rows + 400, held[1].labels)

    def weights(*decays):
        kept = []
        monkeypatch.setattr(linear, "_scorer", lambda t, w: kept.append(w) or _none)
        monkeypatch.setattr(linear, "LINEAR_DECAYS", decays)
        train_linear(both, examples, dev, 4)
        return kept

    strong, weak = weights(1e-3, 1e-5)

    assert (strong == weights(1e-3)[0]).all()
    assert (weak == weights(1e-5)[0]).all()
    assert np.abs(weak).max() > np.abs(strong).max()


def _none(rows):
    return np.zeros((len(rows), 1))


def test_mixed_dimensions_are_learned_as_fast_as_plain_ones(monkeypatch):
    rng = np.random.default_rng(3)
    plain = rng.normal(size=(600, 12)).astype(np.float32)
    labels = (plain @ rng.normal(size=(12, 3))).argmax(axis=1)
    examples = Examples(np.arange(600)[:, None], labels)
    mixed = (plain * np.logspace(0, -2, 12) @ rng.normal(size=(12, 12))).astype(np.float32)
    monkeypatch.setattr(linear, "LINEAR_DECAYS", (1e-7,))

    found = [train_linear(table, examples, examples, 3).accuracy for table in (plain, mixed)]

    assert min(found) > 0.97
    monkeypatch.setattr(linear._Loss, "axes", lambda loss, decay: np.eye(13))
    assert train_linear(mixed, examples, examples, 3).accuracy < min(found) - 0.02
