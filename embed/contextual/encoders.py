"""Finding, opening and fingerprinting the encoder of a run."""

import contextlib
import os
from pathlib import Path

from firth.corpora.artifacts.artifact import CHECKSUMS, fingerprint, read_json
from firth.corpora.artifacts.kinds import RUN, wrong_kind
from firth.corpora.common.errors import ArtifactError
from firth.embed.formats.huggingface import (
    HUGGINGFACE,
    is_huggingface,
    model_checksums,
    require_files,
)
from firth.embed.protocols import ContextualEncoder
from firth.embed.registry import CAUSAL_ENCODER, ENCODERS, resolve
from firth.embed.runs.run import Run
from firth.embed.vectors.piece_table import START
from firth.embed.vectors.word_vectors import open_start

POOLED = "pool"  # the "method" of a run whose "encoder_run" contains the encoder
ENCODER = "encoder_run"
CAUSAL = ":causal"  # behind the path of a run that was trained both ways, to read it so


def open_encoder(run: str | os.PathLike[str], device: str = "auto") -> ContextualEncoder:
    """Open the encoder of a run, or the encoder that the run was pooled from.

    Parameters
    ----------
    run : str or Path
        A run directory or a Hugging Face folder. With ``:causal`` behind it, a run of
        ``objective=mixed`` is read from left to right.
    device : {'auto', 'cpu', 'cuda', 'mps'}
        Where the encoder runs; ``mps`` is untried.

    Returns
    -------
    ContextualEncoder
        The encoder, loaded and ready to use.

    Raises
    ------
    ArtifactError
        If it is not a finished run, has only static vectors, or its encoder is damaged or missing.
    SettingError
        If the device does not exist or a package that the encoder needs is not installed.
    """
    causal = causal_run(Path(run))
    run = encoder_run(causal or Path(run))
    opener = CAUSAL_ENCODER if causal else ENCODERS[str(_method(Run.open(run)))]
    encoder: ContextualEncoder = resolve(opener)(run, device)
    return encoder


def causal_run(run: Path) -> Path | None:
    """Return the run of a path with ``:causal`` behind it; None for others."""
    if run.exists() or not run.name.endswith(CAUSAL):
        return None
    return run.with_name(run.name.removesuffix(CAUSAL))


def encoder_run(run: Path) -> Path:
    """Return the run that contains the encoder: this one, or the one it was pooled from."""
    opened = Run.finished(run)
    method = _method(opened)
    if method == POOLED:
        return encoder_run(_pooled_from(opened))
    if method not in ENCODERS:
        static = f"{run}: has only static vectors; for words in context pass a run of `train_mlm()`"
        raise ArtifactError(wrong_kind(run, RUN, "mlm") or static)
    return run


def vectors_method(run: Run) -> str | None:
    """Return the method of a run's vectors: ``svd + mlm`` if an SVD is their first part."""
    joined = run.entries("pooling").get("source") == "joined"
    with contextlib.suppress(ArtifactError):  # its encoder may be missing
        if joined and open_start(source := encoder_run(run.path)) is not None:
            return f"{Run.open(source / START).method or 'svd'} + {run.method}"
    return run.method


def encoder_fingerprint(run: Path) -> str:
    """Return a fingerprint of a run or Hugging Face folder with an encoder."""
    if (run / CHECKSUMS).is_file():
        return fingerprint(read_json(run / CHECKSUMS))
    return fingerprint(model_checksums(run))


def encoded_by(run: Path) -> dict[str, str]:
    """Return what a run of lines says of the run that encoded them."""
    return {"run": str(run.resolve()), "fingerprint": encoder_fingerprint(run)}


def _method(run: Run) -> str | None:
    """Return the method of a run, or "huggingface" for a Hugging Face folder."""
    if not is_huggingface(run.path):
        return run.method
    require_files(run.path)
    return HUGGINGFACE


def _pooled_from(run: Run) -> Path:
    """Return the run that this one was pooled from; raise if it is missing or has changed."""
    recorded = run.entries(ENCODER)
    if not {"path", "fingerprint"} <= recorded.keys():
        raise ArtifactError(f"{run.path}: names no {ENCODER}; train the run again")
    source = run.moved(Path(str(recorded["path"])))
    if not (source / CHECKSUMS).is_file() and not is_huggingface(source):
        raise ArtifactError(
            f"{source}: missing, but {run.path} was pooled from it; pass another run"
        )
    if encoder_fingerprint(source) != recorded["fingerprint"]:
        raise ArtifactError(
            f"{source}: has changed since {run.path} was pooled from it; run `pool_run()` again"
        )
    return source
