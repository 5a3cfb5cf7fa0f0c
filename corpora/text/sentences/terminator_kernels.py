"""Where sentences may end: terminators in a row, and all that closes after them."""

from corpora.common.jit import compiled
from corpora.text.sentences.character_kernels import (
    STRAIGHT_QUOTE,
    class_of,
    code_at,
    is_ascii_digit,
    is_ascii_word,
    is_quiet,
    skip_spaces,
)
from corpora.text.sentences.rules import (
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
def _after_footnote(text, at, stop):
    """Skip a footnote mark such as [12]; stay when there is none."""
    if at >= stop or text[at] != 0x5B:
        return at
    end = at + 1
    while end < stop and end < at + 4 and is_ascii_digit(text[end]):
        end += 1
    if end > at + 1 and end < stop and text[end] == 0x5D:
        return end + 1
    return at


@compiled
def _after_emoticon(text, at, stop, classes):
    """Skip an emoticon such as :-) and the like; stay when there is none."""
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
def _is_odd(text, start, at):
    """Tell whether a straight quotation mark is open here."""
    odd = False
    for i in range(start, at):
        odd ^= text[i] == STRAIGHT_QUOTE
    return odd


@compiled
def _after_spaced(text, start, at, stop, classes):
    """Skip spaces and then what still belongs to the end before them; stay when nothing does."""
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
        return place if is_quiet(after) and kind != ELLIPSIS and after != STOP else at
    if code == STRAIGHT_QUOTE and after == SPACE and _is_odd(text, start, at):
        return place + length
    if kind == EMOJI:
        return place + length
    end = _after_emoticon(text, place, stop, classes)
    return end if end > place else at


@compiled
def _opens(code):
    """Quotation marks that open where scripts are written without spaces."""
    return code == 0x201C or code == 0x2018 or code == 0xAB or code == 0x2039


@compiled
def end_of_run(text, start, at, stop, classes):
    """Walk over terminators and all that closes; tell end, strongest kind, dots, and closers.

    A run is wide when it holds a wide terminator, else strong, else an ellipsis (or
    more than one stop), else a stop.
    """
    # text: uint8 (n_bytes,); classes: uint8 (0x20000,)
    wide, strong, dots, closers = False, False, 0, 0
    while at < stop:
        if text[at] == 32 and at + 1 < stop and is_ascii_word(text[at + 1]):
            break  # by far the most usual
        code, length = code_at(text, at, stop)
        kind = class_of(classes, code)
        if kind >= STOP:
            wide |= kind == WIDE
            strong |= kind == STRONG
            dots += 2 if kind == ELLIPSIS else 1
            at += length
        elif kind == CLOSE or (kind == QUOTE and not (wide and _opens(code))):
            closers += 1
            at += length
        elif kind == EMOJI or (kind == MARK and closers == 0):
            at += length
        else:
            end = _after_footnote(text, at, stop)
            if end == at:
                end = _after_spaced(text, start, at, stop, classes)
            if end == at:
                break
            at = end
    kind = WIDE if wide else STRONG if strong else ELLIPSIS if dots > 1 else STOP
    return at, kind, closers
