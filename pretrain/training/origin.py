"""What a training goes on from: a run of ``train-mlm``, or a Hugging Face folder."""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from torch import Tensor

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.runs.run import Run
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.text import TextSplits, learn_text_pieces
from firth.pretrain.huggingface.reading import read_settings, read_text, read_weights
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import encoder_config, load_model, load_pieces, save_model
from firth.pretrain.training.warm_start import AUTO, NONE

_UNKNOWN = 0.01  # a greater share of words without pieces is worth a note
_OF_MODEL = ("preset", "mixer", "positions", "attention", "norm", "objective", "pieces")
_INHERITED = (*_OF_MODEL, "sequence_length", "boundary")


@dataclass(frozen=True)
class Origin:
    """A trained encoder."""

    settings: dict[str, Any]  # of MlmConfig
    text: TextSettings
    pieces: Pieces
    weights: Callable[[], dict[str, Tensor]]  # by name


def open_origin(path: str) -> Origin:
    """Open a finished run, or a Hugging Face folder."""
    run = Run.finished(Path(path))
    if run.method is None and "model_type" in run.options:
        settings = read_settings(run.path)
        shape = MlmConfig(**settings).shape(n_pieces=int(settings["pieces"]))
        return Origin(settings, *read_text(run.path), lambda: read_weights(run.path, shape))
    pieces = load_pieces(run.path, encoder_config(run.path))
    text = TextSettings.from_json(run.text or {})
    return Origin(
        dataclasses.asdict(run.settings(MlmConfig)), text, pieces,
        lambda: load_model(run.path).state_dict(),
    )  # fmt: skip


def continued(config: MlmConfig, given: Collection[str] = ()) -> MlmConfig:
    """Return a config with the shape of what it goes on from; raise if it contradicts that.

    Settings at their defaults are taken from there, unless they are ``given``.
    """
    if (path := config.continue_) is None:
        return config
    if config.init not in (AUTO, NONE):
        raise SettingError(
            f"`init={config.init}`: `continue_={path}` has a table of vectors, too; leave one out"
        )
    origin, default = open_origin(path).settings, MlmConfig()
    inherited = {}
    for name in _INHERITED:
        value, old = getattr(config, name), origin.get(name, getattr(default, name))
        if value == getattr(default, name) and name not in given:
            inherited[name] = old
        elif name in _OF_MODEL and value != old:
            was = f"no `{name}`" if old is None else f"`{name}={old}`"
            raise SettingError(f"`{name}={value}`: {path} has {was}; leave it out")
    config = dataclasses.replace(config, **inherited)
    if config.positions == "learned" and config.sequence_length > origin["sequence_length"]:
        raise SettingError(
            f"`sequence_length={config.sequence_length}`: {path} has learned positions of "
            f"`sequence_length={origin['sequence_length']}`; pass fewer"
        )
    return config


def text_of_origin(config: MlmConfig) -> TextSettings | None:
    """Return how the text of what a training goes on from was divided; None if of nothing."""
    return None if config.continue_ is None else open_origin(config.continue_).text


def first_pieces(text: TextSplits, config: MlmConfig) -> Pieces:
    """Return the pieces of what a training goes on from, or learn them from its text."""
    if (path := config.continue_) is None:
        return learn_text_pieces(text, config)
    origin = open_origin(path)
    if origin.text != text.settings:
        old, new = origin.text.shown, text.settings.shown
        names = sorted(f"`{name}`" for name in {*old, *new} if old.get(name) != new.get(name))
        raise SettingError(
            f"`continue_={path}`: its text had another {', '.join(names)} than the corpus; build "
            "the corpus with the same"
        )
    counts = text.train.counts
    share = counts[~origin.pieces.covers(text.train.words)].sum() / counts.sum()
    if share > _UNKNOWN:
        note(f"{share:.0%} of the words of the text have no pieces in {path} and are [UNK]")
    return origin.pieces


def write_origin(path: Path, config: MlmConfig, pieces: Pieces) -> None:
    """Write the weights that a training begins with, of these pieces."""
    assert config.continue_ is not None
    weights = open_origin(config.continue_).weights()
    if "position_table.weight" in weights:
        weights["position_table.weight"] = weights["position_table.weight"][
            : config.sequence_length
        ]
    model = MaskedLanguageModel(config.shape(n_pieces=len(pieces)))
    model.load_state_dict(weights)
    save_model(model, path)
