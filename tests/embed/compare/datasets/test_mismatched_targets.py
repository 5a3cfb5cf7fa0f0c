"""Targets that begin otherwise than they are listed, in alphabets where that says something."""

import pytest

from embed.compare.datasets.mismatched_targets import mismatch_note


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("bed", "Beds"),
        ("I", "it"),  # as far as both go
        ("étude", "ETUDES"),
        ("Haus", "Häuser"),
        ("straße", "STRASSEN"),
        ("дом", "Дома"),
        ("tea-cup", "tea - cup"),
        ("to", "'to"),
    ],
)
def test_forms_that_begin_alike_are_not_told(word, target):
    assert mismatch_note([(1, word, target)]) is None


@pytest.mark.parametrize(
    ("word", "target"),
    [("לב", "הלב"), ("來", "去"), ("하다", "했다"), ("9/11", "ten"), ("ten", "--"), ("go", "去")],
)
def test_where_beginnings_say_nothing_nothing_is_told(word, target):
    assert mismatch_note([(1, word, target)]) is None


def test_how_many_differ_is_told_with_the_first_and_its_line():
    listed = [(3, "bed", "beds"), (5, "go", "went"), (5, "来", "去"), (6, "идти", "шёл")]

    assert mismatch_note(listed) == (
        "2 of 3 targets begin otherwise than the words listed, first 'went' for 'go' in line 5; "
        "forms may"
    )
    assert mismatch_note([]) is None
