"""Close spellings against the definition of the edit distance."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.text.spelling import FoldedWords, close_spellings, edit_distances

letters = st.text("abc", max_size=6).map(str.encode)


def naive_distance(a, b):
    """Optimal string alignment, by the recursive definition."""
    if not a or not b:
        return len(a) + len(b)
    best = min(
        naive_distance(a[:-1], b) + 1,
        naive_distance(a, b[:-1]) + 1,
        naive_distance(a[:-1], b[:-1]) + (a[-1] != b[-1]),
    )
    if len(a) > 1 and len(b) > 1 and a[-2:] == b[-2:][::-1]:
        best = min(best, naive_distance(a[:-2], b[:-2]) + 1)
    return best


@pytest.mark.slow
@given(target=letters.filter(bool), words=st.lists(letters, min_size=1, max_size=8))
def test_distances_match_the_definition(target, words):
    chars = np.full((6, len(words)), ord("b"), np.uint8)  # noise behind the ends
    for column, word in enumerate(words):
        chars[: len(word), column] = list(word)
    found = edit_distances(target, chars, np.array([len(word) for word in words]))
    assert found.tolist() == [naive_distance(target, word) for word in words]


def test_suggestions_are_ordered_by_distance_then_frequency():
    words = ["sing", "ring", "king", "kings", "kin", "zebra"]
    assert close_spellings("kign", words) == ["king", "kin", "sing"]
    assert close_spellings("kinq", words, n=9) == ["king", "kin", "sing", "ring", "kings"]


def test_letters_of_other_scripts_count_as_letters():
    assert close_spellings("мсква", ["москва", "zebra"]) == ["москва"]
    assert close_spellings("図書菅", ["図書館"]) == ["図書館"]


def test_without_close_words_there_are_no_suggestions():
    assert close_spellings("xylophone", ["king", "queen"]) == []
    assert close_spellings("", ["king"]) == []
    assert close_spellings("a" * 1000, ["king"]) == []
    assert close_spellings("king", []) == []


def test_single_characters_have_no_suggestions():
    assert close_spellings("詩", ["诗", "让", "踩"]) == []


def test_case_and_spaces_are_no_distance():
    words = ["New_York", "news", "a"]
    assert close_spellings("new yrok", words) == ["New_York"]
    assert close_spellings("NEW YORK", words) == ["New_York"]


def test_other_spellings_share_their_folded_form():
    words = ["a\nb", "New_York", "new york", "Straße", "ŉ", "_", "é"]
    folded = FoldedWords(words)
    queries = ["NEW  YORK", " new\u00a0york ", "STRASSE", "ŉ", "e\u0301", "É", "york", "", " ", "_"]
    assert [folded.row(text) for text in queries] == [1, 1, 3, 4, 6, 6, None, None, None, 5]
    assert FoldedWords([]).row("a") is None


def test_typographic_apostrophes_and_hyphens_are_those_of_a_keyboard():
    folded = FoldedWords(["don't", "co\u2010op", "rock\u2019n\u2019roll"])
    assert [folded.row(word) for word in ("Don\u2019t", "co-op", "rock'n'roll")] == [0, 1, 2]
