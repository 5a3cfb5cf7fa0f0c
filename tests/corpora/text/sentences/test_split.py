"""Sentence splitting: hand-marked cases, a naive splitter, and invariants."""

from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.text.sentences.rules import word_flags
from firth.corpora.text.sentences.split import sentence_offsets, split_sentences
from tests.corpora.text.sentences.naive_splitter import naive_split
from tests.corpora.text.sentences.sentence_cases import CASES

MARKED = {language: lines.strip().split("\n") for language, lines in CASES.items()}
LINES = [line.replace("¶", "") for lines in MARKED.values() for line in lines]
# Tokens that the rules look at, which random text would rarely contain.
WORDS_AND_MARKS = """
. .. ... … ! ? ?! 。 ！ । ؟ ։ " ' “ ” ‘ ’ « » ( ) [ ] [3] [12] 「 」 “ : ; , 、 - – :) ;-) 😀
z B Mr U.S e.g p.m i.e J R I A No Nr Fig The He he the and Oktober am die 5 12 3. 1990 2.
т е г д Он ул Yahoo https://x iPhone almost wordfor ab É é א ა Ა ஆ क डॉ し と って 好 한 ́ L'
O' El-Din EE UU v Chr a.k.a etc т.д &
"""
PIECES = [
    *WORDS_AND_MARKS.split(),
    *("\n", "\u00a0", "\u3000", "\u200d", "\t", "\U0001d400"),
]
SOUP = st.lists(
    st.tuples(st.sampled_from(PIECES), st.sampled_from(["", " ", " ", "  "])), max_size=30
).map(lambda parts: "".join(piece + space for piece, space in parts))
ANY_TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=60)


def offsets_of(text: str, paragraphs: list[int]) -> list[int]:
    """Return the sentence offsets of a text with the given paragraphs."""
    buffer = np.frombuffer(text.encode(), dtype=np.uint8)
    return sentence_offsets(buffer, np.array(paragraphs, dtype=np.int64)).tolist()


@pytest.mark.slow
@pytest.mark.parametrize("language", MARKED)
def test_sentences_begin_where_marked(language):
    lines = [marked.replace("¶", "") for marked in MARKED[language]]
    assert ["¶".join(split_sentences(line)) for line in lines] == MARKED[language]
    assert ["¶".join(naive_split(line)) for line in lines] == MARKED[language]


@given(SOUP)
def test_the_kernel_equals_the_naive_splitter_on_random_tokens(text):
    assert split_sentences(text) == naive_split(text)


@given(ANY_TEXT)
def test_the_kernel_equals_the_naive_splitter_on_any_text(text):
    assert split_sentences(text) == naive_split(text)


@given(st.lists(st.sampled_from(LINES)))
def test_the_kernel_equals_the_naive_splitter_on_mixed_languages(lines):
    text = " ".join(lines)
    assert split_sentences(text) == naive_split(text)


@pytest.mark.slow
def test_the_kernel_finds_every_listed_word():
    missed = []
    for word in word_flags():
        text = f"Xy 5 {word}. 7 z. Xyz {word}. Xyz. {word} a {word}. The 2. {word}! Xy {word} 2. X."
        if split_sentences(text) != naive_split(text):
            missed.append(word)
    assert missed == []


@given(SOUP | ANY_TEXT, st.lists(st.floats(0, 1), max_size=5))
def test_offsets_ascend_and_respect_paragraphs_and_characters(text, cuts):
    starts = sorted({0, *(round(cut * len(text)) for cut in cuts), len(text)})
    paragraphs = [len(text[:start].encode()) for start in starts]

    offsets = offsets_of(text, paragraphs)

    assert all(a < b for a, b in pairwise(offsets))
    assert set(paragraphs) <= set(offsets)
    encoded = text.encode()
    pieces = [encoded[a:b].decode() for a, b in pairwise(offsets)]
    assert "".join(pieces) == text


@given(SOUP, SOUP)
def test_paragraphs_are_independent(first, second):
    cut, end = len(first.encode()), len((first + second).encode())
    alone = offsets_of(first, [0, cut])[:-1] + [cut + o for o in offsets_of(second, [0, end - cut])]
    assert offsets_of(first + second, [0, cut, end]) == sorted(set(alone))


def test_empty_text_has_no_sentences_and_empty_paragraphs_are_skipped():
    assert offsets_of("", [0, 0]) == [0]
    assert split_sentences("") == []
    assert offsets_of("A. B", [0, 0, 0, 4, 4]) == [0, 4]
    assert split_sentences("One.\n\nTwo. Three.") == ["One.\n", "\n", "Two. ", "Three."]


def test_trailing_spaces_belong_to_the_preceding_sentence():
    assert split_sentences("It is so.  \u00a0 Then not.  ") == ["It is so.  \u00a0 ", "Then not.  "]


def test_invalid_utf8_does_not_crash():
    buffer = np.frombuffer(b". \xe3\x80\x80\xbf\xff. \xf0", dtype=np.uint8)  # read-only, like text
    offsets = sentence_offsets(buffer, np.array([0, 10]))
    assert offsets[0] == 0
    assert offsets[-1] == 10
