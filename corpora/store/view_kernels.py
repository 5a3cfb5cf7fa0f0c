"""Kernels that select and count the tokens of a shard."""

import numpy as np

from firth.corpora.common.jit import compiled
from firth.corpora.text.segment_kernels import FNV_OFFSET, FNV_PRIME


@compiled
def count_selected_tokens(token_ids, units, selected, counts):
    """Add to ``counts`` the tokens of each type in the selected units."""
    # token_ids: int32 (n_tokens,); units: int64 (n_units + 1,), token offsets
    # selected: bool (n_units,); counts: int64 (n_types,)
    for u in range(selected.shape[0]):
        if selected[u]:
            for i in range(units[u], units[u + 1]):
                counts[token_ids[i]] += 1


@compiled
def select_rows(token_ids, bounds, units, selected, row_of_type, rows, offsets):
    """Write the rows of kept tokens in selected units, and the starts of non-empty parts.

    Returns the numbers of rows and parts written; ``offsets`` has one entry more. A part must
    start wherever the selection changes.
    """
    # token_ids: int32 (n_tokens,); bounds: int64 (n_parts + 1,), token offsets of parts
    # units: int64 (n_units + 1,), token offsets; selected: bool (n_units,)
    # row_of_type: int32 (n_types,), -1 for a dropped type
    # rows: int32 (n_tokens,), output; offsets: int64 (n_parts + 1,), output
    n_rows, n_parts, part = 0, 0, 0
    offsets[0] = 0
    for u in range(selected.shape[0]):
        while part < bounds.shape[0] - 1 and bounds[part] < units[u + 1]:
            if selected[u]:
                for i in range(bounds[part], bounds[part + 1]):
                    if row_of_type[token_ids[i]] >= 0:
                        rows[n_rows] = row_of_type[token_ids[i]]
                        n_rows += 1
                if n_rows > offsets[n_parts]:
                    n_parts += 1
                    offsets[n_parts] = n_rows
            part += 1
    return n_rows, n_parts


@compiled
def count_new_types(token_ids, first_token, seen, marks, curve):
    """Add to ``curve[m]`` the types that first occur between marks m - 1 and m."""
    # token_ids: int32 (n_tokens,); seen: bool (n_types,); curve: int64 (n_marks + 1,)
    # marks: int64 (n_marks,), ascending token positions in the whole corpus
    m = 0
    for i in range(token_ids.shape[0]):
        while m < marks.shape[0] and first_token + i >= marks[m]:
            m += 1
        if not seen[token_ids[i]]:
            seen[token_ids[i]] = True
            curve[m] += 1


@compiled
def hash_parts(token_ids, offsets, hashes):
    """Write a hash of the token sequence of each part (FNV-1a over ids, mixed)."""
    # token_ids: int32 (n_tokens,); offsets: int64 (n_parts + 1,); hashes: uint64 (n_parts,)
    for p in range(hashes.shape[0]):
        value = FNV_OFFSET
        for i in range(offsets[p], offsets[p + 1]):
            value = (value ^ np.uint64(token_ids[i])) * FNV_PRIME
            value ^= value >> np.uint64(29)
        hashes[p] = value
