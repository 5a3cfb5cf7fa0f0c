"""What the unigram baseline counts: the pieces that are predicted."""

import torch

from firth.corpora.tokenizer.pieces import SPECIAL, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.causal import NextPiece
from firth.pretrain.data.objectives.transduce import Transduction
from firth.pretrain.data.packing import PackedRows, piece_counts
from firth.pretrain.training.prepare import _target_counts
from tests.embed.small_corpus import SmallView
from tests.pretrain.letters import LETTERS, packed, random_units

CAUSAL = NextPiece.for_training(MlmConfig(), torch.tensor(LETTERS.continues), 16)


def test_each_piece_is_predicted_once_from_those_before_it():
    rows = packed(random_units(3, 80))
    assert torch.equal(_target_counts(rows, CAUSAL), piece_counts(rows))


def test_of_pairs_the_pieces_of_targets_count():
    pieces = Pieces([*SPECIAL, "⇥", *"abc"])
    rows = PackedRows.pack(SmallView([[*"ab⇥ca⇥"], [*"bb⇥c⇥a"]]), pieces, 16, "cpu", whole=True)
    objective = Transduction.for_training(
        MlmConfig(objective="transduce"), torch.tensor(pieces.continues), 16, pieces=pieces
    )
    counted = dict(zip(pieces.names, _target_counts(rows, objective).tolist(), strict=True))
    assert {name: n for name, n in counted.items() if n} == {"c": 2, "a": 1}
