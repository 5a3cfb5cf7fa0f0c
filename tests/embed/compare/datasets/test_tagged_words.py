"""Labeled words: both forms, skipped lines, and refusals."""

import itertools
import lzma

import numpy as np
import pytest

from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.compare.datasets.tagged_words import read_parts, read_tagged
from firth.embed.compare.statistics.span_f1 import are_entities, span_f1, spans
from tests.embed.compare.refusals import message_of

TAIL = "\t_" * 6


def ud(*tokens):
    """Lines of CoNLL-U: number, form, lemma, part of speech, six more columns."""
    lines = [f"{number}\t{form}\t{form}\t{tag}{TAIL}\n" for number, form, tag in tokens]
    return "".join(lines) + "\n"


def test_conllu_gives_forms_and_parts_of_speech(tmp_path):
    path = tmp_path / "train.conllu"
    path.write_text(
        "# text = I don't\n\n\n"
        + ud(("1", "I", "PRON"), ("2-3", "don't", "_"), ("2", "do", "AUX"), ("3", "n't", "PART"))
        + "# only a comment\n\n"
        + ud(("1", "go", "VERB"), ("1.1", "gone", "VERB")),
        encoding="utf-8",
    )

    found = read_tagged(path)

    assert found.words == ["I", "do", "n't", "go"]
    assert found.labels == ["PRON", "AUX", "PART", "VERB"]
    assert found.offsets.tolist() == [0, 3, 4]


@pytest.mark.parametrize("delimiter", [" ", "\t"])
def test_columns_give_the_first_and_last_field(tmp_path, delimiter):
    path = tmp_path / "ner.txt"
    rows = [
        ["# id", "7"],
        ["-DOCSTART-", "-X-", "O", "O"],
        [],
        ["EU", "NNP", "B-NP", "B-ORG"],
        ["#", "SYM", "O", "O"],
        [],
        ["ends", "VBZ", "O", "O"],
    ]
    path.write_bytes("\r\n".join(delimiter.join(row) for row in rows).encode())

    found = read_tagged(path)

    assert list(zip(found.words, found.labels, strict=True)) == [
        ("EU", "B-ORG"), ("#", "O"), ("ends", "O"),
    ]  # fmt: skip
    assert found.offsets.tolist() == [0, 2, 3]


def test_compressed_files_are_read_and_endings_dropped_from_the_name(tmp_path):
    plain, packed = tmp_path / "train.conllu", tmp_path / "test.conllu.xz"
    text = ud(("1", "a", "DET")) + ud(("1", "saw", "NOUN"))
    plain.write_text(text)
    packed.write_bytes(lzma.compress(text.encode()))

    parts = read_parts(f"{plain},{packed}")

    assert (parts.name, parts.dev) == (f"{tmp_path.name}/test", None)
    assert parts.test.words == parts.train.words == ["a", "saw"]


WORD = ud(("1", "a", "DET"))
NO_LABEL = "the word 'b' has the label '_'; label it, or remove it"


@pytest.mark.parametrize(
    ("text", "line", "message"),
    [
        (WORD + "2\tb\n", 3, r"'2\tb' has 2 columns, but the file has 10; correct it"),
        (WORD + ud(("x", "b", "DET")), 3, "'x' is not a word number; correct it"),
        (WORD + ud(("1", "b", "_")), 3, NO_LABEL),
        ("a O\n\nb x O\n", 3, "'b x O' has 3 columns, but the file has 2; correct it"),
        ("a\n\nb\n", 1, "'a' has 1 columns, but the file has 2; correct it"),
    ],
)  # fmt: skip
def test_malformed_lines_are_refused(tmp_path, text, line, message):
    path = tmp_path / "set"
    path.write_text(text)

    assert message_of(SourceError, read_tagged, path) == f"{path}:{line}: {message}"


def test_files_without_words_are_refused(tmp_path):
    path = tmp_path / "empty"
    path.write_text("# nothing\n\n")

    assert message_of(SourceError, read_tagged, path) == (
        f"{path}: contains no words; pass CoNLL-U, or columns with the word first and its label "
        "last"
    )


def test_a_last_column_with_too_many_values_is_refused(tmp_path):
    path = tmp_path / "words"
    path.write_text("".join(f"w w{number}\n" for number in range(1001)))

    assert message_of(SourceError, read_tagged, path) == (
        f"{path}: the last column has 1,001 different labels; pass files whose last column is the "
        "label"
    )
    path.write_text("".join(f"w w{number}\n" for number in range(1000)))
    assert len(set(read_tagged(path).labels)) == 1000


def test_parts_must_belong_to_one_set(tmp_path):
    one, two, other = tmp_path / "one", tmp_path / "two", tmp_path / "other"
    one.write_text("a X\n")
    two.write_text("a X\n\nb Y\n")
    other.write_text("a Z\n")

    no_files = "expected 2 or 3 files: TRAIN,TEST or TRAIN,DEV,TEST"
    disjoint = f"{other}: shares no label with {two} (here 'Z', there 'X'); pass parts of one set"
    single = f"{one}: contains only one sentence, so none can be held out; pass TRAIN,DEV,TEST"
    for files, kind, message in (
        (f"{two},{other}", SourceError, disjoint),
        (f"{one},{two}", SourceError, single),
        ("a", SettingError, f"'a': {no_files}"),
        ("a,,b", SettingError, f"'a,,b': {no_files}"),
    ):
        assert message_of(kind, read_parts, files) == message
    assert read_parts(f"{one},{one},{two}").dev.words == ["a"]


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


def test_a_comment_with_as_many_cells_as_a_word_line_is_skipped(tmp_path):
    train, test = tmp_path / "train.conll", tmp_path / "test.conll"
    text = "# id 0b1\tdomain=en\nMary _ _ B-PER\nslept _ _ O\n\n# 4 _ O\nsold _ _ O\n"
    for path in (train, test):
        path.write_text(text)

    parts = read_parts(f"{train},{test}")

    assert parts.test.words == ["Mary", "slept", "#", "sold"]
    assert parts.test.offsets.tolist() == [0, 2, 4]


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
