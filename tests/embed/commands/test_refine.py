"""``firth refine`` and ``firth encode --sif``: their output, runs and refusals."""

import json

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.text.segment import TextSettings
from firth.embed.formats.vector_files import load_vectors, write_vectors
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A working folder with a run, vectors without counts, and lists of related words."""
    monkeypatch.chdir(tmp_path)
    words = ["sea", "lake", "ocean", "boat", "ship"]
    rows = np.random.default_rng(5).standard_normal((5, 4)).astype(np.float32)
    run = WordVectors(words, rows, counts=np.arange(5, 0, -1), name="run")
    (tmp_path / "run").mkdir()
    run.write(tmp_path / "run")
    write_json(
        tmp_path / "run" / "config.json", {"method": "svd", "text": TextSettings().to_json()}
    )
    write_vectors(run, tmp_path / "plain.txt", "word2vec-text")
    (tmp_path / "related.txt").write_text("sea ocean pond\nship boat\n")
    (tmp_path / "lines.txt").write_text("the Sea\na boat and a ship\n")
    return tmp_path


def firth(*words, **more):
    """Run a command; return exit status, output and error."""
    done = command(*words, **more)
    return done.exit_code, done.stdout, done.stderr


def test_the_steps_are_printed_and_the_run_can_be_asked(folder):
    options = "--related related.txt --remove-top 1 --dim 2 --whiten --normalize --out out"
    status, output, _ = firth("refine", "run", *options.split())
    lines = output.splitlines()
    assert status == 0
    assert lines[:3] == [
        "unit length",
        "related.txt: 2 pairs of 4 words; words without a vector: 1",
        "centered",
    ]
    assert lines[3].startswith("removed 1 component with ")
    assert lines[4].startswith("kept 2 components with ")
    assert lines[5:] == ["whitened", "unit length", "out: 5 words, 2 dimensions"]
    assert load_vectors("out").text == load_vectors("run").text
    assert firth("neighbors", "out", "sea", "-k", "1")[0] == 0


def test_json_has_the_source_and_the_steps(folder):
    status, output, _ = firth("refine", "run", "--remove-top", "2", "--out", "out", "--json")
    found = json.loads(output)
    assert (status, found.keys()) == (0, {"source", "steps"})
    assert [step["step"] for step in found["steps"]] == ["center", "remove_top"]


@pytest.mark.parametrize(
    ("words", "error"),
    [
        (
            "refine run --out out",
            (
                "no step to refine by; pass --related, --center, --remove-top, --dim, --whiten or "
                "--normalize"
            ),
        ),
        (
            "refine run --center --out related.txt",
            "related.txt: already exists; choose another --out or pass --force",
        ),
        (
            "encode plain.txt lines.txt --sif --out out.npz",
            "plain.txt: has no counts of words, which --sif needs; pass a run with counts",
        ),
        (
            "encode run lines.txt --sif --layers 1 --out out.npz",
            "--sif cannot be combined with --layers, --per word or --device",
        ),
        (
            "encode run lines.txt --sif --out out.npz",
            (
                "{folder}/run: does not record its training corpus; pass --fit to learn from FILE "
                "what lines have in common"
            ),
        ),
        (
            "encode run - --sif --fit --out out.npz",
            "--fit: standard input cannot be read twice; pass a file",
        ),
    ],
    ids=["no step", "exists", "no counts", "layers", "no corpus", "fit of stdin"],
)
def test_refusals_are_one_line(folder, words, error):
    status, output, message = firth(*words.split())
    assert (status != 0, output) == (True, "")
    assert message.splitlines()[-1] == f"Error: {error.format(folder=folder)}"


def test_encode_with_sif_splits_lines_as_the_corpus_and_counts_unknown_words(folder):
    arguments = "encode run lines.txt --sif --fit --per sentence --out out.npz"
    status, _, notes = firth(*arguments.split())
    assert (status, notes) == (0, "out.npz: 2 lines of 7 words; 4 have no vector\n")
    arguments = "encode run - --sif --out alone.npz"
    status, _, notes = firth(*arguments.split(), input=b"a boat and a ship\n")
    assert (status, notes) == (0, "alone.npz: 1 line of 5 words; 3 have no vector\n")
    with np.load("out.npz") as found, np.load("alone.npz") as alone:
        np.testing.assert_array_equal(found["vectors"][1:], alone["vectors"])
