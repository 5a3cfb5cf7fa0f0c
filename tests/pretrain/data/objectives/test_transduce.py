"""Transduction: what is hidden, read and predicted of pairs, and that nothing else is."""

import math

import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.pieces import CLS, PAD, SEP, SPECIAL, Pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import as_batch
from firth.pretrain.data.objectives.transduce import Transduction, hidden_targets
from firth.pretrain.data.packing import lay_out
from tests.pretrain.letters import LETTERS
from tests.pretrain.model.test_decoder import gradients
from tests.pretrain.model.test_encoder import small_model

PIECES = Pieces([*SPECIAL, "⇥", *"abcdefgh"])
V = len(PIECES)
SOURCES = ["ab⇥cd⇥e", "f⇥gh⇥", "abc⇥", "a⇥⇥b", "g⇥a⇥h"]


def ids_of(text):
    return [PIECES.names.index(name) for name in text]


def row_of(*texts, length=40):
    ids = [piece for text in texts for piece in [CLS, *ids_of(text), SEP]]
    return torch.tensor([ids + [PAD] * (length - len(ids))])


ROW = row_of(*SOURCES)


def objective(*, held_out=False):
    config = MlmConfig(objective="transduce", sequence_length=40)
    continues = torch.tensor(PIECES.continues)
    if held_out:
        return Transduction.for_held_out(continues, 40, pieces=PIECES, keys={})
    return Transduction.for_training(config, continues, 40, pieces=PIECES)


def texts_of(ids, segments):
    """The names of the pieces of each segment, sentinels as @."""
    names = [*PIECES.names, "@"]
    numbers = sorted(set(segments) - {-1})
    return [
        "".join(names[i] for i, s in zip(ids, segments, strict=True) if s == number)
        for number in numbers
    ]


def test_the_targets_of_whole_pairs_are_hidden_and_no_other_piece():
    hidden = hidden_targets(ROW, PIECES.names.index("⇥"))[0].tolist()
    segments = lay_out(ROW)[0][0].tolist()
    assert texts_of(
        ROW[0].tolist(), [s if h else -1 for s, h in zip(segments, hidden, strict=True)]
    ) == ["cd", "gh", "a"]


def test_the_encoder_reads_sources_and_tags_and_the_decoder_writes_targets_to_their_ends():
    made = as_batch(objective().predict(ROW, step=0, rate=math.nan))
    ids, segments, positions = made.decoder[0].tolist()
    read = texts_of(made.ids[0].tolist(), made.segments[0].tolist())
    assert read == [
        "[CLS]ab⇥@⇥e[SEP]",
        "[CLS]f⇥@⇥[SEP]",
        "[CLS]abc⇥[SEP]",
        "[CLS]a⇥⇥b[SEP]",
        "[CLS]g⇥@⇥h[SEP]",
    ]
    assert texts_of(ids, segments) == ["@cd", "@gh", "@a"]
    assert texts_of(made.targets[0].tolist(), segments) == ["cd[SEP]", "gh[SEP]", "a[SEP]"]
    assert positions[:8] == [0, 1, 2, 0, 1, 2, 0, 1]
    assert made.weights[0].tolist() == [float(s >= 0) for s in segments]


def test_held_out_losses_are_of_the_pieces_of_targets():
    made = objective(held_out=True).predict(ROW, step=0, rate=math.nan)
    predicted = made.targets[made.weights > 0].tolist()
    assert predicted == ids_of("cdgha")


@pytest.mark.parametrize(
    "layout", [{}, {"mixer": "gru"}, {"norm": "post", "mixer": "lstm"}], ids=str
)
def test_a_slot_reads_its_pair_without_what_it_predicts(layout):
    model = small_model(objective="transduce", **layout)
    batch = as_batch(objective().predict(ROW, step=0, rate=math.nan))
    segments, read = batch.decoded.segments[0].tolist(), batch.segments[0].tolist()
    for slot in (0, 1, 4, 7):
        of_source, of_target = gradients(model, batch, slot)
        assert of_source == [segment == segments[slot] for segment in read]
        assert of_target == [s == segments[slot] and n <= slot for n, s in enumerate(segments)]


def test_a_recurrent_model_has_a_recurrent_decoder_that_reads_by_additive_attention():
    shapes = [MlmConfig(objective="transduce", mixer=m).shape(n_pieces=V) for m in ("gru", "conv")]
    recurrent, other = (shape.decoder for shape in shapes)
    assert (set(recurrent.mixers), recurrent.attention_score) == ({"gru"}, "additive")
    assert (set(other.mixers), other.attention_score) == ({"attention"}, "scaled-dot")


def test_a_text_without_pairs_is_refused():
    with pytest.raises(SettingError, match=r"`objective=transduce`: the corpus has no pairs"):
        Transduction.for_training(
            MlmConfig(objective="transduce"), torch.tensor(LETTERS.continues), 40, pieces=LETTERS
        )
