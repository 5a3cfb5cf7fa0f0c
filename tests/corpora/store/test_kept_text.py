"""The original text of sentences, kept while a corpus is built."""

import errno
import itertools
import zlib
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from firth.corpora.artifacts.arrays import write_array
from firth.corpora.common.errors import ArtifactError
from firth.corpora.encoding import keep_text
from firth.corpora.encoding.build import up_to_date
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import Request
from firth.corpora.store import kept_text
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.spelling import align
from firth.corpora.text.segment import TextSettings
from tests.corpora.small_corpora import arrays
from tests.corpora.small_corpora import build as build_one
from tests.corpora.small_corpora import request as request_of

NEWS = 'He said:  "The United States\' flag!" It is İzmir.\n\n  Zoë came…\tthen she left. \n'
NEWS_SENTENCES = [
    'He said:  "The United States\' flag!"', "It is İzmir.", "Zoë came…\tthen she left.",
]  # fmt: skip
CONLLU = """\
# newdoc
1\tIn\tin\tADP\t_\t_\t0\t_\t_\t_
2-3\tdel\t_\t_\t_\t_\t_\t_\t_\t_
2\tde\tde\tADP\t_\t_\t0\t_\t_\t_
3\tel\tel\tDET\t_\t_\t0\t_\t_\t_
4\tSol\tsol\tNOUN\t_\t_\t0\t_\t_\tSpaceAfter=No
5\t.\t.\tPUNCT\t_\t_\t0\t_\t_\t_

1\tFin\tfin\tNOUN\t_\t_\t0\t_\t_\t_

"""


def request(source: Path, **options: object) -> Request:
    """Return a request that keeps the text."""
    return request_of(source, **{"keep_text": True, "threads": 1, **options})


def build(folder: Path, text: str = NEWS, **options: Any) -> Corpus:
    """Build a corpus that keeps its text."""
    return build_one(folder, text, **{"keep_text": True, "threads": 1, **options})


def sentences(corpus: Corpus) -> Iterator[tuple[str, list[str]]]:
    """Yield the text and the tokens of every sentence."""
    vocabulary = corpus.forms or corpus.vocabulary
    words = vocabulary.words(0, len(vocabulary))
    for shard in corpus.shards:
        ids = (shard.forms if corpus.forms else shard.ids).tolist()
        bounds = shard.offsets("sentence").tolist()
        texts = shard.sentence_texts(range(len(bounds) - 1))
        for text, (start, stop) in zip(texts, itertools.pairwise(bounds), strict=True):
            yield text, [words[i] for i in ids[start:stop]]


def texts(corpus: Corpus) -> list[str]:
    """Return the texts of all sentences."""
    return [text for text, _ in sentences(corpus)]


@pytest.mark.slow
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
@given(
    st.text(
        st.characters(exclude_categories=["Cs", "Cc"])
        | st.sampled_from("ab A.\n")
        | st.sampled_from("我来到北京。Ẓİé'9\t"),
        max_size=200,
    ),
    st.sampled_from(["words", "whitespace", "characters"]),
    st.booleans(),
    st.booleans(),
)
def test_every_kept_sentence_has_its_tokens(
    tmp_path_factory, text, segmenter, keep_case, fold_digits
):
    text_settings = TextSettings(segmenter=segmenter, keep_case=keep_case, fold_digits=fold_digits)
    source = "Begin.\n" + text
    options = {"segmenter": segmenter, "keep_case": keep_case, "fold_digits": fold_digits}
    corpus = build(tmp_path_factory.mktemp("kept"), source, wrapped=False, **options)
    place = 0
    for sentence, tokens in sentences(corpus):
        assert text_settings.words(sentence) == tokens
        place = source.index(sentence, place) + len(sentence)  # as it was written, in this order
        spans = align(sentence, tokens, text_settings)
        assert spans is not None
        assert [text_settings.words(sentence[a:b]) for a, b in spans] == [[t] for t in tokens]
        assert all(a[1] <= b[0] for a, b in itertools.pairwise(spans))


@pytest.mark.parametrize(
    ("text", "options", "expected"),
    [
        (NEWS, {}, NEWS_SENTENCES),
        (NEWS, {"strip_accents": True},
         [NEWS_SENTENCES[0], "It is Izmir.", "Zoe came…\tthen she left."]),
        ("The cat\nsat on\nThe Mat. It\nslept.\n\nEnd.\n", {"wrapped": True},
         ["The cat sat on The Mat.", "It slept.", "End."]),
    ],
    ids=["plain", "accents", "wrapped"],
)  # fmt: skip
def test_text_is_kept_with_capitals_spaces_and_punctuation(text, options, expected, tmp_path):
    corpus = build(tmp_path, text, **options)
    assert corpus.keeps_text
    assert texts(corpus) == expected
    corpus.verify()


@pytest.mark.usefixtures("parse_on_threads")
def test_forms_of_conllu_are_joined_by_spaces(tmp_path):
    corpus = build(tmp_path, CONLLU)
    assert texts(corpus) == ["In del Sol .", "Fin"]
    for text, tokens in sentences(corpus):
        assert [text[a:b].lower() for a, b in align(text, tokens, corpus.text)] == tokens


@pytest.mark.slow
@pytest.mark.usefixtures("parse_on_threads")
def test_text_divided_by_jieba_is_kept_undivided(tmp_path):
    pytest.importorskip("rjieba", reason="the extra zh is not installed")
    text = "我来到 北京清华大学。Deep  Learning 很好！\n\n \n\u00ad\n他说: a\x1eb\x1f。\n"
    corpus = build(tmp_path, text, segmenter="jieba")
    assert texts(corpus) == [
        "我来到 北京清华大学。", "Deep  Learning 很好！", "他说: a\x1eb\x1f。".replace("\x1f", " "),
    ]  # fmt: skip
    for sentence, tokens in sentences(corpus):
        assert [sentence[a:b].lower() for a, b in align(sentence, tokens, corpus.text)] == tokens


@pytest.mark.slow
def test_forms_are_kept_where_lemmas_are_the_tokens(tmp_path):
    pytest.importorskip("simplemma", reason="the extra lemmas is not installed")
    corpus = build(tmp_path, "The cafés burned.", lemmatize="en", strip_accents=True)
    ((text, forms),) = sentences(corpus)
    assert text == "The cafés burned."
    assert forms == ["The", "cafés", "burned", "."]
    lemmas = [corpus.vocabulary[i] for i in corpus.shards[0].ids.tolist()]
    assert align(text, lemmas, corpus.text) == [(0, 3), (4, 9), (10, 16), (16, 17)]


def test_kept_text_changes_no_other_array_and_no_fingerprint(tmp_path):
    lines = "\n".join(f"The Word{n % 700} is w{n % 11}. So, yes{n}!" for n in range(3000))
    sizes = {"shard_tokens": 7_000, "block_bytes": 9_000}
    source = tmp_path / "news.txt"
    without = build(tmp_path, lines, sizes=sizes, documents="line", keep_text=False)
    corpora = [
        encode_corpus(
            request(source, documents="line", threads=threads), tmp_path / f"{threads}", **sizes
        )
        for threads in (1, 3)
    ]
    one, three = map(arrays, corpora)
    kept = {name for name in one if "/texts" in name}
    assert len(corpora[0].shards) > 3
    assert one == three
    assert {name: one[name] for name in one.keys() - kept} == arrays(without)
    assert {corpus.fingerprint for corpus in (*corpora, without)} == {without.fingerprint}
    assert without.manifest["settings"] == corpora[0].manifest["settings"]
    assert texts(corpora[0])[:2] == ["The Word0 is w0.", "So, yes0!"]


def test_only_the_blocks_of_the_wanted_sentences_are_read(tmp_path, monkeypatch):
    rng = np.random.default_rng(5)
    lines = [f"Line {n}: {' '.join(map(str, rng.integers(0, 99, 20)))}" for n in range(6000)]
    corpus = build(tmp_path, "\n".join(lines), segmenter="whitespace")
    shard = corpus.shards[0]
    n_blocks = len(shard.array(kept_text.OFFSETS)) - 1
    assert n_blocks > 4
    read: list[int] = []

    class Counting:
        error = zlib.error

        @staticmethod
        def decompress(data: memoryview) -> bytes:
            read.append(len(data))
            return zlib.decompress(data)

    monkeypatch.setattr(kept_text, "zlib", Counting)
    assert shard.sentence_texts([]) == []
    assert shard.sentence_texts([2, 0, 2]) == [lines[2], lines[0], lines[2]]
    assert len(read) == 1
    order = rng.permutation(len(lines))
    assert shard.sentence_texts(order) == [lines[n] for n in order]
    assert len(read) == n_blocks
    with pytest.raises(IndexError):
        shard.sentence_texts([len(lines)])
    with pytest.raises(IndexError):
        shard.sentence_texts([-1])


def test_a_corpus_without_text_says_how_to_keep_it(tmp_path):
    corpus = build(tmp_path, keep_text=False)
    assert not corpus.keeps_text
    shard = corpus.shards[0]
    with pytest.raises(ArtifactError) as refusal:
        shard.sentence_texts([0])
    assert str(refusal.value) == (
        f"{shard.directory}: the corpus keeps no text; build it again with `keep_text=True`"
    )


def test_a_corpus_without_wanted_text_is_not_up_to_date(tmp_path):
    source = tmp_path / "news.txt"
    without, kept = (build(tmp_path, keep_text=keep, name=str(keep)) for keep in (False, True))
    for corpus in (without, kept):
        source = tmp_path / f"{corpus.path.name}.txt"
        assert up_to_date(corpus.path, request(source)) == corpus.keeps_text
        assert up_to_date(corpus.path, request(source, keep_text=False))


@pytest.mark.parametrize(
    ("name", "reason"),
    [
        (kept_text.BLOCKS, "block 0: Error -3 while decompressing data: incorrect data check"),
        (kept_text.OFFSETS, "block 0: Error -5 while decompressing data: incomplete or truncated"),
    ],
)
def test_a_damaged_block_gives_a_one_line_error(tmp_path, name, reason):
    shard = build(tmp_path).shards[0]
    path = shard.directory / f"{name}.npy"
    content = bytearray(path.read_bytes())
    content[-4:] = bytes(4)  # the checksum in a zlib stream
    content[-8:] = content[-8:] if name == kept_text.BLOCKS else bytes(8)  # the last offset
    path.write_bytes(content)
    with pytest.raises(ArtifactError) as refusal:
        shard.sentence_texts([1])
    message = str(refusal.value)
    assert message.startswith(f"{shard.directory}/texts.npy: is damaged ({reason}")
    assert message.endswith("); build the corpus again")
    assert "\n" not in message


def test_a_block_of_another_number_of_sentences_is_damaged(tmp_path):
    shard = build(tmp_path).shards[0]
    block = np.frombuffer(zlib.compress(b"One.\n"), dtype=np.uint8)
    write_array(shard.directory, kept_text.BLOCKS, block)
    write_array(shard.directory, kept_text.OFFSETS, np.array([0, len(block)]))
    with pytest.raises(ArtifactError, match=r"\(block 0: 1 sentences instead of 3\)"):
        shard.sentence_texts([2])


def test_a_full_disk_leaves_nothing(tmp_path, monkeypatch):
    def full(*_: object) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(keep_text.TextWriter, "append", full)
    with pytest.raises(ArtifactError, match="the disk is full"):
        build(tmp_path)
    assert [path.name for path in tmp_path.iterdir()] == ["news.txt"]
