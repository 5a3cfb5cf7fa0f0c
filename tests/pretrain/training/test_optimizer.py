"""AdamW and Muon: formula, which weights decay and whose they are, state as flat arrays."""

import numpy as np
import pytest
import torch

from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.optimizer import (
    ModelState,
    make_optimizer,
    n_weights,
    split_weights,
)


def small_model(seed=1, **options):
    """An encoder of one block."""
    shape = {"layers": 1, "heads": 2, "dim": 8, "feed_forward_dim": 12, "max_length": 16}
    return MaskedLanguageModel(EncoderConfig(n_pieces=20, **shape, **options), seed=seed)


def take_steps(model, optimizer, numbers, rate=0.01):
    """Take steps with gradients that depend only on the step number; return the last ones."""
    gradients = {}
    for number in numbers:
        generator = torch.Generator().manual_seed(number)
        for name, weight in model.named_parameters():
            weight.grad = gradients[name] = torch.randn(weight.shape, generator=generator)
        optimizer.step(rate)
    return gradients


@pytest.mark.parametrize("norm", ["pre", "post"])
def test_matrices_decay_and_norms_biases_and_embeddings_do_not(norm):
    positions = {"pre": "rotary", "post": "learned"}[norm]
    model = small_model(norm=norm, positions=positions)
    names = {id(weight): name for name, weight in model.named_parameters()}
    decaying, others = split_weights(model)
    decaying, others = ({names[id(weight)] for weight in part} for part in (decaying, others))
    assert {name for name in decaying if "norm" in name or "bias" in name} == set()
    assert {name.split(".")[-2] for name in decaying} == {"qkv", "out", "inner", "head"}
    assert "pieces.weight" in others
    assert ("position_table.weight" in others) == (positions == "learned")
    assert decaying | others == set(names.values())
    assert not decaying & others


def test_a_step_is_that_of_the_formula():
    model = small_model()
    weight = model.core.head.weight
    begun, decay, rate = weight.detach().double().numpy().copy(), 0.1, 0.01
    optimizer = make_optimizer(model, weight_decay=decay)
    first, second = np.zeros_like(begun), np.zeros_like(begun)
    for number in (1, 2, 3):
        gradients = take_steps(model, optimizer, [number], rate)
        g = gradients["core.head.weight"].double().numpy()
        first, second = 0.9 * first + 0.1 * g, 0.98 * second + 0.02 * g * g
        moved = first / (1 - 0.9**number) / (np.sqrt(second / (1 - 0.98**number)) + 1e-8)
        begun = begun - rate * decay * begun - rate * moved
    np.testing.assert_allclose(weight.detach().numpy(), begun, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("muon_share", [0.0, 10.0])
def test_a_restored_state_continues_to_the_same_bits(muon_share):
    whole = small_model()
    optimizer = make_optimizer(whole, weight_decay=0.01, muon_share=muon_share)
    take_steps(whole, optimizer, range(3))
    saved = {name: array.copy() for name, array in ModelState(whole, optimizer).arrays().items()}
    take_steps(whole, optimizer, range(3, 7))

    again = small_model(seed=9)
    resumed = make_optimizer(again, weight_decay=0.01, muon_share=muon_share)
    ModelState(again, resumed).load(saved, 3)
    take_steps(again, resumed, range(3, 7))

    for name, array in ModelState(whole, optimizer).arrays().items():
        np.testing.assert_array_equal(ModelState(again, resumed).arrays()[name], array)


def test_muon_takes_the_matrices_of_the_blocks_at_its_own_rate():
    both, adam = small_model(), small_model()
    begun = {name: weight.detach().clone() for name, weight in both.named_parameters()}
    take_steps(both, make_optimizer(both, weight_decay=0.0, muon_share=3.0), [1], rate=0.01)
    take_steps(adam, make_optimizer(adam, weight_decay=0.0), [1], rate=0.01)
    others = dict(adam.named_parameters())
    differ = {n for n, weight in both.named_parameters() if not torch.equal(weight, others[n])}
    assert {name.rsplit(".", 2)[1] for name in differ} == {"qkv", "out", "inner"}
    assert all(name.startswith("core.blocks.") for name in differ)
    moved = both.core.blocks[0].mixer.out.weight.detach() - begun["core.blocks.0.mixer.out.weight"]
    values = np.linalg.svd(moved.numpy(), compute_uv=False)
    assert 0.3 * 0.03 < values.min() < values.max() < 1.3 * 0.03


def test_the_state_holds_every_weight_once_and_no_moments_before_the_first_step():
    model = small_model()
    arrays = ModelState(model, make_optimizer(model, weight_decay=0.01)).arrays()
    assert {name: array.shape for name, array in arrays.items()} == {
        name: (n_weights(model),) for name in ("weights", "exp_avg", "exp_avg_sq")
    }
    assert not arrays["exp_avg"].any()
    assert not arrays["exp_avg_sq"].any()
    # worked by hand: pieces and output bias, qkv and out, two maps of the gated part, head, norms
    assert n_weights(model) == 20 * 8 + 20 + 8 * 24 + 64 + 8 * 24 + 12 * 8 + 64 + 8 * 4
