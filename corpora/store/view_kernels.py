"""Selecting tokens of a shard for a view."""

import numpy as np

from corpora.common.jit import compiled
from corpora.text.segment_kernels import FNV_OFFSET, FNV_PRIME


@compiled
def count_rows(token_ids, documents, selected, counts):
    """Count the tokens of each type in the selected documents.

    Parameters
    ----------
    token_ids : int32 (n_tokens,)
        One shard.
    documents : int64 (n_documents + 1,)
        Token offsets.
    selected : bool (n_documents,)
        Which documents count.
    counts : int64 (n_types,)
        Added to.
    """
    for d in range(selected.shape[0]):
        if selected[d]:
            for i in range(documents[d], documents[d + 1]):
                counts[token_ids[i]] += 1


@compiled
def select_rows(token_ids, bounds, documents, selected, row_of_type, rows, offsets):
    """Write the rows of the kept tokens in the selected documents.

    Parameters
    ----------
    token_ids : int32 (n_tokens,)
        One shard.
    bounds : int64 (n_parts + 1,)
        Token offsets of sentences, paragraphs or documents; every document that
        is not empty starts one.
    documents : int64 (n_documents + 1,)
        Token offsets.
    selected : bool (n_documents,)
        Which documents to take.
    row_of_type : int32 (n_types,)
        Row of each type, -1 for a dropped one.
    rows : int32 (n_tokens,)
        Output.
    offsets : int64 (n_parts + 1,)
        Output: starts of the parts that keep at least one token.

    Returns
    -------
    n_rows, n_parts : int
        How much of ``rows``, and one less than how much of ``offsets``, is valid.
    """
    n_rows, n_parts, part = 0, 0, 0
    offsets[0] = 0
    for d in range(selected.shape[0]):
        while part < bounds.shape[0] - 1 and bounds[part] < documents[d + 1]:
            if selected[d]:
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
    """Count the distinct types before each of some token positions.

    Parameters
    ----------
    token_ids : int32 (n_tokens,)
        One shard.
    first_token : int
        Tokens in the shards before this one.
    seen : bool (n_types,)
        Types met so far; changed.
    marks : int64 (n_marks,)
        Ascending token positions in the whole corpus.
    curve : int64 (n_marks + 1,)
        Entry m counts the types first met after mark m - 1 and before mark m; added to.
    """
    m = 0
    for i in range(token_ids.shape[0]):
        while m < marks.shape[0] and first_token + i >= marks[m]:
            m += 1
        if not seen[token_ids[i]]:
            seen[token_ids[i]] = True
            curve[m] += 1


@compiled
def hash_parts(token_ids, offsets, hashes):
    """Hash the token sequence of each paragraph (FNV-1a over ids, mixed).

    Parameters
    ----------
    token_ids : int32 (n_tokens,)
        One shard.
    offsets : int64 (n_parts + 1,)
        Token offsets.
    hashes : uint64 (n_parts,)
        Output; equal sequences have equal hashes.
    """
    for p in range(hashes.shape[0]):
        value = FNV_OFFSET
        for i in range(offsets[p], offsets[p + 1]):
            value = (value ^ np.uint64(token_ids[i])) * FNV_PRIME
            value ^= value >> np.uint64(29)
        hashes[p] = value
