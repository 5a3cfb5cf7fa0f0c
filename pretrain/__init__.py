"""Masked-language-model pretraining: an encoder, its training, and what comes out of it."""

from typing import TYPE_CHECKING

from corpora.lazy import offer

if TYPE_CHECKING:
    from pretrain.attention_picture import draw_attention as draw_attention
    from pretrain.attention_weights import attend as attend
    from pretrain.config import MlmConfig as MlmConfig
    from pretrain.contextual import MlmEncoder as MlmEncoder
    from pretrain.contextual import open_run as open_run
    from pretrain.train import train_mlm as train_mlm

HOMES = {
    "pretrain.attention_picture": ("draw_attention",),
    "pretrain.attention_weights": ("attend",),
    "pretrain.config": ("MlmConfig",),
    "pretrain.contextual": ("MlmEncoder", "open_run"),
    "pretrain.train": ("train_mlm",),
}
__all__ = [name for names in HOMES.values() for name in names]

if not TYPE_CHECKING:  # a checker that saw __getattr__ would take any name
    __getattr__, __dir__ = offer(__name__, HOMES)
