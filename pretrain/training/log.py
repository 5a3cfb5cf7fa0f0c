"""Training metrics: lines of ``metrics.jsonl``, and the live display."""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from firth.corpora.artifacts.metrics import HeldOutLoss, Metrics, read_metrics, write_unit_losses
from firth.corpora.common.reporting import Progress
from firth.pretrain.device import Stopwatch, peak_memory
from firth.pretrain.training.evaluation import MlmScore

LINE_SECONDS = 2.0
PARTS = ("data_wait", "forward", "backward", "optimizer")  # of a step


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


@dataclass(frozen=True)
class TrainingStatus:
    """Progress of a training run."""

    step: int  # completed steps
    seconds: float  # training time, including earlier calls
    progress: float  # share of the budget that is spent
    rate: float  # learning rate of the last step
    mask_rate: float  # of the last step; NaN if nothing is masked


class TrainingLog:
    """Collects the values of steps without waiting for the device, and writes them in intervals.

    Lines of an interrupted training stay in the file up to ``step``. The training loop measures
    the parts of a step with ``stopwatch``.
    """

    def __init__(
        self, path: Path, step: int, workload: Workload, device: torch.device, show: Progress
    ) -> None:
        self.stopwatch = Stopwatch(device)
        self._directory = path.parent
        lines = [line for line in read_metrics(path) if step > 0 and line["step"] <= step]
        self._metrics = Metrics(path, len(lines))
        self._workload = workload
        self._device = device
        self._show = show
        self._unread: list[Tensor] = []
        self._sums = np.zeros(3)
        self._norm = 0.0
        self._steps = 0
        self._started = time.perf_counter()
        self._held_out = ""
        self._shown: tuple[float, float | None] = (step * workload.step_tokens, None)
        show(*self._shown)

    def add(self, values: Tensor) -> None:
        """Collect the values that :meth:`~firth.pretrain.training.step.Stepper.step` returned."""
        self._unread.append(values)

    def read(self) -> np.ndarray:
        """Wait for the steps since the last call, and return their values, float64 (n, 4)."""
        if not self._unread:
            return np.zeros((0, 4))
        values: np.ndarray = torch.stack(self._unread).double().cpu().numpy()
        self._unread = []
        self._sums += values[:, :3].sum(0)
        self._norm = float(values[-1, 3])
        self._steps += len(values)
        return values

    @property
    def is_due(self) -> bool:
        """Whether it is time to write a line."""
        return time.perf_counter() - self._started >= LINE_SECONDS

    @property
    def loss(self) -> float:
        """Mean loss per predicted piece since the last line, over the steps that were read."""
        return float(self._sums[0] / max(self._sums[2], 1.0))

    def write_line(self, status: TrainingStatus) -> None:
        """Write a line about the steps since the last one; nothing if none was read."""
        if not self._steps:
            return
        workload, tokens = self._workload, status.step * self._workload.step_tokens
        seconds = time.perf_counter() - self._started
        parts, rows = self.stopwatch.read(), self._steps * workload.batch_rows
        remaining = (
            status.seconds / status.progress - status.seconds if status.progress else math.nan
        )
        self._metrics.write(
            step=status.step,
            epoch=round(status.step * workload.batch_rows / workload.n_rows, 4),
            tokens=tokens,
            seconds=round(status.seconds, 2),
            loss=self.loss,
            accuracy=self._sums[1] / max(self._sums[2], 1.0),
            rate=status.rate,
            mask_rate=status.mask_rate,
            gradient_norm=self._norm,
            tokens_per_second=round(rows * workload.row_slots / seconds),
            padding=workload.padding,
            mfu=round(rows * workload.row_flops / seconds / workload.peak, 4),
            **{part: round(parts.get(part, 0.0) / seconds, 4) for part in PARTS},
            memory=peak_memory(self._device),
            eta_seconds=round(max(remaining, 0.0), 1),
        )
        self._shown = tokens, tokens / status.progress if status.progress else None
        detail = f"loss {self.loss:.3f}  rate {status.rate:.2g}{self._held_out}"
        self._show(*self._shown, detail)
        self._sums, self._steps = np.zeros(3), 0
        self._started = time.perf_counter()

    def show_evaluation(self, share: float) -> None:
        """Show how much of a held-out evaluation is done."""
        self._show(*self._shown, f"evaluating {share:.0%}")

    def write_score(self, status: TrainingStatus, score: MlmScore, unigram: MlmScore) -> None:
        """Write a held-out evaluation."""
        if score.units is not None:
            write_unit_losses(self._directory, score.units)
        self._metrics.write(
            step=status.step,
            tokens=status.step * self._workload.step_tokens,
            seconds=round(status.seconds, 2),
            **score.held_out.to_line(),
            held_out_perplexity=score.perplexity,
            held_out_accuracy=score.accuracy,
            held_out_targets=score.n_targets,
            unigram_loss=unigram.loss,
            unigram_accuracy=unigram.accuracy,
            **_bits_line(score.bits_per_character),
        )
        self._held_out = f"  held-out {score.held_out}"
        self.restart_clock()

    def restart_clock(self) -> None:
        """Restart the clock, so that other work does not count as training time."""
        self._started = time.perf_counter()


def _bits_line(bits: HeldOutLoss | None) -> dict[str, float]:
    """Return entries for a line of metrics."""
    if bits is None:
        return {}
    return {
        "held_out_bits_per_character": bits.mean,
        "held_out_bits_standard_error": bits.standard_error,
    }
