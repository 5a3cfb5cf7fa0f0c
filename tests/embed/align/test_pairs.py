"""Pairs: shared words, dictionaries, and what is held out."""

import gzip

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.align.pairs import Pairs, hold_out, read_dictionary, shared_pairs
from tests.embed.align.planted_spaces import space

A = space(["der", "hund", "katze", "leer"], [[1, 0], [0, 1], [1, 1], [0, 0]], "A")
B = space(["cat", "dog", "the", "der", "leer"], np.ones((5, 2)), "B")


def named(pairs):
    """Return pairs as words."""
    return [(A.vocabulary[a], B.vocabulary[b]) for a, b in zip(pairs.a, pairs.b, strict=True)]


def test_shared_words_need_a_direction_in_both():
    assert named(shared_pairs(A, B, None)) == [("der", "der")]


def test_the_most_frequent_shared_words_are_so_in_both_spaces():
    one = space(["a", "b", "c", "d"], np.ones((4, 2)), "one")
    two = space(["d", "c", "b", "x", "a"], np.ones((5, 2)), "two")
    pairs = shared_pairs(one, two, 2)
    assert [one.vocabulary[row] for row in pairs.a] == ["b", "c"]  # ranks 1, 2 and 2, 1


def test_a_dictionary_is_read_and_what_is_dropped_counted(tmp_path):
    file = tmp_path / "de-en.txt"
    file.write_text(
        "hund dog\nHund\tdog\nkatze  cat\r\n\nkatze dog\nvogel bird\nhund bird\nleer leer\n"
        "der the\n"
    )
    pairs, counts = read_dictionary(file, A, B)
    assert named(pairs) == [("hund", "dog"), ("katze", "cat"), ("katze", "dog"), ("der", "the")]
    found = counts.lines, counts.pairs, counts.repeated, counts.unknown_a, counts.unknown_b
    assert found == (8, 4, 1, 2, 1)  # Hund is hund; leer is zero in A


FORM = "is not a word and its partner, separated by a tab or a space; correct it"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", ": contains no pairs of words"),
        ("hund dog\nkatze\n", f":2: 'katze' {FORM}"),
        ("hund\tdog\tcat\n", f":1: 'hund\\tdog\\tcat' {FORM}"),
        (
            "dog hund\n",
            (
                ": no line has a word of A and then one of B; exchange the columns, or pass other "
                "vectors"
            ),
        ),
        ("k\xf6nig king", ":1: byte 0xF6 is not UTF-8; convert the file to UTF-8"),
    ],
    ids=["empty", "one word", "three words", "exchanged", "latin-1"],
)
def test_dictionaries_that_cannot_be_used(tmp_path, content, message):
    file = tmp_path / "pairs.txt"
    file.write_text(content, encoding="latin-1")
    with pytest.raises((SettingError, SourceError)) as caught:
        read_dictionary(file, A, B)
    assert str(caught.value) == f"{file}{message}"


def many_pairs():
    """Return 100 words with two partners each, half of them beyond row 100."""
    return Pairs(np.repeat(np.arange(100), 2), np.arange(200))


@pytest.mark.parametrize(("held_out", "n_words"), [(0.2, 10), (7, 7), (0, 0)])
def test_no_held_out_word_is_mapped_by(held_out, n_words):
    used, tested = hold_out(many_pairs(), held_out, 100, seed=1)
    assert len(np.unique(tested.a)) == n_words  # a share of the 50 words among the first 100 rows
    assert not set(used.a) & set(tested.a)
    assert len(used) + len(tested) == 200
    assert (tested.b < 100).all()


def test_what_is_held_out_depends_on_the_seed_only():
    first, again, other = (hold_out(many_pairs(), 7, 100, seed)[1].a.tolist() for seed in (1, 1, 2))
    assert first == again != other


def test_holding_out_everything_is_refused():
    with pytest.raises(SettingError) as caught:
        hold_out(many_pairs(), 51, 100, seed=1)
    assert str(caught.value) == (
        "`held_out=51` is too much: 100 of A have partners, 50 of them among those that are "
        "searched, and at least one must be left to map by"
    )


def test_a_dictionary_is_read_in_utf_16_and_compressed(tmp_path):
    text = "hund dog\nkatze cat\n"
    (tmp_path / "wide.txt").write_bytes(text.encode("utf-16"))
    (tmp_path / "small.gz").write_bytes(gzip.compress(text.encode()))
    plain = tmp_path / "plain.txt"
    plain.write_text(text)
    expected = read_dictionary(plain, A, B)[0]
    for name in ("wide.txt", "small.gz"):
        read = read_dictionary(tmp_path / name, A, B)[0]
        assert (read.a.tolist(), read.b.tolist()) == (expected.a.tolist(), expected.b.tolist())
