"""Write and read ``model.safetensors``, the weights of a run."""

from collections.abc import Mapping
from pathlib import Path

import torch
from safetensors import SafetensorError
from safetensors.torch import load_file, save
from torch import Tensor

from firth.corpora.artifacts.artifact import verify
from firth.corpora.artifacts.kinds import RUN, wrong_kind
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.tokenizer.json_format import open_pieces
from firth.corpora.tokenizer.pieces import Pieces
from firth.embed.runs.run import Run
from firth.embed.vectors.piece_table import TOKENIZER
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.shape import EncoderConfig

WEIGHTS = "model.safetensors"


def save_model(model: MaskedLanguageModel, path: Path) -> None:
    """Write the weights; the output matrix is the embedding table and is not repeated."""
    write_tensors(
        path, {name: value.detach().cpu().contiguous() for name, value in _weights(model).items()}
    )


def write_tensors(path: Path, tensors: Mapping[str, Tensor]) -> None:
    """Write tensors, on the CPU and each with its own memory, as safetensors.

    Not with the library's own function, which ignores the umask and reports a full disk as an
    error of its own type.
    """
    path.write_bytes(save(dict(tensors), metadata={"format": "pt"}))


def load_model(
    run: Path, device: torch.device | str = "cpu", *, causal: bool = False
) -> MaskedLanguageModel:
    """Read the encoder of a finished run, in evaluation mode; ``causal`` if it may be."""
    config = encoder_config(run)
    config = config.one_way if causal else config
    verify(run, [WEIGHTS, TOKENIZER])  # damaged weights would load, too
    return read_model(run / WEIGHTS, config, device)


def load_pieces(run: Path, config: EncoderConfig) -> Pieces:
    """Read the pieces of a run, finished or not; raise if the encoder has another number."""
    pieces = open_pieces(run / TOKENIZER)
    if len(pieces) != config.n_pieces:
        raise ArtifactError(
            f"{run / TOKENIZER}: has {len(pieces)} pieces, but the model has {config.n_pieces}; "
            "train the run again"
        )
    return pieces


def read_model(
    path: Path, config: EncoderConfig, device: torch.device | str = "cpu"
) -> MaskedLanguageModel:
    """Read what :func:`save_model` wrote; raise if the weights do not match ``config``."""
    weights = _read_weights(path)
    with torch.device("meta"):  # no memory, however large config.json says the encoder is
        _check_tensors(path, weights, _weights(MaskedLanguageModel(config)))
    model = MaskedLanguageModel(config)
    model.load_state_dict(weights)
    return model.to(device).eval()


def encoder_config(run: Path) -> EncoderConfig:
    """Read the shape of a finished run's encoder."""
    opened = Run.finished(run)
    if not (described := opened.entries("encoder")):
        # a pooled run names the run of its encoder
        other = opened.entries("encoder_run").get("path", "a run of `train_mlm()`")
        missing = f"{run}: has no encoder; pass {other}"
        raise ArtifactError(wrong_kind(run, RUN, "mlm") or missing)
    try:
        return EncoderConfig.from_json(described)
    except (TypeError, KeyError, ZeroDivisionError, SettingError) as error:
        raise ArtifactError(
            f"{run / 'config.json'}: does not describe an encoder ({error}); train the run again"
        ) from None


def _weights(model: MaskedLanguageModel) -> dict[str, Tensor]:
    """Return the weights by name."""
    weights: dict[str, Tensor] = model.state_dict()
    return weights


def _read_weights(path: Path) -> dict[str, Tensor]:
    """Read the tensors of a file, on the CPU."""
    try:
        return load_file(path)
    except FileNotFoundError:
        raise ArtifactError(f"{path}: no such file; is {path.parent} a finished run?") from None
    except (SafetensorError, OSError) as error:
        raise ArtifactError(f"{path}: is damaged ({error}); train the run again") from None


def _check_tensors(path: Path, found: dict[str, Tensor], expected: dict[str, Tensor]) -> None:
    """Raise unless every expected weight is there, no other, with the right shape and type."""
    if other := sorted(found.keys() ^ expected.keys()):
        what = "lacks" if other[0] in expected else "should not have"
        raise ArtifactError(
            f"{path}: {what} {other[0]} according to config.json; train the run again"
        )
    for name, weight in expected.items():
        shape, dtype = tuple(found[name].shape), found[name].dtype
        if shape != tuple(weight.shape) or dtype != torch.float32:
            raise ArtifactError(
                f"{path}: {name} is {dtype} of shape {shape}, expected torch.float32 of "
                f"{tuple(weight.shape)}; train the run again"
            )
