"""From options and text to all that a training needs: rows on the device, batches, decisions."""

import dataclasses
from dataclasses import dataclass
from pathlib import Path

import torch

from corpora.common.console import note
from corpora.common.errors import SettingError
from corpora.common.threads import thread_count
from corpora.tokenizer.pieces import Pieces
from pretrain.config import EncoderConfig, MlmConfig, parse_rates
from pretrain.data.batches import HELD_OUT_RATE, Batch, Batches, fixed_batches
from pretrain.data.masking import Masking, capacity
from pretrain.data.packing import PackedRows, piece_counts
from pretrain.data.text import Text, most_segments, pack
from pretrain.device import forget_peak_memory, matmul_peak
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.model.flops import row_flops
from pretrain.training.autotune import (
    DECIDED,
    Decisions,
    Trials,
    batch_rows,
    decide,
    decided_once,
    read_decisions,
)
from pretrain.training.distributed import World
from pretrain.training.evaluation import unigram_score
from pretrain.training.log import Scale
from pretrain.training.loop import Course
from pretrain.training.schedule import Budget, make_budget

_HELD_OUT_TARGETS = 8_000  # pieces to predict, about: a loss is then known to 0.03


@dataclass(frozen=True)
class Material:
    """What is trained on, and by what measure."""

    train: PackedRows  # the text
    held_out: PackedRows  # the text
    encoder: EncoderConfig  # of the model
    batch: int  # rows of a step
    batches: Batches  # of the training text
    budget: Budget  # how long
    most_segments: int  # of a row


def gather(
    text: Text, pieces: Pieces, config: MlmConfig, batch: int, device: torch.device
) -> Material:
    """Lay out the text, and make what makes batches of it."""
    train, held_out = pack(text, pieces, config, device)
    batches = Batches(
        train,
        batch_rows=batch,
        seed=config.seed,
        masking=Masking(config.masking, config.mask_share, config.random_share),
        continues=pieces.continues,
        highest_rate=max(parse_rates(config.mask_rate)),
    )
    return Material(
        train,
        held_out,
        config.encoder(n_pieces=len(pieces)),
        batch,
        batches,
        make_budget(config, train.n_rows, batch),
        most_segments(train, held_out),
    )


def prepare(
    text: Text, pieces: Pieces, config: MlmConfig, directory: Path, device: torch.device,
    world: World,
) -> Course:  # fmt: skip
    """Prepare a training, or one that goes on: then by what was decided when it was begun.

    Sets the number of torch's threads.
    """
    before = read_decisions(directory / DECIDED)
    threads = _threads(config, before, device, world)
    torch.set_num_threads(threads)
    begun = dataclasses.replace(config, batch=before.batch) if before else config
    batch = batch_rows(begun, device, world)
    material = gather(text, pieces, config, batch, device)
    trials = make_trials(material, config, device, world)
    decided = decided_once(
        directory / DECIDED,
        world,
        device,
        lambda: decide(trials, material.budget, batch, threads, world),
    )
    held_out = held_out_batches(material.held_out, pieces, decided.micro_batch)
    scale = make_scale(material, decided, device)
    forget_peak_memory(device)  # of trials
    return Course(
        config=config,
        batches=material.batches,
        budget=material.budget,
        scale=scale,
        how=decided.how,
        most_segments=material.most_segments,
        text=material.train.fingerprint(),
        held_out=held_out,
        unigram=unigram_score(piece_counts(material.train), held_out),
        directory=directory,
    )


def make_trials(
    material: Material, config: MlmConfig, device: torch.device, world: World
) -> Trials:
    """Make what times steps."""
    first, stop = world.share(material.batch)
    return Trials(
        encoder=material.encoder,
        config=config,
        batches=material.batches,
        most_segments=material.most_segments,
        device=device,
        rows=stop - first,
    )


def make_scale(material: Material, decided: Decisions, device: torch.device) -> Scale:
    """Measure the device's peak, and count what a row costs."""
    rows = material.train
    with torch.device("meta"):
        model = MaskedLanguageModel(material.encoder)
    return Scale(
        row_slots=rows.sequence_length,
        batch_rows=material.batch,
        n_rows=rows.n_rows,
        padding=rows.padding,
        row_flops=row_flops(model, material.batches.capacity),
        peak=matmul_peak(device, decided.how.dtype) * decided.processes,
    )


def held_out_batches(rows: PackedRows, pieces: Pieces, at_once: int) -> list[Batch]:
    """Mask some of the held-out text, the same in every run."""
    limit = max(1, _HELD_OUT_TARGETS // capacity(rows.sequence_length, HELD_OUT_RATE))
    batches = list(
        fixed_batches(
            rows,
            batch_rows=min(at_once, limit),
            continues=pieces.continues,
            n_rows_limit=limit,
        )
    )
    if not any(float(batch.n_targets) for batch in batches):
        raise SettingError(
            "the held-out text has no pieces to predict; build the corpus with a greater `held_out`"
        )
    return batches


def _threads(
    config: MlmConfig, before: Decisions | None, device: torch.device, world: World
) -> int:
    """Those that the run was begun with: with others its weights would differ in the last bits."""
    if before is None or not before.holds_for(device, world):
        return thread_count(config.threads, world.size)
    if config.threads is not None and config.threads != before.threads:
        note(f"`threads={config.threads}`: the run was begun with {before.threads} and keeps them")
    return before.threads
