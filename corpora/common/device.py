"""Which device to compute on, without importing torch where there is no CUDA driver."""

import ctypes
import sys

from corpora.common.errors import SettingError

DEVICES = ("auto", "cpu", "cuda")


def choose_device(asked: str) -> str:
    """Settle the device."""
    if asked not in DEVICES:
        raise SettingError(f"device must be one of {', '.join(DEVICES)}, got {asked!r}")
    if asked == "cpu":
        return asked
    if asked == "auto" and "torch" not in sys.modules and not _has_cuda_driver():
        return "cpu"
    import torch

    if torch.cuda.is_available():
        return "cuda"
    if asked == "cuda":
        raise SettingError(
            f"`device=cuda`: torch {torch.__version__} sees no CUDA device; pass `device=cpu`"
        )
    return "cpu"


def _has_cuda_driver() -> bool:
    """Look for the driver's library, which takes a thousandth of the time of importing torch."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
