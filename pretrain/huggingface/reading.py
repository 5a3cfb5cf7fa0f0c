"""Read a BERT or ModernBERT folder as settings, pieces and weights of our encoders."""

from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import SettingError
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import CONTINUATION, SPECIAL, UNK, Pieces
from firth.embed.vectors.piece_table import TOKENIZER
from firth.pretrain.config import PRESETS, MlmConfig
from firth.pretrain.huggingface.layouts import DECODER, huggingface_config, our_form
from firth.pretrain.huggingface.loading import STATIC_LAYERS, load, one_line_errors, open_config
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.objectives import CAUSAL, MASKED
from firth.pretrain.shape import EncoderConfig

# keys of config.json that change no logits of our rows, besides pieces by id and dropout
_WITHOUT_EFFECT = {
    "architectures", "dtype", "initializer_range", "vocab_size", "type_vocab_size", STATIC_LAYERS,
}  # fmt: skip
_SEGMENTERS = {1: "whitespace", 3: "words", 4: "characters"}  # by the words of "ab.c"


def read_settings(folder: Path) -> dict[str, Any]:
    """Return the settings of ``MlmConfig`` that give the same encoder; raise if none do."""
    with one_line_errors(folder):
        config = open_config(folder)
        causal = config.model_type == DECODER or getattr(config, "is_decoder", False)
        if config.model_type not in ("bert", "modernbert", DECODER):
            raise _unlike(folder, f"a model of type {config.model_type} is no BERT or ModernBERT")
        settings = _settings(config, causal) | {"pieces": str(len(_vocabulary(folder)))}
        described = huggingface_config(MlmConfig(**settings).shape(n_pieces=1))
        expected = type(config)(**described)
    for key in described:
        ignored = key in _WITHOUT_EFFECT or key.endswith("_id") or "dropout" in key
        value, wanted = getattr(config, key, None), getattr(expected, key, None)
        if not ignored and value != wanted:
            raise _unlike(folder, f"its {key} is {value}, not {wanted}")
    return settings


def read_weights(folder: Path, shape: EncoderConfig) -> dict[str, Tensor]:
    """Return the weights of a folder by our names."""
    with one_line_errors(folder):
        model = load(folder, "AutoModelForCausalLM" if shape.causal else "AutoModelForMaskedLM")
    with torch.device("meta"):
        names = MaskedLanguageModel(shape).state_dict()
    weights = our_form(model.config.model_type, model.state_dict(), names)
    ids, n_rows = list(_vocabulary(folder).values()), len(weights["pieces.weight"])
    if max(ids) >= n_rows:
        raise _unlike(folder, f"{TOKENIZER} has pieces beyond the {n_rows} of the model")
    for name in ("pieces.weight", "core.bias"):
        weights[name] = weights[name][ids]
    return weights


def read_text(folder: Path) -> tuple[TextSettings, Pieces]:
    """Return how the tokenizer of a folder divides text, and its pieces, the special ones first."""
    from tokenizers import Tokenizer

    with one_line_errors(folder):
        library = Tokenizer.from_file(str(folder / TOKENIZER))
        probe = library.normalizer.normalize_str("Aé7") if library.normalizer else "Aé7"
        divided = library.pre_tokenizer.pre_tokenize_str("ab.c") if library.pre_tokenizer else []
    text = TextSettings(
        keep_case=probe[0] == "A", strip_accents="e" in probe, fold_digits=probe[-1] == "0",
        segmenter=_SEGMENTERS.get(len(divided), "words"),
    )  # fmt: skip
    return text, Pieces(list(_vocabulary(folder)))


def _vocabulary(folder: Path) -> dict[str, int]:
    """Return the pieces of a folder with their numbers, the special ones first."""
    model = read_json(folder / TOKENIZER)["model"]
    numbers = model.get("vocab", {})
    told = model.get("type"), model.get("continuing_subword_prefix"), model.get("unk_token")
    if told != ("WordPiece", CONTINUATION, SPECIAL[UNK]) or not numbers.keys() >= set(SPECIAL):
        raise _unlike(folder, f"{TOKENIZER} has no pieces of WordPiece with {' '.join(SPECIAL)}")
    others = sorted(numbers.keys() - set(SPECIAL), key=numbers.__getitem__)
    return {name: numbers[name] for name in (*SPECIAL, *others)}


def _settings(config: Any, causal: bool) -> dict[str, Any]:
    """Return the settings that give an encoder these sizes."""
    sizes = config.num_hidden_layers, config.hidden_size, config.num_attention_heads
    named = (name for name, p in PRESETS.items() if (p.layers, p.dim, p.heads) == sizes)
    post, span = config.model_type == "bert", None
    kinds = getattr(config, "layer_types", ())
    if "sliding_attention" in kinds:
        span = str((config.local_attention - 2 * (config.model_type == DECODER)) // 2)
        every = [n for n, name in enumerate(kinds) if name == "full_attention"]
        span += f":{[*every, len(kinds)][1]}" if every else ""
    return {
        "preset": next(named, "/".join(map(str, sizes))),
        "norm": "post" if post else "pre",
        "positions": "learned" if post else "rotary",
        "attention": span,
        "sequence_length": config.max_position_embeddings,
        "objective": CAUSAL if causal else MASKED,
    }


def _unlike(folder: Path, reason: str) -> SettingError:
    """Return the error that a model is none that training can go on from."""
    return SettingError(f"{folder}: training cannot go on from it: {reason}")
