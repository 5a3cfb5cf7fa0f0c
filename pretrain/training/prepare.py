"""Prepare training: pack the text, tune the settings, make the held-out batches."""

import dataclasses
import time
from dataclasses import dataclass
from pathlib import Path

import torch
from firth.pretrain.training.log import Workload

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.corpora.common.threads import thread_count
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.vectors.piece_table import FIRST_VECTORS
from firth.pretrain.config import MASKED, TUNING, MlmConfig, Tuning
from firth.pretrain.data.batches import Batch, Batches, fixed_batches
from firth.pretrain.data.objectives.causal import piece_characters
from firth.pretrain.data.objectives.registry import CLASSES
from firth.pretrain.data.packing import PackedRows, piece_counts
from firth.pretrain.data.text import TextSplits, max_segments, pack_text
from firth.pretrain.device import matmul_peak, reset_peak_memory
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.flops import row_flops
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training.autotune import (
    TUNED_FILE,
    StepTimer,
    TunedSettings,
    batch_rows,
    fit_micro_batch,
    read_tuned,
    tune,
    tune_once,
)
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.evaluation import unigram_score
from firth.pretrain.training.loop import TrainingSetup
from firth.pretrain.training.schedule import Budget, make_budget
from firth.pretrain.training.warm_start import NONE, write_first_vectors


@dataclass(frozen=True)
class TrainingData:
    """Packed text, and what follows from it."""

    train: PackedRows
    held_out: PackedRows
    encoder: EncoderConfig
    batch: int  # rows per step
    batches: Batches  # of the training text
    budget: Budget
    max_segments: int  # per row


def build_training_data(
    text: TextSplits, pieces: Pieces, config: MlmConfig, batch: int, device: torch.device
) -> TrainingData:
    """Pack the text into rows on the device, and set up its batches."""
    train, held_out = pack_text(text, pieces, config, device)
    continues = torch.tensor(pieces.continues, device=train.device)
    objective = CLASSES[config.objective].for_training(config, continues, train.sequence_length)
    batches = Batches(train, objective, batch_rows=batch, seed=config.seed)
    return TrainingData(
        train,
        held_out,
        config.encoder(n_pieces=len(pieces)),
        batch,
        batches,
        make_budget(config, train.n_rows, batch),
        max_segments(train, held_out),
    )


def prepare(
    text: TextSplits, pieces: Pieces, config: MlmConfig, directory: Path, device: torch.device,
    group: ProcessGroup, tuning: Tuning = TUNING,
) -> TrainingSetup:  # fmt: skip
    """Prepare training in an unfinished run's directory, keeping settings chosen earlier.

    Sets the number of torch's threads.
    """
    earlier = read_tuned(directory / TUNED_FILE)
    threads = _threads(config, earlier, device, group)
    torch.set_num_threads(threads)
    resumed = dataclasses.replace(config, batch=earlier.batch) if earlier else config
    batch = batch_rows(resumed, device, group)
    data = build_training_data(text, pieces, config, batch, device)
    counts = piece_counts(data.train)
    seconds = 0.0
    if config.init != NONE:

        def start() -> float:
            begun = time.monotonic()
            write_first_vectors(directory, config, text, pieces, threads)
            seconds = time.monotonic() - begun
            if data.budget.seconds is not None and seconds >= data.budget.seconds:
                # or the same command would train with them
                (directory / FIRST_VECTORS).unlink(missing_ok=True)
                raise SettingError(
                    f"`minutes={config.minutes:g}`: the first vectors alone took {seconds:.0f} "
                    "seconds; pass more minutes, or `init=none`"
                )
            return seconds

        seconds = group.run_first(start, lambda: 0.0)  # the first process keeps the time of all
    timer = make_step_timer(data, config, device, group)
    tuned = tune_once(
        directory / TUNED_FILE,
        group,
        device,
        lambda: tune(timer, data.budget, batch, threads, group),
        lambda earlier: fit_micro_batch(timer, earlier),
    )
    held_out = held_out_batches(data.held_out, pieces, tuned.micro_batch, config.objective)
    workload = make_workload(data, tuned, device)
    reset_peak_memory(device)  # exclude the peak of tuning
    return TrainingSetup(
        config=config,
        batches=data.batches,
        budget=data.budget,
        workload=workload,
        step_settings=tuned.step_settings,
        max_segments=data.max_segments,
        text=data.train.fingerprint(),
        held_out=held_out,
        unigram=unigram_score(counts, held_out),
        directory=directory,
        counts=counts,
        seconds=seconds,
        characters=(
            torch.tensor(piece_characters(pieces.names), device=device)
            if CLASSES[config.objective].per_character
            else None
        ),
        tuning=tuning,
    )


def make_step_timer(
    data: TrainingData, config: MlmConfig, device: torch.device, group: ProcessGroup
) -> StepTimer:
    """Make a timer of this process's share of a step."""
    first, stop = group.row_range(data.batch)
    return StepTimer(
        encoder=data.encoder,
        config=config,
        batches=data.batches,
        max_segments=data.max_segments,
        device=device,
        rows=stop - first,
    )


def make_workload(data: TrainingData, tuned: TunedSettings, device: torch.device) -> Workload:
    """Measure the device's peak speed, and count the operations of a row."""
    rows = data.train
    with torch.device("meta"):
        model = MaskedLanguageModel(data.encoder)
    return Workload(
        row_slots=rows.sequence_length,
        batch_rows=data.batch,
        n_rows=rows.n_rows,
        padding=rows.padding,
        row_flops=row_flops(model, data.batches.capacity),
        peak=matmul_peak(device, tuned.step_settings.dtype) * tuned.processes,
    )


def held_out_batches(
    rows: PackedRows, pieces: Pieces, micro_batch: int, objective: str = MASKED
) -> list[Batch]:
    """Choose targets in some of the held-out text, the same in every run of an objective."""
    continues = torch.tensor(pieces.continues, device=rows.device)
    chooser = CLASSES[objective].for_held_out(continues, rows.sequence_length)
    limit = max(1, chooser.held_out_targets // chooser.capacity)
    size = min(micro_batch, limit)
    batches = list(fixed_batches(rows, chooser, batch_rows=size, n_rows_limit=limit))
    if not any(float(batch.n_targets) for batch in batches):
        raise SettingError(
            "the held-out text has no pieces to predict; build the corpus with a greater `held_out`"
        )
    return batches


def _threads(
    config: MlmConfig, earlier: TunedSettings | None, device: torch.device, group: ProcessGroup
) -> int:
    """Return the threads the run was started with: others change the last bits of its weights."""
    if earlier is None or not earlier.matches(device, group):
        return thread_count(config.threads, group.local_size)
    if config.threads is not None and config.threads != earlier.threads:
        note(
            f"`threads={config.threads}`: the run was started with {earlier.threads} and keeps them"
        )
    return earlier.threads
