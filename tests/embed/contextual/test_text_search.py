"""Search in encoded lines and documents, by SIF and by an encoder."""

import json
import shutil

import numpy as np
import pytest

from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.request import BuildOptions
from firth.embed.contextual.sif import SentenceVectors, encode_lines
from firth.embed.contextual.text_search import TextSearch
from firth.embed.formats.vector_files import load_vectors
from firth.embed.runs.writer import new_run
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, refusal
from tests.pretrain.small_run import small_encoder, small_run

WORDS = ["flu", "virus", "mexico", "cricket", "wicket", "the"]
MATRIX = np.array(
    [[1, 0, 0, 3], [0.9, 0.1, 0, 3], [0, 1, 0, 3], [0, 0, 1, 3], [0, 0.1, 0.9, 3], [0, 0, 0, 9]],
    np.float32,
)
LINES = ["the Virus in Mexico", "", "the cricket  wicket", "unknown", "the cricket"]


@pytest.fixture
def run(tmp_path, monkeypatch):
    """A run in the working folder, and its corpus: two documents of two sentences with a field."""
    monkeypatch.chdir(tmp_path)
    records = [
        {"text": "The flu. The virus is in Mexico.", "year": "2009"},
        {"text": "The cricket. A wicket!", "year": "1990"},
    ]
    (tmp_path / "source.jsonl").write_text("".join(json.dumps(each) + "\n" for each in records))
    corpus = build_corpus(
        "source.jsonl", out="corpus", keep=["year"], options=BuildOptions(keep_text=True)
    )
    (tmp_path / "lines.txt").write_text("\n".join(LINES))
    with new_run(tmp_path / "run", {"command": "made"}) as made:
        WordVectors(WORDS, MATRIX, counts=np.array([9, 8, 7, 6, 5, 900])).write(made.path)
        made.describe("svd", {}, corpus.text, **corpus.trained_on)
    return load_vectors("run")


def test_the_nearest_lines_come_with_place_and_text_and_blank_ones_are_left_out(run, tmp_path):
    encode_lines(run, tmp_path / "lines.txt", tmp_path / "lines")
    found = TextSearch.open("lines").search("Flu in mexico", 3)
    assert [(line.source, line.text) for line in found[:1]] == [
        (f"{tmp_path}/lines.txt:1", "the Virus in Mexico")
    ]
    rows = SentenceVectors.open(run).encode(["Flu in mexico", LINES[0]]).astype(np.float64)
    a, b = rows / np.linalg.norm(rows, axis=1, keepdims=True)
    assert found[0].cosine == pytest.approx(a @ b, abs=1e-9)
    assert len(found) == 3
    assert len(load_vectors("lines")) == 4
    assert found.to_pandas()["text"][0] == LINES[0]
    assert "the Virus" in found._repr_html_()


@pytest.mark.parametrize(
    ("per", "source", "text"),
    [
        ("document", "source.jsonl:2 (1990)", "The cricket. A wicket!"),
        ("sentence", "source.jsonl:2:1 (1990)", "The cricket."),
    ],
)
def test_units_of_a_corpus_are_named_by_their_place_and_fields(run, tmp_path, per, source, text):
    encode_lines(run, tmp_path / "corpus", tmp_path / "found", per=per)
    [line] = TextSearch.open("found").search("cricket", 1)
    assert (line.source, line.text) == (source, text)


def test_an_encoder_reads_the_query_as_it_read_the_lines(tmp_path):
    run = small_run(tmp_path)
    (tmp_path / "lines.txt").write_text("the carpenter saw it\na saw\n")
    options = ["--per", "sentence", "--layers", "1", "--device", "cpu"]
    done = command("encode", run, tmp_path / "lines.txt", *options, "--out", tmp_path / "lines")
    assert done.exit_code == 0, done.stderr
    opened = TextSearch.open(tmp_path / "lines", "cpu")
    [line] = opened.search("A saw", 1)
    assert (line.text, line.cosine) == ("a saw", pytest.approx(1, abs=1e-5))
    encoder = small_encoder()
    mean = encoder.encode([encoder.words("a saw")], (1,))[0].mean(axis=0)
    np.testing.assert_allclose(opened.encode(["a saw"])[0], mean, atol=1e-5)


def test_the_command_joins_its_words_and_answers_lines_of_standard_input(run, tmp_path):
    encode_lines(run, tmp_path / "lines.txt", tmp_path / "lines")
    done = command("search", "lines", "flu", "mexico", "-k", "1")
    assert done.exit_code == 0, done.stderr
    place, text = done.stdout.splitlines()
    assert place.split()[::2] == ["1", f"{tmp_path}/lines.txt:1"]
    assert text == "     the Virus in Mexico"
    asked = command("search", "lines", "-k", "1", "--json", input=b"flu mexico\ncricket\n")
    found = json.loads(asked.stdout)
    assert {query: line["text"] for query, [line] in found.items()} == {
        "flu mexico": LINES[0], "cricket": LINES[4],
    }  # fmt: skip


def test_refusals(run, tmp_path):
    encode_lines(run, tmp_path / "lines.txt", tmp_path / "lines")
    assert refusal("search", "lines", "zzz") == (
        "lines: no word of 'zzz' has a vector; use other words"
    )
    assert refusal("publish", "lines", "copy", "--no-text") == (
        "lines: its words are the places of lines; publish the run that encoded them"
    )
    assert refusal("search", "run", "flu").startswith("run: has no encoded lines; ")
    with pytest.raises(SettingError, match="k must be at least 1, got 0"):
        TextSearch.open("lines").search("flu", 0)
    with pytest.raises(UnknownWordError):
        TextSearch.open("lines").search("", 1)
    with pytest.raises(SettingError, match=r"lines.txt: `per=document` takes a corpus"):
        encode_lines(run, tmp_path / "lines.txt", tmp_path / "x", per="document")
    (tmp_path / "blank.txt").write_text("\n\n")
    with pytest.raises(SettingError, match="the text has no line with a word; pass another one"):
        encode_lines(run, tmp_path / "blank.txt", tmp_path / "x")
    assert not (tmp_path / "x").exists()
    (tmp_path / "run" / "checksums.json").write_text("{}")
    with pytest.raises(ArtifactError, match="run: has changed since it encoded lines; encode the"):
        TextSearch.open("lines")
    shutil.rmtree(tmp_path / "run")
    with pytest.raises(ArtifactError, match="run: is missing, but lines was encoded by it"):
        TextSearch.open("lines")
