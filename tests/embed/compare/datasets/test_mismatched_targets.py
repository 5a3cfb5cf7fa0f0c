"""Targets that start differently from the listed words, in suffixing scripts."""

import pytest

from firth.embed.compare.datasets.mismatched_targets import mismatch_note


@pytest.mark.parametrize(
    ("word", "target"),
    [
        ("bed", "Beds"),
        ("I", "it"),  # compared up to the shorter one
        ("étude", "ETUDES"),
        ("Haus", "Häuser"),
        ("straße", "STRASSEN"),
        ("дом", "Дома"),
        ("tea-cup", "tea - cup"),
        ("to", "'to"),
    ],
)
def test_forms_with_the_same_prefix_are_not_reported(word, target):
    assert mismatch_note([(1, word, target)]) is None


@pytest.mark.parametrize(
    ("word", "target"),
    [("לב", "הלב"), ("來", "去"), ("하다", "했다"), ("9/11", "ten"), ("ten", "--"), ("go", "去")],
)
def test_scripts_without_suffixing_are_not_reported(word, target):
    assert mismatch_note([(1, word, target)]) is None


def test_mismatches_are_counted_and_the_first_is_quoted():
    listed = [(3, "bed", "beds"), (5, "go", "went"), (5, "来", "去"), (6, "идти", "шёл")]

    assert mismatch_note(listed) == (
        "2 of 3 targets start differently from the listed words, first 'went' for 'go' in line 5; "
        "inflected forms may"
    )
    assert mismatch_note([]) is None
