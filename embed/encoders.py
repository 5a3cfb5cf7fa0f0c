"""ENCODERS: which runs give words a vector in their context, as import paths in text.

Text, since this package must not import what trains them.
"""

import importlib
from pathlib import Path
from typing import Any

from corpora.artifacts import CHECKSUMS, fingerprint, read_json
from corpora.errors import ArtifactError
from embed.protocols import ContextualEncoder
from embed.run_files import refuse_no_run, run_options

# The "method" of a run to a function (run, device) -> ContextualEncoder.
ENCODERS = {"mlm": "pretrain.contextual:open_run"}
POOLED = "pool"  # the "method" of a run whose "encoder_run" has the encoder
ENCODER = "encoder_run"


def open_encoder(run: str | Path, device: str = "auto") -> ContextualEncoder:
    """Open the encoder of a run, or the one that a run was pooled from.

    Parameters
    ----------
    run : str or Path
        A run directory.
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
        There is no such device.
    """
    run = encoder_run(Path(run))
    module, _, name = ENCODERS[run_options(run)["method"]].partition(":")
    encoder: ContextualEncoder = getattr(importlib.import_module(module), name)(run, device)
    return encoder


def encoder_run(run: Path) -> Path:
    """Find the run that has the encoder: this one, or the one that it was pooled from.

    Parameters
    ----------
    run : Path
        A run directory.

    Returns
    -------
    Path
        Its method is a key of :data:`ENCODERS`.

    Raises
    ------
    ArtifactError
        It is no finished run, has no encoder, or the run that has it is gone or another.
    """
    refuse_no_run(run)
    options = run_options(run)
    if options.get("method") == POOLED:
        return encoder_run(_pooled_from(run, options))
    if options.get("method") not in ENCODERS:
        raise ArtifactError(
            f"{run}: has one vector per word, whatever stands around it; for words in context "
            "give a run of firth train-mlm"
        )
    return run


def _pooled_from(run: Path, options: dict[str, Any]) -> Path:
    """The run with the encoder, as it was when this one was pooled from it."""
    known = options.get(ENCODER)
    if not isinstance(known, dict) or not {"path", "fingerprint"} <= known.keys():
        raise ArtifactError(f"{run / 'config.json'}: names no {ENCODER}; make the run again")
    source = Path(str(known["path"]))
    if not (source / CHECKSUMS).is_file():
        raise ArtifactError(
            f"{source}: {run} was pooled from this run, which is gone; give another"
        )
    if fingerprint(read_json(source / CHECKSUMS)) != known["fingerprint"]:
        raise ArtifactError(
            f"{source}: {run} was pooled from another run that stood here; pool this one anew"
        )
    return source
