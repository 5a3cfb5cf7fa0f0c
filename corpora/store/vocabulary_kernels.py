"""Kernels over types as bytes: sorting by code point, merging sorted runs."""

import numpy as np

from firth.corpora.common.jit import compiled
from firth.corpora.text.segment_kernels import read_character


@compiled
def _prefix(text, start, stop):
    """Return the first 8 bytes as a big-endian number, zero-padded."""
    value = np.uint64(0)
    for i in range(8):
        value <<= np.uint64(8)
        if start + i < stop:
            value |= np.uint64(text[start + i])
    return value


@compiled
def _less(text_a, start_a, stop_a, text_b, start_b, stop_b):
    """Return whether string a sorts before b by bytes, which is code point order."""
    for i in range(min(stop_a - start_a, stop_b - start_b)):
        if text_a[start_a + i] != text_b[start_b + i]:
            return text_a[start_a + i] < text_b[start_b + i]
    return stop_a - start_a < stop_b - start_b


@compiled
def sort_types(text, offsets, order):
    """Write the ids of types in code point order (merge sort)."""
    # text: uint8 (n_bytes,); offsets: int64 (n_types + 1,); order: int64 (n_types,), output
    n = order.shape[0]
    prefixes = np.empty(n, dtype=np.uint64)
    for t in range(n):
        prefixes[t] = _prefix(text, offsets[t], offsets[t + 1])
        order[t] = t
    other = np.empty(n, dtype=np.int64)
    source, target = order, other
    in_order = True  # whether ``source`` is ``order``
    width = 1
    while width < n:
        for left in range(0, n, 2 * width):
            middle = min(left + width, n)
            right = min(left + 2 * width, n)
            i, j = left, middle
            for k in range(left, right):
                take_left = j >= right
                if not take_left and i < middle:
                    a, b = source[i], source[j]
                    if prefixes[a] != prefixes[b]:
                        take_left = prefixes[a] < prefixes[b]
                    else:
                        take_left = _less(
                            text, offsets[a], offsets[a + 1], text, offsets[b], offsets[b + 1]
                        )
                if take_left:
                    target[k] = source[i]
                    i += 1
                else:
                    target[k] = source[j]
                    j += 1
        source, target = target, source
        in_order = not in_order
        width *= 2
    if not in_order:
        order[:] = other


@compiled
def gather_types(text, offsets, order, out_text, out_offsets):
    """Copy strings in a given order."""
    # text: uint8 (n_bytes,); offsets: int64 (n + 1,); order: int64 (m,), strings to copy
    # out_text: uint8, large enough; out_offsets: int64 (m + 1,)
    end = 0
    out_offsets[0] = 0
    for k in range(order.shape[0]):
        for i in range(offsets[order[k]], offsets[order[k] + 1]):
            out_text[end] = text[i]
            end += 1
        out_offsets[k + 1] = end


@compiled
def merge_runs(text, offsets, run_starts, counts, out_text, out_offsets, out_counts, out_ranks):
    """Merge sorted runs of distinct types into one sorted list, adding up counts.

    Returns the number of distinct types, up to which the outputs are valid; ``out_ranks`` has
    for each input string its position in the merged list.
    """
    # text: uint8 (n_bytes,), strings of all runs; offsets: int64 (n + 1,); counts: int64 (n,)
    # run_starts: int64 (n_runs + 1,), first string of each run
    # out_text: uint8 (n_bytes,); out_offsets: int64 (n + 1,); out_counts: int64 (n,)
    # out_ranks: int32 (n,)
    n_runs = run_starts.shape[0] - 1
    heads = run_starts[:-1].copy()
    prefixes = np.zeros(n_runs, dtype=np.uint64)
    heap = np.empty(n_runs, dtype=np.int64)
    size = 0
    for r in range(n_runs):
        if heads[r] < run_starts[r + 1]:
            prefixes[r] = _prefix(text, offsets[heads[r]], offsets[heads[r] + 1])
            heap[size] = r
            size += 1
    for root in range(size // 2 - 1, -1, -1):
        _sift(heap, size, root, text, offsets, heads, prefixes)
    n_merged = 0
    end = 0
    last = -1
    out_offsets[0] = 0
    while size > 0:
        r = heap[0]
        s = heads[r]
        if last < 0 or not _equal(text, offsets, last, s):
            for i in range(offsets[s], offsets[s + 1]):
                out_text[end] = text[i]
                end += 1
            out_counts[n_merged] = 0
            n_merged += 1
            out_offsets[n_merged] = end
            last = s
        out_counts[n_merged - 1] += counts[s]
        out_ranks[s] = n_merged - 1
        heads[r] = s + 1
        if heads[r] < run_starts[r + 1]:
            prefixes[r] = _prefix(text, offsets[s + 1], offsets[s + 2])
        else:
            size -= 1
            heap[0] = heap[size]
        _sift(heap, size, 0, text, offsets, heads, prefixes)
    return n_merged


@compiled
def _equal(text, offsets, a, b):
    """Return whether two strings are equal."""
    if offsets[a + 1] - offsets[a] != offsets[b + 1] - offsets[b]:
        return False
    for i in range(offsets[a + 1] - offsets[a]):
        if text[offsets[a] + i] != text[offsets[b] + i]:
            return False
    return True


@compiled
def _sift(heap, size, root, text, offsets, heads, prefixes):
    """Sift down the run at ``root`` until no child has a smaller head."""
    while 2 * root + 1 < size:
        child = 2 * root + 1
        if child + 1 < size and _run_less(heap, child + 1, child, text, offsets, heads, prefixes):
            child += 1
        if not _run_less(heap, child, root, text, offsets, heads, prefixes):
            return
        heap[root], heap[child] = heap[child], heap[root]
        root = child


@compiled
def _run_less(heap, i, j, text, offsets, heads, prefixes):
    """Return whether the head of the run at heap position i sorts before that at j."""
    a, b = heap[i], heap[j]
    if prefixes[a] != prefixes[b]:
        return prefixes[a] < prefixes[b]
    s, t = heads[a], heads[b]
    return _less(text, offsets[s], offsets[s + 1], text, offsets[t], offsets[t + 1])


@compiled
def all_within(text, offsets, allowed, out):
    """Write whether each string is non-empty and has only allowed characters."""
    # text: uint8 (n_bytes,); offsets: int64 (n + 1,); out: bool (n,)
    # allowed: bool (0x110000,), by code point
    for t in range(out.shape[0]):
        out[t] = offsets[t + 1] > offsets[t]
        position = offsets[t]
        while position < offsets[t + 1]:
            code, width = read_character(text, position)
            position += width
            if not allowed[code]:
                out[t] = False
                break
