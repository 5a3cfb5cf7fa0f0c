"""Files and folders are complete or absent, and never overwrite others without force."""

import os

import pytest

from firth.corpora.artifacts.atomic import atomic_output, refuse_overwrite, write_whole
from firth.corpora.common.errors import ArtifactError


def names(folder):
    """Return the names in a folder."""
    return sorted(path.name for path in folder.iterdir())


def fill(out, text="new", **options):
    """Write a file."""
    with atomic_output(out, options.pop("force", False), **options) as partial:
        assert partial.name == out.name
        partial.write_text(text)


def fill_folder(out, files, force=False, may_replace=("a", "b")):
    """Write a folder of files."""
    with atomic_output(out, force, may_replace) as partial:
        partial.mkdir()
        for name in files:
            (partial / name).write_text("new")


def test_a_file_appears_when_complete_and_leaves_nothing_beside_it(tmp_path):
    out = tmp_path / "new" / "out.txt"
    with atomic_output(out, False) as partial:
        partial.write_text("half")
        (partial.parent / "scratch").write_text("")
        assert not out.exists()
    assert names(out.parent) == ["out.txt"]
    assert out.read_text() == "half"


@pytest.mark.parametrize(
    "error", [OSError(28, "No space left"), KeyboardInterrupt()], ids=["disk", "interrupt"]
)
def test_an_error_leaves_no_folder_that_was_made_for_the_file(tmp_path, error):
    (tmp_path / "old").mkdir()
    for folder in ("old", "new/inner"):
        with (
            pytest.raises((ArtifactError, KeyboardInterrupt)),
            atomic_output(tmp_path / folder / "out.txt", False),
        ):
            raise error
    assert names(tmp_path) == ["old"]


def test_a_folder_appears_when_complete_and_is_replaced_with_all_its_files(tmp_path):
    fill_folder(tmp_path / "out", ["a", "b"])
    assert names(tmp_path) == ["out"]
    assert names(tmp_path / "out") == ["a", "b"]
    fill_folder(tmp_path / "out", ["a"], force=True)
    assert names(tmp_path / "out") == ["a"]


def test_a_file_is_replaced_with_force(tmp_path):
    (tmp_path / "out").write_text("mine")
    refuse_overwrite(tmp_path / "out", True)  # which only checks, and allows it
    assert (tmp_path / "out").read_text() == "mine"
    fill(tmp_path / "out", force=True)
    assert (tmp_path / "out").read_text() == "new"


# what is there, what is written in its place, and why not
REFUSED = {
    "a file": (
        {"out": "mine"},
        lambda out: fill(out),
        "already exists; choose another OUT or pass",
    ),
    "checked only": ({"out": "mine"}, lambda out: refuse_overwrite(out, False), "already exists"),
    "a folder": ({"out/a": ""}, lambda out: fill_folder(out, ["a"]), "already exists; choose"),
    "a thesis": (
        {"out/a": "", "out/thesis.tex": "mine"},
        lambda out: fill_folder(out, ["a"], force=True),
        "not an export folder; choose another OUT",
    ),
    "a thesis, by a file": (
        {"out/thesis.tex": "mine"},
        lambda out: fill(out, force=True),
        "not an export folder",
    ),
    "in a file": (
        {"out": "mine"},
        lambda out: refuse_overwrite(out / "folder" / "out", False),
        "cannot be written: {out}: not a folder; choose another OUT",
    ),
}


@pytest.mark.parametrize(("files", "write", "message"), REFUSED.values(), ids=REFUSED)
def test_what_is_there_is_not_overwritten(files, write, message, tmp_path):
    out = tmp_path / "out"
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(content)
    with pytest.raises(ArtifactError, match=f"{out}.*: {message.format(out=out)}"):
        write(out)
    assert {name: (tmp_path / name).read_text() for name in files} == files


@pytest.mark.parametrize("error", [ValueError, KeyboardInterrupt])
def test_an_error_in_the_block_keeps_the_old_file(tmp_path, error):
    out = tmp_path / "out"
    out.write_text("mine")
    with pytest.raises(error), atomic_output(out, True) as partial:
        partial.write_text("half")
        raise error
    assert names(tmp_path) == ["out"]
    assert out.read_text() == "mine"


def test_a_full_disk_is_a_one_line_error_and_keeps_the_old_file(tmp_path, monkeypatch):
    def full(*_):
        raise OSError(28, "No space left on device")

    out = tmp_path / "out"
    out.write_text("mine")
    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(ArtifactError) as refusal:
        fill(out, force=True)
    assert str(refusal.value) == f"{out}: cannot be written: No space left on device"
    assert names(tmp_path) == ["out"]
    assert out.read_text() == "mine"


def test_a_folder_without_permission_is_told_before_any_work(tmp_path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: path != tmp_path)  # root may write all
    with pytest.raises(ArtifactError, match="no permission to write; choose another OUT"):
        refuse_overwrite(tmp_path / "folder" / "out", False)
    assert names(tmp_path) == []


def test_a_failed_write_keeps_the_old_file_and_nothing_else(tmp_path):
    def fail(path):
        path.write_text("half")
        raise OSError("full")

    (tmp_path / "numbers").write_text("old")
    with pytest.raises(OSError, match="full"):
        write_whole(tmp_path / "numbers", fail)
    assert names(tmp_path) == ["numbers"]
    assert (tmp_path / "numbers").read_text() == "old"

    (tmp_path / "folder").mkdir()
    with pytest.raises(IsADirectoryError):
        write_whole(tmp_path / "folder", lambda path: path.write_text("new"))
    assert names(tmp_path) == ["folder", "numbers"]
