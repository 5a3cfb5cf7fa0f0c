"""MlmEncoder: alignment, batches, windows, scores and masks, against naive loops."""

from itertools import pairwise

import numpy as np
import pytest
import torch

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, SEP, SPECIAL, UNK
from firth.embed.protocols import ContextualEncoder, InputEmbeddings, MaskedEncoder, SentenceScorer
from firth.embed.vectors.piece_table import PieceTable
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.masked_encoder import MaskedPieceEncoder
from firth.pretrain.inference.mlm_encoder import MlmEncoder
from firth.pretrain.inference.windows import Frame, PiecedText
from tests.pretrain.small_run import TEXT, small_encoder

SHAPES = [
    {},
    {"norm": "post", "positions": "learned", "feed_forward": "gelu"},
    {"attention_span": 3, "global_every": 2},
    {"mixers": ("lstm", "conv"), "positions": "none", "conv_width": 3},
    {"mixers": ("linear", "linear")},
]
ENCODER = small_encoder()
T = ENCODER.model.config.max_length
SENTENCES = [ENCODER.words(sentence) for sentence in TEXT.replace("\n", " ").split(". ")]


@pytest.fixture(autouse=True)
def _one_thread():
    """Use one thread: products are small, and other tests share the machine."""
    before = torch.get_num_threads()
    torch.set_num_threads(1)
    yield
    torch.set_num_threads(before)


def pieces_of(words, encoder=ENCODER):
    """The ids of a sentence's pieces."""
    return encoder.pieces.split(words)[0].tolist()


def states_of(ids, encoder=ENCODER):
    """All layers' states of a single row, each (n, D) without [CLS] and [SEP]."""
    row = torch.tensor([[CLS, *ids, SEP]])
    with torch.no_grad():
        layers = encoder.model.states(Rows.whole(row))
    return [states[0, 1:-1].numpy() for states in layers]


def naive_words(words, layers, encoder=ENCODER):
    """Return word states of a sentence that fits a row: the mean over layers, then over pieces."""
    mean = np.mean([states_of(pieces_of(words, encoder), encoder)[i] for i in layers], axis=0)
    _, bounds = encoder.pieces.split(words)
    return np.array([mean[a:b].mean(axis=0) for a, b in pairwise(bounds)])


def test_the_encoder_implements_the_protocols_of_embed():
    assert isinstance(ENCODER, ContextualEncoder)
    assert isinstance(ENCODER, SentenceScorer)
    assert isinstance(ENCODER, InputEmbeddings)
    assert isinstance(ENCODER, MaskedEncoder)
    assert ENCODER.words("I saw, Zoë!") == ["i", "saw", ",", "zoë", "!"]


@pytest.mark.parametrize("layers", [(0,), (1,), (2,), (0, 2)])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_word_is_the_mean_over_layers_and_over_its_pieces(shape, layers):
    encoder = small_encoder(**shape)
    words = ["the", "carpenter", "saw", "sawmill"]
    assert len(pieces_of(words)) > len(words)  # else there is nothing to average

    [found] = encoder.encode([words], layers)

    assert found.dtype == np.float32
    np.testing.assert_allclose(found, naive_words(words, layers, encoder), atol=1e-5)


@pytest.mark.parametrize("shape", SHAPES)
def test_states_do_not_depend_on_other_sentences(shape):
    encoder = small_encoder(**shape)
    sentences = [*SENTENCES, [], ["saw"], [], SENTENCES[0]]
    alone = [encoder.encode([words], (1, 2))[0] for words in sentences]
    for slots in (1, 40, 100_000):
        encoder.slots = slots
        together = encoder.encode(sentences, (1, 2))
        for words, one, other in zip(sentences, alone, together, strict=True):
            assert one.shape == other.shape == (len(words), encoder.dim)
            np.testing.assert_allclose(one, other, atol=1e-5)


@pytest.mark.slow
@pytest.mark.parametrize("slots", [1, 60, 100_000])
@pytest.mark.parametrize("shape", SHAPES)
def test_a_masked_word_is_the_mean_state_of_its_masks(shape, slots):
    encoder, layers = small_encoder(**shape), (1, 2)
    encoder.slots = slots
    sentences = [["the", "carpenter", "saw"], [], ["sawmill"], ["a", "sawmill", "carpenter"]]
    flat = [(n, place) for n, words in enumerate(sentences) for place in range(len(words))]
    tokens = np.array([1, 3, 5, 6])  # so few that none is masked beside another

    found = encoder.encode_masked(sentences, tokens, layers)

    assert found.dtype == np.float32
    for state, token in zip(found, tokens, strict=True):
        sentence, place = flat[token]
        ids, (_, bounds) = (
            pieces_of(sentences[sentence], encoder),
            encoder.pieces.split(sentences[sentence]),
        )
        first, stop = bounds[place], bounds[place + 1]
        ids[first:stop] = [MASK] * (stop - first)
        mean = np.mean([states_of(ids, encoder)[layer] for layer in layers], axis=0)
        np.testing.assert_allclose(state, mean[first:stop].mean(axis=0), atol=1e-5)
    assert encoder.encode_masked(sentences, tokens[:0], layers).shape == (0, encoder.dim)


def test_a_masked_word_of_a_long_sentence_is_read_in_the_window_that_keeps_it():
    words = [("a", "saw", "the", ".")[n * n % 7 % 4] for n in range(2 * T)]
    tokens = np.array([0, T - 2, 2 * T - 1])
    found = ENCODER.encode_masked([words], tokens, (2,))
    windows = PiecedText.split(ENCODER.pieces, [words]).windows(T - 2)
    for state, token in zip(found, tokens, strict=True):
        (window,) = np.flatnonzero((windows.kept_starts <= token) & (token < windows.kept_stops))
        ids = windows.ids[windows.starts[window] : windows.stops[window]].tolist()
        place = token - windows.starts[window]
        ids[place] = MASK
        np.testing.assert_allclose(state, states_of(ids)[2][place], atol=1e-5)


class PlaceEncoder(MaskedPieceEncoder):
    """Words that are numbers, with pieces and states that are their places in the text."""

    _device = torch.device("cpu")

    def __init__(self, offsets):
        super().__init__(
            torch.nn.Identity(), self, Frame([-1], [-1], -1, -2), dim=2, max_pieces=32, name=""
        )
        self.offsets, self.masked = offsets, []

    def split(self, words):
        """Return all pieces; each word occurs once, in order."""
        assert words == [str(n) for n in range(len(words))]
        return np.arange(self.offsets[-1]), self.offsets

    def _read(self, windows, slots):
        for numbers, batch, rows in super()._read(windows, slots):
            self.batch = batch
            yield numbers, batch, rows

    def _states(self, rows, layers):
        masked = rows.ids == -2
        starts, stops = map(torch.from_numpy, (self.batch.starts, self.batch.stops))
        pieces = starts[:, None] + torch.arange(masked.shape[1]) - 1
        assert (pieces < stops[:, None])[masked].all()
        assert (masked.sum(1) <= 0.15 * (stops - starts) + 3).all()
        self.masked += pieces[masked].tolist()
        return torch.stack([pieces, pieces**2], -1).float()


@pytest.mark.parametrize("slots", [1, 100, 100_000])
def test_of_many_words_a_sixth_is_masked_at_once_and_each_word_once(slots):
    rng = np.random.default_rng(1)
    words = iter(map(str, range(138)))
    sentences = [[next(words) for _ in range(length)] for length in (40, 1, 0, 90, 7)]
    lengths = rng.integers(1, 4, size=138)  # of the words in pieces
    encoder = PlaceEncoder(offsets_of(lengths))
    encoder.slots = slots
    tokens = np.sort(rng.choice(138, size=100, replace=False))

    found = encoder.encode_masked(sentences, tokens, (0,))

    read = encoder.masked
    assert len(read) == len(set(read))
    for (mean, square), token in zip(found, tokens, strict=True):
        pieces = np.arange(encoder.offsets[token], encoder.offsets[token + 1])
        pieces = pieces[np.isin(pieces, read)]  # fewer if it does not fit its window
        assert len(pieces)
        np.testing.assert_allclose((mean, square), (pieces.mean(), (pieces**2).mean()), rtol=1e-5)
    cut = lengths[tokens].sum() - len(read)
    assert 0 <= cut < 5


def test_the_vectors_without_context_are_those_of_the_start_unless_it_was_random():
    words, model, pieces = ["the", "sawmill"], ENCODER.model, ENCODER.pieces
    start = np.random.default_rng(1).normal(size=(len(pieces), ENCODER.dim)).astype(np.float32)
    counted = np.array([[1.0] * ENCODER.dim], np.float32)
    words_of_start = WordVectors(["the"], counted, pieces=PieceTable(pieces, start))
    begun = MlmEncoder(model, pieces, ENCODER.text, start=words_of_start)
    ids, bounds = pieces.split(words)
    assert ENCODER.n_pieces(words).tolist() == np.diff(bounds).tolist()
    means = [start[ids[a:b]].mean(axis=0) for a, b in pairwise(bounds)]
    expected = [counted[0], means[1]]  # "sawmill" has none of its own
    np.testing.assert_allclose(begun.static_embeddings(words), expected, atol=1e-6)
    assert not begun.static_embeddings(["図書館"]).any()  # a piece is unknown
    found = ENCODER.static_embeddings(words)
    np.testing.assert_array_equal(found, ENCODER.input_embeddings(words))


def test_no_sentences_and_empty_ones_are_encoded():
    assert ENCODER.encode([], (1,)) == []
    assert [found.shape for found in ENCODER.encode([[], []], (1,))] == [(0, 16), (0, 16)]


def test_an_unknown_word_has_the_state_of_the_unknown_piece():
    [found] = ENCODER.encode([["the", "図書館", "saw"]], (1,))
    ids = [*pieces_of(["the"]), UNK, *pieces_of(["saw"])]
    assert pieces_of(["the", "図書館", "saw"]) == ids
    np.testing.assert_allclose(found[1], states_of(ids)[1][len(ids) - 2], atol=1e-5)


@pytest.mark.parametrize("n_words", [T - 2, T - 1, 2 * T, 75])
def test_long_sentences_are_read_in_windows_and_pieces_taken_nearest_the_middle(n_words):
    words = [("a", "saw", "the", ".")[n * n % 7 % 4] for n in range(n_words)]
    ids = pieces_of(words)
    assert len(ids) == n_words
    [found] = ENCODER.encode([words], (2,))

    length = T - 2
    starts = [min(s, n_words - length) for s in range(0, n_words - length + 7, length // 2)]
    for place in range(n_words):
        inside = [s for s in starts if s <= place < s + length]
        margins = {s: min(place - s + 0.5, s + length - place - 0.5) for s in inside}
        best = [s for s in inside if margins[s] >= max(margins.values()) - 1e-9]
        candidates = [states_of(ids[s : s + length])[2][place - s] for s in best]
        assert min(np.abs(found[place] - state).max() for state in candidates) < 1e-5


def test_every_piece_belongs_to_one_window_that_sees_it():
    rng = np.random.default_rng(3)
    lengths = [0, 1, *rng.integers(0, 60, size=40).tolist()]
    text = PiecedText.split(ENCODER.pieces, [["a"] * n for n in lengths])
    for length in (2, 6, 7, 14):
        windows = text.windows(length)
        assert sorted(windows.kept_pieces()) == list(range(sum(lengths)))
        assert (windows.starts <= windows.kept_starts).all()
        assert (windows.kept_stops <= windows.stops).all()
        assert (windows.stops - windows.starts <= length).all()
        assert (windows.kept_stops > windows.kept_starts).all()


def test_a_word_of_more_pieces_than_a_row_is_still_one_vector():
    word = "saw" * 20
    [found] = ENCODER.encode([["the", word, "."]], (1,))
    assert len(pieces_of([word])) > T
    assert found.shape == (3, 16)
    assert np.isfinite(found).all()


def test_input_embeddings_are_means_of_the_table():
    table = ENCODER.model.pieces.weight.detach().numpy()
    words = ["saw", "sawmill", "図書館"]
    expected = [table[pieces_of([word])].mean(axis=0) for word in words]
    np.testing.assert_allclose(ENCODER.input_embeddings(words), expected, atol=1e-6)
    assert ENCODER.input_embeddings([]).shape == (0, 16)


def naive_score(words, encoder, *, left_to_right_in_words):
    """Score with one piece masked at a time, one row at a time."""
    ids, total = pieces_of(words, encoder), 0.0
    _, bounds = encoder.pieces.split(words)
    for word in range(len(words)):
        for place in range(bounds[word], bounds[word + 1]):
            hidden = list(ids)
            last = bounds[word + 1] if left_to_right_in_words else place + 1
            hidden[place:last] = [MASK] * (last - place)
            row = torch.tensor([[CLS, *hidden, SEP]])
            with torch.no_grad():
                states = encoder.model(Rows.whole(row))
                found = encoder.model.logits(states)[0, place + 1].log_softmax(-1)
            total += float(found[ids[place]])
    return total


@pytest.mark.slow
@pytest.mark.parametrize("within", [False, True])
@pytest.mark.parametrize("slots", [1, 64, 4096])
def test_scores_are_those_of_a_loop_that_masks_one_piece_at_a_time(within, slots):
    encoder = small_encoder()
    encoder.slots = slots
    sentences = [["the", "carpenter", "saw", "it"], [], ["sawmill"], ["図書館", "saw", "."]]
    found = encoder.score(sentences, left_to_right_in_words=within)
    expected = [naive_score(s, ENCODER, left_to_right_in_words=within) for s in sentences]
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, expected, rtol=1e-5)


class KnowsOneWord(torch.nn.Module):
    """Gives each of a word's two pieces probability 0.9 if it sees the other, else equal ones."""

    def __init__(self, first, second):
        super().__init__()
        self.config, self.pieces = ENCODER.model.config, ENCODER.model.pieces
        self.first, self.second = first, second

    def forward(self, rows, chosen):
        """Return logits, (B, 1, V)."""
        n_pieces = self.config.n_pieces
        found, ids = torch.zeros(len(rows.ids), 1, n_pieces), rows.ids
        sure = np.log(0.9 / (0.1 / (n_pieces - 1)))
        found[(ids == self.second).any(1), 0, self.first] = sure
        found[(ids == self.first).any(1), 0, self.second] = sure
        return found

    def logits(self, states):
        """Return the states unchanged."""
        return states


def test_predictable_pieces_score_lower_when_their_word_is_masked_together():
    pieces, n = ENCODER.pieces, len(ENCODER.pieces)
    assert [pieces.names[i] for i in pieces_of(["wood"])] == ["wo", "##od"]
    encoder = MlmEncoder(KnowsOneWord(*pieces_of(["wood"])), pieces, ENCODER.text)
    words = [["wood"], ["saw", "the"]]

    free = encoder.score(words, left_to_right_in_words=False)
    honest = encoder.score(words)

    assert free[0] == pytest.approx(2 * np.log(0.9), rel=1e-5)
    assert honest[0] == pytest.approx(np.log(1 / n) + np.log(0.9), rel=1e-5)
    assert free[1] == honest[1] == pytest.approx(2 * np.log(1 / n), rel=1e-5)  # of single pieces


def test_a_long_sentence_is_scored_in_windows():
    words = ["the", "saw", "and"] * 10
    [found] = ENCODER.score([words])
    [short] = ENCODER.score([words[:12]])
    assert np.isfinite(found)
    assert found < short  # each piece adds a logarithm below 0


@pytest.mark.parametrize("shape", SHAPES)
def test_masks_are_filled_with_the_models_probabilities(shape):
    encoder = small_encoder(**shape)
    text = "The [MASK] saw the [MASK]."
    ids = [*pieces_of(["the"]), MASK, *pieces_of(["saw", "the"]), MASK, *pieces_of(["."])]
    row = torch.tensor([[CLS, *ids, SEP]])
    with torch.no_grad():
        states = encoder.model(Rows.whole(row))
        probabilities = encoder.model.logits(states)[0].softmax(-1).numpy()

    masks = encoder.fill_mask(text, k=4)

    for answers, place in zip(masks, np.flatnonzero(row[0].numpy() == MASK), strict=True):
        best = np.argsort(-probabilities[place])[:4]
        assert [answer.piece for answer in answers] == [encoder.pieces.names[p] for p in best]
        found = [answer.probability for answer in answers]
        np.testing.assert_allclose(found, probabilities[place][best], rtol=1e-5)


def test_all_pieces_together_have_probability_one():
    [answers] = ENCODER.fill_mask("[MASK]", k=10_000)
    assert sorted(answer.piece for answer in answers) == sorted(ENCODER.pieces.names[FIRST_PIECE:])
    assert sum(answer.probability for answer in answers) == pytest.approx(1, abs=1e-5)


def test_special_pieces_are_never_predicted_however_probable():
    encoder = small_encoder()
    with torch.no_grad():
        encoder.model.core.bias[:FIRST_PIECE] = 50.0
    [answers] = encoder.fill_mask("the [MASK] saw", k=10_000)
    assert not {answer.piece for answer in answers} & set(SPECIAL)
    [expected] = ENCODER.fill_mask("the [MASK] saw", k=10_000)  # the same among the others
    assert [answer.piece for answer in answers] == [answer.piece for answer in expected]
    np.testing.assert_allclose([a.probability for a in answers],
                               [a.probability for a in expected], rtol=1e-4)  # fmt: skip


def test_words_without_pieces_are_not_covered():
    words = ["the", "図書館", "sawmill", "saw図", "[MASK]", ""]
    assert ENCODER.covers(words).tolist() == [True, False, True, False, False, False]
    assert ENCODER.covers([]).shape == (0,)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("the saw", "'the saw' has no [MASK]; put one where a piece should be predicted"),
        ("a " * 14 + "[MASK]", "the sentence has 15 pieces, but the encoder reads at most 14"),
        ("caf\udce9 [MASK]", r"'caf\udce9' is not UTF-8; pass UTF-8"),
    ],
    ids=["no mask", "long", "surrogate"],
)
def test_texts_that_cannot_be_filled_are_refused(text, message):
    with pytest.raises(SettingError) as error:
        ENCODER.fill_mask(text)
    assert str(error.value).startswith(message)


def test_a_text_as_long_as_the_row_is_filled():
    assert len(ENCODER.fill_mask("a " * 13 + "[MASK]", k=1)) == 1


def test_states_that_are_not_finite_are_refused():
    encoder = small_encoder()
    with torch.no_grad():
        encoder.model.pieces.weight[pieces_of(["saw"])[0]] = torch.nan

    with pytest.raises(ArtifactError) as problem:
        encoder.encode([["the"], ["the", "saw"]], (1,))

    assert str(problem.value) == "small: the states contain NaN or infinity; choose another model"
