"""Commands that use an encoder, given damaged and pooled runs."""

import shutil

import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import save_pieces
from firth.pretrain.model.weights import TOKENIZER, WEIGHTS
from tests.pretrain.random_run import seal
from tests.pretrain.small_run import small_pieces, small_run

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


def ask(name, run, tmp_path):
    """Run one command on a run."""
    words = [word.replace("RUN", str(run)).replace("TMP", str(tmp_path)) for word in COMMANDS[name]]
    return CliRunner().invoke(cli.main, words)


def refusal(name, run, tmp_path):
    """Return the error of a command and check that it made nothing."""
    before = sorted(tmp_path.iterdir())
    result = ask(name, run, tmp_path)
    assert (result.exit_code, result.stdout) == (1, "")
    assert sorted(tmp_path.iterdir()) == before
    return result.stderr


@pytest.mark.slow
@pytest.mark.parametrize("name", COMMANDS)
def test_an_intact_run_works(name, run, tmp_path):
    assert ask(name, run, tmp_path).exit_code == 0


@pytest.mark.parametrize("name", COMMANDS)
def test_damaged_weights_are_refused(name, run, tmp_path):
    damaged = bytearray((run / WEIGHTS).read_bytes())
    damaged[-5] ^= 0x10  # one number among thousands; the shape is unchanged
    (run / WEIGHTS).write_bytes(damaged)
    assert refusal(name, run, tmp_path) == (
        f"Error: {run / WEIGHTS}: checksum mismatch, the file is damaged; recreate run\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_damaged_pieces_are_refused(name, run, tmp_path):
    pieces = (run / TOKENIZER).read_text()
    assert '"king"' in pieces
    (run / TOKENIZER).write_text(pieces.replace('"king"', '"kinq"'))
    assert refusal(name, run, tmp_path) == (
        f"Error: {run / TOKENIZER}: checksum mismatch, the file is damaged; recreate run\n"
    )


@pytest.mark.parametrize("name", COMMANDS)
def test_pieces_of_another_run_are_refused(name, run, tmp_path):
    save_pieces(small_pieces(size=70), run / TOKENIZER, TextSettings())
    seal(run)
    assert refusal(name, run, tmp_path) == (
        f"Error: {run / TOKENIZER}: has 70 pieces, but the model has 80; train the run again\n"
    )


@pytest.mark.parametrize("name", ["fill-mask", "attention", "export"])
def test_a_pooled_run_reports_its_encoders_run(name, run, tmp_path):
    assert ask("pool", run, tmp_path).exit_code == 0
    pooled = (tmp_path / "out").rename(tmp_path / "pooled")
    assert refusal(name, pooled, tmp_path) == f"Error: {pooled}: has no encoder; pass {run}\n"


@pytest.mark.parametrize("name", ["encode", "neighbors"])
def test_a_pooled_run_uses_the_encoder_it_was_pooled_from(name, run, tmp_path):
    assert ask("pool", run, tmp_path).exit_code == 0
    pooled = (tmp_path / "out").rename(tmp_path / "pooled")
    assert ask(name, pooled, tmp_path).exit_code == 0
