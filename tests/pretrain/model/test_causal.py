"""Causal encoders: no slot sees a later one or another segment, whatever mixes the slots."""

from dataclasses import replace

import pytest
import torch

from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.encoder import MaskedLanguageModel
from tests.pretrain.model.test_encoder import LAYOUTS, LENGTH, masked_batch, packed_rows, part_of
from tests.pretrain.model.test_encoder import small_model as bidirectional

SLOT = 12  # the sixth of the second segment, which are slots 7 to 18
OTHERS = [name for name in MIXERS if name != "attention"]
EVERY = [*LAYOUTS, *({"mixer": name, "heads": 4, "dim": 16} for name in OTHERS)]


def small_model(**changes):
    """A causal encoder with weights far from 0."""
    return bidirectional(objective="causal", **changes)


@pytest.mark.slow
@pytest.mark.parametrize("layout", EVERY, ids=str)
def test_a_slot_has_gradients_of_itself_and_of_slots_before_it_in_its_segment_alone(layout):
    model = small_model(**layout)
    rows = packed_rows(1)
    x = model.embed(rows).detach().requires_grad_()

    states = model.core(x, model.core.attention_inputs(rows))
    states[:, SLOT].square().sum().backward()

    felt = x.grad[0].abs().sum(-1) > 0
    assert felt.tolist() == [7 <= slot <= SLOT for slot in range(LENGTH)]


@pytest.mark.parametrize("layout", EVERY, ids=str)
def test_the_beginning_of_a_segment_has_the_same_states_without_the_rest(layout):
    model = small_model(**layout)
    rows = packed_rows(1)

    alone, together = model(part_of(rows, 7, SLOT)), model(rows)

    torch.testing.assert_close(alone, together[:, 7:SLOT], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_attention_weights_are_zero_above_the_diagonal(layout):
    weights = small_model(**layout).attentions(packed_rows(1))

    assert weights.triu(1).abs().max() == 0
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 1, 2, LENGTH))


def test_the_loss_is_over_all_slots_and_their_weights():
    model = small_model()
    targets = torch.randint(5, 60, (2, LENGTH), generator=torch.Generator().manual_seed(6))
    slots, weights = torch.arange(LENGTH).expand(2, -1), (targets % 3 > 0).float()
    batch = replace(masked_batch(), chosen=slots, targets=targets, weights=weights)

    loss, right = model.loss(batch)

    logits = model.logits(model(batch)).log_softmax(-1)
    nll = -logits.gather(-1, batch.targets[..., None])[..., 0] * batch.weights
    torch.testing.assert_close(loss, nll.sum())
    assert float(right) == float(((logits.argmax(-1) == batch.targets) * batch.weights).sum())


def test_both_objectives_start_from_the_same_weights():
    models = [MaskedLanguageModel(m.config, seed=3) for m in (small_model(), bidirectional())]
    first, second = (model.state_dict() for model in models)
    assert first.keys() == second.keys()
    assert all(torch.equal(first[name], second[name]) for name in first)
