"""Reading labeled sentences: every form by its content, and one line for what is wrong."""

import gzip

import pytest

from corpora.common.errors import SettingError, SourceError
from embed.compare.datasets.labeled_sentences import (
    read_sentence_parts,
    read_sentences,
    read_training_parts,
)

TEXTS, LABELS = ("a good film", 'so, "bad"'), ("1", "0")


def write(path, content):
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


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
def test_every_form_gives_the_same_sentences(tmp_path, content):
    # two sentences of two labels: which of two columns is the label, the first decides
    found = read_sentences(write(tmp_path / "set", content))

    if str(content).removeprefix("# said\n") == 'a good film\t1\nso, "bad"\t0\n':
        assert (found.texts, found.labels) == (LABELS, TEXTS)
    else:
        assert (found.texts, found.labels) == (TEXTS, LABELS)


def test_of_two_columns_the_label_is_the_one_with_fewer_values(tmp_path):
    behind = write(tmp_path / "behind", "good\tyes\nfine\tyes\n#bad\tno\n")

    assert read_sentences(behind).labels == ("yes", "yes", "no")
    assert read_sentences(behind).texts == ("good", "fine", "#bad")


def test_a_first_sentence_that_names_columns_between_commas_is_a_sentence(tmp_path):
    found = read_sentences(write(tmp_path / "set", "0 a label , text , and so on\n1 fine\n"))

    assert found.texts == ("a label , text , and so on", "fine")


def test_what_begins_as_comments_do_is_kept_where_all_lines_do_or_a_tab_follows(tmp_path):
    signs = read_sentences(write(tmp_path / "signs", "# good\n# bad\n"))
    tweets = read_sentences(write(tmp_path / "tweets", "# one tag\tyes\nother\tyes\n# two\tno\n"))

    assert (signs.labels, signs.texts) == (("#", "#"), ("good", "bad"))
    assert tweets.texts == ("# one tag", "other", "# two")


def test_truth_is_a_label_as_json_writes_it(tmp_path):
    found = read_sentences(
        write(tmp_path / "set", '{"label": true, "text": "a"}\n{"label": false, "text": "b"}\n')
    )

    assert found.labels == ("true", "false")


def test_a_cell_with_any_mark_that_ends_lines_elsewhere_is_one_cell(tmp_path):
    found = read_sentences(write(tmp_path / "set", "label,text\n1,a\u2028b\x0cc\n0,fine\n"))

    assert (found.labels, found.texts) == (("1", "0"), ("a b c", "fine"))


def test_a_record_is_numbered_by_its_first_line(tmp_path):
    content = '# films\nlabel,text\n1,"a\ngood\nfilm"\n\n0,"so\nbad",x\n'

    with pytest.raises(SourceError, match=r":7: '0 so\\nbad x' has 3 columns where"):
        read_sentences(write(tmp_path / "set", content))


def test_kinds_of_questions_count_without_what_is_finer(tmp_path):
    found = read_sentences(
        write(tmp_path / "trec", "DESC:manner How ?\nNUM:date When ?\n4:x Why\n")
    )

    assert found.labels == ("DESC", "NUM", "4:x")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", (": holds no sentence; expected lines of a label and a sentence, a table with a "
         "header, or JSON lines")),
        ("text\tlabel\n", (": holds no sentence below its first line; expected lines of a label "
         "and a sentence, a table with a header, or JSON lines")),
        ("1 good\n0\n", ":2: '0' stands there without a text; give both, or leave the line out"),
        ("text,label\ngood,1\nbad,\n", (":3: 'bad' stands there without a label; give both, or "
         "leave the line out")),
        ("1\tgood\n0 bad\n", (":2: '0 bad' has 1 columns, not a label and a sentence with a tab "
         "between; correct it, or name the columns in a first line")),
        ("label\ttext\n1\tgood\tfilm\n", (":2: '1 good film' has 3 columns where the first line "
         "names 2; correct it")),
        ("index\tsentence\n1\tgood\n", (": its first line names index, sentence, of which 0 are "
         "among label, labels, class, category, sentiment; name one column so")),
        ("label,Text,question\n1,good,fine\n", (": its first line names label, Text, question, of "
         "which 2 are among text, sentence, question, review; name one column so")),
        ('{"label": 1, "text": "good"}\n{"label": 1}\n', (":2: '{\"label\": 1}' is no object with "
         "one of label, labels, class, category, sentiment and one of text, sentence, question, "
         "review; correct it")),
        ('{"label": ' + "[" * 100_000, (":1: '{\"label\": " + "[" * 49 + "…' is no object with "
         "one of label, labels, class, category, sentiment and one of text, sentence, question, "
         "review; correct it")),
        ('{"label": 1, "text": "a \\ud800 b"}\n', (":1: 'a \\ud800 b' holds half a character; "
         "correct it")),
        ('\n{"label": "\\udfff", "text": "a"}\n', (":2: '\\udfff' holds half a character; "
         "correct it")),
        (b"1 good\r0 caf\xe9\r", ":2: byte 0xE9 is not UTF-8; convert the evaluation set to UTF-8"),
        ('label,text\n1,"good\n', ":2: is no CSV (unexpected end of data); correct it"),
        (b"1 good\n0 caf\xe9\n", ":2: byte 0xE9 is not UTF-8; convert the evaluation set to UTF-8"),
    ],
    ids=[
        "empty", "head alone", "no text", "no label", "no tab", "third column", "no label column",
        "two text columns", "json without text", "json too deep", "half a character",
        "half a label", "latin-1 with carriage returns", "cut csv", "latin-1",
    ],
)  # fmt: skip
def test_what_is_malformed_is_told_in_one_line(tmp_path, content, message):
    path = write(tmp_path / "set", content)

    with pytest.raises(SourceError) as caught:
        read_sentences(path)

    assert str(caught.value) == f"{path}{message}"


def test_a_missing_file_is_told(tmp_path):
    with pytest.raises(SourceError, match=r"none: no such evaluation set$"):
        read_sentences(tmp_path / "none")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("1 good\n1 fine\n", (": all 2 sentences have the label '1'; nothing can be learnt from "
         "one label")),
        ("".join(f"{n} good\n" for n in range(1001)) * 2, (": holds 1,001 labels of 2,002 "
         "sentences, such as '0'; expected lines of a label and a sentence, a table with a header, "
         "or JSON lines")),
        ("3,good a\n4,bad b\n3,fine c\n", (": holds 3 labels of 3 sentences, such as '3,good'; "
         "expected lines of a label and a sentence, a table with a header, or JSON lines")),
        ("the a\nthe b\nthe c\nthe d\na e\nso f\n", (": of its 3 labels 2 have one sentence only, "
         "such as 'a'; expected lines of a label and a sentence, a table with a header, or JSON "
         "lines")),
    ],
)  # fmt: skip
def test_what_nothing_can_be_learnt_from_is_refused(tmp_path, content, message):
    path = write(tmp_path / "set", content)

    with pytest.raises(SourceError) as caught:
        read_training_parts([path])

    assert str(caught.value) == f"{path}{message}"


def test_parts_are_named_by_the_test_part_without_its_endings(tmp_path):
    train = write(tmp_path / "t", "1 a\n0 b\n1 c\n0 d\n")
    test = write(tmp_path / "sst2.tsv.gz", gzip.compress(b"1 e\n"))

    parts = read_sentence_parts(f"{train}, {train},{test}")

    assert (parts.name, parts.test.texts, parts.dev) == ("sst2", ("e",), parts.train)
    assert read_sentence_parts(f"{train},{test}").dev is None


@pytest.mark.parametrize("files", ["{train},{other}", "{train},{other},{train}"])
def test_a_part_of_another_set_is_refused(tmp_path, files):
    train = write(tmp_path / "t", "1 a\n0 b\n1 c\n0 d\n")
    other = write(tmp_path / "x", "pos e\n")

    with pytest.raises(SourceError) as caught:
        read_sentence_parts(files.format(train=train, other=other))

    assert str(caught.value) == (
        f"{other}: has no label that {train} has ('pos', there '1'); give parts of one set"
    )


@pytest.mark.parametrize("files", ["a", "a,,b", "a,b,c,d"])
def test_other_numbers_of_files_are_refused(files):
    with pytest.raises(SettingError) as caught:
        read_sentence_parts(files)

    assert str(caught.value) == (
        f"{files!r} names no two or three files; pass TRAIN,TEST or TRAIN,DEV,TEST"
    )
