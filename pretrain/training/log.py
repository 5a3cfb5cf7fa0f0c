"""What a training tells: lines of ``metrics.jsonl``, and the live display."""

import math
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor

from corpora.artifacts.metrics import Metrics
from corpora.common.reporting import Progress
from pretrain.device import Stopwatch, peak_memory
from pretrain.training.evaluation import MlmScore

LINE_SECONDS = 2.0


@dataclass(frozen=True)
class Workload:
    """What turns steps into tokens, epochs and shares."""

    row_slots: int  # T, slots of a row
    batch_rows: int  # rows of a step
    n_rows: int  # rows of the text
    padding: float  # share of slots that hold nothing
    row_flops: float  # floating-point operations of a row
    peak: float  # operations a second that the devices of all processes reach at most

    @property
    def step_tokens(self) -> int:
        """Slots of a step."""
        return self.row_slots * self.batch_rows


@dataclass(frozen=True)
class TrainingStatus:
    """Where a training is."""

    step: int  # steps that are done
    seconds: float  # trained in all calls
    progress: float  # share of the budget that is spent
    rate: float  # of the last step
    mask_rate: float  # of the last step


class Log:
    """Gathers what steps gave, without waiting for the device, and tells it now and then."""

    def __init__(
        self, path: Path, step: int, workload: Workload, device: torch.device, tell: Progress
    ) -> None:
        self.making = Stopwatch(device)
        self._metrics = Metrics(path, lambda line: step > 0 and line["step"] <= step)
        self._workload = workload
        self._device = device
        self._tell = tell
        self._waiting: list[Tensor] = []
        self._sums = np.zeros(3)
        self._norm = 0.0
        self._steps = 0
        self._started = time.perf_counter()
        self._held_out = ""
        tell(step * workload.step_tokens, None)

    def add(self, values: Tensor) -> None:
        """Take in what a step gave."""
        # values: float32 (4,)
        self._waiting.append(values)

    def read(self) -> np.ndarray:
        """Wait for the steps since the last reading, and give their values, float64 (n, 4)."""
        if not self._waiting:
            return np.zeros((0, 4))
        values: np.ndarray = torch.stack(self._waiting).double().cpu().numpy()
        self._waiting = []
        self._sums += values[:, :3].sum(0)
        self._norm = float(values[-1, 3])
        self._steps += len(values)
        return values

    @property
    def is_due(self) -> bool:
        """Whether a line is to be written."""
        return time.perf_counter() - self._started >= LINE_SECONDS

    @property
    def loss(self) -> float:
        """Mean loss of a piece since the last line, of the steps that were read."""
        return float(self._sums[0] / max(self._sums[2], 1.0))

    def write_line(self, at: TrainingStatus) -> None:
        """Write what came since the last line; nothing, if no step was read."""
        if not self._steps:
            return
        workload, tokens = self._workload, at.step * self._workload.step_tokens
        seconds = time.perf_counter() - self._started
        rows = self._steps * workload.batch_rows
        left = at.seconds / at.progress - at.seconds if at.progress else math.nan
        self._metrics.write(
            step=at.step,
            epoch=round(at.step * workload.batch_rows / workload.n_rows, 4),
            tokens=tokens,
            seconds=round(at.seconds, 2),
            loss=self.loss,
            accuracy=self._sums[1] / max(self._sums[2], 1.0),
            rate=at.rate,
            mask_rate=at.mask_rate,
            gradient_norm=self._norm,
            tokens_per_second=round(rows * workload.row_slots / seconds),
            padding=workload.padding,
            mfu=round(rows * workload.row_flops / seconds / workload.peak, 4),
            data_wait=round(self.making.read() / seconds, 4),
            memory=peak_memory(self._device),
            eta_seconds=round(max(left, 0.0), 1),
        )
        total = tokens / at.progress if at.progress else None
        detail = f"loss {self.loss:.3f}  rate {at.rate:.2g}{self._held_out}"
        self._tell(tokens, total, detail)
        self._sums, self._steps = np.zeros(3), 0
        self._started = time.perf_counter()

    def write_score(self, at: TrainingStatus, score: MlmScore, unigram: MlmScore) -> None:
        """Write a held-out evaluation."""
        self._metrics.write(
            step=at.step,
            tokens=at.step * self._workload.step_tokens,
            seconds=round(at.seconds, 2),
            held_out_loss=score.loss,
            held_out_perplexity=score.perplexity,
            held_out_accuracy=score.accuracy,
            held_out_targets=score.n_targets,
            unigram_loss=unigram.loss,
            unigram_accuracy=unigram.accuracy,
        )
        self._held_out = f"  held-out {score.loss:.3f}"
        self.skip()

    def skip(self) -> None:
        """Let the time that other work took not count as the steps'; call it after a line."""
        self._started = time.perf_counter()
