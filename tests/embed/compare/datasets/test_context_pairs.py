"""Words in context: all published forms, and refusals that name the line."""

import pytest

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.context_pairs import PairInContext, Target, read_contexts
from tests.embed.compare.datasets.set_files import refusal, write
from tests.embed.compare.refusals import message_of

SCWS = (
    "1\tbank\tn\tmoney\tn\tBy the <b> bank </b> of a river .\tHis <b>Money</b> is gone"
    "\t3.5\t3.0\t4.0\n"
)
WIC = "bed\tN\t2-0\tgo to bed late\tBeds of roses\nrun\tV\t1-1\tI run\tThey ran home\n"
HEADER = "word1\tword2\tcontext1\tcontext2\tsim1\tsim2\n"
COSIMLEX = (
    HEADER + "man\tsea\tThe <strong>men</strong> of the <strong>sea</strong>"
    "\t<strong>Seas</strong> and a <strong>man</strong> again\t2.27\t1.5\n"
)


def labeled(tmp_path, data, gold, name="test.data.txt"):
    """A WiC set with its labels in a second file."""
    write(tmp_path, gold, name.replace("data", "gold"))
    return write(tmp_path, data, name)


def test_scws_has_two_words_each_marked_in_its_own_context(tmp_path):
    found = read_contexts(write(tmp_path, SCWS))

    assert found.form == "scws"
    assert found.pairs == [
        PairInContext(
            "bank",
            "money",
            Target(("By the ", " bank ", " of a river ."), (1,)),
            Target(("His ", "Money", " is gone"), (1,)),
            3.5,
        )
    ]


def test_wic_has_positions_and_labels_in_a_second_file(tmp_path):
    found = read_contexts(labeled(tmp_path, WIC, "T\nF\n"))

    assert found.form == "wic"
    first, second = found.pairs
    assert first == PairInContext(
        "bed",
        "bed",
        Target(("go to", "bed", "late"), (1,)),
        Target(("", "Beds", "of roses"), (1,)),
        1.0,
    )
    assert (second.second.parts, second.gold) == (("They", "ran", "home"), 0.0)


def test_cosimlex_has_one_pair_in_two_contexts(tmp_path):
    found = read_contexts(write(tmp_path, COSIMLEX))

    assert found.form == "cosimlex"
    one, two = found.pairs
    assert one.first.parts is one.second.parts
    assert one.first.parts == ("The ", "men", " of the ", "sea", "")
    assert [(pair.a, pair.b, pair.gold) for pair in (one, two)] == [
        ("man", "sea", 2.27),
        ("man", "sea", 1.5),
    ]
    # if one form matches, the other mark is the other word's
    assert (one.first.marks, one.second.marks) == ((1,), (3,))
    assert (two.first.marks, two.second.marks) == ((3,), (1,))


@pytest.mark.parametrize(
    ("marked", "marks"),
    [
        (("man", "seas"), ((1,), (3,))),
        (("seas", "man"), ((3,), (1,))),
        (("men", "sea"), ((1,), (3,))),
        (("sea", "men"), ((3,), (1,))),
        (("men", "seas"), ((1,), (3,))),
        (("seas", "men"), ((1,), (3,))),  # no form matches
        (("man", "man"), ((1,), (3,))),
    ],
)
def test_if_one_mark_matches_a_form_the_other_is_the_other_word(tmp_path, marked, marks):
    context = "<b>{}</b> and <b>{}</b>".format(*marked)
    row = f"man\tsea\t{context}\t{context}\t1\t2\n"

    for pair in read_contexts(write(tmp_path, HEADER + row)).pairs:
        assert (pair.first.marks, pair.second.marks) == marks


def test_positions_count_words_between_ascii_spaces(tmp_path):
    data = "kg\tN\t2-1\t\u00a0 10\u00a0000 kg  \u3000\ta kg\u00a0of tea\n"

    [pair] = read_contexts(labeled(tmp_path, data, "T\n")).pairs

    assert pair.first == Target(("\u00a0 10\u00a0000", "kg", "\u3000"), (1,))
    assert pair.second == Target(("a", "kg\u00a0of", "tea"), (1,))


@pytest.mark.parametrize("word", ["#bed", "//bed"])
def test_a_word_may_start_like_a_comment(tmp_path, word):
    data = f"# places from 0\n{word}\tN\t0-0\t{word} a\t{word} b\n//\n"

    [pair] = read_contexts(labeled(tmp_path, data, "# labels\nT\n")).pairs

    assert (pair.a, pair.first.parts) == (word, ("", word, "a"))


def test_judgments_in_a_second_file_match_words_that_start_like_a_comment(tmp_path):
    header, row = (line.rsplit("\t", 2)[0] for line in COSIMLEX.splitlines())
    data = write(tmp_path, f"{header}\n{row}\n#{row.replace('men', '#man')}\n", "data_en.tsv")
    write(tmp_path, "sim1\tsim2\n1\t2\n3\t4\n", "gold_en.tsv")

    found = read_contexts(data).pairs

    assert [(pair.a, pair.gold) for pair in found] == [
        ("man", 1.0),
        ("man", 2.0),
        ("#man", 3.0),
        ("#man", 4.0),
    ]


def test_cosimlex_columns_are_found_by_header_and_words_by_inflected_form(tmp_path):
    names = ["p", "word2", "word1", "sim_context2", "sim_context1", "context2", "context1"]
    names += ["Word1_Context1"]
    twice = "<b>Men</b>, <b>sea</b>, <b>men</b>"
    row = ["0.1", "sea", "man", "1", "2", "<b>sea</b> <b>man</b>", twice, "men"]
    found = read_contexts(write(tmp_path, "\t".join(names) + "\n" + "\t".join(row) + "\n"))

    one, two = found.pairs
    assert (one.first.marks, one.second.marks, one.gold) == ((1, 5), (3,), 2.0)
    assert (two.first.marks, two.second.marks, two.gold) == ((3,), (1,), 1.0)


def test_labels_are_found_by_file_name(tmp_path):
    write(tmp_path, "T\nF\n", "mine.gold.tsv")

    assert read_contexts(write(tmp_path, WIC, "mine.tsv")).form == "wic"
    data = write(tmp_path, WIC, "dev.data.txt")
    gold = tmp_path / "dev.gold.txt"
    assert (
        message_of(SourceError, read_contexts, data)
        == f"{data}: a WiC set needs its labels T and F in {gold}, which does not exist"
    )


@pytest.mark.parametrize(
    ("gold", "said"),
    [
        ("T\nfalse\n", ":2: 'false' is neither T nor F"),
        ("T\n", ": has 1 labels for the 2 lines of"),
    ],
)
def test_mismatched_labels_are_refused(tmp_path, gold, said):
    message = message_of(SourceError, read_contexts, labeled(tmp_path, WIC, gold))

    assert message.startswith(f"{tmp_path / 'test.gold.txt'}{said}")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SCWS + SCWS.replace("<b>Money</b>", "Money"), ":2: context 2 has no marked word; mark th"),
        (SCWS.replace("</b> of", "of"), ":1: context 1 has an unclosed mark; mark the target as"),
        (SCWS.replace("<b> bank", "</b> bank"), ":1: context 1 has an unclosed mark; mark"),
        (SCWS.replace("bank </b>", "</b>"), ":1: context 1 has an empty mark; mark"),
        (SCWS.replace("river", "<b>river</b>"), ":1: context 1 has 2 marked words; mark only the"),
        (SCWS.replace("3.5", "nan"), ":1: 'nan' is not a score; correct it"),
        (SCWS + "2\tbank\n", r":2: '2\tbank' is not id, word, pos, word, pos, context, context, m"),
        (COSIMLEX.replace("The <strong>men</strong>", "The men"),
         ":2: context 1 has 1 marked words, not just 'man' and 'sea'; mark these two"),
        (COSIMLEX.replace("2.27", "high"), ":2: 'high' is not a score; correct it"),
        (HEADER + "man\tsea\n", r":2: 'man\tsea' has fewer fields than the header; separate field"),
        (HEADER, ":1: no line follows the header"),
        (HEADER.replace("sim1", "mean"), ":1: the header needs word1, word2, context1, context2, "),
        ("cup\tmug\t9.0\n", r":1: 'cup\tmug\t9.0' is of no known form; expected lines of SCWS (id"),
        ("# nothing\n", ": contains no words in context; expected lines of SCWS (id, word, pos,"),
        (WIC.replace("1-1", "2-1"), ":2: 'I run' has 2 words, none at 2; correct the position, wh"),
        (WIC.replace("\tI run", ""), r":2: 'run\tV\t1-1\tThey ran home' is not word, pos, i-j, se"),
        (WIC.replace("1-1", "1"), r":2: 'run\tV\t1\tI run\tThey ran home' is not word, pos, i-j"),
    ],
)  # fmt: skip
def test_malformed_sets_are_refused_with_the_line(tmp_path, text, said):
    write(tmp_path, "T\nF\n", "test.gold.txt")  # of WiC; the others have no labels

    assert refusal(read_contexts, tmp_path, text, "test.data.txt").startswith(said)
