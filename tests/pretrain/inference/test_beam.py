"""Beam search against the probabilities of all sequences, and its batches."""

import itertools

import pytest
import torch

from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, PAD, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.packing import lay_out
from firth.pretrain.inference.beam import beam_search
from tests.pretrain.model.test_encoder import small_model

V = 8  # three pieces that are not special
START = V
LETTERS = range(FIRST_PIECE, V)


@pytest.fixture(scope="module")
def model():
    model = small_model(objective="transduce", n_pieces=V).eval()
    with torch.no_grad():
        for weight in model.parameters():
            weight.mul_(8.0)  # so that sequences differ in probability
        model.core.bias[SEP] += 1.0
    return model


def rows_of(*texts):
    longest = max(map(len, texts)) + 2
    ids = torch.tensor([[CLS, *t, SEP] + [PAD] * (longest - 2 - len(t)) for t in texts])
    return Rows(ids, *lay_out(ids))


def log_probability(model, rows, pieces):
    """The sum over pieces and the end, each after those before it."""
    read = Rows.whole(torch.tensor([[START, *pieces]]))
    with torch.no_grad():
        states = model.core.decoder(model.embed(read), read, model(rows), rows.segments)
        likely = model.core.logits(states, model.table).log_softmax(-1)[0]
    return float(likely[range(len(pieces) + 1), [*pieces, SEP]].sum())


def test_a_beam_as_wide_as_all_sequences_finds_the_likeliest(model):
    rows, longest = rows_of([5, 6]), 4
    every = [
        (list(pieces), log_probability(model, rows, pieces))
        for length in range(longest)
        for pieces in itertools.product(LETTERS, repeat=length)
    ]
    every.sort(key=lambda one: -one[1])
    [found] = beam_search(model, rows, START, beam=200, best=200, limits=[longest] * len(rows.ids))
    ended = [one for one in found if one.ended]
    assert {len(one.pieces) for one in found if not one.ended} == {longest}
    assert [one.pieces for one in ended[:20]] == [pieces for pieces, _ in every[:20]]
    assert [one.log_probability for one in ended] == pytest.approx(
        [score for _, score in every[: len(ended)]], abs=1e-4
    )


def test_one_sequence_at_a_time_is_greedy(model):
    rows = rows_of([5, 7, 6])
    [[(found, _, _)]] = beam_search(model, rows, START, beam=1, best=1, limits=[6] * len(rows.ids))
    written = []
    while len(written) < 6:
        read = Rows.whole(torch.tensor([[START, *written]]))
        with torch.no_grad():
            states = model.core.decoder(model.embed(read), read, model(rows), rows.segments)
            logits = model.core.logits(states, model.table)[0, -1, :V]
        logits[:SEP] = logits[SEP + 1 : FIRST_PIECE] = -torch.inf
        if (best := int(logits.argmax())) == SEP:
            break
        written.append(best)
    assert found == written


def test_a_row_has_the_same_answers_among_others(model):
    texts = [[5, 6], [7], [6, 5, 7, 6]]
    limits = [2, 6, 4]
    together = beam_search(model, rows_of(*texts), START, beam=3, best=2, limits=limits)
    for text, limit, row in zip(texts, limits, together, strict=True):
        [alone] = beam_search(model, rows_of(text), START, beam=3, best=2, limits=[limit])
        assert [one[::2] for one in alone] == [one[::2] for one in row]
        assert [one.log_probability for one in alone] == pytest.approx(
            [one.log_probability for one in row], abs=1e-3
        )
