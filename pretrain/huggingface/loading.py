"""Load a Hugging Face model from a folder, and find out how much it reads and how wide it is."""

import contextlib
import math
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import torch
from torch import nn

from corpora.artifacts.artifact import read_json
from corpora.common.errors import ArtifactError, FirthError, SettingError
from corpora.tokenizer.external import ExternalTokenizer
from pretrain.model.weights import TOKENIZER

TOKENIZER_OPTIONS = "tokenizer_config.json"
_MASKS = "[MASK]", "<mask>"  # by name, where the tokenizer does not tell
_RELATIVE_LENGTH = 512  # of windows, where no table of positions bounds them


def load(folder: Path, kind: str = "AutoModel") -> Any:
    """Load a model in float32; nothing is fetched, and no code of it is run."""
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
    # masked language models come without the pooler, which comes after all states
    if missing := sorted(name for name in info["missing_keys"] if "pooler" not in name):
        raise ArtifactError(
            f"{folder}: its weights lack {missing[0]}, which config.json tells otherwise; "
            "fetch it again"
        )
    return model


def mask_piece(folder: Path, model: Any) -> int | None:
    """Find the piece that stands for a masked one."""
    from tokenizers import Tokenizer

    with one_line_errors(folder):
        architectures = getattr(model.config, "architectures", None) or []
        if not any(name.endswith("ForMaskedLM") for name in architectures):
            return None
        told = _options(folder).get("mask_token")
        names = [told.get("content") if isinstance(told, dict) else told, *_MASKS]
        library = Tokenizer.from_file(str(folder / TOKENIZER))
        pieces = [library.token_to_id(name) for name in names if isinstance(name, str)]
    return next((piece for piece in pieces if piece is not None), None)


def _options(folder: Path) -> dict[str, Any]:
    """What tokenizer_config.json tells, if it is there."""
    path = folder / TOKENIZER_OPTIONS
    options = read_json(path) if path.is_file() else None
    return options if isinstance(options, dict) else {}


def _transformers(folder: Path) -> Any:
    """The package, which is no part of the smallest installation."""
    try:
        import transformers
    except ImportError:
        raise SettingError(
            f"{folder}: the states of a Hugging Face model need the package transformers; "
            "pip install 'firth[hf]'"
        ) from None
    return transformers


@contextlib.contextmanager
def one_line_errors(folder: Path) -> Iterator[None]:
    """Turn what models raise into one line; each has errors of its own."""
    try:
        yield
    except FirthError:
        raise
    except Exception as error:  # noqa: BLE001 - there is no end to their kinds
        lines = str(error).strip().splitlines() or [type(error).__name__]
        told = " ".join(line.strip() for line in lines[: 2 if lines[0].endswith(":") else 1])
        version = f"transformers {_transformers(folder).__version__}"
        if isinstance(error, ImportError):
            told = (
                f"{version} needs a package of its own for it ({told}); take the model "
                "unquantized, with usual attention"
            )
            raise ArtifactError(f"{folder}: {told}") from None
        raise ArtifactError(f"{folder}: {version} does not open it: {told}") from None


@contextlib.contextmanager
def _quiet(logging: Any) -> Iterator[None]:
    """No bars, and no report of heads that are left out."""
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
    """Count the pieces in a row, special ones among them."""
    config: Any = model.config
    length = _length(getattr(config, "max_position_embeddings", None), _RELATIVE_LENGTH)
    for name, module in model.named_modules():  # RoBERTa's positions begin behind the padding's
        if "position" in name and getattr(module, "padding_idx", None) is not None:
            length -= int(module.padding_idx) + 1
    return min(length, _length(_options(folder).get("model_max_length"), length))


def _length(told: object, otherwise: int) -> int:
    """A length as far as it is one; XLNet tells -1 where there is no bound."""
    if isinstance(told, int | float) and 1 <= told < math.inf:
        return int(told)
    return otherwise


def state_width(folder: Path, model: Any, pieces: ExternalTokenizer) -> int:
    """Read a short row: how wide the states are, if there is one of each piece and layer."""
    before, after = pieces.frame
    piece = int(pieces.split(["a"])[0][0])
    row = torch.tensor([[*before, piece, piece, *after]], device=model.device)
    with torch.inference_mode():
        asked = {"input_ids": row, "attention_mask": torch.ones_like(row)}
        states = model(**asked, output_hidden_states=True).hidden_states
    shapes = {tuple(layer.shape) for layer in states}
    width = int(states[0].shape[-1])
    if shapes != {(*row.shape, width)} or len(states) != model.config.num_hidden_layers + 1:
        raise ArtifactError(
            f"{folder}: its states are not one per piece and layer, all of one width; take an "
            "encoder that has such"
        )
    return width
