"""The fast number parser against Python's own."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.formats.number_kernels import parse_rows
from firth.embed.formats.text import parse_lines

odd_number = st.from_regex(r"[+-]?[0-9]{0,25}\.?[0-9]{0,25}([eE][+-]?[0-9]{0,3})?", fullmatch=True)
plain_number = st.floats(allow_nan=False, allow_infinity=False).map(repr)
short_number = st.floats(width=32, allow_nan=False, allow_infinity=False).map("{:.9g}".format)


def is_float(text):
    """Return whether Python parses the text as a float."""
    try:
        float(text)
    except ValueError:
        return False
    return True


def parse(text, n, dim):
    """Return the number of lines parsed, the words, the numbers and the hard tokens' positions."""
    buffer = np.frombuffer(text.encode(), np.uint8)
    spans, numbers = np.zeros((n, 2), np.int64), np.zeros((n, dim), np.float32)
    hard = np.zeros((n * dim, 2), np.int64)
    done, n_hard = parse_rows(buffer, spans, numbers, hard)
    words = [text.encode()[start:stop].decode() for start, stop in spans[:done]]
    return done, words, numbers, hard[:n_hard]


@given(st.lists(st.one_of(plain_number, short_number), min_size=3, max_size=3))
def test_numbers_equal_those_of_python(tokens):
    done, words, numbers, hard = parse(f" wörd  {tokens[0]} {tokens[1]}\t{tokens[2]} \r\n", 1, 3)
    assert (done, words) == (1, ["wörd"])
    skipped = set(hard[:, 1].tolist())
    for column, token in enumerate(tokens):
        if column not in skipped:
            with np.errstate(over="ignore"):
                expected = np.float32(float(token))
            assert numbers[0, column].tobytes() == expected.tobytes()


@given(odd_number)
def test_a_token_is_a_number_exactly_if_python_parses_it(token):
    done, _, numbers, hard = parse(f"w {token} 1\n", 1, 2)
    assert done == is_float(token)
    if done and not len(hard):
        assert numbers[0, 0] == np.float32(float(token))


@pytest.mark.parametrize(
    "line",
    [
        "w 1\n",
        "w 1 2 3\n",
        "w 1 x\n",
        "w 1 nan\n",
        "w 1 2_0\n",
        "\n",
        "w\n",
        "w 1- 2\n",
        "w e1 2\n",
        "w 1e 2\n",
    ],
)
def test_the_kernel_stops_at_an_irregular_line(line):
    done, words, numbers, _ = parse("a 1 2\n" + line + "b 3 4\n", 3, 2)
    assert (done, words) == (1, ["a"])
    assert numbers[0].tolist() == [1, 2]


def test_the_kernel_stops_when_hard_is_full():
    buffer = np.frombuffer(b"a 1e-30\nb 1e-30\n", np.uint8)
    spans, numbers = np.zeros((2, 2), np.int64), np.zeros((2, 1), np.float32)
    assert parse_rows(buffer, spans, numbers, np.zeros((1, 2), np.int64)) == (1, 1)


@given(
    st.lists(st.lists(st.one_of(plain_number, short_number), min_size=2, max_size=2), min_size=1)
)
def test_the_fast_and_the_slow_path_agree(rows):
    with np.errstate(over="ignore"):
        rows = [
            row for row in rows if np.isfinite(np.array(row, np.float64).astype(np.float32)).all()
        ]
    rows.append(["1", "2.5"])
    chunk = "".join(f"w{n} {' '.join(row)}\n" for n, row in enumerate(rows)).encode()
    slow = parse_lines(chunk, 2, 1, "x")
    fast = parse_lines(chunk, 2, 1, "x", kernel_bytes=0)
    assert fast[0] == slow[0]
    assert fast[1].tobytes() == slow[1].tobytes()


def test_the_fast_path_leaves_irregular_lines_to_the_slow_path():
    words, numbers = parse_lines(b"a b 1 2\nc 1e-30 4\n", 2, 1, "x", kernel_bytes=0)
    assert words == [b"a b", b"c"]
    assert numbers.tolist() == np.array([[1, 2], [1e-30, 4]], np.float32).tolist()
