"""Runs of sentence terminators, with the closing quotes and brackets after them."""

from firth.corpora.common.jit import compiled
from firth.corpora.text.sentences.character_kernels import (
    STRAIGHT_QUOTE,
    class_of,
    code_at,
    is_ascii_digit,
    is_ascii_word,
    is_not_alphanumeric,
    skip_spaces,
)
from firth.corpora.text.sentences.rules import (
    CLOSE,
    COMMA,
    ELLIPSIS,
    EMOJI,
    MARK,
    QUOTE,
    SPACE,
    STOP,
    STRONG,
    WIDE,
)


@compiled
def _skip_footnote(text, at, stop):
    """Skip a footnote mark such as [12], if there is one."""
    if at >= stop or text[at] != 0x5B:
        return at
    end = at + 1
    while end < stop and end < at + 4 and is_ascii_digit(text[end]):
        end += 1
    if end > at + 1 and end < stop and text[end] == 0x5D:
        return end + 1
    return at


@compiled
def _skip_emoticon(text, at, stop, classes):
    """Skip an emoticon such as :-), if there is one."""
    if at + 1 >= stop or not (text[at] == 0x3A or text[at] == 0x3B or text[at] == 0x3D):
        return at
    end = at + 1
    if text[end] == 0x2D:
        end += 1
    if end >= stop:
        return at
    mouth = text[end]
    if mouth == 0x29 or mouth == 0x28 or mouth == 0x44 or mouth == 0x50 or mouth == 0x70:
        code, _ = code_at(text, end + 1, stop)
        if class_of(classes, code) == SPACE:
            return end + 1
    return at


@compiled
def _inside_quotes(text, start, at):
    """Return whether a straight quotation mark is open at ``at``."""
    odd = False
    for i in range(start, at):
        odd ^= text[i] == STRAIGHT_QUOTE
    return odd


@compiled
def _skip_spaced_closers(text, start, at, stop, classes):
    """Skip spaces and the quote, terminator or emoticon after them that belongs to the sentence."""
    place = skip_spaces(text, at, stop, classes)
    if place == at or place >= stop:
        return at
    code, length = code_at(text, place, stop)
    kind = class_of(classes, code)
    following, _ = code_at(text, place + length, stop)
    after = class_of(classes, following)
    if code == 0xBB or code == 0x203A:
        return place + length if after == SPACE or after == COMMA or after >= STOP else at
    if kind >= STOP:
        return place if is_not_alphanumeric(after) and kind != ELLIPSIS and after != STOP else at
    if code == STRAIGHT_QUOTE and after == SPACE and _inside_quotes(text, start, at):
        return place + length
    if kind == EMOJI:
        return place + length
    end = _skip_emoticon(text, place, stop, classes)
    return end if end > place else at


@compiled
def _is_opening_quote(code):
    """Return whether a quotation mark is an opening one in scripts without spaces."""
    return code == 0x201C or code == 0x2018 or code == 0xAB or code == 0x2039


@compiled
def end_of_run(text, start, at, stop, classes):
    """Return end, kind and number of closers of the run of terminators at ``at``.

    The kind is WIDE if a wide terminator occurs, else STRONG, else ELLIPSIS (also for several
    periods), else STOP.
    """
    wide, strong, dots, closers = False, False, 0, 0
    while at < stop:
        if text[at] == 32 and at + 1 < stop and is_ascii_word(text[at + 1]):
            break  # by far the most frequent case
        code, length = code_at(text, at, stop)
        kind = class_of(classes, code)
        if kind >= STOP:
            wide |= kind == WIDE
            strong |= kind == STRONG
            dots += 2 if kind == ELLIPSIS else 1
            at += length
        elif kind == CLOSE or (kind == QUOTE and not (wide and _is_opening_quote(code))):
            closers += 1
            at += length
        elif kind == EMOJI or (kind == MARK and closers == 0):
            at += length
        else:
            end = _skip_footnote(text, at, stop)
            if end == at:
                end = _skip_spaced_closers(text, start, at, stop, classes)
            if end == at:
                break
            at = end
    kind = WIDE if wide else STRONG if strong else ELLIPSIS if dots > 1 else STOP
    return at, kind, closers
