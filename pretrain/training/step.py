"""One step of training: gradients of a batch, micro-batch by micro-batch, then the optimizer."""

import contextlib
import dataclasses
import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from firth.corpora.common.errors import FirthError
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.data.batches import Batch
from firth.pretrain.data.stateless_random import keyed_bits
from firth.pretrain.device import Stopwatch
from firth.pretrain.mixers import MIXERS
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import Optimizers

_CLIP = 1.0  # the most that the norm of the gradient over all weights may be


@dataclass(frozen=True)
class StepSettings:
    """How a step is computed; affects results only by rounding."""

    dtype: torch.dtype  # of large matrix products; weights, gradients and moments stay float32
    compile: bool  # whether to use ``torch.compile``
    varlen: bool  # whether to use the variable-length attention kernel
    micro_batch: int  # rows per forward and backward pass


class Stepper:
    """Takes training steps: updates the model in place."""

    def __init__(
        self,
        model: MaskedLanguageModel,
        optimizer: Optimizers,
        settings: StepSettings,
        *,
        seed: int,
        group: ProcessGroup,
        max_segments: int,  # per row, for the variable-length attention kernel
    ) -> None:
        self._model = model
        self._optimizer = optimizer
        self._weights = list(model.parameters())
        self._settings = settings
        self._seed = seed
        self._group = group
        self.stopwatch: Stopwatch | None = None  # of the parts of a step, if they are measured
        model.max_segments = max_segments if settings.varlen else 0
        losses = model.core.losses
        # where a mixer is left out, marks of what changes are lost: then torch has to find it
        whole = all(MIXERS[mixer].compiles for mixer in model.config.mixers)
        dynamic = False if whole else None
        self._losses = torch.compile(losses, dynamic=dynamic) if settings.compile else losses

    def step(self, number: int, batch: Batch, rate: float) -> Tensor:
        """Take one step, without waiting for the device.

        Dropout and noise depend on ``number`` (from 0), so that a step can be repeated. ``batch``
        holds the rows of all processes.
        """
        # returns float32 (4,): summed loss, correct predictions, targets, gradient norm before
        # clipping
        return self.update(self.gradients(number, batch), rate)

    def update(self, sums: Tensor, rate: float) -> Tensor:
        """Change the weights by their gradients; takes and returns what :meth:`step` sums."""
        with self.timed("optimizer"):
            norm = nn.utils.clip_grad_norm_(self._weights, _CLIP, foreach=True)
            self._optimizer.step(rate)
        return torch.cat([sums, norm.detach().reshape(1)])

    def timed(self, part: str) -> contextlib.AbstractContextManager[None]:
        """Measure a block as a part of the step, if the parts are measured."""
        return self.stopwatch.part(part) if self.stopwatch else contextlib.nullcontext()

    def gradients(self, number: int, batch: Batch) -> Tensor:
        """Compute the gradients of the mean loss of a batch, over the targets of micro-batches."""
        # returns float32 (3,): summed loss, correct predictions, targets
        sums = self._local_gradients(number, batch)
        self._group.all_reduce([*(w.grad for w in self._weights if w.grad is not None), sums])
        return torch.cat([sums, batch.n_targets.reshape(1)])

    def warm_up(self, batch: Batch) -> None:
        """Compile and initialize what the first step needs, without changing a weight."""
        try:
            self._local_gradients(0, batch)
        except torch.cuda.OutOfMemoryError:
            raise
        except (RuntimeError, OSError, ImportError) as error:
            raise FirthError(
                f"torch.compile failed: {first_line(error)}; pass `compile=off`"
            ) from error
        self._model.zero_grad(set_to_none=True)

    def _local_gradients(self, number: int, batch: Batch) -> Tensor:
        """Compute gradients of this process's rows; return summed loss and correct predictions."""
        if self._model.config.dropout:
            torch.manual_seed(dropout_seed(self._seed, number, self._group.rank))
        if SCORES[self._model.config.attention_score].random:
            shape, device = batch.ids.shape[:1], batch.ids.device
            keys = keyed_bits(self._seed, number, "attention", shape, device)
            batch = dataclasses.replace(batch, noise=keys)
        n_targets = batch.n_targets
        first, stop = self._group.row_range(len(batch.ids))
        sums = torch.zeros(2, device=batch.ids.device)
        for start in range(first, stop, self._settings.micro_batch):
            rows = batch.rows(start, min(start + self._settings.micro_batch, stop))
            for part in rows.kinds():
                if self._settings.compile:  # once, though the mask rate changes
                    for chosen in (part.chosen, part.targets, part.weights):
                        torch._dynamo.maybe_mark_dynamic(chosen, 1)
                with self.timed("forward"), autocast(part.ids.device, self._settings.dtype):
                    loss, right = self._losses(*self._model.loss_inputs(part))
                with self.timed("backward"):
                    (loss / n_targets.clamp(min=1)).backward()
                sums += torch.stack([loss.detach(), right.detach()])
        return sums


def autocast(device: torch.device, dtype: torch.dtype) -> torch.autocast:
    """Compute large matrix products in ``dtype``."""
    half = torch.bfloat16
    return torch.autocast(device.type, dtype=half, enabled=dtype == half)


def first_line(error: Exception) -> str:
    """Return the type and the first line of an error."""
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def dropout_seed(seed: int, step: int, rank: int) -> int:
    """Return the seed of torch's generator for dropout in one step of one process."""
    name = f"dropout/{seed}/{step}/{rank}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") >> 1
