"""Load a Hugging Face model from a folder, and find its row length, width and mask piece."""

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, imported
from firth.corpora.tokenizer.external import ExternalTokenizer
from firth.embed.contextual.pooling import parse_layers
from firth.embed.vectors.piece_table import TOKENIZER

TOKENIZER_OPTIONS = "tokenizer_config.json"
_MASKS = "[MASK]", "<mask>"  # tried if the tokenizer's options do not name one
# files of sentence-transformers, whose models often keep the name of the masked LM they came from
_SENTENCE_ENCODER = ("modules.json", "config_sentence_transformers.json")
_MASKED_LM = ("ForMaskedLM", "ForPreTraining")  # ends of the names of architectures
_CAUSAL_LM = ("ForCausalLM", "GPT2LMHeadModel", "OpenAIGPTLMHeadModel", "BertLMHeadModel")
STATIC_LAYERS = "static_layers"  # key of config.json in folders that we export
_RELATIVE_LENGTH = 512  # of windows, if positions are relative and set no limit


def load(folder: Path, kind: str = "AutoModel") -> Any:
    """Load a model in float32, without downloads or remote code; raise if weights are missing."""
    transformers = _transformers(folder)
    with _quiet(transformers.utils.logging):
        model, info = getattr(transformers, kind).from_pretrained(
            folder,
            local_files_only=True,
            trust_remote_code=False,
            use_safetensors=True,
            dtype=torch.float32,
            output_loading_info=True,
        )
    # masked language models have no pooler, and states do not depend on it
    if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
        raise ArtifactError(
            f"{folder}: the weights lack {missing[0]}, which config.json expects; "
            "download the model again"
        )
    return model


def open_config(folder: Path) -> Any:
    """Read the configuration of a model, without downloads or remote code."""
    return _transformers(folder).AutoConfig.from_pretrained(
        folder, local_files_only=True, trust_remote_code=False
    )


def mask_piece(folder: Path, model: Any) -> int | None:
    """Return the mask piece; None if the model is not a masked language model or has no mask."""
    from tokenizers import Tokenizer

    with one_line_errors(folder):
        architectures = getattr(model.config, "architectures", None) or []
        if not any(name.endswith("ForMaskedLM") for name in architectures):
            return None
        option = _options(folder).get("mask_token")
        names = [option.get("content") if isinstance(option, dict) else option, *_MASKS]
        library = Tokenizer.from_file(str(folder / TOKENIZER))
        pieces = [library.token_to_id(name) for name in names if isinstance(name, str)]
    return next((piece for piece in pieces if piece is not None), None)


def predicts_next(config: Any) -> bool:
    """Return whether a model is a causal language model, by its architecture."""
    return any(name.endswith(_CAUSAL_LM) for name in getattr(config, "architectures", None) or [])


def static_layers(folder: Path, config: Any) -> tuple[tuple[int, ...], str]:
    """Return the layers to pool into static vectors by default, and the reason.

    Of masked language models the lower half, which is best for word similarity (Bommasani et al.
    2020; Vulić et al. 2020); of sentence encoders, decoders and others the last layer.
    """
    n_layers = int(config.num_hidden_layers)
    stated = getattr(config, STATIC_LAYERS, None)
    if isinstance(stated, list) and stated:
        return parse_layers(",".join(map(str, stated)), n_layers), "stated in config.json"
    if any((folder / name).is_file() for name in _SENTENCE_ENCODER):
        return (n_layers,), "the last one of a sentence encoder"
    names = getattr(config, "architectures", None) or []
    if any(str(name).endswith(_MASKED_LM) for name in names):
        return tuple(range(n_layers // 2 + 1)), "the lower half of a masked language model"
    return (n_layers,), f"the last one, since {names[0] if names else 'it'} is not a masked LM"


def _options(folder: Path) -> dict[str, Any]:
    """Read tokenizer_config.json, if it exists."""
    path = folder / TOKENIZER_OPTIONS
    options = read_json(path) if path.is_file() else None
    return options if isinstance(options, dict) else {}


def _transformers(folder: Path) -> Any:
    """Import transformers, an optional dependency."""
    needs = "the states of a Hugging Face model need the package transformers"
    missing = SettingError(f"{folder}: {needs}; pip install 'firth[hf]'")
    return imported("transformers", missing)


@contextlib.contextmanager
def one_line_errors(folder: Path) -> Iterator[None]:
    """Turn any error of transformers into a one-line ArtifactError."""
    try:
        yield
    except FirthError:
        raise
    except Exception as error:  # noqa: BLE001 - models raise errors of any type
        lines = str(error).strip().splitlines() or [type(error).__name__]
        reason = " ".join(line.strip() for line in lines[: 2 if lines[0].endswith(":") else 1])
        version = f"transformers {_transformers(folder).__version__}"
        if isinstance(error, ImportError):
            reason = (
                f"{version} needs another package for it ({reason}); use the unquantized model "
                "with standard attention"
            )
            raise ArtifactError(f"{folder}: {reason}") from None
        raise ArtifactError(f"{folder}: {version} cannot open it: {reason}") from None


@contextlib.contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """Silence progress bars and warnings about unused heads."""
    verbosity, bars = logging.get_verbosity(), logging.is_progress_bar_enabled()
    logging.set_verbosity_error()
    logging.disable_progress_bar()
    try:
        yield
    finally:
        logging.set_verbosity(verbosity)
        if bars:
            logging.enable_progress_bar()


def row_length(folder: Path, model: nn.Module) -> int:
    """Return the pieces per row, including special ones; 512 if positions are relative."""
    config: Any = model.config
    length = _length(getattr(config, "max_position_embeddings", None), _RELATIVE_LENGTH)
    for name, module in model.named_modules():  # RoBERTa's positions start after the padding index
        if "position" in name and getattr(module, "padding_idx", None) is not None:
            length -= int(module.padding_idx) + 1
    return min(length, _length(_options(folder).get("model_max_length"), length))


def _length(value: object, default: int) -> int:
    """Return a configured length, or the default if it is invalid; XLNet has -1 for no limit."""
    if isinstance(value, int | float) and 1 <= value < math.inf:
        return int(value)
    return default


def state_width(folder: Path, model: Any, pieces: ExternalTokenizer) -> int:
    """Return the width of the states, by a short row; raise unless all of its pieces have one."""
    before, after = pieces.frame
    piece = int(pieces.split(["a"])[0][0])
    row = torch.tensor([[*before, piece, piece, *after]], device=model.device)
    with torch.inference_mode():
        inputs = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        states = model(**inputs, output_hidden_states=True).hidden_states
    shapes = {tuple(layer.shape) for layer in states}
    width = int(states[0].shape[-1])
    if shapes != {(*row.shape, width)} or len(states) != model.config.num_hidden_layers + 1:
        raise ArtifactError(
            f"{folder}: the model does not have one state per piece and layer, all of one width; "
            "choose another encoder"
        )
    return width
