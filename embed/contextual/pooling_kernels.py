"""Kernels that select sentences for pooling and sum states by word."""

import numpy as np

from firth.corpora.common.hashing import STRIDE
from firth.corpora.common.hashing_kernels import mix
from firth.corpora.common.jit import compiled

LEVEL_BITS = 6
_HASH_BITS = np.uint64(64 - LEVEL_BITS)


@compiled
def sentence_keys(words, offsets, levels, seed, first, keys):
    """Write each sentence's sort key: the level of its rarest word, then random bits."""
    # words: int32 (n_tokens,), negative if not pooled; offsets: int64 (n + 1,)
    # levels: uint8 (V,); seed, first: uint64; keys: uint64 (n,)
    for s in range(keys.shape[0]):
        level = np.uint64((1 << LEVEL_BITS) - 1)
        for i in range(offsets[s], offsets[s + 1]):
            if words[i] >= 0:
                level = min(level, np.uint64(levels[words[i]]))
        bits = mix((seed << np.uint64(32)) + (first + np.uint64(s) + np.uint64(1)) * STRIDE)
        keys[s] = (level << _HASH_BITS) | (bits >> np.uint64(LEVEL_BITS))


@compiled
def keep_lowest(words, offsets, keys, starts, filled, lowest):
    """Keep the lowest keys of each word's occurrences in a max-heap."""
    # starts: int64 (V + 1,), bounds of the heaps; filled: int64 (V,); lowest: uint64 (starts[V],)
    for s in range(keys.shape[0]):
        for i in range(offsets[s], offsets[s + 1]):
            w = words[i]
            if w < 0:
                continue
            heap = lowest[starts[w] : starts[w + 1]]
            if filled[w] < heap.shape[0]:
                _sift_up(heap, filled[w], keys[s])
                filled[w] += 1
            elif keys[s] < heap[0]:
                _sift_down(heap, keys[s])


@compiled
def _sift_up(heap, at, key):
    """Insert a key at the end, ``at``, and move it up."""
    while at > 0 and heap[(at - 1) // 2] < key:
        heap[at] = heap[(at - 1) // 2]
        at = (at - 1) // 2
    heap[at] = key


@compiled
def _sift_down(heap, key):
    """Replace the highest key and move the new one down."""
    at, child = 0, 1
    while child < heap.shape[0]:
        if child + 1 < heap.shape[0] and heap[child + 1] > heap[child]:
            child += 1
        if heap[child] <= key:
            break
        heap[at] = heap[child]
        at, child = child, 2 * child + 1
    heap[at] = key


@compiled
def mark_selected(words, offsets, keys, last_keys, selected):
    """Mark the sentences in which some word still needs contexts."""
    # last_keys: uint64 (V,); selected: bool (n,)
    for s in range(keys.shape[0]):
        selected[s] = False
        for i in range(offsets[s], offsets[s + 1]):
            if words[i] >= 0 and keys[s] <= last_keys[words[i]]:
                selected[s] = True
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
