"""Reading UTF-8 characters, their classes, and the flags of words in the rules."""

import numpy as np

from firth.corpora.common.jit import compiled
from firth.corpora.text.sentences.rules import (
    CLOSE,
    COMMA,
    DIGIT,
    MARK,
    N_CLASSED,
    ORDINAL,
    SPACE,
    STRONG,
    UNSPACED,
    UPPER,
    WIDE,
)

FNV_OFFSET = np.uint64(0xCBF29CE484222325)
FNV_PRIME = np.uint64(0x100000001B3)
MAX_LEAD = 6  # characters between a boundary and the first letter
NONE = 0  # no letter or digit follows
APOSTROPHE, STRAIGHT_QUOTE, RIGHT_QUOTE, HYPHEN, DOT = 0x27, 0x22, 0x2019, 0x2D, 0x2E
END_OF_TEXT = 0x110000  # not a code point


@compiled
def code_at(text, at, stop):
    """Return the code point and byte length of the character at ``at``, or END_OF_TEXT, 0."""
    if at >= stop:
        return END_OF_TEXT, 0
    byte = np.int64(text[at])
    if byte < 0x80:
        return byte, 1
    length = 2 if byte < 0xE0 else 3 if byte < 0xF0 else 4
    if at + length > stop:
        return byte, 1
    code = byte & (0x7F >> length)
    for k in range(1, length):
        code = code << 6 | np.int64(text[at + k]) & 0x3F
    return code, length


@compiled
def code_before(text, at, start):
    """Return the code point and byte length of the character before ``at``."""
    if at <= start:
        return END_OF_TEXT, 0
    begin = at - 1
    while begin > start and at - begin < 4 and text[begin] & 0xC0 == 0x80:
        begin -= 1
    code, _ = code_at(text, begin, at)
    return code, at - begin


@compiled
def class_of(classes, code):
    """Return the class of a code point; SPACE at the end, UNSPACED beyond the table."""
    if code < N_CLASSED:
        return np.int64(classes[code])
    return SPACE if code == END_OF_TEXT else UNSPACED


@compiled
def is_ascii_digit(byte):
    """Return whether a byte is an ASCII digit."""
    return byte >= 0x30 and byte <= 0x39


@compiled
def is_ascii_word(byte):
    """Return whether a byte is an ASCII letter or digit."""
    small = byte | 0x20
    return (small >= 0x61 and small <= 0x7A) or is_ascii_digit(byte)


@compiled
def is_letter(kind):
    """Return whether a class is one of letters, cased or uncased."""
    return kind >= UPPER and kind <= UNSPACED


@compiled
def is_not_alphanumeric(kind):
    """Return whether a class is neither letters nor digits."""
    return not (is_letter(kind) or kind == DIGIT)


@compiled
def skip_spaces(text, at, stop, classes):
    """Return the position of the next character that is not a space."""
    while at < stop:
        code, length = code_at(text, at, stop)
        if class_of(classes, code) != SPACE:
            break
        at += length
    return at


@compiled
def hash_bytes(text, begin, end):
    """Return the FNV-1a hash of the bytes, without spaces."""
    value = FNV_OFFSET
    for i in range(begin, end):
        if text[i] != 32:
            value = (value ^ np.uint64(text[i])) * FNV_PRIME
    return value


@compiled
def flags_of(table, value):
    """Return the flags of a word hash, 0 if it is not in the table."""
    # table: uint64 (capacity, 2)
    mask = np.uint64(table.shape[0] - 1)
    slot = value & mask
    while table[slot, 0] != 0:
        if table[slot, 0] == value:
            return np.int64(table[slot, 1])
        slot = (slot + np.uint64(1)) & mask
    return 0


@compiled
def build_table(text, offsets, flags, table):
    """Fill an open-addressing table with the hashes and flags of words."""
    # text: uint8 (n_bytes,); offsets: int64 (n_words + 1,); flags: int64 (n_words,)
    # table: uint64 (capacity, 2)
    mask = np.uint64(table.shape[0] - 1)
    for w in range(flags.shape[0]):
        value = hash_bytes(text, offsets[w], offsets[w + 1])
        slot = value & mask
        while table[slot, 0] != 0:
            slot = (slot + np.uint64(1)) & mask
        table[slot, 0] = value
        table[slot, 1] = flags[w]


@compiled
def first_letter(text, at, stop, classes):
    """Return position and class of the next letter or digit; NONE if it is too far away."""
    place = at
    for _ in range(MAX_LEAD):
        code, length = code_at(text, place, stop)
        kind = class_of(classes, code)
        if not is_not_alphanumeric(kind):
            return place, kind
        if place >= stop or kind == COMMA or kind == CLOSE or kind == STRONG or kind == WIDE:
            break
        place += length
    return at, NONE


@compiled
def has_letter(text, at, stop, classes):
    """Return whether there is a letter or digit between ``at`` and ``stop``."""
    while at < stop:
        code, length = code_at(text, at, stop)
        if not is_not_alphanumeric(class_of(classes, code)):
            return True
        at += length
    return False


@compiled
def _end_of_word(text, at, stop, classes):
    """Return the end of the letters and marks that begin at ``at``."""
    while at < stop:
        code, length = code_at(text, at, stop)
        kind = class_of(classes, code)
        if not (is_letter(kind) or kind == MARK):
            break
        at += length
    return at


@compiled
def next_flags(text, at, stop, classes, table):
    """Return the flags of the word at ``at``, only ORDINAL before a period or hyphen."""
    end = _end_of_word(text, at, stop, classes)
    code, _ = code_at(text, end, stop)
    value = hash_bytes(text, at, end)
    if code == DOT or code == HYPHEN:
        return flags_of(table, value) & ORDINAL
    if code == APOSTROPHE or code == RIGHT_QUOTE:
        elided = (value ^ np.uint64(APOSTROPHE)) * FNV_PRIME
        return flags_of(table, value) | flags_of(table, elided)
    return flags_of(table, value)
