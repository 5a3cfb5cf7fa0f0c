"""Joined words: spaces where the text had them."""

import pytest

from firth.corpora.text.joining import SpelledWords, join_words, joined_parts, spelled
from firth.corpora.text.segment import TextSettings


@pytest.mark.parametrize(
    "text",
    [
        "Don't stop: he said \"it's fine\" (yes), 3.5% of John's 1,000 $5 e-mails... ok?",
        "the 'old' mill’s “new” door — shut; a/b [x] naïve 1990-1999",
        "«où?» ¿qué? 50% of £7!",
        "我喜欢读书，你呢？好。",
        "the sea, the sea",
        "",
    ],
)
def test_text_is_as_it_was_before_it_was_split(text):
    assert join_words(TextSettings(keep_case=True).words(text)) == text


def test_a_word_beside_a_script_without_spaces_keeps_its_own():
    assert join_words(["the", "sea", "海", "岸", "is"]) == "the sea 海岸 is"


def test_words_of_treebanks_are_joined_as_text():
    words = ["``", "The", "cat", "'s", "mat", ",", "''", "he", "said", ";", "I", "'ll", "go", "."]
    assert join_words(words) == "``The cat's mat,'' he said; I'll go."


def test_words_know_their_places_in_the_joined_text():
    words = ["it", "'", "s", "(", "", "old", ")"]
    found = spelled(words)
    assert found == words
    assert [found.text[start:stop] for start, stop in found.spans] == words
    assert spelled(found) is found
    assert (spelled([]).text, spelled([]).spans) == ("", [])


def test_parts_of_a_text_are_joined_with_their_places():
    parts = [SpelledWords(["the", "cat"], " The  cat", [(1, 4), (6, 9)]), spelled(["!"])]
    found = joined_parts(parts, ["", " "])
    assert found == ["the", "cat", "!"]
    assert isinstance(found, SpelledWords)
    assert found.text == " The  cat !"
    assert found.spans == [(1, 4), (6, 9), (10, 11)]
    plain = joined_parts([*parts, ["a"]], ["", "", ""])
    assert plain == ["the", "cat", "!", "a"]
    assert not isinstance(plain, SpelledWords)


def test_a_long_list_of_words_is_joined_in_linear_time():
    assert len(join_words(["'", "t", "a", "."] * 20_000)) > 60_000
