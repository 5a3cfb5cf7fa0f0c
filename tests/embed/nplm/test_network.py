"""The network against a plain one whose gradients are torch's own, in double precision."""

import numpy as np
import pytest
import torch

from firth.embed.nplm.network import NextWordNetwork

V, D, WINDOW, H = 7, 3, 2, 4
CONTEXTS = np.array([[0, 1], [1, V], [5, 5], [V, V], [0, 2]])
TARGETS = np.array([2, 0, 5, 2, 6])
DRAWN = (np.array([0, 2, 4]), np.array([0.3, -0.7, 0.1], np.float32))
ALL = list(range(V))


def make(seed=1):
    network = NextWordNetwork(V, D, WINDOW, H, seed, "cpu")
    network.start_from_counts(np.array([9, 5, 4, 3, 2, 1, 1]))
    network.weights["outputs"] *= 50  # far from uniform
    return network


def naive_losses(weights, contexts, targets, drawn):
    """The definition, word for word; slow on purpose."""
    losses = []
    for before, target in zip(contexts.tolist(), targets.tolist(), strict=True):
        inputs = torch.cat([weights["words"][word] for word in before])
        hidden = torch.tanh(inputs @ weights["hidden"] + weights["hidden_bias"])
        scores = weights["outputs"] @ hidden + weights["output_bias"]
        if drawn is None:
            others = [scores[word] for word in ALL if word != target]
        else:
            pairs = zip(*map(np.ndarray.tolist, drawn), strict=True)
            others = [scores[word] + weight for word, weight in pairs if word != target]
        losses.append(torch.logsumexp(torch.stack([scores[target], *others]), 0) - scores[target])
    return torch.stack(losses)


@pytest.mark.parametrize("drawn", [None, DRAWN], ids=["full", "sampled"])
def test_steps_are_those_of_adagrad_on_the_mean_loss(drawn):
    network = make()
    weights = {name: each.double().requires_grad_() for name, each in network.weights.items()}
    optimizer = torch.optim.Adagrad(weights.values(), lr=0.1, eps=1e-10)
    for _ in range(3):
        losses = naive_losses(weights, CONTEXTS, TARGETS, drawn)
        optimizer.zero_grad()
        losses.mean().backward()
        optimizer.step()

        found = network.learn(CONTEXTS, TARGETS, 0.1, drawn)

        assert found == pytest.approx(losses.sum().item(), rel=1e-4)
    for name, each in weights.items():  # single precision
        np.testing.assert_allclose(network.weights[name], each.detach(), atol=1e-4, err_msg=name)


def test_rows_not_in_use_stay_as_they_are():
    network = make()
    before = {name: each.clone() for name, each in network.weights.items()}
    network.learn(CONTEXTS, TARGETS, 0.1, DRAWN)
    changed = {
        name: (each != before[name]).reshape(len(each), -1).any(1)
        for name, each in network.weights.items()
    }
    assert changed["words"].nonzero().flatten().tolist() == [0, 1, 2, 5, V]
    assert changed["outputs"].nonzero().flatten().tolist() == [0, 2, 4, 5, 6]


def test_losses_are_those_of_the_softmax_over_all_words():
    network = make()
    expected = naive_losses(network.weights, CONTEXTS, TARGETS, None)
    np.testing.assert_allclose(network.losses(CONTEXTS, TARGETS), expected, rtol=1e-5)


def test_a_checkpoint_continues_to_the_same_bytes():
    first, second = make(), make(seed=2)
    first.learn(CONTEXTS, TARGETS, 0.1, None)
    second.load({name: each.copy() for name, each in first.arrays().items()}, 3)
    for network in (first, second):
        network.learn(CONTEXTS, TARGETS, 0.1, DRAWN)
    for name, each in first.arrays().items():
        assert each.tobytes() == second.arrays()[name].tobytes(), name
