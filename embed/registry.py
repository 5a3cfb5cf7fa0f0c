"""What can be trained, opened as an encoder and exported, by name, as import paths in text.

Text, so that naming a thing imports nothing, and so that it may be in a package that this one
must not import. Paths are resolved by :func:`pkgutil.resolve_name`.
"""

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.artifacts.atomic import replacing
from corpora.common.errors import SettingError


@dataclass(frozen=True)
class Method:
    """A way to train vectors."""

    config: str  # ``module:name`` of its config class, a frozen dataclass of settings
    train: str  # ``module:name`` of its function ``(corpus, config, out, *, force=False) -> Path``

    def config_class(self) -> Any:
        """Import the config class."""
        return pkgutil.resolve_name(self.config)

    def train_function(self) -> Any:
        """Import the training function."""
        return pkgutil.resolve_name(self.train)


METHODS = {
    "svd": Method("embed.svd.train:SvdConfig", "embed.svd.train:train_svd"),
    "skipgram": Method(
        "embed.word2vec.config:SkipGramConfig", "embed.word2vec.train:train_skipgram"
    ),
    "cbow": Method("embed.word2vec.config:CbowConfig", "embed.word2vec.train:train_cbow"),
    "mlm": Method("pretrain.config:MlmConfig", "pretrain.train:train_mlm"),
}

# Which runs give words a vector in their context: the "method" of a run, or what a Hugging Face
# folder has instead, to a function (run, device) -> ContextualEncoder.
ENCODERS = {
    "mlm": "pretrain.inference.mlm_encoder:open_run",
    "huggingface": "pretrain.huggingface.encoder:open_folder",
}


@dataclass(frozen=True)
class ModelFormat:
    """A way to write a model as a folder."""

    # ``module:name`` of its function ``(run, folder) -> str``, which makes the folder and says in
    # a few words what it wrote
    write: str
    files: tuple[str, ...]  # what the folder holds; no other folder is ever replaced


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


def find_method(name: str) -> Method:
    """Look a method up."""
    if name not in METHODS:
        raise SettingError(f"method: {name}: is not known; take one of {', '.join(METHODS)}")
    return METHODS[name]


def write_model(run: Path, out: Path, format: str, *, force: bool = False) -> str:
    """Write the model of a run in another program's format; whole or not at all."""
    form = MODEL_FORMATS[format]
    with replacing(out, force, form.files) as partial:
        written: str = pkgutil.resolve_name(form.write)(run, partial)
    return written
