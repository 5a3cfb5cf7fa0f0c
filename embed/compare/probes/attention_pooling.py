"""Attention pooling: a sentence is the weighted mean of its words, with weights that are learnt.

A word with the vector h_t weighs a_t = exp(w · h_t) / Σ_u exp(w · h_u), and the sentence is
Σ_t a_t h_t (Safari, India and Hernando 2020, "Self-attention encoding and pooling for speaker
recognition", arXiv:2008.01077). The vectors stay as they are; w and what tells the label are learnt
together, in one thread, so that they are the same bytes for the same seed on one machine.
"""

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from embed.compare.probes.attention_network import AttentionNetwork
from embed.compare.probes.examples import Bags

RATES = (5e-4, 2e-3, 1e-2)
MARGINS = ((30.0, 0.35), (10.0, 0.1))  # scale and margin: those of the paper, and milder ones
_DECAY = 0.01  # decoupled, times the learning rate a step
_BATCH = 64
_ROUNDS, _PATIENCE = 12, 2
_LEAST_BATCHES = 40  # of a round, so that small sets are learnt from long enough


@dataclass(frozen=True, eq=False)
class LabeledBags:
    """Sentences with their labels."""

    bags: Bags  # of a table
    # int64 (n_sentences,): from 0; -1 for a label that no training sentence has, which nothing can
    # answer
    labels: np.ndarray


@dataclass(frozen=True, eq=False)
class TrainedAttention:
    """Attention pooling that was learnt."""

    network: AttentionNetwork  # as it was when it was best on the development part
    # there: the share of right answers, and the mean logarithm of the right label's probability
    accuracy: float
    # there: the share of right answers, and the mean logarithm of the right label's probability
    likelihood: float
    rate: float  # learning rate and margin that are best there; without margin 0
    margin: float  # learning rate and margin that are best there; without margin 0
    epochs: int  # rounds over the training part

    @property
    def merit(self) -> tuple[float, float]:
        """By what the best is chosen: accuracy, then likelihood."""
        return self.accuracy, self.likelihood


def train_attention(
    table: Any,
    train: LabeledBags,
    dev: LabeledBags,
    n_labels: int,
    seed: int,
    *,
    margin: bool = False,
) -> TrainedAttention:
    """Learn attention pooling and what tells the labels, by AdamW on batches of 64 sentences.

    Each learning rate of RATES goes on until two rounds are no better on ``dev`` than the best
    before them, at most 12 rounds, each of one epoch or, of small sets, of some 40 batches. The
    loss is the negative log-likelihood of a softmax; or, with ``margin``, of the additive-margin
    softmax (Wang et al. 2018, "Additive margin softmax for face verification", eq. 6): scale times
    the cosines between the pooled vector and a vector of each label, that of the right label less
    the margin.
    """
    # table: float32 (R, D) or scipy.sparse CSR (R, D)
    kinds = MARGINS if margin else ((None, 0.0),)
    best: TrainedAttention | None = None
    for scale, by in kinds:
        for rate in RATES:
            network = AttentionNetwork(table, n_labels, scale, seed)
            found = _trained(network, train, dev, rate, by, seed)
            if best is None or found.merit > best.merit:
                best = found
    assert best is not None
    return best


def margin_loss(logits: Any, labels: np.ndarray, less: float) -> Any:
    """The mean negative log-likelihood of the right labels, which are made less likely first."""
    # logits: torch.float32 (n, C); labels: int64 (n,); returns torch.float32 ()
    import torch

    right = torch.from_numpy(labels)
    taken = torch.nn.functional.one_hot(right, logits.shape[1]) * less
    return torch.nn.functional.cross_entropy(logits - taken, right)


def _trained(
    network: AttentionNetwork,
    train: LabeledBags,
    dev: LabeledBags,
    rate: float,
    margin: float,
    seed: int,
) -> TrainedAttention:
    """A network as it was when it was best."""
    import torch

    optimizer = torch.optim.AdamW(network.parameters, rate, weight_decay=_DECAY, foreach=False)
    less = margin * (network.scale or 0.0)
    repeats = max(1, _LEAST_BATCHES * _BATCH // len(train.labels))
    best: TrainedAttention | None = None
    best_round = 0
    for number in range(1, _ROUNDS + 1):
        for epoch in range((number - 1) * repeats, number * repeats):
            order = np.random.default_rng([seed, epoch]).permutation(len(train.labels))
            for start in range(0, len(order), _BATCH):
                some = order[start : start + _BATCH]
                loss = margin_loss(network.logits(train.bags.take(some)), train.labels[some], less)
                optimizer.zero_grad()
                loss.backward()
                optimizer.step()
        likely = network.probabilities(dev.bags)
        found = TrainedAttention(network, *_merit(likely, dev.labels), rate, margin, epoch + 1)
        if best is None or found.merit > best.merit:
            best, best_round = replace(found, network=network.copied()), number
        elif number - best_round >= _PATIENCE:
            break
    assert best is not None
    return best


def _merit(likely: np.ndarray, labels: np.ndarray) -> tuple[float, float]:
    """Share of right answers; mean log-probability of those labels that can be told."""
    told = labels >= 0
    right = likely[told, labels[told]].astype(np.float64)
    logarithm = np.log(np.maximum(right, np.finfo(np.float32).tiny)).mean() if told.any() else 0.0
    return float((likely.argmax(axis=1) == labels).mean()), float(logarithm)
