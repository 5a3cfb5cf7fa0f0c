"""Attention pooling: a sentence is the mean of its words with trained weights.

A word with the vector h_t has the weight a_t = exp(w · h_t) / Σ_u exp(w · h_u), and the sentence is
Σ_t a_t h_t (Safari, India and Hernando 2020, "Self-attention encoding and pooling for speaker
recognition", arXiv:2008.01077). With two levels each sentence s of a text is such a mean, and the
text is Σ_s b_s s, where b_s = exp(v · s) / Σ_r exp(v · r), as in Yang et al. (2016, "Hierarchical
attention networks for document classification") without their recurrent layers. The vectors are
frozen; w, v and the label classifier are trained jointly, in one thread, so that a seed gives the
same bytes on one machine.
"""

from dataclasses import dataclass, replace
from functools import partial
from typing import Any

import numpy as np

from firth.embed.compare.probes.attention_network import AttentionNetwork
from firth.embed.compare.probes.examples import Bags
from firth.embed.compare.probes.progress import steps

RATES = (5e-4, 2e-3, 1e-2)
MARGINS = ((30.0, 0.35), (10.0, 0.1))  # scale and margin: those of the paper; milder ones
_DECAY = 0.01  # decoupled weight decay
_BATCH = 64
_ROUNDS, _PATIENCE = 12, 2
_MIN_BATCHES = 40  # per round, so that training on small sets is long enough


@dataclass(frozen=True, eq=False)
class LabeledBags:
    """Sentences with their labels."""

    bags: Bags
    labels: np.ndarray  # int64 (n_sentences,): from 0; -1 for a label unseen in training


@dataclass(frozen=True, eq=False)
class TrainedAttention:
    """Trained attention pooling, with its scores on the development part."""

    network: AttentionNetwork  # at its best epoch
    accuracy: float
    log_likelihood: float  # mean log-probability of the correct labels
    rate: float  # the best learning rate
    margin: float  # the best margin; 0 without one
    epochs: int  # passes over the training part

    @property
    def selection_key(self) -> tuple[float, float]:
        """Sort key for choosing the best network: accuracy, then likelihood."""
        return self.accuracy, self.log_likelihood


def train_attention(
    table: Any,
    train: LabeledBags,
    dev: LabeledBags,
    n_labels: int,
    seed: int,
    *,
    margin: bool = False,
    levels: int = 1,
) -> TrainedAttention:
    """Train attention pooling with a label classifier, by AdamW on batches of 64 sentences.

    A rate ends when two rounds do not improve on ``dev``. With ``margin``, the loss is the
    additive-margin softmax (Wang et al. 2018, eq. 6) over scaled cosines with one vector per label.
    With two ``levels``, words are weighted in their sentences, and sentences in their texts.
    """
    # table: float32 (R, D) or scipy.sparse CSR (R, D), standardized
    network = partial(AttentionNetwork, table, n_labels, seed=seed, levels=levels)
    variants = MARGINS if margin else ((None, 0.0),)
    tried = (
        _train(network(scale=scale), train, dev, rate, of_label, seed)
        for scale, of_label in steps(variants)
        for rate in steps(RATES)
    )
    return max(tried, key=lambda trained: trained.selection_key)


def _train(
    network: AttentionNetwork,
    train: LabeledBags,
    dev: LabeledBags,
    rate: float,
    margin: float,
    seed: int,
) -> TrainedAttention:
    """Train with one learning rate and margin; return the network of the best round."""
    import torch

    optimizer = torch.optim.AdamW(network.parameters, rate, weight_decay=_DECAY, foreach=False)
    scaled_margin = margin * (network.scale or 0.0)
    repeats = max(1, _MIN_BATCHES * _BATCH // len(train.labels))
    best: TrainedAttention | None = None
    best_round = 0
    for number in steps(range(1, _ROUNDS + 1)):
        for epoch in range((number - 1) * repeats, number * repeats):
            order = np.random.default_rng([seed, epoch]).permutation(len(train.labels))
            for start in range(0, len(order), _BATCH):
                some = order[start : start + _BATCH]
                network.set_gradients(train.bags.take(some), train.labels[some], scaled_margin)
                optimizer.step()
        scores = _dev_scores(network.probabilities(dev.bags), dev.labels)
        found = TrainedAttention(network, *scores, rate, margin, epoch + 1)
        if best is None or found.selection_key > best.selection_key:
            best, best_round = replace(found, network=network.copy()), number
        elif number - best_round >= _PATIENCE:
            break
    assert best is not None
    return best


def _dev_scores(probabilities: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Return the accuracy, and the mean log-probability of the labels seen in training."""
    seen = labels >= 0
    correct = probabilities[seen, labels[seen]].astype(np.float64)
    floored = np.maximum(correct, np.finfo(np.float32).tiny)
    log_likelihood = np.log(floored).mean() if seen.any() else 0.0
    return float((probabilities.argmax(axis=1) == labels).mean()), float(log_likelihood)
