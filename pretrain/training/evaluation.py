"""Held-out loss and accuracy: of a model, and of the unigram baseline."""

import contextlib
import math
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.metrics import HeldOutLoss
from firth.corpora.tokenizer.pieces import FIRST_PIECE
from firth.pretrain.data.batches import Batch
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.step import autocast


@dataclass(frozen=True)
class MlmScore:
    """Loss and accuracy on the pieces to predict."""

    loss: float  # mean negative log-likelihood per piece, in nats
    accuracy: float  # share of pieces whose prediction is correct
    n_targets: int  # pieces to predict
    standard_error: float = math.nan  # of the loss, over other text of this kind
    n_units: int = 0  # held-out units with pieces to predict
    # float64 (2 or 3, n): of each unit the summed loss, the number of pieces and, if next pieces
    # are predicted, of the characters that they spell, with one space for each word
    units: np.ndarray | None = field(default=None, compare=False)

    @property
    def held_out(self) -> HeldOutLoss:
        """The loss with its error."""
        return HeldOutLoss(self.loss, self.standard_error, self.n_units)

    @property
    def bits_per_character(self) -> HeldOutLoss | None:
        """The loss in bits per character; None if pieces were masked."""
        if self.units is None or len(self.units) < 3:
            return None
        return HeldOutLoss.of_units(self.units[0] / math.log(2), self.units[2])

    @property
    def perplexity(self) -> float:
        """Perplexity, exp(loss); of masked pieces a pseudo-perplexity."""
        return math.exp(min(self.loss, 700.0))  # exp of more overflows


@dataclass(frozen=True)
class HeldOut:
    """The held-out text that a training is evaluated on."""

    batches: list[Batch]
    unigram: MlmScore  # the score of the baseline, which is chance for pointing
    characters: Tensor | None  # int64 (V,): of each piece, if the text gets a likelihood
    causal: "HeldOut | None" = None  # the same text for causal rows, if some rows are causal


def evaluate(
    model: MaskedLanguageModel,
    batches: Iterable[Batch],
    dtype: torch.dtype,
    characters: Tensor | None = None,
) -> MlmScore:
    """Score a model on fixed batches, uncompiled and without dropout."""
    # characters: int64 (V,)
    parts = []
    with _evaluation_mode(model), torch.no_grad():
        for batch in batches:
            with autocast(batch.ids.device, dtype):
                losses, right = model.core.target_losses(*model.loss_inputs(batch))
            clusters = torch.zeros_like(batch.chosen) if batch.clusters is None else batch.clusters
            parts.append([losses, right, batch.weights.flatten(), clusters.flatten()])
            if characters is not None:
                parts[-1].append((characters[batch.targets] * batch.weights).flatten())
    # float64 (P,) and int64 (P,): on the CPU, where sums have a fixed order
    losses, right, weights, clusters, *spelled = (
        torch.cat(part).cpu() for part in zip(*parts, strict=True)
    )
    score = _score(torch.stack([part.double().sum() for part in (losses, right, weights)]))
    by_target = (losses, weights, *spelled)
    units = torch.stack([clusters.bincount(part.double()) for part in by_target]).numpy()
    by_unit = HeldOutLoss.of_units(units[0], units[1])
    return replace(
        score,
        standard_error=by_unit.standard_error,
        n_units=by_unit.n_units,
        units=units,
    )


def unigram_score(counts: Tensor, batches: Sequence[Batch]) -> MlmScore:
    """Score the unigram baseline, with add-one smoothing of the training text's counts."""
    # counts: int64 (V,); on the CPU, where sums have a fixed order
    counts = counts.cpu()
    likelihoods = (counts[FIRST_PIECE:] + 1).to(torch.float64)
    nll = -(likelihoods / likelihoods.sum()).log()
    best = counts[FIRST_PIECE:].argmax()
    sums = torch.zeros(3, dtype=torch.float64)
    for batch in batches:
        # unused slots hold special pieces
        pieces = (batch.targets.cpu() - FIRST_PIECE).clamp(min=0)
        weights = batch.weights.cpu().to(torch.float64)
        right = (pieces == best).to(torch.float64)
        sums += torch.stack([(nll[pieces] * weights).sum(), (right * weights).sum(), weights.sum()])
    return _score(sums)


def chance_score(batches: Sequence[Batch]) -> MlmScore:
    """Score the baseline of pointing: the words of a segment, each of which is a target once."""
    sums = torch.zeros(3, dtype=torch.float64)
    for batch in batches:
        segments, weights = batch.decoded.segments.cpu(), batch.weights.cpu().double()
        words = (segments[:, :, None] == segments[:, None]).double() @ weights[..., None]
        chance = 1 / words[..., 0].clamp(min=1)
        sums += torch.stack([(part * weights).sum() for part in (-chance.log(), chance, chance**0)])
    return _score(sums)


def _score(sums: Tensor) -> MlmScore:
    """Turn summed loss, correct predictions and targets into means."""
    loss, right, n_targets = sums.tolist()
    return MlmScore(loss / n_targets, right / n_targets, round(n_targets))


@contextlib.contextmanager
def _evaluation_mode(model: MaskedLanguageModel) -> Iterator[None]:
    """Switch off dropout."""
    model.eval()
    try:
        yield
    finally:
        model.train()
