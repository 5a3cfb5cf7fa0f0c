"""Text to token ids in one pass over the bytes; the caller grows the type table."""

import numpy as np

from firth.corpora.common.jit import compiled
from firth.corpora.text.characters import (
    ALONE,
    CLASS_MASK,
    CLASS_SHIFT,
    CODE_POINT_MASK,
    DROP,
    EXPANDS,
    SPACE,
    START,
    UNSPACED,
)

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
GOLDEN = np.uint64(0x9E3779B97F4A7C15)
HASHED = np.uint64(1 << 63)
COUNT_ONE = np.uint64(1 << 32)
ID_MASK = np.uint64(0xFFFFFFFF)
PACKED_BYTES = 7  # shorter types are their own key, without a byte comparison

# Indices of the state, with which the pass resumes after the table has grown.
POSITION, SENTENCE, N_TOKENS, N_TYPES, N_BYTES, N_DROPPED, N_CHARACTERS, N_UNSPACED = range(8)
STATE_LENGTH = 8


@compiled
def segment(
    text, sentences, entries, expansions, slots, starts, arena, state, token_ids, token_offsets
):
    """Write the token ids of ``text``, adding unseen types to the table.

    Stops early, with ``state[SENTENCE]`` below the number of sentences, when the type table or
    its arena is full: call it again with larger ones. Nothing else is bounds-checked.
    """
    # text: uint8 (n_bytes,); sentences: int64 (n_sentences + 1,), byte offsets
    # entries: int32 (0x110000,); expansions: uint8 (n, 16), of the CharacterTable
    # slots: uint64 (capacity, 2), key and id with count; state: int64 (STATE_LENGTH,)
    # starts: int64 (max_types + 1,), of types in arena: uint8 (max_bytes,)
    # token_ids: int32 (n_bytes,); token_offsets: int64 (n_sentences + 1,)
    max_types = min(starts.shape[0] - 1, slots.shape[0] // 2)
    shift = np.uint64(64 - int(np.log2(slots.shape[0])))
    n_types, end = state[N_TYPES], state[N_BYTES]
    n_tokens, position, sentence = state[N_TOKENS], state[POSITION], state[SENTENCE]
    dropped, characters, unspaced = 0, 0, 0
    n_sentences = sentences.shape[0] - 1
    while sentence < n_sentences:
        stop = sentences[sentence + 1]
        if position == sentences[sentence]:
            token_offsets[sentence] = n_tokens
        while position < stop:
            token_start = position
            # added only when the token is complete: it is read again after growth
            token_dropped, token_characters, token_unspaced = 0, 0, 0
            length = 0
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
                    token_dropped += width
                    continue
                if entry & UNSPACED:
                    token_unspaced += 1
                if end + length + 16 > arena.shape[0]:
                    length = -1  # no room for another character
                    break
                target = entry & CODE_POINT_MASK
                if target < 0x80 and not entry & EXPANDS:
                    arena[end + length] = target
                    packed = packed << np.uint64(8) | np.uint64(target)
                    hashed = (hashed ^ np.uint64(target)) * FNV_PRIME
                    length += 1
                else:
                    tail = end + length
                    if entry & EXPANDS:
                        length += _write_expansion(arena, tail, expansions, target)
                    else:
                        length += _write_character(arena, tail, target)
                    for i in range(tail, end + length):
                        byte = np.uint64(arena[i])
                        packed = packed << np.uint64(8) | byte
                        hashed = (hashed ^ byte) * FNV_PRIME
                if kind == ALONE:
                    break
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
                state[N_DROPPED] += dropped
                state[N_CHARACTERS] += characters
                state[N_UNSPACED] += unspaced
                return
            dropped += token_dropped
            characters += token_characters
            unspaced += token_unspaced
        sentence += 1
    token_offsets[n_sentences] = n_tokens
    state[POSITION], state[SENTENCE], state[N_TOKENS] = position, sentence, n_tokens
    state[N_TYPES], state[N_BYTES] = n_types, end
    state[N_DROPPED] += dropped
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
def _write_expansion(arena, tail, expansions, row):
    """Write the expansion of a character; return its length in bytes."""
    n_written = np.int64(expansions[row, 0])
    for i in range(n_written):
        arena[tail + i] = expansions[row, 1 + i]
    return n_written


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
