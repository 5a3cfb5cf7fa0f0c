"""Fast decimal parsing."""

import numpy as np

from firth.corpora.common.jit import compiled

# Clinger 1990, section 1: below 2**53 and up to these powers a single operation rounds correctly
_POWERS = 10.0 ** np.arange(23)
_EXACT = np.uint64(1) << np.uint64(53)
_NEARLY_FULL = np.uint64(10) ** np.uint64(18)
_LARGEST_EXPONENT = 100_000
_MALFORMED = 100 * _LARGEST_EXPONENT


@compiled
def parse_rows(buffer, spans, numbers, hard):
    """Parse lines of a word and D numbers; return (lines parsed, number of hard numbers).

    Stops at the first irregular line (wrong number of columns, ``nan``, not a number) and when
    ``hard`` is full. A hard number needs correct rounding by the caller: its row in ``hard`` is
    its start in ``buffer`` and its flat index in ``numbers``.
    """
    # buffer: uint8 (n_bytes,)
    # spans: int64 (n_lines, 2), start and stop of each word
    # numbers: float32 (n_lines, D); hard: int64 (capacity, 2)
    n_hard = 0
    position = 0
    dim = numbers.shape[1]
    for line in range(numbers.shape[0]):
        position = skip_spaces(buffer, position)
        spans[line, 0] = position
        while not is_gap(buffer[position]):
            position += 1
        spans[line, 1] = position
        if spans[line, 0] == position:
            return line, n_hard
        for column in range(dim):
            start = skip_spaces(buffer, position)
            position, exact, value = parse_number(buffer, start)
            if position == start:
                return line, n_hard
            if exact:
                numbers[line, column] = value
            elif n_hard < hard.shape[0]:
                hard[n_hard, 0] = start
                hard[n_hard, 1] = line * dim + column
                n_hard += 1
            else:
                return line, n_hard
        position = skip_spaces(buffer, position)
        if buffer[position] != 10:
            return line, n_hard
        position += 1
    return numbers.shape[0], n_hard


@compiled
def parse_number(buffer, position):
    """Parse a decimal number; return (end, is exact, value), with the start as end if none."""
    # buffer: uint8 (n_bytes,)
    start = position
    negative = buffer[position] == ord("-")
    if negative or buffer[position] == ord("+"):
        position += 1
    digits, n_digits, exponent, exact = np.uint64(0), 0, 0, True
    point = False
    while True:
        byte = buffer[position]
        if is_digit(byte):
            if digits < _NEARLY_FULL:
                digits = digits * np.uint64(10) + np.uint64(byte - ord("0"))
                exponent -= point
            else:
                exact = False
            n_digits += 1
        elif byte == ord(".") and not point:
            point = True
        else:
            break
        position += 1
    if n_digits > 0 and (buffer[position] | 32) == ord("e"):
        position, power = parse_exponent(buffer, position + 1)
        exponent += power
        n_digits = 0 if power == _MALFORMED else n_digits
    if n_digits == 0 or not is_gap(buffer[position]):
        return start, False, 0.0
    if not exact or digits > _EXACT or abs(exponent) > 22:
        return position, digits == 0 and exact, -0.0 if negative else 0.0
    value = np.float64(digits)
    value = value * _POWERS[exponent] if exponent >= 0 else value / _POWERS[-exponent]
    return position, True, -value if negative else value


@compiled
def parse_exponent(buffer, position):
    """Parse the digits after ``e``; return (end, value)."""
    # buffer: uint8 (n_bytes,)
    negative = buffer[position] == ord("-")
    if negative or buffer[position] == ord("+"):
        position += 1
    start, power = position, 0
    while is_digit(buffer[position]):
        if power < _LARGEST_EXPONENT:
            power = power * 10 + (buffer[position] - ord("0"))
        position += 1
    if position == start:
        return position, _MALFORMED
    return position, -power if negative else power


@compiled
def skip_spaces(buffer, position):
    """Skip spaces, tabs and carriage returns, but not a newline."""
    # buffer: uint8 (n_bytes,)
    while is_gap(buffer[position]) and buffer[position] != 10:
        position += 1
    return position


@compiled
def is_gap(byte):
    """Return whether a byte separates columns or lines."""
    return byte == 32 or byte == 10 or byte == 9 or byte == 13


@compiled
def is_digit(byte):
    """Return whether a byte is an ASCII digit."""
    return 48 <= byte <= 57
