"""MODEL_FORMATS: forms in which a whole model is written, by name, as import paths in text.

Text, for the reason that METHODS has: models live in a package that this one must not import.
"""

import pkgutil
from dataclasses import dataclass
from pathlib import Path

from corpora.artifacts.atomic import replacing


@dataclass(frozen=True)
class ModelFormat:
    """A way to write a model as a folder.

    Parameters
    ----------
    write : str
        ``module:name`` of its function ``(run, folder) -> str``, which makes the folder and
        says in a few words what it wrote.
    files : tuple of str
        What the folder holds; no other folder is ever replaced.
    """

    write: str
    files: tuple[str, ...]


MODEL_FORMATS = {
    "huggingface": ModelFormat(
        "pretrain.huggingface.export:write_huggingface",
        (
            "README.md",
            "config.json",
            "model.safetensors",
            "tokenizer.json",
            "tokenizer_config.json",
        ),
    ),
}


def write_model(run: Path, out: Path, format: str, *, force: bool = False) -> str:
    """Write the model of a run in another program's format; whole or not at all.

    Parameters
    ----------
    run : Path
        A run that has a model, not only vectors.
    out : Path
        A folder.
    format : str
        A key of :data:`MODEL_FORMATS`.
    force : bool
        Replace what an earlier export left at ``out``.

    Returns
    -------
    str
        What was written, in a few words.

    Raises
    ------
    ArtifactError
        ``out`` exists, or the run has no such model.
    SettingError
        The format has no place for something of the model.
    """
    form = MODEL_FORMATS[format]
    with replacing(out, force, form.files) as partial:
        written: str = pkgutil.resolve_name(form.write)(run, partial)
    return written
