"""What is no finished run is told as what it is, before anything is looked for in it."""

import pytest

from corpora.artifacts.artifact import MAKER
from corpora.common.errors import ArtifactError
from embed.contextual.encoders import encoder_run
from embed.vectors.run_files import refuse_no_run

UNFINISHED = "is unfinished; run its command again to complete it"


def refusal(run, look=refuse_no_run):
    """What is said of a path."""
    with pytest.raises(ArtifactError) as error:
        look(run)
    return str(error.value).removeprefix(f"{run}: ")


@pytest.mark.parametrize("look", [refuse_no_run, encoder_run])
def test_what_is_no_run_is_told(tmp_path, look):
    (tmp_path / "file").write_text("")
    (tmp_path / "begun.partial").mkdir()
    assert refusal(tmp_path / "none", look) == "no such run"
    assert refusal(tmp_path / "file", look) == "is a file; pass the directory of a run"
    assert refusal(tmp_path / "begun", look) == UNFINISHED


def test_a_run_that_is_being_made_is_told_by_what_its_maker_left(tmp_path):
    partial = tmp_path / "run.partial"
    partial.mkdir()
    (partial / MAKER).write_text("{}")
    assert refusal(partial) == UNFINISHED
    assert refusal(tmp_path / "run") == UNFINISHED


def test_a_run_stays_a_run_while_another_is_made_to_take_its_place(tmp_path):
    (tmp_path / "run").mkdir()
    (tmp_path / "run.partial").mkdir()
    refuse_no_run(tmp_path / "run")


def test_the_run_of_an_encoder_is_its_own(tmp_path):
    (tmp_path / "config.json").write_text('{"method": "mlm"}')
    assert encoder_run(tmp_path) == tmp_path
