"""What a set measured of a run, kept so that it need not be measured again."""

import contextlib
import hashlib
import importlib.metadata
import io
import json
import os
import tempfile
from collections.abc import Mapping, Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np

from corpora.common.cache import cache_directory
from embed.compare.statistics.effect_size import EffectSize
from embed.compare.statistics.estimators import Contingency, Correlation, Means
from embed.compare.statistics.roc import RocArea
from embed.compare.statistics.span_f1 import Ratios
from embed.compare.task import Measured, Task
from embed.protocols import StaticVectors

FOLDER = "scores"  # in the cache
_KINDS: tuple[Any, ...] = (Means, Correlation, Contingency, EffectSize, Ratios, RocArea)
_SAMPLES = {kind.__name__: kind for kind in _KINDS}
_MOST = 256_000_000  # bytes kept, of what was used last
_LIBRARIES = ("numpy", "scipy", "scikit-learn", "tokenizers", "jieba", "torch", "transformers")
_ROOMS = ("corpora", "embed", "pretrain")  # the last scores sentences
_DIGEST = 32  # bytes of SHA-256 before what they are of


def name_contents(
    fingerprints: Mapping[str, str], baselines: Sequence[str], about: Sequence[str]
) -> dict[str, str]:
    """Name the content of runs and of the baselines that are made from them.

    Parameters
    ----------
    fingerprints : mapping of str to str
        Of runs; perhaps not of all.
    baselines : sequence of str
        Names of vectors that depend on all runs.
    about : sequence of str
        What else these depend on.

    Returns
    -------
    dict of str to str
        By name; empty where no run has a fingerprint.
    """
    if not fingerprints:
        return {}
    made_from = _hash(*fingerprints.values(), *about)
    return {**fingerprints, **{name: f"{name} of {made_from}" for name in baselines}}


class Measurer:
    """Measures one set, or tells what it measured before of vectors whose content has a name.

    What is kept are the items' own values: intervals and tests, which depend on other runs and
    options, are made of them anew. A file is named by a hash of all that its content depends on:
    vectors, set, settings, items, and the program with the libraries that it measures by.

    Parameters
    ----------
    task : Task
        The set.
    contents : mapping of str to str
        Of :func:`name_contents`; other vectors are measured every time.
    """

    def __init__(self, task: Task, contents: Mapping[str, str]) -> None:
        self._task, self._contents = task, contents
        self._about = _hash(_program(), repr(task)) if contents else ""

    def measure(
        self, name: str, vectors: StaticVectors, items: np.ndarray, unknown: str
    ) -> list[Measured]:
        """Measure some items.

        Parameters
        ----------
        name : str
            Of the vectors.
        vectors : StaticVectors
            What is measured.
        items : bool (n_items,)
            The items, all of them known.
        unknown : str
            What becomes of unknown words.

        Returns
        -------
        list of Measured
            As the task gives them.

        Raises
        ------
        ArtifactError
            A vector holds NaN or infinity.
        """
        if name not in self._contents:
            return self._task.measure(vectors, items, unknown)
        key = _hash(self._contents[name], self._about, unknown, items.tobytes().hex())
        path = cache_directory() / FOLDER / f"{key}.npz"
        kept = _read(path)
        if kept is None:
            kept = self._task.measure(vectors, items, unknown)
            _write(path, kept)
        return kept


def forget_oldest() -> None:
    """Remove what was used longest ago, where much is kept."""
    with contextlib.suppress(OSError):
        files = [(file.stat(), file) for file in (cache_directory() / FOLDER).iterdir()]
        size = 0
        for about, file in sorted(files, key=lambda each: -each[0].st_mtime):
            size += about.st_size
            if size > _MOST:
                file.unlink()


@cache
def _program() -> str:
    """Name the code that measures, and the libraries that it calls."""
    versions = []
    for name in _LIBRARIES:
        with contextlib.suppress(importlib.metadata.PackageNotFoundError):
            versions.append(f"{name} {importlib.metadata.version(name)}")
    ours = Path(__file__).parents[3]
    sources = sorted(file for room in _ROOMS for file in (ours / room).rglob("*.py"))
    return _hash(*versions, *(source.read_text(encoding="utf-8") for source in sources))


def _hash(*parts: str) -> str:
    """A name for some texts in their order."""
    digest = hashlib.sha256()
    for part in parts:
        digest.update(hashlib.sha256(part.encode(errors="surrogatepass")).digest())
    return digest.hexdigest()[:32]


def _write(path: Path, measured: Sequence[Measured]) -> None:
    """Keep it if that can be done; it only saves time."""
    packed = _packed(measured)
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, suffix=".new", delete=False) as file:
            try:
                file.write(hashlib.sha256(packed).digest() + packed)
                file.close()
                os.replace(file.name, path)
            except BaseException:
                os.unlink(file.name)
                raise


def _read(path: Path) -> list[Measured] | None:
    """What was kept, if it is there and whole."""
    try:
        content = path.read_bytes()
        os.utime(path)  # used now
    except OSError:
        return None
    digest, packed = content[:_DIGEST], content[_DIGEST:]
    return _unpacked(packed) if hashlib.sha256(packed).digest() == digest else None


def _packed(measured: Sequence[Measured]) -> bytes:
    """Metrics as bytes: an archive of their arrays, and of all else as JSON."""
    arrays: dict[str, np.ndarray] = {}
    heads = []
    for place, each in enumerate(measured):
        head = dict(vars(each))
        parts = {} if each.sample is None else dict(vars(each.sample))
        head["sample"] = None if each.sample is None else type(each.sample).__name__
        parts |= {name: head.pop(name) for name in ("items", "units")}
        arrays |= {f"{place} {n}": v for n, v in parts.items() if isinstance(v, np.ndarray)}
        head["further"] = {n: v for n, v in parts.items() if isinstance(v, str | bool)}
        heads.append(head)
    text = np.frombuffer(json.dumps(heads).encode(errors="surrogatepass"), np.uint8)
    file = io.BytesIO()
    np.savez_compressed(file, allow_pickle=False, heads=text, **arrays)
    return file.getvalue()


def _unpacked(packed: bytes) -> list[Measured]:
    """The metrics again."""
    with np.load(io.BytesIO(packed), allow_pickle=False) as saved:
        arrays = dict(saved)
    heads = json.loads(arrays.pop("heads").tobytes())
    return [_measured(head, place, arrays) for place, head in enumerate(heads)]


def _measured(head: dict[str, Any], place: int, arrays: Mapping[str, np.ndarray]) -> Measured:
    """One metric, put together."""
    start = f"{place} "
    parts = {n.removeprefix(start): v for n, v in arrays.items() if n.startswith(start)}
    parts |= head.pop("further")
    items, units, kind = parts.pop("items"), parts.pop("units", None), head.pop("sample")
    sample = None if kind is None else _SAMPLES[kind](**parts)
    return Measured(**head, items=items, units=units, sample=sample)
