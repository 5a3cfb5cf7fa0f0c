"""Joins by name: a note says when they cover hardly a word."""

import numpy as np
import pytest

import firth
from firth import (
    AlignConfig,
    CompareConfig,
    WordVectors,
    align_vectors,
    compare,
    differ,
    refine_vectors,
)
from firth.embed.change.words import word_changes
from firth.embed.formats.vector_files import write_vectors
from tests.calls import command

CAUSE = "; languages or spellings may differ (capitals, prefixes, NFD, _ for spaces)"
WORDS = [f"w{n}" for n in range(40)]


def vectors(words, name):
    return WordVectors(words, np.random.default_rng(1).normal(size=(len(words), 2)), name=name)


def few(form):
    """Return words of which three are spelled alike."""
    return WORDS[:3] + [form.format(word) for word in WORDS[3:]]


@pytest.mark.parametrize(
    "join",
    [
        lambda a, b: align_vectors(a, b, AlignConfig(held_out=0)),
        lambda a, b: word_changes(a, b),
        lambda a, b: differ(a, b, k=1, permutations=0),
    ],
    ids=["align", "change", "differ"],
)
@pytest.mark.parametrize("form", ["/c/en/{}", "{}_NOUN", "{}\u0301"], ids=["prefix", "tag", "NFD"])
def test_two_vocabularies_with_few_words_in_common_give_a_note(join, form, capsys):
    with firth.show_progress():
        join(vectors(WORDS, "a"), vectors([*few(form), "more"], "b"))
    assert f"3 of the 40 words of a are in b{CAUSE}\n" in capsys.readouterr().err
    with firth.show_progress():
        join(vectors(WORDS, "a"), vectors(WORDS[:4] + few(form)[4:], "b"))
    assert "words of a" not in capsys.readouterr().err


def test_files_of_which_few_words_are_in_the_vocabulary_give_a_note(tmp_path, capsys):
    named, file = vectors(WORDS, "a"), tmp_path / "file.txt"
    lines = [f"{word} {word}" for word in few("/c/en/{}")]
    file.write_text("\n".join(lines))
    with firth.show_progress():
        align_vectors(named, named, AlignConfig(), dictionary=file)
    assert f"3 of the 40 pairs of {file} are in a and a{CAUSE}" in capsys.readouterr().err
    file.write_text("w0 w1 w2\n" + "\n".join(lines[3:]))
    with firth.show_progress():
        refine_vectors(named, related=file)
    assert f"3 of the 40 words of {file} are in a{CAUSE}" in capsys.readouterr().err
    file.write_text(
        "\n".join(f"{line}\t{n % 7}".replace(" ", "\t") for n, line in enumerate(lines))
    )
    with firth.show_progress():
        compare([named], CompareConfig(sets=(f"similarity={file}",), replicates=100))
    assert (
        f"3 of the 40 words that file and a may share are in both{CAUSE}" in capsys.readouterr().err
    )


def test_a_list_of_words_of_which_few_are_known_gives_a_note(tmp_path):
    write_vectors(vectors(WORDS, "a"), tmp_path / "a.vec", "glove")
    (tmp_path / "words").write_text("\n".join(few("/c/en/{}")))
    line = ["map", tmp_path / "a.vec", "--words-from", tmp_path / "words", "--skip-unknown"]
    assert f"3 of the 40 words are in {tmp_path / 'a.vec'}{CAUSE}" in command(*line).stderr


def test_a_small_vocabulary_is_no_other_spelling(tmp_path, capsys):
    file = tmp_path / "set.txt"
    rows = [f"w{n}\tx{n}\t{n % 7}" for n in range(5)] + [f"y{n}\tz{n}\t1" for n in range(95)]
    file.write_text("\n".join(rows))
    with firth.show_progress():
        compare([vectors(WORDS, "a")], CompareConfig(sets=(f"similarity={file}",), replicates=100))
    assert "may share" not in capsys.readouterr().err
