"""Building, opening and viewing a corpus, against naive twins in plain Python."""

import errno
import functools
import io
import json
import lzma
import os
import re
import sys
import threading
import time
from collections import Counter

import numpy as np
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st

from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, SourceError
from firth.corpora.encoding import pipeline
from firth.corpora.encoding.build import open_or_build, up_to_date
from firth.corpora.encoding.pipeline import TypeRuns, encode_corpus
from firth.corpora.encoding.request import BuildOptions, make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.statistics import describe
from firth.corpora.text.segment import TextSettings, lemmatizer
from firth.corpora.text.sentences.split import split_sentences
from tests.corpora.small_corpora import arrays, build, parts_of, request, words_of

NEWS = (
    "The cat sat. The cat, on the mat, slept.\nA dog barked!\n"
    "Two dogs bark. The end.\nA dog barked!\n"
)
DOCUMENTS = st.lists(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"]) | st.sampled_from("ab .\n"), max_size=80
    ),
    min_size=1,
    max_size=8,
)


def naive_words(text: str, text_settings: TextSettings) -> list[list[str]]:
    """Return the non-empty sentences of a paragraph as lists of words."""
    return [words for s in split_sentences(text) if (words := text_settings.words(s))]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(DOCUMENTS, st.sampled_from(["words", "whitespace", "characters"]))
def test_the_stored_corpus_matches_the_text(tmp_path_factory, documents, segmenter):
    tmp_path = tmp_path_factory.mktemp("store")
    text_settings = TextSettings(segmenter=segmenter)
    folder = tmp_path / "texts"
    folder.mkdir()
    for number, document in enumerate(documents):
        (folder / f"{number:03}.txt").write_text(document, encoding="utf-8", newline="")
    paragraphs = [
        naive_words(line, text_settings) for text in documents for line in text.split("\n")
    ]
    sentences = [sentence for paragraph in paragraphs for sentence in paragraph]
    if not sentences:
        with pytest.raises(FirthError):
            encode_corpus(request(folder, segmenter=segmenter), tmp_path / "out")
        return

    corpus = encode_corpus(request(folder, segmenter=segmenter), tmp_path / "out")

    assert words_of(corpus, "sentences") == sentences
    assert words_of(corpus, "paragraphs") == [[w for s in p for w in s] for p in paragraphs if p]
    assert words_of(corpus, "documents") == [
        [w for line in text.split("\n") for s in naive_words(line, text_settings) for w in s]
        for text in documents
        if text
    ]
    counts = Counter(word for sentence in sentences for word in sentence)
    assert corpus.vocabulary.words() == sorted(counts, key=lambda w: (-counts[w], w))
    assert corpus.vocabulary.counts.tolist() == [counts[w] for w in corpus.vocabulary.words()]
    documents_with = Counter(w for d in words_of(corpus, "documents") for w in set(d))
    assert corpus.vocabulary.document_counts.tolist() == [
        documents_with[w] for w in corpus.vocabulary.words()
    ]
    corpus.verify()


@pytest.mark.slow
@pytest.mark.parametrize("lemmatize", [None, "en"])
def test_arrays_do_not_depend_on_threads_or_memory(lemmatize, tmp_path):
    rng = np.random.default_rng(3)
    words = ["cat", "cats", "Cats", "mouse", "mice", "go", "went", *(f"w{n}" for n in range(5000))]
    drawn = [words[int(n)] for n in rng.zipf(1.3, size=60_000) % len(words)]
    text = "\n".join(" ".join(drawn[i : i + 12]) for i in range(0, len(drawn), 12))
    sizes = {"shard_tokens": 10_000, "block_bytes": 8_000}
    settings = {"documents": "line", "lemmatize": lemmatize}
    one = build(tmp_path, text, "one", sizes, threads=1, **settings)
    two = build(tmp_path, text, "two", sizes, threads=2, **settings)
    small = build(tmp_path, text, "small", sizes, threads=2, memory="1K", **settings)
    assert len(one.shards) > 3
    assert arrays(one) == arrays(two) == arrays(small)
    assert one.fingerprint == two.fingerprint == small.fingerprint
    if lemmatize:
        assert len(one.vocabulary) < len(one.forms)
        plain = build(tmp_path, text, "plain", sizes, documents="line")
        held_out = [list(shard.held_out) for shard in plain.shards]
        assert [list(shard.held_out) for shard in one.shards] == held_out


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
@pytest.mark.slow
def test_arrays_do_not_depend_on_compression_or_pipes(tmp_path):
    sizes = {"shard_tokens": 1_000, "block_bytes": 3_000}
    text = "\r\n".join(f"w{n % 700} x{n % 11} y{n % 400}." for n in range(9000))
    plain = build(tmp_path, text, sizes=sizes, documents="line")
    (tmp_path / "packed").write_bytes(lzma.compress(text.encode()))
    packed = encode_corpus(
        request(tmp_path / "packed", documents="line"), tmp_path / "two", **sizes
    )
    os.mkfifo(tmp_path / "pipe")
    thread = threading.Thread(target=(tmp_path / "pipe").write_bytes, args=(text.encode(),))
    thread.start()
    piped = encode_corpus(request(tmp_path / "pipe", documents="line"), tmp_path / "three", **sizes)
    thread.join()
    assert len(plain.shards) > 3
    assert arrays(plain) == arrays(packed) == arrays(piped)


@pytest.mark.slow
@pytest.mark.parametrize(("place", "name"), [(TypeRuns, "add"), (os, "posix_fallocate")])
def test_a_full_disk_is_one_error_and_leaves_nothing(tmp_path, monkeypatch, place, name):
    def full(*_):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr(place, name, full)
    with pytest.raises(ArtifactError, match=r"news: the disk is full"):
        build(tmp_path, NEWS * 500, sizes={"block_bytes": 1_000}, threads=1, memory="1K")
    assert [path.name for path in tmp_path.iterdir()] == ["news.txt"]


def test_an_interrupted_build_waits_for_its_threads_before_it_removes_its_files(
    tmp_path, monkeypatch
):
    source = tmp_path / "a.txt"
    source.write_text("the cats sat\n" * 30)
    begun, ended, both = [], [], threading.Barrier(2)

    def slow(*_):
        begun.append(1)
        if len(begun) <= 2 and both.wait(20) == 0:
            raise KeyboardInterrupt
        time.sleep(0.2)
        (tmp_path / "out.partial/late").mkdir(parents=True, exist_ok=True)
        ended.append(1)

    monkeypatch.setattr(pipeline, "count_documents", slow)
    wanted = request(source, documents="line", threads=2)
    with pytest.raises(KeyboardInterrupt):
        encode_corpus(wanted, tmp_path / "out", shard_tokens=3, block_bytes=30)
    assert len(ended) == len(begun) - 1 < 9
    assert not (tmp_path / "out.partial").exists()


def test_a_symlink_as_output_stays_a_symlink(tmp_path):
    (tmp_path / "link").symlink_to(tmp_path / "place")
    (tmp_path / "news.txt").write_text(NEWS)
    for force in (False, True):
        encode_corpus(request(tmp_path / "news.txt"), tmp_path / "link", force=force)
        assert (tmp_path / "link").is_symlink()
        Corpus.open(tmp_path / "place").verify()
    assert sorted(path.name for path in tmp_path.iterdir()) == ["link", "news.txt", "place"]


def test_pruned_types_become_one_entry(tmp_path):
    full = build(tmp_path, NEWS)
    pruned = build(tmp_path, NEWS, name="pruned", max_types=3)
    assert pruned.vocabulary.words() == [*full.vocabulary.words(0, 3), ""]
    assert pruned.vocabulary.counts.sum() == full.vocabulary.counts.sum()
    assert "" not in pruned.view(documents="all").words
    n_pruned = full.n_tokens - full.vocabulary.counts[:3].sum()
    note = f"{n_pruned} tokens are of types beyond `max_types`, merged into one type"
    assert note in pruned.advice()
    assert not any("max_types" in line for line in full.advice())


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=40)
@given(
    DOCUMENTS,
    st.integers(1, 3),
    st.none() | st.integers(1, 5),
    st.sampled_from(["keep", "drop"]),
    st.sampled_from(["sentence", "paragraph", "document"]),
    st.sampled_from(["train", "held-out", "all"]),
)
def test_a_view_keeps_the_selected_words_and_documents(
    tmp_path_factory, texts, min_count, max_vocabulary, punctuation, boundary, documents
):
    tmp_path = tmp_path_factory.mktemp("view")
    text = "\n".join(t.replace("\n", " ") for t in [*texts, "a b", "a . b", "word"])
    corpus = build(tmp_path, text, documents="line", held_out=0.4)
    assume(corpus.held_out_unit == "document")  # else parts of a document may be selected
    flags = np.concatenate([shard.held_out for shard in corpus.shards])
    chosen = {"train": ~flags, "held-out": flags, "all": flags | True}[documents]
    level = boundary + "s"
    document_of = np.repeat(np.arange(len(flags)), np.diff(corpus.shards[0].documents))
    starts = corpus.shards[0].array(level)[:-1].tolist()
    parts = [
        part
        for part, start in zip(words_of(corpus, level), starts, strict=True)
        if part and chosen[document_of[start]]
    ]
    marks = dict(zip(corpus.vocabulary.words(), corpus.vocabulary.punctuation, strict=True))
    counts = Counter(w for part in parts for w in part)
    order = {w: i for i, w in enumerate(corpus.vocabulary.words())}
    kept = [
        w
        for w in sorted(counts, key=lambda w: (-counts[w], order[w]))
        if counts[w] >= min_count and not (punctuation == "drop" and marks[w])
    ][:max_vocabulary]
    options = {
        "min_count": min_count,
        "max_vocabulary": max_vocabulary,
        "punctuation": punctuation,
    }
    if not kept:
        with pytest.raises(SettingError, match=r"pass a smaller `min_count`$"):
            corpus.view(**options, boundary=boundary, documents=documents)
        return

    view = corpus.view(**options, boundary=boundary, documents=documents)

    assert view.words == kept
    assert view.counts.tolist() == [counts[w] for w in kept]
    assert parts_of(view) == [
        left for part in parts if (left := [w for w in part if w in set(kept)])
    ]


def test_up_to_date_detects_every_change(tmp_path):
    corpus, source, other = build(tmp_path, NEWS), tmp_path / "news.txt", tmp_path / "other.txt"
    assert up_to_date(corpus.path, request(source))
    assert not up_to_date(corpus.path, request(source, keep_case=True))
    source.touch()
    assert up_to_date(corpus.path, request(source)), "other time, same content"
    other.write_text(NEWS.upper())
    os.utime(other, ns=(0, source.stat().st_mtime_ns))
    assert not up_to_date(corpus.path, request(other)), "other name, same size and time"
    source.write_text(NEWS.replace("mat", "hat"), encoding="utf-8")
    assert not up_to_date(corpus.path, request(source))
    assert not up_to_date(tmp_path / "nowhere", request(source))


def test_verify_names_a_corrupt_shard(tmp_path):
    corpus = build(tmp_path, NEWS)
    path = corpus.path / "shards" / "00000" / "ids.npy"
    raw = bytearray(path.read_bytes())
    raw[-1] ^= 1
    path.write_bytes(raw)
    with pytest.raises(ArtifactError) as refusal:
        corpus.verify()
    assert str(refusal.value) == (f"{path}: checksum mismatch, the file is damaged; recreate news")


def test_kept_fields_of_any_name_are_stored_inside_the_corpus(tmp_path):
    fields = ("meta/date", "a/../../../../evil", "%2F", "größe", "dc:title")
    source = tmp_path / "posts.jsonl"
    records = {"text": "One two.", **{name: name for name in fields}}, {"text": "Three.", "b": 1}
    source.write_text("\n".join(map(json.dumps, records)))
    corpus = encode_corpus(request(source, keep=fields), tmp_path / "posts")
    assert [corpus.shards[0].field(name) for name in fields] == [[name, ""] for name in fields]
    assert corpus.shards[0].array("document_positions").tolist() == [1, 2]
    assert corpus.manifest["document_sources"] == [str(source)]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["posts", "posts.jsonl"]
    corpus.verify()
    for path in corpus.shards[0].directory.glob("field.dc%3A*"):  # as earlier versions named them
        path.rename(path.with_name(path.name.replace("%3A", ":")))
    assert Corpus.open(corpus.path).shards[0].field("dc:title") == ["dc:title", ""]


@pytest.mark.usefixtures("parse_on_threads")
def test_pretokenized_text_is_stored_and_queried_unchanged(tmp_path):
    source = tmp_path / "a.conllu"
    rows = ["1\tDon't\tdo not", "2\tpanic\tpanic", "3\t!\t!"]
    source.write_text(
        "\n".join(row + "\t_" * 7 for row in rows) + "\n\n1\tOk\tok" + "\t_" * 7 + "\n\n",
        encoding="utf-8",
    )
    corpus = encode_corpus(request(source), tmp_path / "given")
    assert words_of(corpus, "sentences") == [["don't", "panic", "!"], ["ok"]]
    assert corpus.text.words("Don't") == ["don't"]
    text = tmp_path / "b.txt"
    text.write_text("Running text.", encoding="utf-8")
    with pytest.raises(SourceError, match=r"mixes tokenized text with plain text"):
        encode_corpus(request(source, text), tmp_path / "mixed")
    mixed = encode_corpus(request(source, text, segmenter="whitespace"), tmp_path / "mixed")
    assert words_of(mixed, "documents") == [["don't", "panic", "!", "ok"], ["running", "text."]]


TOKENIZED = "1\tOk\tok" + "\t_" * 7 + "\n\n"
SIZE = "`memory` must be a size such as 4G or 512M, got {!r}"
REFUSED = {
    "other options": (
        lambda _: make_request(["lee"], read=ReadOptions(documents="block")),
        "lee: is read with `documents=line`, not block; drop `documents`",
    ),
    "characters": (
        lambda build_of: build_of(TOKENIZED, format="conllu", segmenter="characters"),
        "already tokenized, so `segmenter=characters` does not apply; drop it",
    ),
    "lemmas": (
        lambda build_of: build_of(TOKENIZED, format="conllu", lemmatize="en"),
        "already tokenized, so `lemmatize=en` does not apply; drop it",
    ),
    "language": (
        lambda build_of: build_of(NEWS, lemmatize="xx"),
        "`lemmatize=xx`: no lemmas of this language; the lang",
    ),
    "lemmas of characters": (
        lambda _: TextSettings(lemmatize="en", segmenter="characters"),
        "TextSettings.lemmatize needs the words of an alphab",
    ),
    **{
        f"size {size}": (lambda _, size=size: BuildOptions(memory=size), SIZE.format(size))
        for size in ("", "4X", "0", "-1G")
    },
}


@pytest.mark.usefixtures("parse_on_threads")
@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_settings_that_do_not_fit_are_refused(call, message, tmp_path):
    if "lemmatize=" in message:
        pytest.importorskip("simplemma")
    with pytest.raises(FirthError, match=re.escape(message)):
        call(functools.partial(build, tmp_path))


def test_lemmas_need_a_package(tmp_path, monkeypatch):
    assert "lemmatize" not in TextSettings().to_json()
    monkeypatch.setitem(sys.modules, "simplemma", None)
    lemmatizer.cache_clear()
    message = r"the package simplemma; pip install 'firth\[lemmas\]'$"
    with pytest.raises(SettingError, match=message):
        build(tmp_path, NEWS, lemmatize="en")


FORMS = "The Cats saw better Men. Houses were built; a café's walls, THE 2 cats' mice-catching!"


@pytest.mark.parametrize("options", [{}, {"keep_case": True}, {"strip_accents": True}], ids=str)
def test_lemmas_replace_forms_which_are_kept(options, tmp_path):
    pytest.importorskip("simplemma")
    corpus = build(tmp_path, FORMS, lemmatize="en", segmenter="words", **options)
    sentences = FORMS.replace("Men. ", "Men.\n").split("\n")
    lemmas = [[corpus.text.lemma(form) for form in naive_words_kept(s)] for s in sentences]
    assert words_of(corpus, "sentences") == lemmas
    assert [corpus.text.words(sentence) for sentence in sentences] == lemmas
    forms = [corpus.forms[i] for shard in corpus.shards for i in shard.forms]
    assert forms == [form for sentence in sentences for form in naive_words_kept(sentence)]
    if not options:
        assert lemmas[0] == ["the", "cat", "see", "good", "man", "."]
        assert corpus.vocabulary.counts[corpus.vocabulary.id_of("the")] == 2
    assert build(tmp_path, FORMS, "plain").forms is None


def naive_words_kept(text: str) -> list[str]:
    """Split a text without any normalization."""
    return re.findall(r"\w+|[^\w\s]", text)


@pytest.mark.process
def test_jieba_words_reach_the_store(tmp_path):
    pytest.importorskip("rjieba", reason="the extra zh is not installed")
    corpus = build(tmp_path, "我来到北京。我爱清华大学！\n再见。", segmenter="jieba")
    assert words_of(corpus, "sentences") == [
        ["我", "来到", "北京", "。"], ["我", "爱", "清华大学", "！"], ["再见", "。"],
    ]  # fmt: skip


def test_source_names_need_not_be_utf8(tmp_path):
    source = tmp_path / os.fsdecode(b"b\xe9.txt")
    source.write_text(NEWS)
    corpus = encode_corpus(request(source), tmp_path / os.fsdecode(b"out\xff"))
    assert corpus.manifest["document_sources"] == [f"{tmp_path}/b\ufffd.txt"]
    corpus.verify()


def test_progress_has_no_total_for_a_pipe(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_text(NEWS)
    monkeypatch.setattr("sys.stdin", io.TextIOWrapper(io.BytesIO(NEWS.encode()), encoding="utf-8"))
    steps = []
    encode_corpus(
        request(tmp_path / "a.txt", "-"),
        tmp_path / "out",
        progress=lambda *step: steps.append(step),
    )
    assert steps[-1] == (2 * len(NEWS), None)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda manifest: [], "has corpus format None, this version reads 1"),
        (lambda manifest: {}, "has corpus format None, this version reads 1"),
        (
            lambda manifest: {**manifest, "held_out_unit": "chapter"},
            "held_out_unit is missing or inv",
        ),
    ],
    ids=["list", "empty", "unit"],
)
def test_an_invalid_manifest_is_an_error(change, message, tmp_path):
    corpus = build(tmp_path, NEWS)
    path = corpus.path / "manifest.json"
    path.write_text(json.dumps(change(json.loads(path.read_text()))))
    with pytest.raises(ArtifactError, match=message):
        Corpus.open(corpus.path)
    assert not up_to_date(corpus.path, request(tmp_path / "news.txt"))


@pytest.mark.parametrize("strip_accents", [False, True])
def test_replaced_and_dropped_bytes_are_counted_once_and_reported(tmp_path, strip_accents):
    source = tmp_path / "a.txt"
    source.write_bytes(b"word " * 20 + b"caf\xe9 au\x01 lait\n")
    corpus = encode_corpus(
        request(source, errors="replace", strip_accents=strip_accents), tmp_path / "out"
    )
    assert corpus.advice()[:3] == [
        "1 byte invalid in the encoding was replaced by U+FFFD",
        "1 control character was dropped",
        "1 replacement character (U+FFFD) was dropped",
    ]
    # three bytes of U+FFFD and one control character; stripped accents change no length here
    assert describe(corpus)["unknown_bytes"] == 4 / 116


def test_each_kind_of_what_is_dropped_has_a_note(tmp_path):
    text = "a\u00adb Po\u00ad\nlitik\x01 \u200dc\ufeff d\ue000e e\ufffd\n" + "e " * 50
    corpus = build(tmp_path, text)
    assert list(corpus.vocabulary) == ["e", "ab", "c", "de", "politik"]
    assert corpus.advice()[:7] == [
        "1 control character was dropped",
        "1 soft hyphen was dropped",
        "1 word with a soft hyphen or ¬ at the end of a line was joined",
        "1 zero-width joiner was dropped where it changes no letter",
        "1 invisible format character (U+200E, U+FEFF, ...) was dropped",
        "1 replacement character (U+FFFD) was dropped",
        "1 private-use character was dropped",
    ]


@pytest.mark.parametrize("block_bytes", [30, 1 << 20])
def test_words_are_joined_at_the_ends_of_lines_of_any_block(tmp_path, block_bytes):
    lines = "".join(f"wort{n} Wissen\u00ad\nschaft und lang¬\nsam\n" for n in range(200))
    corpus = build(tmp_path, lines, sizes={"block_bytes": block_bytes})
    assert list(corpus.vocabulary)[:3] == ["langsam", "und", "wissenschaft"]
    assert corpus.manifest["tally"]["divided_words"] == 400


def test_describe_returns_the_statistics_of_a_corpus(tmp_path):
    about = describe(build(tmp_path, NEWS), top=2)
    assert about["documents"] == 1
    assert about["paragraphs"] == 4
    assert about["sentences"] == 6
    assert about["duplicate_lines"] == 1
    assert about["most_frequent"][0] == {"word": ".", "count": 4, "documents": 1}
    assert about["type_token_curve"] == [{"tokens": about["tokens"], "types": about["types"]}]
    longer = describe(build(tmp_path, " ".join(f"w{n % 700}" for n in range(3000)), "longer"))
    points = [tuple(point.values()) for point in longer["type_token_curve"]]
    assert points == [(1024, 700), (2048, 700), (3000, 700)]
    assert about["hapaxes"] == sum(
        1
        for c in Counter(w for s in naive_words(NEWS, TextSettings()) for w in s).values()
        if c == 1
    )


@pytest.mark.parametrize("name", ["data", "link"])
def test_a_corpus_may_be_inside_its_source_folder(name, tmp_path):
    (tmp_path / "data").mkdir()
    (tmp_path / "link").symlink_to(tmp_path / "data")
    (tmp_path / "data" / "news.txt").write_text(NEWS, encoding="utf-8")
    folder, out = tmp_path / name, tmp_path / name / "out"
    first = encode_corpus(request(folder), out)
    assert up_to_date(out, request(folder))
    assert encode_corpus(request(folder), out, force=True).fingerprint == first.fingerprint


def test_a_raw_source_is_built_once_in_the_cache(tmp_path):
    source = tmp_path / "raw.txt"
    source.write_text(NEWS, encoding="utf-8")
    first = open_or_build(source)
    second = open_or_build(source)
    assert first.path == second.path
    assert first.n_tokens == 28
    source.write_text("Other words.", encoding="utf-8")
    assert open_or_build(source).n_tokens == 3
    assert open_or_build(first.path).path == first.path
    assert open_or_build(first) is first


@pytest.mark.parametrize("text", ["", "\n\n", "\u00ad \t"])
def test_a_source_without_words_is_an_error_and_leaves_nothing(tmp_path, text):
    with pytest.raises(FirthError):
        build(tmp_path, text)
    assert [path.name for path in tmp_path.iterdir()] == ["news.txt"]


def test_combining_accents_and_undivided_text_bring_advice(tmp_path):
    running = build(tmp_path, "我来到北京我爱清华大学", "running")
    assert any("`segmenter=jieba`" in line for line in running.advice())
    mixed, plain = (
        build(tmp_path, text, name)
        for name, text in (
            ("mixed", "u\u0308ber über a\u0308hnlich\n"),
            ("plain", "über ähnlich\n"),
        )
    )
    found = [line for line in mixed.advice() if "(Unicode NFD)" in line]
    assert [line.partition(" (")[0] for line in found] == ["2 types have combining accents"]
    assert not any("NFD" in line for line in plain.advice())
