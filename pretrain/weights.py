"""``model.safetensors``: the weights of a run, written and read."""

from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save_file
from torch import Tensor

from corpora.artifacts import MAKER
from corpora.errors import ArtifactError, SettingError
from embed.run_files import run_options
from pretrain.config import EncoderConfig
from pretrain.encoder import MaskedLanguageModel

WEIGHTS = "model.safetensors"
TOKENIZER = "tokenizer.json"


def save_model(model: MaskedLanguageModel, path: Path) -> None:
    """Write every weight once; the table of pieces serves the output too.

    Parameters
    ----------
    model : MaskedLanguageModel
        On any device.
    path : Path
        The file.
    """
    weights = {name: value.detach().cpu().contiguous() for name, value in _weights(model).items()}
    save_file(weights, path, metadata={"format": "pt"})


def load_model(run: Path, device: torch.device | str = "cpu") -> MaskedLanguageModel:
    """Read the encoder of a finished run.

    Parameters
    ----------
    run : Path
        Has ``config.json`` and ``model.safetensors``.
    device : torch.device or str
        Where the model shall live.

    Returns
    -------
    MaskedLanguageModel
        In float32, ready to be asked: without dropout.

    Raises
    ------
    ArtifactError
        The run is not finished, a file is missing or damaged, or the weights are not those
        that the configuration describes.
    """
    if (run / MAKER).is_file():
        raise ArtifactError(f"{run}: is unfinished; run the command that was making it again")
    return read_model(run / WEIGHTS, encoder_config(run), device)


def read_model(
    path: Path, config: EncoderConfig, device: torch.device | str = "cpu"
) -> MaskedLanguageModel:
    """Read what :func:`save_model` wrote.

    Parameters
    ----------
    path : Path
        The file.
    config : EncoderConfig
        The shape that the weights must have.
    device : torch.device or str
        Where the model shall live.

    Returns
    -------
    MaskedLanguageModel
        In float32, ready to be asked: without dropout.

    Raises
    ------
    ArtifactError
        The file is missing or damaged, or holds other weights.
    """
    weights = _read_weights(path)
    model = MaskedLanguageModel(config)
    _refuse_others(path, weights, _weights(model))
    model.load_state_dict(weights)
    return model.to(device).eval()


def encoder_config(run: Path) -> EncoderConfig:
    """Read the shape of a run's encoder.

    Parameters
    ----------
    run : Path
        Has ``config.json``.

    Returns
    -------
    EncoderConfig
        As it was trained.

    Raises
    ------
    ArtifactError
        The run has no encoder, or one of another version.
    """
    options = run_options(run)
    described: Any = options.get("encoder")
    if not isinstance(described, dict):
        raise ArtifactError(f"{run}: has no encoder; give a run of firth train-mlm")
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


def _refuse_others(path: Path, found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
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
