"""SIF sentence vectors against the algorithm of the paper, word by word, and kept in a run."""

import json
import shutil

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.encoding.build import build_corpus
from firth.embed.contextual.sif import (
    KEPT,
    SentenceVectors,
    SifCounts,
    encode_lines,
    learn,
    sentences_of,
)
from firth.embed.contextual.text_search import TextSearch
from firth.embed.formats.vector_files import write_int8_run
from firth.embed.runs.run import Run
from firth.embed.runs.writer import new_run
from firth.embed.vectors.subwords import SubwordTable
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command

WORDS = ["the", "cat", "dog", "sat", "zero"]
RNG = np.random.default_rng(4)
MATRIX = RNG.standard_normal((5, 3)).astype(np.float32) + 1
MATRIX[4] = 0
COUNTS = np.array([600, 200, 100, 90, 10])
LINES = ["the cat sat", "", "the dog", "a dog sat the the", "zero pond"]


def grams():
    """Return one vector of ones that all words outside the vocabulary have."""
    return SubwordTable(
        np.ones((1, 3), np.float32), np.zeros(1, np.int64), n_buckets=1, shortest=3,
        longest=3, name="run",
    )  # fmt: skip


INFINITE = np.where(np.arange(5)[:, None] == 1, np.inf, MATRIX).astype(np.float32)


def vectors(matrix=MATRIX, **about):
    return WordVectors(WORDS, matrix, name="run", **{"counts": COUNTS, **about})


def naive_sif(lines, rows, counts, a=1e-3):
    """Algorithm 1 of Arora et al. 2017; unknown words are left out of |s|."""
    total, found = sum(counts.values()), []
    for words in lines:
        known = [word for word in words if word in rows and rows[word].any()]
        s = np.zeros(3)
        for word in known:
            s += a / (a + counts[word] / total) * rows[word]
        found.append(s / len(known) if known else s)
    u = np.linalg.svd(np.array(found), full_matrices=False)[2][0]
    return np.array([s - u * (u @ s) for s in found])


def expected():
    rows = dict(zip(WORDS, MATRIX.astype(np.float64), strict=True))
    return naive_sif([line.split() for line in LINES], rows, dict(zip(WORDS, COUNTS, strict=True)))


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES))
    return path


@pytest.mark.parametrize("words_at_once", [1, 1 << 14])
def test_vectors_of_lines_match_the_algorithm(text, tmp_path, words_at_once):
    out = tmp_path / "out.npz"
    counts = encode_lines(vectors(), text, out, fit=True, words_at_once=words_at_once)
    assert counts == SifCounts(lines=5, words=12, unknown=3)
    with np.load(out) as found:
        assert found.files == ["vectors"]
        np.testing.assert_allclose(found["vectors"], expected(), atol=1e-6)
        assert not found["vectors"][[1, 4]].any()  # lines without known words


def test_a_jsonl_has_the_words_and_one_vector_a_line(text, tmp_path):
    out = tmp_path / "out.jsonl"
    encode_lines(vectors(), text, out, fit=True)
    found = [json.loads(line) for line in out.read_text().splitlines()]
    assert [line["words"] for line in found] == [line.split() for line in LINES]
    np.testing.assert_allclose([line["vector"] for line in found], expected(), atol=1e-6)


def test_words_of_ngrams_count_in_full(tmp_path):
    text, out = tmp_path / "text.txt", tmp_path / "out.npz"
    text.write_text("pond\ncat\n")
    assert encode_lines(vectors(subwords=grams()), text, out, fit=True).unknown == 0
    p = 0.2
    rows = np.array([np.ones(3), MATRIX[1] * 1e-3 / (1e-3 + p)])
    u = np.linalg.svd(rows)[2][0]
    with np.load(out) as found:
        np.testing.assert_allclose(found["vectors"], rows - np.outer(rows @ u, u), atol=1e-6)


def test_vectors_in_8_bits_are_taken_too(text, tmp_path):
    run = WordVectors(WORDS, MATRIX, counts=COUNTS, name="run")
    write_int8_run(run, tmp_path / "int8", False)
    encode_lines(WordVectors.open(tmp_path / "int8"), text, tmp_path / "out.npz", fit=True)
    with np.load(tmp_path / "out.npz") as found:
        # a 127th of the largest number of a row, in vectors of at most 3
        np.testing.assert_allclose(found["vectors"], expected(), atol=0.03)


@pytest.mark.parametrize(
    ("about", "lines", "message"),
    [
        (
            {"counts": None}, LINES,
            "run: has no counts of words, which `sif` needs; pass a run with counts",
        ),
        (
            {"matrix": INFINITE}, ["the dog", "the cat"],
            "run: the vector of 'cat' holds NaN or infinity; train the run again",
        ),
        (
            {}, ["the cat", "", "pond"],
            ("{text}: fewer than two lines have a word of run, so that all they hold is common to "
            "all lines, which `sif` subtracts; pass more lines"),
        ),
    ],
    ids=["no counts", "infinite", "one line"],
)  # fmt: skip
def test_refusals_leave_no_file(tmp_path, about, lines, message):
    text, out = tmp_path / "text.txt", tmp_path / "out.npz"
    text.write_text("\n".join(lines))
    with pytest.raises((ArtifactError, SettingError)) as caught:
        encode_lines(vectors(**about), text, out, fit=True)
    assert str(caught.value) == message.format(text=text)
    assert [path.name for path in tmp_path.iterdir()] == ["text.txt"]


@pytest.fixture
def run(tmp_path):
    """A run with n-grams, of a corpus with sentences of its words."""
    sentences = [" ".join(RNG.choice(WORDS[:4], 4)) for _ in range(40)]
    source = tmp_path / "source.txt"
    source.write_text("\n".join(sentences))
    corpus = build_corpus(str(source), out=tmp_path / "corpus")
    with new_run(tmp_path / "run", {"command": "made"}) as made:
        WordVectors(WORDS, MATRIX, counts=COUNTS).write(made.path)
        made.describe("svd", {}, corpus.text, **corpus.trained_on)
    return WordVectors.open(tmp_path / "run")


def test_what_lines_share_is_learned_from_the_corpus_once_and_kept(run, tmp_path):
    learned = SentenceVectors.open(run)
    corpus = Run.open(run.path).corpus()
    np.testing.assert_array_equal(
        learned.learned["common"], learn(run, sentences_of(corpus), "").learned["common"]
    )
    shutil.rmtree(tmp_path / "corpus")
    np.testing.assert_array_equal(
        SentenceVectors.open(run.path).learned["common"], learned.learned["common"]
    )


@pytest.mark.parametrize("mapped", [False, True])
def test_a_line_alone_has_the_bits_that_it_has_in_a_file(run, text, tmp_path, mapped):
    encode_lines(run, text, tmp_path / "all.npz", mapped=mapped)
    with np.load(tmp_path / "all.npz") as found:
        rows = found["vectors"]
    sentences = SentenceVectors.open(run, mapped=mapped)
    np.testing.assert_array_equal(rows, [sentences.encode([line])[0] for line in LINES])
    assert not rows[[1, 4]].any()
    with pytest.raises(SettingError, match="pass a list of texts, got str"):
        sentences.encode(LINES[0])
    assert ("mapped>" in repr(sentences)) == mapped
    means = [  # of the rows that are exported
        rows.mean(axis=0) if len(rows) else np.zeros(3)
        for line in LINES
        for rows in [sentences.word_vectors().rows([w for w in line.split() if w in WORDS[:4]])]
    ]
    np.testing.assert_allclose(rows, means, atol=1e-6)


def test_the_map_multiplies_directions_by_what_neighbors_share(tmp_path):
    # a line is a word four times, whose mean is its vector
    rng = np.random.default_rng(3)
    n, share = 4000, np.array([0.9, 0.5, 0.0])
    theme = rng.standard_normal((n // 2, 3)).repeat(2, axis=0)
    rows = np.sqrt(share) * theme + np.sqrt(1 - share) * rng.standard_normal((n, 3)) + 5
    turn = np.linalg.qr(rng.standard_normal((3, 3)))[0]
    words = [f"w{row}" for row in range(n)]
    text = WordVectors(words, (rows @ turn).astype(np.float32), counts=np.ones(n, int), name="run")
    lines = [
        line
        for a, b in zip(words[::2], words[1::2], strict=True)
        for line in ([a] * 4, [b] * 4, [])
    ]
    learned = learn(text, lines, "lines", mapped=True).learned
    weight = 1e-3 / (1e-3 + 1 / n)
    scaled = weight * turn @ learned["map"]  # of the directions that were mixed
    found = np.linalg.norm(scaled, axis=1)
    np.testing.assert_allclose(found[:2], np.sqrt(share / (1 - share**2))[:2], rtol=0.1)
    assert found[2] < 0.3
    np.testing.assert_allclose(learned["center"], weight * 5 * np.ones(3) @ turn, atol=0.2)


def test_a_map_needs_lines_that_follow_each_other(text):
    with pytest.raises(SettingError, match=r"text\.txt: 0 lines of 4 words or more .* needs 6"):
        encode_lines(vectors(), text, text.parent / "out.npz", fit=True, mapped=True)


def test_neighbors_are_of_one_document(tmp_path):
    (tmp_path / "a.txt").write_text("The cat sat.\nThe dog.\n")
    (tmp_path / "b.txt").write_text("A dog sat.\n")
    corpus = build_corpus([str(tmp_path / f"{name}.txt") for name in "ab"], out=tmp_path / "c")
    lines = [[word for word in line if word != "."] for line in sentences_of(corpus)]
    assert lines == [
        ["the", "cat", "sat"], ["the", "dog"], [], ["the", "dog"], [], ["a", "dog", "sat"], [],
    ]  # fmt: skip


def test_fitting_replaces_what_the_run_keeps(run, text, tmp_path):
    before = SentenceVectors.open(run).learned["common"]
    encode_lines(run, text, tmp_path / "out.npz", fit=True)
    after = SentenceVectors.open(run)
    assert after.source == str(text)
    assert not np.array_equal(after.learned["common"], before)
    (run.path / KEPT[False]).write_text('{"common": [1]}')
    with pytest.raises(
        ArtifactError, match=r"sif\.json: is damaged or of other vectors; delete it"
    ):
        SentenceVectors.open(run)


def test_without_a_corpus_the_remedy_is_to_fit(text, tmp_path):
    with pytest.raises(ArtifactError, match="run: not a run with a corpus; pass `fit=True`"):
        encode_lines(vectors(), text, tmp_path / "out.npz")


def test_the_command_maps_lines_and_their_queries(run, text, tmp_path):
    for name, more in (("plain", []), ("mapped", ["--map"])):
        done = command("encode", run.path, text, "--sif", *more, "--out", tmp_path / name)
        assert done.exit_code == 0, done.stderr
        search = TextSearch.open(tmp_path / name)
        sentences = SentenceVectors.open(run, mapped=bool(more))
        written = [line for line in LINES if line]
        np.testing.assert_array_equal(search.encode(written), sentences.encode(written))
        np.testing.assert_array_equal(search.lines.matrix, sentences.encode(written))
        assert (tmp_path / name / KEPT[bool(more)]).is_file()


def test_a_corpus_of_one_document_is_encoded_whole_and_told_so(run, tmp_path):
    done = command("encode", run.path, tmp_path / "corpus", "--sif", "--out", tmp_path / "whole")
    assert f"{tmp_path / 'whole'}: 1 document of 160 words" in done.stderr
    assert "--per sentence can" in done.stderr
