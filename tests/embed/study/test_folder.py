"""The folder of a study: what is kept, redone and refused."""

import re
from dataclasses import replace

import pytest

from firth.corpora.artifacts.artifact import artifact_paths, new_artifact, write_json
from firth.corpora.common.errors import ArtifactError
from firth.embed.study.folder import StudyFolder
from firth.embed.study.settings import Study, read_study


class KilledError(Exception):
    """Stands for SIGKILL."""


def do(out, *options, text="text", force=False):
    """Do the one step of a study unless it is kept; its artifact holds its options."""
    run, wanted = out / "svd", {"options": list(options), "corpus": text}
    with StudyFolder.open(out) as folder:
        if folder.is_current(run, wanted, force):
            return "kept"
        overwrites = folder.start_step(run, wanted)
        if "fail" in options:
            return "failed"
        with new_artifact(run, {"options": options}, force=overwrites) as partial:
            if "kill" in options:
                raise KilledError
            write_json(partial / "words.json", options)
        folder.write_step(run.name, wanted)
        return "redone" if overwrites else "done"


def test_a_step_is_run_once_even_in_a_moved_study_unless_it_failed(tmp_path):
    out, moved = tmp_path / "study", tmp_path / "moved"
    assert do(out, "fail") == do(out, "fail") == "failed"
    assert do(moved, "--dim", "5") == "done"
    assert do(moved, "--dim", "5") == "kept"
    moved.rename(tmp_path / "again")
    assert do(tmp_path / "again", "--dim", "5") == "kept"


@pytest.mark.parametrize(("options", "text"), [(("--dim", "6"), "text"), (("--dim", "5"), "other")])
def test_other_options_or_text_need_force(tmp_path, options, text):
    out = tmp_path / "study"
    do(out, "--dim", "5")

    with pytest.raises(ArtifactError, match="was made with other settings or from another text"):
        do(out, *options, text=text)
    assert do(out, *options, text=text, force=True) == "redone"
    assert do(out, *options, text=text) == "kept"


def test_an_outdated_run_is_not_kept_after_a_kill(tmp_path):
    out = tmp_path / "study"
    do(out, "old")
    for force in (True, False):
        with pytest.raises(KilledError):
            do(out, "kill", force=force)
        assert (out / "svd" / "words.json").exists(), "the old one is still there"


def test_a_damaged_run_is_redone_only_with_force(tmp_path):
    out = tmp_path / "study"
    do(out)
    (out / "svd" / "words.json").write_text("")

    with pytest.raises(
        ArtifactError, match=r"words\.json: checksum mismatch.*, or pass `force=True`"
    ):
        do(out)
    assert do(out, force=True) == "redone"
    assert (out / "svd" / "words.json").read_text() != ""


def test_a_foreign_folder_is_left_alone(tmp_path):
    out = tmp_path / "study"
    with StudyFolder.open(out) as folder:
        folder.begin(Study(("a",)), force=False)
    (out / "svd").mkdir()

    with pytest.raises(ArtifactError, match="not made by this study; move it away"):
        do(out, force=True)


def test_force_clears_the_partial_output_of_another_step(tmp_path):
    out = tmp_path / "study"
    do(out, "fail")
    partial = artifact_paths(out / "svd")[1]
    partial.mkdir()
    write_json(partial / "maker.json", {"command": "train-svd"})

    assert do(out, force=True) == "redone"
    assert not partial.exists()


def test_choices_are_reused_if_their_inputs_are_unchanged(tmp_path):
    asked = Study(("a",)).with_options("train-cbow", dim=3)
    settled = asked.with_options("train-svd", dim=7).with_options("train-cbow", epochs=2)
    # sets that could not be had are chosen again
    chosen = settled.with_options("compare", sets=["two-tags"], intrinsic=True)
    with StudyFolder.open(tmp_path / "s") as folder:
        assert folder.reuse_choices(asked, "text") == asked
        folder.begin(asked, force=False)
        folder.save_choices(asked, chosen, "text")
    assert read_study(tmp_path / "s" / "study.toml") == chosen

    with StudyFolder.open(tmp_path / "s") as folder:
        for same in (asked, settled):
            folder.begin(asked, force=False)
            assert folder.reuse_choices(same, "text") == settled
            assert folder.reuse_choices(same, "other text") == same
        folder.begin(chosen, force=False)
        other = Study(("b",), words=("sea",)).with_options("train-cbow", dim=4)
        folder.begin(other, force=True)
        assert folder.reuse_choices(other, "text") == other.with_options("train-svd", dim=7)
        quicker = Study(("a",), budget="1m")
        assert folder.reuse_choices(quicker, "text") == quicker


def test_a_different_study_is_refused_unless_only_its_words_differ(tmp_path):
    asked = Study(("a",), words=("sea",))
    settled = asked.with_options("train-svd", dim=7)
    other = Study(("b",), budget="5m").with_options("train-svd", dim=8)
    with StudyFolder.open(tmp_path / "s") as folder:
        folder.begin(asked, force=False)
        with pytest.raises(ArtifactError, match="with other budget, sources, train-svd, words;"):
            folder.begin(other, force=False)
        assert folder.record["asked"] == asked.to_json()
        folder.save_choices(asked, settled, "text")
        for same in (replace(asked, words=("lake",)), replace(settled, words=())):
            folder.begin(same, force=False)
            assert folder.reuse_choices(same, "text").options == settled.options
        with pytest.raises(ArtifactError, match="a study with other budget"):
            folder.begin(replace(asked, budget="5m"), force=False)


def refusal(path):
    """The message of a folder that is refused."""
    with pytest.raises(ArtifactError) as refused, StudyFolder.open(path):
        pass
    return str(refused.value)


def test_a_folder_in_use_and_one_that_is_no_study_are_refused(tmp_path):
    with StudyFolder.open(tmp_path / "s"):
        assert "in use by another study" in refusal(tmp_path / "s")
    with StudyFolder.open(tmp_path / "s"):
        pass
    (tmp_path / "thesis.tex").write_text("")
    for path in (tmp_path, tmp_path / "thesis.tex"):
        assert "not a study folder" in refusal(path)


@pytest.mark.parametrize("content", ["[]", "{}", '{"steps": 3}', '{"steps": {"svd": 3}}', "{"])
def test_a_damaged_record_is_refused(tmp_path, content):
    (tmp_path / "study.json").write_text(content)
    assert re.search(r"study\.json: (damaged|cannot be read)", refusal(tmp_path))


def test_a_partial_first_record_is_ignored(tmp_path):
    (tmp_path / "study.json.new").write_text("{")

    with StudyFolder.open(tmp_path) as folder:
        assert folder.record == {"steps": {}}
