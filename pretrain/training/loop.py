"""The course of a training: steps, evaluations, checkpoints, and when to give up."""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from corpora.artifacts.checkpoint import load_checkpoint, save_checkpoint
from corpora.artifacts.metrics import METRICS, read_metrics
from corpora.common.errors import ArtifactError, FirthError
from corpora.common.interrupts import defer_interrupts
from corpora.common.reporting import Progress
from pretrain.config import MlmConfig, parse_every, parse_rates
from pretrain.data.batches import Batch, Batches
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.training.distributed import ProcessGroup
from pretrain.training.evaluation import MlmScore, evaluate
from pretrain.training.log import Log, TrainingStatus, Workload
from pretrain.training.optimizer import load_state, make_optimizer, state_arrays
from pretrain.training.schedule import Budget, rate_factor
from pretrain.training.step import Stepper, StepSettings

CHECKPOINTS = "checkpoints"
FORMAT = 1  # of a checkpoint
_DONE, _STOP = -1.0, -2.0  # what the first process tells in the place of progress
# All pieces alike lose log V each. A model that was drawn at random may be somewhat worse.
_DIVERGED = 3.0


@dataclass(frozen=True)
class TrainingSetup:
    """What a training does."""

    config: MlmConfig  # settled
    batches: Batches  # what is trained on
    budget: Budget  # how long
    workload: Workload  # of its steps
    step_settings: StepSettings  # how steps are computed
    max_segments: int  # of a row
    text: str  # fingerprint of the rows: a checkpoint of another text is refused
    held_out: list[Batch]  # what is evaluated on
    unigram: MlmScore  # of frequencies alone on the same
    directory: Path  # the unfinished run


def run_training(
    model: MaskedLanguageModel, setup: TrainingSetup, group: ProcessGroup, tell: Progress
) -> MlmScore:
    """Train, or go on training, to the end of the budget.

    The first process writes checkpoints and ``metrics.jsonl``, whose lines hold ``step``,
    ``epoch``, ``tokens`` (slots), ``seconds``, ``loss`` and ``accuracy`` (of masked pieces, since
    the line before), ``rate``, ``mask_rate``, ``gradient_norm``, ``tokens_per_second``,
    ``padding`` (share of slots), ``mfu`` (share of the measured peak), ``data_wait`` (share of
    time), ``memory`` (bytes at most) and ``eta_seconds``; or, at the start, every so often and at
    the end, ``held_out_loss``, ``held_out_perplexity``, ``held_out_accuracy`` over
    ``held_out_targets``, ``unigram_loss`` and ``unigram_accuracy``.

    On a CPU, with a budget that is no time, the weights are the same bits whether or not
    it was interrupted.
    """
    training = _Training(model, setup, group, tell)
    try:
        training.run()
    except BaseException as error:
        with defer_interrupts():  # another Ctrl-C must not cut the checkpoint off
            training.abort(save=isinstance(error, KeyboardInterrupt))
        raise
    return training.score


class _Training:
    """One training on its way."""

    def __init__(
        self, model: MaskedLanguageModel, setup: TrainingSetup, group: ProcessGroup, tell: Progress
    ) -> None:
        config = setup.config
        assert config.learning_rate is not None
        self._model, self._setup, self._group = model, setup, group
        self._rate, self._rates = config.learning_rate, parse_rates(config.mask_rate)
        self._optimizer = make_optimizer(model, config.weight_decay)
        self._step, self._seconds = self._load()
        self._stepper = Stepper(
            model,
            self._optimizer,
            setup.step_settings,
            clip=config.clip,
            seed=config.seed,
            group=group,
            max_segments=setup.max_segments,
        )
        self._log: Log | None = None
        if group.is_first:
            device = model.pieces.weight.device
            self._log = Log(setup.directory / METRICS, self._step, setup.workload, device, tell)
        self._evaluations = _Interval("evaluate_every", config.evaluate_every)
        self._checkpoints = _Interval("checkpoint_every", config.checkpoint_every)
        self._last = (0.0, self._rates[0])
        self._started = time.monotonic()
        self._evaluated = -1
        self._stepping = False
        self.score = MlmScore(math.nan, math.nan, 0)

    def run(self) -> None:
        """Train from the last step on."""
        if self._setup.step_settings.compile:
            self._stepper.warm_up(self._batch(0.0))
        self._started = time.monotonic()
        self._evaluations.restart()
        self._checkpoints.restart()
        if self._log is not None:
            self._log.skip()
        self._recall_score()
        due = self._step == 0 or self._evaluations.is_step(self._step)
        if due and self._evaluated != self._step:
            self._evaluate()
        while self._take_step():
            self._log_evaluate_save()
        if self._evaluated != self._step:
            self._evaluate()

    def _recall_score(self) -> None:
        """Take the score of this step, if an earlier call measured it."""
        if self._log is None:
            return
        for line in read_metrics(self._setup.directory / METRICS):
            if line["step"] == self._step and "held_out_loss" in line:
                loss, accuracy = line["held_out_loss"], line["held_out_accuracy"]
                self.score = MlmScore(loss, accuracy, line["held_out_targets"])
                self._evaluated = self._step

    def abort(self, *, save: bool) -> None:
        """Write a checkpoint if that is wanted, then let the others stop, who wait for a step."""
        try:
            if save:
                self._save()
        finally:
            if self._group.is_first and not self._stepping:
                self._group.broadcast(_STOP)

    def _save(self) -> None:
        """Write a checkpoint, unless the weights have become useless."""
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
            keep=self._setup.config.keep_checkpoints,
        )

    def _take_step(self) -> bool:
        """Do what the first process tells: a step, or none if the budget is spent."""
        with defer_interrupts():
            self._stepping = True
            progress = self._group.broadcast(self._next())
            if progress == _STOP:
                raise SystemExit(1)
            if progress != _DONE:
                self._do_step(progress)
            self._stepping = False
        return progress != _DONE

    def _next(self) -> float:
        """Where in the budget the next step lies."""
        at = self._status()
        budget = self._setup.budget
        return _DONE if at.progress >= 1 else budget.middle(at.step, at.seconds)

    def _do_step(self, progress: float) -> None:
        """One step."""
        config = self._setup.config
        rate = self._rate * rate_factor(config.schedule, config.warmup, progress)
        if self._log is not None:
            self._log.making.start()
        batch = self._batch(progress)
        if self._log is not None:
            self._log.making.stop()
        values = self._stepper.step(self._step, batch, rate)
        self._step += 1
        self._last = rate, self._mask_rate(progress)
        if self._log is not None:
            self._log.add(values)

    def _batch(self, progress: float) -> Batch:
        """What the next step trains on."""
        return self._setup.batches.batch(self._step, self._mask_rate(progress))

    def _mask_rate(self, progress: float) -> float:
        """Share of the pieces to predict."""
        first, last = self._rates
        return min(max(self._rates), first + (last - first) * progress)

    def _log_evaluate_save(self) -> None:
        """Tell, evaluate and save where it is time to."""
        if self._log is None:
            return
        if self._log.is_due:
            self._write_line()
        if self._evaluations.is_due(self._step):
            self._evaluate()
        if self._checkpoints.is_due(self._step):
            self._save()
            self._checkpoints.restart()
            self._log.skip()

    def _evaluate(self) -> None:
        """Measure the held-out loss."""
        if self._log is None:
            return
        self._write_line()
        setup = self._setup
        self.score = evaluate(self._model, setup.held_out, setup.step_settings.dtype)
        if not math.isfinite(self.score.loss):
            self._raise_diverged(self._step, f"the held-out loss is {self.score.loss:.3g}")
        self._log.write_score(self._status(), self.score, setup.unigram)
        self._evaluated = self._step
        self._evaluations.restart()

    def _write_line(self) -> None:
        """Read what the steps gave, stop where they went wrong, else write a line."""
        assert self._log is not None
        values = self._log.read()
        good = np.isfinite(values).all(1)
        if not good.all():
            first = int(np.argmin(good))
            loss, _, n_targets, norm = values[first].tolist()
            what, value = ("loss", loss / max(n_targets, 1.0))
            if math.isfinite(value):
                what, value = "length of the gradient", norm
            step = self._step - len(values) + first + 1
            self._raise_diverged(step, f"the {what} is {value:.3g}")
        if self._log.loss > _DIVERGED * math.log(self._model.config.n_pieces):
            self._raise_diverged(self._step, f"the loss is {self._log.loss:.3g}")
        self._log.write_line(self._status())

    def _raise_diverged(self, step: int, what: str) -> None:
        """Give up; checkpoints were written while all was well, and stay."""
        kept = load_checkpoint(self._setup.directory / CHECKPOINTS)
        where = f"; step {kept[1]['step']:,} is kept" if kept else ""
        raise FirthError(
            f"training diverged at step {step:,}: {what}; pass `force=True` to start anew, and "
            f"`learning_rate={self._rate / 4:.2g}` or less, a smaller `clip` or "
            f"`dtype=float32`{where}"
        )

    def _status(self) -> TrainingStatus:
        """Where the training is."""
        seconds = self._seconds + time.monotonic() - self._started
        progress = self._setup.budget.progress(self._step, seconds)
        return TrainingStatus(self._step, seconds, progress, *self._last)

    def _load(self) -> tuple[int, float]:
        """Step and seconds of the last checkpoint, with its weights and moments."""
        folder = self._setup.directory / CHECKPOINTS
        found = load_checkpoint(folder)
        if found is None:
            return 0, 0.0
        arrays, state = found
        if state.get("format") != FORMAT:
            raise ArtifactError(
                f"{folder}: format {state.get('format')} is not known, this version reads "
                f"{FORMAT}; pass `force=True` to start anew"
            )
        if state["text"] != self._setup.text:
            raise ArtifactError(f"{folder}: is of another text; pass `force=True` to start anew")
        load_state(self._model, self._optimizer, arrays, state["step"])
        return state["step"], state["seconds"]


class _Interval:
    """An interval in steps or seconds."""

    def __init__(self, setting: str, text: str) -> None:
        self._steps, self._seconds = parse_every(setting, text)
        self.restart()

    def is_due(self, step: int) -> bool:
        """Whether it has passed."""
        if self._seconds is None:
            return self.is_step(step)
        return time.monotonic() - self._since >= self._seconds

    def is_step(self, step: int) -> bool:
        """Whether it has passed at a step, where it is given in steps."""
        return self._steps is not None and step % self._steps == 0

    def restart(self) -> None:
        """Count seconds from now."""
        self._since = time.monotonic()
