"""The places of tokens in their text."""

import pytest

from firth.corpora.store.spelling import align
from firth.corpora.text.segment import TextSettings

TEXT = "The  U.S.' İzmir\u00ad!"
TOKENS = ["the", "u", ".", "s", ".", "'", "izmir", "!"]
SPANS = [(0, 3), (5, 6), (6, 7), (7, 8), (8, 9), (9, 10), (11, 16), (17, 18)]


@pytest.mark.parametrize(
    ("tokens", "spans"),
    [
        pytest.param(TOKENS, SPANS, id="tokens"),
        pytest.param(["the", "", "", *TOKENS[3:]], SPANS, id="pruned types"),
        pytest.param(["a", *TOKENS[1:]], None, id="another word"),
        pytest.param(TOKENS[:-1], None, id="too few"),
        pytest.param([*TOKENS, "."], None, id="too many"),
    ],
)
def test_tokens_have_places_if_all_are_in_the_text(tokens, spans):
    assert align(TEXT, tokens, TextSettings()) == spans


def test_characters_take_their_marks_with_them():
    characters = TextSettings(segmenter="characters")
    assert align("u\u0308b 9", ["u\u0308", "b", "9"], characters) == [(0, 2), (2, 3), (4, 5)]
    assert align("", [], characters) == []
