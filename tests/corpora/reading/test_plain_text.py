"""Plain text: documents and paragraphs."""

import itertools
import lzma
import re
import textwrap

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.reading.detect import is_hard_wrapped
from firth.corpora.reading.readers import read
from firth.corpora.reading.text_blocks import ReadOptions

POEM = "one\ntwo\n\n\nthree\n \t\nfour\nfive"


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 1 << 20])
def test_a_file_is_one_document_however_many_blocks_it_takes(block_bytes, write, read_all):
    write("a.txt", POEM)
    write("b.txt", "six\n")
    reading = read_all(["a.txt", "b.txt"], block_bytes=block_bytes)
    assert reading.texts == [POEM + "\n", "six\n"]
    assert [document.position for document in reading.documents] == [1, 1]


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 1 << 20])
def test_every_non_blank_line_can_be_a_document(block_bytes, write, read_all):
    write("a.txt", "\n" + POEM)
    reading = read_all("a.txt", documents="line", block_bytes=block_bytes)
    assert reading.texts == ["one\n", "two\n", "three\n", "four\n", "five\n"]
    assert [document.position for document in reading.documents] == [2, 3, 6, 8, 9]


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 9, 1 << 20])
def test_blank_lines_can_separate_documents(block_bytes, write, read_all):
    write("a.txt", "\n \n" + POEM)
    reading = read_all("a.txt", documents="block", block_bytes=block_bytes)
    assert reading.texts == ["one\ntwo\n", "three\n", "four\nfive\n"]
    assert [document.position for document in reading.documents] == [3, 7, 9]


@pytest.mark.parametrize("block_bytes", [1, 2, 5, 9, 1 << 20])
def test_wrapped_lines_are_joined_into_paragraphs(block_bytes, write, read_all):
    write("a.txt", POEM)
    (text,) = read_all("a.txt", wrapped=True, block_bytes=block_bytes).texts
    assert [p for p in text.split("\n") if p.strip()] == ["one two", "three", "four five"]
    reading = read_all("a.txt", wrapped=True, documents="block", block_bytes=block_bytes)
    assert reading.texts == ["one two\n", "three\n", "four five\n"]


@pytest.mark.parametrize("block_bytes", [1, 2, 3, 1 << 20])
@pytest.mark.parametrize("line_end", ["\n", "\r\n", "\r"])
def test_all_three_kinds_of_line_end_are_equivalent(line_end, block_bytes, write, read_all):
    write("a.txt", POEM.replace("\n", line_end))
    for options in ({}, {"documents": "line"}, {"documents": "block"}, {"wrapped": True}):
        expected = read_all("a.txt", block_bytes=1 << 20, **options).texts
        assert read_all("a.txt", block_bytes=block_bytes, **options).texts == expected
    assert read_all("a.txt", block_bytes=block_bytes).texts == [POEM + "\n"]


def test_a_line_longer_than_a_block_makes_a_longer_block(write):
    write("a.txt", "word " * 1000 + "\nshort\n")
    sizes = [len(raw.data) for raw in read(["a.txt"], ReadOptions(), block_bytes=64)]
    assert sum(sizes) == 5007
    assert max(sizes) >= 5001


def test_a_block_without_blank_lines_is_cut_at_line_ends(write, read_all):
    write("a.txt", "word\n" * 1000)
    reading = read_all("a.txt", documents="block", block_bytes=100)
    assert reading.texts == ["word\n" * 1000]
    assert max(len(block.text) for block in reading.blocks) <= 200


def test_blank_text_is_a_document_only_as_a_whole_file(write, read_all):
    write("a.txt", "\n \n\n")
    for documents, n in (("file", 1), ("line", 0), ("block", 0)):
        assert len(read_all("a.txt", documents=documents, block_bytes=1).documents) == n


LINES = st.lists(
    st.text(st.characters(exclude_characters="\0\r\n", exclude_categories=["Cs"]), max_size=12)
    | st.sampled_from(["", " ", "\t"]),
    max_size=12,
)
SIZES = st.sampled_from([1, 2, 3, 8, 1 << 20])


@pytest.mark.slow
@given(lines=LINES, block_bytes=SIZES, line_end=st.sampled_from(["\n", "\r\n", "\r"]))
def test_paragraphs_reproduce_the_text(lines, block_bytes, line_end, tmp_path_factory, read_all):
    text = "a" + line_end.join(lines)  # not empty, and no format shows itself
    path = tmp_path_factory.mktemp("text") / "a"
    path.write_bytes(text.encode())
    expected = text.replace("\r\n", "\n").replace("\r", "\n")
    ended = expected if expected.endswith("\n") else expected + "\n"
    options = {"format": "text", "block_bytes": block_bytes, "errors": "strict"}
    if re.search("[\x01-\x06\x0e-\x1a]", text):
        return  # few bytes of which many are control bytes: refused as binary
    assert read_all(path, **options).texts == [ended]
    filled = [line for line in expected.split("\n") if line.strip(" \t\x0b\x0c")]
    by_line = read_all(path, documents="line", **options)
    assert by_line.texts == [line + "\n" for line in filled]
    numbers = [n for n, line in enumerate(expected.split("\n"), 1) if line in filled]
    assert [document.position for document in by_line.documents] == numbers
    blocks = re.split(r"\n(?:[ \t\x0b\x0c]*\n)+", ended + "\n")
    blocks = [block for block in blocks if block.strip(" \t\x0b\x0c\n")]
    assert read_all(path, documents="block", **options).texts == [b + "\n" for b in blocks]
    wrapped = read_all(path, documents="block", wrapped=True, **options)
    assert wrapped.texts == [block.replace("\n", " ") + "\n" for block in blocks]


def prose(seed, paragraphs=12):
    """Paragraphs of made-up words, in sentences that begin with a capital."""
    rng = np.random.default_rng(seed)
    letters = np.array(list("abdeghiklmnorstu"))
    found = []
    for _ in range(paragraphs):
        words = ["".join(rng.choice(letters, size=rng.integers(1, 11))) for _ in range(90)]
        ends = [i for i, end in enumerate(rng.random(len(words)) < 0.08, 1) if end] + [len(words)]
        sentences = [" ".join(words[a:b]) for a, b in itertools.pairwise([0, *ends]) if a < b]
        found.append(" ".join(f"{sentence.capitalize()}." for sentence in sentences))
    return found


def wrapped(paragraphs, width, between="\n\n"):
    return between.join(textwrap.fill(text, width) for text in paragraphs) + "\n"


SONNET = """Shall I compare thee to a summer's day?
Thou art more lovely and more temperate:
Rough winds do shake the darling buds of May,
And summer's lease hath all too short a date;
Sometime too hot the eye of heaven shines,
And often is his gold complexion dimm'd;
And every fair from fair sometime declines,
By chance or nature's changing course untrimm'd;
But thy eternal summer shall not fade,
Nor lose possession of that fair thou ow'st;
Nor shall death brag thou wander'st in his shade,
When in eternal lines to time thou grow'st:
So long as men can breathe or eyes can see,
So long lives this, and this gives life to thee.
"""
SENTENCES = "\n".join(" ".join(prose(3)).split(". ")) + "\n"
NOT_WRAPPED = {
    "verse": SONNET,
    "verse in lower case": SONNET.lower(),
    "long verse": "".join(f"{line} and {line}\n" for line in SONNET.splitlines()),
    "a paragraph on each line": "\n".join(prose(2)),
    "a sentence on each line": SENTENCES,
    "the same in lower case": SENTENCES.lower(),
    "dialog": "'Yes,' he said.\n'Are you certain of it?'\n'No.'\n" * 20,
    "a table": "".join(f"{n:8} {n * n:12}   ok   {n / 7:30.12f}   item\n" for n in range(99)),
    "Chinese": "我们昨天晚上一起去看了一场很有意思的电影，然后回家吃了晚饭。" * 40,
    "wrapped Chinese": "我们昨天晚上一起去看了一场很有意思的电影，然后回家吃了晚饭我们昨天一起\n"
    * 40,
    "too short to tell": wrapped(prose(4, 1)[0:1], 90)[:400],
}


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("width", [55, 60, 66, 72, 79, 90])
def test_hard_wrapped_prose_is_read_like_the_same_prose_unwrapped(width, seed, write, read_all):
    paragraphs = prose(seed)
    write("a.txt", wrapped(paragraphs, width))
    reading = read_all("a.txt")
    assert [line for line in reading.texts[0].split("\n") if line] == paragraphs
    assert reading.files[0]["wrapped"] is True
    assert read_all("a.txt", wrapped=False).texts == [wrapped(paragraphs, width)]
    assert "wrapped" not in read_all("a.txt", documents="line").files[0]


@pytest.mark.parametrize("kind", NOT_WRAPPED)
def test_other_lines_stay_as_they_are(kind, write, read_all):
    write("a.txt", NOT_WRAPPED[kind])
    reading = read_all("a.txt")
    assert reading.texts[0].rstrip("\n") == NOT_WRAPPED[kind].rstrip("\n")
    assert "wrapped" not in reading.files[0]


def test_each_file_is_judged_by_itself(write, read_all):
    write("f/a.txt", wrapped(prose(1), 70))
    write("f/b.txt", "\n".join(prose(2)))
    assert [record.get("wrapped") for record in read_all("f").files] == [True, None]


def test_wrapped_text_without_blank_lines_is_left_as_it_is_and_recorded(write, read_all):
    text = wrapped(prose(1, 60), 70, between="\n")
    write("a.txt", text)
    reading = read_all("a.txt")
    assert (reading.texts, reading.files[0]["wrapped"]) == ([text], False)


@pytest.mark.parametrize("name", ["enwiki2015-AB", "wikitext2-valid", "eltec-de", "zh-modern"])
def test_real_text_is_found_wrapped_only_if_it_is(name, shared_data):
    with lzma.open(shared_data / "corpora" / f"{name}.txt.xz") as file:
        lines = file.read(300_000).decode("utf-8", "ignore").split("\n")
    text = [line.strip() for line in lines if len(line) > 200 or name == "zh-modern"]
    assert len(text) > 80
    for first in range(0, len(text) - 40, 40):
        part = text[first : first + 40]
        assert not is_hard_wrapped("\n".join(part).encode())
        found = is_hard_wrapped(wrapped(part, 55 + first % 36).encode())
        assert found == (name != "zh-modern")
