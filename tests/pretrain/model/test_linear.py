"""Linear attention in rows of several chunks, against sums over all pairs of slots."""

import pytest
import torch
from torch import nn

from firth.pretrain.model.attention import build_attention_inputs, visible
from firth.pretrain.model.mixers.linear import CHUNK, weighted_sums
from tests.pretrain.model.test_mixers import EITHER_DIRECTION, layer_and_rows, shape


def rows_of(length):
    """Positive queries and keys, values, and segments of many lengths, the last slots padding."""
    generator = torch.Generator().manual_seed(1)
    q, k, v = torch.rand(3, 2, length, 2, 3, generator=generator)
    starts = torch.rand(2, length, generator=generator) < 1 / 40
    starts[:, : length // 3] = False  # a segment of whole chunks
    segments = starts.long().cumsum(1)
    segments[1, -2:] = -1
    return q, k, v, segments


@EITHER_DIRECTION
@pytest.mark.parametrize("length", [1, CHUNK, CHUNK + 1, 3 * CHUNK, 400])
def test_sums_by_chunks_are_those_over_all_pairs(length, causal):
    q, k, v, segments = rows_of(length)
    seen = visible(segments, causal).double()
    weights = torch.einsum("bthd,bjhd,btj->bthj", q.double(), k.double(), seen)

    sums = weighted_sums(q, k, v, segments, causal)

    expected = torch.einsum("bthj,bjhe->bthe", weights, v.double())
    torch.testing.assert_close(sums.double(), expected, rtol=1e-5, atol=1e-5)


@EITHER_DIRECTION
@pytest.mark.parametrize("slot", [0, 150, 299, 395])
def test_a_slot_has_gradients_of_its_segment_alone(slot, causal):
    *parts, segments = rows_of(400)
    for part in parts:
        part.requires_grad_()

    weighted_sums(*parts, segments, causal)[1, slot].sum().backward()

    seen = visible(segments, causal)[1, slot]
    for part in parts[1:]:
        assert torch.equal(part.grad[1].flatten(1).any(1), seen)
        assert not part.grad[0].any()


@EITHER_DIRECTION
def test_sums_are_not_rounded_in_half_precision(causal):
    config = shape("linear", causal=causal, max_length=400)
    layer, x, segments = layer_and_rows(config, length=400)
    layer.out = nn.Identity()
    with torch.autocast("cpu", dtype=torch.bfloat16):
        q, k, v = layer.qkv(x).unflatten(-1, (3, -1, layer.head_dim)).double().unbind(2)
        mixed = layer(x, build_attention_inputs(config, segments, None))

    features = (torch.where(y > 0, y + 1, y.clamp(max=0).exp()) for y in (q, k))
    weights = torch.einsum("bthd,bjhd,btj->bthj", *features, visible(segments, causal).double())
    expected = torch.einsum("bthj,bjhe->bthe", weights / weights.sum(-1, keepdim=True), v)
    torch.testing.assert_close(mixed.double(), expected.flatten(2), rtol=1e-5, atol=1e-5)


@EITHER_DIRECTION
def test_what_is_stored_for_the_gradient_grows_with_the_length(causal):
    def stored(length):
        *parts, segments = rows_of(length)
        sizes = {}

        def note(x):
            sizes[x.untyped_storage().data_ptr()] = (x.untyped_storage().nbytes(), x)
            return x

        for part in parts:
            part.requires_grad_()
        with torch.autograd.graph.saved_tensors_hooks(note, lambda x: x):
            result = weighted_sums(*parts, segments, causal)
        return sum(size for size, _ in sizes.values()), result

    # twice as many slots and a step more, whose mask has a byte for each chunk
    assert stored(64 * CHUNK)[0] < 2.02 * stored(32 * CHUNK)[0]


def test_queries_and_keys_are_as_wide_as_those_of_key_value_attention():
    config = shape("linear", attention_score="key-value", positions="rotary")
    layer, x, segments = layer_and_rows(config)
    angles = torch.ones(2, x.shape[1], 1, config.key_dim // 2)

    layer(x, build_attention_inputs(config, segments, (angles, angles)))

    assert layer.head_dim == config.key_dim == 2


@pytest.mark.slow
def test_compiled_it_is_one_graph_with_the_same_result():
    torch.compiler.reset()
    given = (*rows_of(150), False)
    compiled = torch.compile(weighted_sums, fullgraph=True, backend="aot_eager")
    torch.testing.assert_close(compiled(*given), weighted_sums(*given))
