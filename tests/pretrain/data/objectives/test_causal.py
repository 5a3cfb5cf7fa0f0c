"""Next pieces: the targets of rows, against a loop, and characters of pieces."""

import math

import numpy as np
import pytest
import torch

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, PAD, SEP, UNK, learn_pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batches, fixed_batches
from firth.pretrain.data.objectives.causal import NextPiece, piece_characters
from firth.pretrain.data.packing import PackedRows, lay_out
from tests.embed.small_corpus import SmallView
from tests.pretrain.letters import LETTERS, all_ids, packed, random_units

CONTINUES = torch.tensor(LETTERS.continues)
ROWS = packed(random_units(1, 60))


def naive_targets(row, *, ends):
    """Return the piece to predict in each slot, or None."""
    found = []
    for slot in range(len(row)):
        after = row[slot + 1 : slot + 3]
        is_end = ends and after == [SEP, CLS]
        found.append(after[0] if after and (after[0] >= FIRST_PIECE or is_end) else None)
    return found


@pytest.mark.parametrize("ends", [False, True])
def test_each_slot_predicts_the_piece_after_it_in_its_segment(ends):
    ids = torch.from_numpy(all_ids(ROWS))
    assert (ids == UNK).any()
    found = NextPiece(16, ends).predict(ids, step=0, rate=math.nan)

    expected = [naive_targets(row, ends=ends) for row in ids.tolist()]
    pairs = zip(found.targets.tolist(), found.weights.tolist(), strict=True)
    assert [
        [piece if weight else None for piece, weight in zip(*row, strict=True)] for row in pairs
    ] == expected
    assert torch.equal(found.ids, ids)
    assert found.chosen.tolist() == [list(range(16))] * len(ids)


def test_targets_stay_in_the_segment_and_ends_are_those_of_units():
    ids = torch.from_numpy(all_ids(ROWS))
    found = NextPiece(16, ends=True).predict(ids, step=0, rate=math.nan)
    segments, _ = lay_out(ids)

    rows, slots = found.weights.nonzero(as_tuple=True)
    assert torch.equal(segments[rows, slots], segments[rows, slots + 1])
    n_ends = int(((found.targets == SEP) * found.weights).sum())
    assert 0 < n_ends < int((ids == SEP).sum())  # not where a row ends
    assert not ((found.targets == PAD) * found.weights).any()


def test_padding_after_the_text_is_no_part_of_it_that_has_a_loss():
    view = SmallView([list("abc"), list("de")], per_cluster=1)
    rows = PackedRows.pack(view, LETTERS, 16, "cpu", clusters=True)
    assert (all_ids(rows)[-1, -2:] == PAD).all()

    objective = NextPiece.for_held_out(CONTINUES, 16)
    (batch,) = fixed_batches(rows, objective, batch_rows=8, n_rows_limit=8)

    assert batch.clusters.max() == 1


def test_training_learns_ends_and_evaluation_leaves_them_out():
    config = MlmConfig(objective="causal")
    training = NextPiece.for_training(config, CONTINUES, 16)
    [batch] = fixed_batches(
        ROWS, NextPiece.for_held_out(CONTINUES, 16), batch_rows=999, n_rows_limit=999
    )
    first = Batches(ROWS, training, batch_rows=8, seed=1).batch(0, math.nan)

    assert ((first.targets == SEP) & (first.weights > 0)).any()
    assert not ((batch.targets == SEP) & (batch.weights > 0)).any()
    assert int(batch.weights.sum()) == int((all_ids(ROWS)[:, 1:] >= FIRST_PIECE).sum())


@pytest.mark.parametrize("size", [60, 90, 120])
def test_the_characters_of_a_text_are_the_same_for_every_vocabulary(size):
    words = ["the", "sea", "and", "the", "seaside", "then", "an", "island", "and", "islanders"]
    names, counts = np.unique(words, return_counts=True)
    pieces = learn_pieces(names.tolist(), counts, size=size, exact=False)

    characters = piece_characters(pieces.names)

    assert characters[:FIRST_PIECE].tolist() == [0] * FIRST_PIECE
    assert characters[pieces.split(words)[0]].sum() == len(" ".join(["", *words]))
