"""Byte-pair merges over types and counts: repeatedly merges the most frequent adjacent pair.

All occurrences of a pair appear at the same time: at the start, or when the newer of its two
symbols is created. Afterwards they only disappear. So each pair has one list of positions, written
once, and its count only decreases: an outdated count in the queue is never too low.
"""

import numpy as np

from firth.corpora.common.jit import compiled

BOUNDARY = -1  # in ``symbols``: before the first word and after each
_MERGED = -2  # in ``symbols``: where the right part of a merged symbol began

# Columns of the pair table; QUEUED is the count with which the pair was queued.
_LEFT, _RIGHT, _COUNT, _QUEUED, _FIRST, _STOP = range(6)
_N_COLUMNS = 6


@compiled
def _slot(table, pairs, left, right):
    """Return the slot of a pair in the hash table, or the free slot where it belongs."""
    mask = table.shape[0] - 1
    key = (np.uint64(left) << np.uint64(32)) | np.uint64(right)
    key *= np.uint64(0x9E3779B97F4A7C15)
    slot = np.int64(key >> np.uint64(33)) & mask
    while table[slot] >= 0:
        pair = table[slot]
        if pairs[pair, _LEFT] == left and pairs[pair, _RIGHT] == right:
            break
        slot = (slot + 1) & mask
    return slot


@compiled
def _grow(table, pairs, n_pairs):
    """Double the pair table and rebuild its hash table."""
    larger = np.empty((2 * pairs.shape[0], _N_COLUMNS), dtype=np.int64)
    larger[:n_pairs] = pairs[:n_pairs]
    table = np.full(2 * table.shape[0], -1, dtype=np.int32)
    for pair in range(n_pairs):
        table[_slot(table, larger, larger[pair, _LEFT], larger[pair, _RIGHT])] = pair
    return table, larger


@compiled
def _precedes(pairs, a, b):
    """Return whether pair a is merged before pair b: by count, then by older symbols."""
    if pairs[a, _QUEUED] != pairs[b, _QUEUED]:
        return pairs[a, _QUEUED] > pairs[b, _QUEUED]
    if pairs[a, _LEFT] != pairs[b, _LEFT]:
        return pairs[a, _LEFT] < pairs[b, _LEFT]
    return pairs[a, _RIGHT] < pairs[b, _RIGHT]


@compiled
def _push(queue, pairs, pair):
    """Add a pair to the heap; ``queue[0]`` is its size, ``queue[1]`` its top."""
    pairs[pair, _QUEUED] = pairs[pair, _COUNT]
    queue[0] += 1
    position = queue[0]
    while position > 1 and _precedes(pairs, pair, queue[position // 2]):
        queue[position] = queue[position // 2]
        position //= 2
    queue[position] = pair


@compiled
def _sift_down(queue, pairs, pair):
    """Put a pair at the top of the heap and sift it down."""
    size = queue[0]
    position = 1
    while 2 * position <= size:
        child = 2 * position
        if child < size and _precedes(pairs, queue[child + 1], queue[child]):
            child += 1
        if not _precedes(pairs, queue[child], pair):
            break
        queue[position] = queue[child]
        position = child
    queue[position] = pair


@compiled
def _pop(queue, pairs):
    """Remove and return the next pair to merge; -1 if none is left."""
    while queue[0] > 0:
        pair = queue[1]
        if 0 < pairs[pair, _COUNT] < pairs[pair, _QUEUED]:
            pairs[pair, _QUEUED] = pairs[pair, _COUNT]
            _sift_down(queue, pairs, pair)
            continue
        last = queue[queue[0]]
        queue[0] -= 1
        if queue[0] > 0:
            _sift_down(queue, pairs, last)
        if pairs[pair, _COUNT] > 0:
            return pair
    return -1


@compiled
def _merge(symbols, lengths, pair, new, table, pairs, positions, word_of, counts, merged):
    """Write ``new`` for each occurrence of a pair and take its old neighbors from the counts."""
    left, right = pairs[pair, _LEFT], pairs[pair, _RIGHT]
    n_merged = 0
    for i in range(pairs[pair, _FIRST], pairs[pair, _STOP]):
        position = positions[i]
        middle = position + lengths[left]
        if symbols[position] != left or symbols[middle] != right:
            continue  # one of the two has been merged into another symbol
        count = counts[word_of[position]]
        before, after = symbols[position - 1], symbols[middle + lengths[right]]
        if before != BOUNDARY and before != new:  # pairs with ``new`` are counted later
            pairs[table[_slot(table, pairs, before, left)], _COUNT] -= count
        if after != BOUNDARY:
            pairs[table[_slot(table, pairs, right, after)], _COUNT] -= count
        symbols[middle] = _MERGED
        symbols[position] = new
        symbols[middle + lengths[right] - 1] = new
        merged[n_merged] = position
        n_merged += 1
    return n_merged


@compiled
def _count_pair(table, pairs, n_pairs, left, right, count):
    """Count one occurrence; return the pair and the number of pairs."""
    slot = _slot(table, pairs, left, right)
    pair = table[slot]
    if pair < 0:
        pair = n_pairs
        n_pairs += 1
        table[slot] = pair
        pairs[pair] = 0
        pairs[pair, _LEFT], pairs[pair, _RIGHT] = left, right
    pairs[pair, _COUNT] += count
    pairs[pair, _STOP] += 1  # number of positions, until _store turns it into an end
    return pair, n_pairs


@compiled
def _store(pairs, first_pair, n_pairs, entries, entry_positions, n_entries, positions, n_positions):
    """Store the positions of new pairs end to end, ascending within each pair."""
    for pair in range(first_pair, n_pairs):
        pairs[pair, _FIRST] = n_positions
        n_positions += pairs[pair, _STOP]
        pairs[pair, _STOP] = pairs[pair, _FIRST]
    for i in range(n_entries):
        pair = entries[i]
        positions[pairs[pair, _STOP]] = entry_positions[i]
        pairs[pair, _STOP] += 1
    return n_positions


@compiled
def _count_all(table, pairs, symbols, word_of, counts, entries, entry_positions):
    """Count the pairs of the unmerged words."""
    n_pairs = 0
    n_entries = 0
    for position in range(symbols.shape[0] - 1):
        left, right = symbols[position], symbols[position + 1]
        if left == BOUNDARY or right == BOUNDARY:
            continue
        if n_pairs == pairs.shape[0]:
            table, pairs = _grow(table, pairs, n_pairs)
        count = counts[word_of[position]]
        entries[n_entries], n_pairs = _count_pair(table, pairs, n_pairs, left, right, count)
        entry_positions[n_entries] = position
        n_entries += 1
    return table, pairs, n_pairs, n_entries


@compiled
def _count_new_pairs(
    table, pairs, n_pairs, new, merged, symbols, lengths, word_of, counts, entries, entry_positions
):
    """Count the pairs of a new symbol with its neighbors."""
    n_entries = 0
    for i in range(merged.shape[0]):
        position = merged[i]
        count = counts[word_of[position]]
        before, after = symbols[position - 1], symbols[position + lengths[new]]
        if before != BOUNDARY and before != new:  # the left symbol counts (new, new)
            entries[n_entries], n_pairs = _count_pair(table, pairs, n_pairs, before, new, count)
            entry_positions[n_entries] = position - lengths[before]
            n_entries += 1
        if after != BOUNDARY:
            entries[n_entries], n_pairs = _count_pair(table, pairs, n_pairs, new, after, count)
            entry_positions[n_entries] = position
            n_entries += 1
    return n_pairs, n_entries


@compiled
def _ensure_capacity(queue, n):
    """Return the heap, in a larger array if it cannot hold n pairs."""
    if queue.shape[0] > n:
        return queue
    larger = np.empty(2 * n + 1, dtype=np.int32)
    larger[: queue[0] + 1] = queue[: queue[0] + 1]
    return larger


@compiled
def learn_merges(symbols, word_of, counts, n_symbols, merges):
    """Merge the most frequent pair of neighboring symbols until ``merges`` is full.

    A pair's count is the sum of the counts of the words at its positions; in ``aaa`` the pair
    (a, a) has two. Ties go to the smaller left symbol, then to the smaller right one. Positions
    are merged from left to right. Returns the number of merges.
    """
    # symbols, word_of: int32 (n_slots,); counts: int64 (n_words,); merges: int32 (n_merges, 2)
    n_slots = symbols.shape[0]
    pairs = np.empty((1 << 12, _N_COLUMNS), dtype=np.int64)
    table = np.full(1 << 14, -1, dtype=np.int32)
    lengths = np.ones(n_symbols + merges.shape[0], dtype=np.int32)
    # each merge removes one symbol and creates at most two new positions of pairs
    positions = np.empty(3 * n_slots, dtype=np.int32)
    entries = np.empty(n_slots, dtype=np.int32)
    entry_positions = np.empty(n_slots, dtype=np.int32)
    merged = np.empty(n_slots, dtype=np.int32)
    queue = np.zeros(1, dtype=np.int32)
    table, pairs, n_pairs, n_entries = _count_all(
        table, pairs, symbols, word_of, counts, entries, entry_positions
    )
    n_positions = _store(pairs, 0, n_pairs, entries, entry_positions, n_entries, positions, 0)
    queue = _ensure_capacity(queue, n_pairs)
    for pair in range(n_pairs):
        _push(queue, pairs, pair)
    for step in range(merges.shape[0]):
        pair = _pop(queue, pairs)
        if pair < 0:
            return step
        new = n_symbols + step
        left, right = pairs[pair, _LEFT], pairs[pair, _RIGHT]
        merges[step, 0], merges[step, 1] = left, right
        lengths[new] = lengths[left] + lengths[right]
        n_merged = _merge(
            symbols, lengths, pair, new, table, pairs, positions, word_of, counts, merged
        )
        while n_pairs + 2 * min(n_merged, new + 1) > pairs.shape[0]:
            table, pairs = _grow(table, pairs, n_pairs)
        n_before = n_pairs
        n_pairs, n_entries = _count_new_pairs(
            table, pairs, n_pairs, new, merged[:n_merged], symbols, lengths, word_of, counts,
            entries, entry_positions,
        )  # fmt: skip
        n_positions = _store(
            pairs, n_before, n_pairs, entries, entry_positions, n_entries, positions, n_positions
        )
        queue = _ensure_capacity(queue, n_pairs)
        for pair in range(n_before, n_pairs):
            _push(queue, pairs, pair)
    return merges.shape[0]
