"""Notes on how runs were scored are deduplicated."""

from embed.compare.scoring.notes import Note, gather_notes


def test_a_note_on_a_set_is_not_repeated_for_sections_or_own_items():
    found = [
        (run, "set", section, shared, "odd")
        for shared in (True, False)
        for section in (None, "part")
        for run in ("a", "b")
    ]

    assert gather_notes(found) == [Note(("a", "b"), "set", "odd")]


def test_notes_on_sections_and_own_items_name_them():
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
