"""A training that passes over the rows of a matrix: what it reconstructs, by epoch."""

import math
import time
from dataclasses import astuple, dataclass, replace
from pathlib import Path

from firth.corpora.common.interrupts import defer_interrupts
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.network import AutoencoderNetwork, Losses
from firth.embed.runs.session import Interval, Position, Session, lower_rate

CHECKPOINT_SECONDS = 300.0


@dataclass(frozen=True)
class RowPosition(Position):
    """Position in the rows of a matrix."""

    epoch: int = 0  # next epoch, from 0
    losses: tuple[float, float, float] = (0.0, 0.0, 0.0)  # of the epoch so far
    seconds: float = 0.0  # of the epoch so far


class RowSession(Session[RowPosition]):
    """Writes a line of metrics per epoch, and one of the finished network, without noise."""

    def __init__(
        self,
        run: Path,
        network: AutoencoderNetwork,
        config: AutoencoderConfig,
        n_rows: int,
        every: float,
    ) -> None:
        super().__init__(run, network, RowPosition(), Interval(seconds=every), unit="steps")
        self._config, self._n_rows = config, n_rows
        self._steps = -(-n_rows // config.batch)  # of an epoch
        self.total = self._steps * config.epochs

    def row_numbers(self, epoch: int) -> range:
        """Return the first row of each step of an epoch that is to be taken."""
        size, done = self._config.batch, self.position.step - epoch * self._steps
        return range(done * size, self._n_rows, size)

    def learned(self, losses: Losses) -> None:
        """Move on by the rows of the step that ends now."""
        at, seconds = self.position, time.perf_counter() - self.step_began
        losses += Losses(*at.losses)
        self.position = replace(
            at, step=at.step + 1, losses=astuple(losses), seconds=at.seconds + seconds
        )
        self.show(at.step + 1, self.total, f"unexplained {losses.unexplained:.4f}")

    def end_epoch(self) -> None:
        """Write the line of an epoch and move to the next."""
        with defer_interrupts():
            at = self.position
            self.write(Losses(*at.losses), seconds=round(at.seconds, 3), finished=False)
            self.position = RowPosition(at.step, at.epoch + 1)

    def write(self, losses: Losses, *, finished: bool, **line: float) -> None:
        """Write a line; raise if the training diverged."""
        assert self.metrics is not None
        epoch, config = min(self.position.epoch + 1, self._config.epochs), self._config
        if not math.isfinite(total := losses.error + losses.divergence):
            loss, advice = f"the loss is {total:.3g}", lower_rate(config.learning_rate)
            raise self.diverged(f"in epoch {epoch}", loss, advice)
        if config.beta is not None:
            line = {"divergence": losses.divergence / self._n_rows, **line}
        self.metrics.write(epoch=epoch, unexplained=losses.unexplained, **line, finished=finished)
