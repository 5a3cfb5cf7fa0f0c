"""Choice of the compute device; torch is imported only if a CUDA driver is installed."""

import ctypes
import sys

from corpora.common.errors import SettingError

DEVICES = ("auto", "cpu", "cuda")


def choose_device(requested: str) -> str:
    """Return ``cpu`` or ``cuda``; raise if CUDA is requested but unavailable."""
    if requested not in DEVICES:
        raise SettingError(f"device must be one of {', '.join(DEVICES)}, got {requested!r}")
    if requested == "cpu":
        return requested
    if requested == "auto" and "torch" not in sys.modules and not _has_cuda_driver():
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if requested == "cuda":
        raise SettingError(
            f"`device=cuda`: torch {torch.__version__} sees no CUDA device; pass `device=cpu`"
        )
    return "cpu"


def _has_cuda_driver() -> bool:
    """Return whether the driver's library loads, a thousand times faster than importing torch."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
