"""Masked and causal language modeling: the encoder, its training and its inference."""

from typing import TYPE_CHECKING

from corpora.common.lazy import lazy_exports

if TYPE_CHECKING:
    from pretrain.config import MlmConfig as MlmConfig
    from pretrain.inference.attention_picture import draw_attention as draw_attention
    from pretrain.inference.attention_weights import attend as attend
    from pretrain.inference.causal_encoder import CausalEncoder as CausalEncoder
    from pretrain.inference.mlm_encoder import MlmEncoder as MlmEncoder
    from pretrain.inference.mlm_encoder import open_run as open_run
    from pretrain.inference.sampling import GenerateConfig as GenerateConfig
    from pretrain.inference.trained_encoder import TrainedEncoder as TrainedEncoder
    from pretrain.train import train_mlm as train_mlm

HOMES = {
    "pretrain.inference.attention_picture": ("draw_attention",),
    "pretrain.inference.attention_weights": ("attend",),
    "pretrain.config": ("MlmConfig",),
    "pretrain.inference.causal_encoder": ("CausalEncoder",),
    "pretrain.inference.mlm_encoder": ("MlmEncoder", "open_run"),
    "pretrain.inference.sampling": ("GenerateConfig",),
    "pretrain.inference.trained_encoder": ("TrainedEncoder",),
    "pretrain.train": ("train_mlm",),
}
__all__ = [name for names in HOMES.values() for name in names]

if not TYPE_CHECKING:  # with __getattr__, type checkers would accept any name
    __getattr__, __dir__ = lazy_exports(__name__, HOMES)
