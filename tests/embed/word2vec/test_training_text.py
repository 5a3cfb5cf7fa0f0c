"""The text to train on: the view of a corpus, or with a vocabulary grown from earlier vectors."""

import itertools
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.corpora.common.errors import SettingError
from firth.corpora.text.segment import TextSettings
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec import training_text
from firth.embed.word2vec.config import SkipGramConfig
from tests.embed.word2vec.word2vec_cases import corpus_of

LINES = [
    "the cat sat on the mat .",
    "the dog sat",
    "a cat , a dog , a mat .",
    "",
    "the cat and the dog",
    "of all the words the rare ones are many",
]
CHOICES = {"min_count": 2, "max_vocabulary": None, "punctuation": "drop", "boundary": "paragraph"}
WORDS = st.sampled_from(["a", "b", "c", "d", ".", "é", "z", "𝄞"])


def vectors_of(words, counts=None, **about):
    """Return vectors of these words."""
    matrix = np.ones((len(words), 2), np.float32)
    return WordVectors(words, matrix, counts=counts and np.array(counts), **about)


def texts_of(words, shards):
    """Return the units of shards as words."""
    return [
        [words[row] for row in rows[start:stop]]
        for rows, offsets, *_ in shards
        for start, stop in itertools.pairwise(offsets.tolist())
    ]


def open_text(corpus, init=None, **choices):
    """Open the text with some options changed."""
    return training_text.open_text(corpus, SkipGramConfig(**{**CHOICES, **choices}), init)


def test_without_initial_vectors_the_text_is_the_view(tmp_path):
    corpus = corpus_of(tmp_path, LINES)

    text = open_text(corpus)

    view = corpus.view(**CHOICES)
    assert text.words == view.words
    assert np.array_equal(text.counts, view.counts)
    assert text.n_tokens == view.n_tokens == text.counts.sum()
    assert texts_of(text.words, text.shards()) == texts_of(view.words, view.shards())


def test_held_out_documents_use_the_same_rows_and_are_not_trained_on(tmp_path):
    lines = [f"{line} w{number}" for number, line in enumerate(LINES * 20)]
    corpus = corpus_of(tmp_path, lines, held_out=0.3)
    text = open_text(corpus, boundary="document")

    trained = texts_of(text.words, text.shards())
    held_out = texts_of(text.words, text.held_out_shards())

    known = set(text.words)
    every = [[word for word in line.split() if word in known] for line in lines]
    assert Counter(map(tuple, trained + held_out)) == Counter(tuple(line) for line in every if line)
    assert 0 < len(held_out) < len(trained)
    assert text.n_tokens == sum(map(len, trained))
    assert text.counts.tolist() == [sum(p.count(word) for p in trained) for word in text.words]


def test_a_corpus_without_a_held_out_slice_gives_no_held_out_shards(tmp_path):
    assert list(open_text(corpus_of(tmp_path, LINES)).held_out_shards()) == []


def test_a_grown_vocabulary_worked_by_hand(tmp_path):
    corpus = corpus_of(tmp_path, ["new old new", "new rare .", "old . ."])
    init = vectors_of(["old", "gone", "rare", "."], [10, 3, 1, 1])

    text = open_text(corpus, init)

    # the new text has old 2, rare 1, . 3, new 3, gone 0 times
    assert text.words == ["old", ".", "gone", "new", "rare"]
    assert text.counts.tolist() == [12, 4, 3, 3, 2]
    assert text.n_tokens == 9
    assert texts_of(text.words, text.shards()) == [
        ["new", "old", "new"], ["new", "rare", "."], ["old", ".", "."],
    ]  # fmt: skip


def test_ties_keep_the_order_of_a_file_without_counts(tmp_path):
    corpus = corpus_of(tmp_path, ["new old new", "b a"])
    text = open_text(corpus, vectors_of(["z", "y", "b", "a", "old"]))
    assert text.words == ["new", "b", "a", "old", "z", "y"]
    assert text.counts.tolist() == [2, 1, 1, 1, 0, 0]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    st.lists(st.lists(WORDS, max_size=6), min_size=1, max_size=12),
    st.dictionaries(WORDS | st.sampled_from(["lost", "gone"]), st.integers(0, 5), min_size=1),
    st.integers(1, 3),
    st.none() | st.integers(0, 4),
    st.sampled_from(["keep", "drop"]),
)
def test_a_grown_vocabulary_matches_the_definition(
    tmp_path_factory, parts, old, min_count, more, punctuation
):
    tmp_path = tmp_path_factory.mktemp("grown")
    parts = [*parts, ["a", "b"]]
    limit = None if more is None else len(old) + more
    corpus = corpus_of(tmp_path, [" ".join(part) for part in parts])
    init = vectors_of(list(old), list(old.values()))
    new = Counter(word for part in parts for word in part)
    join = [
        word
        for word in sorted(new, key=lambda word: (-new[word], word))
        if word not in old and new[word] >= min_count and (word != "." or punctuation == "keep")
    ][:more]
    counts = {word: old.get(word, 0) + new[word] for word in [*old, *join]}
    words = sorted(counts, key=lambda word: (-counts[word], word))
    options = {"min_count": min_count, "max_vocabulary": limit, "punctuation": punctuation}
    if not any(new[word] for word in words):
        with pytest.raises(SettingError, match=r"pass a smaller `min_count`$"):
            open_text(corpus, init, **options)
        return

    text = open_text(corpus, init, **options)

    assert text.words == words
    assert text.counts.tolist() == [counts[word] for word in words]
    assert text.n_tokens == sum(new[word] for word in words)
    assert texts_of(text.words, text.shards()) == [
        left for part in parts if (left := [word for word in part if word in counts])
    ]


def test_shards_of_a_grown_text_add_up_to_the_whole(tmp_path):
    rng = np.random.default_rng(3)
    lines = [" ".join(f"w{n}" for n in rng.zipf(1.5, 9) % 50) for _ in range(300)]
    init = vectors_of(["w1", "lost", "w2", "."], [5, 4, 3, 2])
    one = open_text(corpus_of(tmp_path, lines, name="one"), init)
    sizes = {"shard_tokens": 400, "block_bytes": 500}
    many = open_text(corpus_of(tmp_path, lines, name="many", sizes=sizes), init)

    shards = list(many.shards())

    assert len(shards) > 3
    assert all(
        rows.dtype == np.int32 and offsets.dtype == np.int64 and offsets[-1] == len(rows)
        and (np.diff(offsets) > 0).all()
        for rows, offsets in shards
    )  # fmt: skip
    assert many.words == one.words
    assert texts_of(many.words, shards) == texts_of(one.words, one.shards())


def test_pruned_types_are_not_mistaken_for_an_empty_word(tmp_path):
    corpus = corpus_of(tmp_path, ["one one two two three four"], max_types=2)
    text = open_text(corpus, vectors_of(["", "one"], [5, 1]))
    assert text.words == ["", "one", "two"]
    assert (text.counts.tolist(), text.n_tokens) == ([5, 3, 2], 4)


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({}, ""),
        ({"text": None}, ""),
        ({"text": TextSettings()}, ""),
        (
            {"text": TextSettings(keep_case=True, segmenter="whitespace")},
            (
                "x: its text settings differ from those of {corpus} (keep_case True, here False; "
                "segmenter whitespace, here words); words are matched by spelling\n"
            ),
        ),
    ],
    ids=["unnamed", "unknown", "same", "other"],
)
def test_other_text_settings_give_a_note(tmp_path, capsys, settings, message):
    corpus = corpus_of(tmp_path, LINES)
    text = open_text(corpus, vectors_of(["the", "The"], name="x", **settings))
    assert {"the", "The"} <= set(text.words)
    note, _, count = capsys.readouterr().err.rpartition("1 of the 6 words")
    assert (note, count) == (message.format(corpus=corpus.path), " of the text start from x\n")


def test_vectors_of_hardly_any_word_of_the_text_are_told(tmp_path, capsys):
    open_text(corpus_of(tmp_path, LINES), vectors_of(["The", "Cat"], name="x"))
    assert capsys.readouterr().err == (
        "0 of the 6 words of the text start from x; languages or spellings may differ "
        "(capitals, prefixes, NFD, _ for spaces)\n"
    )


def test_a_text_without_any_of_the_words_is_refused(tmp_path):
    corpus = corpus_of(tmp_path, LINES)
    with pytest.raises(SettingError) as refusal:
        open_text(corpus, vectors_of(["other"], name="old"), min_count=100)
    assert str(refusal.value) == (
        f"{corpus.path}: has no word of old, and no word occurs 100 times or more; pass a smaller "
        "`min_count`"
    )
