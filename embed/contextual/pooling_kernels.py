"""Choosing the sentences that bring every word its contexts, and summing states by word."""

import numpy as np

from corpora.common.hashing import STRIDE
from corpora.common.hashing_kernels import mix
from corpora.common.jit import compiled

LEVEL_BITS = 6
_HASH_BITS = np.uint64(64 - LEVEL_BITS)


@compiled
def sentence_keys(words, offsets, levels, seed, first, keys):
    """Give each sentence its place in the order of choosing: by its rarest word, then by chance."""
    # words: int32 (n_tokens,); offsets: int64 (n + 1,); levels: uint8 (V,); seed, first: uint64;
    # keys: uint64 (n,)
    for s in range(keys.shape[0]):
        level = np.uint64((1 << LEVEL_BITS) - 1)
        for i in range(offsets[s], offsets[s + 1]):
            if words[i] >= 0:
                level = min(level, np.uint64(levels[words[i]]))
        bits = mix((seed << np.uint64(32)) + (first + np.uint64(s) + np.uint64(1)) * STRIDE)
        keys[s] = (level << _HASH_BITS) | (bits >> np.uint64(LEVEL_BITS))


@compiled
def keep_lowest(words, offsets, keys, starts, filled, lowest):
    """Keep for each word the lowest keys of its occurrences, in a heap whose top is the highest."""
    # starts: int64 (V + 1,); filled: int64 (V,); lowest: uint64 (starts[V],)
    for s in range(keys.shape[0]):
        for i in range(offsets[s], offsets[s + 1]):
            w = words[i]
            if w < 0:
                continue
            heap = lowest[starts[w] : starts[w + 1]]
            if filled[w] < heap.shape[0]:
                _rise(heap, filled[w], keys[s])
                filled[w] += 1
            elif keys[s] < heap[0]:
                _sink(heap, keys[s])


@compiled
def _rise(heap, place, key):
    """Put a key at the end and bring it up to its place."""
    while place > 0 and heap[(place - 1) // 2] < key:
        heap[place] = heap[(place - 1) // 2]
        place = (place - 1) // 2
    heap[place] = key


@compiled
def _sink(heap, key):
    """Put a key in the place of the highest and bring it down to its own."""
    place, child = 0, 1
    while child < heap.shape[0]:
        if child + 1 < heap.shape[0] and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[place] = heap[child]
        place, child = child, 2 * child + 1
    heap[place] = key


@compiled
def mark_chosen(words, offsets, keys, highest, chosen):
    """Mark the sentences in which some word still lacks contexts when their turn comes."""
    # highest: uint64 (V,); chosen: bool (n,)
    for s in range(keys.shape[0]):
        chosen[s] = False
        for i in range(offsets[s], offsets[s + 1]):
            if words[i] >= 0 and keys[s] <= highest[words[i]]:
                chosen[s] = True
                break


@compiled
def add_states(words, states, sums, counts):
    """Add each token's state to the sum of its word."""
    # words: int32 (n,); states: float32 (n, D); sums: float64 (V, D); counts: int64 (V,)
    for i in range(words.shape[0]):
        w = words[i]
        if w >= 0:
            counts[w] += 1
            for d in range(states.shape[1]):
                sums[w, d] += states[i, d]
