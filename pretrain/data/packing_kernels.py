"""Numba kernel that packs units of text into rows of equal length."""

from firth.corpora.common.jit import compiled


@compiled
def pack_units(
    word_rows,
    offsets,
    piece_ids,
    piece_offsets,
    specials,
    sequence_length,
    whole,
    slots,
    n_filled,
    ends,
):
    """Write each unit of a shard as one or more segments ``[CLS] pieces... [SEP]``.

    A unit that does not fit in its row continues as a new segment of the next row, or if ``whole``
    starts there. Where fewer than three slots are left, no segment fits and they become padding.
    The first ``n_filled`` slots are kept; returns the new number of filled slots. ``ends`` receives
    the number after each unit. ``slots`` is not bounds-checked: allocate what ``packing.max_rows``
    says.
    """
    # word_rows: int32 (n_tokens,), word of each token; offsets: int64 (n_units + 1,)
    # piece_ids: int32 (n,), pieces of all words; piece_offsets: int64 (V + 1,)
    # slots: uint16 or int32 (capacity,), rows one after the other; ends: int64 (n_units,), output
    padding, start, end = specials
    at = n_filled
    room = sequence_length - n_filled % sequence_length
    for u in range(offsets.shape[0] - 1):
        is_open = False
        if whole:
            needed = 2
            for token in range(offsets[u], offsets[u + 1]):
                needed += piece_offsets[word_rows[token] + 1] - piece_offsets[word_rows[token]]
            if needed > room and room < sequence_length:
                slots[at : at + room] = padding
                at += room
                room = sequence_length
        for token in range(offsets[u], offsets[u + 1]):
            word = word_rows[token]
            for k in range(piece_offsets[word], piece_offsets[word + 1]):
                if not is_open:
                    if room < 3:
                        slots[at : at + room] = padding
                        at += room
                        room = sequence_length
                    slots[at] = start
                    at += 1
                    room -= 1
                    is_open = True
                slots[at] = piece_ids[k]
                at += 1
                room -= 1
                if room == 1:  # reserved for the end of the segment
                    slots[at] = end
                    at += 1
                    room = sequence_length
                    is_open = False
        if is_open:
            slots[at] = end
            at += 1
            room -= 1  # at least 1 was left: a full row has closed its segment
        ends[u] = at
    return at
