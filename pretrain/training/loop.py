"""The training loop: steps, evaluations and checkpoints."""

from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path

import torch

from firth.corpora.common.interrupts import defer_interrupts
from firth.embed.runs.session import Interval
from firth.pretrain.config import TUNING, MlmTuning
from firth.pretrain.data.batches import Batch
from firth.pretrain.device import reset_peak_memory
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.autotune import TunedSettings
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.evaluation import HeldOut, evaluate
from firth.pretrain.training.optimizer import ModelState, make_optimizer
from firth.pretrain.training.prepare import TrainingData, make_held_out
from firth.pretrain.training.schedule import mask_rate, rate_factor
from firth.pretrain.training.session import MlmSession, make_workload
from firth.pretrain.training.step import Stepper, StepSettings

_SOME_ROWS = 64  # to evaluate on before the end


def train_model(
    model: MaskedLanguageModel,
    data: TrainingData,
    tuned: TunedSettings,
    run: Path,
    group: ProcessGroup,
    *,
    seconds: float = 0.0,
    tuning: MlmTuning = TUNING,
) -> None:
    """Train to the end of the budget, from the last checkpoint if there is one.

    ``seconds`` is how long the first vectors took. On a CPU, unless the budget is a time,
    interrupting changes no bit of the weights.
    """
    config, settings, device = data.config, tuned.step_settings, model.pieces.weight.device
    held_out = make_held_out(data, tuned.micro_batch)
    workload = make_workload(data, tuned, device)
    reset_peak_memory(device)  # exclude the peak of tuning
    optimizer = make_optimizer(model, muon_share=config.muon_share, dtype=settings.dtype)
    session = MlmSession(
        run, ModelState(model, optimizer), config, data.budget, workload, group,
        device, n_pieces=model.config.n_pieces, text=data.train.fingerprint(),
        seconds=seconds, tuning=tuning,
    )  # fmt: skip
    stepper = Stepper(
        model, optimizer, settings, seed=config.seed, group=group,
        max_segments=data.max_segments,
    )  # fmt: skip
    evaluations = Interval(*data.budget.interval(1 / tuning.evaluations))
    some = _some_rows(held_out)
    with session:
        if settings.compile:
            stepper.warm_up(data.batches.batch(session.position.step, mask_rate(config, 0.0)))
        session.restart()
        evaluations.restart()
        if group.is_first:
            stepper.stopwatch = session.stopwatch  # not of the warm-up
            step = session.position.step
            if (step == 0 or evaluations.is_step(step)) and not session.scored_targets():
                _evaluate(model, some, settings, session)
                evaluations.advance()
        while _take_step(stepper, data, session):
            if not group.is_first:
                continue
            session.write_line_if_due()
            if evaluations.is_due(session.position.step) and session.progress < 1:
                _evaluate(model, some, settings, session)
                evaluations.advance()
            session.save_if_due()
        if group.is_first and session.scored_targets() != held_out.unigram.n_targets:
            _evaluate(model, held_out, settings, session)


def _take_step(stepper: Stepper, data: TrainingData, session: MlmSession) -> bool:
    """Take a step; return False if the budget is spent."""
    config = data.config
    with session.step() as progress:
        if progress is None:
            return False
        assert config.learning_rate is not None
        step, masked = session.position.step, mask_rate(config, progress)
        rate = config.learning_rate * rate_factor(progress)
        with stepper.timed("data_wait"):
            batch = data.batches.batch(step, masked)
        sums = stepper.gradients(step, batch)
        with defer_interrupts():  # a checkpoint has the weights after this step, or before
            session.learned(stepper.update(sums, rate), rate, masked)
    return True


def _some_rows(held_out: HeldOut) -> HeldOut:
    """Return a part of the held-out text for evaluations before the end."""
    causal = None if held_out.causal is None else _some_rows(held_out.causal)
    return replace(held_out, batches=take_rows(held_out.batches, _SOME_ROWS), causal=causal)


def _evaluate(
    model: MaskedLanguageModel,
    held_out: HeldOut,
    settings: StepSettings,
    session: MlmSession,
) -> None:
    """Measure and write the loss of some held-out batches."""
    session.write_line()
    score, *causal = (
        evaluate(model, session.evaluating(part.batches), settings.dtype, part.characters)
        for part in (held_out, held_out.causal)
        if part is not None
    )
    session.write_score(score, held_out.unigram, *causal)


def take_rows(batches: Sequence[Batch], n_rows: int) -> list[Batch]:
    """Return ``n_rows`` rows with pieces to predict, evenly spread; all if there are no more."""
    parts = [vars(batch) for batch in batches]
    columns = {
        name: torch.cat([part[name] for part in parts])
        for name, column in parts[0].items()
        if isinstance(column, torch.Tensor)
    }
    places = columns["weights"].any(1).nonzero().flatten()
    if len(places) <= n_rows:
        return list(batches)
    chosen = places[torch.arange(n_rows, device=places.device) * len(places) // n_rows]
    some = Batch(**parts[0] | {name: column[chosen] for name, column in columns.items()})
    size = len(batches[0].ids)  # fits into memory
    return [some.rows(first, first + size) for first in range(0, n_rows, size)]
