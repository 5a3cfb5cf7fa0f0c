"""Paths that are not finished runs are refused before any of their files is read."""

import pytest

from firth.corpora.artifacts.artifact import MAKER
from firth.corpora.common.errors import ArtifactError
from firth.embed.contextual.encoders import encoder_run
from firth.embed.vectors.run_files import require_run

UNFINISHED = "is unfinished; run its command again to complete it"


def refusal(run, check=require_run):
    """Return the error message for a path, without the path."""
    with pytest.raises(ArtifactError) as error:
        check(run)
    return str(error.value).removeprefix(f"{run}: ")


@pytest.mark.parametrize("check", [require_run, encoder_run])
def test_paths_that_are_not_runs_are_refused(tmp_path, check):
    (tmp_path / "file").write_text("")
    (tmp_path / "begun.partial").mkdir()
    assert refusal(tmp_path / "none", check) == "no such run"
    assert refusal(tmp_path / "file", check) == "is a file; pass the directory of a run"
    assert refusal(tmp_path / "begun", check) == UNFINISHED


def test_an_unfinished_run_is_recognized_by_its_maker_file(tmp_path):
    partial = tmp_path / "run.partial"
    partial.mkdir()
    (partial / MAKER).write_text("{}")
    assert refusal(partial) == UNFINISHED
    assert refusal(tmp_path / "run") == UNFINISHED


def test_a_run_is_accepted_while_its_replacement_is_trained(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run.partial").mkdir()
    require_run(tmp_path / "run")


def test_a_run_with_an_encoder_is_its_own_encoder_run(tmp_path):
    (tmp_path / "config.json").write_text('{"method": "mlm"}')
    assert encoder_run(tmp_path) == tmp_path
