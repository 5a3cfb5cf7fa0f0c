"""Convert our encoders to Hugging Face's BERT (post-norm) or ModernBERT (pre-norm).

Causal ones become their decoders, with the same weights: BertLMHeadModel and ModernBertDecoder.

Other product scores are folded into the query map: q.k = (sqrt(d) q).k / sqrt(d), and
k.W q = (sqrt(d) W q).k / sqrt(d), where rotary positions rotate W q like q.
"""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, cast

import torch
from torch import Tensor

from firth.corpora.tokenizer.pieces import CLS, MASK, PAD, SEP
from firth.embed.contextual.pooling import AUTO, parse_layers
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.huggingface.loading import STATIC_LAYERS
from firth.pretrain.mixers import ATTENTION
from firth.pretrain.model.attention import SelfAttention
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.layers import EPSILON
from firth.pretrain.shape import INIT_STD, EncoderConfig

DECODER = "modernbert-decoder"
_BLOCKS = "core.blocks."
_KINDS_OF_TEXT = "bert.embeddings.token_type_embeddings.weight"
_ENDS = {"bos_token_id": CLS, "eos_token_id": SEP}
_THETA = 10_000.0  # as in model/positions.py; ModernBERT's default for full attention differs


def layout_problem(config: EncoderConfig) -> str | None:
    """Return what prevents a conversion to either model, in one line, or None."""
    if config.decoder_layers:
        return (
            "neither BERT nor ModernBERT has a decoder, and T5 and BART have no map and norm "
            "between the decoder and the table"
        )
    if other := config.other_than(ATTENTION):
        return f"BERT and ModernBERT attend in every layer, and {other}"
    if config.attention_edges is not None:
        return (
            "BERT and ModernBERT attend to whole texts, not along the edges of trees, "
            f"`attention={config.attention_edges}`"
        )
    if not SCORES[config.attention_score].softmax_of_products:
        others = ", ".join(name for name, kind in SCORES.items() if kind.softmax_of_products)
        return (
            f"BERT and ModernBERT have no `mixer=attention:{config.attention_score}`; train with "
            f"one of {others}"
        )
    if (config.feed_forward == "geglu") != (config.norm == "pre"):
        return f"neither BERT nor ModernBERT has `norm={config.norm}` with {config.feed_forward}"
    if config.norm == "pre":
        if config.positions != "rotary":
            return f"ModernBERT (`norm=pre`) has rotary positions, not {config.positions}"
        return None
    if config.positions not in ("learned", "sinusoidal"):
        return f"BERT (`norm=post`) has a table of positions, not {config.positions}"
    if config.attention_span is not None:
        return f"BERT (`norm=post`) attends to all, not to `attention={config.attention_span}`"
    return None


@dataclass(frozen=True)
class _Layout:
    """Names of the tensors of a Hugging Face model."""

    layer: str  # before the names in a layer, with its number
    queries: tuple[str, ...]  # of the maps to queries, keys and values, in one tensor or three
    names: dict[str, str]  # of our modules, theirs; ``core`` for its bias

    def of(self, name: str) -> list[str]:
        """Return what one of our weights is called, in parts along its first axis."""
        module, _, leaf = name.rpartition(".")
        before = ""
        if module.startswith(_BLOCKS):
            number, _, module = module.removeprefix(_BLOCKS).partition(".")
            before = self.layer.format(number)
        names = self.queries if module == "mixer.qkv" else (self.names[module],)
        return [f"{before}{part}.{leaf}" for part in names]


# our modules, and what they are called in BERT and ModernBERT; ``core`` for its bias
_NAMES = """
pieces              bert.embeddings.word_embeddings      model.embeddings.tok_embeddings
position_table      bert.embeddings.position_embeddings  -
core.embedding_norm bert.embeddings.LayerNorm            model.embeddings.norm
core.norm           -                                    model.final_norm
core.head           cls.predictions.transform.dense      head.dense
core.head_norm      cls.predictions.transform.LayerNorm  head.norm
core                cls.predictions                      decoder
mixer.out           attention.output.dense               attn.Wo
mixer_norm          attention.output.LayerNorm           attn_norm
feed_forward.inner  intermediate.dense                   mlp.Wi
feed_forward.out    output.dense                         mlp.Wo
feed_forward_norm   output.LayerNorm                     mlp_norm
"""
_OURS, *_THEIRS = zip(*map(str.split, _NAMES.strip().splitlines()), strict=True)
_BERT, _MODERNBERT = (dict(zip(_OURS, names, strict=True)) for names in _THEIRS)
_DECODER = _MODERNBERT | {"core.head": "lm_head.dense", "core.head_norm": "lm_head.norm"}
_PARTS = tuple(f"attention.self.{part}" for part in ("query", "key", "value"))
_LAYOUTS = {
    "bert": _Layout("bert.encoder.layer.{}.", _PARTS, _BERT),
    "modernbert": _Layout("model.layers.{}.", ("attn.Wqkv",), _MODERNBERT),
    DECODER: _Layout("model.layers.{}.", tuple(f"attn.{part}_proj" for part in "qkv"), _DECODER),
}


def huggingface_form(model: MaskedLanguageModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return config.json and tensors of the equivalent model, whose output table is the input's."""
    config, weights = huggingface_config(model.config), dict(model.state_dict())
    for number, block in enumerate(cast(Iterable[Any], model.core.blocks)):
        name = f"{_BLOCKS}{number}.mixer"
        weights.pop(f"{name}.query_map", None)
        weights[f"{name}.qkv.weight"], bias = _scaled_dot(block.mixer)
        if model.config.biases:
            weights[f"{name}.qkv.bias"] = bias
    tensors = {}
    if config["model_type"] == "bert":
        if model.config.positions == "sinusoidal":
            weights["position_table.weight"] = model.sinusoids
        tensors[_KINDS_OF_TEXT] = torch.zeros(2, model.config.dim)
    for name, weight in weights.items():
        parts = _LAYOUTS[config["model_type"]].of(name)
        tensors |= zip(parts, weight.chunk(len(parts)), strict=True)
    return config, _plain(tensors)


def our_form(kind: str, tensors: Mapping[str, Tensor], names: Iterable[str]) -> dict[str, Tensor]:
    """Return our weights of these names from the tensors of a Hugging Face model of a kind."""
    layout = _LAYOUTS[kind]
    weights = {name: torch.cat([tensors[part] for part in layout.of(name)]) for name in names}
    if kind == "bert":  # all of our text is of the first kind
        weights["position_table.weight"] += tensors[_KINDS_OF_TEXT][0]
    return weights


def huggingface_config(shape: EncoderConfig) -> dict[str, Any]:
    """Return config.json of the equivalent Hugging Face model."""
    if shape.norm == "post":
        return _bert(shape)
    return _modernbert_decoder(shape) if shape.causal else _modernbert(shape)


def _bert(shape: EncoderConfig) -> dict[str, Any]:
    """Describe a BertForMaskedLM or BertLMHeadModel: norms after sums, biases everywhere."""
    config = {
        **_common(shape, "bert", "BertLMHeadModel" if shape.causal else "BertForMaskedLM"),
        "hidden_act": "gelu",
        "layer_norm_eps": EPSILON["post"],
        "hidden_dropout_prob": shape.dropout,
        "attention_probs_dropout_prob": 0.0,
        "type_vocab_size": 2,  # BERT distinguishes the texts of a pair; we do not
    }
    return config | {"is_decoder": True, **_ENDS} if shape.causal else config


def _modernbert(shape: EncoderConfig) -> dict[str, Any]:
    """Describe a ModernBertForMaskedLM: norms before blocks, no biases but the decoder's."""
    spans = [shape.span_of(layer) for layer in range(shape.layers)]
    rope = {"rope_type": "default", "rope_theta": _THETA}
    return {
        **_common(shape, "modernbert", "ModernBertForMaskedLM"),
        **_ENDS,
        "hidden_activation": "gelu",
        "classifier_activation": "gelu",
        "norm_eps": EPSILON["pre"],
        "norm_bias": False,
        "attention_bias": False,
        "mlp_bias": False,
        "classifier_bias": False,
        "decoder_bias": True,
        "embedding_dropout": shape.dropout,
        "layer_types": ["sliding_attention" if span else "full_attention" for span in spans],
        "local_attention": 2 * (shape.attention_span or shape.max_length),  # both sides together
        "rope_parameters": {"full_attention": rope, "sliding_attention": rope},
    }


def _modernbert_decoder(shape: EncoderConfig) -> dict[str, Any]:
    """Describe a ModernBertDecoderForCausalLM."""
    config = _modernbert(shape) | {
        "model_type": DECODER,
        "architectures": ["ModernBertDecoderForCausalLM"],
    }
    # half of it counts the slot itself, which ours does not
    config["local_attention"] += 2
    return config


def _common(shape: EncoderConfig, kind: str, architecture: str) -> dict[str, Any]:
    """Return the config entries that both models share."""
    return {
        "architectures": [architecture],
        "model_type": kind,
        "dtype": "float32",
        "vocab_size": shape.n_pieces,
        "hidden_size": shape.dim,
        "num_hidden_layers": shape.layers,
        "num_attention_heads": shape.heads,
        "intermediate_size": shape.feed_forward_dim,
        "max_position_embeddings": shape.max_length,
        "initializer_range": INIT_STD,  # of weights that fine-tuning adds
        "tie_word_embeddings": True,
        "pad_token_id": PAD,
        "cls_token_id": CLS,
        "sep_token_id": SEP,
        "mask_token_id": MASK,
        STATIC_LAYERS: list(parse_layers(AUTO, shape.layers)),
    }


def _scaled_dot(mixer: SelfAttention) -> tuple[Tensor, Tensor]:
    """Fold scores into scaled dot products: weights (3 D, D), biases (3 D,) of q, k and v."""
    inner = mixer.qkv.weight.detach().double()
    has_bias = mixer.qkv.bias is not None
    bias = mixer.qkv.bias.detach().double() if has_bias else inner.new_zeros(len(inner))
    # the bias as one more column, so that both are mapped together
    maps = torch.cat([inner, bias[:, None]], 1).unflatten(0, (3, mixer.heads, -1))
    if mixer.score == "bilinear":
        maps[0] = mixer.query_map.detach().double() @ maps[0]
    if mixer.score != "scaled-dot":
        maps[0] *= mixer.head_dim**0.5
    maps = maps.flatten(0, 2)
    return maps[..., :-1], maps[..., -1]


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors as safetensors requires: contiguous, each with its own memory."""
    return {
        name: tensor.detach().float().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
