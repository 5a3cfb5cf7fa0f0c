"""CausalEncoder: scores, unseen words and generated text, against naive loops."""

import math

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, SEP, UNK
from firth.embed.protocols import (
    AttentionReader,
    ContextualEncoder,
    JoinableEncoder,
    MaskFiller,
    SentenceScorer,
)
from firth.pretrain.data.batches import Rows
from firth.pretrain.data.stateless_random import as_uniform, keyed_bits
from firth.pretrain.inference import causal_encoder
from firth.pretrain.inference.generation import spell
from firth.pretrain.inference.sampling import GenerateConfig, draw_piece
from firth.pretrain.inference.trained_encoder import Prediction
from firth.pretrain.inference.windows import PiecedText
from tests.pretrain.small_run import TEXT, small_encoder

SHAPES = [
    {},
    {"norm": "post", "positions": "learned", "feed_forward": "gelu"},
    {"attention_span": 3, "global_every": 2},
    {"mixers": ("mean", "attention")},
    {"mixers": ("linear", "linear")},
]
ENCODER = small_encoder(causal=True)
T = ENCODER.model.config.max_length
SENTENCES = [ENCODER.words(sentence) for sentence in TEXT.replace("\n", " ").split(". ")]
SHORT = [words for words in SENTENCES if len(ENCODER.pieces.split(words)[0]) <= T - 2]
EVERY = pytest.mark.parametrize("shape", SHAPES, ids=str)


def encoder_of(shape):
    """A causal encoder of a shape."""
    return small_encoder(causal=True, **shape)


def states_of(encoder, row):
    """Return all layers' states of one row, as the loops below need them."""
    ids = torch.tensor([row])
    with torch.no_grad():
        found = encoder.model.states(Rows.whole(ids))
    return [layer[0] for layer in found]


def chances_after(encoder, row):
    """Return the log probability of each piece after a row, float64 (V,)."""
    with torch.no_grad():
        return encoder.model.logits(states_of(encoder, row)[-1][-1]).log_softmax(-1).double()


def test_the_encoder_implements_the_protocols_but_fills_no_masks():
    protocols = ContextualEncoder, SentenceScorer, JoinableEncoder, AttentionReader
    assert all(isinstance(ENCODER, protocol) for protocol in protocols)
    assert not isinstance(ENCODER, MaskFiller)


@pytest.mark.slow
@EVERY
def test_a_score_is_the_sum_of_log_probabilities_piece_by_piece(shape):
    encoder = encoder_of(shape)
    expected = []
    for words in [*SHORT, []]:
        ids = encoder.pieces.split(words)[0].tolist()
        rows = [[CLS, *ids[:n]] for n in range(len(ids))]
        after = zip(rows, ids, strict=True)
        expected.append(sum(float(chances_after(encoder, row)[piece]) for row, piece in after))

    found = encoder.score([*SHORT, []])

    np.testing.assert_allclose(found, expected, rtol=1e-5, atol=1e-12)
    assert found.tolist() == pytest.approx(encoder.score([*SHORT, []], left_to_right_in_words=0))


def test_the_pieces_of_a_long_sentence_are_scored_once_each_in_their_windows():
    long = [word for words in SENTENCES for word in words]
    windows = PiecedText.split(ENCODER.pieces, [long]).windows(T - 2)
    expected = 0.0
    for n in range(len(windows.starts)):
        start = windows.starts[n]
        for kept in range(windows.kept_starts[n], windows.kept_stops[n]):
            row = [CLS, *windows.ids[start:kept].tolist()]
            expected += float(chances_after(ENCODER, row)[windows.ids[kept]])

    assert len(windows.starts) > 3
    np.testing.assert_allclose(ENCODER.score([long]), [expected], rtol=1e-5)


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize("layers", [(2,), (0, 1)])
def test_an_unseen_word_is_the_state_that_predicts_it(shape, layers):
    encoder = encoder_of(shape)
    tokens = np.arange(sum(map(len, SHORT)))
    expected = []
    for words in SHORT:
        ids, bounds = encoder.pieces.split(words)
        for n in range(len(words)):
            states = states_of(encoder, [CLS, *ids[: bounds[n]].tolist()])
            expected.append(np.mean([states[layer][-1].numpy() for layer in layers], axis=0))

    found = encoder.encode_masked(SHORT, tokens, layers)

    np.testing.assert_allclose(found, expected, atol=1e-5)
    some = encoder.encode_masked(SHORT, tokens[3::5], layers)
    np.testing.assert_allclose(some, found[3::5], atol=1e-5)


def test_words_after_a_word_do_not_change_its_state():
    words = SHORT[0]
    [whole] = ENCODER.encode([words], [2])
    [begun] = ENCODER.encode([words[:4]], [2])
    np.testing.assert_allclose(begun, whole[:4], atol=1e-5)
    assert np.abs(whole[0] - ENCODER.encode([["the", *words[1:]]], [2])[0][3]).max() > 0.1


# ---- generated text


def naive_text(encoder, row, config):
    """Draw piece by piece from plain softmaxes with a nucleus made by a loop."""
    row, most = list(row), min(config.length, T - 1 - len(row))
    for step in range(most):
        chances = chances_after(encoder, row).exp()
        allowed = [piece for piece in range(len(chances)) if piece == SEP or piece >= FIRST_PIECE]
        if step == 0:
            allowed = [piece for piece in allowed if not encoder.pieces.continues[piece]]
        ordered = sorted(allowed, key=lambda piece: -chances[piece])
        scores = [float(chances[piece]) ** (1 / config.temperature) for piece in ordered]
        total, nucleus, reached = math.fsum(scores), [], 0.0
        for piece, score in zip(ordered, scores, strict=True):
            if reached < config.top_p:
                reached += score / total
                nucleus.append((piece, reached))
        bits = keyed_bits(config.seed, step, "generate", (1,), "cpu")
        drawn = as_uniform(bits).item() * reached
        piece = next(piece for piece, reached in nucleus if drawn < reached)
        if piece == SEP:
            return row, "end of text"
        row.append(piece)
    return row, "length" if most == config.length else "row"


@pytest.mark.slow
@EVERY
@pytest.mark.parametrize(
    "settings", [{}, {"temperature": 0.5, "top_p": 0.8}, {"top_p": 0.3, "length": 3, "seed": 9}]
)
def test_generated_text_is_drawn_piece_by_piece(shape, settings):
    encoder, config = encoder_of(shape), GenerateConfig(**settings)
    for prompt in ("The king saw", ""):
        ids = encoder.pieces.split(encoder.words(prompt))[0].tolist()
        row, end = naive_text(encoder, [CLS, *ids], config)

        found = encoder.generate(prompt, config)

        names = [encoder.pieces.names[piece] for piece in row[1 + len(ids) :]]
        assert [piece for piece, _ in found.pieces] == names
        assert found.end == end
        assert found == encoder.generate(prompt, config)


def test_probabilities_are_the_models_whatever_the_temperature():
    found = ENCODER.generate("The king", GenerateConfig(temperature=0))
    row = [CLS, *ENCODER.pieces.split(["the", "king"])[0].tolist()]
    for name, probability in found.pieces:
        chances = chances_after(ENCODER, row).exp()
        chances[[piece for piece in range(FIRST_PIECE) if piece != SEP]] = 0
        if len(row) == 3:  # the last word of the prompt is whole
            chances[torch.tensor(ENCODER.pieces.continues)] = 0
        best = int(chances.argmax())
        assert name == ENCODER.pieces.names[best]
        assert probability == pytest.approx(float(chances[best] / chances.sum()))
        row.append(best)


def test_another_seed_gives_another_text():
    texts = {ENCODER.generate("the", GenerateConfig(seed=seed)).text for seed in range(8)}
    assert len(texts) > 4


def test_text_ends_at_the_longest_row():
    found = ENCODER.generate("", GenerateConfig(length=1000, temperature=0))
    assert (found.end, len(found.pieces)) == ("row", T - 2)
    long = " ".join(["the"] * (T - 3))
    assert len(ENCODER.generate(long, GenerateConfig(temperature=0)).pieces) == 1
    with pytest.raises(SettingError) as refused:
        ENCODER.generate(long + " king")
    assert str(refused.value) == (
        f"the prompt has {T - 2} pieces, and with its continuation a row holds {T - 2}; pass a "
        "shorter one"
    )


def test_unknown_words_stay_in_the_text_and_are_said(monkeypatch):
    notes = []
    monkeypatch.setattr(causal_encoder, "note", notes.append)
    found = ENCODER.generate("the ωmega saw", GenerateConfig(length=2, temperature=0))
    assert found.text.startswith("the ωmega saw")
    assert str(found) == found.text
    assert notes == ["read as unknown, since no piece has their characters: ωmega"]
    assert UNK in ENCODER.pieces.split(["ωmega"])[0]


@pytest.mark.parametrize(
    "use",
    [lambda: ENCODER.generate("the [MASK] saw"), lambda: ENCODER.attention(["the", "[MASK]"])],
    ids=["generate", "attention"],
)
def test_masks_are_refused(use):
    with pytest.raises(SettingError, match=r"^small: predicts the next piece and reads no \[MASK"):
        use()


@pytest.mark.parametrize(
    ("settings", "problem"),
    [
        ({"length": 0}, "length must be at least 1, got 0"),
        ({"temperature": -0.1}, "temperature must be at least 0, got -0.1"),
        ({"temperature": math.nan}, "temperature must be at least 0, got nan"),
        ({"top_p": 0.0}, "top_p must be above 0, got 0.0"),
        ({"top_p": 1.1}, "top_p must be at most 1, got 1.1"),
        ({"temperature": 0, "seed": 2}, "`seed=2`: nothing is drawn with `temperature=0`"),
    ],
)
def test_settings_out_of_range_are_refused(settings, problem):
    with pytest.raises(SettingError, match=problem):
        GenerateConfig(**settings)


def test_draws_follow_the_probabilities_of_the_nucleus():
    chances = np.array([0.1, 0.4, 0.0, 0.3, 0.2])
    draws = (np.arange(1000) + 0.5) / 1000
    config = GenerateConfig(top_p=0.6)
    found = [draw_piece(chances, float(draw), config) for draw in draws]
    assert np.bincount(found, minlength=5).tolist() == [0, 571, 0, 429, 0]  # 4/7 and 3/7
    assert {draw_piece(chances, draw, GenerateConfig(top_p=0.01)) for draw in (0.0, 0.999)} == {1}
    for temperature in (0.01, 1e-310):
        cold = GenerateConfig(temperature=temperature)
        assert {draw_piece(chances, draw, cold) for draw in (0.0, 0.5, 0.999)} == {1}


@pytest.mark.parametrize(
    ("pieces", "words"),
    [(["sea", "##s", ",", "an", "##d"], ["seas", ",", "and"]), ([], [])],
    ids=["two words", "none"],
)
def test_pieces_spell_words(pieces, words):
    assert spell([Prediction(piece, 0.5) for piece in pieces]) == words
