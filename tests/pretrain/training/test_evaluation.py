"""Held-out scores: by hand for the unigram baseline, from the logits for a model."""

import dataclasses
import math

import numpy as np
import pytest
import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.pieces import FIRST_PIECE
from firth.pretrain.data.batches import Batch
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.evaluation import MlmScore, evaluate, unigram_score
from firth.pretrain.training.prepare import held_out_batches
from tests.pretrain.letters import LETTERS, packed


def batch_of(targets, weights, chosen=None, n_slots=8):
    """Rows of piece 5, with these targets."""
    targets, weights = torch.tensor(targets), torch.tensor(weights, dtype=torch.float32)
    ids = torch.full((len(targets), n_slots), 5)
    chosen = torch.arange(1, 1 + targets.shape[1]).expand_as(targets) if chosen is None else chosen
    positions = torch.arange(n_slots).expand_as(ids)
    return Batch(ids, torch.zeros_like(ids), positions, chosen, targets, weights)


def naive_error(losses, clusters):
    """The definition of the error of a mean that is clustered by unit."""
    n, mean = len(set(clusters)), sum(losses) / len(losses)
    scatter = sum(
        sum(loss - mean for loss, other in zip(losses, clusters, strict=True) if other == cluster)
        ** 2
        for cluster in set(clusters)
    )
    return math.sqrt(n / (n - 1) * scatter) / len(losses)


def small_model(**options):
    """One block."""
    config = EncoderConfig(
        n_pieces=9, layers=1, heads=1, dim=4, feed_forward_dim=4, max_length=8, **options
    )
    return MaskedLanguageModel(config)


def test_frequencies_alone_worked_by_hand():
    # pieces 5, 6, 7, 8 occur 5, 2, 0, 1 times; 1 more each makes 6, 3, 1, 2 of 12
    counts = torch.tensor([0, 0, 0, 0, 0, 5, 2, 0, 1])
    batches = [batch_of([[5, 6], [7, 2]], [[1, 1], [1, 0]]), batch_of([[5, 0]], [[1, 0]])]
    score = unigram_score(counts, batches)
    assert score.loss == pytest.approx(
        -(2 * math.log(6 / 12) + math.log(3 / 12) + math.log(1 / 12)) / 4
    )
    assert score.accuracy == 0.5
    assert score.n_targets == 4


def test_a_models_score_is_that_of_its_logits():
    model = small_model()
    batches = [batch_of([[5, 6], [7, 0]], [[1, 1], [1, 0]]), batch_of([[8, 5]], [[1, 1]])]
    score = evaluate(model, batches, torch.float32)
    losses, right = [], []
    model.eval()
    with torch.no_grad():
        for batch in batches:
            states = model(batch)
            logits = model.logits(states).log_softmax(-1)
            for row, slot in batch.weights.nonzero().tolist():
                found = logits[row, batch.chosen[row, slot]]
                losses.append(-float(found[batch.targets[row, slot]]))
                right.append(int(found.argmax()) == int(batch.targets[row, slot]))
    assert len(losses) == score.n_targets == 5
    assert score.loss == pytest.approx(sum(losses) / 5, rel=1e-6)
    assert score.accuracy == sum(right) / 5
    assert score.perplexity == pytest.approx(math.exp(score.loss))
    assert score.n_units == 1  # batches without clusters are one
    assert math.isnan(score.standard_error)

    of_batch = [[[4, 0], [0, 9]], [[2, 4]]]  # the unused target would be of another unit
    clustered = [
        dataclasses.replace(batch, clusters=torch.tensor(clusters))
        for batch, clusters in zip(batches, of_batch, strict=True)
    ]
    again = evaluate(model, clustered, torch.float32)
    assert (again.loss, again.accuracy, again.n_units) == (score.loss, score.accuracy, 3)
    # losses of about 2 with float32 rounding, 1e-7 each; the error is a tenth of that or more
    assert again.standard_error == pytest.approx(naive_error(losses, [4, 0, 0, 2, 4]), rel=1e-4)
    assert again.units is not None
    summed = [losses[1] + losses[2], 0.0, losses[3], 0.0, losses[0] + losses[4]]
    np.testing.assert_allclose(again.units[:, :5], [summed, [2, 0, 1, 0, 2]], rtol=1e-5)
    assert not again.units[:, 5:].any()


def test_evaluating_is_without_dropout_and_leaves_the_model_as_it_was():
    model = small_model(dropout=0.5)
    batches = [batch_of([[5, 6]], [[1, 1]])]
    scores = {evaluate(model, batches, torch.float32).loss for _ in range(3)}
    assert len(scores) == 1
    assert model.training
    assert all(weight.grad is None for weight in model.parameters())


def test_a_huge_loss_has_a_finite_perplexity():
    assert math.isfinite(MlmScore(1e6, 0.0, 1).perplexity)


def test_held_out_text_with_nothing_to_predict_is_refused():
    rows = packed([["~"]])  # a word that has no pieces of its own
    assert int((rows.ids >= FIRST_PIECE).sum()) == 0
    with pytest.raises(SettingError) as refused:
        held_out_batches(rows, LETTERS, 4)
    assert str(refused.value) == (
        "the held-out text has no pieces to predict; build the corpus with a greater `held_out`"
    )
