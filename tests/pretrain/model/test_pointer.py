"""The pointer: its loss against the formula slot by slot, and what reaches what, by gradients."""

import math

import torch

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, SEP
from firth.pretrain.data.batches import as_batch
from firth.pretrain.data.objectives.point import ShuffledWords
from tests.pretrain.model.test_encoder import LENGTH, small_model

V = 60


def text_rows(ids=range(FIRST_PIECE, FIRST_PIECE + LENGTH)):
    """Rows of two segments, of pieces that are all different."""
    row = torch.tensor([list(ids)])
    row[0, [0, 13]], row[0, [12, 23]] = CLS, SEP
    return row


def batch_of(ids, seed=1):
    made = ShuffledWords(LENGTH, torch.arange(V) % 4 == 3, seed)
    return as_batch(made.predict(ids, step=0, rate=math.nan))


def model_of(**layout):
    return small_model(objective="point", **layout)


def test_the_loss_is_that_of_the_formula():
    model, batch = model_of(), batch_of(text_rows())
    core, (x, table, _, _) = model.core, model.loss_inputs(batch)
    memory, states = core.decode(x, batch, core.attention_inputs(batch))
    part, total, right = core.pointer, torch.tensor(0.0), 0
    for m in batch.weights[0].nonzero().flatten().tolist():
        own = batch.segments[0] == batch.decoded.segments[0, m]
        u = torch.stack([
            part.score_vector
            @ torch.tanh(part.of_encoder.weight @ x_n + part.of_decoder.weight @ states[0, m])
            for x_n in memory[0, own]
        ])  # fmt: skip
        place = own.nonzero().flatten().tolist().index(int(batch.targets[0, m]))
        total = total - u.log_softmax(0)[place]
        right += int(u.argmax() == place)

    found = core.losses(x, table, batch)

    torch.testing.assert_close(found[0], total)
    assert int(found[1]) == right


def test_a_prediction_depends_on_its_segment_and_the_words_before_it_alone():
    for layout in ({}, {"norm": "post"}, {"mixer": "mean,gru,attention"}):
        model, batch = model_of(**layout), batch_of(text_rows())
        read = batch.decoded.segments[0].tolist()
        for slot in (0, 5, 11, 15, 22):
            x, table, _, _ = model.loss_inputs(batch)
            x = x.detach().requires_grad_()
            model.core.target_losses(x, table, batch)[0][slot].backward()
            felt = (x.grad[0].abs().sum(-1) > 0).tolist()
            used, own = bool(batch.weights[0, slot]), read[slot]
            assert felt[:LENGTH] == [used and s == own for s in batch.segments[0].tolist()]
            before = [used and s == own and n <= slot for n, s in enumerate(read)]
            assert felt[LENGTH:] == before


def test_the_order_of_the_words_that_follow_changes_no_score():
    text = list(text_rows()[0])
    other = [*text[:6], *reversed(text[6:12]), *text[12:]]
    model, first = model_of(), batch_of(text_rows())
    second = batch_of(text_rows(other))
    # the encoder's rows may differ by the draw; of the same row, only what was read counts
    second = type(second)(**{**vars(first), "decoder": second.decoder})

    def scores(batch):
        x, _, _, _ = model.loss_inputs(batch)
        memory, states = model.core.decode(x, batch, model.core.attention_inputs(batch))
        return model.core.pointer(states, memory, batch)[0]

    changed = (scores(first) - scores(second)).abs().sum(-1) > 1e-5
    assert changed.nonzero().flatten().tolist() == [6, 7, 8, 9, 10, 11, 12]


def test_slots_without_a_word_to_point_at_lose_nothing_and_gradients_are_finite():
    ids = text_rows()
    ids[:, 14:] = 0
    ids[:, 13] = 0
    model, batch = model_of(), batch_of(ids)
    losses, _ = model.core.target_losses(*model.loss_inputs(batch))
    assert torch.equal(losses > 0, batch.weights.flatten() > 0)
    losses.sum().backward()
    gradients = [weight.grad for weight in model.core.pointer.parameters()]
    assert all(bool(g.isfinite().all()) and float(g.abs().sum()) > 0 for g in gradients)
