"""The export command for models: complete or absent folders, and refusals."""

import json
import re

import pytest
from click.testing import CliRunner

from firth import cli
from firth.embed.registry import MODEL_FORMATS
from tests.pretrain.random_run import random_run


@pytest.fixture
def run(tmp_path):
    """A small run."""
    return random_run(tmp_path / "run")


def export(*arguments):
    """Run ``firth export --format huggingface``."""
    return CliRunner().invoke(cli.main, ["export", "--format", "huggingface", *map(str, arguments)])


def test_a_run_is_exported_with_a_note(run, tmp_path):
    out = tmp_path / "new" / "out"
    result = export(run, out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{out}: ModernBertForMaskedLM of 3 layers x 32, huggingface\n"
    names = {path.name for path in out.iterdir()}
    assert names == set(MODEL_FORMATS["huggingface"].files)
    assert json.loads((out / "config.json").read_text())["model_type"] == "modernbert"


def test_force_overwrites_an_export_but_no_other_folder(run, tmp_path):
    out = tmp_path / "out"
    assert export(run, out).exit_code == 0
    (out / "README.md").write_text("old")
    result = export(run, out)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {out}: already exists; choose another OUT or pass --force\n"
    assert export(run, out, "--force").exit_code == 0
    assert (out / "README.md").read_text() != "old"
    (out / "thesis.tex").write_text("")
    result = export(run, out, "--force")
    assert result.stderr == f"Error: {out}: not an export folder; choose another OUT\n"
    assert (out / "thesis.tex").exists()


@pytest.mark.parametrize(
    ("shape", "message"),
    [
        ({"positions": "none"}, r"run: has no huggingface form: ModernBERT .* not none"),
        ({"norm": "post"}, r"run: has no huggingface form: BERT .* not rotary"),
    ],
)
def test_a_refused_export_leaves_nothing_behind(shape, message, tmp_path):
    run = random_run(tmp_path / "run", **shape)
    result = export(run, tmp_path / "out")
    assert result.exit_code == 1
    assert result.stderr.count("\n") == 1
    assert re.search(message, result.stderr)
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("svd", "has no encoder; pass a run of firth train-mlm"),
        ("file.txt", "is a file; pass the directory of a run"),
        ("absent", "no such run"),
        ("begun", "is unfinished; run its command again to complete it"),
    ],
)
def test_a_path_that_is_not_a_run_of_an_encoder_is_refused(name, message, tmp_path):
    (tmp_path / "svd").mkdir()
    (tmp_path / "svd" / "config.json").write_text('{"method": "svd", "text": null}')
    (tmp_path / "file.txt").write_text("a 1 2\n")
    (tmp_path / "begun.partial").mkdir()
    result = export(tmp_path / name, tmp_path / "out")
    assert (result.exit_code, result.stderr) == (1, f"Error: {tmp_path / name}: {message}\n")


def test_context_vectors_are_not_exported(run, tmp_path):
    result = export(run, tmp_path / "out", "--add-contexts")
    assert result.exit_code == 1
    assert "--add-contexts: huggingface exports no vectors" in result.stderr


@pytest.mark.process
def test_transformers_is_not_needed_to_write(run, tmp_path, server):
    code = f"""
import sys
from firth.cli import main
assert "transformers" not in sys.modules  # and all modules of the program are there
sys.modules["transformers"] = None
main(["export", {str(run)!r}, "--format", "huggingface", {str(tmp_path / "out")!r}])
"""
    done = server.python(code, workdir=tmp_path).wait()
    assert done.status == 0, done.stderr
