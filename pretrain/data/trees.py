"""Dependency trees in packed rows: the word of each slot, and the head of that word."""

from typing import TYPE_CHECKING

import numpy as np

from firth.corpora.tokenizer.pieces import CLS, PAD, SEP

if TYPE_CHECKING:
    from firth.corpora.store.view import View

NO_WORD = -1  # of [CLS], [SEP] and padding
NO_GOVERNOR = -2  # of these; of roots and words whose head is unknown or in another row


def pack_tree(view: "View", lengths: np.ndarray, ids: np.ndarray) -> np.ndarray:
    """Return each slot's word, numbered by row, and its head, int16 or int32 (n_rows, 2, T)."""
    # lengths: int64 (V,), pieces of each word; ids: (n_rows, T), the packed text of the view
    n_pieces = np.concatenate([lengths[rows] for rows, _ in view.shards()])
    governors = np.concatenate([*view.heads()])
    is_word = (ids != PAD) & (ids != CLS) & (ids != SEP)
    tokens = np.zeros(ids.shape, dtype=np.int64)
    tokens[is_word] = np.repeat(np.arange(len(governors)), n_pieces)
    first = tokens[:, 1:2]  # each row begins with [CLS] and a piece
    words = np.where(is_word, tokens - first, NO_WORD)
    distances = governors[tokens]
    targets = words + distances
    inside = is_word & (distances != 0) & (targets >= 0) & (targets < ids.shape[1])
    dtype = np.int16 if ids.shape[1] <= np.iinfo(np.int16).max else np.int32
    return np.stack([words, np.where(inside, targets, NO_GOVERNOR)], axis=1).astype(dtype)
