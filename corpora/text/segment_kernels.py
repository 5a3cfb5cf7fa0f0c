"""Text to token ids in one pass over the bytes; the caller grows the type table."""

import numpy as np

from firth.corpora.common.jit import compiled
from firth.corpora.text.characters import (
    ALONE,
    CAPITAL_SIGMA,
    CASED,
    CLASS_MASK,
    CLASS_SHIFT,
    CODE_POINT_MASK,
    CONTEXT,
    DOT_ABOVE,
    DOTLESS,
    DROP,
    DROPPED,
    EXTENDS,
    FINAL_SIGMA,
    IGNORABLE,
    JOINING,
    PICTURE,
    REGIONAL,
    SIGMA,
    SPACE,
    SYMBOL,
    UNSPACED,
    VIRAMA,
    ZWJ,
    ZWNJ,
)

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
HASHED = np.uint64(1 << 63)
COUNT_ONE = np.uint64(1 << 32)
ID_MASK = np.uint64(0xFFFFFFFF)
PACKED_BYTES = 7  # shorter types are their own key, without a byte comparison

# Indices of the state, with which the pass resumes after the table has grown.
POSITION, SENTENCE, N_TOKENS, N_TYPES, N_BYTES, N_UNSPACED, N_DROPPED = range(7)
FIRST_DROPPED = 7  # of counts of characters by kind, in the order of DROPPED
STATE_LENGTH = FIRST_DROPPED + len(DROPPED)
_CAPITAL, _SMALL, _FINAL, _DOT = map(ord, (CAPITAL_SIGMA, SIGMA, FINAL_SIGMA, DOT_ABOVE))
_I, _DOTLESS = ord("i"), ord(DOTLESS)


@compiled
def segment(
    text, sentences, entries, neighbors, slots, starts, arena, state, token_ids, token_offsets,
    spans,
):  # fmt: skip
    """Write the token ids of ``text``, adding unseen types to the table.

    Stops early, with ``state[SENTENCE]`` below the number of sentences, when the type table or
    its arena is full: call it again with larger ones. Nothing else is bounds-checked.
    """
    # text: uint8 (n_bytes,); sentences: int64 (n_sentences + 1,), byte offsets
    # entries: int32 (0x110000,); neighbors: uint8 (0x110000,), of the CharacterTable
    # slots: uint64 (capacity, 2), key and id with count; state: int64 (STATE_LENGTH,)
    # starts: int64 (max_types + 1,), of types in arena: uint8 (max_bytes,)
    # token_ids: int32 (n_bytes,); token_offsets: int64 (n_sentences + 1,)
    # spans: int64 (n_bytes, 2), where tokens start and stop in the text; or (0, 2)
    max_types = min(starts.shape[0] - 1, slots.shape[0] // 2)
    shift = np.uint64(64 - int(np.log2(slots.shape[0])))
    lowers = entries[_CAPITAL] & CONTEXT != 0
    n_types, end, unspaced = state[N_TYPES], state[N_BYTES], 0
    n_tokens, position, sentence = state[N_TOKENS], state[POSITION], state[SENTENCE]
    while sentence < sentences.shape[0] - 1:
        stop = sentences[sentence + 1]
        if end + 2 * (stop - position) > arena.shape[0]:  # I is one byte, and ı is two
            break
        while position < stop and n_types < max_types:
            tail, flags, written = end, np.int32(0), np.int32(0)
            packed, hashed = np.uint64(0), FNV_OFFSET
            first, last, after_dropped, space = position, position, -1, 0
            while position < stop:
                code, width = np.int32(text[position]), 1
                if code >= 0x80:
                    code, width = read_character(text, position)
                entry = entries[code]
                if entry < 0x80:  # of the class WORD: most often an ASCII letter
                    arena[tail] = written = entry
                    packed = packed << np.uint64(8) | np.uint64(entry)
                    hashed = (hashed ^ np.uint64(entry)) * FNV_PRIME
                    tail += 1
                    position += width
                    continue
                kind = (entry >> CLASS_SHIFT) & CLASS_MASK
                if kind >= SPACE and tail > end:
                    space = width if kind == SPACE else 0
                    break
                position += width
                if kind == DROP and not _joins(
                    text, position, stop, code, neighbors[written], neighbors
                ):
                    state[FIRST_DROPPED + (entry & CODE_POINT_MASK)] += 1
                    state[N_DROPPED] += width
                    last = last if after_dropped == position - width else position - width
                    after_dropped = position
                if kind == SPACE or after_dropped == position:
                    first = position if tail == end else first
                    continue
                if entry & UNSPACED:
                    unspaced += 1
                flags |= entry
                written = code if kind == DROP else entry & CODE_POINT_MASK
                tail += _write_character(arena, tail, written)
                if kind == ALONE:
                    if entry & SYMBOL:
                        start, position = (
                            position,
                            _symbol_end(text, position, stop, code, neighbors),
                        )
                        for i in range(start, position):
                            arena[tail] = text[i]
                            tail += 1
                    break
            last = last if after_dropped == position else position
            position += space
            length = tail - end
            if length == 0:
                continue
            if flags & CONTEXT:
                length = _normalize_in_context(arena, end, length, neighbors, lowers)
            key = packed | np.uint64(length) << np.uint64(56)
            if length > PACKED_BYTES:
                key = hashed | HASHED
            if flags:  # not all was ASCII
                key = _key(arena, end, length)
            slot = np.int64((key * GOLDEN) >> shift)
            while slots[slot, 0] != 0:
                if slots[slot, 0] == key and (
                    length <= PACKED_BYTES
                    or _same_bytes(arena, starts, slots[slot, 1] & ID_MASK, end, length)
                ):
                    break
                slot = slot + 1 & slots.shape[0] - 1
            if slots[slot, 0] == 0:
                slots[slot, 0] = key
                slots[slot, 1] = np.uint64(n_types)
                n_types += 1
                end += length
                starts[n_types] = end
            slots[slot, 1] += COUNT_ONE
            token_ids[n_tokens] = np.int32(slots[slot, 1] & ID_MASK)
            if spans.shape[0] > 0:
                spans[n_tokens, 0], spans[n_tokens, 1] = first, last
            n_tokens += 1
        if position < stop:
            break
        sentence += 1
        token_offsets[sentence] = n_tokens
    state[POSITION], state[SENTENCE], state[N_TOKENS] = position, sentence, n_tokens
    state[N_TYPES], state[N_BYTES] = n_types, end
    state[N_UNSPACED] += unspaced


@compiled
def read_character(text, position):
    """Decode a character; return its code point and length in bytes."""
    lead = np.int32(text[position])
    if lead < 0x80:
        return lead, 1
    second = np.int32(text[position + 1] & 0x3F)
    if lead < 0xE0:
        return np.int32((lead & 0x1F) << 6 | second), 2
    third = np.int32(text[position + 2] & 0x3F)
    if lead < 0xF0:
        return np.int32((lead & 0x0F) << 12 | second << 6 | third), 3
    fourth = np.int32(text[position + 3] & 0x3F)
    return np.int32((lead & 0x07) << 18 | second << 12 | third << 6 | fourth), 4


@compiled
def _joins(text, position, stop, code, before, neighbors):
    """Return whether a joiner, which ends at ``position``, changes how letters look.

    It is between two letters of a script with joiners, or ZWJ after a virama.
    """
    if (code != ZWNJ and code != ZWJ) or not before & JOINING:
        return False
    if code == ZWJ and before & VIRAMA:
        return True
    return position < stop and neighbors[read_character(text, position)[0]] & JOINING != 0


@compiled
def _symbol_end(text, position, stop, code, neighbors):
    """Return the end of what a symbol takes with it: flag letters, marks, skin tones, ZWJ parts."""
    kinds = EXTENDS | neighbors[code] & REGIONAL
    while position < stop:
        following, width = read_character(text, position)
        joined = position + width
        if following == ZWJ and neighbors[code] & PICTURE and joined < stop:
            following, width = read_character(text, joined)
            if not neighbors[following] & PICTURE:
                break
            position = joined
        elif not neighbors[following] & kinds:
            break
        kinds = EXTENDS
        position += width
    return position


@compiled
def _normalize_in_context(arena, start, length, neighbors, lowers):
    """Lower-case each capital sigma of a word by its place, if at all, and drop the dot of an i.

    A sigma is final after a letter, unless a letter follows; characters that are IGNORABLE between
    do not count (Unicode's Final_Sigma). Returns the new length.
    """
    tail, position, end = start, start, start + length
    before, after_letter, pending = 0, False, -1  # pending: where a sigma is that may be final
    while position < end:
        code, width = read_character(arena, position)
        position += width
        if code == _DOT and (before == _I or before == _DOTLESS):
            tail -= 1 if before == _I else 2
            code = _I
        flags = neighbors[code]
        if not flags & IGNORABLE:
            if pending >= 0 and not flags & CASED:
                _write_character(arena, pending, _FINAL)
            pending = tail if lowers and code == _CAPITAL and after_letter else -1
            after_letter = flags & CASED != 0
        before = code
        tail += _write_character(arena, tail, _SMALL if lowers and code == _CAPITAL else code)
    if pending >= 0:
        _write_character(arena, pending, _FINAL)
    return tail - start


@compiled
def _key(arena, start, length):
    """Return the bytes of a short word and their number, or else a hash."""
    if length <= PACKED_BYTES:
        packed = np.uint64(0)
        for i in range(start, start + length):
            packed = packed << np.uint64(8) | np.uint64(arena[i])
        return packed | np.uint64(length) << np.uint64(56)
    hashed = FNV_OFFSET
    for i in range(start, start + length):
        hashed = (hashed ^ np.uint64(arena[i])) * FNV_PRIME
    return hashed | HASHED


@compiled
def _write_character(arena, tail, code):
    """Write a character as UTF-8; return its length in bytes."""
    if code < 0x80:
        arena[tail] = code
        return 1
    if code < 0x800:
        arena[tail] = 0xC0 | code >> 6
        arena[tail + 1] = 0x80 | code & 0x3F
        return 2
    if code < 0x10000:
        arena[tail] = 0xE0 | code >> 12
        arena[tail + 1] = 0x80 | code >> 6 & 0x3F
        arena[tail + 2] = 0x80 | code & 0x3F
        return 3
    arena[tail] = 0xF0 | code >> 18
    arena[tail + 1] = 0x80 | code >> 12 & 0x3F
    arena[tail + 2] = 0x80 | code >> 6 & 0x3F
    arena[tail + 3] = 0x80 | code & 0x3F
    return 4


@compiled
def _same_bytes(arena, starts, type_id, end, length):
    """Return whether a type equals the bytes at the end of the arena."""
    start = starts[np.int64(type_id)]
    if starts[np.int64(type_id) + 1] - start != length:
        return False
    for i in range(length):
        if arena[start + i] != arena[end + i]:
            return False
    return True


@compiled
def reinsert(old_slots, slots):
    """Copy all entries of a slot table into a larger, empty one."""
    # old_slots: uint64 (old_capacity, 2); slots: uint64 (capacity, 2)
    shift = np.uint64(64 - int(np.log2(slots.shape[0])))
    for old in range(old_slots.shape[0]):
        if old_slots[old, 0] != 0:
            slot = np.int64((old_slots[old, 0] * GOLDEN) >> shift)
            while slots[slot, 0] != 0:
                slot = slot + 1 & slots.shape[0] - 1
            slots[slot, 0] = old_slots[old, 0]
            slots[slot, 1] = old_slots[old, 1]


@compiled
def slot_counts(slots, counts):
    """Write the counts of a slot table in the order of ids."""
    # slots: uint64 (capacity, 2); counts: int64 (n_types,)
    for slot in range(slots.shape[0]):
        if slots[slot, 0] != 0:
            counts[np.int64(slots[slot, 1] & ID_MASK)] = np.int64(slots[slot, 1] >> np.uint64(32))
