"""Choice of the device, its speed and memory, and whether torch can compile for it."""

import contextlib
import importlib.util
import os
import shutil
import time
from collections import defaultdict
from collections.abc import Iterator, Mapping

import torch

from firth.corpora.common.device import choose_device as choose_kind
from firth.corpora.common.errors import SettingError
from firth.corpora.common.system import MACOS, system

_PEAK_TRIES = 6  # the first may load the device's code
_PEAK_SECONDS = 0.5  # half-precision products take 3 seconds each on some processors
_PEAK_SIZE = {"cpu": 1024, "cuda": 8192}  # of square matrices: large enough for full speed


def choose_device(name: str, local_rank: int = 0) -> torch.device:
    """Return the device by its name; a GPU of CUDA by the process's local rank."""
    if (kind := choose_kind(name)) != "cuda":
        return torch.device(kind)
    if local_rank >= torch.cuda.device_count():
        raise SettingError(
            f"`device=cuda`: {torch.cuda.device_count()} devices are too few for process "
            f"{local_rank + 1} of this machine; start fewer"
        )
    return torch.device("cuda", local_rank)


def by_device(sizes: Mapping[str, int], device: torch.device) -> int:
    """Return the fastest of sizes on a device; where it was not measured, that on a CPU."""
    return sizes.get(device.type, sizes["cpu"])


def compile_problem(device: torch.device) -> str | None:
    """Return why ``torch.compile`` cannot work on this machine, or None."""
    if device.type == "cuda":
        return None if importlib.util.find_spec("triton") else "triton is not installed"
    if device.type == "mps":
        return "it is untried on mps"
    compilers = (os.environ.get("CXX"), "g++", "clang++")
    found = any(name and shutil.which(name) for name in compilers)
    return None if found else "there is no C++ compiler (g++ or clang++)"


def matmul_peak(device: torch.device, dtype: torch.dtype, size: int | None = None) -> float:
    """Measure the floating-point operations per second of large matrix products, best of a few."""
    n = size or by_device(_PEAK_SIZE, device)
    # constant matrices draw less power, and a GPU would be faster than with real data
    factor = torch.randn(n, n, device=device).to(dtype)
    torch.mm(factor[:64], factor[:, :64])  # initializes the library
    seconds: list[float] = []
    while len(seconds) < _PEAK_TRIES and sum(seconds) < _PEAK_SECONDS:
        synchronize(device)
        start = time.perf_counter()
        torch.mm(factor, factor)
        synchronize(device)
        seconds.append(time.perf_counter() - start)
    return 2 * n**3 / min(seconds)


def synchronize(device: torch.device) -> None:
    """Wait until a GPU has finished its queued work."""
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    elif device.type == "mps":
        torch.mps.synchronize()


def peak_memory(device: torch.device) -> int:
    """Return the most bytes allocated on a GPU, or resident in this process, so far."""
    if device.type == "cuda":
        return torch.cuda.max_memory_allocated(device)
    try:
        import resource
    except ImportError:  # on Windows
        import psutil

        found = psutil.Process().memory_info()
        return int(getattr(found, "peak_wset", found.rss))
    unit = 1 if system() == MACOS else 1024  # macOS reports bytes, Linux KiB
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def reset_peak_memory(device: torch.device) -> None:
    """Reset :func:`peak_memory` on a GPU; that of a process cannot be reset."""
    if device.type == "cuda":
        torch.cuda.reset_peak_memory_stats(device)


def device_name(device: torch.device) -> str:
    """Return the device's name for ``provenance.json``, such as ``NVIDIA H200``."""
    if device.type == "cuda":
        return torch.cuda.get_device_name(device)
    return f"{device.type} {torch.backends.cpu.get_cpu_capability()}"


class Stopwatch:
    """Measures the parts of repeated work; on a GPU by events, without waiting for it."""

    def __init__(self, device: torch.device) -> None:
        self._on_gpu = device.type == "cuda"
        self._marks: list[tuple[str, torch.cuda.Event, torch.cuda.Event]] = []
        self._seconds: defaultdict[str, float] = defaultdict(float)

    @contextlib.contextmanager
    def part(self, name: str) -> Iterator[None]:
        """Add the time of a block to a part, unless the block raises."""
        if self._on_gpu:
            start, stop = (torch.cuda.Event(enable_timing=True) for _ in range(2))
            start.record()
            yield
            stop.record()
            self._marks.append((name, start, stop))
        else:
            begun = time.perf_counter()
            yield
            self._seconds[name] += time.perf_counter() - begun

    def read(self) -> dict[str, float]:
        """Return the seconds of each part since the last call; the GPU must have finished."""
        for name, start, stop in self._marks:
            self._seconds[name] += start.elapsed_time(stop) / 1000
        seconds = dict(self._seconds)
        self._seconds.clear()
        self._marks = []
        return seconds


def lacks_gpu_memory(error: Exception) -> bool:
    """Return whether an error says so; of mps it has no class of its own."""
    return isinstance(error, torch.OutOfMemoryError) or "MPS backend out of memory" in str(error)


@contextlib.contextmanager
def explain_out_of_memory() -> Iterator[None]:
    """Turn errors about missing memory into a SettingError; also a decorator."""
    try:
        yield
    except (MemoryError, RuntimeError) as error:
        is_gpu = lacks_gpu_memory(error)
        if not is_gpu and isinstance(error, RuntimeError) and "allocate memory" not in str(error):
            raise
        raise SettingError(
            f"not enough memory on this {'GPU' if is_gpu else 'machine'}; pass a smaller "
            "`batch`, `sequence_length` or `preset`"
        ) from error
