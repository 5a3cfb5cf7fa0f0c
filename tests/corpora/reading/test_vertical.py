"""Vertical files, CoNLL-U Plus and other texts with a known structure."""

import pytest

from firth.corpora.common.errors import SourceError

SAMPLE = """\
<?xml version="1.0"?>
<corpus>
<doc id="n1" title="A &amp; B" n=32>
<head type=min>
Title\tNN\ttitle
</head>
<p>
<s>
The\tDT\tthe
cats\tNNS\tcat
went\tVBD\tgo
<g/> 
.\tSENT\t.
</s>
<s id='2'>
&lt;3\tSYM\t<unknown>
<ne type="x">
Rome\tNP\tRome
</ne>
</s>
</p>
</doc>
<doc id="n2" title="">
<p>
<s>
They\tPRP\tthey
</s>
</p>
</doc>
</corpus>
"""  # noqa: W291
WORDS = ["Title\nThe\x1fcats\x1fwent\x1f.\x1e<3\x1fRome\n", "They\n"]
UNTAGGED = "The\tDT\tthe\ncats\tNNS\tcat\nwent\tVBD\tgo\n.\tSENT\t.\nThey\tPRP\tthey\n"


@pytest.mark.parametrize("line_end", ["\n", "\r\n"])
@pytest.mark.parametrize("block_bytes", [1, 40, 1 << 20])
def test_structures_are_documents_paragraphs_and_sentences(line_end, block_bytes, write, read_all):
    write("a", SAMPLE.replace("\n", line_end))
    reading = read_all("a", block_bytes=block_bytes)
    assert all(block.pretokenized for block in reading.blocks)
    # a cut between sentences ends a paragraph
    texts = [text.replace("\x1e", "\n") for text in reading.texts]
    assert texts == [text.replace("\x1e", "\n") for text in WORDS]
    assert block_bytes < 1000 or reading.texts == WORDS
    assert [document.fields for document in reading.documents] == [
        {"id": "n1", "title": "A & B", "n": "32"}, {"id": "n2", "title": "", "n": ""},
    ]  # fmt: skip
    assert [document.position for document in reading.documents] == [3, 23]


@pytest.mark.parametrize("field", ["lemma", "3"])
def test_lemmas_are_those_of_their_column(field, write, read_all):
    write("a.vert", SAMPLE)
    reading = read_all("a.vert", field=field, keep=("title",))
    assert reading.texts == ["title\nthe\x1fcat\x1fgo\x1f.\x1e<3\x1fRome\n", "they\n"]
    assert reading.counts == {"missing_lemmas": 1}
    assert reading.documents[0].fields == {"title": "A & B"}


def test_the_column_of_lemmas_may_come_before_the_tags_and_have_parts_of_speech(write, read_all):
    rows = [line.split("\t") for line in UNTAGGED.splitlines()]
    write("a", "".join(f"{word}\t{lemma}-n\t{tag}\n" for word, tag, lemma in rows))
    assert read_all("a", field="lemma").texts == ["the\x1fcat\x1fgo\x1f.\x1ethey\n"]
    assert read_all("a", field="tag").texts == ["DT\x1fNNS\x1fVBD\x1fSENT\x1ePRP\n"]


@pytest.mark.parametrize(
    "content",
    [
        UNTAGGED,
        UNTAGGED.replace("They", "\nThey"),
        "<text id=1>\n" + UNTAGGED + "</text>\n",
        "<s>\nThe\ncats\nwent\n.\n</s>\n<s>\nThey\n</s>\n",
        (
            "-DOCSTART- -X- O O\n\nThe DT B-NP O\ncats NNS I-NP O\nwent VBD B-VP O\n. . O O\n\n"
            "They PRP B-NP O\n"
        ),
        "# global.columns = FORM UPOS\nThe\tDET\ncats\tN\nwent\tV\n.\tP\n\nThey\tPRON\n",
    ],
    ids=["tree-tagger", "blank lines", "text only", "words only", "CoNLL-2003", "CoNLL-U Plus"],
)
def test_words_of_other_layouts_are_read(content, write, read_all):
    write("a.txt", content)
    assert [text.replace("\n", "\x1e") for text in read_all("a.txt").texts] == [
        "The\x1fcats\x1fwent\x1f.\x1eThey\x1e"
    ]


def test_conllu_plus_has_the_columns_that_it_names(write, read_all):
    lines = ["1-2\tal\t_\t_\tx", "1\ta\t0\ta\tx", "2\tel\t1\tel\tx", "3\tmar\t1\t_\tx"]
    write("a", "# global.columns = ID FORM HEAD LEMMA P:MWE\n" + "\n".join(lines) + "\n\n")
    assert read_all("a").texts == ["al\x1fmar\n"]
    assert read_all("a").blocks[0].heads.tolist() == [0, -1]
    reading = read_all("a", field="lemma")
    assert (reading.texts, reading.counts) == (["a\x1fel\x1fmar\n"], {"missing_lemmas": 1})
    write("a", "# global.columns = ID FORM\n1\ta\n\n# global.columns = ID FORM X\n")
    with pytest.raises(SourceError, match="a:4: other columns than at the start of the file"):
        read_all("a")
    write("a", "# global.columns = ID FORM\n1\ta\tb\n")
    with pytest.raises(SourceError, match=r"a:2: 3 columns, but `global\.columns` names 2"):
        read_all("a")


NAMED = {
    "WARC/1.0\r\nWARC-Type: conversion\r\n\r\ntext\r\n": "a web archive",
    "1\n00:00:01,000 --> 00:00:02,000\nHello there.\n\n": "subtitles",
    "WEBVTT\n\n00:01.000 --> 00:02.000\nHello.\n": "subtitles",
    "[Script Info]\nTitle: x\n": "subtitles (ASS)",
    "@UTF8\n@Begin\n*CHI:\tmore cookie .\n": "a CHAT transcript",
    "( (S (NP-SBJ (DT The) (NN cat)) (VP (VBD sat))))\n": "bracketed trees",
    "#begin document (a)\na 0 0 The DT\n": "CoNLL-2012",
    "The/at cat/nn sat/vbd on/in the/at mat/nn today/nr ./.\n": "words with tags",
    "1\tThe\tthe\tDT\n2\tcat\tcat\tNN\n\n1\tIt\tit\tPRP\n": "CoNLL with 4 columns",
    "1\tThe\tthe\n2\tcat\tcat\n": "CoNLL with 3 columns",
    "a dog\t3\none cat\t5\nmy bird\t6\n": "a table of 2 columns",
    "<page>\nSome text.\n</page>\n": "unknown markup",
}


@pytest.mark.parametrize(("content", "kind"), NAMED.items(), ids=NAMED.values())
def test_a_text_of_another_structure_is_named(content, kind, write, read_all):
    write("a.txt", content)
    with pytest.raises(SourceError) as caught:
        read_all("a.txt")
    assert str(caught.value).startswith(f"a.txt: {kind}")
    assert "\n" not in str(caught.value)
    assert read_all("a.txt", format="text").documents


@pytest.mark.parametrize(
    "content",
    [
        "He or/and she went.\nAnd then: 1/2 of it.\n",
        "a\tb\nc\n",
        "Two\tcells\nhere\tonly\n",
        "cat\ndog\n.\n",
        '<doc id="1" url="u" title="A">\nA\n\nText.\n</doc>\n',
    ],
)
def test_prose_is_not_taken_for_a_vertical_file(content, write, read_all):
    write("a", content)
    assert not read_all("a").blocks[0].pretokenized


@pytest.mark.parametrize(
    "content",
    ["<s>\n" + "word\n" * 200_000, "<doc " + "a" * 1_000_000, "<s>\na\t<" + "x=" * 500_000,
     "<doc " + 'a="' * 300_000 + ">\n<s>\nb\n", "1" + "\n" * 1_000_000 + "\t"],
    ids=["one sentence", "a tag", "a cell", "quotes", "line ends"],
)  # fmt: skip
def test_a_megabyte_of_one_kind_is_read(content, write, read_all):
    write("a.vert", content)
    read_all("a.vert", block_bytes=1 << 16)
