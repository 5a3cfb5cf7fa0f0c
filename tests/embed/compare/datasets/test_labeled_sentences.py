"""Labeled sentences: all forms, detected by content, and refusals."""

import gzip

import pytest

from firth.corpora.common.errors import SettingError, SourceError
from firth.embed.compare.datasets.labeled_sentences import (
    read_sentence_parts,
    read_sentences,
    read_training_parts,
)
from tests.embed.compare.datasets.set_files import refusal, write
from tests.embed.compare.refusals import message_of

TEXTS, LABELS = ("a good film", 'so, "bad"'), ("1", "0")


@pytest.mark.parametrize(
    "content",
    [
        '1 a good film\n\n0 so, "bad"\n',
        '\ufeff1 a good film\r\n0   so,  "bad" \r\n',
        '1\ta good film\n0\tso, "bad"\n',
        'a good film\t1\nso, "bad"\t0\n',
        'sentence\tlabel\na good film\t1\nso, "bad"\t0\n',
        'index\tlabel\tsentence\n7\t1\ta good film\n8\t0\tso, "bad"\n',
        'label,text\n1,a good film\n0,"so, ""bad"""\n',
        '"text","label"\n"a good\nfilm",1\n"so, ""bad""",0\n',
        '{"label": 1, "text": "a good film"}\n{"sentence": "so, \\"bad\\"", "label": "0"}\n',
        '{"Labels": 1, "Review": "a good film"}\n{"class": 0, "QUESTION": "so, \\"bad\\""}\n',
        'Sentiment\tTEXT\n1\ta good film\n0\tso, "bad"\n',
        '1 a good film\r0 so, "bad"\r',
        'label,text\r1,a good film\r0,"so, ""bad"""\r',
        '# said\n1 a good film\n# and\n0 so, "bad"\n',
        '# said\n\nlabel,text\n1,a good film\n0,"so, ""bad"""\n',
        '# said\na good film\t1\nso, "bad"\t0\n',
        '# said\n{"label": 1, "text": "a good film"}\n{"label": 0, "text": "so, \\"bad\\""}\n',
        gzip.compress(b'1 a good film\n0 so, "bad"\n'),
    ],
    ids=[
        "spaces", "byte order mark", "tabs", "label behind", "head", "head of three", "csv",
        "csv of quoted lines", "json lines", "json lines of other names", "head in capitals",
        "carriage returns", "csv with carriage returns", "comments", "comment above csv",
        "comment above tabs", "comment above json lines", "gzip",
    ],
)  # fmt: skip
def test_all_forms_give_the_same_sentences(tmp_path, content):
    # with as many labels as sentences, the first column is the label
    found = read_sentences(write(tmp_path, content))

    if str(content).removeprefix("# said\n") == 'a good film\t1\nso, "bad"\t0\n':
        assert (found.texts, found.labels) == (LABELS, TEXTS)
    else:
        assert (found.texts, found.labels) == (TEXTS, LABELS)


@pytest.mark.parametrize(
    ("content", "labels", "texts"),
    [
        ("good\tyes\nfine\tyes\n#bad\tno\n", ("yes", "yes", "no"), ("good", "fine", "#bad")),
        ("0 a label , text , and so on\n1 fine\n", ("0", "1"),
         ("a label , text , and so on", "fine")),
        ("# good\n# bad\n", ("#", "#"), ("good", "bad")),
        ("# one tag\tyes\nother\tyes\n# two\tno\n", ("yes", "yes", "no"),
         ("# one tag", "other", "# two")),
        ('{"label": true, "text": "a"}\n{"label": false, "text": "b"}\n', ("true", "false"),
         ("a", "b")),
        ("label,text\n1,a\u2028b\x0cc\n0,fine\n", ("1", "0"), ("a b c", "fine")),
        ("DESC:manner How ?\nNUM:date When ?\n4:x Why\n", ("DESC", "NUM", "4:x"),
         ("How ?", "When ?", "Why")),
    ],
    ids=[
        "the column with fewer values is the label", "a sentence with column names is no header",
        "all start like comments", "a tab follows", "boolean", "line separators in a cell",
        "fine labels",
    ],
)  # fmt: skip
def test_labels_are_told_from_texts(tmp_path, content, labels, texts):
    found = read_sentences(write(tmp_path, content))

    assert (found.labels, found.texts) == (labels, texts)


def test_a_csv_record_is_reported_at_its_first_line(tmp_path):
    content = '# films\nlabel,text\n1,"a\ngood\nfilm"\n\n0,"so\nbad",x\n'

    assert refusal(read_sentences, tmp_path, content).startswith(r":7: '0 so\nbad x' has 3 columns")


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("", ": contains no sentences; expected lines of a label and a sentence, a table with a"),
        ("text\tlabel\n", ": contains no sentences below its header; expected lines of a label"),
        ("1 good\n0\n", ":2: '0' has no text; give both, or remove the line"),
        ("text,label\ngood,1\nbad,\n", ":3: 'bad' has no label; give both, or remove the line"),
        ("1\tgood\n0 bad\n", ":2: '0 bad' has 1 columns, not a label and a sentence separated by"),
        ("label\ttext\n1\tgood\tfilm\n", ":2: '1 good film' has 3 columns, but the header names 2"),
        ("index\tsentence\n1\tgood\n", ": the header names index, sentence, 0 of them among label"),
        ("label,Text,question\n1,good,fine\n",
         ": the header names label, Text, question, 2 of them among text, sentence, question"),
        ('{"label": 1, "text": "good"}\n{"label": 1}\n',
         ":2: '{\"label\": 1}' is not a JSON object with one of label, labels, class, category"),
        ('{"label": ' + "[" * 100_000, ":1: '{\"label\": " + "[" * 49 + "…' is not a JSON object"),
        ('{"label": 1, "text": "a \\ud800 b"}\n',
         r":1: 'a \ud800 b' contains half a surrogate pair; correct it"),
        ('\n{"label": "\\udfff", "text": "a"}\n',
         r":2: '\udfff' contains half a surrogate pair; correct it"),
        pytest.param(b"1 good\r0 caf\xe9\r", ":2: byte 0xE9 is not UTF-8; convert", id="latin-1"),
        ('label,text\n1,"good\n', ":2: is not valid CSV (unexpected end of data); correct it"),
    ],
)  # fmt: skip
def test_malformed_files_are_refused_in_one_line(tmp_path, content, said):
    message = refusal(read_sentences, tmp_path, content)

    assert message.startswith(said)
    assert "\n" not in message


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("1 good\n1 fine\n", ": all 2 sentences have the label '1'; a probe needs at least two"),
        ("".join(f"{n} good\n" for n in range(1001)) * 2,
         ": contains 1,001 labels for 2,002 sentences, such as '0'; expected lines of a label"),
        ("3,good a\n4,bad b\n3,fine c\n", ": contains 3 labels for 3 sentences, such as '3,good';"),
        ("the a\nthe b\nthe c\nthe d\na e\nso f\n",
         ": 2 of its 3 labels have only one sentence, such as 'a'; expected lines of a label"),
    ],
)  # fmt: skip
def test_sets_without_learnable_labels_are_refused(tmp_path, content, said):
    def read(path):
        read_training_parts([path])

    assert refusal(read, tmp_path, content).startswith(said)


def test_a_set_is_named_after_its_test_file_without_endings(tmp_path):
    train = write(tmp_path, "1 a\n0 b\n1 c\n0 d\n", "t")
    test = write(tmp_path, gzip.compress(b"1 e\n"), "sst2.tsv.gz")

    parts = read_sentence_parts(f"{train}, {train},{test}")

    assert (parts.name, parts.test.texts, parts.dev) == ("sst2", ("e",), parts.train)
    assert read_sentence_parts(f"{train},{test}").dev is None


@pytest.mark.parametrize("files", ["{train},{other}", "{train},{other},{train}"])
def test_parts_that_share_no_label_are_refused(tmp_path, files):
    train = write(tmp_path, "1 a\n0 b\n1 c\n0 d\n", "t")
    other = write(tmp_path, "pos e\n", "x")

    assert message_of(SourceError, read_sentence_parts, files.format(train=train, other=other)) == (
        f"{other}: shares no label with {train} (here 'pos', there '1'); pass parts of one set"
    )


@pytest.mark.parametrize("files", ["a", "a,,b", "a,b,c,d"])
def test_one_or_four_files_are_refused(files):
    assert (
        message_of(SettingError, read_sentence_parts, files)
        == f"{files!r}: expected 2 or 3 files: TRAIN,TEST or TRAIN,DEV,TEST"
    )
