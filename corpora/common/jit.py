"""Compile kernels with numba, cached on disk until a source that they depend on changes.

A compiled kernel contains the kernels it calls and the constants it uses, from any file, but
numba's cache checks only the kernel's own file. So each cache entry also stores a hash of the
kernel's file and of all project files that it imports, directly or indirectly.
"""

import functools
import hashlib
import re
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from llvmlite import binding
from numba import njit, types
from numba.core.caching import CompileResultCacheImpl, FunctionCache, IndexDataCacheFile
from numba.core.sigutils import normalize_signature
from numba.extending import intrinsic

from firth.corpora.common.reporting import note

_PACKAGE = "firth"
# Top-level imports only, as kernel modules have; 100 times faster than parsing.
_IMPORT = re.compile(r"^from ([\w.]+) import (\([^)]*|.*)|^import ([\w.]+)", re.MULTILINE)


def compiled(function: Callable[..., Any] | None = None, **options: Any) -> Any:
    """Compile a kernel without the GIL, and cache it on disk."""
    if function is None:
        return functools.partial(compiled, **options)
    kernel = njit(nogil=True, **options)(function)
    # under NUMBA_DISABLE_JIT the kernel is the function; scripts and notebooks have no module
    if kernel is not function and _is_importable(function.__module__):
        try:
            kernel._cache = _KernelCache(function)
        except RuntimeError:  # numba finds no folder that can be written
            _note_no_cache()
    return kernel


def emitted(emit: Callable[..., Any], result: Any = types.void) -> Any:
    """Return a function for kernels whose code is emitted, by an IRBuilder and its arguments.

    An array is given as a pointer to its data. Without another ``result``, nothing is returned.
    """

    @functools.wraps(emit)  # whose signature numba reads: the builder stands for its context
    def typed(_context: Any, *kinds: Any) -> Any:
        def generate(context: Any, builder: Any, signature: Any, arguments: Any) -> Any:
            pointers = (
                context.make_array(kind)(context, builder, argument).data
                if isinstance(kind, types.Array)
                else argument
                for kind, argument in zip(signature.args, arguments, strict=True)
            )
            value = emit(builder, *pointers)
            return context.get_dummy_value() if value is None else value

        return result(*kinds), generate

    return intrinsic(typed)


@functools.cache
def _note_no_cache() -> None:
    """Say once that kernels are compiled again by every process."""
    note(
        "neither the program's folder nor the home can be written: each command compiles its "
        "kernels again; to keep them, set NUMBA_CACHE_DIR to a folder that can be written"
    )


@functools.cache
def cpu() -> str:
    """Return the CPU that kernels are compiled for, with a hash of its features."""
    features = sorted(name for name, has in binding.get_host_cpu_features().items() if has)
    digest = hashlib.sha256(" ".join(features).encode()).hexdigest()
    return f"{binding.get_host_cpu_name()}-{digest[:8]}"


class _Entries(CompileResultCacheImpl):  # type: ignore[misc]
    """Cache entries that store a hash of their sources; entries of other sources are misses."""

    # The hash is stored with the code, not in numba's index: two processes with different sources
    # write the same files, and one could combine its index with the other's code.
    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        self._sources = _hash_of_sources(function.__module__)

    def reduce(self, result: Any) -> tuple[Any, ...]:
        return self._sources, *super().reduce(result)

    def rebuild(self, context: Any, entry: tuple[Any, ...]) -> Any:
        return super().rebuild(context, entry[1:]) if entry[0] == self._sources else None


class _CacheFile(IndexDataCacheFile):  # type: ignore[misc]
    """Cache files; those that name types of ours that no longer exist are misses."""

    def load(self, key: Any) -> Any:
        try:
            return super().load(key)
        except (AttributeError, ImportError):
            return None

    def _load_index(self) -> Any:
        try:
            return super()._load_index()
        except (AttributeError, ImportError):
            return {}


class _KernelCache(FunctionCache):  # type: ignore[misc]
    """A cache whose entries are used for the types that they were compiled for, and no others."""

    # Two processes that compile a kernel for different types at the same time number their files
    # alike: one's index then names the other's code.
    _impl_class = _Entries

    def __init__(self, function: Callable[..., Any]) -> None:
        super().__init__(function)
        stamp = self._impl.locator.get_source_stamp()
        self._cache_file = _CacheFile(self._cache_path, self._impl.filename_base, stamp)

    def _load_overload(self, sig: Any, target_context: Any) -> Any:
        found = super()._load_overload(sig, target_context)
        wanted, _ = normalize_signature(sig)
        return found if found is not None and found.signature.args == tuple(wanted) else None


@functools.cache
def _hash_of_sources(module: str) -> str:
    """Hash the sources of a module and of the project modules it imports, also indirectly."""
    hashes: dict[str, str] = {}
    pending = [module]
    while pending:
        name = pending.pop()
        if name not in hashes:
            hashes[name], imported = _read(name)
            pending += imported
    return hashlib.sha256(repr(sorted(hashes.items())).encode()).hexdigest()


@functools.cache
def _read(module: str) -> tuple[str, list[str]]:
    """Hash a module's source, and list its imports from its own package and the project."""
    source = Path(_spec(module).origin or "").read_text(encoding="utf-8")
    project = (_PACKAGE, module.partition(".")[0])
    imported = []
    for source_module, names, plain in _IMPORT.findall(source):
        home = source_module or plain
        if home.partition(".")[0] in project:
            imported.append(home)
            if _spec(home).submodule_search_locations is not None:  # a package
                inner = [f"{home}.{name}" for name in re.findall(r"\w+", names)]
                imported += [name for name in inner if find_spec(name) is not None]
    return hashlib.sha256(source.encode()).hexdigest(), imported


def _is_importable(module: str) -> bool:
    """Return whether a module can be imported by its name."""
    try:
        return find_spec(module) is not None
    except ValueError:  # for __main__
        return False


def _spec(module: str) -> ModuleSpec:
    spec = find_spec(module)
    assert spec is not None  # it has been imported
    return spec
