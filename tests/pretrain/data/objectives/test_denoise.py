"""Denoising: rows and targets against a loop over slots, shares, orders, and what is evaluated."""

import math
from itertools import pairwise

import pytest
import torch

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, PAD, SEP, UNK, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batches, fixed_batches
from firth.pretrain.data.objectives.denoise import Denoising
from firth.pretrain.data.packing import lay_out
from tests.pretrain.letters import LETTERS, all_ids, packed, random_units

V = len(LETTERS)
CONTINUES = torch.tensor(LETTERS.continues)
ROWS = packed(random_units(1, 60), 32)
DOTS = Pieces([*LETTERS.names[:-1], "."])


def objective(keys="", *, length=32, pieces=LETTERS, seed=3):
    config = MlmConfig(objective=f"denoise:{keys}" if keys else "denoise", seed=seed)
    return Denoising.for_training(config, CONTINUES, length, pieces=pieces)


def corrupted(ids, keys="", **options):
    return objective(keys, length=ids.shape[1], **options).predict(ids, step=2, rate=math.nan)


def one_segment(n, n_rows=400):
    """Rows of one segment of n pieces."""
    ids = torch.full((n_rows, n + 2), FIRST_PIECE)
    ids[:, 0], ids[:, -1] = CLS, SEP
    return ids


def segments_of(ids, segments):
    """The pieces of each segment of a row, by number."""
    numbers = sorted({s for s in segments if s >= 0})
    return {n: [i for i, s in zip(ids, segments, strict=True) if s == n] for n in numbers}


def rejoined(shown, decoder_ids, targets):
    """Put what the decoder predicts of a segment into the places of its sentinels."""
    spans, span = {}, None
    for symbol, target in zip(decoder_ids, targets, strict=True):
        if symbol >= V:
            span = spans.setdefault(symbol, [])
        if FIRST_PIECE <= target < V or target == UNK:
            span.append(target)
    assert list(spans) == [V + n for n in range(len(spans))]  # in order, from the first sentinel
    return [piece for symbol in shown for piece in spans.get(symbol, [symbol])]


@pytest.mark.parametrize("keys", ["", "share=0.5", "share=0.3,span=1", "share=0.6,span=8"])
def test_the_decoders_spans_fill_the_sentinels_of_their_segments(keys):
    ids = torch.from_numpy(all_ids(ROWS))
    made = corrupted(ids, keys)
    before, after = lay_out(ids)[0], lay_out(made.ids)[0]

    n_cut = 0
    for row in range(len(ids)):
        slots, segments, _ = made.decoder[row].tolist()
        targets = made.targets[row].tolist()
        shown = segments_of(made.ids[row].tolist(), after[row].tolist())
        read, learned = segments_of(slots, segments), segments_of(targets, segments)
        for number, text in segments_of(ids[row].tolist(), before[row].tolist()).items():
            found = rejoined(shown[number], read.get(number, []), learned.get(number, []))
            n_cut += found != text
            assert found == text or segments[-1] >= 0  # the decoder's last slot is used
            if number in read and segments[-1] < 0:
                assert learned[number] == [*read[number][1:], SEP]
    assert n_cut <= 2  # more sentinels than there is room for are rare
    assert (made.weights > 0).equal(made.decoder[:, 1] >= 0)


def test_positions_of_the_decoder_count_from_the_start_of_each_segment():
    _, segments, positions = corrupted(torch.from_numpy(all_ids(ROWS)), "share=0.5").decoder.unbind(
        1
    )
    starts = torch.cat([torch.ones_like(segments[:, :1]), segments.diff(dim=1)], 1) != 0
    used = segments >= 0
    assert (positions[starts & used] == 0).all()
    assert (positions[~starts & used] == positions.roll(1, 1)[~starts & used] + 1).all()


@pytest.mark.parametrize(("share", "span"), [(0.15, 3), (0.5, 3), (0.3, 8)])
def test_shares_are_exact_and_spans_have_the_mean_length(share, span):
    ids = one_segment(510)
    shown = corrupted(ids, f"share={share},span={span}").ids
    n_spans = (shown >= V).sum(1).double()
    n_hidden = 510 - (shown == FIRST_PIECE).sum(1)
    assert (n_hidden - 510 * share).abs().max() < 1
    mean = float(n_hidden.sum() / n_spans.sum())
    # of spans of geometric length; edges and the last run, which is cut, move it by 1 %
    error = span / math.sqrt(float(n_spans.sum()))
    assert abs(mean - span) < 0.01 * span + 5 * error


def test_hardly_any_target_is_left_out():
    made = corrupted(one_segment(126, 4000))
    n_hidden = 126 - (made.ids == FIRST_PIECE).sum(1)
    n_targets = n_hidden + (made.ids >= V).sum(1)
    assert float(made.weights.sum()) > 0.999 * float(n_targets.sum())


def test_deleted_pieces_leave_no_trace_and_the_text_is_the_target():
    ids = one_segment(126)
    made = corrupted(ids, "share=0.2,span=3,delete=0.1")
    n = (ids >= FIRST_PIECE).sum()
    lost = n - (made.ids >= FIRST_PIECE).sum()
    hidden = 0.2 * float(n)
    deleted = float(lost) - hidden
    deviation = math.sqrt(0.9 * 0.1 * 0.8 * float(n))
    assert abs(deleted - 0.1 * 0.8 * float(n)) < 6 * deviation + 1
    assert (made.ids == MASK).any()
    assert made.decoder[:, 0].equal(ids)
    assert made.targets[:, :-1].equal(ids[:, 1:])
    assert made.weights.equal((ids != SEP).float())


def test_sentences_are_permuted_whole_in_some_texts():
    end = DOTS.names.index(".")
    text = [piece for n in range(5) for piece in (*[FIRST_PIECE + n] * 3, end)]
    row = torch.tensor([[CLS, *text, SEP] * 2] * 300)

    made = corrupted(row, "share=0.01,permute=0.5", pieces=DOTS)

    orders = set()
    for ids in made.ids.tolist():
        assert (ids[0], ids.count(CLS), ids.count(SEP)) == (CLS, 2, 2)
        whole = [piece for piece in ids[1 : ids.index(SEP)] if piece not in (MASK, end)]
        orders.add(tuple(dict.fromkeys(whole)))
        assert sum(a != b for a, b in pairwise(whole)) == 4  # no sentence is cut
    assert len(orders) > 60
    straight = sum(ids[1:4] == [FIRST_PIECE] * 3 for ids in made.ids.tolist()) / 300
    assert abs(straight - (0.5 + 0.5 / 5)) < 5 * math.sqrt(0.24 / 300) + 0.03


@pytest.mark.parametrize("keys", ["", "permute=1,delete=0.1", "share=0.5"])
def test_rows_a_few_at_a_time_are_corrupted_as_all_at_once(keys):
    ids = torch.from_numpy(all_ids(ROWS))[:10]
    maker = objective(keys)
    whole = maker.predict(ids, step=1, rate=math.nan)
    parts = [maker.predict(ids[n : n + 4], step=1, rate=math.nan, first_row=n) for n in (0, 4, 8)]
    for name in ("ids", "chosen", "targets", "weights", "decoder"):
        assert torch.equal(torch.cat([getattr(part, name) for part in parts]), getattr(whole, name))
    assert not maker.predict(ids, step=2, rate=math.nan).ids.equal(whole.ids)


@pytest.mark.parametrize("keys", ["share=0.4", "share=0.4,delete=0.2"])
def test_hidden_pieces_alone_are_evaluated_whatever_the_share(keys):
    config = MlmConfig(objective=f"denoise:{keys}")
    maker = Denoising.for_held_out(CONTINUES, 32, pieces=LETTERS, keys=config.objective_keys)
    [batch] = fixed_batches(ROWS, maker, batch_rows=ROWS.n_rows, n_rows_limit=ROWS.n_rows)
    n_pieces = (torch.from_numpy(all_ids(ROWS)) >= FIRST_PIECE).sum()

    scored = batch.targets[batch.weights > 0]
    assert ((scored >= FIRST_PIECE) & (scored < V)).all()
    assert (batch.targets[batch.weights == 0] == PAD).all()
    assert abs(len(scored) / int(n_pieces) - 0.15) < 0.01


def test_a_batch_has_the_segments_and_positions_of_what_is_read():
    batch = Batches(ROWS, objective("share=0.5"), batch_rows=8, seed=1).batch(3, math.nan)
    assert torch.equal(
        torch.stack(lay_out(batch.ids)), torch.stack([batch.segments, batch.positions])
    )
    assert batch.decoded.ids.shape == batch.targets.shape
    part = batch.rows(2, 5)
    assert part.decoder.equal(batch.decoder[2:5])
