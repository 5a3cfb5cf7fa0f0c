"""The decoder: against torch's, and what reaches what, by gradients."""

import dataclasses

import pytest
import torch
from torch import nn

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, SEP
from firth.pretrain.data.batches import as_batch
from firth.pretrain.data.objectives.spans import Corruption, run_starts
from tests.pretrain.model.test_encoder import LAYOUTS, LENGTH, MIXED, small_model

V = 60
TEXT = [LAYOUTS[0], LAYOUTS[1], LAYOUTS[3], MIXED[-1]]
# two segments: [CLS] at 0 and 13, [SEP] at 12 and 23
HIDDEN = torch.tensor([[c in (2, 3, 8, 15, 16, 17, 21) for c in range(LENGTH)]])


def text_rows():
    """A row of two segments with pieces that are all different."""
    ids = torch.arange(FIRST_PIECE, FIRST_PIECE + LENGTH)[None].clone()
    ids[0, [0, 13]], ids[0, [12, 23]] = CLS, SEP
    return ids


def hidden_batch(*, whole=False, ids=None):
    slots = LENGTH if whole else 12
    corruption = Corruption(V, whole, slots)
    return as_batch(
        corruption.apply(text_rows() if ids is None else ids, HIDDEN, run_starts(HIDDEN))
    )


def model_of(layout, *, whole=False):
    keys = ":delete=0.1" if whole else ""
    return small_model(objective=f"denoise{keys}", **layout)


def gradients(model, batch, slot):
    """The slots whose embeddings a decoder slot's logits depend on: encoder's, decoder's."""
    x, table, batch, _ = model.loss_inputs(batch)
    x = x.detach().requires_grad_()
    model.core.logits(model.core.predictors(x, batch)[:, slot], table).square().sum().backward()
    felt = (x.grad[0].abs().sum(-1) > 0).tolist()
    length = batch.ids.shape[1]
    return felt[:length], felt[length:]


@pytest.mark.parametrize("whole", [False, True])
@pytest.mark.parametrize("layout", TEXT, ids=str)
def test_a_slot_sees_its_segment_and_earlier_slots_of_the_decoder_alone(layout, whole):
    model, batch = model_of(layout, whole=whole), hidden_batch(whole=whole)
    read, segments = batch.segments[0].tolist(), batch.decoded.segments[0].tolist()
    for slot in (0, 4, 7, 10):
        of_text, of_targets = gradients(model, batch, slot)
        own = segments[slot]
        assert of_text == [segment == own for segment in read]
        assert of_targets == [s == own and n <= slot for n, s in enumerate(segments)]


@pytest.mark.parametrize("whole", [False, True])
def test_hidden_pieces_do_not_reach_what_predicts_them(whole):
    model, ids = model_of({}, whole=whole), text_rows()
    other = torch.where(HIDDEN, V - 1, ids)
    first, second = hidden_batch(whole=whole), hidden_batch(whole=whole, ids=other)

    assert torch.equal(first.ids, second.ids)
    x, y = (model.loss_inputs(batch) for batch in (first, second))
    before, after = (model.core.predictors(x, batch) for x, _, batch, _ in (x, y))
    changed = (before - after).abs().sum(-1)[0] > 1e-6
    # as soon as a hidden piece was read, in its segment, and not before
    slots, segments, _ = first.decoder[0].tolist()
    hidden = set(ids[HIDDEN].tolist())
    seen = [
        any(slots[m] in hidden and segments[m] == segments[n] for m in range(n + 1))
        for n in range(len(slots))
    ]
    assert changed.tolist() == seen


@pytest.mark.parametrize("layout", TEXT, ids=str)
def test_a_segment_has_the_same_losses_alone_and_packed(layout):
    model, ids = model_of(layout), text_rows()
    losses, _ = model.core.target_losses(*model.loss_inputs(hidden_batch()))

    alone = []
    for part in (slice(0, 13), slice(13, LENGTH)):
        hidden = HIDDEN[:, part]
        made = as_batch(Corruption(V, False, 12).apply(ids[:, part], hidden, run_starts(hidden)))
        of_part, _ = model.core.target_losses(*model.loss_inputs(made))
        alone.append(of_part[of_part > 0])

    torch.testing.assert_close(torch.cat(alone), losses[losses > 0], atol=1e-5, rtol=1e-4)


def test_the_decoder_is_torchs_in_the_layout_of_bert():
    model = model_of({"norm": "post", "dropout": 0.0})
    ours, dim = model.core.decoder, model.config.dim
    layer = nn.TransformerDecoderLayer(
        dim, 2, model.config.feed_forward_dim, 0.0, "gelu", 1e-12, batch_first=True
    )
    batch = hidden_batch()
    read, segments = batch.segments, batch.decoded.segments
    x, _, _, _ = model.loss_inputs(batch)
    memory = model.core(x[:, :LENGTH], model.core.attention_inputs(batch))
    found = ours(x[:, LENGTH:], batch.decoded, memory, read)

    y = ours.embedding_norm(x[:, LENGTH:])
    own = (segments[0][:, None] != segments[0]) | torch.ones(12, 12).triu(1).bool()
    cross = (segments[0][:, None] != read[0]) & (segments[0][:, None] >= 0)
    for block in ours.blocks:
        for theirs, part in ((layer.self_attn, block.mixer), (layer.multihead_attn, block.cross)):
            theirs.in_proj_weight, theirs.in_proj_bias = part.qkv.weight, part.qkv.bias
            theirs.out_proj.weight, theirs.out_proj.bias = part.out.weight, part.out.bias
        layer.linear1, layer.linear2 = block.feed_forward.inner, block.feed_forward.out
        layer.norm1, layer.norm2 = block.mixer_norm, block.cross_norm
        layer.norm3 = block.feed_forward_norm
        y = layer(y, memory, tgt_mask=own, memory_mask=cross)

    torch.testing.assert_close(found, y, atol=1e-5, rtol=1e-4)


def test_the_loss_is_the_mean_log_probability_over_pieces_and_sentinels():
    model, batch = model_of({}), hidden_batch()
    x, table, batch, _ = model.loss_inputs(batch)
    logits = model.core.logits(model.core.predictors(x, batch), table)
    assert logits.shape[-1] == V + (LENGTH - 1) // 2
    nll = -logits.log_softmax(-1).gather(-1, batch.targets[..., None])[..., 0] * batch.weights

    loss, _ = model.loss(batch)

    torch.testing.assert_close(loss, nll.sum())
    loss.backward()
    assert all(weight.grad is not None for weight in model.parameters())


def test_padding_of_the_decoder_changes_no_loss():
    model, batch = model_of({}), hidden_batch()
    other = batch.decoder.clone()
    other[:, 0, -1] = 7
    assert int(batch.decoder[0, 1, -1]) == -1
    first, second = (model.loss(b)[0] for b in (batch, dataclasses.replace(batch, decoder=other)))
    assert torch.equal(first, second)


def test_gradients_of_micro_batches_sum_to_those_of_the_batch():
    model, ids = model_of({}), torch.cat([text_rows(), text_rows().roll(3, 1), text_rows() + 1])
    ids[:, [0, 13]], ids[:, [12, 23]] = CLS, SEP
    hidden = torch.cat([HIDDEN, HIDDEN.roll(-1, 1) & (ids[1] >= FIRST_PIECE), HIDDEN])
    batch = as_batch(Corruption(V, False, 12).apply(ids, hidden, run_starts(hidden)))

    def gradients_of(*parts):
        model.zero_grad()
        for part in parts:
            model.loss(part)[0].backward()
        return torch.cat([weight.grad.flatten() for weight in model.parameters()])

    whole, parts = gradients_of(batch), gradients_of(batch.rows(0, 1), batch.rows(1, 3))
    torch.testing.assert_close(parts, whole, atol=1e-4, rtol=1e-4)
