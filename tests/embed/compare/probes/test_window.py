"""Window probe: use of neighbors, early stopping, and determinism by seed."""

import math

import numpy as np
import pytest
import scipy.sparse
import torch

from firth.embed.compare.probes import window as window_probe
from firth.embed.compare.probes.examples import Examples, standardized
from firth.embed.compare.probes.linear import train_linear
from firth.embed.compare.probes.progress import reporting_shares
from firth.embed.compare.probes.window import train_window
from firth.embed.vectors.one_thread import ONE_THREAD
from tests.embed.compare.probing import separable


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_only_a_window_probe_learns_from_neighbors(sparse, monkeypatch):
    monkeypatch.setattr(window_probe, "_MAX_STEPS", 512)  # enough here
    monkeypatch.setattr(window_probe, "WINDOW_DECAYS", (0.01,))
    # the label of a word is whether the preceding word is in the first half
    rng = np.random.default_rng(8)
    words = rng.integers(10, size=5_001)
    labels = (words[:-1] < 5).astype(np.int64)
    table = np.eye(10, dtype=np.float32)
    table = scipy.sparse.csr_matrix(table) if sparse else standardized(table, words)
    windows = np.column_stack([words[:-1], words[1:]])
    train, dev = (
        Examples(windows[part], labels[part]) for part in (slice(4_000), slice(4_000, None))
    )

    window = train_window(table, train, dev, 2, seed=1)
    linear = train_linear(
        table, Examples(train.rows[:, 1:], train.labels), Examples(dev.rows[:, 1:], dev.labels), 2
    )

    assert window.accuracy > 0.99
    assert linear.accuracy < 0.6


@pytest.mark.slow
@pytest.mark.parametrize("sparse", [False, True])
def test_probes_are_the_same_for_the_same_seed_only(sparse, monkeypatch):
    monkeypatch.setattr(window_probe, "_MAX_STEPS", 256)  # enough here
    table, examples = separable(300)
    table = scipy.sparse.csr_matrix(np.maximum(table, 0)) if sparse else table
    with ONE_THREAD:
        nets = [window_probe._train(table, examples, examples, 4, 0.01, seed) for seed in (1, 1, 2)]
        answers = [train_linear(table, examples, examples, 4) for _ in range(2)]

    # score is a method of the network that was kept
    a, b, c = (net.score.__self__.logits(examples.rows).detach().numpy() for net in nets)
    assert a.tobytes() == b.tobytes() != c.tobytes()
    one, other = (each.predict(examples.rows).tolist() for each in answers)
    assert one == other


def test_training_reports_its_progress(monkeypatch):
    monkeypatch.setattr(window_probe, "_MAX_STEPS", 64)
    table, examples = separable(64)
    shares = []

    with reporting_shares(shares.append):
        train_window(table, examples, examples, 4, seed=1)

    assert shares == sorted(shares)
    assert len(shares) > 10  # in every epoch of both decays
    assert shares[-1] == 1


@pytest.mark.slow
def test_a_dominant_label_does_not_end_training_early(monkeypatch):
    monkeypatch.setattr(window_probe, "_MAX_STEPS", 1024)  # enough here
    monkeypatch.setattr(window_probe, "WINDOW_DECAYS", (0.01,))
    # the first epochs predict it for every word, with the same accuracy on dev
    rng = np.random.default_rng(1)
    label_of = np.where(np.arange(60) < 54, 0, np.arange(60) % 3 + 1)
    words = rng.integers(60, size=1401)
    labels = label_of[words[1:]]
    table = standardized(rng.normal(size=(60, 20)).astype(np.float32), words)
    windows = np.column_stack([words[:-1], words[1:]])
    train, dev = (Examples(windows[part], labels[part]) for part in (slice(900), slice(900, None)))

    found = train_window(table, train, dev, 4, seed=1)

    entities = dev.labels > 0
    assert 0.85 < (~entities).mean() < 0.95
    assert (found.predict(dev.rows) == dev.labels)[entities].mean() > 0.95
    assert found.accuracy > 0.98


def test_a_sparse_table_trains_the_same_network_as_the_same_table_with_zeros():
    rng = np.random.default_rng(4)
    dense = (np.eye(40) * rng.uniform(1, 2, size=40)).astype(np.float32)
    dense[::3, 5] = 0.5
    rows = np.minimum(rng.zipf(1.5, size=(3_000, 3)) - 1, 39)
    examples = Examples(rows, (rows[:, 1] + (rows[:, 0] > 4)) % 3)
    nets = []
    for kind, table in (
        (window_probe._Network, dense),
        (window_probe._SparseNetwork, scipy.sparse.csr_matrix(dense)),
    ):
        net = kind(table, 3, 3, seed=1)
        net._set_weights(torch.randn(net.weights.shape, generator=_generator()) / 10)
        optimizer = torch.optim.AdamW([net.weights], 2e-3, weight_decay=0.01)
        for step in range(60):
            some = slice(50 * step, 50 * step + 50)
            net.set_gradients(rows[some], examples.labels[some])
            optimizer.step()
        nets.append(net)

    slow, fast = (net.logits(rows).detach().numpy() for net in nets)
    assert np.ptp(slow) > 1
    assert fast == pytest.approx(slow, rel=0, abs=1e-3)


def _generator():
    return torch.Generator().manual_seed(3)


def test_epochs_are_compared_by_the_likelihood_of_known_labels():
    table, examples = separable()
    network = window_probe._Network(table, 1, 4, seed=1)  # all labels get the same score
    rows = examples.rows[:3]

    assert network.mean_loss(Examples(rows, np.array([0, -1, 3]))) == pytest.approx(math.log(4))
    assert network.mean_loss(Examples(rows, np.full(3, -1))) == math.inf


@pytest.mark.slow
@pytest.mark.parametrize("n_words", [100, 4095, 4097])
def test_training_stops_after_the_stated_number_of_steps(n_words, monkeypatch):
    monkeypatch.setattr(window_probe, "_MAX_STEPS", 256)
    monkeypatch.setattr(window_probe, "_MAX_EPOCHS", 1)
    table, _ = separable(8)
    rng = np.random.default_rng(2)
    train = Examples(rng.integers(8, size=(n_words, 1)), rng.integers(4, size=n_words))
    batch = max(32, n_words // 128)
    epochs = []

    def trained(loss):
        epochs.clear()
        monkeypatch.setattr(
            window_probe._Network, "mean_loss", lambda *_: epochs.append(0) or loss(len(epochs))
        )
        window_probe._train(table, train, train, 4, 0.01, 1)
        return len(epochs)

    without_gain, in_all = trained(lambda nth: 1.0) - 1, trained(lambda nth: 2 - nth / 100)

    for epochs, steps in ((without_gain, 128), (in_all, 256)):
        assert (epochs - 1) * n_words < steps * batch <= epochs * n_words


def test_only_the_development_part_decides_when_to_stop():
    table, examples = separable()
    # labels of dev that training never gives: the first epoch is as good as any
    impossible = Examples(examples.rows, np.full(len(examples.labels), -1))

    found = train_window(table, examples, impossible, 4, seed=1)

    assert (found.epochs, found.accuracy, found.decay) == (1, 0.0, window_probe.WINDOW_DECAYS[0])
