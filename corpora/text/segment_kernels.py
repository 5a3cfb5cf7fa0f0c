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
    START,
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
POSITION, SENTENCE, N_TOKENS, N_TYPES, N_BYTES, N_CHARACTERS, N_UNSPACED, N_DROPPED = range(8)
FIRST_DROPPED = 8  # of counts of characters by kind, in the order of DROPPED
STATE_LENGTH = FIRST_DROPPED + len(DROPPED)
_JOINERS = FIRST_DROPPED + DROPPED.index("joiners")
_CAPITAL, _SMALL, _FINAL, _DOT = map(ord, (CAPITAL_SIGMA, SIGMA, FINAL_SIGMA, DOT_ABOVE))
_I, _DOTLESS = ord("i"), tuple(DOTLESS.encode())


@compiled
def segment(
    text, sentences, entries, neighbors, slots, starts, arena, state, token_ids, token_offsets
):
    """Write the token ids of ``text``, adding unseen types to the table.

    Stops early, with ``state[SENTENCE]`` below the number of sentences, when the type table or
    its arena is full: call it again with larger ones. Nothing else is bounds-checked.
    """
    # text: uint8 (n_bytes,); sentences: int64 (n_sentences + 1,), byte offsets
    # entries: int32 (0x110000,); neighbors: uint8 (0x110000,), of the CharacterTable
    # slots: uint64 (capacity, 2), key and id with count; state: int64 (STATE_LENGTH,)
    # starts: int64 (max_types + 1,), of types in arena: uint8 (max_bytes,)
    # token_ids: int32 (n_bytes,); token_offsets: int64 (n_sentences + 1,)
    max_types = min(starts.shape[0] - 1, slots.shape[0] // 2)
    shift = np.uint64(64 - int(np.log2(slots.shape[0])))
    n_types, end = state[N_TYPES], state[N_BYTES]
    n_tokens, position, sentence = state[N_TOKENS], state[POSITION], state[SENTENCE]
    characters, unspaced = 0, 0
    n_sentences = sentences.shape[0] - 1
    while sentence < n_sentences:
        stop = sentences[sentence + 1]
        if position == sentences[sentence]:
            token_offsets[sentence] = n_tokens
        while position < stop:
            token_start = position
            # added only when the token is complete: it is read again after growth
            token_dropped, token_characters, token_unspaced = 0, 0, 0
            length, in_context = 0, False
            packed, hashed = np.uint64(0), FNV_OFFSET
            while position < stop:
                code = np.int32(text[position])
                width = 1
                if code >= 0x80:
                    code, width = read_character(text, position)
                entry = entries[code]
                kind = (entry >> CLASS_SHIFT) & CLASS_MASK
                if kind >= SPACE and kind <= START and length > 0:
                    if kind == SPACE:
                        position += width
                        token_characters += 1
                    break
                position += width
                token_characters += 1
                if kind == SPACE:
                    continue
                if kind == DROP:
                    if length == 0 or not _joins(
                        text, position, stop, code, neighbors, arena, end + length
                    ):
                        token_dropped += 1
                        continue
                    entry = code
                if entry & UNSPACED:
                    token_unspaced += 1
                if end + length + 16 > arena.shape[0]:
                    length = -1  # no room for another character
                    break
                target = entry & CODE_POINT_MASK
                if target < 0x80:
                    arena[end + length] = target
                    packed = packed << np.uint64(8) | np.uint64(target)
                    hashed = (hashed ^ np.uint64(target)) * FNV_PRIME
                    length += 1
                else:
                    tail = end + length
                    length += _write_character(arena, tail, target)
                    in_context |= entry & CONTEXT != 0
                    for i in range(tail, end + length):
                        byte = np.uint64(arena[i])
                        packed = packed << np.uint64(8) | byte
                        hashed = (hashed ^ byte) * FNV_PRIME
                if kind == ALONE:
                    if entry & SYMBOL:
                        after = _symbol_end(text, position, stop, code, neighbors)
                        if end + length + after - position > arena.shape[0]:
                            length = -1
                            break
                        for i in range(position, after):
                            arena[end + length] = text[i]
                            length += 1
                            token_characters += text[i] & 0xC0 != 0x80
                        in_context = after > position  # for the hashes
                        position = after
                    break
            if in_context and length > 0:
                lowers = entries[_CAPITAL] & CONTEXT != 0
                length = _normalize_in_context(arena, end, length, neighbors, lowers)
                packed, hashed = _keys(arena, end, length)
            if length > 0:
                short = length <= PACKED_BYTES
                key = packed | np.uint64(length) << np.uint64(56) if short else hashed | HASHED
                slot = np.int64((key * GOLDEN) >> shift)
                while slots[slot, 0] != 0:
                    if slots[slot, 0] == key and (
                        short or _same_bytes(arena, starts, slots[slot, 1] & ID_MASK, end, length)
                    ):
                        break
                    slot = slot + 1 & slots.shape[0] - 1
                if slots[slot, 0] == 0:
                    if n_types == max_types:
                        length = -1
                    else:
                        slots[slot, 0] = key
                        slots[slot, 1] = np.uint64(n_types)
                        n_types += 1
                        end += length
                        starts[n_types] = end
                if length > 0:
                    slots[slot, 1] += COUNT_ONE
                    token_ids[n_tokens] = np.int32(slots[slot, 1] & ID_MASK)
                    n_tokens += 1
            if length < 0:
                state[POSITION], state[SENTENCE], state[N_TOKENS] = token_start, sentence, n_tokens
                state[N_TYPES], state[N_BYTES] = n_types, end
                state[N_CHARACTERS] += characters
                state[N_UNSPACED] += unspaced
                return
            if token_dropped:
                _count_dropped(text, token_start, position, entries, token_dropped, state)
            characters += token_characters
            unspaced += token_unspaced
        sentence += 1
    token_offsets[n_sentences] = n_tokens
    state[POSITION], state[SENTENCE], state[N_TOKENS] = position, sentence, n_tokens
    state[N_TYPES], state[N_BYTES] = n_types, end
    state[N_CHARACTERS] += characters
    state[N_UNSPACED] += unspaced


@compiled
def read_character(text, position):
    """Decode a non-ASCII character; return its code point and length in bytes."""
    lead = np.int32(text[position])
    second = np.int32(text[position + 1] & 0x3F)
    if lead < 0xE0:
        return np.int32((lead & 0x1F) << 6 | second), 2
    third = np.int32(text[position + 2] & 0x3F)
    if lead < 0xF0:
        return np.int32((lead & 0x0F) << 12 | second << 6 | third), 3
    fourth = np.int32(text[position + 3] & 0x3F)
    return np.int32((lead & 0x07) << 18 | second << 12 | third << 6 | fourth), 4


@compiled
def _joins(text, position, stop, code, neighbors, arena, tail):
    """Return whether a joiner changes how letters look, or else is dropped.

    It is between two letters of a script with joiners, or ZWJ after a virama. ``position`` is after
    the joiner; what was written before it ends at ``tail``.
    """
    if code != ZWNJ and code != ZWJ:
        return False
    before = tail - 1
    while arena[before] & 0xC0 == 0x80:
        before -= 1
    if arena[before] < 0x80:
        return False
    character, _ = read_character(arena, before)
    if not neighbors[character] & JOINING:
        return False
    if code == ZWJ and neighbors[character] & VIRAMA:
        return True
    if position == stop or text[position] < 0x80:
        return False
    following, _ = read_character(text, position)
    return neighbors[following] & JOINING != 0


@compiled
def _symbol_end(text, position, stop, code, neighbors):
    """Return the end of what belongs to a symbol that ends at ``position``.

    That is a second letter of a flag, and marks, skin tones and pictures joined by ZWJ.
    """
    regional = neighbors[code] & REGIONAL
    while position < stop and text[position] >= 0x80:
        following, width = read_character(text, position)
        if following == ZWJ and neighbors[code] & PICTURE:
            after = position + width
            if after == stop or text[after] < 0x80:
                break
            following, width = read_character(text, after)
            if not neighbors[following] & PICTURE:
                break
            position = after
        elif not (neighbors[following] & EXTENDS or regional & neighbors[following]):
            break
        regional = 0
        position += width
    return position


@compiled
def _normalize_in_context(arena, start, length, neighbors, lowers):
    """Lower-case each capital sigma of a word by its place, if at all, and drop the dot of an i.

    A sigma is final after a letter, unless a letter follows; characters that are IGNORABLE between
    do not count (Unicode's Final_Sigma). Returns the new length.
    """
    tail, position, end = start, start, start + length
    after_letter, pending = False, -1  # pending: where a sigma is that may be final
    while position < end:
        code, width = np.int32(arena[position]), 1
        if code >= 0x80:
            code, width = read_character(arena, position)
        if code == _DOT and tail > start:
            if arena[tail - 1] == _DOTLESS[1] and arena[tail - 2] == _DOTLESS[0]:
                tail -= 1
                arena[tail - 1] = _I
            if arena[tail - 1] == _I:
                position += width
                continue
        flags = neighbors[code]
        if not flags & IGNORABLE:
            if pending >= 0 and not flags & CASED:
                _write_character(arena, pending, _FINAL)
            pending = tail if lowers and code == _CAPITAL and after_letter else -1
            after_letter = flags & CASED != 0
        if lowers and code == _CAPITAL:
            _write_character(arena, tail, _SMALL)
        else:
            for i in range(width):
                arena[tail + i] = arena[position + i]
        tail += width
        position += width
    if pending >= 0:
        _write_character(arena, pending, _FINAL)
    return tail - start


@compiled
def _keys(arena, start, length):
    """Return the bytes of a word as one number, and their hash."""
    packed, hashed = np.uint64(0), FNV_OFFSET
    for i in range(start, start + length):
        packed = packed << np.uint64(8) | np.uint64(arena[i])
        hashed = (hashed ^ np.uint64(arena[i])) * FNV_PRIME
    return packed, hashed


@compiled
def _count_dropped(text, start, stop, entries, n_dropped, state):
    """Count what is dropped of a token, by kind; the rest of its joiners was kept."""
    n_all = 0
    while start < stop:
        code, width = np.int32(text[start]), 1
        if code >= 0x80:
            code, width = read_character(text, start)
        entry = entries[code]
        if (entry >> CLASS_SHIFT) & CLASS_MASK == DROP:
            state[FIRST_DROPPED + (entry & CODE_POINT_MASK)] += 1
            state[N_DROPPED] += width
            n_all += 1
        start += width
    state[_JOINERS] -= n_all - n_dropped
    state[N_DROPPED] -= 3 * (n_all - n_dropped)


@compiled
def _write_character(arena, tail, code):
    """Write a non-ASCII character as UTF-8; return its length in bytes."""
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
