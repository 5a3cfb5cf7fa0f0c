"""The training loop: steps, evaluations, checkpoints, and stopping when the loss diverges."""

import contextlib
import math
import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from firth.pretrain.training.log import TrainingLog, TrainingStatus, Workload

from firth.corpora.artifacts.checkpoint import CHECKPOINTS, load_checkpoint, save_checkpoint
from firth.corpora.artifacts.metrics import METRICS, HeldOutLoss, read_metrics
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.corpora.common.interrupts import defer_interrupts
from firth.corpora.common.reporting import Progress
from firth.pretrain.config import TUNING, MlmConfig, Tuning
from firth.pretrain.data.batches import Batch, Batches
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.evaluation import MlmScore, evaluate
from firth.pretrain.training.optimizer import load_state, make_optimizer, state_arrays
from firth.pretrain.training.schedule import Budget, rate_factor
from firth.pretrain.training.step import Stepper, StepSettings

FORMAT = 1  # of a checkpoint
_DONE, _STOP = -1.0, -2.0  # broadcast in the place of the progress
_SOME_ROWS = 64  # to evaluate on before the end
KEPT_CHECKPOINTS = 2
_ROUNDING = 1e-9  # of a number of intervals: 3 steps of 60 are 5 %, whatever the last bit
_DIVERGED = 3.0  # times log V, the loss of equal probabilities; random weights are a little worse


@dataclass(frozen=True)
class TrainingSetup:
    """Everything that training needs besides the model."""

    config: MlmConfig  # resolved
    batches: Batches
    budget: Budget
    workload: Workload
    step_settings: StepSettings
    max_segments: int  # per row
    text: str  # fingerprint of the rows: a checkpoint of another text is refused
    held_out: list[Batch]
    unigram: MlmScore  # the baseline's score on the held-out batches
    directory: Path  # the unfinished run
    counts: torch.Tensor  # int64 (V,): of each piece in the training text
    seconds: float  # that the first vectors took; they count if the budget is a time
    # int64 (V,): of each piece, if the objective gives text a likelihood
    characters: torch.Tensor | None = None
    tuning: Tuning = TUNING


def run_training(
    model: MaskedLanguageModel, setup: TrainingSetup, group: ProcessGroup, show: Progress
) -> MlmScore:
    """Train to the end of the budget, from the last checkpoint if there is one.

    Returns the held-out score, meaningless except in the first process. The first process writes
    checkpoints and ``metrics.jsonl``. Its lines hold either training metrics since the line before
    (``tokens`` are slots, ``padding`` a share of slots, ``mfu`` a share of the measured peak at the
    mean mask rate, ``memory`` the most bytes in use, the parts of a step shares of the time), or
    held-out metrics.

    On a CPU, unless the budget is a time, interrupting changes no bit of the weights.
    """
    training = _Training(model, setup, group, show)
    try:
        training.run()
    except BaseException as error:
        with defer_interrupts():  # another Ctrl-C must not cut the checkpoint off
            training.abort(save=isinstance(error, KeyboardInterrupt))
        raise
    return training.score


class _Training:
    """State of a training run."""

    def __init__(
        self, model: MaskedLanguageModel, setup: TrainingSetup, group: ProcessGroup, show: Progress
    ) -> None:
        config = setup.config
        assert config.learning_rate is not None
        self._model, self._setup, self._group = model, setup, group
        self._rate, self._rates = config.learning_rate, config.mask_rates
        self._optimizer = make_optimizer(
            model, muon_share=config.muon_share, dtype=setup.step_settings.dtype
        )
        self._step, self._seconds = self._load()
        self._stepper = Stepper(
            model,
            self._optimizer,
            setup.step_settings,
            seed=config.seed,
            group=group,
            max_segments=setup.max_segments,
        )
        self._log: TrainingLog | None = None
        if group.is_first:
            device = model.pieces.weight.device
            path = setup.directory / METRICS
            self._log = TrainingLog(path, self._step, setup.workload, device, show)
        self._evaluations = _Interval(*setup.budget.interval(1 / setup.tuning.evaluations))
        # held-out rows to evaluate on before the end
        self._some = take_rows(setup.held_out, _SOME_ROWS)
        self._checkpoints = _Interval(None, setup.tuning.checkpoint_seconds)
        self._last = (0.0, self._rates[0])
        self._started = time.monotonic()
        self._evaluated = self._finished = -1  # steps of the last evaluation, and on all rows
        self._stepping = False
        self.score = MlmScore(math.nan, math.nan, 0)

    def run(self) -> None:
        """Train from the last checkpoint's step on."""
        if self._setup.step_settings.compile:
            self._stepper.warm_up(self._batch(0.0))
        self._started = time.monotonic()
        self._evaluations.restart()
        self._checkpoints.restart()
        if self._log is not None:
            self._log.restart_clock()
            self._stepper.stopwatch = self._log.stopwatch  # not of the warm-up
        self._read_score()
        due = self._step == 0 or self._evaluations.is_step(self._step)
        if due and self._evaluated != self._step:
            self._evaluate(self._some)
        while self._take_step():
            self._log_evaluate_save()
        if self._finished != self._step:
            self._evaluate(self._setup.held_out)

    def _read_score(self) -> None:
        """Read the score of the current step if an earlier call measured it."""
        if self._log is None:
            return
        for line in read_metrics(self._setup.directory / METRICS):
            if line["step"] == self._step and "held_out_loss" in line:
                measured = HeldOutLoss.from_line(line)
                self.score = MlmScore(
                    measured.mean, line["held_out_accuracy"], line["held_out_targets"],
                    measured.standard_error, measured.n_units,
                )  # fmt: skip
                self._evaluated = self._step
                if line["held_out_targets"] == _n_targets(self._setup.held_out):
                    self._finished = self._step

    def abort(self, *, save: bool) -> None:
        """Write a checkpoint if ``save``, then stop the other processes, which wait for a step."""
        try:
            if save:
                self._save()
        finally:
            if self._group.is_first and not self._stepping:
                self._group.broadcast(_STOP)

    def _save(self) -> None:
        """Write a checkpoint; raise if the training has diverged."""
        self._write_line()
        state = {
            "format": FORMAT,
            "text": self._setup.text,
            "step": self._step,
            "seconds": self._status().seconds,
        }
        save_checkpoint(
            self._setup.directory / CHECKPOINTS,
            state_arrays(self._model, self._optimizer),
            state,
            keep=KEPT_CHECKPOINTS,
        )

    def _take_step(self) -> bool:
        """Take a step, or return False if the budget is spent; the first process decides.

        Ctrl-C discards a step that has not changed the weights, unless other processes wait for it.
        """
        with defer_interrupts() if self._group.size > 1 else contextlib.nullcontext():
            self._stepping = True
            progress = self._group.broadcast(self._next())
            if progress == _STOP:
                raise SystemExit(1)
            if progress != _DONE:
                self._do_step(progress)
            self._stepping = False
        return progress != _DONE

    def _next(self) -> float:
        """Return the progress at which the next step lies, or _DONE."""
        status = self._status()
        if status.progress >= 1:
            return _DONE
        return self._setup.budget.midpoint(status.step, status.seconds)

    def _do_step(self, progress: float) -> None:
        """Make the next batch and step on it."""
        rate = self._rate * rate_factor(progress)
        with self._stepper.timed("data_wait"):
            batch = self._batch(progress)
        sums = self._stepper.gradients(self._step, batch)
        with defer_interrupts():  # a checkpoint has the weights after this step, or before
            values = self._stepper.update(sums, rate)
            self._step += 1
            self._last = rate, self._mask_rate(progress)
            if self._log is not None:
                self._log.add(values)

    def _batch(self, progress: float) -> Batch:
        """Make the batch of the next step."""
        return self._setup.batches.batch(self._step, self._mask_rate(progress))

    def _mask_rate(self, progress: float) -> float:
        """Return the share of pieces to mask at a share of the budget; NaN if none are."""
        first, last = self._rates
        return min(max(self._rates), first + (last - first) * progress)

    def _log_evaluate_save(self) -> None:
        """Write a line, evaluate and save a checkpoint, each if it is due."""
        if self._log is None:
            return
        if self._log.is_due:
            self._write_line()
        if self._evaluations.is_due(self._step) and self._status().progress < 1:
            self._evaluate(self._some)
        if self._checkpoints.is_due(self._step):
            self._save()
            self._checkpoints.restart()
            self._log.restart_clock()

    def _evaluate(self, batches: Sequence[Batch]) -> None:
        """Measure and log the held-out loss."""
        if self._log is None:
            return
        self._write_line()
        setup = self._setup
        dtype, tell = setup.step_settings.dtype, self._log.show_evaluation
        self.score = evaluate(self._model, batches, dtype, setup.characters, tell)
        if not math.isfinite(self.score.loss):
            self._raise_diverged(self._step, f"the held-out loss is {self.score.loss:.3g}")
        self._log.write_score(self._status(), self.score, setup.unigram)
        self._evaluated = self._step
        if self.score.n_targets == _n_targets(setup.held_out):
            self._finished = self._step
        self._evaluations.advance()

    def _write_line(self) -> None:
        """Read the values of the last steps and write a line; raise if they diverged."""
        assert self._log is not None
        values = self._log.read()
        good = np.isfinite(values).all(1)
        if not good.all():
            first = int(np.argmin(good))
            loss, _, n_targets, norm = values[first].tolist()
            what, value = ("loss", loss / max(n_targets, 1.0))
            if math.isfinite(value):
                what, value = "gradient norm", norm
            step = self._step - len(values) + first + 1
            self._raise_diverged(step, f"the {what} is {value:.3g}")
        if self._log.loss > _DIVERGED * math.log(self._model.config.n_pieces):
            self._raise_diverged(self._step, f"the loss is {self._log.loss:.3g}")
        self._log.write_line(self._status())

    def _raise_diverged(self, step: int, what: str) -> None:
        """Raise; checkpoints written before stay."""
        kept = load_checkpoint(self._setup.directory / CHECKPOINTS)
        where = f"; the checkpoint of step {kept[1]['step']:,} is kept" if kept else ""
        raise FirthError(
            f"training diverged at step {step:,}: {what}; pass `force=True` to start over, and "
            f"`learning_rate={self._rate / 4:.2g}` or less, or `dtype=float32`{where}"
        )

    def _status(self) -> TrainingStatus:
        """Return the progress of the training run."""
        seconds = self._seconds + time.monotonic() - self._started
        progress = self._setup.budget.progress(self._step, seconds)
        return TrainingStatus(self._step, seconds, progress, *self._last)

    def _load(self) -> tuple[int, float]:
        """Load the last checkpoint's weights and moments; return its step and seconds."""
        folder = self._setup.directory / CHECKPOINTS
        found = load_checkpoint(folder)
        if found is None:
            is_time = self._setup.budget.seconds is not None
            return 0, self._setup.seconds if is_time else 0.0
        arrays, state = found
        if state.get("format") != FORMAT:
            raise ArtifactError(
                f"{folder}: has format {state.get('format')}, this version reads {FORMAT}; "
                "pass `force=True` to start over"
            )
        if state["text"] != self._setup.text:
            raise ArtifactError(
                f"{folder}: belongs to another text; pass `force=True` to start over"
            )
        load_state(self._model, self._optimizer, arrays, state["step"])
        return state["step"], state["seconds"]


def _n_targets(batches: Sequence[Batch]) -> int:
    """Return the number of pieces to predict."""
    return round(sum(float(batch.n_targets) for batch in batches))


def take_rows(batches: Sequence[Batch], n_rows: int) -> list[Batch]:
    """Return ``n_rows`` rows with pieces to predict, evenly spread; all if there are no more."""
    parts = [vars(batch) for batch in batches]
    columns = {
        name: torch.cat([part[name] for part in parts])
        for name, column in parts[0].items()
        if column is not None
    }
    places = columns["weights"].any(1).nonzero().flatten()
    if len(places) <= n_rows:
        return list(batches)
    chosen = places[torch.arange(n_rows, device=places.device) * len(places) // n_rows]
    some = Batch(**{name: column[chosen] for name, column in columns.items()})
    size = len(batches[0].ids)  # fits into memory
    return [some.rows(first, first + size) for first in range(0, n_rows, size)]


class _Interval:
    """An interval in steps, perhaps with a fraction, or in seconds."""

    def __init__(self, steps: float | None, seconds: float | None) -> None:
        self._steps, self._seconds = steps, seconds
        self.restart()

    def is_due(self, step: int) -> bool:
        """Return whether the interval has passed."""
        if self._seconds is None:
            return self.is_step(step)
        return time.monotonic() - self._since >= self._seconds

    def is_step(self, step: int) -> bool:
        """Return whether it ends at a step after 0; False for an interval in time."""
        if self._steps is None:
            return False
        ended, before = (int(each / self._steps + _ROUNDING) for each in (step, max(step - 1, 0)))
        return ended > before

    def restart(self) -> None:
        """Measure seconds from now."""
        self._since = time.monotonic()

    def advance(self) -> None:
        """Measure seconds from the end of the last whole interval, so that delays do not add up."""
        if self._seconds is not None:
            now = time.monotonic()
            self._since = now - (now - self._since) % self._seconds
