"""refine_vectors: steps on a space of word vectors, and the run that they make."""

from collections.abc import Callable
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import refuse_existing
from firth.corpora.artifacts.provenance import now
from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import config_of
from firth.corpora.common.reporting import note
from firth.embed.refine.config import RefineConfig
from firth.embed.refine.retrofit import ROUNDS, read_related, retrofit
from firth.embed.refine.steps import (
    Moments,
    apply,
    first_components,
    moments,
    whitening,
    without_top,
)
from firth.embed.runs.writer import new_run
from firth.embed.vectors.int8_rows import is_dense
from firth.embed.vectors.opened import opened
from firth.embed.vectors.search import nonzero_rows, unit_matrix
from firth.embed.vectors.source import describe_source, refuse_not_finite
from firth.embed.vectors.word_vectors import WordVectors, with_matrix

METHOD = "refine"
_COMPONENT_STEPS: dict[str, Callable[[Moments, int], np.ndarray]] = {  # in this order
    "remove_top": without_top,
    "dim": first_components,
    "whiten": lambda space, _: whitening(space),
}


def refine_vectors(
    vectors: WordVectors | str | Path,
    config: RefineConfig | None = None,
    *,
    related: str | Path | None = None,
    out: str | Path | None = None,
    force: bool = False,
) -> WordVectors:
    """Refine a space of word vectors: each step that is asked for, in a fixed order.

    1. ``normalize`` or ``related``: vectors are scaled to unit length.
    2. ``related``: they are retrofitted to lists of related words (Faruqui et al. 2015, equation 1;
       alpha 1, beta 1 / degree, 10 rounds).
    3. ``center``: the mean is subtracted, as it is by each of the next three.
    4. ``remove_top``: projections on the first principal components are subtracted (Mu & Viswanath
       2018, algorithm 1).
    5. ``dim``: the first principal components are kept.
    6. ``whiten``: principal components are scaled to the same variance.
    7. ``normalize``: vectors are scaled to unit length again.

    Parameters
    ----------
    vectors : WordVectors, str or Path
        A run or a file of vectors.
    config : RefineConfig, optional
        The steps; may be left out if there are ``related`` words.
    related : str or Path, optional
        A UTF-8 file with a word and its related words a line, separated by spaces. Relations hold
        in both directions.
    out : str or Path, optional
        The run to make: ``vocabulary.tsv``, ``vectors.npy`` float32 (V, D), and ``config.json``,
        which names the source and the steps.
    force : bool
        Overwrite a run at ``out``.

    Returns
    -------
    WordVectors
        The same words, counts and text settings; memory-mapped from ``out``, else in memory.
        N-grams, pieces and context vectors are left out.

    Raises
    ------
    ArtifactError
        Vectors are missing, damaged, or not finite, or ``out`` exists or cannot be written.
    SettingError
        There is no step, there are too few dimensions for a number, the vectors are sparse, no
        related words are known, or ``out`` is the source.
    SourceError
        The file of related words cannot be read.

    Notes
    -----
    Vectors that are zero stay so, and have no part in any step. Deterministic for a number of BLAS
    threads.

    Examples
    --------
    >>> plain = WordVectors(["x", "y"], np.array([[3, 4], [1, 2]], np.float32), name="plain")
    >>> refine_vectors(plain, RefineConfig(center=True)).matrix.tolist()
    [[1.0, 1.0], [-1.0, -1.0]]
    """
    config, started = config_of(config, RefineConfig), now()
    if out is not None:
        refuse_existing(Path(out), force)
    source = opened(vectors, verified=True)
    _check(source, config, related is not None, out)
    made, steps = _refined(source, config, related)
    _note_left_out(source)
    refined = with_matrix(source, made, f"{source.name} refined")
    if out is None:
        return refined
    recipe = {"source": describe_source(source), "steps": steps}
    with new_run(Path(out), {"command": METHOD, **recipe}, force=force, started=started) as run:
        refined.write(run.path)
        run.describe(METHOD, {**recipe, "settings": asdict(config)}, source.text)
    return WordVectors.open(out)


def _check(vectors: WordVectors, config: RefineConfig, retrofits: bool, out: Any) -> None:
    """Raise if the steps cannot be done on these vectors."""
    name, dim = vectors.name, vectors.dim
    if not (retrofits or config.centers or config.normalize):
        raise SettingError(
            "no step to refine by; pass `related`, `center`, `remove_top`, `dim`, `whiten` or "
            "`normalize`"
        )
    if out and vectors.path and Path(out).resolve() == vectors.path.resolve():
        raise SettingError(f"`out={out}`: is the source; choose another")
    if not is_dense(vectors.matrix):
        raise SettingError(f"{name}: has sparse vectors, which are not refined")
    if config.remove_top is not None and config.remove_top >= dim:
        raise SettingError(
            f"`remove_top={config.remove_top}` leaves nothing of the {dim} dimensions of {name}; "
            "pass fewer"
        )
    left = dim - (config.remove_top or 0)
    if config.dim is not None and config.dim > left:
        raise SettingError(
            f"`dim={config.dim}` is more than the {left} dimensions that {name} has left; pass "
            f"`dim={left}` or less"
        )
    refuse_not_finite(vectors)
    if not nonzero_rows(vectors.matrix).any():
        raise SettingError(f"{name}: has only vectors that are zero")


def _refined(
    vectors: WordVectors, config: RefineConfig, related: str | Path | None
) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return the refined rows, and a record of each step."""
    rows = np.asarray(vectors.matrix, np.float32)
    steps: list[dict[str, Any]] = []
    some = nonzero_rows(rows)
    if config.normalize or related is not None:
        rows = unit_matrix(rows)
        steps.append({"step": "unit"})
    if related is not None:
        lists = read_related(Path(related), vectors)
        rows = retrofit(rows, lists.pairs)
        steps.append({"step": "retrofit", **lists.counts(), "rounds": ROUNDS})
    if config.centers:
        space = moments(rows, some)
        _check_rank(space.rank, config, vectors.name)
        by, linear = _linear(space, config)
        rows = apply(rows, space.mean, by, some)
        steps += [{"step": "center"}, *linear]
    if config.normalize and len(steps) > 1:
        rows = unit_matrix(rows)
        steps.append({"step": "unit"})
    return rows, steps


def _check_rank(rank: int, config: RefineConfig, name: str) -> None:
    """Raise if the steps leave rounding errors only."""
    if not rank:
        raise SettingError(f"{name}: all vectors are the same, so that centering leaves nothing")
    if config.remove_top is not None and config.remove_top >= rank:
        has = "1 component" if rank == 1 else f"{rank} components"
        raise SettingError(
            f"`remove_top={config.remove_top}` leaves nothing of {name}, which has {has} with "
            "variance; pass fewer"
        )


def _linear(space: Moments, config: RefineConfig) -> tuple[np.ndarray, list[dict[str, Any]]]:
    """Return the steps on principal components as one map, and a record of each."""
    by, steps = np.eye(len(space.mean)), []
    for name, map_of in _COMPONENT_STEPS.items():
        n = getattr(config, name)
        if not n:
            continue
        record: dict[str, Any] = {"step": name}
        if n is not True:
            values = space.principal()[0]
            record |= {"n": n, "variance": float(values[:n].sum() / (values.sum() or 1.0))}
        steps.append(record)
        part = map_of(space, n)
        by, space = by @ part, space.mapped(part)
    return by, steps


def _note_left_out(vectors: WordVectors) -> None:
    """Report the parts of a run that the steps do not change, which the new run lacks."""
    parts = vectors.subwords or vectors.pieces
    present = [] if parts is None else [parts.made_of]
    if present := present + ["context vectors"] * (vectors.contexts is not None):
        note(f"{vectors.name}: {' and '.join(present)} are left out of the refined vectors")
