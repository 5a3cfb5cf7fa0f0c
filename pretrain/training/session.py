"""A training of a masked or causal language model in progress: steps, metrics, checkpoints."""

import contextlib
import math
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.metrics import METRICS, read_metrics, write_unit_losses
from firth.corpora.common.errors import FirthError
from firth.corpora.common.interrupts import defer_interrupts
from firth.embed.runs.session import Interval, Position, Session, Trained, lower_rate
from firth.pretrain.config import TUNING, MlmConfig, MlmTuning
from firth.pretrain.data.batches import Batch
from firth.pretrain.device import Stopwatch, matmul_peak, peak_memory
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.flops import row_flops
from firth.pretrain.training.autotune import TunedSettings
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.evaluation import MlmScore
from firth.pretrain.training.prepare import TrainingData
from firth.pretrain.training.schedule import Budget

LINE_SECONDS = 2.0
KEPT_CHECKPOINTS = 2
PARTS = ("data_wait", "forward", "backward", "optimizer")  # of a step
_DONE, _STOP = -1.0, -2.0  # broadcast in the place of the progress
_DIVERGED = 3.0  # times log V, the loss of equal probabilities; random weights are a little worse


@dataclass(frozen=True)
class Workload:
    """Sizes and costs that turn steps into tokens, epochs and shares of the peak."""

    row_slots: int  # T, slots per row
    batch_rows: int  # rows per step
    n_rows: int  # rows of the text
    padding: float  # share of slots that are padding
    row_flops: float  # floating-point operations per row
    peak: float  # measured floating-point operations per second of all processes' devices

    @property
    def step_tokens(self) -> int:
        """Slots per step."""
        return self.row_slots * self.batch_rows


def make_workload(data: TrainingData, tuned: TunedSettings, device: torch.device) -> Workload:
    """Measure the device's peak speed, and count the operations of a row."""
    rows = data.train
    with torch.device("meta"):
        model = MaskedLanguageModel(data.shape)
    return Workload(
        row_slots=rows.sequence_length,
        batch_rows=data.batches.batch_rows,
        n_rows=rows.n_rows,
        padding=rows.padding,
        row_flops=row_flops(model, data.batches.capacity),
        peak=matmul_peak(device, tuned.step_settings.dtype) * tuned.processes,
    )


@dataclass(frozen=True)
class MlmPosition(Position):
    """Position in a budget."""

    seconds: float = 0.0  # of training, over all calls


class MlmSession(Session[MlmPosition]):
    """A training of one or several processes, of which the first decides and writes.

    Lines of metrics hold either training metrics since the line before (``tokens`` are slots,
    ``padding`` a share of slots, ``mfu`` a share of the measured peak at the mean mask rate,
    ``memory`` the most bytes in use, the parts of a step shares of the time), or held-out metrics.
    Values of steps are collected without waiting for the device, and read for a line.
    """

    def __init__(
        self,
        run: Path,
        trained: Trained,
        config: MlmConfig,  # resolved
        budget: Budget,
        workload: Workload,
        group: ProcessGroup,
        device: torch.device,
        *,
        n_pieces: int,
        text: str,  # fingerprint of the rows
        seconds: float = 0.0,  # that the first vectors took; they count if the budget is a time
        tuning: MlmTuning = TUNING,
    ) -> None:
        super().__init__(
            run,
            trained,
            MlmPosition(seconds=seconds if budget.steps is None else 0.0),
            Interval(seconds=tuning.checkpoint_seconds),
            subject=text,
            keep=KEPT_CHECKPOINTS,
            writes=group.is_first,
        )
        self.stopwatch = Stopwatch(device)
        self._config, self._budget, self._workload = config, budget, workload
        self._group, self._device = group, device
        self._most_loss = _DIVERGED * math.log(n_pieces)
        self._stepping = False
        self._rates = 0.0, config.mask_rates[0]  # learning and mask rate of the last step
        self._unread: list[Tensor] = []
        self._sums, self._norm, self._n_steps = np.zeros(3), 0.0, 0  # since the last line
        self._held_out = ""
        self._shown: tuple[float, float | None] = (self.position.step * workload.step_tokens, None)
        self.restart()

    def __exit__(self, kind: object, error: BaseException | None, traceback: object) -> None:
        try:
            super().__exit__(kind, error, traceback)
        finally:  # the others wait for a step
            if error is not None and self._group.is_first and not self._stepping:
                self._group.broadcast(_STOP)

    def restart(self) -> None:
        """Begin to measure times, after work that is no part of a training."""
        self._started = time.monotonic()
        self._every.restart()
        self.restart_line()
        self.show(*self._shown)

    def restart_line(self) -> None:
        """Restart the clock of a line, so that other work does not count as training time."""
        self._line_started = time.perf_counter()

    @property
    def seconds(self) -> float:
        """Seconds of training, including earlier calls."""
        return self.position.seconds + time.monotonic() - self._started

    @property
    def progress(self) -> float:
        """Share of the budget that is spent."""
        return self._budget.progress(self.position.step, self.seconds)

    @contextlib.contextmanager
    def step(self) -> Iterator[float | None]:
        """Yield the progress at the next step, which all processes take; None at the end.

        Ctrl-C discards a step that has not changed the weights, unless other processes wait for it.
        """
        with defer_interrupts() if self._group.size > 1 else contextlib.nullcontext():
            self._stepping = True
            step, seconds = self.position.step, self.seconds
            done = self._budget.progress(step, seconds) >= 1
            midpoint = _DONE if done else self._budget.midpoint(step, seconds)
            progress = self._group.broadcast(midpoint)
            if progress == _STOP:
                raise SystemExit(1)
            yield None if progress == _DONE else progress
            self._stepping = False

    def learned(self, values: Tensor, rate: float, mask_rate: float) -> None:
        """Move on by a step, whose values :meth:`Stepper.update` returned."""
        self.position = replace(self.position, step=self.position.step + 1)
        self._rates = rate, mask_rate
        if self.metrics is not None:
            self._unread.append(values)

    def write_line_if_due(self) -> None:
        """Write a line if the last one is some seconds old."""
        if time.perf_counter() - self._line_started >= LINE_SECONDS:
            self.write_line()

    def write_line(self) -> None:
        """Read the values of the last steps and write a line; raise if they diverged."""
        self._read()
        if not self._n_steps:
            return
        assert self.metrics is not None
        workload, step, (rate, mask_rate) = self._workload, self.position.step, self._rates
        line_seconds = time.perf_counter() - self._line_started
        seconds, progress, tokens = self.seconds, self.progress, step * workload.step_tokens
        parts, rows = self.stopwatch.read(), self._n_steps * workload.batch_rows
        remaining = seconds / progress - seconds if progress else math.nan
        loss = self._mean(0)
        self.metrics.write(
            step=step,
            epoch=round(step * workload.batch_rows / workload.n_rows, 4),
            tokens=tokens,
            seconds=round(seconds, 2),
            loss=loss,
            accuracy=self._mean(1),
            rate=rate,
            mask_rate=mask_rate,
            gradient_norm=self._norm,
            tokens_per_second=round(rows * workload.row_slots / line_seconds),
            padding=workload.padding,
            mfu=round(rows * workload.row_flops / line_seconds / workload.peak, 4),
            **{part: round(parts.get(part, 0.0) / line_seconds, 4) for part in PARTS},
            memory=peak_memory(self._device),
            eta_seconds=round(max(remaining, 0.0), 1),
        )
        self._shown = tokens, tokens / progress if progress else None
        self.show(*self._shown, f"loss {loss:.3f}  rate {rate:.2g}{self._held_out}")
        self._sums, self._n_steps = np.zeros(3), 0
        self.restart_line()

    def evaluating(self, batches: Sequence[Batch]) -> Iterator[Batch]:
        """Yield the batches of a held-out evaluation, and show how many are done."""
        for number, batch in enumerate(batches, start=1):
            yield batch
            self.show(*self._shown, f"evaluating {number / len(batches):.0%}")

    def write_score(
        self, score: MlmScore, unigram: MlmScore, causal: MlmScore | None = None
    ) -> None:
        """Write a held-out evaluation, perhaps with causal rows; raise if the training diverged."""
        assert self.metrics is not None
        step = self.position.step
        if not math.isfinite(score.loss):
            raise self._diverged(step, f"the held-out loss is {score.loss:.3g}")
        if score.units is not None:
            write_unit_losses(self.run, score.units)
        bits, of_text = (causal or score).bits_per_character, dict[str, float]()
        if causal is not None:
            of_text |= {
                f"causal_{name}": value for name, value in causal.held_out.to_line().items()
            }
            of_text["causal_held_out_accuracy"] = causal.accuracy
        if bits is not None:
            of_text["held_out_bits_per_character"] = bits.mean
            of_text["held_out_bits_standard_error"] = bits.standard_error
        self.metrics.write(
            step=step,
            tokens=step * self._workload.step_tokens,
            seconds=round(self.seconds, 2),
            **score.held_out.to_line(),
            held_out_perplexity=score.perplexity,
            held_out_accuracy=score.accuracy,
            held_out_targets=score.n_targets,
            unigram_loss=unigram.loss,
            unigram_accuracy=unigram.accuracy,
            **of_text,
        )
        self._held_out = f"  held-out {score.held_out}"
        self.restart_line()

    def scored_targets(self) -> int:
        """Return the held-out targets that were scored at this step already."""
        lines = read_metrics(self.run / METRICS)
        at_step = [line for line in lines if line["step"] == self.position.step]
        return max((line.get("held_out_targets", 0) for line in at_step), default=0)

    def save(self) -> None:
        """Write a line and a checkpoint; raise if the training has diverged."""
        self.write_line()
        self.position = replace(self.position, seconds=self.seconds)
        self._started = time.monotonic()
        super().save()
        self.restart_line()

    def _read(self) -> None:
        """Wait for the steps since the last call and add them up; raise if they diverged."""
        if not self._unread:
            return
        # float64 (n, 4): loss, correct predictions, targets, gradient norm
        values: np.ndarray = torch.stack(self._unread).cpu().double().numpy()
        self._unread = []
        self._sums += values[:, :3].sum(0)
        self._norm = float(values[-1, 3])
        self._n_steps += len(values)
        good = np.isfinite(values).all(1)
        if not good.all():
            first = int(np.argmin(good))
            loss, _, n_targets, norm = values[first].tolist()
            what, value = ("loss", loss / max(n_targets, 1.0))
            if math.isfinite(value):
                what, value = "gradient norm", norm
            step = self.position.step - len(values) + first + 1
            raise self._diverged(step, f"the {what} is {value:.3g}")
        if self._mean(0) > self._most_loss:
            raise self._diverged(self.position.step, f"the loss is {self._mean(0):.3g}")

    def _mean(self, column: int) -> float:
        """Return the mean per predicted piece since the last line."""
        return float(self._sums[column] / max(self._sums[2], 1.0))

    def _diverged(self, step: int, what: str) -> FirthError:
        """Return the error; checkpoints written before stay."""
        config = self._config
        assert config.learning_rate is not None
        advice = (
            f"`force=True` to start over, and {lower_rate(config.learning_rate)}, or "
            "`dtype=float32`"
        )
        return self.diverged(f"at step {step:,}", what, advice, keep=True)
