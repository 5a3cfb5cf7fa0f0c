"""Byte-pair merges over types and counts: the most frequent pair of neighbors, again and again.

All occurrences of a pair come into being at one moment: at the start, or when the younger of
its two symbols is made. From then on they only vanish. So each pair has one list of places,
written once, and its count only falls: an outdated entry of the queue is never too low.
"""

import numpy as np

from corpora.common.jit import compiled

OUTSIDE = -1  # in ``symbols``: before the first word and after each
_GONE = -2  # in ``symbols``: where the right part of a merged symbol began

# Columns of the table of pairs; QUEUED is the count under which the pair stands in the queue.
_LEFT, _RIGHT, _COUNT, _QUEUED, _FIRST, _STOP = range(6)
_N_COLUMNS = 6


@compiled
def _slot(table, pairs, left, right):
    """Where the hash table holds a pair, or would hold it."""
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
    """Double the table of pairs and hash it anew."""
    larger = np.empty((2 * pairs.shape[0], _N_COLUMNS), dtype=np.int64)
    larger[:n_pairs] = pairs[:n_pairs]
    table = np.full(2 * table.shape[0], -1, dtype=np.int32)
    for pair in range(n_pairs):
        table[_slot(table, larger, larger[pair, _LEFT], larger[pair, _RIGHT])] = pair
    return table, larger


@compiled
def _comes_first(pairs, a, b):
    """Whether pair a is merged before pair b: by count, ties by the older symbols."""
    if pairs[a, _QUEUED] != pairs[b, _QUEUED]:
        return pairs[a, _QUEUED] > pairs[b, _QUEUED]
    if pairs[a, _LEFT] != pairs[b, _LEFT]:
        return pairs[a, _LEFT] < pairs[b, _LEFT]
    return pairs[a, _RIGHT] < pairs[b, _RIGHT]


@compiled
def _push(queue, pairs, pair):
    """Add a pair to the heap; ``queue[0]`` is its size, ``queue[1]`` the first pair."""
    pairs[pair, _QUEUED] = pairs[pair, _COUNT]
    queue[0] += 1
    place = queue[0]
    while place > 1 and _comes_first(pairs, pair, queue[place // 2]):
        queue[place] = queue[place // 2]
        place //= 2
    queue[place] = pair


@compiled
def _sink(queue, pairs, pair):
    """Put a pair in the first place of the heap and let it sink to its own."""
    size = queue[0]
    place = 1
    while 2 * place <= size:
        child = 2 * place
        if child < size and _comes_first(pairs, queue[child + 1], queue[child]):
            child += 1
        if not _comes_first(pairs, queue[child], pair):
            break
        queue[place] = queue[child]
        place = child
    queue[place] = pair


@compiled
def _pop(queue, pairs):
    """Take the pair that is merged next; -1 when none occurs any more."""
    while queue[0] > 0:
        pair = queue[1]
        if 0 < pairs[pair, _COUNT] < pairs[pair, _QUEUED]:
            pairs[pair, _QUEUED] = pairs[pair, _COUNT]
            _sink(queue, pairs, pair)
            continue
        last = queue[queue[0]]
        queue[0] -= 1
        if queue[0] > 0:
            _sink(queue, pairs, last)
        if pairs[pair, _COUNT] > 0:
            return pair
    return -1


@compiled
def _merge(symbols, lengths, pair, new, table, pairs, places, word_of, counts, merged):
    """Write ``new`` for each occurrence of a pair and take its old neighbors from the counts."""
    left, right = pairs[pair, _LEFT], pairs[pair, _RIGHT]
    n_merged = 0
    for i in range(pairs[pair, _FIRST], pairs[pair, _STOP]):
        place = places[i]
        middle = place + lengths[left]
        if symbols[place] != left or symbols[middle] != right:
            continue  # one of the two belongs to another symbol by now
        count = counts[word_of[place]]
        before, after = symbols[place - 1], symbols[middle + lengths[right]]
        if before != OUTSIDE and before != new:  # with ``new`` there is no count yet
            pairs[table[_slot(table, pairs, before, left)], _COUNT] -= count
        if after != OUTSIDE:
            pairs[table[_slot(table, pairs, right, after)], _COUNT] -= count
        symbols[middle] = _GONE
        symbols[place] = new
        symbols[middle + lengths[right] - 1] = new
        merged[n_merged] = place
        n_merged += 1
    return n_merged


@compiled
def _count_pair(table, pairs, n_pairs, left, right, count):
    """Count one occurrence; return the pair and how many pairs there are now."""
    slot = _slot(table, pairs, left, right)
    pair = table[slot]
    if pair < 0:
        pair = n_pairs
        n_pairs += 1
        table[slot] = pair
        pairs[pair] = 0
        pairs[pair, _LEFT], pairs[pair, _RIGHT] = left, right
    pairs[pair, _COUNT] += count
    pairs[pair, _STOP] += 1  # the number of its places, until _file turns it into an end
    return pair, n_pairs


@compiled
def _file(pairs, first_pair, n_pairs, entries, entry_places, n_entries, places, n_places):
    """Lay the places of new pairs end to end, those of each pair ascending."""
    for pair in range(first_pair, n_pairs):
        pairs[pair, _FIRST] = n_places
        n_places += pairs[pair, _STOP]
        pairs[pair, _STOP] = pairs[pair, _FIRST]
    for i in range(n_entries):
        pair = entries[i]
        places[pairs[pair, _STOP]] = entry_places[i]
        pairs[pair, _STOP] += 1
    return n_places


@compiled
def _count_all(table, pairs, symbols, word_of, counts, entries, entry_places):
    """Count the pairs of the words as they are at the start."""
    n_pairs = 0
    n_entries = 0
    for place in range(symbols.shape[0] - 1):
        left, right = symbols[place], symbols[place + 1]
        if left == OUTSIDE or right == OUTSIDE:
            continue
        if n_pairs == pairs.shape[0]:
            table, pairs = _grow(table, pairs, n_pairs)
        count = counts[word_of[place]]
        entries[n_entries], n_pairs = _count_pair(table, pairs, n_pairs, left, right, count)
        entry_places[n_entries] = place
        n_entries += 1
    return table, pairs, n_pairs, n_entries


@compiled
def _count_around(
    table, pairs, n_pairs, new, merged, symbols, lengths, word_of, counts, entries, entry_places
):
    """Count the pairs that a new symbol makes with its neighbors."""
    n_entries = 0
    for i in range(merged.shape[0]):
        place = merged[i]
        count = counts[word_of[place]]
        before, after = symbols[place - 1], symbols[place + lengths[new]]
        if before != OUTSIDE and before != new:  # (new, new) is the left one's to count
            entries[n_entries], n_pairs = _count_pair(table, pairs, n_pairs, before, new, count)
            entry_places[n_entries] = place - lengths[before]
            n_entries += 1
        if after != OUTSIDE:
            entries[n_entries], n_pairs = _count_pair(table, pairs, n_pairs, new, after, count)
            entry_places[n_entries] = place
            n_entries += 1
    return n_pairs, n_entries


@compiled
def _with_room(queue, n):
    """The heap in an array that holds n pairs."""
    if queue.shape[0] > n:
        return queue
    larger = np.empty(2 * n + 1, dtype=np.int32)
    larger[: queue[0] + 1] = queue[: queue[0] + 1]
    return larger


@compiled
def learn_merges(symbols, word_of, counts, n_symbols, merges):
    """Merge the most frequent pair of neighboring symbols until ``merges`` is full.

    A pair's count is the sum, over its places in the words, of the word's count;
    in ``aaa`` the pair (a, a) has two places. Ties go to the smaller left symbol,
    then to the smaller right one. Places are merged from left to right.
    """
    # symbols: int32 (n_slots,); word_of: int32 (n_slots,); counts: int64 (n_words,); merges: int32
    # (n, 2)
    n_slots = symbols.shape[0]
    pairs = np.empty((1 << 12, _N_COLUMNS), dtype=np.int64)
    table = np.full(1 << 14, -1, dtype=np.int32)
    lengths = np.ones(n_symbols + merges.shape[0], dtype=np.int32)
    # each merge removes one symbol and gives two pairs a new place at most
    places = np.empty(3 * n_slots, dtype=np.int32)
    entries = np.empty(n_slots, dtype=np.int32)
    entry_places = np.empty(n_slots, dtype=np.int32)
    merged = np.empty(n_slots, dtype=np.int32)
    queue = np.zeros(1, dtype=np.int32)
    table, pairs, n_pairs, n_entries = _count_all(
        table, pairs, symbols, word_of, counts, entries, entry_places
    )
    n_places = _file(pairs, 0, n_pairs, entries, entry_places, n_entries, places, 0)
    queue = _with_room(queue, n_pairs)
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
            symbols, lengths, pair, new, table, pairs, places, word_of, counts, merged
        )
        while n_pairs + 2 * min(n_merged, new + 1) > pairs.shape[0]:
            table, pairs = _grow(table, pairs, n_pairs)
        n_before = n_pairs
        n_pairs, n_entries = _count_around(
            table, pairs, n_pairs, new, merged[:n_merged], symbols, lengths, word_of, counts,
            entries, entry_places,
        )  # fmt: skip
        n_places = _file(
            pairs, n_before, n_pairs, entries, entry_places, n_entries, places, n_places
        )
        queue = _with_room(queue, n_pairs)
        for pair in range(n_before, n_pairs):
            _push(queue, pairs, pair)
    return merges.shape[0]
