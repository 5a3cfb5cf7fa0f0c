"""Kernels over documents and token ids while a corpus is built."""

import numpy as np

from firth.corpora.common.hashing_kernels import mix
from firth.corpora.common.jit import compiled
from firth.corpora.text.segment_kernels import FNV_OFFSET, FNV_PRIME


@compiled
def hash_documents(text, documents, n_bytes, key, keys):
    """Write a hash of the first bytes of each document (FNV-1a, mixed as in splitmix64)."""
    # text: uint8 (n_bytes,); documents: int64 (n_documents + 1,), byte offsets
    # key: uint64, different keys give independent hashes; keys: uint64 (n_documents,), output
    for d in range(keys.shape[0]):
        value = FNV_OFFSET ^ key
        for i in range(documents[d], min(documents[d + 1], documents[d] + n_bytes)):
            value = (value ^ np.uint64(text[i])) * FNV_PRIME
        keys[d] = mix(value)


@compiled
def join_sentences(text, starts, stops, separator, joined, ends):
    """Copy sentences without outer spaces, controls and ``separator``, a line feed after each."""
    # text: uint8 (n_bytes,); starts, stops: int64 (n_sentences,), byte offsets
    # joined: uint8 (n_bytes + n_sentences,), output; ends: int64 (n_sentences + 1,), output from 1
    n_written = 0
    for s in range(starts.shape[0]):
        start, stop = starts[s], stops[s]
        while start < stop and text[start] <= 0x20:
            start += 1
        while start < stop and text[stop - 1] <= 0x20:
            stop -= 1
        for i in range(start, stop):
            joined[n_written] = 0x20 if text[i] == separator else text[i]
            n_written += 1
        joined[n_written] = 0x0A
        n_written += 1
        ends[s + 1] = n_written


@compiled
def take_units(sizes, goal, least, most, taken):
    """Mark units in order until ``goal`` tokens and ``least`` units are taken; return both numbers.

    A unit that would bring the tokens above ``most`` is skipped; so is an empty one.
    """
    # sizes: int64 (n,), tokens; taken: bool (n,), output
    tokens, n_taken = 0, 0
    for u in range(sizes.shape[0]):
        if tokens >= goal and n_taken >= least:
            break
        if 0 < sizes[u] <= most - tokens:
            taken[u] = True
            tokens += sizes[u]
            n_taken += 1
    return tokens, n_taken


@compiled
def renumber(token_ids, new_ids):
    """Replace every id in place by ``new_ids[id]``."""
    # token_ids: int32 (n_tokens,); new_ids: int32 (n_types,)
    for i in range(token_ids.shape[0]):
        token_ids[i] = new_ids[token_ids[i]]


@compiled
def count_tokens(token_ids, counts):
    """Add to ``counts`` the number of tokens of each type."""
    # token_ids: int32 (n_tokens,); counts: int64 (n_types,)
    for i in range(token_ids.shape[0]):
        counts[token_ids[i]] += 1


@compiled
def count_documents(token_ids, documents, last_seen, document_counts):
    """Add to ``document_counts`` the number of documents that contain each type."""
    # token_ids: int32 (n_tokens,); documents: int64 (n_documents + 1,), token offsets
    # last_seen: int64 (n_types,), scratch filled with -1; document_counts: int64 (n_types,)
    for d in range(documents.shape[0] - 1):
        for i in range(documents[d], documents[d + 1]):
            if last_seen[token_ids[i]] != d:
                last_seen[token_ids[i]] = d
                document_counts[token_ids[i]] += 1
