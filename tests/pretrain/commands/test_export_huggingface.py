"""The export command for models: complete or absent folders, and refusals."""

import json
import re
from functools import partial

import pytest

from firth.embed.registry import HUGGINGFACE_FILES
from tests.calls import command, refusal
from tests.pretrain.small_run import random_run


@pytest.fixture
def run(tmp_path):
    """A small run."""
    return random_run(tmp_path / "run")


WORDS = ("export", "--format", "huggingface")
export, refused = partial(command, *WORDS), partial(refusal, *WORDS)


def test_a_run_is_exported_with_a_note(run, tmp_path):
    out = tmp_path / "new" / "out"
    result = export(run, out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{out}: ModernBertForMaskedLM of 3 layers x 32, huggingface\n"
    names = {path.name for path in out.iterdir()}
    assert names == set(HUGGINGFACE_FILES)
    assert json.loads((out / "config.json").read_text())["model_type"] == "modernbert"


def test_force_overwrites_an_export_but_no_other_folder(run, tmp_path):
    out = tmp_path / "out"
    assert export(run, out).exit_code == 0
    (out / "README.md").write_text("old")
    assert refused(run, out) == f"{out}: already exists; choose another OUT or pass --force"
    assert export(run, out, "--force").exit_code == 0
    assert (out / "README.md").read_text() != "old"
    (out / "thesis.tex").write_text("")
    assert refused(run, out, "--force") == f"{out}: not an export folder; choose another OUT"
    assert (out / "thesis.tex").exists()


@pytest.mark.parametrize(
    ("shape", "more", "message"),
    [
        ({"positions": "none"}, [], r"run: has no huggingface form: ModernBERT .* not none"),
        ({}, ["--add-contexts"], "--add-contexts: huggingface exports no vectors"),
    ],
)
def test_a_refused_export_leaves_nothing_behind(shape, more, message, tmp_path):
    run = random_run(tmp_path / "run", **shape)
    assert re.search(message, refused(run, tmp_path / "out", *more))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


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
