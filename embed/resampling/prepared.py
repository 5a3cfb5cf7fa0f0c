"""What resampling the text of a run needs, made once and kept in the cache."""

import contextlib
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.arrays import map_array, save_array
from firth.corpora.artifacts.artifact import (
    CHECKSUMS,
    checksum,
    checksums,
    fingerprint,
    read_json,
    verify,
    write_json,
)
from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.cache import cache_folder, check_once
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.common.reporting import note
from firth.corpora.common.system import temporary_folder
from firth.corpora.common.threads import thread_count
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.shards import UNITS
from firth.corpora.store.view import View
from firth.embed.resampling.drawn_rows import ContextSpace, UnitText, unit_text
from firth.embed.resampling.drawn_text import FEWEST_UNITS, text_of_units
from firth.embed.runs.run import Run
from firth.embed.svd.ppmi import keep_probabilities, pmi_factors
from firth.embed.svd.train import SvdConfig, checked_view, count_words, powers_of, weigh
from firth.embed.vectors.word_vectors import WordVectors

_CHUNK = 1 << 19  # entries weighed at once
_ARRAYS = ("basis", "keep", "factors", "text", "positions", "starts", "units")
_ABOUT = "about.json"
_VERSION = 2  # raise whenever the arrays of a run change


@dataclass(frozen=True, eq=False)
class Prepared:
    """The context space of a run, and its text grouped by word and unit."""

    space: ContextSpace
    text: UnitText
    config: SvdConfig
    unit: str

    def spread(self, word: int) -> float:
        """Return the number of units with a word, as if all had equally many of its tokens."""
        sizes = np.bincount(self.text.units_of(word)).astype(np.float64)
        return float(sizes.sum() ** 2 / max((sizes**2).sum(), 1))


def prepare(vectors: WordVectors, corpora: Any = (), unit: str | None = None) -> Prepared:
    """Open what resampling the text of a run needs, or make it; raise if a run cannot have it."""
    run, config = _settings(vectors)
    corpus = run.corpus(corpora)
    folder = cache_folder("draws") / fingerprint([_VERSION, checksum(run.path / CHECKSUMS), unit])
    try:
        check_once(sorted(folder.glob("*")), lambda: verify(folder))
        found = {name: map_array(folder / f"{name}.npy", again="", missing="") for name in _ARRAYS}
        about = read_json(folder / _ABOUT)
    except ArtifactError:  # it is missing or damaged
        about, found = _made(vectors, corpus, config, unit)
        _keep(folder, about, found)
    space = ContextSpace(found["basis"], found["keep"], found["factors"])
    text = UnitText(
        found["text"], found["positions"], found["starts"], found["units"], about["n_units"]
    )
    return Prepared(space, text, config, about["unit"])


def _keep(folder: Path, about: dict[str, Any], arrays: dict[str, np.ndarray]) -> None:
    """Write arrays to the cache, unless another process has, or nothing can be written there."""
    shutil.rmtree(folder, ignore_errors=True)
    with contextlib.suppress(ArtifactError), atomic_output(folder, force=False) as partial:
        partial.mkdir()
        for name, array in arrays.items():
            save_array(partial / f"{name}.npy", array)
        write_json(partial / _ABOUT, about)
        write_json(partial / CHECKSUMS, checksums(partial))


def _settings(vectors: WordVectors) -> tuple[Run, SvdConfig]:
    """Return the run of some vectors and its settings; raise if no space can be held fixed."""
    assert vectors.path is not None  # `trained_draws` refuses what no train-svd made
    run = Run.open(vectors.path)
    config = run.settings(SvdConfig)
    plain = SvdConfig(dim=config.dim)
    for name in (
        "weighting", "context_side", "add_contexts", "side_means", "best", "pieces", "exact_walks",
    ):  # fmt: skip
        if (value := getattr(config, name)) != getattr(plain, name):
            raise SettingError(
                f"{vectors.name}: `{name}={value}` has no intervals; train a run without it"
            )
    return run, config


def _units(view: View, corpus: Corpus, unit: str | None) -> tuple[str, list[np.ndarray]]:
    """Return the unit of text that is resampled, and that of each token of each shard."""
    # returns int32 (n,) by shard
    chosen = text_of_units(corpus)[0] if unit is None else unit
    numbers = list(view.units_of_tokens(chosen))  # type: ignore[arg-type]
    ends = np.cumsum([len(each) for each in numbers])
    together = np.concatenate(numbers)  # ascending
    units = np.cumsum(np.diff(together, prepend=together[:1]) != 0, dtype=np.int32)
    n_units = int(units[-1]) + 1 if len(units) else 0
    if n_units < FEWEST_UNITS:
        raise SettingError(
            f"{corpus.path}: has {n_units} of the {FEWEST_UNITS} {chosen}s with words that are "
            "needed to resample; pass another `unit`, or train on more text"
        )
    if unit is None and chosen != UNITS[0]:
        note(f"{corpus.path}: has few documents, so {chosen}s are resampled")
    return chosen, np.split(units, ends[:-1])


def _made(
    vectors: WordVectors, corpus: Corpus, config: SvdConfig, unit: str | None
) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """Count the text again and find contexts; return the unit of text, and arrays."""
    threads = thread_count(config.threads)
    view, n_words = checked_view(corpus, config)
    unit, units = _units(view, corpus, unit)
    with temporary_folder() as folder:
        counts = count_words(view, n_words, config, name=vectors.name, directory=folder)
        keep = keep_probabilities(view.counts, config.subsample)[:n_words]
        _, factors = pmi_factors(counts, keep, config.context_smoothing, threads, _CHUNK)
        # M'W = V S^(1+p), for M = U S V' and W = U S^p
        products = weigh(view, counts, config).T @ np.asarray(vectors.matrix)
    lengths = np.linalg.norm(products.astype(np.float64), axis=0)
    values = lengths ** (1 / (1 + config.singular_power))
    basis = (products * powers_of(values, -2)).astype(np.float32)
    n_units = 1 + max(int(each.max(initial=0)) for each in units)
    parts = (
        (rows, offsets, each) for (rows, offsets), each in zip(view.shards(), units, strict=True)
    )
    text = unit_text(parts, n_words, n_units, threads)
    return {"unit": unit, "n_units": n_units}, {
        "basis": basis, "keep": keep, "factors": factors, "text": text.text,
        "positions": text.positions, "starts": text.starts, "units": text.units,
    }  # fmt: skip
