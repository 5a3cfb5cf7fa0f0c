"""vocabulary.tsv: round trips, lookup in the raw bytes, damage."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import ArtifactError
from firth.corpora.text.spelling import encode_words
from firth.embed.vectors import wordlist
from firth.embed.vectors.wordlist import (
    StoredVocabulary,
    escape,
    index_words,
    unescape,
    write_words,
)

any_word = st.text(st.characters(exclude_categories=["Cs"]))
hard_word = st.text("\\tnr\t\n\r a", max_size=6)


@given(st.one_of(any_word, hard_word))
def test_escaped_words_read_back_and_fit_one_cell(word):
    assert unescape(escape(word)) == word
    assert not set(escape(word)) & set("\t\n\r")


@given(
    words=st.lists(st.one_of(any_word, hard_word), min_size=1, max_size=30, unique=True),
    counted=st.booleans(),
)
def test_a_stored_vocabulary_is_the_list_it_was_written_from(tmp_path_factory, words, counted):
    path = tmp_path_factory.mktemp("words") / "vocabulary.tsv"
    counts = np.arange(len(words))[::-1] * 3 if counted else None
    write_words(path, words, counts)
    stored = StoredVocabulary(path)
    assert stored == words
    assert repr(stored) == f"<{len(words)} words of {path}>"
    assert len(stored) == len(words)
    assert [stored[row] for row in range(len(words))] == words
    assert stored[-1] == words[-1]
    assert stored[:2] == words[:2]
    assert [stored.row(word) for word in words] == list(range(len(words)))  # bytes, then index
    found = stored.counts()
    assert found is None if counts is None else np.array_equal(found, counts)
    buffer, starts, ends = stored.encoded()
    cells = [buffer[a:b].tobytes().decode() for a, b in zip(starts, ends, strict=True)]
    assert cells == [escape(word) for word in words]


@pytest.mark.parametrize("counts", [None, [5, 4, 3, 2, 1]], ids=["words", "counted"])
def test_words_of_the_same_hash_are_told_apart(tmp_path, monkeypatch, counts):
    monkeypatch.setattr(wordlist, "hash", len, raising=False)
    monkeypatch.setattr(wordlist, "_SEARCHES_BEFORE_INDEX", 0)
    words = ["an", "of", "to", "the", "in"]
    write_words(tmp_path / "vocabulary.tsv", words, counts)
    stored = StoredVocabulary(tmp_path / "vocabulary.tsv")
    assert [stored.row(word) for word in [*words, "it", "", "thee"]] == [*range(5), *[None] * 3]


@pytest.mark.parametrize("searches", [0, 30])
def test_only_whole_words_are_found(tmp_path, searches):
    path = tmp_path / "vocabulary.tsv"
    write_words(path, ["the", "he", "th", "a\tb"], [9, 8, 7, 8])
    stored = StoredVocabulary(path)
    for _ in range(searches):
        stored.row("the")
    rows = [stored.row(word) for word in ("the", "he", "th", "a\tb", "t", "e", "8", "a", "\ud800")]
    assert rows == [0, 1, 2, 3, None, None, None, None, None]
    assert "he" in stored
    assert "she" not in stored
    assert 8 not in stored


def test_words_in_memory_are_encoded_as_bytes_too():
    buffer, starts, ends = encode_words(["né", "", "x"])
    encoded = [buffer[a:b].tobytes() for a, b in zip(starts, ends, strict=True)]
    assert encoded == ["né".encode(), b"", b"x"]
    assert index_words(["a", "b", "a", "b"]) == {"a": 0, "b": 1}


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (None, "{path}: no such file; is {run} a finished run?"),
        (b"", "{path}: is empty or not a regular file; train the run again"),
        (b"a\t1\nb\t", "{path}: the last line is cut off; train the run again"),
        (b"a\t1\nb\tx\n", "{path}:2: the count is not a number"),
    ],
    ids=["none", "empty", "cut", "count"],
)
def test_a_damaged_vocabulary_is_refused(tmp_path, content, message):
    path = tmp_path / "vocabulary.tsv"
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(ArtifactError) as refusal:
        StoredVocabulary(path).counts()
    assert str(refusal.value) == message.format(path=path, run=tmp_path)
