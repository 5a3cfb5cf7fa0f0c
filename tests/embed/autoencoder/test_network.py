"""Products with sparse rows, and gradients of every kind of network against dense twins."""

import numpy as np
import pytest
import torch
from scipy import sparse

from firth.embed.autoencoder.config import KINDS, AutoencoderConfig
from firth.embed.autoencoder.network import AutoencoderNetwork
from firth.embed.autoencoder.sparse_rows import SparseRows

ROWS, COLUMNS = 5, 8


@pytest.fixture
def matrix():
    """A sparse matrix with an empty row and an empty column."""
    rng = np.random.default_rng(1)
    dense = rng.random((ROWS, COLUMNS)) * (rng.random((ROWS, COLUMNS)) < 0.4)
    dense[2] = dense[:, 3] = 0
    return sparse.csr_matrix(dense.astype(np.float32))


def normal(*shape, seed=2):
    return torch.from_numpy(np.random.default_rng(seed).standard_normal(shape, dtype=np.float32))


def test_products_are_those_of_the_dense_matrix(matrix):
    rows, dense = SparseRows(matrix, "cpu"), torch.from_numpy(matrix.toarray())
    table, block = normal(COLUMNS, 3), normal(ROWS, 3)
    torch.testing.assert_close(rows.product(table), dense @ table)
    torch.testing.assert_close(rows.transposed_product(block), dense.T @ block)
    assert rows.squares == pytest.approx(float(dense.square().sum()))


def test_the_squared_error_covers_all_columns(matrix):
    codes, decoder = normal(ROWS, 3).requires_grad_(), normal(COLUMNS, 3).requires_grad_()
    expected = (torch.from_numpy(matrix.toarray()) - codes @ decoder.T).square().sum()
    expected.backward()
    error, by_codes, by_decoder = SparseRows(matrix, "cpu").squared_error(
        codes.detach(), decoder.detach()
    )
    assert error == pytest.approx(expected.item(), rel=1e-5)
    torch.testing.assert_close(2 * by_codes, codes.grad)
    torch.testing.assert_close(2 * by_decoder, decoder.grad)


def naive_loss(kind, weights, seen, rows, noise, divergence_weight):
    """The definition on dense rows: squared error, plus the weighted divergence."""
    if kind == "linear":
        return (rows - seen @ weights["encoder"] @ weights["encoder"].T).square().sum(), 0.0
    hidden = torch.tanh(seen @ weights["encoder"] + weights["encoder_bias"])
    codes = hidden @ weights["code"] + weights["code_bias"]
    divergence = torch.zeros(())
    if kind == "variational":
        deviation = ((hidden @ weights["spread"] + weights["spread_bias"]) / 2).exp()
        drawn, prior = (
            torch.distributions.Normal(codes, deviation),
            torch.distributions.Normal(0, 1),
        )
        divergence = torch.distributions.kl_divergence(drawn, prior).sum()
        codes = codes + deviation * noise
    last = torch.tanh(codes @ weights["decode"] + weights["decode_bias"])
    fitted = last @ weights["decoder"][:, :-1].T + weights["decoder"][:, -1]
    return (rows - fitted).square().sum() + divergence_weight * divergence, float(
        divergence.detach()
    )


@pytest.mark.parametrize("kind", KINDS)
def test_gradients_are_those_of_the_dense_network(matrix, kind):
    config = AutoencoderConfig(kind=kind, dim=3, **({} if kind == "linear" else {"hidden": 4}))
    config = config.resolved()
    network = AutoencoderNetwork(config, COLUMNS, squares=0.5, device="cpu")
    for seed, weights in enumerate(network.weights.values()):  # biases, too
        weights.data += 0.3 * normal(*weights.shape, seed=seed)
    seen = matrix.copy()
    seen.data[::2] = 0
    twins = {name: each.detach().clone().requires_grad_() for name, each in network.weights.items()}
    noise = torch.from_numpy(np.random.default_rng(7).standard_normal((ROWS, 3), dtype=np.float32))
    # an entry has the variance .5 / 8: beta times that, twice, beside the squared error
    weight = 2 * (config.beta or 0) * 0.5 / COLUMNS
    dense = [torch.from_numpy(each.toarray()) for each in (seen, matrix)]
    expected, divergence = naive_loss(kind, twins, *dense, noise, weight)
    expected.backward()

    losses = network.backward(
        SparseRows(seen, "cpu"), SparseRows(matrix, "cpu"), np.random.default_rng(7)
    )

    assert losses.error + weight * losses.divergence == pytest.approx(expected.item(), rel=1e-5)
    assert losses.divergence == pytest.approx(divergence, rel=1e-5)
    for name, each in network.weights.items():
        torch.testing.assert_close(2 * each.grad, twins[name].grad, msg=name)


def test_codes_of_a_variational_network_are_the_means(matrix):
    network = AutoencoderNetwork(
        AutoencoderConfig(kind="variational", dim=2, hidden=3).resolved(), COLUMNS, 0.5, "cpu"
    )
    weights = {name: each.detach() for name, each in network.weights.items()}
    hidden = torch.tanh(torch.from_numpy(matrix.toarray()) @ weights["encoder"])
    codes, losses = network.encode(SparseRows(matrix, "cpu"))
    np.testing.assert_allclose(codes, hidden @ weights["code"], rtol=1e-5, atol=1e-6)
    assert losses.divergence > 0
