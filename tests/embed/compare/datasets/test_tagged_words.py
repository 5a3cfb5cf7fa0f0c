"""Labeled words: both forms, skipped lines, and refusals."""

import itertools
import lzma

import numpy as np
import pytest

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.tagged_words import read_parts, read_tagged
from firth.embed.compare.statistics.span_f1 import are_entities, span_f1, spans
from tests.embed.compare.datasets.set_files import refusal, write
from tests.embed.compare.refusals import message_of

TAIL = "\t_" * 6


def ud(*tokens):
    """Lines of CoNLL-U: number, form, lemma, part of speech, six more columns."""
    lines = [f"{number}\t{form}\t{form}\t{tag}{TAIL}\n" for number, form, tag in tokens]
    return "".join(lines) + "\n"


def test_conllu_gives_forms_and_parts_of_speech(tmp_path):
    text = (
        "# text = I don't\n\n\n"
        + ud(("1", "I", "PRON"), ("2-3", "don't", "_"), ("2", "do", "AUX"), ("3", "n't", "PART"))
        + "# only a comment\n\n"
        + ud(("1", "go", "VERB"), ("1.1", "gone", "VERB"))
    )

    found = read_tagged(write(tmp_path, text))

    assert found.words == ["I", "do", "n't", "go"]
    assert found.labels == ["PRON", "AUX", "PART", "VERB"]
    assert found.offsets.tolist() == [0, 3, 4]


@pytest.mark.parametrize("delimiter", [" ", "\t"])
def test_columns_give_the_first_and_last_field(tmp_path, delimiter):
    text = "# id 7\n-DOCSTART- -X- O O\n\nEU NNP B-NP B-ORG\n# SYM O O\n\nends VBZ O O"
    text = text.replace(" ", delimiter).replace("\n", "\r\n")

    found = read_tagged(write(tmp_path, text))

    expected = [("EU", "B-ORG"), ("#", "O"), ("ends", "O")]
    assert list(zip(found.words, found.labels, strict=True)) == expected
    assert found.offsets.tolist() == [0, 2, 3]


def test_a_comment_with_as_many_cells_as_a_word_line_is_skipped(tmp_path):
    text = "# id 0b1\tdomain=en\nMary _ _ B-PER\nslept _ _ O\n\n# 4 _ O\nsold _ _ O\n"

    found = read_tagged(write(tmp_path, text))

    assert found.words == ["Mary", "slept", "#", "sold"]
    assert found.offsets.tolist() == [0, 2, 4]


def test_compressed_files_are_read_and_endings_dropped_from_the_name(tmp_path):
    text = ud(("1", "a", "DET")) + ud(("1", "saw", "NOUN"))
    plain = write(tmp_path, text, "train.conllu")
    packed = write(tmp_path, lzma.compress(text.encode()), "test.conllu.xz")

    parts = read_parts(f"{plain},{packed}")

    assert (parts.name, parts.dev) == (f"{tmp_path.name}/test", None)
    assert parts.test.words == parts.train.words == ["a", "saw"]


WORD = ud(("1", "a", "DET"))


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (WORD + "2\tb\n", r":3: '2\tb' has 2 columns, but the file has 10; correct it"),
        (WORD + ud(("x", "b", "DET")), ":3: 'x' is not a word number; correct it"),
        (WORD + ud(("1", "b", "_")), ":3: the word 'b' has the label '_'; label it, or remove it"),
        ("a O\n\nb x O\n", ":3: 'b x O' has 3 columns, but the file has 2; correct it"),
        ("a\n\nb\n", ":1: 'a' has 1 columns, but the file has 2; correct it"),
        ("# nothing\n\n", ": contains no words; pass CoNLL-U, or columns with the word first and"),
        ("".join(f"w w{number}\n" for number in range(1001)),
         ": the last column has 1,001 different labels; pass files whose last column is the label"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused(tmp_path, text, said):
    assert refusal(read_tagged, tmp_path, text).startswith(said)


def test_parts_must_belong_to_one_set(tmp_path):
    texts = {"one": "a X\n", "two": "a X\n\nb Y\n", "other": "a Z\n"}
    one, two, other = (write(tmp_path, text, name) for name, text in texts.items())

    for files, message in (
        ((two, other), f"{other}: shares no label with {two} (here 'Z', there 'X'); pass parts of"),
        ((one, two), f"{one}: contains only one sentence, so none can be held out; pass TRAIN,DEV"),
    ):
        said = message_of(SourceError, read_parts, ",".join(map(str, files)))
        assert said.startswith(message)
    assert read_parts(f"{one},{one},{two}").dev.words == ["a"]


def test_a_thousand_labels_are_accepted(tmp_path):
    path = write(tmp_path, "".join(f"w w{number}\n" for number in range(1000)))

    assert len(set(read_tagged(path).labels)) == 1000


@pytest.mark.parametrize(
    ("tags", "expected"),
    [
        ("B-X I-X O B-X", {(0, 2, "X"), (3, 4, "X")}),
        ("I-X I-X B-X I-Y", {(0, 2, "X"), (2, 3, "X"), (3, 4, "Y")}),
        ("S-X B-Y E-Y I-Y", {(0, 1, "X"), (1, 3, "Y"), (3, 4, "Y")}),
        ("O B-X | I-X O", {(1, 2, "X"), (2, 3, "X")}),
    ],
    ids=["IOB2", "IOB1", "IOBES", "sentence ends between"],
)
def test_spans_follow_every_tagging_scheme(tags, expected):
    first, _, second = (part.split() for part in tags.partition("|"))
    offsets = [0, len(first), len(first) + len(second)] if second else [0, len(first)]

    assert spans([*first, *second], np.array(offsets)) == expected


def test_f1_matches_hand_counted_spans():
    right = ["B-X", "I-X", "O", "B-Y", "O", "B-X"]
    given = ["B-X", "I-X", "O", "B-X", "O", "B-X"]
    f1 = span_f1(right, given, np.array([0, 4, 6]))

    # 2 of 3 found of 3 marked
    assert f1.evaluate(np.ones((1, 6), np.uint8)).tolist() == [pytest.approx(2 / 3)]
    # the first sentence twice, the second not: 2 of 4 and 4
    assert f1.evaluate(np.array([[2, 2, 2, 2, 0, 0]])).tolist() == [0.5]
    assert np.isnan(f1.take(np.arange(6) == 2).evaluate(np.ones((1, 1), np.uint8))).all()


def test_entities_are_recognized_by_their_labels():
    assert are_entities(["O", "B-PER", "I-PER"])
    assert not are_entities(["O", "NOUN"])
    assert not are_entities(["O", "O"])


def chunks_as_conlleval_counts(tags):
    """Chunks by the rules of conlleval, one boundary at a time."""
    found, start = set(), None
    for place, (before, tag) in enumerate(itertools.pairwise(["O", *tags, "O"])):
        (mark, _, kind), (_, _, last) = tag.partition("-"), before.partition("-")
        changes = mark == "B" or kind != last
        if before != "O" and (tag == "O" or changes):
            found.add((start, place, last))
        if tag != "O" and (before == "O" or changes):
            start = place
    return found


def test_spans_match_those_of_conlleval():
    for tags in itertools.product(["O", "B-X", "I-X", "B-Y", "I-Y"], repeat=5):
        assert spans(tags, np.array([0, 5])) == chunks_as_conlleval_counts(tags)
