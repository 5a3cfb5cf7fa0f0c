"""One step of training: gradients of a batch, micro-batch by micro-batch, then AdamW."""

import hashlib
from dataclasses import dataclass

import torch
from torch import Tensor, nn

from corpora.common.errors import FirthError
from pretrain.data.batches import Batch
from pretrain.model.encoder import MaskedLanguageModel
from pretrain.training.distributed import World


@dataclass(frozen=True)
class How:
    """How a step is computed, as opposed to what.

    Parameters
    ----------
    dtype : torch.dtype
        Of the large products; weights, gradients and moments are float32 always.
    compile : bool
        Whether ``torch.compile`` is used.
    varlen : bool
        Whether attention runs by the kernel for segments of any length.
    micro_batch : int
        Rows at once.
    """

    dtype: torch.dtype
    compile: bool
    varlen: bool
    micro_batch: int


class Stepper:
    """Takes steps with a model.

    Parameters
    ----------
    model : MaskedLanguageModel
        Moved in place; its ``losses`` become the compiled ones where that is asked for.
    optimizer : torch.optim.Optimizer
        Of its weights.
    how : How
        How a step is computed.
    clip : float
        Longest gradient, as its norm over all weights.
    seed : int
        Of dropout.
    world : World
        The processes that share the rows.
    most_segments : int
        Of a row, for the kernel that takes segments of any length.
    """

    def __init__(
        self,
        model: MaskedLanguageModel,
        optimizer: torch.optim.Optimizer,
        how: How,
        *,
        clip: float,
        seed: int,
        world: World,
        most_segments: int,
    ) -> None:
        self._model = model
        self._optimizer = optimizer
        self._weights = list(model.parameters())
        self._how = how
        self._clip = clip
        self._seed = seed
        self._world = world
        model.most_segments = most_segments if how.varlen else 0
        if how.compile:
            model.losses = torch.compile(model.core.losses, dynamic=False)

    def step(self, number: int, batch: Batch, rate: float) -> Tensor:
        """Take a step; nothing waits for the device.

        Parameters
        ----------
        number : int
            From 0. Dropout depends on it, so that a step can be done again.
        batch : Batch
            Of all processes together.
        rate : float
            Learning rate.

        Returns
        -------
        float32 (4,)
            Sum of the negative log-likelihoods, pieces predicted rightly, pieces to be
            predicted, and the length of the gradient before it was clipped.
        """
        sums = self.gradients(number, batch)
        norm = nn.utils.clip_grad_norm_(self._weights, self._clip, foreach=True)
        for group in self._optimizer.param_groups:
            group["lr"] = rate
        self._optimizer.step()
        self._optimizer.zero_grad(set_to_none=True)
        return torch.cat([sums, norm.detach().reshape(1)])

    def gradients(self, number: int, batch: Batch) -> Tensor:
        """Compute the gradients of the mean loss of a batch.

        Every micro-batch counts by its pieces, not as one of so many: so the sum is the
        gradient of the whole batch.

        Parameters
        ----------
        number : int
            Of the step.
        batch : Batch
            Of all processes together.

        Returns
        -------
        float32 (3,)
            The sums of :meth:`step`.
        """
        sums = self._own_gradients(number, batch)
        self._world.sum([*(w.grad for w in self._weights if w.grad is not None), sums])
        return torch.cat([sums, batch.n_targets.reshape(1)])

    def warm_up(self, batch: Batch) -> None:
        """Compile, and do all else that only the first step needs, without moving a weight.

        Parameters
        ----------
        batch : Batch
            Of the shape of all others.

        Raises
        ------
        FirthError
            It cannot be compiled.
        """
        try:
            self._own_gradients(0, batch)
        except torch.cuda.OutOfMemoryError:
            raise
        except (RuntimeError, OSError, ImportError) as error:
            raise FirthError(
                f"torch.compile failed: {first_line(error)}; pass --compile off"
            ) from error
        self._optimizer.zero_grad(set_to_none=True)

    def _own_gradients(self, number: int, batch: Batch) -> Tensor:
        """Those of this process's rows, and its sums of losses and right pieces, (2,)."""
        if self._model.config.dropout:
            torch.manual_seed(dropout_seed(self._seed, number, self._world.rank))
        n_targets = batch.n_targets
        first, stop = self._world.share(len(batch.ids))
        sums = torch.zeros(2, device=batch.ids.device)
        for start in range(first, stop, self._how.micro_batch):
            part = batch.rows(start, min(start + self._how.micro_batch, stop))
            loss, right = loss_of(self._model, part, self._how.dtype)
            (loss / n_targets.clamp(min=1)).backward()
            sums += torch.stack([loss.detach(), right.detach()])
        return sums


def loss_of(model: MaskedLanguageModel, batch: Batch, dtype: torch.dtype) -> tuple[Tensor, Tensor]:
    """Run the model on some rows.

    Parameters
    ----------
    model : MaskedLanguageModel
        Its weights are float32.
    batch : Batch
        Rows.
    dtype : torch.dtype
        Of the large products: float32, or bfloat16 by autocast.

    Returns
    -------
    loss, right : float32 ()
        As ``MaskedLanguageModel.loss`` gives them.
    """
    device = batch.ids.device.type
    with torch.autocast(device, dtype=torch.bfloat16, enabled=dtype == torch.bfloat16):
        return model.loss(batch)


def first_line(error: Exception) -> str:
    """Say what went wrong.

    Parameters
    ----------
    error : Exception
        Whose message may have many lines.

    Returns
    -------
    str
        Its kind and first line.
    """
    return f"{type(error).__name__}: {str(error).strip().partition(chr(10))[0]}"


def dropout_seed(seed: int, step: int, rank: int) -> int:
    """Give the seed of torch's generator for a step.

    Parameters
    ----------
    seed, step, rank : int
        Of the run; the step's number; the process's.

    Returns
    -------
    int
        63 bits that tell nothing of those of other steps.
    """
    name = f"dropout/{seed}/{step}/{rank}".encode()
    return int.from_bytes(hashlib.blake2b(name, digest_size=8).digest(), "little") >> 1
