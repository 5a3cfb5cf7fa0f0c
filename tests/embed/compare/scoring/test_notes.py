"""Remarks on how runs were scored: each once, where it stands."""

from embed.compare.scoring.notes import Note, gather_notes


def test_a_remark_on_a_set_is_not_said_again_of_its_parts_or_of_own_items():
    found = [
        (run, "set", section, shared, "odd")
        for shared in (True, False)
        for section in (None, "part")
        for run in ("a", "b")
    ]

    assert gather_notes(found) == [Note(("a", "b"), "set", "odd")]


def test_what_stands_elsewhere_only_names_its_place():
    found = [
        ("a", "set", None, False, "own"),
        ("a", "set", None, True, None),
        ("a", "set", "part", True, "here"),
        ("a", "other", None, True, "own"),
    ]

    assert gather_notes(found) == [
        Note(("a",), "set: part", "here"),
        Note(("a",), "other", "own"),
        Note(("a",), "set, on all items it covers", "own"),
    ]
