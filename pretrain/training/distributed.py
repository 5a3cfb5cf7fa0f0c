"""Several processes that train as one: who they are, their shares, and what they tell each other.

Each process makes the whole batch, which costs little, takes its share of the rows, and the
gradients are summed in one message after the last micro-batch. torch's
DistributedDataParallel sends them in parts while the rest is computed; up to some hundred
million weights that gains little, and one sum is the same arithmetic at every number of
micro-batches, compiled or not.
"""

import contextlib
import datetime
import importlib
import os
import re
import signal
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from corpora.common.errors import FirthError, SettingError
from pretrain.device import choose_device

T = TypeVar("T")
_LOST_PEER = re.compile(
    "gloo|NCCL|onnection (closed|reset)"
)  # of torch's errors; they have one type

# The others wait while the first builds a corpus or pools; a process that dies ends the wait.
_TIMEOUT = datetime.timedelta(days=2)


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together, and which of them this is."""

    rank: int = 0  # number of this process; the first, 0, alone writes and tells
    size: int = 1  # how many there are
    local_rank: int = 0  # number of this process on its machine: of its GPU

    @property
    def is_first(self) -> bool:
        """Whether this process writes and tells."""
        return self.rank == 0

    def row_range(self, n_rows: int) -> tuple[int, int]:
        """Give this process's rows of a batch."""
        if n_rows % self.size:
            raise SettingError(
                f"`batch={n_rows}` does not divide by {self.size} processes; take a multiple"
            )
        each = n_rows // self.size
        return self.rank * each, (self.rank + 1) * each

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Sum tensors over all processes, in one message."""
        # tensors: sequence of float32 Tensor
        if self.size == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        for tensor, total in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def broadcast(self, value: float) -> float:
        """Let the first process tell the others a number; waits for it."""
        if self.size == 1:
            return value
        told = torch.tensor(value, dtype=torch.float64)
        dist.broadcast(told, src=0)
        return float(told)

    def run_first(self, work: Callable[[], T], others: Callable[[], T]) -> T:
        """Let the first process do something that the others wait for."""
        if self.is_first:
            try:
                result = work()
            except BaseException:
                self.broadcast(False)
                raise
            self.broadcast(True)
            return result
        if not self.broadcast(False):
            raise SystemExit(1)
        return others()


@contextlib.contextmanager
def process_group(device: str) -> Iterator[ProcessGroup]:
    """Join the other processes, where a launcher such as torchrun has started several.

    Within another such block nothing is done: the processes are together already.
    """
    group = ProcessGroup(*(int(os.environ.get(name, default)) for name, default in _VARIABLES))
    if group.size == 1 or dist.is_initialized():
        yield group
        return
    if not group.is_first:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first hears it, and tells the others
    with_gpus = device != "cpu" and torch.cuda.is_available()
    if with_gpus:
        torch.cuda.set_device(choose_device(device, group.local_rank))
    # It keeps the group that is there when it is first imported, as AdamW's first step does: then
    # destroying the group ends none of gloo's threads, and Python's end aborts the process.
    importlib.import_module("torch.distributed.nn.functional")
    dist.init_process_group("cpu:gloo,cuda:nccl" if with_gpus else "gloo", timeout=_TIMEOUT)
    try:
        yield group
        dist.barrier()  # nobody leaves while another still listens
    except RuntimeError as error:
        if _LOST_PEER.search(str(error)):
            raise FirthError(f"process {group.rank}: another process ended") from error
        raise
    finally:
        dist.destroy_process_group()


_VARIABLES = (("RANK", "0"), ("WORLD_SIZE", "1"), ("LOCAL_RANK", "0"))
