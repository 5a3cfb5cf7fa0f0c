"""Training methods, encoders and model formats by name, as import paths.

The paths are strings, so that importing this module loads none of them, and so that they may name
packages that ``embed`` must not import. :func:`pkgutil.resolve_name` resolves them.
"""

import pkgutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from corpora.artifacts.atomic import atomic_output
from corpora.common.errors import SettingError


@dataclass(frozen=True, kw_only=True)
class Chosen:
    """How default settings were chosen: a comparison says so when it shows one of these sets."""

    sets: tuple[str, ...]  # the evaluation sets looked at, by the names of their papers
    settings: tuple[str, ...]  # those whose defaults were chosen on them
    date: str  # year-month-day


@dataclass(frozen=True)
class Method:
    """A training method: its config and its training function."""

    # ``module:name`` of its config class, a frozen dataclass of settings; its ``chosen``, if it has
    # one, is a Chosen, and its ``loss_settings`` name those that comparable losses have in common
    config: str
    # ``module:name`` of its function ``(corpus, config, out, *, force=False)``, which makes a run
    train: str

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

# The "method" of a run (or "huggingface" for a Hugging Face folder) to a function
# (run, device) -> ContextualEncoder.
ENCODERS = {
    "mlm": "pretrain.inference.mlm_encoder:open_run",
    "huggingface": "pretrain.huggingface.encoder:open_folder",
}


@dataclass(frozen=True)
class ModelFormat:
    """A folder format that a model can be exported to."""

    # ``module:name`` of ``(run, folder) -> str``, which writes the folder and returns a summary
    write: str
    files: tuple[str, ...]  # --force overwrites only a folder with these files


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
    """Return the method of a name; raise SettingError if there is none."""
    if name not in METHODS:
        raise SettingError(f"method: {name}: unknown; choose one of {', '.join(METHODS)}")
    return METHODS[name]


def write_model(run: Path, out: Path, format: str, *, force: bool = False) -> str:
    """Export the model of a run atomically and return a summary of what was written."""
    model_format = MODEL_FORMATS[format]
    with atomic_output(out, force, model_format.files) as partial:
        summary: str = pkgutil.resolve_name(model_format.write)(run, partial)
    return summary
