"""The machine: which device, how fast it multiplies, what memory it has, whether it compiles."""

import contextlib
import importlib.util
import os
import resource
import shutil
import sys
import time
from collections.abc import Iterator

import torch

from corpora.common.device import choose_device as cuda_or_cpu
from corpora.common.errors import SettingError

_PEAK_TRIES = 5
_PEAK_SIZE = {"cpu": 1024, "cuda": 8192}  # of square matrices: large enough for full speed


def choose_device(asked: str, local_rank: int = 0) -> torch.device:
    """Settle the device."""
    if cuda_or_cpu(asked) == "cpu":
        return torch.device("cpu")
    if local_rank >= torch.cuda.device_count():
        raise SettingError(
            f"`device=cuda`: {torch.cuda.device_count()} devices are too few for process "
            f"{local_rank + 1} of this machine; start fewer"
        )
    return torch.device("cuda", local_rank)


def compile_problem(device: torch.device) -> str | None:
    """Say why ``torch.compile`` cannot work here."""
    if device.type == "cuda":
        return None if importlib.util.find_spec("triton") else "triton is not installed"
    compilers = (os.environ.get("CXX"), "g++", "clang++")
    found = any(name and shutil.which(name) for name in compilers)
    return None if found else "there is no C++ compiler (g++ or clang++)"


def matmul_peak(device: torch.device, dtype: torch.dtype, size: int | None = None) -> float:
    """Measure how fast the device multiplies large matrices, the best of a few tries."""
    n = size or _PEAK_SIZE[device.type]
    # numbers all alike would draw less power, and GPUs would then be faster than with real ones
    factor = torch.randn(n, n, device=device).to(dtype)
    best = float("inf")
    for attempt in range(_PEAK_TRIES + 1):
        synchronize(device)
        begun = time.perf_counter()
        torch.mm(factor, factor)
        synchronize(device)
        if attempt:  # the first one wakes the library
            best = min(best, time.perf_counter() - begun)
    return 2 * n**3 / best


def synchronize(device: torch.device) -> None:
    """Wait until the device has done what it was told."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)


def peak_memory(device: torch.device) -> int:
    """Tell the most memory that was used so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    unit = 1 if sys.platform == "darwin" else 1024  # macOS tells bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak_memory(device: torch.device) -> None:
    """Let :func:`peak_memory` begin anew; a CPU's process remembers."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def device_name(device: torch.device) -> str:
    """Name the device, for ``provenance.json``."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"cpu {torch.backends.cpu.get_cpu_capability()}"


class Stopwatch:
    """Time spent between start and stop, on a GPU without waiting for it."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[tuple[torch.cuda.Event, torch.cuda.Event]] = []
        self._seconds = self._started = 0.0

    def start(self) -> None:
        """Begin to measure."""
        if self._on_gpu:
            self._marks.append((_event(), _event()))
            self._marks[-1][0].record()
        else:
            self._started = time.perf_counter()

    def stop(self) -> None:
        """End what was begun."""
        if self._on_gpu:
            self._marks[-1][1].record()
        else:
            self._seconds += time.perf_counter() - self._started

    def read(self) -> float:
        """Give the seconds since the last reading; the GPU must have come so far."""
        seconds = self._seconds + sum(a.elapsed_time(b) for a, b in self._marks) / 1000
        self._seconds, self._marks = 0.0, []
        return seconds


def _event() -> torch.cuda.Event:
    """A mark in the GPU's own time."""
    return torch.cuda.Event(enable_timing=True)


@contextlib.contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Tell in one line where memory does not suffice; may decorate a function."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        is_gpu = isinstance(error, torch.OutOfMemoryError)
        if not is_gpu and isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        raise SettingError(
            f"the memory of this {'GPU' if is_gpu else 'machine'} does not suffice; pass a smaller "
            "`batch`, `micro_batch`, `sequence_length` or `dim`"
        ) from error
