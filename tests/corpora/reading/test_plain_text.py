"""Plain text: documents and paragraphs."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from corpora.reading.readers import ReadOptions, read

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
