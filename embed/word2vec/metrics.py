"""Training metrics: summed losses, lines of ``metrics.jsonl`` and the progress line."""

import time
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.metrics import HeldOutLoss, Metrics


@dataclass(frozen=True)
class LossSum:
    """Negative log-likelihood summed over pairs."""

    loss: float  # natural logarithm
    pairs: int

    def __add__(self, other: "LossSum") -> "LossSum":
        return LossSum(self.loss + other.loss, self.pairs + other.pairs)

    @property
    def mean(self) -> float:
        """Mean loss per pair; NaN if there are no pairs."""
        return self.loss / self.pairs if self.pairs else float("nan")


class TrainingMetrics:
    """Writes ``metrics.jsonl`` and formats the detail of the progress line."""

    def __init__(self, path: Path, tokens: int, epoch: int, total: int, interval: float) -> None:
        # tokens, epoch: where the training begins or resumes; interval: seconds between lines
        self._begun, self._tokens, self._total = tokens, tokens, total
        self._seconds = 0.0  # of training, since ``_begun``
        # since the last line
        self._loss, self._line_tokens, self._line_seconds = LossSum(0.0, 0), 0, 0.0
        self._written, self._interval = time.monotonic(), interval
        self.detail = ""
        self._metrics = Metrics(
            path,
            lambda line: line["tokens"] <= tokens and ("loss" in line or line["epoch"] <= epoch),
        )

    def add(self, epoch: int, tokens: int, loss: LossSum, rate: float, seconds: float) -> None:
        """Add the results of a batch; write a line every few seconds."""
        self._loss += loss
        self._line_tokens += tokens - self._tokens
        self._line_seconds += seconds
        self._seconds += seconds
        self._tokens = tokens
        self.detail = f"loss {self._loss.mean:.4f}  rate {rate:.4f}"
        if time.monotonic() - self._written < self._interval:
            return
        speed = self._line_tokens / self._line_seconds
        self._write(
            tokens=tokens,
            epoch=epoch + 1,
            loss=self._loss.mean,
            rate=rate,
            tokens_per_second=round(speed),
            eta_seconds=round((self._total - tokens) / speed, 1),
        )
        self._loss, self._line_tokens, self._line_seconds = LossSum(0.0, 0), 0, 0.0

    def end_epoch(self, epoch: int, loss: LossSum, held_out: Sequence[LossSum]) -> None:
        """Write the losses of an epoch, those on held-out text by unit, and the speed so far."""
        pairs = np.array([unit.pairs for unit in held_out], dtype=np.int64)
        measured = HeldOutLoss.of_units(np.array([unit.loss for unit in held_out]), pairs)
        speed = (self._tokens - self._begun) / self._seconds if self._seconds else None
        self._write(
            tokens=self._tokens,
            epoch=epoch + 1,
            epoch_loss=loss.mean,
            pairs=loss.pairs,
            **measured.to_line(),
            held_out_pairs=int(pairs.sum()),
            tokens_per_second=None if speed is None else round(speed),
        )

    def _write(self, **line: Any) -> None:
        """Append a line."""
        self._metrics.write(**line)
        self._written = time.monotonic()
