"""What a training goes on from: a run of ``train-mlm``, or a Hugging Face folder."""

import dataclasses
from collections.abc import Callable, Collection
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.runs.run import Run
from firth.embed.vectors.piece_table import means_of_pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.text import TextSplits, learn_text_pieces
from firth.pretrain.huggingface.reading import read_settings, read_text, read_weights
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.weights import encoder_config, load_model, load_pieces, save_model
from firth.pretrain.training.warm_start import AUTO, NONE

if TYPE_CHECKING:
    from firth.corpora.store.corpus import Corpus

# words of another text that become one piece: occurrences, pieces before, and how many words
_NEW_COUNT, _NEW_LENGTH, _MOST_NEW = 20, 3, 1_000
_UNKNOWN = 0.01  # a greater share of words without pieces is worth a note
_OF_MODEL = ("preset", "mixer", "positions", "attention", "norm", "objective", "pieces")
_OF_TEXT = ("sequence_length", "boundary", "mask_rate", "masking", "dropout")
_INHERITED = (*_OF_MODEL, *_OF_TEXT)


@dataclass(frozen=True)
class Origin:
    """A trained encoder."""

    settings: dict[str, Any]  # of MlmConfig
    text: TextSettings
    pieces: Pieces
    weights: Callable[[], dict[str, Tensor]]  # by name
    corpus: str | None = None  # checksum of the text of a run


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
        lambda: load_model(run.path).state_dict(), run.provenance.get("corpus"),
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
    if config.shape(n_pieces=1).sentinels and config.sequence_length != origin["sequence_length"]:
        raise SettingError(
            f"`sequence_length={config.sequence_length}`: {path} has the sentinels of "
            f"`sequence_length={origin['sequence_length']}`; leave it out"
        )
    return config


def text_of_origin(config: MlmConfig) -> TextSettings | None:
    """Return how the text of what a training goes on from was divided; None if of nothing."""
    return None if config.continue_ is None else open_origin(config.continue_).text


def first_pieces(corpus: "Corpus", text: TextSplits, config: MlmConfig) -> Pieces:
    """Return the pieces of what a training goes on from, and of new words, or learn all."""
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
    words, counts = text.train.words, text.train.counts
    share = counts[~origin.pieces.covers(words)].sum() / counts.sum()
    if share > _UNKNOWN:
        note(f"{share:.0%} of the words of the text have no pieces in {path} and are [UNK]")
    if origin.corpus == corpus.trained_on["corpus"]:
        return origin.pieces
    lengths = np.diff(origin.pieces.split(words)[1])
    frequent = np.flatnonzero((counts >= _NEW_COUNT) & (lengths >= _NEW_LENGTH))
    frequent = frequent[np.argsort(-counts[frequent], kind="stable")][:_MOST_NEW]
    if len(frequent):
        note(f"{len(frequent):,} frequent words that {path} cuts into pieces become one piece")
    return Pieces([*origin.pieces.names, *(words[row] for row in frequent.tolist())])


def write_origin(path: Path, config: MlmConfig, pieces: Pieces) -> None:
    """Write the weights that a training begins with; new pieces have the mean of their old ones."""
    assert config.continue_ is not None
    origin = open_origin(config.continue_)
    weights = origin.weights()
    ids, offsets = origin.pieces.split(pieces.names[len(origin.pieces) :])
    for name in ("pieces.weight", "core.bias"):
        old = weights[name]
        rows = old.reshape(len(old), -1).numpy()[ids]  # float32 (n, D), or (n, 1) of the bias
        new = torch.from_numpy(means_of_pieces(rows, offsets))
        # biases of sentinels stay behind those of all pieces
        known, rest = old[: len(origin.pieces)], old[len(origin.pieces) :]
        weights[name] = torch.cat([known, new.view(-1, *old.shape[1:]), rest])
    if "position_table.weight" in weights:
        weights["position_table.weight"] = weights["position_table.weight"][
            : config.sequence_length
        ]
    model = MaskedLanguageModel(config.shape(n_pieces=len(pieces)))
    model.load_state_dict(weights)
    save_model(model, path)
