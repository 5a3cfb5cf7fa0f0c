"""Analogy files: questions, BATS lines, and refusals."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.compare.datasets.questions import (
    Question,
    Relation,
    read_analogies,
    read_questions,
    read_relations,
)
from tests.embed.compare.datasets.set_files import WORDS, refusal, write

DELIMITERS = ["\t", ";", ",", ", ", " ", "  ", "\t\t"]


@pytest.mark.slow
@given(
    questions=st.lists(st.tuples(WORDS, WORDS, WORDS, WORDS), min_size=1),
    cut=st.integers(0, 20),
    delimiter=st.sampled_from(DELIMITERS),
    end=st.sampled_from(["\n", "\r\n"]),
)
def test_questions_are_read_as_written(tmp_path_factory, questions, cut, delimiter, end):
    rows = [delimiter.join(question) for question in questions]
    rows.insert(min(cut, len(rows)), ": a section")
    path = write(tmp_path_factory.mktemp("sets"), end.join(rows))

    read = read_questions(path)

    assert [question.words for question in read] == questions
    assert [question.section for question in read] == [
        "a section" if index >= cut else "" for index in range(len(questions))
    ]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (": empty\n", ": contains no analogy questions; expected lines of four words"),
        (": s\na b c d\na b c\n", ":3: 'a b c' is not four words separated by spaces; correct it"),
        ("a\tb\tc\td\na\tb\tc\td\te\n",
         r":2: 'a\tb\tc\td\te' is not four words separated by tabs; correct it, or start a sectio"),
        ("a b c d\n" + "x" * 200_000, f":2: '{'x' * 59}…' is not four words"),
    ],
)  # fmt: skip
def test_malformed_questions_are_refused(tmp_path, text, said):
    assert refusal(read_questions, tmp_path, text).startswith(said)


def test_questions_keep_their_sections(tmp_path):
    path = write(tmp_path, "// notes\na b c d\n: one\n:two\ne\tf g h\n")

    assert read_questions(path) == [
        Question(("a", "b", "c", "d")),
        Question(("e", "f", "g", "h"), "two"),
    ]


QUESTION_SETS = {
    "analogy/questions-words.txt": (19544, 14),
    "analogy/msr.txt": (8000, 1),
    "multilingual/de/analogies-google.txt": (18552, 1),
    "multilingual/zh/CA8_semantic.txt": (7636, 4),
    "multilingual/zh/CA8_morphological.txt": (10177, 4),
}


@pytest.mark.slow
@pytest.mark.parametrize("name", QUESTION_SETS)
def test_published_analogies_are_read_completely(shared_data, name):
    questions = read_analogies(shared_data / "evaluation" / name)

    sections = {question.section for question in questions}
    assert (len(questions), len(sections)) == QUESTION_SETS[name]


@pytest.mark.slow
@given(
    lines=st.lists(st.tuples(WORDS, st.lists(WORDS, min_size=1, unique=True)), min_size=1),
    delimiter=st.sampled_from(["\t", "\t\t", " "]),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_relations_are_read_as_written(tmp_path_factory, lines, delimiter, end, mark):
    rows = [f"{word}{delimiter}{'/'.join(answers)}" for word, answers in lines]
    path = write(tmp_path_factory.mktemp("sets"), mark + end.join(rows) + end)

    assert read_analogies(path) == [Relation(w, tuple(a), "set") for w, a in lines]


def test_a_folder_of_relations_has_one_section_per_file(tmp_path):
    for folder in ("2_Semantics", "1_Forms", ".hidden"):
        (tmp_path / folder).mkdir()
    write(tmp_path / "1_Forms", "cat\tcats\r\ndog\tdogs\r\n", "I01 [plural].txt")
    write(tmp_path / "2_Semantics", "car\tvehicle//machine/vehicle/\n", "L01.txt")
    write(tmp_path / ".hidden", "a b c", "notes.txt")
    write(tmp_path, "{}", "metadata.json")

    assert read_analogies(tmp_path) == [
        Relation("cat", ("cats",), "I01 [plural]"),
        Relation("dog", ("dogs",), "I01 [plural]"),
        Relation("car", ("vehicle", "machine"), "L01"),
    ]


def test_headings_in_a_file_of_relations_are_sections(tmp_path):
    path = write(tmp_path, "a\tb\n: plural\ncat\tcats\n")

    assert [line.section for line in read_relations(path)] == ["set", "plural"]


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("# notes\n", ": contains no analogies; expected lines of word TAB answer/answer"),
        ("cat\tcats\ndog\n", ":2: 'dog' is not a word and its answers, answer/answer, separated"),
        ("cat\tcats\ndog\t/\n", r":2: 'dog\t/' is not a word and its answers"),
        ("cat cats\na b c d\n", ":2: 'a b c d' is not a word and its answers"),
        ("cat cats\n\u2028\n", r":2: '\u2028' is not a word and its answers"),
    ],
)
def test_malformed_relations_are_refused(tmp_path, text, said):
    assert refusal(read_relations, tmp_path, text).startswith(said)
