"""Convert our encoders to Hugging Face's BERT (post-norm) or ModernBERT (pre-norm).

Causal ones become their decoders, with the same weights: BertLMHeadModel and ModernBertDecoder.

Other product scores are folded into the query map: q.k = (sqrt(d) q).k / sqrt(d), and
k.W q = (sqrt(d) W q).k / sqrt(d), where rotary positions rotate W q like q.
"""

from collections.abc import Iterable
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
from firth.pretrain.shape import INIT_STD, EncoderConfig

_ENDS = {"bos_token_id": CLS, "eos_token_id": SEP}
_THETA = 10_000.0  # as in model/positions.py; ModernBERT's default for full attention differs


def layout_problem(config: EncoderConfig) -> str | None:
    """Return what prevents a conversion to either model, in one line, or None."""
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


def huggingface_form(model: MaskedLanguageModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Return config.json and tensors of the equivalent Hugging Face model.

    The output embeddings are the input's and not listed.
    """
    if model.config.norm == "post":
        return _bert(model)
    return _modernbert_decoder(model) if model.config.causal else _modernbert(model)


def _bert(model: MaskedLanguageModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Convert to BertForMaskedLM or BertLMHeadModel: norms after sums, biases everywhere."""
    shape, core = model.config, model.core
    config = {
        **_common(shape, "bert", "BertLMHeadModel" if shape.causal else "BertForMaskedLM"),
        "hidden_act": "gelu",
        "layer_norm_eps": core.embedding_norm.eps,
        "hidden_dropout_prob": shape.dropout,
        "attention_probs_dropout_prob": 0.0,
        "type_vocab_size": 2,  # BERT distinguishes the texts of a pair; we do not
    }
    if shape.causal:
        config |= {"is_decoder": True, **_ENDS}
    learned = shape.positions == "learned"
    positions = model.position_table.weight if learned else model.sinusoids
    tensors = {
        "bert.embeddings.word_embeddings.weight": model.pieces.weight,
        "bert.embeddings.position_embeddings.weight": positions,
        "bert.embeddings.token_type_embeddings.weight": torch.zeros(2, shape.dim),
        **_named("bert.embeddings.LayerNorm", core.embedding_norm),
        **_named("cls.predictions.transform.dense", core.head),
        **_named("cls.predictions.transform.LayerNorm", core.head_norm),
        "cls.predictions.bias": core.bias,
    }
    for number, block in enumerate(cast(Iterable[Any], core.blocks)):
        layer = f"bert.encoder.layer.{number}"
        weight, bias = _scaled_dot(block.mixer)
        for place, name in enumerate(("query", "key", "value")):
            tensors[f"{layer}.attention.self.{name}.weight"] = weight[place]
            tensors[f"{layer}.attention.self.{name}.bias"] = bias[place]
        tensors |= {
            **_named(f"{layer}.attention.output.dense", block.mixer.out),
            **_named(f"{layer}.attention.output.LayerNorm", block.mixer_norm),
            **_named(f"{layer}.intermediate.dense", block.feed_forward.inner),
            **_named(f"{layer}.output.dense", block.feed_forward.out),
            **_named(f"{layer}.output.LayerNorm", block.feed_forward_norm),
        }
    return config, _plain(tensors)


def _modernbert(model: MaskedLanguageModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Convert to ModernBertForMaskedLM: norms before blocks, no biases but the decoder's."""
    shape, core = model.config, model.core
    spans = [shape.span_of(layer) for layer in range(shape.layers)]
    rope = {"rope_type": "default", "rope_theta": _THETA}
    config = {
        **_common(shape, "modernbert", "ModernBertForMaskedLM"),
        **_ENDS,
        "hidden_activation": "gelu",
        "classifier_activation": "gelu",
        "norm_eps": core.norm.eps,
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
    tensors = {
        "model.embeddings.tok_embeddings.weight": model.pieces.weight,
        **_named("model.embeddings.norm", core.embedding_norm),
        **_named("model.final_norm", core.norm),
        **_named("head.dense", core.head),
        **_named("head.norm", core.head_norm),
        "decoder.bias": core.bias,
    }
    for number, block in enumerate(cast(Iterable[Any], core.blocks)):
        layer = f"model.layers.{number}"
        weight, _ = _scaled_dot(block.mixer)
        tensors |= {
            **_named(f"{layer}.attn_norm", block.mixer_norm),
            f"{layer}.attn.Wqkv.weight": weight.flatten(0, 1),
            **_named(f"{layer}.attn.Wo", block.mixer.out),
            **_named(f"{layer}.mlp_norm", block.feed_forward_norm),
            **_named(f"{layer}.mlp.Wi", block.feed_forward.inner),
            **_named(f"{layer}.mlp.Wo", block.feed_forward.out),
        }
    return config, _plain(tensors)


def _modernbert_decoder(model: MaskedLanguageModel) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Convert to ModernBertDecoderForCausalLM, whose parts have other names."""
    config, tensors = _modernbert(model)
    config |= {
        "model_type": "modernbert-decoder",
        "architectures": ["ModernBertDecoderForCausalLM"],
    }
    # half of it counts the slot itself, which ours does not
    config["local_attention"] += 2
    renamed = {}
    for name, tensor in tensors.items():
        stem, fused, _ = name.partition("Wqkv.weight")
        if fused:
            for own, part in zip("qkv", tensor.chunk(3), strict=True):
                renamed[f"{stem}{own}_proj.weight"] = part.clone()
        else:
            renamed["lm_" + name if name.startswith("head.") else name] = tensor
    return config, renamed


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
    """Fold scores into scaled dot products: weights (3, D, D), biases (3, D) of q, k and v."""
    inner = mixer.qkv.weight.detach().double()
    has_bias = mixer.qkv.bias is not None
    bias = mixer.qkv.bias.detach().double() if has_bias else inner.new_zeros(len(inner))
    # the bias as one more column, so that both are mapped together
    maps = torch.cat([inner, bias[:, None]], 1).unflatten(0, (3, mixer.heads, -1))
    if mixer.score == "bilinear":
        maps[0] = mixer.query_map.detach().double() @ maps[0]
    if mixer.score != "scaled-dot":
        maps[0] *= mixer.head_dim**0.5
    maps = maps.flatten(1, 2)
    return maps[..., :-1], maps[..., -1]


def _named(name: str, part: torch.nn.Module) -> dict[str, Tensor]:
    """Return the parameters of a linear map or a norm by name; none for an identity."""
    return {f"{name}.{own}": weight for own, weight in part.named_parameters()}


def _plain(tensors: dict[str, Tensor]) -> dict[str, Tensor]:
    """Return tensors as safetensors requires: contiguous, each with its own memory."""
    return {
        name: tensor.detach().float().cpu().clone(memory_format=torch.contiguous_format)
        for name, tensor in tensors.items()
    }
