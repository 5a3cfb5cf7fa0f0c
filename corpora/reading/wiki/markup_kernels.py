"""One pass over wiki text that finds the few lines that may contain markup."""

import numpy as np

from firth.corpora.common.jit import compiled

TAG = 1  # <br>, </div>
ENTITY = 2  # &nbsp;
LINK = 4  # [[, ]], {{, }}, [http, ::::, __NOTOC__
GAP = 8  # ( ), (, , ] : where something was removed
CELL = 16  # rows and attributes of tables, file names of galleries
QUOTES = 32  # ''

# 1 for bytes that can be markup
SPECIAL = np.zeros(256, np.uint8)
SPECIAL[np.frombuffer(b"<&[]{}|!=#()_':", np.uint8)] = 1


@compiled
def flag_lines(text, start, special, starts, ends, kinds):
    """Write the bounds and the kind bits of lines that may contain markup.

    Returns how many lines were written, and where to resume when the outputs are full (n when
    done). ``start`` must be the start of a line; ``special`` is ``SPECIAL``.
    """
    # text: uint8 (n,); special: uint8 (256,); starts, ends: int64 (capacity,), line ends excluded
    # kinds: uint8 (capacity,)
    n = text.size
    found = 0
    line_end = start  # of the last line found
    i = start
    while i < n:
        if special[text[i]] == 0:
            i += 1
            continue
        kind = _classify(text, i)
        if kind == 255:  # a <doc ...> or </doc> line is not text
            while i < n and text[i] != 10:
                i += 1
            continue
        if kind:
            if i < line_end:
                kinds[found - 1] |= kind
            else:
                if found == starts.size:
                    return found, line_end
                begin = i
                while begin > line_end and text[begin - 1] != 10:
                    begin -= 1
                line_end = i
                while line_end < n and text[line_end] != 10:
                    line_end += 1
                starts[found], ends[found], kinds[found] = begin, line_end, kind
                found += 1
        i += 1
    return found, n


@compiled
def _classify(text, i):
    """Return the kind of markup that the special byte at ``i`` may be; 0 for none."""
    byte = text[i]
    if byte == 40 or byte == 41 or byte == 93:
        return _classify_gap(text, i, byte)
    if byte == 39:
        return QUOTES if _at(text, i + 1) == 39 else 0
    if byte == 60:
        return _classify_tag(text, i)
    if byte == 38:
        return _classify_entity(text, i)
    if byte == 91 or byte == 123 or byte == 125 or byte == 95 or byte == 58:
        return _classify_link(text, i, byte)
    return _classify_cell(text, i, byte)


@compiled
def _at(text, i):
    """Return the byte at ``i``, or a line end outside the text."""
    return text[i] if 0 <= i < text.size else np.uint8(10)


@compiled
def _is_letter(byte):
    """Return whether a byte is an ASCII letter."""
    return 97 <= byte | 32 <= 122


@compiled
def _begins_line(text, i):
    """Return whether only spaces precede ``i`` in its line."""
    i -= 1
    while i >= 0 and text[i] == 32:
        i -= 1
    return i < 0 or text[i] == 10


@compiled
def _classify_gap(text, i, byte):
    """Match ``(,`` ``( `` ``()`` ``;)`` `` )`` `` ]`` ``(]`` and ``]]``."""
    if byte == 40:
        after = _at(text, i + 1)
        gap = after == 32 or after == 41 or after == 44 or after == 59 or after == 93
        return GAP if gap else 0
    before = _at(text, i - 1)
    if byte == 41:
        return GAP if before == 32 or before == 44 or before == 59 or before == 93 else 0
    if _at(text, i + 1) == 93:
        return LINK
    return GAP if before == 32 or before == 40 or before == 44 or before == 59 else 0


@compiled
def _classify_tag(text, i):
    """Match ``<`` before a letter, ``/`` or ``!``; return 255 for ``<doc ...>`` and ``</doc>``."""
    after = _at(text, i + 1)
    if _at(text, i - 1) == 10:
        k = i + 2 if after == 47 else i + 1
        if _at(text, k) == 100 and _at(text, k + 1) == 111 and _at(text, k + 2) == 99:
            close = _at(text, k + 3)
            if close == 32 or close == 62:
                return 255
    return TAG if _is_letter(after) or after == 47 or after == 33 else 0


@compiled
def _classify_entity(text, i):
    """Match ``&``, a name or number, and ``;``."""
    k = i + 1
    if _at(text, k) == 35:
        k += 1
    first = k
    while k < first + 32:
        byte = _at(text, k)
        if not (_is_letter(byte) or 48 <= byte <= 57):
            break
        k += 1
    return ENTITY if k > first and _at(text, k) == 59 else 0


@compiled
def _classify_link(text, i, byte):
    """Match ``[[`` ``[ [`` ``[http`` ``[//`` ``{{`` ``}}`` ``{|`` ``-{`` ``__X`` ``::::`` File:."""
    after = _at(text, i + 1)
    if byte == 58:
        if after == 58:
            return LINK if _at(text, i + 2) == 58 and _at(text, i + 3) == 58 else 0
        file = _at(text, i - 1) == 101 and (_at(text, i - 2) == 108 or _at(text, i - 2) == 103)
        return CELL if file and (_begins_line(text, i - 4) or _begins_line(text, i - 5)) else 0
    if byte == 95:
        return LINK if after == 95 and 65 <= _at(text, i + 2) <= 90 else 0
    if byte == 123 and after == 124:
        return CELL
    if byte == 123 and _at(text, i - 1) == 45:
        return LINK
    if byte == 91 and after != 91:
        second = _at(text, i + 2)
        link = (after == 104 and second == 116) or (after == 102 and second == 116)
        link = link or (after == 47 and second == 47) or (after == 32 and second == 91)
        link = link or (after == 109 and second == 97)  # mailto:
        return LINK if link else 0
    return LINK if after == byte else 0


@compiled
def _classify_cell(text, i, byte):
    """Match ``|`` or ``!`` first in a line, ``|}``, ``thumb|``, ``="``, ``#if:``."""
    after = _at(text, i + 1)
    if byte == 61:
        return CELL if after == 34 else 0
    if byte == 35:
        condition = after == 105 and _at(text, i + 2) == 102
        return CELL if condition and (_at(text, i + 3) == 58 or _at(text, i + 3) == 101) else 0
    if byte == 124 and (after == 125 or (_at(text, i - 1) == 98 and _at(text, i - 2) == 109)):
        return CELL
    return CELL if _begins_line(text, i) else 0
