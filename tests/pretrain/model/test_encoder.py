"""The encoder: its parts against formulas and torch, and isolation of segments."""

import dataclasses
import math

import pytest
import torch

from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batch, Rows
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.layers import FeedForward
from tests.pretrain.small_training import shape_of

LENGTH = 24
LAYOUTS = [
    {"norm": "pre"},
    {"norm": "post"},
    {"norm": "post", "positions": "sinusoidal"},
    {"norm": "pre", "attention_span": 3, "global_every": 2},
    {"norm": "post", "attention_score": "additive"},
    {"norm": "pre", "attention_score": "bilinear", "attention_span": 2},
    {"norm": "pre", "attention_score": "key-value"},
    {"norm": "post", "attention_score": "hard", "positions": "relative"},
    {"norm": "pre", "attention_span": 2, "positions": "relative"},
    {"norm": "pre", "attention_score": "sparsemax"},
]
MIXED = [
    *({"mixer": name} for name in ("lstm", "gru", "elman", "conv", "mean", "linear")),
    {"mixer": "conformer", "attention_span": 5},
    {"attention_score": "relu", "attention_span": 3},
    {"mixer": "lstm,attention,conv", "norm": "post"},
]


def small_config(**changes):
    sizes = {"dim": 16, "heads": 2, "layers": 3, "sequence_length": LENGTH}
    return shape_of(**{**sizes, **changes})


def small_model(**changes):
    """Weights far from 0, so that every part matters."""
    model = MaskedLanguageModel(small_config(**changes)).eval()
    generator = torch.Generator().manual_seed(4)
    for weight in model.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.3, generator=generator)
    return model


def packed_rows(rows=2):
    """Segments of 7, 12 and 3 slots, and 2 of padding."""
    segments = torch.tensor([0] * 7 + [1] * 12 + [2] * 3 + [-1] * 2).expand(rows, -1)
    positions = torch.tensor([*range(7), *range(12), *range(3), 0, 0]).expand(rows, -1)
    ids = torch.randint(5, 60, (rows, LENGTH), generator=torch.Generator().manual_seed(1))
    return Rows(ids, segments, positions)


def part_of(rows, start, stop):
    """Some slots of one segment, alone."""
    return Rows.whole(rows.ids[:, start:stop])


def masked_batch(rows=2):
    packed = packed_rows(rows)
    chosen = torch.tensor([[1, 8, 20], [2, 9, 0]]).repeat(rows // 2, 1)
    targets = torch.tensor([[10, 20, 30], [40, 50, 0]]).repeat(rows // 2, 1)
    weights = torch.tensor([[1.0, 1, 1], [1, 1, 0]]).repeat(rows // 2, 1)
    return Batch(packed.ids, packed.segments, packed.positions, chosen, targets, weights)


@pytest.mark.parametrize("layout", [*LAYOUTS, *MIXED])
def test_a_segment_gives_the_same_states_alone_and_packed(layout):
    model = small_model(**layout)
    rows = packed_rows(1)

    alone, together = model(part_of(rows, 7, 19)), model(rows)

    torch.testing.assert_close(alone, together[:, 7:19], atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("layout", [*LAYOUTS, *MIXED])
def test_padding_and_other_segments_have_no_gradient_in_a_segment(layout):
    model = small_model(**layout)
    rows = packed_rows(1)
    x = model.embed(rows).detach().requires_grad_()

    states = model.core(x, model.core.attention_inputs(rows))
    states[:, 7:19].square().sum().backward()

    felt = x.grad[0].abs().sum(-1) > 0
    assert felt.tolist() == [7 <= slot < 19 for slot in range(LENGTH)]


@pytest.mark.parametrize("layout", [*LAYOUTS, *MIXED])
def test_padding_content_never_changes_a_result(layout):
    model = small_model(**layout)
    rows = packed_rows(1)
    other = rows.ids.clone()
    other[:, -2:] = 3

    before, after = model(rows), model(dataclasses.replace(rows, ids=other))

    assert torch.equal(before[:, :-2], after[:, :-2])


@pytest.mark.parametrize("positions", ["none", "learned", "sinusoidal", "rotary"])
def test_the_encoder_is_permutation_equivariant_without_positions_alone(positions):
    model = small_model(positions=positions)
    order = torch.tensor([4, 2, 8, 0, 1, 7, 6, 3, 5])
    ids = torch.randint(5, 60, (1, 9), generator=torch.Generator().manual_seed(2))

    states, of_permuted = model(Rows.whole(ids))[:, order], model(Rows.whole(ids[:, order]))

    if positions == "none":
        torch.testing.assert_close(states, of_permuted, atol=1e-5, rtol=1e-4)
    else:
        assert (states - of_permuted).abs().max() > 0.01


@pytest.mark.parametrize("dim", [16, 256])
def test_sinusoids_begin_smaller_than_embeddings_as_in_vaswani_et_al(dim):
    # theirs: embeddings of variance 1 after the factor sqrt(D), sinusoids of mean square 1/2
    config = shape_of(positions="sinusoidal", dim=dim, heads=2, layers=1, n_pieces=5000)
    model = MaskedLanguageModel(config)
    ratio = model.sinusoids.square().mean().sqrt() / model.pieces.weight.square().mean().sqrt()
    # the standard deviation of 80,000 normal numbers or more is off by 0.25 %; 4 of these
    assert float(ratio.detach()) == pytest.approx(0.5**0.5, rel=0.01)


@pytest.mark.parametrize("layout", [*LAYOUTS, *MIXED])
def test_the_states_of_all_layers_end_in_the_final_states(layout):
    model = small_model(**layout)
    rows = packed_rows()

    states = model.states(rows)

    assert len(states) == 4
    torch.testing.assert_close(states[-1], model(rows), atol=1e-6, rtol=1e-5)
    lower = model.states(rows, layers=1)
    assert len(lower) == 2
    assert torch.equal(lower[1], states[1])


@pytest.mark.parametrize("layout", LAYOUTS)
def test_attention_weights_sum_to_one_within_the_segment(layout):
    model = small_model(**layout)
    rows = packed_rows()

    weights = model.attentions(rows)

    assert weights.shape == (3, 2, 2, LENGTH, LENGTH)
    torch.testing.assert_close(weights.sum(-1), torch.ones(3, 2, 2, LENGTH))
    same = rows.segments[:, :, None] == rows.segments[:, None, :]
    assert (weights.masked_select(~same[None, :, None]) == 0).all()


def test_global_layers_see_beyond_the_span_and_the_others_do_not():
    model = small_model(attention_span=3, global_every=2)

    weights = model.attentions(Rows.whole(torch.full((1, LENGTH), 7)))

    far = (torch.arange(LENGTH)[:, None] - torch.arange(LENGTH)).abs() > 3
    seen = [bool((layer[..., far] > 0).any()) for layer in weights]
    assert seen == [True, False, True]


@pytest.mark.parametrize("layout", [*LAYOUTS, *MIXED])
def test_the_loss_is_the_mean_nll_of_the_chosen_slots_alone(layout):
    model = small_model(**layout)
    batch = masked_batch()

    with torch.no_grad():
        loss, right = model.loss(batch)
        logits = model.logits(model(batch)).log_softmax(-1)
    picked = [(0, 1, 10), (0, 8, 20), (0, 20, 30), (1, 2, 40), (1, 9, 50)]
    expected = -sum(float(logits[b, slot, piece]) for b, slot, piece in picked)
    assert math.isclose(loss.item(), expected, rel_tol=1e-5)
    hits = sum(int(logits[b, slot].argmax()) == piece for b, slot, piece in picked)
    assert int(right) == hits


def test_the_tied_table_gets_the_gradients_of_both_its_uses():
    model = small_model()
    batch = masked_batch()
    model.loss(batch)[0].backward()
    both = model.pieces.weight.grad.clone()

    x = model.embed(batch).detach().requires_grad_()
    table = model.pieces.weight.detach().clone().requires_grad_()
    model.core.losses(x, table, batch)[0].backward()
    by_lookup = torch.zeros_like(table).index_add(0, batch.ids.flatten(), x.grad.flatten(0, 1))

    torch.testing.assert_close(both, table.grad + by_lookup, atol=1e-5, rtol=1e-4)
    assert by_lookup.abs().max() > 1e-3
    assert table.grad.abs().max() > 1e-3


def test_post_norm_is_torchs_own_encoder_layer():
    model = small_model(norm="post", layers=1)
    block = model.core.blocks[0]
    theirs = torch.nn.TransformerEncoderLayer(
        16, 2, 64, 0.0, activation="gelu", layer_norm_eps=1e-12, batch_first=True
    )
    mixer = block.mixer
    parts = {
        "self_attn.in_proj_": mixer.qkv,
        "self_attn.out_proj.": mixer.out,
        "linear1.": block.feed_forward.inner,
        "linear2.": block.feed_forward.out,
        "norm1.": block.mixer_norm,
        "norm2.": block.feed_forward_norm,
    }
    named = {
        f"{name}{own}": w for name, part in parts.items() for own, w in part.named_parameters()
    }
    theirs.load_state_dict(named)
    x = torch.randn(2, 9, 16, generator=torch.Generator().manual_seed(1))
    rows = Rows.whole(torch.zeros(2, 9, dtype=torch.long))

    ours = block(x, model.core.attention_inputs(rows))

    torch.testing.assert_close(ours, theirs(x), atol=1e-5, rtol=1e-4)


def test_geglu_multiplies_gelu_of_the_first_half_by_the_second():
    part = FeedForward(small_config(feed_forward="geglu", feed_forward_dim=4))
    x = torch.randn(5, 16, generator=torch.Generator().manual_seed(1))

    got = part(x)

    inner = x @ part.inner.weight.T
    value, gate = inner[:, :4], inner[:, 4:]
    gelu = value * 0.5 * (1 + torch.erf(value / math.sqrt(2)))
    torch.testing.assert_close(got, (gelu * gate) @ part.out.weight.T)


def test_the_pre_norm_layout_has_no_biases_but_the_decoders_and_no_norm_before_the_first_block():
    names = [name for name, _ in MaskedLanguageModel(small_config()).named_parameters()]

    assert [name for name in names if name.endswith("bias")] == ["core.bias"]
    assert "core.blocks.0.mixer_norm.weight" not in names
    assert "core.blocks.1.mixer_norm.weight" in names
    assert "core.norm.weight" in names


# As counted for the models of Turc et al. 2019: 30,522 pieces, 512 positions, and two parts that
# ours have not, embeddings of two segments and a pooler.
@pytest.mark.parametrize(
    ("preset", "millions"),
    [("tiny", 4.4), ("mini", 11.3), ("small", 29.1), ("medium", 41.7), ("base", 110.1)],
)
def test_presets_in_berts_layout_have_the_published_sizes(preset, millions):
    config = MlmConfig(preset=preset, norm="post", sequence_length=512).shape(n_pieces=30_522)
    with torch.device("meta"):
        model = MaskedLanguageModel(config)

    n_weights = sum(weight.numel() for weight in model.parameters())
    pooler_and_segments = config.dim**2 + 3 * config.dim
    assert round((n_weights + pooler_and_segments) / 1e6, 1) == millions


def test_an_untrained_model_predicts_nearly_uniformly():
    model = MaskedLanguageModel(small_config())

    loss, _ = model.loss(masked_batch())

    assert math.isclose(loss.item() / 5, math.log(60), abs_tol=0.05)


def test_weights_depend_only_on_the_seed():
    torch.manual_seed(1)
    first = MaskedLanguageModel(small_config(), seed=3).state_dict()
    torch.manual_seed(2)
    second = MaskedLanguageModel(small_config(), seed=3).state_dict()
    other = MaskedLanguageModel(small_config(), seed=4).state_dict()

    assert all(torch.equal(first[name], second[name]) for name in first)
    assert not torch.equal(first["pieces.weight"], other["pieces.weight"])


def test_dropout_acts_while_training_only_and_repeats_with_the_generator():
    model = MaskedLanguageModel(small_config(dropout=0.5))
    rows = packed_rows()
    draws = []
    for _ in range(2):
        torch.manual_seed(1)
        draws.append(model.train()(rows))

    assert torch.equal(draws[0], draws[1])
    assert torch.equal(model.eval()(rows), model(rows))
    assert not torch.equal(draws[0], model(rows))
