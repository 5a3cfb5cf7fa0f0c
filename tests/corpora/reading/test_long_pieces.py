"""Paragraphs and records longer than fits the memory are refused with their place."""

import bz2
import gzip
import io
import lzma
import sys
from types import SimpleNamespace

import pytest
import zstandard

from firth.corpora.common.errors import UnreadableError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.encoding.table_pool import TablePool
from firth.corpora.reading.readers import read
from firth.corpora.reading.text_blocks import ReadOptions

MOST = 3000
PROGRAM = 100 << 20  # bytes that no text can have
LONG = "word " * 1000  # 5,000 bytes
SHORT = "one line of some words\n"
PACKED = {
    "txt": bytes, "gz": gzip.compress, "bz2": bz2.compress, "xz": lzma.compress,
    "zst": zstandard.compress,
}  # fmt: skip
TEXTS = {  # a piece that is too long, and the line on which it starts
    "text": (SHORT * 90 + LONG, 91, {}),
    "lines": (SHORT * 90 + LONG, 91, {"documents": "line"}),
    "wrapped": (SHORT * 9 + "\n" + SHORT * 500, 11, {"wrapped": True, "documents": "block"}),
    "jsonl": ('{"text": "short"}\n' * 50 + f'{{"text": "{LONG}"}}\n', 51, {}),
    "csv": ("id,text\n1,short\n" + f'2,"{SHORT * 300}"\n', 3, {"format": "csv"}),
    "tsv": ("id\ttext\n1\tshort\n" + f"2\t{LONG}\n", 3, {"format": "tsv"}),
    "mediawiki": (f"<mediawiki>\n<page>{LONG}</page>\n", 1, {"format": "mediawiki"}),
    "tei": (f"<TEI>\n<text><body><p>{LONG}</p></body></text></TEI>", 1, {"format": "tei"}),
}


def refusal(name, line):
    """The message of a refused piece."""
    return (
        rf"^{name}:{line}: the paragraph or record that starts here has 0 MB or more, which do not "
        r"fit the memory; divide it, or pass more `memory`$"
    )


def blocks(path, options, most=MOST):
    """Return the bytes of all blocks."""
    return [
        len(raw.data)
        for raw in read([path], ReadOptions(**options), block_bytes=500, most_bytes=most)
    ]


@pytest.mark.parametrize("kind", TEXTS)
def test_a_piece_that_does_not_fit_is_refused_with_its_place(kind, tmp_path):
    text, line, options = TEXTS[kind]
    path = tmp_path / "long"
    path.write_text(text)
    with pytest.raises(UnreadableError, match=refusal(path, line)):
        blocks(path, options)
    assert blocks(path, options, most=20_000)


@pytest.mark.parametrize("kind", PACKED)
def test_files_of_any_size_are_read_if_their_paragraphs_fit(kind, tmp_path):
    path = tmp_path / f"lines.{kind}"
    path.write_bytes(PACKED[kind]((LONG[:2400] + "\n").encode() * 60))
    assert max(blocks(path, {})) <= MOST + 500
    assert sum(blocks(path, {})) == 60 * 2401


@pytest.mark.slow
@pytest.mark.parametrize("kind", PACKED)
def test_a_line_is_refused_before_all_of_it_is_decompressed(kind, tmp_path):
    path = tmp_path / f"line.{kind}"
    path.write_bytes(PACKED[kind](LONG.encode() * 400))
    with pytest.raises(UnreadableError, match=refusal(path, 1)):
        blocks(path, {})


def test_standard_input_is_refused_while_it_is_read(monkeypatch):
    pipe = io.BytesIO(LONG.encode() * 2000)
    monkeypatch.setattr(sys, "stdin", SimpleNamespace(buffer=pipe))
    with pytest.raises(UnreadableError, match=refusal("<stdin>", 1)):
        blocks("-", {})
    assert pipe.tell() < 100_000


@pytest.mark.parametrize("n_files", [1, 2])
@pytest.mark.parametrize(("keep_text", "fits"), [(False, 4000), (True, 2000)])
def test_a_share_of_the_memory_bounds_a_paragraph(n_files, keep_text, fits, tmp_path):
    """Of several files the beginnings are read before any work."""
    for number in range(n_files):
        (tmp_path / f"{number}.txt").write_text(SHORT + "word " * (fits // 5) + "\n")
    files = [tmp_path / f"{number}.txt" for number in range(n_files)]
    for memory, is_read in ((28_000, True), (24_000, False)):
        options = BuildOptions(memory=str(PROGRAM + memory), threads=1, keep_text=keep_text)
        request = make_request(files, read=ReadOptions(wrapped=False), options=options)
        out = tmp_path / f"corpus-{memory}"
        if is_read:
            assert encode_corpus(request, out, block_bytes=100).n_tokens
            continue
        with pytest.raises(UnreadableError, match="2: the paragraph or record that starts here"):
            encode_corpus(request, out, block_bytes=100)
        assert not out.exists()


def test_pieces_of_a_third_of_the_limit_are_encoded_one_by_one(tmp_path, monkeypatch):
    (tmp_path / "long.txt").write_text(("word " * 600 + "\n") * 40)
    at_once, running = [], set()
    encode = TablePool.encode

    def counted(self, raw, *others):
        running.add(id(raw))
        at_once.append(len(running))
        try:
            return encode(self, raw, *others)
        finally:
            running.discard(id(raw))

    monkeypatch.setattr(TablePool, "encode", counted)
    options = BuildOptions(memory=str(PROGRAM + 28_000), threads=3)
    request = make_request([tmp_path / "long.txt"], options=options)
    corpus = encode_corpus(request, tmp_path / "corpus", block_bytes=100)
    assert corpus.n_tokens == 24_000
    assert set(at_once) == {1}
