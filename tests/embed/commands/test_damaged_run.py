"""Commands that use an encoder, given damaged, pooled and other runs."""

import shutil

import numpy as np
import pytest

from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import save_pieces
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.model.weights import TOKENIZER, WEIGHTS
from tests.calls import output, refusal
from tests.pretrain.small_run import seal, small_pieces, small_run

COMMANDS = {
    "fill-mask": ["fill-mask", "RUN", "the [MASK]", "--device", "cpu"],
    "attention": ["attention", "RUN", "the saw"],
    "encode": ["encode", "RUN", "TMP/text", "--out", "TMP/out.npz", "--device", "cpu"],
    "neighbors": ["neighbors", "RUN", "--context", "the [saw]"],
    "pool": ["pool", "RUN", "--out", "TMP/out", "--min-count", "1", "--device", "cpu"],
    "export": ["export", "RUN", "--format", "huggingface", "TMP/out"],
}


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """A run of train-mlm that tests do not change."""
    return small_run(tmp_path_factory.mktemp("whole"))


@pytest.fixture
def run(whole, tmp_path):
    """A copy of the run to damage."""
    (tmp_path / "text").write_text("the saw\n")
    return shutil.copytree(whole, tmp_path / "run")


def line(name, run, tmp_path):
    """Return the words of a command."""
    return [word.replace("RUN", str(run)).replace("TMP", str(tmp_path)) for word in COMMANDS[name]]


def flip_a_bit(run):
    damaged = bytearray((run / WEIGHTS).read_bytes())
    damaged[-5] ^= 0x10  # one number among thousands; the shape is unchanged
    (run / WEIGHTS).write_bytes(damaged)
    return f"{run / WEIGHTS}: checksum mismatch, the file is damaged; recreate run"


def change_a_piece(run):
    pieces = (run / TOKENIZER).read_text()
    assert '"king"' in pieces
    (run / TOKENIZER).write_text(pieces.replace('"king"', '"kinq"'))
    return f"{run / TOKENIZER}: checksum mismatch, the file is damaged; recreate run"


def take_other_pieces(run):
    save_pieces(small_pieces(size=70), run / TOKENIZER, TextSettings())
    seal(run)
    return f"{run / TOKENIZER}: has 70 pieces, but the model has 80; train the run again"


@pytest.mark.parametrize("damage", [flip_a_bit, change_a_piece, take_other_pieces])
def test_a_damaged_encoder_is_refused(damage, run, tmp_path):
    message = damage(run)
    before = sorted(tmp_path.iterdir())
    for name in COMMANDS:
        assert refusal(*line(name, run, tmp_path)) == message
    assert sorted(tmp_path.iterdir()) == before


def test_a_path_that_is_not_a_run_of_an_encoder_is_refused_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr("firth.corpora.encoding.build.open_or_build", None)
    (tmp_path / "text").write_text("the saw\n")
    (tmp_path / "file").write_text("")
    (tmp_path / "begun.partial").mkdir()
    (tmp_path / "static").mkdir()
    WordVectors(["a", "b"], np.eye(2, dtype=np.float32)).write(tmp_path / "static")
    (tmp_path / "static" / "config.json").write_text('{"method": "svd", "text": null}')
    messages = {
        "none": "no such run",
        "file": "is a file; pass the directory of a run",
        "begun": "is unfinished; run its command again to complete it",
    }
    only = "has only static vectors; for words in context pass a run of firth train-mlm"
    for name in COMMANDS:
        needs_model = name in ("fill-mask", "attention", "export")
        static = "has no encoder; pass a run of firth train-mlm" if needs_model else only
        more = ["--corpus", str(tmp_path / "text")] if name == "pool" else []
        for run, message in {**messages, "static": static}.items():
            if name != "neighbors" or run == "static":  # others may be files of vectors
                words = [*line(name, tmp_path / run, tmp_path), *more]
                assert refusal(*words) == f"{tmp_path / run}: {message}"


def test_a_pooled_run_uses_or_names_the_encoder_it_was_pooled_from(run, tmp_path):
    output(*line("pool", run, tmp_path))
    pooled = (tmp_path / "out").rename(tmp_path / "pooled")
    for name in ("fill-mask", "attention", "export"):
        message = f"{pooled}: has no encoder; pass {run}"
        assert refusal(*line(name, pooled, tmp_path)) == message
    for name in ("encode", "neighbors"):
        output(*line(name, pooled, tmp_path))
