"""DenoisingEncoder: scores, unseen words and filled masks, against rows written by hand."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, SEP
from firth.embed.protocols import JoinableEncoder, MaskFiller, NextWordPredictor, SentenceScorer
from firth.pretrain.data.batches import Rows
from firth.pretrain.huggingface.export import write_huggingface
from firth.pretrain.inference.mlm_encoder import open_causal, open_masked
from tests.pretrain.small_run import TEXT, small_encoder, small_run

WHOLE = {"decoder_layers": 2}
SPANS = {**WHOLE, "sentinels": 7}
SHAPES = pytest.mark.parametrize(
    "shape",
    [SPANS, {**WHOLE, "norm": "post", "mixers": ("mean", "attention")}],
    ids=["spans", "text"],
)
ENCODER = small_encoder(**SPANS)
T = ENCODER.model.config.max_length
SENTENCES = [ENCODER.words(sentence) for sentence in TEXT.replace("\n", " ").split(". ")]
SHORT = [words for words in SENTENCES if len(ENCODER.pieces.split(words)[0]) <= T - 2][:5]


def chances(encoder, row, read):
    """The log probabilities after each slot that a decoder reads, one row without batches."""
    model = encoder.model
    rows, slots = Rows.whole(torch.tensor([row])), Rows.whole(torch.tensor([read]))
    with torch.no_grad():
        memory = model.core.decoder(model.embed(slots), slots, model(rows), rows.segments)[0]
        return model.core.logits(memory, model.table).log_softmax(-1)


def hiding(encoder, ids, start, stop, n=0):
    """The encoder's row without some pieces, and what the decoder reads before and with them."""
    if not encoder.model.config.sentinels:
        row = [CLS, *ids[:start], MASK, *ids[stop:], SEP]
        return row, [CLS, *ids], start
    first = len(encoder.pieces) + n
    return [CLS, *ids[:start], first, *ids[stop:], SEP], [first, *ids[start:stop]], 0


def naive_score(encoder, words, *, by_word):
    ids, bounds = (each.tolist() for each in encoder.pieces.split(words))
    bounds = bounds if by_word else range(len(ids) + 1)
    total = 0.0
    for start, stop in pairwise(bounds):
        row, read, slot = hiding(encoder, ids, start, stop)
        found = chances(encoder, row, read)
        total += sum(float(found[slot + n, ids[start + n]]) for n in range(stop - start))
    return total


@pytest.mark.parametrize("by_word", [True, False])
@SHAPES
def test_a_score_is_the_sum_over_words_each_hidden_alone(shape, by_word):
    encoder = small_encoder(**shape)
    expected = [naive_score(encoder, words, by_word=by_word) for words in SHORT]
    assert any(len(encoder.pieces.split(words)[0]) > len(words) for words in SHORT)

    found = encoder.score([*SHORT, []], left_to_right_in_words=by_word)

    np.testing.assert_allclose(found, [*expected, 0], rtol=1e-4)


def test_long_sentences_are_scored_piece_by_piece_of_their_windows():
    [found] = ENCODER.score([SENTENCES[0] * 5])
    assert found < 4 * float(ENCODER.score([SENTENCES[0]])[0])


@SHAPES
def test_a_hidden_word_has_the_state_of_its_mark(shape):
    encoder, expected = small_encoder(**shape), []
    for words in SHORT:
        ids, bounds = (each.tolist() for each in encoder.pieces.split(words))
        row, _, _ = hiding(encoder, ids, bounds[1], bounds[2])
        with torch.no_grad():
            states = encoder.model.states(Rows.whole(torch.tensor([row])))
        expected.append(states[2][0, 1 + bounds[1]].numpy())
    tokens = np.cumsum([0, *map(len, SHORT)])[:-1] + 1

    found = encoder.encode_masked(SHORT, tokens, [2])

    np.testing.assert_allclose(found, expected, atol=1e-5)


@SHAPES
def test_the_next_word_is_a_hidden_span_at_the_end(shape):
    encoder, words = small_encoder(**shape), ["king", "saw", "river"]
    sentences = [SHORT[0][:3], SHORT[1][:2]]
    found = encoder.predict_next(sentences, words)
    for line, sentence in zip(found, sentences, strict=True):
        ids = encoder.pieces.split(sentence)[0].tolist()
        row, read, slot = hiding(encoder, [*ids, 9], len(ids), len(ids) + 1)
        scores = chances(encoder, row, read)[slot]
        pieces = [encoder.pieces.split([word])[0][0] for word in words]
        np.testing.assert_allclose(
            line - line[0], (scores[pieces] - scores[pieces[0]]).numpy(), atol=1e-4
        )


@SHAPES
def test_masks_are_filled_from_left_to_right_and_side_by_side_as_one_span(shape):
    encoder = small_encoder(**shape)
    first, second, third = encoder.fill_mask("the [MASK] [MASK] saw the [MASK]", 3)

    pieces = encoder.pieces
    the, saw = (pieces.split([word])[0].tolist() for word in ("the", "saw"))
    best = [pieces.names.index(each[0].piece) for each in (first, second)]
    ids = [*the, *best, *saw, *the, 9]
    if shape.get("sentinels"):
        one, two = len(pieces), len(pieces) + 1
        row, read = [CLS, *the, one, *saw, *the, two, SEP], [one, *best, two]
        slots = [0, 1, 3]
    else:
        row, read = [CLS, *the, MASK, *saw, *the, MASK, SEP], [CLS, *ids[:-1]]
        slots = [len(the), len(the) + 1, len(ids) - 1]
    scores = chances(encoder, row, read)[slots][:, FIRST_PIECE : len(pieces)].softmax(-1)
    for answers, expected in zip((first, second, third), scores, strict=True):
        top = expected.topk(3)
        assert [pieces.names[FIRST_PIECE + n] for n in top.indices] == [a.piece for a in answers]
        np.testing.assert_allclose([a.probability for a in answers], top.values, rtol=1e-4)


def test_protocols_and_refusals(tmp_path):
    protocols = JoinableEncoder, MaskFiller, NextWordPredictor, SentenceScorer
    assert all(isinstance(ENCODER, protocol) for protocol in protocols)
    with pytest.raises(SettingError, match=r"has no \[MASK\]"):
        ENCODER.fill_mask("the king")
    run = small_run(tmp_path, **SPANS)
    assert open_masked(run, "cpu").score([SHORT[0]]).shape == (1,)
    with pytest.raises(ArtifactError, match="does not predict the next piece"):
        open_causal(run, "cpu")
    with pytest.raises(
        SettingError, match="has no huggingface form: neither BERT nor ModernBERT has a decoder"
    ):
        write_huggingface(run, tmp_path / "hf")
