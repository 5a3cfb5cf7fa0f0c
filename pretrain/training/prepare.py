"""Prepare training: pack the text, make the first vectors and the held-out batches."""

import math
import time
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import torch

from firth.corpora.common.errors import SettingError
from firth.corpora.tokenizer.pieces import CLS, Pieces
from firth.embed.vectors.piece_table import FIRST_VECTORS
from firth.embed.vectors.training import NothingCountedError, nothing_together
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.batches import Batch, Batches, fixed_batches
from firth.pretrain.data.objectives.causal import piece_characters
from firth.pretrain.data.objectives.targets import Objective
from firth.pretrain.data.packing import PackedRows, piece_counts
from firth.pretrain.data.text import TextSplits, max_segments, pack_text
from firth.pretrain.objectives import CAUSAL, MASKED, OBJECTIVES, ObjectiveKind
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.evaluation import HeldOut, chance_score, unigram_score
from firth.pretrain.training.schedule import Budget, make_budget
from firth.pretrain.training.warm_start import write_first_vectors

READ_CAUSALLY = "_read_causally"


@dataclass(frozen=True)
class TrainingData:
    """Packed text, and what follows from it."""

    config: MlmConfig  # resolved
    pieces: Pieces
    train: PackedRows
    held_out: PackedRows
    counts: torch.Tensor  # int64 (V,): of each piece that is predicted of the training text
    batches: Batches  # of the training text
    budget: Budget
    max_segments: int  # per row

    @property
    def shape(self) -> EncoderConfig:
        """The shape of the model."""
        return self.config.shape(n_pieces=len(self.pieces))


def build_training_data(
    text: TextSplits, pieces: Pieces, config: MlmConfig, batch: int, device: torch.device
) -> TrainingData:
    """Pack the text into rows on the device, and set up its batches."""
    continues = torch.tensor(pieces.continues, device=device)
    chooser = config.objective_kind.load()
    extra = {"pieces": pieces} if config.objective_kind.decodes else {}
    objective = chooser.for_training(config, continues, config.sequence_length, **extra)
    train, held_out = pack_text(text, pieces, config, device)
    batches = Batches(train, objective, batch_rows=batch, seed=config.seed)
    counts, budget = piece_counts(train), make_budget(config, train.n_rows, batch)
    _require_contexts(train, counts, config, batch * (budget.steps or math.inf))
    if config.objective_kind.decodes and chooser.max_passes == 1:  # a part, always the same
        counts = _target_counts(train, objective)
    return TrainingData(
        config, pieces, train, held_out, counts, batches, budget, max_segments(train, held_out)
    )


def _target_counts(rows: PackedRows, objective: Objective) -> torch.Tensor:
    """Count the pieces that an objective without draws predicts, int64 (V,)."""

    def predicted(ids: torch.Tensor) -> torch.Tensor:
        made = objective.predict(ids, step=0, rate=math.nan)
        return made.targets[made.weights > 0]

    return piece_counts(rows, predicted)


def _require_contexts(
    train: PackedRows, counts: torch.Tensor, config: MlmConfig, n_rows: float
) -> None:
    """Raise if no piece can be predicted from another, or hardly one of ``n_rows`` rows is."""
    n_pieces, n_segments = int(counts.sum()), sum(int((c == CLS).sum()) for c in train.chunks())
    n_kinds = int((counts > 0).sum())
    if n_kinds < 2 or n_pieces <= n_segments:
        raise nothing_together(
            "the training text", n_kinds, config.boundary, what="piece", less="number of `pieces`"
        )
    if config.mean_mask_rate * n_pieces * n_rows / train.n_rows < 1:
        raise NothingCountedError(
            f"`mask_rate={config.mask_rate}` leaves no piece of the training text to learn from; "
            "pass a larger `mask_rate` or more `steps`"
        )


def make_first_vectors(run: Path, text: TextSplits, data: TrainingData, threads: int) -> float:
    """Write the first vectors of the pieces, unless an earlier call did; return the seconds."""
    begun, minutes = time.monotonic(), data.config.minutes
    write_first_vectors(run, data.config, text, data.pieces, threads)
    seconds = time.monotonic() - begun
    if minutes is not None and seconds >= minutes * 60:
        (run / FIRST_VECTORS).unlink(missing_ok=True)  # or the same command would train with them
        raise SettingError(
            f"`minutes={minutes:g}`: the first vectors alone took {seconds:.0f} seconds; pass more "
            "minutes, or `init=none`"
        )
    return seconds


def make_held_out(data: TrainingData, micro_batch: int) -> HeldOut:
    """Choose targets in the held-out text, and score the baseline on them."""
    readings = both_readings(data.held_out, data.pieces, micro_batch, data.config)
    held_out = _held_out(data, readings[""], data.config.objective_kind)
    if READ_CAUSALLY not in readings:
        return held_out
    return replace(held_out, causal=_held_out(data, readings[READ_CAUSALLY], OBJECTIVES[CAUSAL]))


def _held_out(data: TrainingData, batches: list[Batch], kind: ObjectiveKind) -> HeldOut:
    """Score the baseline on held-out targets of an objective."""
    characters = None
    if kind.load().per_character:
        names = data.pieces.names
        characters = torch.tensor(piece_characters(names), device=data.train.device)
    baseline = chance_score(batches) if kind.points else unigram_score(data.counts, batches)
    return HeldOut(batches, baseline, characters)


def both_readings(
    rows: PackedRows, pieces: Pieces, micro_batch: int, config: MlmConfig
) -> dict[str, list[Batch]]:
    """Choose held-out targets by the objective and, if it reads both ways, also causally."""
    kind, keys = config.objective_kind, config.objective_keys
    readings = {"": held_out_batches(rows, pieces, micro_batch, kind, keys)}
    if kind.mixed:
        batches = held_out_batches(rows, pieces, micro_batch, OBJECTIVES[CAUSAL])
        readings[READ_CAUSALLY] = [replace(batch, causal=True) for batch in batches]
    return readings


def held_out_batches(
    rows: PackedRows,
    pieces: Pieces,
    micro_batch: int,
    kind: ObjectiveKind = OBJECTIVES[MASKED],
    keys: dict[str, Any] | None = None,
) -> list[Batch]:
    """Choose targets in some of the held-out text, the same in every run of an objective."""
    continues = torch.tensor(pieces.continues, device=rows.device)
    extra = {"pieces": pieces, "keys": keys} if kind.decodes else {}
    chooser = kind.load().for_held_out(continues, rows.sequence_length, **extra)
    limit = max(1, chooser.held_out_targets // chooser.capacity)
    size = min(micro_batch, limit)
    batches = list(fixed_batches(rows, chooser, batch_rows=size, n_rows_limit=limit))
    if not any(float(batch.n_targets) for batch in batches):
        longer = ", or pass a greater `sequence_length`" if kind.whole else ""
        raise SettingError(
            "the held-out text has no pieces to predict; build the corpus with a greater "
            f"`held_out`{longer}"
        )
    return batches
