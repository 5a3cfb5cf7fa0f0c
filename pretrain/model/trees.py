"""Attention along the edges of dependency trees: masks of the heads that are limited to them."""

import torch
from torch import Tensor

from firth.corpora.common.errors import SettingError
from firth.pretrain.shape import EncoderConfig


def limit_heads(allowed: Tensor, tree: Tensor | None, config: EncoderConfig) -> Tensor:
    """Return the mask of the attention heads, the first of which follow edges of a tree."""
    # allowed: bool (B, T, T); tree: int (B, 2, T), see tree_edges
    # returns bool (B, T, T) if all heads follow edges, else (B, heads, T, T)
    if tree is None:
        raise SettingError(
            f"this encoder attends along the edges of trees (`attention="
            f"{config.attention_edges}`), and it is given text without trees; use it with "
            "`pool_run()` and tagging, which read CoNLL-U, or pass an encoder trained without it"
        )
    limited, n_free = allowed & tree_edges(tree), config.heads - config.tree_heads
    if not n_free:
        return limited
    return torch.stack([limited] * config.tree_heads + [allowed] * n_free, dim=1)


def tree_edges(tree: Tensor) -> Tensor:
    """Return which slots of its segment each slot may attend to, bool (B, T, T).

    Those of its word, the word's head and its children. [CLS] and [SEP] attend to all, but no word
    attends to them: in two layers, they would connect all words.
    """
    # tree: int (B, 2, T), the number of each slot's word, below 0 if it has none, and of its head
    words, governors = tree.unbind(1)
    queries, keys = words[:, :, None], words[:, None, :]
    is_parent, is_child = governors[:, :, None] == keys, queries == governors[:, None, :]
    return (queries == keys) | is_parent | is_child | (queries < 0)
