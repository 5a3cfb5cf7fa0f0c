"""A training that passes over a text: losses of steps, epochs and held-out text, and its speed."""

import math
import time
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.metrics import HeldOutLoss, write_unit_losses
from firth.corpora.common.interrupts import defer_interrupts
from firth.embed.runs.session import Interval, Position, Session, Trained, lower_rate
from firth.embed.word2vec.config import Tuning


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


@dataclass(frozen=True)
class TextPosition(Position):
    """Position in a text."""

    epoch: int = 0  # next epoch, from 0
    part: int = 0  # next chunk or batch of it, from 0
    tokens: int = 0  # trained on so far, over all epochs
    loss: float = 0.0  # of the epoch so far
    pairs: int = 0  # of the epoch so far

    @property
    def losses(self) -> LossSum:
        """The loss of the epoch so far."""
        return LossSum(self.loss, self.pairs)


class TextSession(Session[TextPosition]):
    """Writes metrics: a line every few seconds, and one per epoch.

    The first have ``tokens``, ``epoch``, ``loss`` (mean negative log-likelihood per pair since the
    line before), ``rate``, ``tokens_per_second``, ``eta_seconds``; the others ``epoch_loss`` over
    its ``pairs``, ``held_out_loss`` over ``held_out_pairs``, with its ``held_out_standard_error``
    from ``held_out_units``, and ``tokens_per_second`` since the training began or resumed.
    ``held_out.npy`` has the losses of the units at the end of the last epoch.
    """

    def __init__(
        self,
        run: Path,
        trained: Trained,
        tuning: Tuning,
        *,
        total: int,  # tokens of all epochs
        first_rate: float,  # learning rate
        most_loss: float,  # of a step that has not diverged, per pair
        least_pairs: int,  # of a step that is tested: with fewer, a high loss may be chance
    ) -> None:
        super().__init__(run, trained, TextPosition(), Interval(seconds=tuning.checkpoint_seconds))
        self._total, self._first_rate = total, first_rate
        self._most_loss, self._least_pairs = most_loss, least_pairs
        self._resumed_at, self._seconds, self._n_timed = self.position.tokens, 0.0, 0
        # since the last line
        self._line_loss, self._line_tokens, self._line_seconds = LossSum(0.0, 0), 0, 0.0
        self._lines = Interval(seconds=tuning.metrics_seconds)

    def learned(self, loss: LossSum, tokens: int, parts: int, rate: float) -> None:
        """Move on by some tokens, in some parts, learned in the step that ends now."""
        seconds = time.perf_counter() - self.step_began
        at = self.position
        self._n_timed += 1
        if self._n_timed == 2:  # the first step compiled kernels: speed is that of the others
            self._resumed_at, self._seconds = at.tokens, 0.0
            self._line_tokens, self._line_seconds = 0, 0.0
        self.position = at = replace(
            at, step=at.step + 1, part=at.part + parts, tokens=at.tokens + tokens,
            loss=at.loss + loss.loss, pairs=at.pairs + loss.pairs,
        )  # fmt: skip
        limit = self._most_loss if loss.pairs >= self._least_pairs else math.inf
        self.check(loss, limit)
        self._line_loss += loss
        self._line_tokens += tokens
        self._line_seconds += seconds
        self._seconds += seconds
        detail = f"loss {self._line_loss.mean:.4f}  rate {rate:.4f}"
        if self._lines.is_due(at.step):
            speed = self._line_tokens / self._line_seconds
            self._write(
                loss=self._line_loss.mean, rate=rate, tokens_per_second=round(speed),
                eta_seconds=round((self._total - at.tokens) / speed, 1),
            )  # fmt: skip
            self._line_loss, self._line_tokens, self._line_seconds = LossSum(0.0, 0), 0, 0.0
        self.show(at.tokens, self._total, detail)

    def end_epoch(self, held_out: Sequence[LossSum]) -> None:
        """Write the losses of an epoch, those of held-out text by unit, and move to the next."""
        at = self.position
        # finite, but however high: that of a model that has learned the text by heart is
        self.check(sum(held_out, start=LossSum(0.0, 0)), math.inf)
        units = np.array([(unit.loss, unit.pairs) for unit in held_out]).reshape(-1, 2).T
        measured = HeldOutLoss.of_units(*units)
        speed = (at.tokens - self._resumed_at) / self._seconds if self._seconds else None
        with defer_interrupts():
            if held_out:
                write_unit_losses(self.run, units)
            self._write(
                epoch_loss=at.losses.mean, pairs=at.pairs, **measured.to_line(),
                held_out_pairs=int(units[1].sum()),
                tokens_per_second=None if speed is None else round(speed),
            )  # fmt: skip
            self.position = TextPosition(at.step, at.epoch + 1, tokens=at.tokens)

    def check(self, loss: LossSum, limit: float) -> None:
        """Raise unless the mean loss is a number below a limit."""
        if math.isfinite(loss.loss) and not loss.mean >= limit:
            return
        at = self.position
        where = f"in epoch {at.epoch + 1}, after {at.tokens:,} tokens"
        raise self.diverged(where, f"the loss is {loss.mean:.3g}", lower_rate(self._first_rate))

    def _write(self, **line: Any) -> None:
        """Append a line."""
        assert self.metrics is not None
        at = self.position
        self.metrics.write(tokens=at.tokens, epoch=at.epoch + 1, **line)
        self._lines.restart()
