"""Cache of measurements: what a task measured of a run, by content."""

import contextlib
import hashlib
import io
import json
import os
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields
from pathlib import Path
from types import NoneType
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import UNREADABLE, load_arrays
from firth.corpora.artifacts.atomic import write_cached
from firth.corpora.artifacts.provenance import package_versions
from firth.corpora.common.cache import cache_folder
from firth.embed.compare.statistics.effect_size import EffectSize
from firth.embed.compare.statistics.estimators import Contingency, Correlation, Means
from firth.embed.compare.statistics.roc import AveragePrecision, RocArea
from firth.embed.compare.statistics.span_f1 import Ratios
from firth.embed.compare.task import Measurement, Task
from firth.embed.protocols import StaticVectors

# Increase it with every change of what a task measures on the same vectors and items: in the task,
# in what it uses (inputs, probes, queries, poolings, encoders), or in what is stored here.
MEASUREMENTS = 13
_KINDS: tuple[Any, ...] = (
    Means, Correlation, Contingency, EffectSize, Ratios, RocArea, AveragePrecision,
)  # fmt: skip
_STATISTICS = {kind.__name__: kind for kind in _KINDS}
_PACKAGES = (  # that measurements depend on
    "firth", "numpy", "scipy", "scikit-learn", "tokenizers", "rjieba", "torch", "transformers",
)  # fmt: skip
_STATISTIC = "statistic"
_DIGEST = 32  # bytes of SHA-256 at the start of a file, of the rest of it


def name_contents(
    fingerprints: Mapping[str, str], baselines: Sequence[str], about: Sequence[str]
) -> dict[str, str]:
    """Return cache names of runs, and of baselines made from them and ``about``."""
    if not fingerprints:
        return {}
    made_from = _hash(*fingerprints.values(), *about)
    return {**fingerprints, **{name: f"{name} of {made_from}" for name in baselines}}


class MeasurementCache:
    """Measures one set, or returns stored per-item measurements of vectors with a content name."""

    def __init__(self, task: Task, contents: Mapping[str, str]) -> None:
        self._task, self._contents = task, contents
        versions = map(" ".join, package_versions(_PACKAGES).items())
        self._about = _hash(f"{MEASUREMENTS}", *versions, repr(task)) if contents else ""

    def measure(
        self, name: str, vectors: StaticVectors, items: np.ndarray, unknown: str
    ) -> list[Measurement]:
        """Measure the chosen items, or read the measurements from the cache."""
        # items: bool (n_items,)
        if name not in self._contents:
            return self._task.measure(vectors, items, unknown)
        key = _hash(self._contents[name], self._about, unknown, items.tobytes().hex())
        path = cache_folder("scores") / f"{key}.npz"
        measured = _read(path)
        if measured is None:
            measured = self._task.measure(vectors, items, unknown)
            # others cannot be read again, as no class is taken from a file
            if all(type(each.statistic) in (*_KINDS, NoneType) for each in measured):
                _write(path, measured)
        return measured


def evict_oldest(max_bytes: int = 256_000_000) -> None:
    """Remove the least recently used files beyond ``max_bytes``."""
    with contextlib.suppress(OSError):
        files = [(file.stat(), file) for file in cache_folder("scores").iterdir()]
        size = 0
        for about, file in sorted(files, key=lambda each: -each[0].st_mtime):
            size += about.st_size
            if size > max_bytes:
                file.unlink()


def _hash(*parts: str) -> str:
    """Return a hash of texts in their order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode(errors="surrogatepass")).digest())
    return digest.hexdigest()[:32]


def _write(path: Path, measured: Sequence[Measurement]) -> None:
    """Store measurements; ignore failures, since the cache only saves time."""
    packed = _packed(measured)
    content = hashlib.sha256(packed).digest() + packed
    with contextlib.suppress(OSError):
        write_cached(path, lambda new: new.write_bytes(content))


def _read(path: Path) -> list[Measurement] | None:
    """Return stored measurements; None if missing or damaged."""
    try:
        content = path.read_bytes()
        os.utime(path)  # mark as recently used
    except OSError:
        return None
    digest, packed = content[:_DIGEST], content[_DIGEST:]
    with contextlib.suppress(*UNREADABLE, LookupError, AttributeError):
        if hashlib.sha256(packed).digest() == digest:
            return list(_unpacked(packed))
    return None


def _packed(measured: Sequence[Measurement]) -> bytes:
    """Return measurements as an NPZ archive: arrays, and all else as JSON."""
    arrays: dict[str, np.ndarray] = {}
    heads = []
    for index, each in enumerate(measured):
        entries = dict(vars(each))
        statistic = entries.pop("statistic")
        if statistic is not None:
            entries[_STATISTIC] = type(statistic).__name__
            parts = ((part.name, getattr(statistic, part.name)) for part in fields(statistic))
            entries |= {f"{_STATISTIC} {name}": value for name, value in parts}
        heads.append({n: v for n, v in entries.items() if not isinstance(v, np.ndarray)})
        arrays |= {f"{index} {n}": v for n, v in entries.items() if isinstance(v, np.ndarray)}
    text = np.frombuffer(json.dumps(heads).encode(errors="surrogatepass"), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, heads=text, **arrays)
    return file.getvalue()


def _unpacked(packed: bytes) -> Iterator[Measurement]:
    """Yield the measurements of an archive."""
    arrays = load_arrays(io.BytesIO(packed))
    for index, head in enumerate(json.loads(arrays.pop("heads").tobytes())):
        start = f"{index} "
        head |= {n.removeprefix(start): v for n, v in arrays.items() if n.startswith(start)}
        kind, start = head.pop(_STATISTIC, None), f"{_STATISTIC} "
        parts = {n.removeprefix(start): head.pop(n) for n in list(head) if n.startswith(start)}
        yield Measurement(**head, statistic=None if kind is None else _STATISTICS[kind](**parts))
