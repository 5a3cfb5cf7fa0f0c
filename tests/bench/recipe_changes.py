"""Changes to masked-LM training that are no settings: controls, and ideas to be measured.

Each is a context in which the trainer runs with one of its parts replaced.
"""

import contextlib
import itertools
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any
from unittest.mock import patch

import numpy as np
import torch
from scipy.optimize import linprog
from torch import Tensor, nn

from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.view import View
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.svd.piece_text import PieceText
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from firth.pretrain.data import masking
from firth.pretrain.data.batches import Batches
from firth.pretrain.model import encoder, nearby_heads
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training import loop, muon, optimizer, warm_start
from firth.pretrain.training.optimizer import Optimizers
from firth.pretrain.training.step import Stepper

Change = Callable[[], contextlib.AbstractContextManager[Any]]
_vectors_from_text = warm_start.vectors_from_text
_made: dict[tuple[int, int, int], np.ndarray] = {}  # since they take as long as many steps
_Z = 1e-4  # weight of the squared log partition function
_SLOW = 0.3  # the table's share of the rate
_PART, _BATCHES = 200, (16, 32, 48)
_STEPS_OF_MEAN = 30
_SPACES = (np.linspace, np.geomspace)
_RARE = 0.5  # pieces are masked in proportion to their frequency to minus this power


def first_vectors(change: Callable[[np.ndarray], np.ndarray]) -> Change:
    """Return a change of the vectors that the table starts from, float32 (n_known, D)."""

    def vectors_from_text(
        view: View, pieces: Pieces, dim: int, *, seed: int, threads: int
    ) -> np.ndarray:
        key = (len(pieces), dim, seed)
        if key not in _made:
            _made[key] = _vectors_from_text(view, pieces, dim, seed=seed, threads=threads)
        found = _made[key].copy()
        known = found.any(1)
        found[known] = change(found[known])
        return found

    return lambda: patch.object(warm_start, "vectors_from_text", vectors_from_text)


def shuffled(known: np.ndarray) -> np.ndarray:
    """Return the rows in random order."""
    return np.random.default_rng(1).permutation(known)


def noise(known: np.ndarray) -> np.ndarray:
    """Return random rows with the same singular values and right singular vectors."""
    _, values, right = np.linalg.svd(known, full_matrices=False)
    left, _ = np.linalg.qr(np.random.default_rng(1).normal(size=known.shape))
    return ((left * values) @ right).astype(np.float32)


def without_first_direction(known: np.ndarray) -> np.ndarray:
    """Return the rows without their first singular direction, which goes with frequency."""
    _, _, right = np.linalg.svd(known, full_matrices=False)
    rest: np.ndarray = known - (known @ right[:1].T) @ right[:1]
    return rest


def first_std(std: float) -> Change:
    """Return a start with another standard deviation."""
    return lambda: patch.object(warm_start, "INIT_STD", std)


def heads(**constants: float) -> Change:
    """Return another start of the heads that look nearby."""
    return lambda: patch.multiple(
        nearby_heads, **{f"_{k.upper()}": v for k, v in constants.items()}
    )


def skipgram_of_pieces() -> contextlib.AbstractContextManager[Any]:
    """Take the vectors of skip-gram with its defaults, on the text as pieces."""

    def vectors_from_text(
        view: View, pieces: Pieces, dim: int, *, seed: int, threads: int
    ) -> np.ndarray:
        with tempfile.TemporaryDirectory() as folder:
            text = Path(folder, "pieces.txt")
            with text.open("w") as file:
                for ids, offsets in PieceText(view, pieces).shards():
                    for start, end in itertools.pairwise(offsets):
                        file.write(" ".join(map("p{}".format, ids[start:end])) + "\n")
            corpus = build_corpus(
                text,
                Path(folder, "corpus"),
                read=ReadOptions(documents="line"),
                words=TextSettings(segmenter="whitespace"),
                options=BuildOptions(held_out=0),
            )
            found = train_skipgram(corpus, SkipGramConfig(dim=dim, seed=seed, threads=threads))
        vectors = np.zeros((len(pieces), dim), np.float32)
        vectors[[int(word[1:]) for word in found.vocabulary]] = found.matrix
        return vectors

    return patch.object(warm_start, "vectors_from_text", vectors_from_text)


def muon_steps(steps: int) -> Change:
    """Return Muon with another number of steps to an orthogonal matrix."""
    return lambda: patch.object(muon, "_STEPS", steps)


def not_balanced() -> contextlib.AbstractContextManager[Any]:
    """Leave rows and columns as orthogonalization makes them."""
    return patch.object(muon, "balanced", lambda matrices: matrices)


def best_polynomials(least: float = 1e-3) -> contextlib.AbstractContextManager[Any]:
    """Take the polynomials that bring singular values from ``least`` to 1 nearest to 1 in Muon.

    Amsel et al. 2025 (arXiv:2505.16932): each is the best for the interval that the last leaves.
    """
    coefficients, low, high = [], least, 1.0
    for _ in range(muon._STEPS):
        values = np.unique(np.concatenate([space(low, high, 2000) for space in _SPACES]))
        powers = np.stack([values, values**3, values**5], axis=1)
        bounds = np.block([[powers, -np.ones((len(values), 1))]] * 2)
        bounds[len(values) :, :3] *= -1
        limits = np.repeat([1.0, -1.0], len(values))
        free = [(None, None)] * 3 + [(0, None)]
        *best, error = linprog([0, 0, 0, 1], bounds, limits, bounds=free).x
        coefficients.append(best)
        low, high = 1 - error, 1 + error

    def orthogonalized(matrices: Tensor) -> Tensor:
        tall = matrices.shape[1] > matrices.shape[2]
        x = matrices.mT if tall else matrices
        x = x / (1.01 * x.flatten(1).norm(dim=1).clamp(min=1e-7))[:, None, None]
        for a, b, c in coefficients:
            gram = x @ x.mT
            x = torch.baddbmm(x, torch.baddbmm(gram, gram, gram, beta=b, alpha=c), x, beta=a)
        return x.mT if tall else x

    return patch.object(muon, "orthogonalized", orthogonalized)


def after_start(change: Callable[[MaskedLanguageModel, Tensor], None]) -> Change:
    """Return a change of the model, given the counts of the pieces, after its start."""
    start_from = warm_start.start_from

    def start(model: MaskedLanguageModel, vectors: np.ndarray, counts: Tensor) -> None:
        start_from(model, vectors, counts)
        change(model, counts)

    return lambda: patch("firth.pretrain.train.start_from", start)


def no_bias(model: MaskedLanguageModel, counts: Tensor) -> None:
    """Set the bias of the output to 0."""
    nn.init.zeros_(model.core.bias)


def untied(model: MaskedLanguageModel, counts: Tensor) -> None:
    """Give the output a table of its own, which starts as the input table does."""
    model.output = nn.Embedding.from_pretrained(model.pieces.weight.detach().clone(), freeze=False)
    losses = model.core.target_losses

    def target_losses(x: Tensor, table: Tensor, *others: Any) -> tuple[Tensor, Tensor]:
        return losses(x, model.output.weight, *others)

    model.core.target_losses = target_losses  # type: ignore[method-assign]


@contextlib.contextmanager
def slow_table() -> Iterator[None]:
    """Train the table at a lower rate than the rest."""
    make = optimizer.make_optimizer

    def make_optimizer(model: MaskedLanguageModel, *arguments: Any, **others: Any) -> Optimizers:
        found, table = make(model, *arguments, **others), model.pieces.weight
        for group in found.param_groups:
            if any(weight is table for weight in group["params"]):
                group["params"] = [weight for weight in group["params"] if weight is not table]
                found.param_groups.append({**group, "params": [table], "share": _SLOW})
                found._all[0].param_groups.append(found.param_groups[-1])
                return found
        raise AssertionError

    with patch.object(loop, "make_optimizer", make_optimizer):
        yield


def whole_matrices() -> contextlib.AbstractContextManager[Any]:
    """Orthogonalize fused matrices as one."""
    parts = optimizer.block_matrices
    return patch.object(
        optimizer, "block_matrices", lambda model: [(weight, 1) for weight, _ in parts(model)]
    )


def z_loss() -> contextlib.AbstractContextManager[Any]:
    """Add the squared log partition function to the loss, but not to the held-out loss."""
    cross_entropy = encoder.F.cross_entropy

    def with_z(logits: Tensor, targets: Tensor, **others: Any) -> Tensor:
        loss = cross_entropy(logits, targets, **others)
        return loss + _Z * logits.logsumexp(-1).square() if torch.is_grad_enabled() else loss

    return patch.object(encoder.F, "cross_entropy", with_z)


@contextlib.contextmanager
def rare_pieces() -> Iterator[None]:
    """Mask rare pieces more often, but not in the held-out text, which is masked before."""
    draw, chances = masking._draw_columns, list[Tensor]()

    def keep(model: MaskedLanguageModel, counts: Tensor) -> None:
        chances.append((counts + 1).float().pow(-_RARE))

    def draw_columns(
        ids: Tensor, continues: Tensor, maskable: Tensor, wanted: Tensor, kind: str, random: Any
    ) -> Tensor:
        if not chances:
            return draw(ids, continues, maskable, wanted, kind, random)
        # the highest u ** (1 / chance) are a weighted draw without repetition
        draws = random.uniform("place", ids.shape[1]).clamp(min=1e-7).log() / chances[0][ids]
        order = draws.masked_fill(~maskable, -torch.inf).argsort(dim=1, descending=True)
        return torch.where(torch.arange(ids.shape[1]) < wanted, order, ids.shape[1])

    with after_start(keep)(), patch.object(masking, "_draw_columns", draw_columns):
        yield


def growing_batches() -> contextlib.AbstractContextManager[Any]:
    """Take 16, 32 and 48 rows in three parts of 200 steps: as many as 600 times 32."""
    sizes = np.repeat(_BATCHES, _PART)
    ends = sizes.cumsum()
    orders: list[Tensor] = []  # made once

    def row_numbers(batches: Batches, step: int) -> Tensor:
        if not orders:
            n_passes = -(-int(ends[-1]) // batches._rows.n_rows)
            orders.append(batches._make_order(range(n_passes)))
        return orders[0][ends[step] - sizes[step] : ends[step]]

    return patch.object(Batches, "_row_numbers", row_numbers)


@contextlib.contextmanager
def averaged() -> Iterator[None]:
    """Evaluate with a running mean of the weights, which are trained as ever."""
    evaluate, means = loop.evaluate, list[Tensor]()

    class AveragingStepper(Stepper):
        def update(self, sums: Tensor, rate: float) -> Tensor:
            result = super().update(sums, rate)
            if not means:
                means.extend(weight.detach().clone() for weight in self._weights)
            for mean, weight in zip(means, self._weights, strict=True):
                mean.lerp_(weight.detach(), 1 / _STEPS_OF_MEAN)
            return result

    def evaluate_means(model: MaskedLanguageModel, *arguments: Any) -> Any:
        if not means:
            return evaluate(model, *arguments)
        weights = [weight.detach().clone() for weight in model.parameters()]
        _copy(means, model)
        score = evaluate(model, *arguments)
        _copy(weights, model)
        return score

    with (
        patch.object(loop, "Stepper", AveragingStepper),  # not that of measurements before
        patch.object(loop, "evaluate", evaluate_means),
    ):
        yield


def _copy(values: list[Tensor], model: MaskedLanguageModel) -> None:
    """Set the weights of a model."""
    with torch.no_grad():
        for weight, value in zip(model.parameters(), values, strict=True):
            weight.copy_(value)


def square_schedule() -> contextlib.AbstractContextManager[Any]:
    """Let the rates fall as the square of what is left of the budget."""
    factor = loop.rate_factor

    def rate_factor(schedule: str, warmup: float, progress: float) -> float:
        return factor(schedule, warmup, progress) ** (1 if progress < warmup else 2)

    return patch.object(loop, "rate_factor", rate_factor)


WITH_NEARBY_HEADS: dict[str, Change] = {  # the others are measured with heads at random
    "heads, sharper": heads(sharpness=5.0),
    "heads of all layers": heads(every=1),
    "heads of the first layer": heads(every=1000),
    "skip-gram of pieces": skipgram_of_pieces,
    "Muon, 3 steps": muon_steps(3),
    "Muon, 4 steps": muon_steps(4),
    "best polynomials": best_polynomials,
    "started at .08": first_std(0.08),
    "growing batches": growing_batches,
    "square schedule": square_schedule,
}
CHANGES: dict[str, Change] = {
    **WITH_NEARBY_HEADS,
    "": first_vectors(np.copy),
    "shuffled": first_vectors(shuffled),
    "noise": first_vectors(noise),
    "none": first_vectors(np.zeros_like),
    "without first direction": first_vectors(without_first_direction),
    "std .01": first_std(0.01),
    "std .04": first_std(0.04),
    "std .08": first_std(0.08),
    "std .16": first_std(0.16),
    "std .32": first_std(0.32),
    "no bias": after_start(no_bias),
    "untied": after_start(untied),
    "slow table": slow_table,
    "whole matrices": whole_matrices,
    "z-loss": z_loss,
    "rare pieces": rare_pieces,
    "averaged weights": averaged,
}
