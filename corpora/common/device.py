"""Choice of the compute device; `auto` imports torch only if a CUDA driver is installed."""

import ctypes
import sys
from importlib.util import find_spec

from firth.corpora.common.errors import SettingError, needed_packages

DEVICES = ("auto", "cpu", "cuda", "mps")
WHICH = "auto is cuda if available, else cpu; mps, the GPU of a Mac, is untried."  # in help


def choose_device(requested: str) -> str:
    """Return ``cpu``, ``cuda`` or ``mps``; raise if the GPU that is requested is unavailable."""
    if requested not in DEVICES:
        raise SettingError(f"device must be one of {', '.join(DEVICES)}, got {requested!r}")
    if requested == "cpu":
        return requested
    loaded = sys.modules.get("torch") is not None
    if requested == "auto" and not (loaded or (find_spec("torch") and _has_cuda_driver())):
        return "cpu"
    with needed_packages(f"`device={requested}`"):
        import torch

    gpu = "mps" if requested == "mps" else "cuda"
    if (torch.backends.mps if gpu == "mps" else torch.cuda).is_available():
        return gpu
    if requested == "auto":
        return "cpu"
    raise SettingError(
        f"`device={gpu}`: torch {torch.__version__} sees no {gpu.upper()} device; pass `device=cpu`"
    )


def _has_cuda_driver() -> bool:
    """Return whether the driver's library loads, a thousand times faster than importing torch."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
