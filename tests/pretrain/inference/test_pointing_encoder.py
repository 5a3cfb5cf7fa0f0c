"""Words in order: greedy answers against loops, scores by hand, and a model that learns to sort."""

import math
from string import ascii_lowercase

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import CLS, SEP
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batches, Rows
from firth.pretrain.data.objectives.point import ShuffledWords
from firth.pretrain.inference.mlm_encoder import encoder_class
from firth.pretrain.inference.word_order import agreement, score_orders, shuffled
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.optimizer import make_optimizer
from tests.pretrain.letters import LETTERS, packed
from tests.pretrain.small_run import small_encoder

POINTS = {"decoder_layers": 2, "points": True}
ENCODER = small_encoder(**POINTS)
WORDS = ["the", "carpenter", "saw", "the", "king"]


def naive_order(encoder, words, score):
    """Take the free word of the best score, and of equal ones the first."""
    ids, bounds = (each.tolist() for each in encoder.pieces.split(words))
    order, read = [], [CLS]
    for _ in words:
        scores = score(ids, bounds, read)
        free = [n for n in range(len(words)) if n not in order]
        best = max(free, key=scores.__getitem__)
        order.append(min(n for n in free if words[n] == words[best]))
        read += ids[bounds[order[-1]] : bounds[order[-1] + 1]]
    return order


def pointed(ids, bounds, read):
    model, rows = ENCODER.model, Rows.whole(torch.tensor([[CLS, *ids, SEP]]))
    slots = Rows.whole(torch.tensor([read]))
    with torch.no_grad():
        memory = model(rows)
        states = model.core.decoder(model.embed(slots), slots, memory, rows.segments)
        part = model.core.pointer
        sums = torch.tanh(part.of_encoder(memory[0]) + part.of_decoder(states[0, -1]))
        return [float((sums @ part.score_vector)[1 + first]) for first in bounds[:-1]]


def test_the_best_free_word_is_taken_until_none_is_left():
    assert len(ENCODER.pieces.split(WORDS)[0]) > len(WORDS)  # some have several pieces
    assert ENCODER.reorder(WORDS) == naive_order(ENCODER, WORDS, pointed)
    assert sorted(ENCODER.reorder(WORDS)) == [0, 1, 2, 3, 4]


def test_other_encoders_predict_the_first_piece_of_the_next_word():
    encoder = small_encoder(causal=True)

    def predicted(ids, bounds, read):
        with torch.no_grad():
            states = encoder.model(Rows.whole(torch.tensor([read])))[0, -1]
            return encoder.model.logits(states)[[ids[first] for first in bounds[:-1]]].tolist()

    assert encoder.reorder(WORDS) == naive_order(encoder, WORDS, predicted)


def test_what_does_not_fit_a_row_or_is_no_word_of_it_is_refused():
    for words, error in (([], "has no words"), (WORDS * 3, "reads at most 14")):
        with pytest.raises(SettingError, match=error):
            ENCODER.reorder(words)
    with pytest.raises(SettingError, match="points at words of a sentence and predicts no others"):
        ENCODER.predict_next([WORDS], ["king"])


@pytest.mark.parametrize(
    ("order", "expected"),
    [("abcd", (3, 3, 1.0)), ("dcba", (0, 3, -1.0)), ("cdab", (2, 3, -1 / 3)), ("ba", (0, 1, -1.0)),
     ("aab", (1, 2, 1 / 3)), ("baa", (1, 2, 1 / 3))],
)  # fmt: skip
def test_agreement_is_that_of_a_hand(order, expected):
    text = "aba" if order.count("a") == 2 else "".join(sorted(order))
    assert agreement(order, text) == (*expected[:2], pytest.approx(expected[2]), 1)


def sorted_words(rng):
    """Three to six of ten letters, in the order of the alphabet."""
    return [ascii_lowercase[n] for n in sorted(rng.choice(10, rng.integers(3, 7), replace=False))]


def test_a_tiny_model_learns_to_sort():
    rng, steps = np.random.default_rng(1), 60
    rows = packed([sorted_words(rng) for _ in range(1000)])
    config = MlmConfig(objective="point", preset="1/32/2", sequence_length=16)
    maker = ShuffledWords.for_training(config, torch.tensor(LETTERS.continues), 16, pieces=LETTERS)
    batches = Batches(rows, maker, batch_rows=16, seed=1)
    model = MaskedLanguageModel(config.shape(n_pieces=len(LETTERS)))
    optimizer = make_optimizer(model)
    for step in range(steps):
        batch = batches.batch(step, math.nan)
        (model.loss(batch)[0] / batch.n_targets).backward()
        optimizer.step(0.01 * min(1, (step + 1) / 10, (steps - step) / 30))
    encoder = encoder_class(model.config)(model, LETTERS, TextSettings())

    texts = [sorted_words(rng) for _ in range(20)]
    given = [shuffled(words, n) for n, words in enumerate(texts)]
    answers = [[words[n] for n in encoder.reorder(words)] for words in given]

    name, n, neighbors, tau, by_chance, tau_by_chance = score_orders(texts, answers, given)[-1]

    assert (name, n) == ("2+", 20)
    assert min(neighbors.mean, tau.mean) > 0.9
    assert max(by_chance.mean, abs(tau_by_chance.mean)) < 0.4


def test_scores_are_means_by_length_with_errors_over_sentences():
    texts = [["a", "b"], ["a", "b", "c"], ["a"], [*"abcdef"]]
    answers = [["a", "b"], ["b", "c", "a"], ["a"], [*"fedcba"]]
    rows = score_orders(texts, answers, [text[::-1] for text in texts])

    assert [row[:2] for row in rows] == [("2-5", 2), ("6-10", 1), ("2+", 3)]
    short, long, every = rows
    assert (short[2].mean, short[3].mean) == pytest.approx((2 / 3, (1 - 1 / 3) / 2))
    assert short[3].standard_error == pytest.approx(2 / 3)  # of 1 and -1/3
    assert (long[2].mean, long[3].mean, every[4].mean, every[5].mean) == (0, -1, 0, -1)
    assert score_orders([["a"]], [["a"]], [["a"]]) == []
