"""Masked and causal rows in one batch: their shares, their targets, and what they see."""

from dataclasses import replace

import pytest
import torch

from firth.corpora.tokenizer.pieces import FIRST_PIECE, MASK
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batch, Batches
from firth.pretrain.data.objectives.causal import NextPiece
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.data.objectives.mixed import MixedRows
from firth.pretrain.data.packing import lay_out
from tests.pretrain.letters import LETTERS, all_ids, packed, random_units
from tests.pretrain.model.test_encoder import small_model

CONTINUES = torch.tensor(LETTERS.continues)
ROWS = packed(random_units(1, 60))
IDS = torch.from_numpy(all_ids(ROWS))
RATE = 0.4


def mixed(share):
    """The objective for rows of 16 slots."""
    config = MlmConfig(objective=f"mixed:causal_share={share}", seed=5)
    return MixedRows.for_training(config, CONTINUES, 16)


def batch_of(ids, share, step=0):
    """A batch of some rows."""
    targets = mixed(share).predict(ids, step=step, rate=RATE)
    return Batch(targets.ids, *lay_out(ids), *targets[1:4], causal_rows=targets.causal_rows)


@pytest.mark.parametrize("share", [0.3, 0.5, 0.75])
def test_the_share_of_causal_rows_holds_in_every_stretch_and_on_average(share):
    rows = torch.stack(
        [mixed(share).predict(IDS[:7], step=step, rate=RATE).causal_rows for step in range(400)]
    ).double()
    assert (rows.sum(1) - 7 * share).abs().max() < 1
    # each row by itself, too: a standard error of at most 0.025, so once in 10^6
    assert (rows.mean(0) - share).abs().max() < 5 * 0.025


def test_rows_a_few_at_a_time_are_those_of_all_at_once():
    objective = mixed(0.3)
    whole = objective.predict(IDS, step=3, rate=RATE)
    parts = [
        objective.predict(IDS[first : first + 5], step=3, rate=RATE, first_row=first)
        for first in range(0, len(IDS), 5)
    ]
    for name in ("ids", "chosen", "targets", "weights", "causal_rows"):
        assert torch.equal(getattr(whole, name), torch.cat([getattr(part, name) for part in parts]))


def test_masked_rows_predict_from_the_slot_before_and_causal_rows_the_next_piece():
    batch = batch_of(IDS, 0.5)
    masked_rows, causal_rows = batch.kinds()
    numbers = batch.causal_rows.nonzero()[:, 0], (~batch.causal_rows).nonzero()[:, 0]
    masked = MaskedPieces.for_training(MlmConfig(seed=5), CONTINUES, 16)
    hidden = masked.predict(IDS, step=0, rate=RATE)
    following = NextPiece(16, ends=True).predict(IDS, step=0, rate=RATE)

    assert (masked_rows.causal, causal_rows.causal) == (False, True)
    assert torch.equal(causal_rows.ids, IDS[numbers[0]])
    assert torch.equal(causal_rows.targets, following.targets[numbers[0]])
    assert torch.equal(causal_rows.weights, following.weights[numbers[0]])
    assert torch.equal(masked_rows.ids, hidden.ids[numbers[1]])
    used = masked_rows.weights > 0
    assert torch.equal(used, hidden.weights[numbers[1]] > 0)
    assert torch.equal(masked_rows.chosen[used] + 1, hidden.chosen[numbers[1]][used])
    originals = IDS[numbers[1]].gather(1, (masked_rows.chosen + 1).clamp(max=15))
    assert torch.equal(masked_rows.targets[used], originals[used])
    assert masked_rows.weights[used].unique().tolist() == pytest.approx([1 / RATE])
    same = lay_out(IDS)[0][numbers[1]]
    at = masked_rows.chosen
    assert torch.equal(same.gather(1, at)[used], same.gather(1, (at + 1).clamp(max=15))[used])


def test_both_kinds_weigh_about_the_same():
    sums = [
        [float(part.weights.sum()) / len(part.ids) for part in batch_of(IDS, 0.5, step).kinds()]
        for step in range(30)
    ]
    masked, causal = torch.tensor(sums).mean(0).tolist()
    assert masked == pytest.approx(float((IDS >= FIRST_PIECE).sum()) / len(IDS), rel=0.05)
    assert causal == pytest.approx(masked, rel=0.2)  # with ends, without unknown pieces


def test_training_batches_hold_both_kinds_and_can_be_cut():
    batch = Batches(ROWS, mixed(0.5), batch_rows=8, seed=1).batch(2, RATE)
    parts = [part for start in (0, 4) for part in batch.rows(start, start + 4).kinds()]
    assert [(part.causal, len(part.ids)) for part in parts] == [(False, 2), (True, 2)] * 2
    assert sum(float(part.n_targets) for part in parts) == pytest.approx(float(batch.n_targets))


LAYOUTS = [{}, {"attention_span": 3, "global_every": 2}, {"positions": "relative"}]


@pytest.mark.parametrize("layout", LAYOUTS, ids=str)
def test_causal_rows_have_no_gradient_of_later_slots_and_masked_rows_of_both_sides(layout):
    model = small_model(objective="mixed", **layout)
    ids = torch.randint(5, 60, (2, 24), generator=torch.Generator().manual_seed(1))
    for causal in (False, True):
        rows = replace(Batch(ids, *lay_out(ids), ids, ids, ids), causal=causal)
        x = model.embed(rows).detach().requires_grad_()
        inputs = model.core.attention_inputs(rows)
        model.core(x, inputs)[0, 12].square().sum().backward()
        felt = x.grad[0].abs().sum(-1) > 0
        assert bool(felt[13:].any()) == (not causal)
        assert felt[12]
        assert felt[9:12].all()


def test_the_loss_of_each_kind_is_that_of_a_model_of_its_own():
    model = small_model(objective="mixed")
    causal_model = small_model(objective="causal")
    ids = torch.randint(5, 11, (6, 16), generator=torch.Generator().manual_seed(1))
    masked, causal = batch_of(ids, 0.5).kinds()

    expected = causal_model.loss(replace(causal, causal=None))
    assert torch.equal(torch.stack(model.loss(causal)), torch.stack(expected))
    assert not torch.equal(model.loss(causal)[0], model.loss(replace(causal, causal=False))[0])

    logits = model.logits(model(masked, masked.chosen)).log_softmax(-1)
    nll = -logits.gather(-1, masked.targets[..., None])[..., 0] * masked.weights
    torch.testing.assert_close(model.loss(masked)[0], nll.sum())


def test_no_logit_depends_on_a_piece_that_is_shown_as_a_mask():
    ids = torch.randint(5, 11, (6, 16), generator=torch.Generator().manual_seed(1))
    masked = batch_of(ids, 0.5).kinds()[0]
    hidden = masked.ids == MASK
    assert hidden.any()
    other = ids.clone()
    numbers = (~batch_of(ids, 0.5).causal_rows).nonzero()[:, 0]
    changed = other[numbers]
    changed[hidden] = 16 - changed[hidden] - 1  # another piece, from 5 to 10
    other[numbers] = changed
    assert not torch.equal(other, ids)
    assert torch.equal(batch_of(other, 0.5).kinds()[0].ids, masked.ids)
