"""Joined words: spaces where the text had them."""

import pytest

from firth.corpora.text.joining import join_words
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
