"""``model.safetensors``: the weights of a run, written and read."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from corpora.artifacts.artifact import verify
from corpora.common.errors import ArtifactError, SettingError
from corpora.tokenizer.json_format import open_pieces
from corpora.tokenizer.pieces import Pieces
from embed.vectors.run_files import refuse_no_run, run_options
from pretrain.config import EncoderConfig
from pretrain.model.encoder import MaskedLanguageModel

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"


def save_model(model: MaskedLanguageModel, path: Path) -> None:
    """Write every weight once; the table of pieces serves the output too."""
    write_tensors(
        path, {name: value.detach().cpu().contiguous() for name, value in _weights(model).items()}
    )


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors as safetensors.

    By Python's own means: the library's makes files that only their owner may read, and tells a
    full disk in its own way.
    """
    path.write_bytes(save(dict(tensors), metadata={"format": "pt"}))


def load_model(run: Path, device: torch.device | str = "cpu") -> MaskedLanguageModel:
    """Read the encoder of a finished run."""
    config = encoder_config(run)
    verify(run, [WEIGHTS, TOKENIZER])  # damaged weights answer, too
    return read_model(run / WEIGHTS, config, device)


def load_pieces(run: Path, config: EncoderConfig) -> Pieces:
    """Read the pieces of a run, finished or not."""
    pieces = open_pieces(run / TOKENIZER)
    if len(pieces) != config.n_pieces:
        raise ArtifactError(
            f"{run / TOKENIZER}: has {len(pieces)} pieces and the model {config.n_pieces}; "
            "make the run again"
        )
    return pieces


def read_model(
    path: Path, config: EncoderConfig, device: torch.device | str = "cpu"
) -> MaskedLanguageModel:
    """Read what :func:`save_model` wrote."""
    weights = _read_weights(path)
    with torch.device("meta"):  # takes no memory, however large an encoder config.json tells of
        _check_tensors(path, weights, _weights(MaskedLanguageModel(config)))
    model = MaskedLanguageModel(config)
    model.load_state_dict(weights)
    return model.to(device).eval()


def encoder_config(run: Path) -> EncoderConfig:
    """Read the shape of a run's encoder."""
    refuse_no_run(run)
    options = run_options(run)
    described: Any = options.get("encoder")
    if not isinstance(described, dict):
        source = options.get("encoder_run")  # a pooled run names where it has its own from
        other = source.get("path") if isinstance(source, dict) else "a run of firth train-mlm"
        raise ArtifactError(f"{run}: has no encoder; give {other}")
    try:
        return EncoderConfig.from_json(described)
    except (TypeError, KeyError, ZeroDivisionError, SettingError) as error:
        raise ArtifactError(
            f"{run / 'config.json'}: does not describe an encoder ({error}); make the run again"
        ) from None


def _weights(model: MaskedLanguageModel) -> dict[str, Tensor]:
    """The weights by name."""
    weights: dict[str, Tensor] = model.state_dict()
    return weights


def _read_weights(path: Path) -> dict[str, Tensor]:
    """The tensors of a file, on the CPU."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ArtifactError(f"{path}: no such file; is {path.parent} a finished run?") from None
    except (SafetensorError, OSError) as error:
        raise ArtifactError(f"{path}: is damaged ({error}); make the run again") from None


def _check_tensors(path: Path, found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Every weight is there, none besides, each of the right shape and type."""
    if other := sorted(found.keys() ^ expected.keys()):
        where = "lacks" if other[0] in expected else "has besides"
        raise ArtifactError(
            f"{path}: {where} {other[0]}, which config.json tells otherwise; make the run again"
        )
    for name, weight in expected.items():
        shape, dtype = tuple(found[name].shape), found[name].dtype
        if shape != tuple(weight.shape) or dtype != torch.float32:
            raise ArtifactError(
                f"{path}: {name} is {dtype} of shape {shape}, expected torch.float32 of "
                f"{tuple(weight.shape)}; make the run again"
            )
