"""build_corpus: building or opening a corpus in one call."""

import io
import json
import re
import sys
from pathlib import Path

import pytest

from firth.corpora.common.errors import ArtifactError, SourceError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.segment import TextSettings

ONE_THREAD = BuildOptions(threads=1)


@pytest.fixture
def text(tmp_path):
    file = tmp_path / "text.txt"
    file.write_text("The cat sat.\n\nThe dog ran.\n", encoding="utf-8")
    return file


@pytest.mark.slow
def test_an_up_to_date_corpus_is_opened_not_rebuilt(text, tmp_path, capsys):
    out = tmp_path / "corpus"
    made = build_corpus(text, out, options=ONE_THREAD)
    assert "too little text for a held-out slice" in capsys.readouterr().err
    before = (out / "manifest.json").stat().st_ino

    assert build_corpus([str(text)], str(out), options=ONE_THREAD).fingerprint == made.fingerprint
    assert (out / "manifest.json").stat().st_ino == before
    build_corpus(text, out, options=ONE_THREAD, force=True)
    assert (out / "manifest.json").stat().st_ino != before


@pytest.mark.parametrize(
    ("n_texts", "n_files", "shown", "end"),
    [(1, 13, 10, "; and 3 more (or pass `skip_unreadable=True` to leave these files out)"),
     (0, 2, 2, "its text first")],
)  # fmt: skip
def test_a_long_list_of_files_is_cut(n_texts, n_files, shown, end, tmp_path):
    for number in range(n_files):
        (tmp_path / f"{number:02}.pdf").write_bytes(PDF)
    for number in range(n_texts):
        (tmp_path / f"{number}.txt").write_text("a text\n")
    read = ReadOptions(skip_unreadable=not n_texts)
    with pytest.raises(SourceError, match=rf"^{n_files} of {n_files + n_texts} files ") as caught:
        build_corpus(tmp_path, tmp_path / "out", read=read, options=ONE_THREAD)
    assert str(caught.value).count("a PDF file") == shown
    assert str(caught.value).endswith(end)


def test_other_settings_replace_an_existing_corpus_only_if_forced(text, tmp_path):
    out = tmp_path / "corpus"
    build_corpus(text, out, options=ONE_THREAD)
    settings = {"read": ReadOptions(documents="block"), "words": TextSettings(keep_case=True)}

    with pytest.raises(ArtifactError):
        build_corpus(text, out, options=ONE_THREAD, **settings)

    corpus = build_corpus(text, out, options=ONE_THREAD, force=True, **settings)
    assert corpus.n_documents == 2
    assert "The" in list(corpus.vocabulary.words(0, len(corpus.vocabulary)))


def test_a_corpus_is_not_built_from_a_corpus(text, tmp_path):
    corpus = build_corpus(text, tmp_path / "corpus", options=ONE_THREAD)
    with pytest.raises(SourceError, match=r"corpus: a corpus already; train on it as it is$"):
        build_corpus(corpus.path, tmp_path / "other")


PDF = b"%PDF-1.4 ..."


@pytest.fixture
def folder(tmp_path):
    """A folder of two texts, an empty file, and files that cannot be read for various reasons."""
    texts = {"a.txt": "The cat sat.\n", "m.txt": "A dog ran.\n" * 9, "empty.txt": ""}
    for name, content in texts.items():
        (tmp_path / "f").mkdir(exist_ok=True)
        (tmp_path / "f" / name).write_text(content)
    (tmp_path / "f/b.pdf").write_bytes(PDF)
    (tmp_path / "f/latin.txt").write_bytes(b"The caf\xe9.\n")
    (tmp_path / "f/late.txt").write_bytes(b"word\n" * 30000 + b"\xe9\n")
    (tmp_path / "f/z.txt.gz").write_bytes(b"\x1f\x8b\x08 not gzip")
    (tmp_path / "f/link").symlink_to(tmp_path / "nothing")
    return tmp_path / "f"


def test_files_that_cannot_be_read_are_listed_together(folder, tmp_path):
    with pytest.raises(SourceError) as caught:
        build_corpus(folder, tmp_path / "out", options=ONE_THREAD)
    message = str(caught.value)
    assert message.startswith("4 of 8 files cannot be read: ")
    assert message.endswith(" (or pass `skip_unreadable=True` to leave these files out)")
    assert "\n" not in message
    names = re.findall(rf"{re.escape(str(folder))}/([a-z.]+)", message)
    assert names == ["b.pdf", "latin.txt", "link", "z.txt.gz"], message
    for name in ("b.pdf", "latin.txt", "link"):
        (folder / name).unlink()
    with pytest.raises(SourceError, match=r"z.txt.gz: .*\(or pass `skip_unreadable=True` to"):
        build_corpus(folder, tmp_path / "out", options=ONE_THREAD)
    (folder / "z.txt.gz").unlink()
    with pytest.raises(SourceError, match=r"/late.txt:30001: byte 0xE9 is not UTF-8; "):
        build_corpus(folder, tmp_path / "out", options=ONE_THREAD)
    assert not (tmp_path / "out").exists()


@pytest.mark.parametrize("threads", [1, 3])
def test_skipped_files_change_nothing_but_the_list_of_sources(folder, tmp_path, threads, capsys):
    options, read = BuildOptions(threads=threads), ReadOptions(skip_unreadable=True)
    corpus = build_corpus(folder, tmp_path / "out", read=read, options=options)
    notes = capsys.readouterr().err
    assert f"{folder}/empty.txt: empty, skipped" in notes
    assert f"5 of 8 files were skipped, since they cannot be read: {folder}/b.pdf: a PDF" in notes

    left = [Path(s["name"]).name for s in corpus.manifest["sources"] if "unreadable" in s]
    assert left == ["b.pdf", "late.txt", "latin.txt", "link", "z.txt.gz"]
    texts = [folder / "a.txt", folder / "m.txt"]
    alone = build_corpus(texts, tmp_path / "alone", options=options)
    assert corpus.manifest["arrays"] == alone.manifest["arrays"]
    assert [list(shard.ids) for shard in corpus.shards] == [list(s.ids) for s in alone.shards]

    before = (tmp_path / "out/manifest.json").stat().st_ino
    build_corpus(folder, tmp_path / "out", read=read, options=options)
    assert (tmp_path / "out/manifest.json").stat().st_ino == before
    assert "empty" not in capsys.readouterr().err


def test_standard_input_is_read_beside_skipped_files(folder, tmp_path, monkeypatch):
    monkeypatch.setattr(sys, "stdin", io.TextIOWrapper(io.BytesIO(b"A cow.\n"), encoding="utf-8"))
    read = ReadOptions(skip_unreadable=True)
    corpus = build_corpus(["-", folder], tmp_path / "out", read=read, options=ONE_THREAD)
    assert corpus.vocabulary.id_of("cow") is not None
    assert sum("unreadable" in source for source in corpus.manifest["sources"]) == 5


def test_options_that_do_not_fit_a_file_do_not_make_it_unreadable(folder, tmp_path):
    (folder / "c.jsonl").write_text('{"body": "A cow."}\n')
    for read in (ReadOptions(skip_unreadable=True), ReadOptions(keep=("date",))):
        with pytest.raises(
            SourceError, match=r"^\S+/(c.jsonl:1: no|a.txt: plain text has no) field"
        ):
            build_corpus(folder, tmp_path / "out", read=read, options=ONE_THREAD)


def test_a_kept_field_may_be_missing_at_the_beginnings_of_files(tmp_path):
    records = [{"text": "word " * 100}] * 500 + [{"text": "a word", "year": 1999}]
    for name in ("a.jsonl", "b.jsonl"):
        (tmp_path / name).write_text("".join(json.dumps(each) + "\n" for each in records))
    keep = ReadOptions(keep=("year",))
    corpus = build_corpus(tmp_path, tmp_path / "out", read=keep, options=ONE_THREAD)
    assert corpus.manifest["documents"] == 2 * len(records)


def test_a_folder_of_text_may_have_files_of_other_programs(text, tmp_path):
    for name in ("study.toml", "maker.json", "checksums.json"):
        (tmp_path / name).write_text("{}\n")
    build_corpus(tmp_path, tmp_path / "out", options=ONE_THREAD, read=ReadOptions(format="text"))
