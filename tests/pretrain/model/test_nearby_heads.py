"""Heads that start at the slots nearby: where they look, and what the start leaves as it is."""

import itertools

import pytest
import torch

from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Rows
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.nearby_heads import common_direction, look_nearby
from tests.pretrain.small_training import shape_of

LENGTH = 24


def started(**options):
    """A model whose heads look nearby, and the same one before."""
    sizes = {"dim": 64, "heads": 4, "layers": 4, "sequence_length": LENGTH}
    shape = shape_of(**sizes | options)
    assert shape.nearby_heads
    models = MaskedLanguageModel(shape).eval(), MaskedLanguageModel(shape).eval()
    look_nearby(models[0])
    return models


def attention(model, ids):
    """The weights of all layers with attention, (L, heads, T, T), in one segment."""
    layers = [n for n, mixer in enumerate(model.config.mixers) if mixer == "attention"]
    with torch.inference_mode():
        found = model.attentions(Rows.whole(ids), layers)[:, 0]
    return dict(zip(layers, found, strict=True))


def pieces():
    return torch.randint(5, 60, (1, LENGTH), generator=torch.Generator().manual_seed(1))


@pytest.mark.parametrize(
    ("options", "offsets"),
    [
        ({}, (-1, 1, -2, 2)),
        ({"objective": "causal"}, (-1, -2, -3, -4)),
        ({"heads": 2}, (-1, 1)),
        ({"mixer": "conv,attention,attention,attention"}, (-1, 1, -2, 2)),
        ({"mixer": "conv,attention,conv,attention"}, (-1, 1, -2, 2)),
    ],
)
def test_every_second_layer_of_attention_starts_at_the_slots_nearby(options, offsets):
    model, before = started(**options)
    found, random = attention(model, pieces()), attention(before, pieces())
    looking = list(found)[::2]
    middle = range(8, LENGTH - 8)
    for layer, (head, offset) in itertools.product(looking, enumerate(offsets)):
        for slot in middle:
            weights = found[layer][head, slot]
            assert weights.argmax() == slot + offset, (layer, head, slot)
            assert weights[slot + offset] > 0.5
    for layer in set(found) - set(looking):  # random ones look everywhere
        assert found[layer].max() < 0.2 or model.config.causal
        assert random[layer].max() < 0.2 or model.config.causal


def test_the_direction_of_all_embeddings_changes_no_prediction():
    model, before = started()
    states = torch.randn(7, 64, generator=torch.Generator().manual_seed(2))
    with torch.inference_mode():
        found, expected = model.logits(states), before.logits(states)
    torch.testing.assert_close(
        found.log_softmax(-1), expected.log_softmax(-1), atol=1e-4, rtol=1e-4
    )
    assert (model.pieces.weight - before.pieces.weight).abs().max() > 1e-3


def test_what_is_added_has_mean_0_and_the_same_share_in_every_row():
    model, before = started()
    added = (model.pieces.weight - before.pieces.weight).detach()
    common = common_direction(64)
    assert common.mean().abs() < 1e-7
    assert common.norm().item() == pytest.approx(1)
    # as long as the rest of a row is by its deviation, so that it has half of the variance
    length = before.pieces.weight.std().item() * 8
    torch.testing.assert_close(added, length * common.expand(60, -1), rtol=1e-4, atol=1e-7)


@pytest.mark.parametrize(
    "options",
    [
        {"positions": "learned"},
        {"norm": "post"},
        {"mixer": "attention:additive"},
        {"attention": "tree"},
        {"mixer": "conformer"},
        {"mixer": "lstm"},
    ],
)
def test_other_encoders_start_at_random(options):
    config = MlmConfig(preset="tiny", **options)
    assert not config.shape(n_pieces=60).nearby_heads
    assert config.resolved().resolved() == config.resolved()
