"""What is in the cache is shown by name, and removed by name or as a whole."""

import contextlib
import json
from pathlib import Path

import pytest
from click.testing import CliRunner

from firth.cli import main
from firth.corpora.common import cache as cache_module
from firth.corpora.common.cache import cache_directory, check_once
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.encoding.build import open_or_build


@pytest.fixture
def cache(tmp_path, monkeypatch):
    """A cache with a table, two files of scores, and one of somebody else."""
    for name, text in {
        "characters/1.npz": "12345",
        "mine/thesis.txt": "1",
        "scores/a": "1",
        "scores/b": "22",
    }.items():
        (tmp_path / name).parent.mkdir(exist_ok=True)
        (tmp_path / name).write_text(text)
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path))
    return tmp_path


def caches(*words):
    """Run ``firth caches``, and return what it printed."""
    done = CliRunner().invoke(main, ["caches", *words])
    assert done.exit_code == 0, done.output
    return done.stdout


def test_the_cache_is_shown_and_nothing_is_removed(cache):
    lines = [line.split() for line in caches().splitlines()]
    assert ["scores", "3B", *["measurements", "of", "runs", "on", "evaluation", "sets"]] in lines
    assert lines[-1] == ["8B"]
    assert sorted(path.name for path in cache.iterdir()) == ["characters", "mine", "scores"]


def test_what_is_named_is_removed_and_then_the_rest(cache):
    emptied = json.loads(caches("scores", "--empty", "--json"))
    assert emptied == {"path": str(cache), "emptied": True, "bytes": {"scores": 3}}
    assert sorted(path.name for path in cache.iterdir()) == ["characters", "mine"]
    assert caches("scores", "--empty").endswith("\n0B removed\n")
    assert caches("--empty").endswith("5B removed\n")
    assert [path.name for path in cache.iterdir()] == ["mine"]
    assert caches().endswith("0B\n")


def test_an_unknown_name_removes_nothing(cache):
    done = CliRunner().invoke(main, ["caches", "scores", "map", "--empty"])
    assert done.stderr.startswith("Error: map: no content of the cache; pass characters, checked, ")
    assert sorted(path.name for path in cache.iterdir()) == ["characters", "mine", "scores"]


def test_where_the_cache_cannot_be_written_the_variables_are_named(tmp_path, monkeypatch):
    (tmp_path / "file").write_text("")
    (tmp_path / "text.txt").write_text("some text\n")
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "file" / "cache"))
    with pytest.raises(ArtifactError, match="; set XDG_CACHE_HOME or FIRTH_CACHE to a folder"):
        open_or_build(tmp_path / "text.txt")


def test_a_user_without_a_home_is_told_to_name_a_folder(monkeypatch):
    monkeypatch.delenv("FIRTH_CACHE")
    monkeypatch.delenv("XDG_CACHE_HOME", raising=False)
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(SettingError, match="no home folder; set FIRTH_CACHE"):
        cache_directory()


def no_home():
    raise RuntimeError("Could not determine home directory.")


@pytest.mark.parametrize(
    ("settled", "large", "times"), [(-1, 1, 3), (10**18, 1, 5), (-1, 100, 5)],
    ids=["old", "new", "small"],
)  # fmt: skip
def test_files_are_checked_once_while_they_stay_as_they_are(
    cache, monkeypatch, settled, large, times
):
    monkeypatch.setattr(cache_module, "_SETTLED", settled)
    monkeypatch.setattr(cache_module, "_LARGE", large)
    files, checks = [cache / "scores/a", cache / "scores/none"], []

    def check():
        checks.append(files[0].read_text())
        if checks[-1] == "damaged":
            raise ArtifactError("damaged")

    for content in ("1", "1", "2", "2", "damaged"):
        if files[0].read_text() != content:
            files[0].unlink()
            files[0].write_text(content)
        with pytest.raises(ArtifactError) if content == "damaged" else contextlib.nullcontext():
            check_once(files, check)
    assert len(checks) == times
