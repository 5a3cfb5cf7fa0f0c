"""The folder of a study: what is kept, what is made again, what is refused."""

from pathlib import Path

import pytest

from corpora.artifacts import making, places, write_json
from corpora.errors import ArtifactError
from embed.study import folder as module
from embed.study.folder import Folder
from embed.study.settings import Study, read_study
from embed.study.steps import Step


class KilledError(Exception):
    """Stands for SIGKILL."""


@pytest.fixture
def runs(monkeypatch):
    """Steps as they were run; each writes its words into its artifact."""
    done = []

    def run(arguments):
        done.append(arguments)
        if "fail" in arguments:
            return 1
        out = places_of(arguments)
        with making(out, {"arguments": arguments}, force="--force" in arguments) as partial:
            if "kill" in arguments:
                raise KilledError
            write_json(partial / "words.json", arguments)
        return 0

    monkeypatch.setattr(module, "run", run)
    return done


def places_of(arguments):
    return Path(arguments[arguments.index("--out") + 1])


def step(out, *arguments):
    return Step("train-svd", ("corpus", *arguments), out / "svd")


def test_a_step_is_run_once(tmp_path, runs, capsys):
    out = tmp_path / "study"

    assert Folder.open(out).do(step(out, "--dim", "5"), "text", force=False)
    assert Folder.open(out).do(step(out, "--dim", "5"), "text", force=False)

    assert runs == [["train-svd", "corpus", "--dim", "5", "--out", str(out / "svd")]]
    assert capsys.readouterr().err == f"{out / 'svd'}: kept\n"


@pytest.mark.parametrize("other", [("--dim", "6"), ("--dim", "5")])
def test_another_step_or_text_needs_force(tmp_path, runs, other):
    out = tmp_path / "study"
    Folder.open(out).do(step(out, "--dim", "5"), "text", force=False)
    text = "text" if other[1] == "6" else "another"

    with pytest.raises(ArtifactError, match="was made with other settings or from another text"):
        Folder.open(out).do(step(out, *other), text, force=False)
    assert Folder.open(out).do(step(out, *other), text, force=True)
    assert Folder.open(out).do(step(out, *other), text, force=False), "now it is kept"

    assert [each[-1] for each in runs] == [str(out / "svd"), "--force"]


def test_what_was_to_be_replaced_when_the_process_was_killed_is_not_taken_for_new(tmp_path, runs):
    out = tmp_path / "study"
    Folder.open(out).do(step(out, "old"), "text", force=False)
    with pytest.raises(KilledError):
        Folder.open(out).do(step(out, "kill"), "text", force=True)
    assert (out / "svd" / "words.json").exists(), "the old one stands"

    with pytest.raises(KilledError):
        Folder.open(out).do(step(out, "kill"), "text", force=False)

    assert len(runs) == 3, "it is made again"


def test_what_is_not_of_the_study_is_left_alone(tmp_path, runs):
    out = tmp_path / "study"
    folder = Folder.open(out)
    folder.begin(Study(("a",)), force=False)
    (out / "svd").mkdir()

    with pytest.raises(ArtifactError, match="was not made by this study; move it away"):
        folder.do(step(out), "text", force=True)

    assert runs == []


def test_what_another_step_left_unfinished_is_cleared_by_force(tmp_path, runs):
    out = tmp_path / "study"
    Folder.open(out)._write_step("svd", {"arguments": ["old"], "corpus": "text"})
    partial = places(out / "svd")[1]
    partial.mkdir(parents=True)

    assert Folder.open(out).do(step(out), "text", force=True)
    assert not partial.exists()


def test_a_step_that_failed_is_tried_again(tmp_path, runs):
    out = tmp_path / "study"

    assert not Folder.open(out).do(step(out, "fail"), "text", force=False)
    assert not Folder.open(out).do(step(out, "fail"), "text", force=False)

    assert len(runs) == 2


def test_choices_hold_for_the_same_study_of_the_same_text_alone(tmp_path):
    asked, settled = Study(("a",)), Study(("a",)).with_options("train-svd", dim=7)
    folder = Folder.open(tmp_path / "s")
    folder.begin(asked, force=False)
    assert folder.settled("text") is None
    folder.keep(settled, "text")
    assert read_study(tmp_path / "s" / "study.toml") == settled

    for same in (asked, settled):
        folder = Folder.open(tmp_path / "s")
        folder.begin(same, force=False)
        assert folder.settled("text") == settled
        assert folder.settled("other text") is None
    folder.begin(Study(("b",)), force=True)
    assert Folder.open(tmp_path / "s").settled("text") is None


def test_another_study_needs_force_and_is_told_by_its_settings(tmp_path):
    folder = Folder.open(tmp_path / "s")
    folder.begin(Study(("a",)), force=False)
    other = Study(("b",), budget="5m").with_options("train-svd", dim=7)

    with pytest.raises(ArtifactError, match="a study with other budget, sources, train-svd;"):
        Folder.open(tmp_path / "s").begin(other, force=False)
    assert Folder.open(tmp_path / "s").record["asked"] == Study(("a",)).to_json()


@pytest.mark.parametrize("content", ["[]", "{}", '{"steps": 3}', "{"])
def test_a_damaged_record_is_refused(tmp_path, content):
    (tmp_path / "study.json").write_text(content)

    with pytest.raises(ArtifactError, match=r"study\.json: (is damaged|cannot be read)"):
        Folder.open(tmp_path)


def test_a_folder_of_other_things_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")

    with pytest.raises(ArtifactError, match="holds something that is no study"):
        Folder.open(tmp_path)
    with pytest.raises(ArtifactError, match="holds something that is no study"):
        Folder.open(tmp_path / "thesis.tex")
