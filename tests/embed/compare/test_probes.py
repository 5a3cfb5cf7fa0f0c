"""Probes: the optimum by its conditions, what a window sees, dense like sparse, the same bytes."""

import numpy as np
import pytest
import scipy.sparse

from embed.compare import probes
from embed.compare.probes import (
    ONE_THREAD,
    Examples,
    learn_linear,
    learn_window,
    standardized,
)


def separable(n=400, seed=3):
    """Points in four clouds, a label each."""
    rng = np.random.default_rng(seed)
    labels = rng.integers(4, size=n)
    table = rng.normal(size=(n, 6)).astype(np.float32)
    table[np.arange(n), labels] += 4
    return table, Examples(np.arange(n)[:, None], labels)


def test_dense_dimensions_get_mean_zero_and_variance_one_over_the_training_words():
    rng = np.random.default_rng(1)
    table = (rng.normal(size=(9, 3)) * [1, 5, 0] + [0, 70, 4]).astype(np.float32)
    rows = np.array([0, 0, 1, 5, 7])

    taken = standardized(table, rows)[rows]

    assert taken.mean(axis=0) == pytest.approx([0, 0, 0], abs=1e-5)
    assert taken.std(axis=0) == pytest.approx([1, 1, 0], abs=1e-5)


def test_sparse_vectors_get_mean_squared_length_one():
    table = scipy.sparse.csr_matrix(np.array([[3, 0], [0, 4], [9, 9]], dtype=np.float32))

    lengths = standardized(table, np.array([0, 1])).power(2).sum(axis=1)

    assert np.asarray(lengths).ravel()[:2].mean() == pytest.approx(1)
    assert (table[0, 0], table[1, 1]) == (3, 4)


def test_gradient_of_the_linear_loss_is_that_of_finite_differences():
    rng = np.random.default_rng(5)
    matrix = rng.normal(size=(7, 3)).astype(np.float32)
    counts = rng.integers(0, 4, size=(7, 2))
    loss = probes._Loss(probes._product(matrix), counts, 3)
    at, step = rng.normal(size=8), 1e-2

    _, gradient = loss(at, 0.1)
    nearly = [
        (loss(at + step * unit, 0.1)[0] - loss(at - step * unit, 0.1)[0]) / (2 * step)
        for unit in np.eye(8)
    ]

    assert gradient == pytest.approx(nearly, abs=1e-3)


@pytest.mark.parametrize("sparse", [False, True])
def test_a_linear_probe_learns_what_is_separable(sparse):
    table, examples = separable()
    held = separable(seed=4)
    both = np.concatenate([table, held[0]])
    both = scipy.sparse.csr_matrix(both) if sparse else standardized(both, np.arange(400))
    dev = Examples(held[1].rows + 400, held[1].labels)

    found = learn_linear(both, examples, dev, 4)

    assert found.accuracy > 0.95
    assert found.accuracy == (found.answer(dev.rows) == dev.labels).mean()
    assert found.decay in probes.LINEAR_DECAYS


def test_on_one_hot_vectors_it_answers_the_most_frequent_label_of_each_word():
    rng = np.random.default_rng(2)
    rows = rng.integers(30, size=3000)
    labels = (rows + (rng.random(3000) < 0.3) * rng.integers(5, size=3000)) % 5
    table = scipy.sparse.identity(31, dtype=np.float32, format="csr")
    examples = Examples(rows[:, None], labels)

    found = learn_linear(table, examples, examples, 5)

    counts = np.bincount(rows * 5 + labels, minlength=150).reshape(30, 5)
    assert found.answer(np.arange(30)[:, None]).tolist() == counts.argmax(axis=1).tolist()
    # of a word that was never seen nothing is known but how frequent labels are
    assert found.answer(np.array([[30]])).tolist() == [np.bincount(labels).argmax()]


def test_words_with_one_vector_count_together_as_they_would_apart():
    table, examples = separable(100)
    rows = np.concatenate([examples.rows, examples.rows[:50]])
    repeated = Examples(rows, np.concatenate([examples.labels, examples.labels[:50]]))
    apart = Examples(np.arange(150)[:, None], repeated.labels)

    one = learn_linear(table, repeated, repeated, 4)
    other = learn_linear(np.concatenate([table, table[:50]]), apart, apart, 4)

    assert one.accuracy == other.accuracy
    assert one.answer(rows).tolist() == other.answer(apart.rows).tolist()


@pytest.mark.parametrize("sparse", [False, True])
def test_only_a_window_probe_learns_what_neighbors_tell(sparse):
    # the label of a word is whether the word before it is of the first half
    rng = np.random.default_rng(8)
    words = rng.integers(10, size=24_001)
    labels = (words[:-1] < 5).astype(np.int64)
    table = np.eye(10, dtype=np.float32)
    table = scipy.sparse.csr_matrix(table) if sparse else standardized(table, words)
    windows = np.column_stack([words[:-1], words[1:]])
    train, dev = (
        Examples(windows[part], labels[part]) for part in (slice(20_000), slice(20_000, None))
    )

    window = learn_window(table, train, dev, 2, seed=1)
    linear = learn_linear(
        table, Examples(train.rows[:, 1:], train.labels), Examples(dev.rows[:, 1:], dev.labels), 2
    )

    assert window.accuracy > 0.99
    assert linear.accuracy < 0.6


@pytest.mark.parametrize("sparse", [False, True])
def test_probes_are_the_same_for_their_seed_and_others_for_another(sparse):
    table, examples = separable(300)
    table = scipy.sparse.csr_matrix(np.maximum(table, 0)) if sparse else table
    with ONE_THREAD:
        nets = [probes._trained(table, examples, examples, 4, 0.01, seed) for seed in (1, 1, 2)]
        answers = [learn_linear(table, examples, examples, 4) for _ in range(2)]

    # the answer is a method of the network that was kept
    a, b, c = (net.answer.__self__.logits(examples.rows).detach().numpy() for net in nets)
    assert a.tobytes() == b.tobytes() != c.tobytes()
    one, other = (each.answer(examples.rows).tolist() for each in answers)
    assert one == other


def test_the_development_part_alone_decides_when_to_stop():
    table, examples = separable()
    # labels of dev that training never gives: the first epoch is as good as any
    impossible = Examples(examples.rows, np.full(len(examples.labels), -1))

    found = learn_window(table, examples, impossible, 4, seed=1)

    assert (found.epochs, found.accuracy, found.decay) == (1, 0.0, probes.WINDOW_DECAYS[0])


def test_the_number_of_threads_is_given_back():
    import torch

    before = torch.get_num_threads()
    with ONE_THREAD, ONE_THREAD:
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == before
