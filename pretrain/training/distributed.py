"""Data-parallel training in several processes.

Each process makes the whole batch, which is cheap, and computes its share of the rows; gradients
are summed once, after the last micro-batch. torch's DistributedDataParallel overlaps the sums with
the backward pass, but up to some hundred million weights that gains little, and a single sum is the
same arithmetic for any number of micro-batches, compiled or not.
"""

import contextlib
import datetime
import importlib
import os
import re
import signal
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import torch
import torch.distributed as dist
from torch import Tensor
from torch.distributed.rendezvous import rendezvous

from firth.corpora.common.console import release_messages
from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.common.reporting import note
from firth.pretrain.device import choose_device

# torch raises a plain RuntimeError when another process has ended
_LOST_PEER = re.compile("gloo|NCCL|onnection (closed|reset)")
# long, since the others wait while the first builds a corpus; if a process dies, the wait ends
_TIMEOUT = datetime.timedelta(days=2)
_MEETING = datetime.timedelta(minutes=10)  # of processes that were started together


@dataclass(frozen=True)
class ProcessGroup:
    """The processes that train together, and the rank of this one."""

    rank: int = 0  # only process 0 writes files and prints
    size: int = 1  # number of processes
    local_rank: int = 0  # rank on this machine: the number of its GPU
    local_size: int = 1  # number of processes on this machine

    @property
    def is_first(self) -> bool:
        """Whether this process writes files and prints."""
        return self.rank == 0

    def row_range(self, n_rows: int) -> tuple[int, int]:
        """Return the first row of this process's share of a batch, and the row after the last."""
        if n_rows % self.size:
            raise SettingError(
                f"`batch={n_rows}` is not divisible by {self.size} processes; pass a multiple, or "
                "to resume start as many processes as divide it"
            )
        each = n_rows // self.size
        return self.rank * each, (self.rank + 1) * each

    def all_reduce(self, tensors: Sequence[Tensor]) -> None:
        """Replace float32 tensors by their sums over all processes, in one message."""
        if self.size == 1:
            return
        flat = torch.cat([tensor.reshape(-1) for tensor in tensors])
        dist.all_reduce(flat)
        for tensor, total in zip(tensors, flat.split([t.numel() for t in tensors]), strict=True):
            tensor.copy_(total.view_as(tensor))

    def broadcast(self, value: float) -> float:
        """Return the first process's value in all processes, which wait for it."""
        if self.size == 1:
            return value
        shared = torch.tensor(value, dtype=torch.float64)
        dist.broadcast(shared, src=0)
        return float(shared)

    @contextlib.contextmanager
    def first_ahead(self) -> Iterator[None]:
        """Let the others wait until the first process leaves the block; they exit if it raises."""
        if not self.is_first and self.broadcast(False) <= 0:  # below 0 if it gave up in training
            raise SystemExit(1)
        try:
            yield
        except BaseException:
            if self.is_first:
                self.broadcast(False)
            raise
        if self.is_first:
            self.broadcast(True)


@contextlib.contextmanager
def process_group(device: str) -> Iterator[ProcessGroup]:
    """Join the processes that a launcher such as torchrun has started; one process without.

    GPUs communicate by NCCL, CPUs by gloo. A nested call reuses the outer group.
    """
    group = _launched()
    if group.size == 1 or dist.is_initialized():
        yield group
        return
    if device == "mps":
        raise SettingError(
            "`device=mps`: only one process can use it; unset WORLD_SIZE, or pass `device=cpu`"
        )
    if not group.is_first:
        signal.signal(signal.SIGINT, signal.SIG_IGN)  # the first handles it and stops the others
    with_gpus = device != "cpu" and torch.cuda.is_available()
    if with_gpus:
        # raises in all processes if there are too few for the last
        choose_device(device, group.local_size - 1)
        torch.cuda.set_device(choose_device(device, group.local_rank))
    # On its first import, which AdamW's first step triggers, this module keeps a reference to the
    # current group; gloo's threads would then outlive the group and abort Python's exit.
    importlib.import_module("torch.distributed.nn.functional")
    dist.init_process_group(
        "cpu:gloo,cuda:nccl" if with_gpus else "gloo",
        store=_meet(group), rank=group.rank, world_size=group.size, timeout=_TIMEOUT,
    )  # fmt: skip
    release_messages()  # of all but the first, which cli.py holds
    try:
        yield group
        dist.barrier()  # leave only when no other process waits for a message
    except RuntimeError as error:
        if _LOST_PEER.search(str(error)):
            raise FirthError(f"process {group.rank}: another process ended") from error
        raise
    finally:
        dist.destroy_process_group()


def _launched() -> ProcessGroup:
    """Read the variables of the launcher; raise if they are incomplete, as leftovers are."""
    numbers = [os.environ.get(name, default) for name, default in _NUMBERS.items()]
    if numbers[1] == "1":
        return ProcessGroup()
    missing = [name for name in ("RANK", "MASTER_ADDR", "MASTER_PORT") if name not in os.environ]
    if missing or not all(number.isdecimal() for number in numbers):
        what = f"without {' and '.join(missing)}" if missing else "beside what is no number"
        raise SettingError(
            f"WORLD_SIZE={numbers[1]} is set {what}; to train in one process, unset WORLD_SIZE; "
            "for several, use torchrun"
        )
    return ProcessGroup(*map(int, numbers))


def _meet(group: ProcessGroup) -> Any:
    """Wait until all processes are there; raise if that takes minutes."""
    where = f"{os.environ['MASTER_ADDR']}:{os.environ['MASTER_PORT']}"
    if group.is_first and "TORCHELASTIC_RUN_ID" not in os.environ:  # torchrun has waited
        note(f"waiting for {group.size} processes at {where} (WORLD_SIZE={group.size})")
    try:
        store, _, _ = next(rendezvous("env://", timeout=_MEETING))
    except dist.DistError as error:
        raise FirthError(
            f"process {group.rank}: {group.size} processes did not meet at {where} within "
            f"{_MEETING} h; to train in one process, unset WORLD_SIZE"
        ) from error
    return store


_NUMBERS = {"RANK": "0", "WORLD_SIZE": "1", "LOCAL_RANK": "0", "LOCAL_WORLD_SIZE": "1"}
