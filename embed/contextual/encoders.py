"""The encoder of a run: found, opened and named by its content."""

import pkgutil
from pathlib import Path
from typing import Any

from corpora.artifacts.artifact import CHECKSUMS, fingerprint, read_json
from corpora.common.errors import ArtifactError
from embed.formats.huggingface import (
    HUGGINGFACE,
    is_huggingface,
    model_checksums,
    require_files,
)
from embed.protocols import ContextualEncoder
from embed.registry import ENCODERS
from embed.vectors.run_files import refuse_no_run, run_options

POOLED = "pool"  # the "method" of a run whose "encoder_run" has the encoder
ENCODER = "encoder_run"


def open_encoder(run: str | Path, device: str = "auto") -> ContextualEncoder:
    """Open the encoder of a run, or the one that a run was pooled from.

    Parameters
    ----------
    run : str or Path
        A run directory, or a Hugging Face folder.
    device : str
        ``auto``, ``cpu`` or ``cuda``.

    Returns
    -------
    ContextualEncoder
        Ready to be asked.

    Raises
    ------
    ArtifactError
        It is no finished run, its words have a vector each and no other, or the encoder is
        damaged or gone.
    SettingError
        There is no such device, or the package that the encoder needs is not installed.
    """
    run = encoder_run(Path(run))
    encoder: ContextualEncoder = pkgutil.resolve_name(ENCODERS[_method(run)])(run, device)
    return encoder


def encoder_run(run: Path) -> Path:
    """Find the run that has the encoder: this one, or the one that it was pooled from."""
    refuse_no_run(run)
    method = _method(run)
    if method == POOLED:
        return encoder_run(_pooled_from(run, run_options(run)))
    if method not in ENCODERS:
        raise ArtifactError(
            f"{run}: has one vector per word, whatever stands around it; for words in context "
            "give a run of firth train-mlm"
        )
    return run


def encoder_fingerprint(run: Path) -> str:
    """Name the content of what has an encoder."""
    if (run / CHECKSUMS).is_file():
        return fingerprint(read_json(run / CHECKSUMS))
    return fingerprint(model_checksums(run))


def _method(run: Path) -> str:
    """How the vectors of a run were made; a Hugging Face folder does not say, but is one."""
    if not is_huggingface(run):
        return str(run_options(run).get("method"))
    require_files(run)
    return HUGGINGFACE


def _pooled_from(run: Path, options: dict[str, Any]) -> Path:
    """The run with the encoder, as it was when this one was pooled from it."""
    known = options.get(ENCODER)
    if not isinstance(known, dict) or not {"path", "fingerprint"} <= known.keys():
        raise ArtifactError(f"{run / 'config.json'}: names no {ENCODER}; make the run again")
    source = Path(str(known["path"]))
    if not (source / CHECKSUMS).is_file() and not is_huggingface(source):
        raise ArtifactError(
            f"{source}: {run} was pooled from this run, which is gone; give another"
        )
    if encoder_fingerprint(source) != known["fingerprint"]:
        raise ArtifactError(
            f"{source}: {run} was pooled from another run that stood here; pool this one anew"
        )
    return source
