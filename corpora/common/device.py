"""Choice of the compute device; torch is imported only if a CUDA driver is installed."""

import ctypes
import sys
from typing import Any

from firth.corpora.common.errors import SettingError

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


def device_option(command: Any) -> Any:
    """Add ``--device`` to a command that runs an encoder."""
    import click

    from firth.corpora.common.command import option

    return option(
        "--device",
        type=click.Choice(DEVICES),
        default="auto",
        show_default=True,
        help="Where the encoder runs.",
    )(command)


def _has_cuda_driver() -> bool:
    """Return whether the driver's library loads, a thousand times faster than importing torch."""
    for name in ("libcuda.so.1", "nvcuda.dll"):
        try:
            ctypes.CDLL(name)
        except OSError:
            continue
        return True
    return False
