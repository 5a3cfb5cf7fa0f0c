"""Runs trained on masked and causal rows: read from both sides, and from left to right."""

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import ArtifactError
from firth.corpora.tokenizer.pieces import CLS, FIRST_PIECE, MASK, SEP
from firth.embed.compare.scoring.open_runs import distinct_runs, open_runs
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.causal_encoder import CausalEncoder
from firth.pretrain.inference.mlm_encoder import MlmEncoder, open_causal, open_masked
from firth.pretrain.inference.sampling import GenerateConfig
from tests.pretrain.small_run import small_encoder, small_run

ENCODER = small_encoder(both_ways=True)
SENTENCES = [["the", "king", "saw", "the", "sawmill"], ["nobody"], []]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm by the mixed objective."""
    return small_run(tmp_path_factory.mktemp("mixed"), both_ways=True)


def predicted(ids, column):
    """Log-probabilities of the piece in a column, from the slot before it."""
    with torch.no_grad():
        states = ENCODER.model(Rows.whole(torch.tensor([ids])))
        return ENCODER.model.logits(states)[0, column - 1].log_softmax(-1)


def test_masked_pieces_are_predicted_from_the_slot_before_them():
    expected = []
    for sentence in SENTENCES:
        pieces = ENCODER.pieces.split(sentence)[0].tolist()
        total = 0.0
        for at, piece in enumerate(pieces, start=1):
            row = [CLS, *pieces, SEP]
            row[at] = MASK
            total += float(predicted(row, at)[piece])
        expected.append(total)
    scores = ENCODER.score(SENTENCES, left_to_right_in_words=False)
    np.testing.assert_allclose(scores, expected, rtol=1e-4)

    king = ENCODER.pieces.split(["king"])[0].tolist()
    chances = predicted([CLS, MASK, *king, SEP], 1)
    chances[:FIRST_PIECE] = -torch.inf
    [found] = ENCODER.fill_mask("[MASK] king", k=1)
    assert found[0].piece == ENCODER.pieces.names[int(chances.argmax())]


def test_the_state_of_a_masked_word_is_that_of_the_slot_that_predicts_it():
    pieces, bounds = ENCODER.pieces.split(["the", "mill"])
    ids = [CLS, *pieces.tolist(), SEP]
    ids[1 : bounds[1] + 1] = [MASK] * int(bounds[1])
    with torch.no_grad():
        states = ENCODER.model(Rows.whole(torch.tensor([ids])))[0]
    found = ENCODER.encode_masked([["the", "mill"]], np.array([0]), [2])
    np.testing.assert_allclose(found[0], states[: bounds[1]].mean(0), atol=1e-5)


def test_a_run_opens_from_both_sides_and_as_a_causal_one_with_the_same_weights(run, tmp_path):
    masked, causal = open_masked(run, "cpu"), open_causal(run, "cpu")
    twin = small_encoder(causal=True)
    assert (type(masked), type(causal)) == (MlmEncoder, CausalEncoder)
    assert np.array_equal(causal.score(SENTENCES), twin.score(SENTENCES))
    config = GenerateConfig(length=4)
    assert str(causal.generate("the", config)) == str(twin.generate("the", config))
    assert not np.allclose(masked.score(SENTENCES[:1]), causal.score(SENTENCES[:1]))
    with pytest.raises(ArtifactError, match="does not predict the next piece"):
        open_causal(small_run(tmp_path), "cpu")


def test_a_comparison_holds_a_run_both_ways_by_its_suffix(run):
    opened = distinct_runs(open_runs([str(run), f"{run}:causal"], starts=True))
    both = [opened.vectors[name].encoder for name in (str(run), f"{run}:causal")]
    assert [type(encoder) for encoder in both] == [MlmEncoder, CausalEncoder]
    assert len(set(opened.fingerprints.values())) == len(opened.fingerprints)
    assert list(opened.paths) == [str(run)]
