"""Scores of lines: words by loops over the plain model, sums, contexts and places."""

import numpy as np
import pytest
import torch

from firth.corpora.tokenizer.pieces import CLS, MASK, SEP
from firth.embed.contextual.line_scores import score_lines
from firth.pretrain.data.batches import Rows
from tests.pretrain.small_run import small_encoder

MASKED, CAUSAL = small_encoder(), small_encoder(causal=True)
BOTH = pytest.mark.parametrize("encoder", [MASKED, CAUSAL], ids=["masked", "causal"])
PAIRS = [("", "Nobody saw him."), ("The king", "saw the sawmill."), ("", ""), ("a", "")]


def bits_of_pieces(encoder, words):
    """The surprisal of the pieces of each word, one row of the plain model for each piece."""
    ids, bounds = encoder.pieces.split(words)
    found = []
    for word in range(len(words)):
        found.append(0.0)
        for place in range(bounds[word], bounds[word + 1]):
            row = [CLS, *ids.tolist(), SEP]
            hidden = range(place + 1, bounds[word + 1] + 1)
            for slot in hidden if encoder is MASKED else ():
                row[slot] = MASK
            row, at = (row, place + 1) if encoder is MASKED else (row[: place + 1], -1)
            with torch.no_grad():
                logits = encoder.model.logits(encoder.model(Rows.whole(torch.tensor([row]))))
            found[-1] -= float(logits[0, at].log_softmax(-1)[ids[place]]) / np.log(2)
    return found


@BOTH
def test_words_have_the_bits_of_their_pieces_and_a_line_those_of_its_words(encoder):
    for (context, text), line in zip(PAIRS, score_lines(encoder, PAIRS), strict=True):
        before, words = encoder.words(context), encoder.words(text)
        expected = bits_of_pieces(encoder, [*before, *words])[len(before) :]
        if expected:
            expected[-2:] = [sum(expected[-2:])]  # the last word is written with its full stop
        assert [word.bits for word in line.words] == pytest.approx(expected, rel=1e-5)
        assert [word.word for word in line.words] == text.split()
        assert line.bits == pytest.approx(sum(expected), rel=1e-5)
        assert line.log_likelihood == pytest.approx(-sum(expected) * np.log(2), rel=1e-5)


def test_a_context_and_what_follows_are_the_whole_of_a_causal_model():
    context, text = "The king saw", "the river."
    parts = [context, (context, text), f"{context} {text}"]
    before, given, whole = (line.bits for line in score_lines(CAUSAL, parts))
    assert before + given == pytest.approx(whole, rel=1e-6)


@BOTH
def test_words_are_where_the_line_has_them(encoder):
    text = " The 'king' — saw,  it!  東京は Nobody's"
    [line] = score_lines(encoder, [text])
    assert all(text[word.start : word.stop] == word.word for word in line.words)
    found = [word.word for word in line.words]
    assert found == ["The", "'king'", "—", "saw,", "it!", "東", "京", "は", "Nobody's"]
    known = {word.word: word.known for word in line.words}
    assert (known["The"], known["東"], known["'king'"]) == (True, False, False)


def test_lines_do_not_depend_on_how_many_are_scored_at_once():
    lines = ["Nobody saw him.", "the river"] * 150
    shown = []
    found = score_lines(CAUSAL, lines, show=shown.append)
    assert [line.text for line in found] == lines
    assert found[298].bits == pytest.approx(found[0].bits, rel=1e-5)
    assert shown == [256, 300]
