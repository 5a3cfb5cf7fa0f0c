"""Self-attention: every implementation against a naive loop over the formulas."""

import dataclasses
import inspect
import itertools
import math

import numpy as np
import pytest
import torch
import torch.nn.attention.varlen as library

from firth.pretrain.data.stateless_random import keyed_bits
from firth.pretrain.model import attention, varlen
from firth.pretrain.model.attention import SelfAttention, build_attention_inputs, take_slots
from firth.pretrain.model.positions import angles
from firth.pretrain.shape import EncoderConfig

TORCHS_OWN = library.varlen_attn
needs_gpu = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no GPU")
SCORES = ("scaled-dot", "dot", "additive", "bilinear", "key-value")
OF_PARTS = ("relu", "sparsemax", "hard", "hard-best")  # scores that leave keys out


def encoder_config(**changes):
    shape = {"n_pieces": 50, "layers": 1, "heads": 2, "dim": 8, "feed_forward_dim": 16}
    return EncoderConfig(**{**shape, "max_length": 64, "norm": "post", **changes})


def attention_and_rows(config, *, length=23, rows=2, seed=3, few_keys=256):
    """A layer with random weights, states, and two or three segments per row with padding."""
    generator = torch.Generator().manual_seed(seed)
    layer = SelfAttention(config, 0, few_keys=few_keys)
    for weight in layer.parameters():
        torch.nn.init.normal_(weight, 0.0, 0.7, generator=generator)
    x = torch.randn(rows, length, config.dim, generator=generator)
    segments = torch.zeros(rows, length, dtype=torch.long)
    segments[0, 6:] = 1
    segments[0, 15:] = 2
    segments[1, 11:] = 1
    segments[1, -2:] = -1
    return layer, x, segments


def rotary_of(config, segments):
    """Cosines and sines at positions that count from the row's start, as (B, T, 1, d / 2)."""
    if config.positions != "rotary":
        return None
    phase = angles(config.max_length, config.key_dim)[: segments.shape[1]]
    shape = (len(segments), -1, 1, -1)
    return tuple(t.float()[None, :, None].expand(shape) for t in (phase.cos(), phase.sin()))


def assert_near(found, expected):
    """As near as float32 comes.

    A weight is off by as much of itself as its score is off: by some u of the sum of its products'
    absolute values, which is below 70 here. All other sums are of few terms, and lose a few u.
    """
    atol = 4 * 70 * 2.0**-24 * float(expected.detach().abs().max())
    torch.testing.assert_close(found, expected, atol=atol, rtol=0)


def vector_of(table, head, distance):
    """Return the vector of a distance, clipped to those that have one."""
    reach = len(table[head]) // 2
    return table[head][max(-reach, min(reach, distance)) + reach].double()


def own_parts(layer, x):
    """Return queries, keys and values of one row, the heads side by side."""
    if layer.score != "key-value":
        return layer.qkv(x).chunk(3, dim=-1)
    keys, values = x.chunk(2, dim=-1)
    return keys, keys, values


def one_score(layer, head, q, k):
    """Return the score of one query and one key, by the formula of the option."""
    if layer.score == "dot":
        return float(q @ k)
    if layer.score in ("scaled-dot", *OF_PARTS):
        return float(q @ k) / math.sqrt(len(q))
    if layer.score == "bilinear":  # q has been through W already, or positions would not fit
        return float(k @ q)
    mapped = layer.key_map[head].double() @ k + layer.query_map[head].double() @ q
    return float(layer.score_vector[head].double() @ torch.tanh(mapped))


def naive_weights(score, scores):
    """Return the weights of one query's keys."""
    if score == "relu":
        return [max(0.0, each) / len(scores) for each in scores]
    if score == "sparsemax":  # the sum of what is above the threshold is 1: halve the interval
        low, high = min(scores) - 1, max(scores)
        for _ in range(60):
            middle = (low + high) / 2
            above = sum(max(0.0, each - middle) for each in scores)
            low, high = (middle, high) if above > 1 else (low, middle)
        return [max(0.0, each - low) for each in scores]
    exps = np.exp(np.array(scores) - max(scores))
    if score in ("hard", "hard-best"):
        exps = (exps == 1.0).astype(float)
    return exps / exps.sum()


def turn(vector, phase):
    """Rotate the pairs (i, i + d/2) by the angles of one position."""
    half = len(vector) // 2
    turned = vector.clone()
    for i in range(half):
        c, s = math.cos(phase[i]), math.sin(phase[i])
        turned[i] = vector[i] * c - vector[i + half] * s
        turned[i + half] = vector[i + half] * c + vector[i] * s
    return turned


@torch.no_grad()
def naive_attention(layer, x, may_look, *, rotary=False):
    """Return output and weights of the layer, one query at a time, in double precision."""
    layer = layer.double()
    rows, length, _ = x.shape
    d = layer.head_dim
    phase = angles(length, d)
    mixed = torch.zeros(rows, length, layer.heads * d, dtype=torch.float64)
    weights = torch.zeros(rows, layer.heads, length, length, dtype=torch.float64)
    for b in range(rows):
        q, k, v = own_parts(layer, x[b].double())
        for h in range(layer.heads):
            part = slice(h * d, (h + 1) * d)
            queries, keys = q[:, part], k[:, part]
            if layer.score == "bilinear":
                queries = torch.stack([layer.query_map[h] @ query for query in queries])
            if rotary:
                queries = torch.stack([turn(queries[t], phase[t]) for t in range(length)])
                keys = torch.stack([turn(keys[t], phase[t]) for t in range(length)])
            for i in range(length):
                seen = [j for j in range(length) if may_look(b, i, j)]
                near, far = (dict.fromkeys(seen, torch.zeros(d, dtype=torch.float64)) for _ in "kv")
                if layer.relative is not None:
                    near = {j: vector_of(layer.relative.of_keys, h, j - i) for j in seen}
                    far = {j: vector_of(layer.relative.of_values, h, j - i) for j in seen}
                scores = [one_score(layer, h, queries[i], keys[j] + near[j]) for j in seen]
                for j, e in zip(
                    seen, naive_weights(layer.score, scores) if seen else (), strict=True
                ):
                    weights[b, h, i, j] = e
                    mixed[b, i, part] += e * (v[j, part] + far[j])
    if layer.score == "key-value":
        mixed = torch.cat([mixed, x.double().chunk(2, dim=-1)[1]], -1)
    result = layer.out(mixed), weights
    layer.float()
    return result


# the formula, which a CPU takes for few keys, and the kernel, which it takes for more
EITHER_WAY = pytest.mark.parametrize("few_keys", [256, 0], ids=["formula", "fused"])


def may_look_in(segments, span=None, *, causal=False):
    def may_look(b, i, j):
        near = (span is None or abs(i - j) <= span) and not (causal and j > i)
        return near and bool(segments[b, i] == segments[b, j])

    return may_look


EVERY_KIND = [
    (score, positions)
    for score in (*SCORES, *OF_PARTS)
    for positions in ("none", "rotary", "relative")
    if positions != "relative" or score not in ("additive", "key-value")
]


@pytest.mark.slow
@pytest.mark.parametrize(("score", "positions"), EVERY_KIND)
@pytest.mark.parametrize("span", [None, 1, 20])
def test_attention_follows_the_formula(score, span, positions):
    config = encoder_config(attention_score=score, attention_span=span, positions=positions)
    layer, x, segments = attention_and_rows(config)
    rotary = rotary_of(config, segments)

    mixed = layer(x, build_attention_inputs(config, segments, rotary))
    dense = dataclasses.replace(
        build_attention_inputs(config, segments, rotary),
        allowed=segments[:, :, None] == segments[:, None, :],
    )
    weights = layer.weights(x, dense)

    expected, expected_weights = naive_attention(
        layer, x, may_look_in(segments, span), rotary=positions == "rotary"
    )
    assert_near(mixed, expected.float())
    assert_near(weights, expected_weights.float())


@pytest.mark.parametrize("score", ["scaled-dot", "dot", "bilinear"])
def test_the_fused_kernel_gives_what_the_formula_gives(score):
    config = encoder_config(attention_score=score, positions="none")
    layer, x, segments = attention_and_rows(config)
    by_formula = layer(x, build_attention_inputs(config, segments, None))

    layer.few_keys = 0
    fused = layer(x, build_attention_inputs(config, segments, None))

    assert_near(fused, by_formula)


@pytest.mark.parametrize(
    ("span", "length"), [(1, 19), (2, 64), (5, 27), (5, 52), (17, 52), (17, 64)]
)
@EITHER_WAY
def test_local_blocks_equal_the_dense_mask(span, length, few_keys):
    config = encoder_config(attention_span=span, positions="none")
    layer, x, segments = attention_and_rows(config, length=length, few_keys=few_keys)
    x.requires_grad_()
    near = build_attention_inputs(config, segments, None)
    assert near.allowed is None  # no T x T mask is made
    blocks = layer(x, near)
    (gradient,) = torch.autograd.grad(blocks.square().sum(), x)

    dense = attention.AttentionInputs(segments, None, segments[:, :, None] == segments[:, None, :])
    expected = layer(x, dense)
    (expected_gradient,) = torch.autograd.grad(expected.square().sum(), x)

    assert_near(blocks, expected)
    assert_near(gradient, expected_gradient)


@pytest.mark.parametrize("span", [None, 2])
@pytest.mark.parametrize(
    ("score", "positions", "few_keys"),
    [("scaled-dot", "rotary", 0), *((*kind, 256) for kind in EVERY_KIND)],
)
def test_chosen_slots_equal_those_of_all_slots(score, positions, span, few_keys):
    config = encoder_config(attention_score=score, attention_span=span, positions=positions)
    layer, x, segments = attention_and_rows(config, few_keys=few_keys)
    rotary = rotary_of(config, segments)
    inputs = build_attention_inputs(config, segments, rotary)
    chosen = torch.tensor([[0, 7, 20], [3, 3, 22]])

    got = layer(x, inputs, chosen)

    assert_near(got, take_slots(layer(x, inputs), chosen))


@pytest.mark.slow
@pytest.mark.parametrize("score", [*SCORES, *OF_PARTS])
@pytest.mark.parametrize("span", [None, 2])
@EITHER_WAY
def test_attention_is_limited_to_the_edges_of_a_graph(score, span, few_keys):
    config = encoder_config(attention_score=score, attention_span=span, positions="none")
    layer, x, segments = attention_and_rows(config, few_keys=few_keys)
    edges = torch.rand(1, 23, 23, generator=torch.Generator().manual_seed(5)) < 0.3
    edges[0, 4] = False  # a query with no edge at all
    x.requires_grad_()
    inputs = build_attention_inputs(config, segments, None, pattern=edges)

    mixed, weights = layer(x, inputs), layer.weights(x, inputs)

    same = may_look_in(segments, span)
    expected, expected_weights = naive_attention(
        layer, x.detach(), lambda b, i, j: bool(edges[0, i, j]) and same(b, i, j)
    )
    assert_near(mixed, expected.float())
    assert_near(weights, expected_weights.float())
    assert (weights[expected_weights == 0] == 0).all()
    if score != "key-value":  # its own value is added to what is mixed
        assert torch.equal(mixed[:, 4], layer.out.bias.expand(2, -1))
    mixed.sum().backward()
    assert x.grad.isfinite().all()


@EITHER_WAY
def test_chosen_slots_without_edges_get_zero_attention(few_keys):
    config = encoder_config(positions="none")
    layer, x, segments = attention_and_rows(config, few_keys=few_keys)
    edges = torch.ones(1, 23, 23, dtype=torch.bool)
    edges[0, 4] = False
    inputs = build_attention_inputs(config, segments, None, pattern=edges)

    got = layer(x, inputs, torch.tensor([[4, 5], [4, 5]]))

    assert torch.equal(got[:, 0], layer.out.bias.expand(2, -1))
    assert_near(got[:, 1], layer(x, inputs)[:, 5])


@pytest.mark.parametrize("span", [None, 1])
@pytest.mark.parametrize(
    "shape",
    [
        *({"attention_score": score} for score in ("key-value", *OF_PARTS)),
        {"positions": "relative"},
    ],
    ids=str,
)
def test_segments_see_nothing_of_each_other_in_half_precision_and_with_noise(shape, span):
    config = encoder_config(**{"positions": "none", "attention_span": span, **shape})
    layer, x, segments = attention_and_rows(config)
    x.requires_grad_()
    inputs = build_attention_inputs(config, segments, None)
    expected = layer(x, inputs)
    noise = keyed_bits(1, 1, "test", (2,), "cpu")

    with torch.autocast("cpu", dtype=torch.bfloat16):
        rounded = layer(x, inputs)
        noisy = layer(x, dataclasses.replace(inputs, noise=noise))

    assert torch.equal(noisy, rounded) == (config.attention_score != "hard")
    if not config.attention_score.startswith("hard"):  # where another may be best by rounding
        # a few roundings of 2 ** -9 of numbers that partly cancel
        assert (rounded.float() - expected).norm() < 0.03 * expected.norm()
    near = range(6, 15) if span is None else range(7, 12)
    noisy[0, 8 : 15 if span is None else 11].float().square().sum().backward()
    felt = set((x.grad[0].abs().sum(-1) > 0).nonzero().flatten().tolist())
    assert felt <= set(near)
    assert felt == set(near) or config.attention_score in OF_PARTS  # which leave slots out
    assert not x.grad[1].any()


def test_segment_bounds_list_starts_and_end_in_a_tensor_of_one_length():
    segments = torch.tensor([[0, 0, 1, 1, -1], [0, 1, 1, 2, 2]])

    bounds = varlen.segment_bounds(segments, 8)

    assert bounds.dtype == torch.int32
    assert bounds.tolist() == [0, 2, 4, 5, 6, 8, 10, 10, 10]


def loop_over_segments(*given, **named):
    """Do what torch.nn.attention.varlen.varlen_attn is documented to do; check the arguments."""
    inspect.signature(TORCHS_OWN).bind(*given, **named)
    q, k, v, q_bounds, _, _, _ = given
    window_size = named["window_size"]
    mixed = torch.zeros_like(q)
    for start, stop in zip(q_bounds[:-1].tolist(), q_bounds[1:].tolist(), strict=True):
        part = slice(start, stop)
        scores = torch.einsum("qhd,khd->hqk", q[part], k[part]) / math.sqrt(q.shape[-1])
        at = torch.arange(stop - start)
        left, right = window_size
        if left >= 0:
            scores = scores.masked_fill(at[:, None] - at > left, -math.inf)
        if right >= 0:
            scores = scores.masked_fill(at - at[:, None] > right, -math.inf)
        mixed[part] = torch.einsum("hqk,khd->qhd", scores.softmax(-1), v[part])
    return mixed


@EITHER_WAY
@pytest.mark.parametrize("span", [None, 3])
def test_causal_attention_follows_the_formula_without_later_keys(span, few_keys):
    config = encoder_config(attention_span=span, positions="rotary", causal=True)
    layer, x, segments = attention_and_rows(config, few_keys=few_keys)
    inputs = build_attention_inputs(config, segments, rotary_of(config, segments))

    may_look = may_look_in(segments, span, causal=True)
    expected, _ = naive_attention(layer, x, may_look, rotary=True)
    assert (inputs.local is None) == (span is None)
    assert_near(layer(x, inputs), expected.float())


@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("score", ["scaled-dot", "dot", "bilinear"])
@pytest.mark.parametrize("span", [None, 2])
def test_the_varlen_kernel_gets_its_documented_arguments(score, span, causal, monkeypatch):
    monkeypatch.setattr(library, "varlen_attn", loop_over_segments)
    config = encoder_config(
        attention_score=score, attention_span=span, positions="rotary", causal=causal
    )
    layer, x, segments = attention_and_rows(config)
    rotary = rotary_of(config, segments)
    bounds = varlen.segment_bounds(segments, 12)
    chosen = torch.tensor([[0, 7, 20], [3, 3, 22]])

    got = layer(x, build_attention_inputs(config, segments, rotary, bounds=bounds), chosen)

    expected = layer(x, build_attention_inputs(config, segments, rotary), chosen)
    assert_near(got, expected)


@needs_gpu
@pytest.mark.parametrize("causal", [False, True])
@pytest.mark.parametrize("score", ["scaled-dot", "dot", "bilinear"])
@pytest.mark.parametrize("span", [None, 2])
def test_torchs_kernel_gives_what_the_dense_mask_gives(score, span, causal):
    config = encoder_config(
        dim=64, attention_score=score, attention_span=span, positions="none", causal=causal
    )
    layer, x, segments = attention_and_rows(config)
    with torch.no_grad():
        for weight in layer.parameters():
            weight.mul_(0.1)  # with scores of some hundreds, rounding would choose the best key
    layer, segments = layer.to("cuda", torch.bfloat16), segments.cuda()
    bounds = varlen.segment_bounds(segments, 12)  # some of them empty
    found = []
    for inputs in (
        build_attention_inputs(config, segments, None, bounds=bounds),
        build_attention_inputs(config, segments, None),
    ):
        given = x.to("cuda", torch.bfloat16).requires_grad_()
        mixed = layer(given, inputs)
        mixed.float().square().mean().backward()
        found.append((mixed.float(), given.grad.float()))
    for got, expected in zip(*found, strict=True):
        assert (got - expected).abs().max() < 0.03 * expected.abs().max()


def test_a_wrong_or_failing_varlen_kernel_is_not_used(monkeypatch):
    device = torch.device("cpu")
    assert not varlen.varlen_works(device, 8)  # there is none
    drawn = torch.randn(3, 1, 16, 2, 8, generator=torch.Generator().manual_seed(1))
    segments = (torch.arange(16) >= 5).long()[None]
    for span, causal in itertools.product((None, 3), (False, True)):
        monkeypatch.setattr(library, "varlen_attn", loop_over_segments)
        assert varlen._agrees(drawn, segments, span, causal)
        monkeypatch.setattr(library, "varlen_attn", lambda *given, **named: given[2] + 0 * given[0])
        assert not varlen._agrees(drawn, segments, span, causal)
    for other in (lambda q, k: q, lambda *given, **named: given[:2]):  # another torch's
        monkeypatch.setattr(library, "varlen_attn", other)
        with pytest.raises(varlen._FAILURES):
            varlen._agrees(drawn, segments, None, False)


def test_unscaled_scores_are_not_rounded_on_a_cpu():
    config = encoder_config(attention_score="dot", positions="none", dim=64)
    layer, x, segments = attention_and_rows(config)
    inputs = build_attention_inputs(config, segments, None)
    exact = layer(x, inputs)
    rounded = layer.to(torch.bfloat16)(x.bfloat16(), inputs).float()
    scaled = SelfAttention(encoder_config(positions="none", dim=64), 0)
    scaled.load_state_dict(layer.float().state_dict())
    bearable = scaled.to(torch.bfloat16)(x.bfloat16(), inputs).float() - scaled.float()(x, inputs)
    assert (rounded - exact).norm() / exact.norm() < 3 * bearable.norm() / exact.norm()


@pytest.mark.parametrize(
    "shape",
    [
        {"attention_score": "additive"},
        {"attention_score": "key-value"},
        *({"attention_score": score} for score in OF_PARTS),
        {"positions": "relative"},
    ],
    ids=str,
)
def test_what_is_no_softmax_of_products_never_uses_a_kernel(shape, monkeypatch):
    segments = torch.zeros(1, 4, dtype=torch.long)
    bounds = varlen.segment_bounds(segments, 1)
    config = encoder_config(**{"positions": "none", **shape})
    inputs = build_attention_inputs(config, segments, None, bounds=bounds)
    assert inputs.bounds is None
    monkeypatch.setattr(attention.F, "scaled_dot_product_attention", None)
    SelfAttention(config, 0, few_keys=0)(torch.randn(1, 4, 8), inputs)


def test_patterns_never_use_the_varlen_kernel():
    segments = torch.zeros(1, 4, dtype=torch.long)
    bounds = varlen.segment_bounds(segments, 1)
    edges = torch.ones(1, 4, 4, dtype=torch.bool)
    given = {"bounds": bounds, "pattern": edges}
    assert build_attention_inputs(encoder_config(), segments, None, **given).bounds is None
