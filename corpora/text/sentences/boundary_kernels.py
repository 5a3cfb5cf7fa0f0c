"""Sentence boundaries in UTF-8 bytes: find terminators, and examine the context of each."""

import numpy as np

from firth.corpora.common.jit import compiled
from firth.corpora.text.sentences.character_kernels import (
    APOSTROPHE,
    DOT,
    NONE,
    RIGHT_QUOTE,
    class_of,
    code_at,
    code_before,
    first_letter,
    flags_of,
    has_letter,
    hash_bytes,
    is_ascii_digit,
    is_ascii_word,
    is_letter,
    next_flags,
    skip_spaces,
)
from firth.corpora.text.sentences.rules import (
    BEFORE_NUMBER,
    BEFORE_ORDINAL,
    CLOSE,
    COMMA,
    DASH,
    DIGIT,
    ELLIPSIS,
    ENDS,
    EXCLAIMS,
    LOWER,
    MARK,
    MAY_END,
    NEVER_ENDS,
    OPEN,
    ORDINAL,
    QUOTE,
    SPACE,
    STARTER,
    STOP,
    STRONG,
    UNCASED,
    UNIT,
    UNSPACED,
    UPPER,
    WIDE,
)
from firth.corpora.text.sentences.terminator_kernels import (
    end_of_run,
)

MAX_TOKEN = 20  # characters; longer tokens are not abbreviations
ABBREVIATIONS = NEVER_ENDS | MAY_END | BEFORE_NUMBER | UNIT | ENDS

# Indices of the description of the token before a period.
BEGIN, LETTERS, DIGITS, DOTS, OTHERS, PAIRS, AFTER_DASH = range(7)


@compiled
def _read_token(text, start, at, classes, token):
    """Describe in ``token`` the token that ends at ``at``, where it also begins if empty."""
    token[:] = 0
    end, was_letter, length_read = at, False, 0
    while at > start:
        code, length = code_before(text, at, start)
        kind = class_of(classes, code)
        if (code == APOSTROPHE or code == RIGHT_QUOTE) and at < end:
            before, _ = code_before(text, at - length, start)
            if not is_letter(class_of(classes, before)):
                break
            token[OTHERS] += 1
        elif kind == SPACE or (kind >= OPEN and kind <= COMMA) or kind > STOP:
            break
        elif kind == DASH:
            before, _ = code_before(text, at - length, start)
            before_kind = class_of(classes, before)
            token[AFTER_DASH] = is_letter(before_kind) or before_kind == DIGIT
            break
        _count_character(token, code, kind, was_letter)
        was_letter = is_letter(kind) or (kind == MARK and was_letter)
        at -= length
        length_read += 1
        if length_read > MAX_TOKEN:
            token[OTHERS] += 1
            break
    token[BEGIN] = at


@compiled
def _count_character(token, code, kind, was_letter):
    """Add a character, read backward, to the description of its token."""
    if is_letter(kind):
        token[LETTERS] += 1
        token[PAIRS] += was_letter
        if kind == UNCASED and not ((code >= 0x590 and code <= 0xDFF) or code >> 8 == 0x10):
            token[OTHERS] += 1
        if kind == UNSPACED:
            token[OTHERS] += 1
    elif kind == DIGIT:
        token[DIGITS] += 1
    elif kind == STOP:
        token[DOTS] += 1
    else:
        token[OTHERS] += 1


@compiled
def _token_flags(text, at, start, classes, table, token):
    """Return the flags of a token, joined with the one before if both are one (z. B.)."""
    begin = token[BEGIN]
    flags = flags_of(table, hash_bytes(text, begin, at))
    if token[LETTERS] > 2 or token[DIGITS] > 0 or begin < start + 2 or text[begin - 1] != 32:
        return flags
    if text[begin - 2] != DOT:
        return flags
    before = begin - 2
    for _ in range(3):
        code, length = code_before(text, before, start)
        kind = class_of(classes, code)
        if not (is_letter(kind) or code == DOT):
            break
        before -= length
    joined = flags_of(table, hash_bytes(text, before, at))
    return joined if joined else flags


@compiled
def _spaces_before(text, at, start, classes):
    """Return the position before preceding spaces."""
    while at > start:
        code, length = code_before(text, at, start)
        if class_of(classes, code) != SPACE:
            break
        at -= length
    return at


@compiled
def _is_item_number(text, begin, start, classes, token):
    """Return whether a short number or letter numbers a list item: first, or after a colon."""
    if token[DOTS] > 0 or token[OTHERS] > 0 or token[LETTERS] + token[DIGITS] > 3:
        return False
    if token[LETTERS] > 1 or (token[LETTERS] > 0 and token[DIGITS] > 0):
        return False
    at = begin
    while at > start:
        code, length = code_before(text, at, start)
        kind = class_of(classes, code)
        if code == 0x3A or code == 0x3B:
            return at < begin
        if is_letter(kind) or kind == DIGIT or kind >= STOP or kind == COMMA:
            return False
        at -= length
    return True


@compiled
def _follows_number(text, begin, start, classes):
    """Return whether the preceding token ends in a digit."""
    code, _ = code_before(text, _spaces_before(text, begin, start, classes), start)
    return class_of(classes, code) == DIGIT


@compiled
def _is_ordinal(text, begin, start, stop, letter, kind, classes, table):
    """Return whether a number of one or two digits is an ordinal: 3. Oktober, 3. 10. 1990."""
    end = _spaces_before(text, begin, start, classes)
    if kind == DIGIT:
        if end > start + 1 and text[end - 1] == DOT and is_ascii_digit(text[end - 2]):
            return True
        end = letter
        while end < stop and end < letter + 3 and is_ascii_digit(text[end]):
            end += 1
        return end < letter + 3 and end < stop and text[end] == DOT
    if next_flags(text, letter, stop, classes, table) & ORDINAL:
        return True
    if end == begin:
        return False
    return _flags_before(text, end, start, classes, table) & BEFORE_ORDINAL != 0


@compiled
def _is_initials(token):
    """Return whether a token is a letter, or letters with periods between: J, U.S, e.g."""
    return (
        token[LETTERS] > 0
        and token[DOTS] == token[LETTERS] - 1
        and token[DIGITS] + token[OTHERS] + token[PAIRS] + token[AFTER_DASH] == 0
    )


@compiled
def _period_ends(text, start, at, stop, place, letter, kind, classes, table, token):
    """Return whether a single period ends a sentence, given that one can begin after it."""
    _read_token(text, start, at, classes, token)
    begin = token[BEGIN]
    if begin == at:
        return True
    flags = _token_flags(text, at, start, classes, table, token)
    if flags & NEVER_ENDS or _is_item_number(text, begin, start, classes, token):
        return False
    if flags & BEFORE_NUMBER and kind == DIGIT:
        return False
    if flags & ENDS:
        return True
    if flags & UNIT and _follows_number(text, begin, start, classes):
        return place == letter and not _has_inner_capital(text, letter, stop, classes)
    if flags & MAY_END or _is_initials(token):
        return next_flags(text, letter, stop, classes, table) & STARTER != 0
    others = token[LETTERS] + token[DOTS] + token[OTHERS] + token[AFTER_DASH]
    if token[DIGITS] > 0 and token[DIGITS] < 3 and others == 0:
        return not _is_ordinal(text, begin, start, stop, letter, kind, classes, table)
    return True


@compiled
def _particle_follows(text, at, stop, particles):
    """Return whether a particle follows that continues the sentence after a quotation."""
    for p in range(particles.shape[0]):
        length = np.int64(particles[p, 0])
        if at + length <= stop:
            same = True
            for k in range(length):
                same &= text[at + k] == particles[p, 1 + k]
            if same:
                return True
    return False


@compiled
def _flags_before(text, at, start, classes, table):
    """Return the flags of the word that ends at ``at``."""
    word = at
    while word > start:
        code, length = code_before(text, word, start)
        if not is_letter(class_of(classes, code)):
            break
        word -= length
    return flags_of(table, hash_bytes(text, word, at))


@compiled
def _boundary(text, start, at, end, stop, run, closers, classes, table, particles, token):
    """Return where the next sentence begins after the terminators at..end, or -1."""
    place = skip_spaces(text, end, stop, classes)
    if place >= stop:
        return -1
    code, _ = code_at(text, place, stop)
    kind = class_of(classes, code)
    if kind == COMMA or kind == CLOSE or kind == STRONG or kind == WIDE:
        return -1
    before, _ = code_before(text, at, start)
    before_kind = class_of(classes, before)
    if place == end and run != WIDE:
        unspaced = run == STRONG and kind == UNSPACED and before_kind == UNSPACED
        return place if unspaced else -1
    if (closers and before_kind == OPEN) or not has_letter(text, start, at, classes):
        return -1
    if run == WIDE:
        return -1 if closers and _particle_follows(text, place, stop, particles) else place
    letter, letter_kind = first_letter(text, place, stop, classes)
    if letter_kind == NONE and kind == QUOTE:
        return -1
    if letter_kind == LOWER and _is_address(text, letter, stop):
        letter_kind = NONE
    if letter_kind == LOWER and not _has_inner_capital(text, letter, stop, classes):
        if run == ELLIPSIS or closers:
            return -1
        bracket = code == 0x28
        ends = _ends_before_lowercase(text, start, at, stop, run, bracket, classes, table, token)
    elif run == STRONG and _flags_before(text, at, start, classes, table) & EXCLAIMS != 0:  # Yahoo!
        ends = next_flags(text, letter, stop, classes, table) & STARTER != 0
    elif run == STOP:
        ends = _period_ends(
            text, start, at, stop, place, letter, letter_kind, classes, table, token
        )
    else:
        ends = True
    return place if ends else -1


@compiled
def _is_address(text, at, stop):
    """Return whether an http:// or https:// address begins here."""
    if at + 8 > stop or text[at] != 0x68 or text[at + 1] != 0x74 or text[at + 2] != 0x74:
        return False
    return text[at + 3] == 0x70 and (text[at + 4] == 0x3A or text[at + 5] == 0x3A)


@compiled
def _has_inner_capital(text, letter, stop, classes):
    """Return whether the second letter is a capital, as in iPhone."""
    _, length = code_at(text, letter, stop)
    second, _ = code_at(text, letter + length, stop)
    return class_of(classes, second) == UPPER


@compiled
def _ends_before_lowercase(text, start, at, stop, run, bracket, classes, table, token):
    """Return whether a sentence ends although a lower-case letter follows.

    It does if it began with a lower-case letter itself, as in careless writing; else only
    after a token that is certainly a word and not an abbreviation.
    """
    first, first_kind = first_letter(text, start, at, classes)
    at = _spaces_before(text, at, start, classes)
    _read_token(text, start, at, classes, token)
    begin = token[BEGIN]
    flags = _token_flags(text, at, start, classes, table, token) & ABBREVIATIONS
    if flags or token[LETTERS] < 2 or token[DIGITS] + token[DOTS] + token[OTHERS] > 0:
        return False
    if first_kind == LOWER and (first != begin or token[LETTERS] > 3):
        return True
    code, _ = code_at(text, begin, at)
    if class_of(classes, code) != LOWER or first == begin:
        return False
    if run == STRONG:
        return True
    last = text[at - 1]
    vowel = last == 0x61 or last == 0x65 or last == 0x69 or last == 0x6F or last == 0x75
    return token[LETTERS] > 3 and (bracket or vowel or last == 0x79 or token[LETTERS] > 7)


@compiled
def find_sentences(text, paragraphs, leads, classes, table, particles, offsets):
    """Write the byte offsets of all sentences; return how many there are."""
    # text: uint8 (n_bytes,); paragraphs: int64 (n_paragraphs + 1,), byte offsets
    # leads: bool (256,), first bytes of terminators; classes: uint8 (0x20000,)
    # table: uint64 (capacity, 2), word hashes and flags; particles: uint8 (n_particles, 16)
    # offsets: int64 (n_bytes + 1,)
    token = np.zeros(8, dtype=np.int64)
    n_sentences = 0
    for p in range(paragraphs.shape[0] - 1):
        start, stop = paragraphs[p], paragraphs[p + 1]
        if start == stop:
            continue
        offsets[n_sentences] = start
        n_sentences += 1
        at = start
        while True:
            while at < stop and not leads[text[at]]:
                at += 1
            if at >= stop:
                break
            if text[at] < 128 and at + 1 < stop and is_ascii_word(text[at + 1]):
                at += 1  # 3.14, example.com
                continue
            code, length = code_at(text, at, stop)
            if class_of(classes, code) < STOP:
                at += length
                continue
            end, run, closers = end_of_run(text, start, at, stop, classes)
            found = _boundary(
                text, start, at, end, stop, run, closers, classes, table, particles, token
            )
            at = end
            if found >= 0:
                offsets[n_sentences] = found
                n_sentences += 1
                start = at = found
    offsets[n_sentences] = paragraphs[-1]
    return n_sentences
