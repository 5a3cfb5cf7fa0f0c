"""Compile kernels with numba, cached on disk until any source that they depend on changes.

A compiled kernel contains the kernels that it calls and the constants that it uses, whichever file
they come from. numba's cache checks the kernel's own file only. So each cache entry also stores a
hash of the kernel's file and of all files of ours that it imports, directly or not.
"""

import functools
import hashlib
import re
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from numba import njit
from numba.core.caching import CompileResultCacheImpl, FunctionCache
from numba.core.sigutils import normalize_signature

_PACKAGES = ("corpora", "embed", "pretrain")
# Imports at the left margin, where kernels have all of theirs; parsing takes 100 times as long.
_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*|.*)|^import ([\w.]+)", re.MULTILINE)


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel that runs without the GIL, and cache it on disk."""
    if function is None:
        return functools.partial(compiled, **options)
    kernel = njit(nogil=True, **options)(function)
    # it is the function under NUMBA_DISABLE_JIT; what a script or a notebook has is not found
    if kernel is not function and _is_found(function.__module__):
        kernel._cache = _KernelCache(function)
    return kernel


class _Entries(CompileResultCacheImpl):  # type: ignore[misc]
    """Cache entries that hold the hash of their sources; those of other sources are misses."""

    # The hash is in the file with the code, not in numba's index: two processes that run different
    # sources write the same files, and one could pair its index with the other's code.
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._sources = _hash_of_sources(function.__module__)

    def reduce(self, result: Any) -> tuple[Any, ...]:
        return self._sources, *super().reduce(result)

    def rebuild(self, context: Any, entry: tuple[Any, ...]) -> Any:
        return super().rebuild(context, entry[1:]) if entry[0] == self._sources else None


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """A cache whose entries are used for the types that they were compiled for, and no others."""

    # Two processes that compile a kernel for different types at the same time number their files
    # alike: one's index then names the other's code.
    _impl_class = _Entries

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        wanted, _ = normalize_signature(sig)
        return found if found is not None and found.signature.args == tuple(wanted) else None


@functools.cache
def _hash_of_sources(module: str) -> str:
    """Hash the sources of a module and of all that it imports of ours, directly or not."""
    hashes: dict[str, str] = {}
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in hashes:
            hashes[name], imported = _read(name)
            waiting += imported
    return hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest()


@functools.cache
def _read(module: str) -> tuple[str, list[str]]:
    """Hash a module's source, and list what it imports of its own package and of ours."""
    source = Path(_spec(module).origin or "").read_text(encoding="utf-8")
    ours = (*_PACKAGES, module.partition(".")[0])
    imported = []
    for taken_from, names, plain in _IMPORT.findall(source):
        home = taken_from or plain
        if home.partition(".")[0] in ours:
            imported.append(home)
            if _spec(home).submodule_search_locations is not None:  # of a package, perhaps modules
                inner = [f"{home}.{name}" for name in re.findall(r"\w+", names)]
                imported += [name for name in inner if find_spec(name) is not None]
    return hashlib.sha256(source.encode()).hexdigest(), imported


def _is_found(module: str) -> bool:
    """Whether imports find a module by its name."""
    try:
        return find_spec(module) is not None
    except ValueError:  # of __main__
        return False


def _spec(module: str) -> ModuleSpec:
    spec = find_spec(module)
    assert spec is not None  # it has been imported
    return spec
