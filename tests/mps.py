"""A stand-in for the GPU of a Mac: tensors that say they are on mps, with their numbers on the CPU.

It refuses what such a GPU does: float64, tensors of two devices in one operation, and NumPy.
"""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import pytest
import torch
from torch.overrides import TorchFunctionMode
from torch.utils._pytree import tree_leaves, tree_map

MPS = torch.device("mps")
_OF_TWO_DEVICES = {"copy_", "__set__", "__getitem__", "__setitem__"}  # indices may be on the CPU


class OnMps(torch.Tensor):
    """A tensor of the stand-in."""

    device = MPS


class WeightsOnMps(OnMps, torch.nn.Parameter):
    """Weights of the stand-in."""


class StandIn(TorchFunctionMode):
    """Computes on the CPU, and follows where results would be."""

    def __torch_function__(
        self, function: Callable[..., Any], types: Any, args: Any = (), kwargs: Any = None
    ) -> Any:
        if function is torch.device:
            return function(*args, **(kwargs or {}))
        leaves = tree_leaves((args, kwargs))
        tensors = [leaf for leaf in leaves if isinstance(leaf, torch.Tensor)]
        devices = {each.device for each in tensors if each.ndim}  # a number may be on the CPU
        name = function.__name__
        if name == "numpy" and MPS in devices:
            raise TypeError("can't convert mps:0 device type tensor to numpy")
        if len(devices) > 1 and name not in _OF_TWO_DEVICES:
            raise RuntimeError(f"{name}: expected all tensors to be on the same device")
        named = [leaf for leaf in leaves if _is_device(leaf)]
        first = bool(tensors) and isinstance(tensors[0], OnMps)
        goes_there = torch.device(named[-1]) == MPS if named else first
        args, kwargs = tree_map(_on_cpu, (args, kwargs or {}))
        with torch._C.DisableTorchFunctionSubclass():
            found = function(*args, **kwargs)
            kind = OnMps if goes_there and name != "cpu" else torch.Tensor
            return tree_map(lambda each: _as(kind, each), found)


def _is_device(value: object) -> bool:
    return isinstance(value, torch.device) or (isinstance(value, str) and value in ("cpu", "mps"))


def _on_cpu(value: Any) -> Any:
    return "cpu" if not isinstance(value, torch.Tensor) and _is_device(value) else value


def _as(kind: type[torch.Tensor], value: Any) -> Any:
    """Return a result as a tensor of its device."""
    if not isinstance(value, torch.Tensor) or isinstance(value, OnMps) == (kind is OnMps):
        return value
    if kind is OnMps and value.dtype == torch.float64:
        raise TypeError("the MPS framework has no float64")
    return value.as_subclass(kind)


@contextmanager
def stand_in() -> Iterator[None]:
    """Let `mps` be there."""
    with pytest.MonkeyPatch.context() as patch, StandIn():
        patch.setattr(torch.backends.mps, "is_available", lambda: True)
        patch.setattr(torch.mps, "synchronize", lambda: None)
        patch.setattr(torch.nn.Module, "to", _moved)
        yield


def _moved(module: torch.nn.Module, device: torch.device | str) -> torch.nn.Module:
    """Move a module without new tensors, which an optimizer may have."""
    if torch.device(device) == MPS:
        for each in (*module.parameters(), *module.buffers()):
            each.__class__ = WeightsOnMps if isinstance(each, torch.nn.Parameter) else OnMps
    return module
