"""The folder of a study: what is kept, redone and refused."""

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


def test_a_step_is_run_once(tmp_path):
    assert do(tmp_path / "study", "--dim", "5") == "done"
    assert do(tmp_path / "study", "--dim", "5") == "kept"


def test_a_moved_study_resumes(tmp_path):
    do(tmp_path / "study", "--dim", "5")
    (tmp_path / "study").rename(tmp_path / "moved")
    assert do(tmp_path / "moved", "--dim", "5") == "kept"


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


def test_a_failed_step_is_run_again(tmp_path):
    assert do(tmp_path / "study", "fail") == do(tmp_path / "study", "fail") == "failed"


def test_choices_are_reused_if_their_inputs_are_unchanged(tmp_path):
    asked = Study(("a",)).with_options("train-cbow", dim=3)
    settled = asked.with_options("train-svd", dim=7).with_options("train-cbow", epochs=2)
    with StudyFolder.open(tmp_path / "s") as folder:
        assert folder.reuse_choices(asked, "text") == asked
        folder.begin(asked, force=False)
        folder.save_choices(asked, settled, "text")
    assert read_study(tmp_path / "s" / "study.toml") == settled

    with StudyFolder.open(tmp_path / "s") as folder:
        for same in (asked, settled):
            folder.begin(same, force=False)
            assert folder.reuse_choices(same, "text") == settled
            assert folder.reuse_choices(same, "other text") == same
        other = Study(("b",), words=("sea",)).with_options("train-cbow", dim=4)
        folder.begin(other, force=True)
        assert folder.reuse_choices(other, "text") == other.with_options("train-svd", dim=7)
        quicker = Study(("a",), budget="1m")
        assert folder.reuse_choices(quicker, "text") == quicker


def test_sets_that_could_not_be_had_are_chosen_again(tmp_path):
    asked = Study(("a",))
    without = asked.with_options("compare", sets=["two-tags"], intrinsic=True)
    with StudyFolder.open(tmp_path / "s") as folder:
        folder.begin(asked, force=False)
        folder.save_choices(asked, without.with_options("train-svd", dim=7), "text")
        assert folder.reuse_choices(asked, "text") == asked.with_options("train-svd", dim=7)


def test_a_different_study_is_refused_with_the_settings_that_differ(tmp_path):
    other = Study(("b",), budget="5m").with_options("train-svd", dim=7)
    with StudyFolder.open(tmp_path / "s") as folder:
        folder.begin(Study(("a",)), force=False)

    with (
        StudyFolder.open(tmp_path / "s") as folder,
        pytest.raises(ArtifactError, match="a study with other budget, sources, train-svd;"),
    ):
        folder.begin(other, force=False)
    with StudyFolder.open(tmp_path / "s") as folder:
        assert folder.record["asked"] == Study(("a",)).to_json()


def test_other_words_are_no_different_study(tmp_path):
    asked = Study(("a",), words=("sea",))
    settled = asked.with_options("train-svd", dim=7)
    with StudyFolder.open(tmp_path / "s") as folder:
        folder.begin(asked, force=False)
        folder.save_choices(asked, settled, "text")
        for same in (replace(asked, words=("lake",)), replace(settled, words=())):
            folder.begin(same, force=False)
            assert folder.reuse_choices(same, "text").options == settled.options
        with pytest.raises(ArtifactError, match="a study with other budget"):
            folder.begin(replace(asked, budget="5m"), force=False)


def test_a_folder_is_locked_while_in_use(tmp_path):
    with (
        StudyFolder.open(tmp_path / "s"),
        pytest.raises(ArtifactError, match="in use by another study"),
        StudyFolder.open(tmp_path / "s"),
    ):
        pass
    with StudyFolder.open(tmp_path / "s"):
        pass


@pytest.mark.parametrize("content", ["[]", "{}", '{"steps": 3}', '{"steps": {"svd": 3}}', "{"])
def test_a_damaged_record_is_refused(tmp_path, content):
    (tmp_path / "study.json").write_text(content)

    with (
        pytest.raises(ArtifactError, match=r"study\.json: (damaged|cannot be read)"),
        StudyFolder.open(tmp_path),
    ):
        pass


def test_a_folder_that_is_not_a_study_is_refused(tmp_path):
    (tmp_path / "thesis.tex").write_text("")

    for path in (tmp_path, tmp_path / "thesis.tex"):
        with (
            pytest.raises(ArtifactError, match="not a study folder"),
            StudyFolder.open(path),
        ):
            pass


def test_a_partial_first_record_is_ignored(tmp_path):
    (tmp_path / "study.json.new").write_text("{")

    with StudyFolder.open(tmp_path) as folder:
        assert folder.record == {"steps": {}}
