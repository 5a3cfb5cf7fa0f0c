"""Mixers other than attention: each against torch's module or a loop, one segment at a time."""

import dataclasses

import pytest
import torch
import torch.nn.functional as F  # noqa: N812 - the conventional name
from torch import nn

from firth.corpora.common.errors import SettingError
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Rows
from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.attention import build_attention_inputs
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.mixers.base import AttentionInputs, take_slots
from firth.pretrain.model.mixers.recurrent import places_with_gaps
from firth.pretrain.shape import EncoderConfig

DIM = 8
OTHERS = [name for name in MIXERS if name != "attention"]
EITHER_DIRECTION = pytest.mark.parametrize("causal", [False, True], ids=["both", "causal"])
EVERY = pytest.mark.parametrize("name", OTHERS)


def shape(name, *, causal=False, layers=1, **changes):
    """The shape of a small encoder of one mixer, without positions."""
    sizes = {"n_pieces": 50, "heads": 2, "dim": DIM, "feed_forward_dim": 16, "max_length": 32}
    width = 5 if MIXERS[name].convolves else None
    return EncoderConfig(
        **{**sizes, "layers": layers, "positions": "none", "norm": "post", **changes},
        mixers=(name,) * layers, conv_width=width, causal=causal,
    )  # fmt: skip


def layer_and_rows(config, rows=2, length=23):
    """A mixer with random weights, states, and segments of 1 to 11 slots with padding."""
    generator = torch.Generator().manual_seed(3)
    layer = MIXERS[config.mixers[0]].load()(config, 0)
    for weight in layer.parameters():
        nn.init.normal_(weight, 0.0, 0.5, generator=generator)
    x = torch.randn(rows, length, config.dim, generator=generator)
    segments = torch.zeros(rows, length, dtype=torch.long)
    segments[0, 6:], segments[0, 7:], segments[0, 15:] = 1, 2, 3
    segments[1, 11:], segments[1, -2:] = 1, -1
    return layer, x, segments


def mixed(layer, x, segments, config, chosen=None):
    return layer(x, build_attention_inputs(config, segments, None), chosen)


def recurrent_alone(layer, x, causal):
    return layer.out(layer.cells(x[:, None])[0][:, 0])


def elman_alone(layer, x, causal):
    start = torch.full((layer.n_directions, 1, layer.units), -1.0)
    return layer.out(layer.cells(x[:, None], start)[0][:, 0])


def mean_alone(layer, x, causal):
    n = len(x)
    means = [x[: t + 1 if causal else n].mean(0) for t in range(n)]
    return layer.out(torch.stack(means))


def conv_alone(layer, x, causal):
    """The filters by torch's module, with as many zeros before and after as they need."""
    width = layer.filters.shape[-1]
    value, gate = layer.inner(x).chunk(2, -1)
    filters = nn.Conv1d(DIM, DIM, width, groups=DIM, bias=False)
    filters.weight = layer.filters
    zeros = (width - 1, 0) if causal else (width // 2, width // 2)
    found = filters(F.pad((value * torch.sigmoid(gate)).t()[None], zeros))[0].t()
    return layer.out(layer.norm_between(found))


def conformer_alone(layer, x, causal):
    """Equations 1 to 3 of the paper, attention by torch's function; what was added to ``x``."""
    once = x + layer.first(layer.first_norm(x))
    attention = layer.attention
    weights = attention.qkv.weight, attention.qkv.bias, attention.out.weight, attention.out.bias
    hidden = torch.ones(len(x), len(x), dtype=torch.bool).triu(1) if causal else None
    state = layer.attention_norm(once)
    attended, _ = F.multi_head_attention_forward(
        state, state, state, DIM, attention.heads, *weights[:2], None, None, False, 0.0,
        *weights[2:], attn_mask=hidden, need_weights=False,
    )  # fmt: skip
    twice = once + attended
    return twice + conv_alone(layer.conv, layer.conv_norm(twice), causal) - x


def linear_alone(layer, x, causal):
    """One query at a time, by the weights of all keys."""
    q, k, v = (part.unflatten(-1, (-1, layer.head_dim)) for part in layer.qkv(x).chunk(3, -1))
    q, k = (torch.where(y > 0, y + 1, y.clamp(max=0).exp()) for y in (q, k))
    rows = []
    for t in range(len(x)):
        seen = t + 1 if causal else len(x)
        weights = torch.einsum("hd,jhd->jh", q[t], k[:seen])
        means = (weights[..., None] * v[:seen]).sum(0) / weights.sum(0)[:, None]
        rows.append(means.flatten())
    return layer.out(torch.stack(rows))


ALONE = {
    "linear": linear_alone,
    "lstm": recurrent_alone,
    "gru": recurrent_alone,
    "elman": elman_alone,
    "mean": mean_alone,
    "conv": conv_alone,
    "conformer": conformer_alone,
}


@EITHER_DIRECTION
@EVERY
def test_each_segment_is_mixed_as_torchs_module_mixes_it_alone(name, causal):
    config = shape(name, causal=causal)
    layer, x, segments = layer_and_rows(config)
    found = mixed(layer, x, segments, config)

    for row in range(len(x)):
        for segment in range(int(segments[row].max()) + 1):
            slots = segments[row] == segment
            alone = ALONE[name](layer, x[row, slots], causal)
            torch.testing.assert_close(found[row, slots], alone, atol=1e-5, rtol=1e-5)


@EVERY
def test_chosen_slots_equal_those_of_all_slots(name):
    config = shape(name)
    layer, x, segments = layer_and_rows(config)
    chosen = torch.tensor([[0, 7, 20], [3, 3, 22]])

    found = mixed(layer, x, segments, config, chosen)

    expected = take_slots(mixed(layer, x, segments, config), chosen)
    torch.testing.assert_close(found, expected, atol=1e-6, rtol=1e-5)


@EVERY
def test_half_precision_rounds_and_changes_nothing_else(name):
    config = shape(name)
    layer, x, segments = layer_and_rows(config)
    x.requires_grad_()
    expected = mixed(layer, x, segments, config)
    (gradient,) = torch.autograd.grad(expected.square().mean(), x)

    with torch.autocast("cpu", dtype=torch.bfloat16):
        found = mixed(layer, x, segments, config)
    (rounded,) = torch.autograd.grad(found.float().square().mean(), x)

    # a few roundings of 2 ** -9 of numbers that partly cancel
    for one, other in ((found.float(), expected), (rounded, gradient)):
        assert (one - other).norm() < 0.03 * other.norm()
    # and segments see nothing of each other
    with torch.autocast("cpu", dtype=torch.bfloat16):
        mixed(layer, x, segments, config)[0, 7:15].float().square().sum().backward()
    felt = x.grad.abs().sum(-1) > 0
    assert felt[0].nonzero().flatten().tolist() == list(range(7, 15))
    assert not felt[1].any()


@pytest.mark.parametrize(
    ("name", "in_all_slots", "in_those_wanted"),
    [
        ("lstm", 2 * 4 * 4 * (8 + 4), 8 * 8),  # directions, gates, units, their inputs; map
        ("gru", 2 * 3 * 4 * (8 + 4), 8 * 8),
        ("elman", 2 * 4 * (8 + 4), 8 * 8),
        ("mean", 0, 32 * 8 + 8 * 8),  # sums over the row; map
        # three maps; one chunk of 64 slots: weights, sums of the values and, by heads, of weights
        ("linear", 3 * 8 * 8 + 2 * 64 * (8 + 8 + 2), 8 * 8),
        ("conv", 8 * 16 + 5 * 8, 8 * 8),  # two maps, filters; map
        # geglu's three maps; projections, scores, sums and map of attention; as conv
        ("conformer", 3 * 8 * 16 + 4 * 8 * 8 + 2 * 32 * 8 + 8 * 16 + 5 * 8, 8 * 8),
    ],
)
def test_multiplications_worked_by_hand(name, in_all_slots, in_those_wanted):
    layer = MIXERS[name].load()(shape(name, norm="pre", feed_forward="geglu"), 0)
    assert layer.products(32, 3) == 32 * in_all_slots + 3 * in_those_wanted


def test_a_slot_is_free_between_segments():
    segments = torch.tensor([[0, 0, 1, 1, 1, -1], [0, 1, 1, 1, 1, 1]])
    assert places_with_gaps(segments).tolist() == [[0, 1, 3, 4, 5, 7], [0, 2, 3, 4, 5, 6]]


@pytest.mark.parametrize(("name", "start"), [("lstm", 0.0), ("gru", 0.0), ("elman", -1.0)])
def test_the_slot_between_segments_leaves_the_first_state_whatever_the_weights(name, start):
    config = shape(name, causal=True)
    layer, x, _ = layer_and_rows(config)
    with torch.no_grad():
        for weight in layer.cells.parameters():
            weight.mul_(100)
    given = torch.cat([x[:, :4], torch.zeros(2, 1, DIM), x[:, :4]], 1)
    clears = F.pad(torch.zeros(2, 9, DIM), (0, 1))
    clears[:, 4, -1] = 1.0

    states = layer._run(F.pad(given, (0, 1)) + clears)

    assert (states[:, 4] == start).all()
    assert torch.equal(states[:, 5:], states[:, :4])


def test_every_matrix_of_a_block_is_muons_once():
    from firth.pretrain.training.optimizer import block_matrices

    mixers = "lstm,gru,elman,conv,conformer,mean,linear"
    config = MlmConfig(preset="7/16/4", sequence_length=24, mixer=mixers)
    model = MaskedLanguageModel(config.shape(n_pieces=60))
    matrices = block_matrices(model)
    theirs = {id(weight) for weight, _ in matrices}
    assert len(theirs) == len(matrices)
    blocks = dict(model.core.blocks.named_parameters())
    assert {id(weight) for weight in blocks.values() if weight.ndim == 2} == theirs
    assert all(len(weight) % n_parts == 0 for weight, n_parts in matrices)


def test_a_graph_of_edges_is_for_attention_in_every_layer():
    model = MaskedLanguageModel(shape("conv"))
    rows = Rows.whole(torch.zeros(1, 4, dtype=torch.long))
    with pytest.raises(SettingError) as caught:
        model(dataclasses.replace(rows, pattern=torch.ones(1, 4, 4, dtype=torch.bool)))
    assert str(caught.value) == "`pattern` limits attention, and layer 0 is `mixer=conv`"


def test_only_attention_makes_masks():
    segments = torch.zeros(1, 4, dtype=torch.long)
    assert vars(build_attention_inputs(shape("lstm"), segments, None)) == vars(
        AttentionInputs(segments)
    )
    assert build_attention_inputs(shape("conformer"), segments, None).allowed is not None
