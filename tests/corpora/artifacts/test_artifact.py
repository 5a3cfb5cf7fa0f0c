"""Artifacts are complete or absent, even if the process that writes them is killed."""

import errno
import json
import multiprocessing
import os
import re
import signal
import subprocess
import sys
import textwrap
import time
from pathlib import Path

import pytest

from firth.corpora.artifacts import artifact
from firth.corpora.artifacts.artifact import CHECKSUMS, fingerprint, new_artifact, verify
from firth.corpora.common.errors import ArtifactError
from tests.waiting import PATIENCE

ROOT = Path(__file__).resolve().parents[3]
MAKER = {"command": "make-tea", "cups": 2}
OTHER = {"command": "make-coffee", "cups": 2}


def make(out, text="tea", maker=MAKER, **options):
    """Write a small artifact: one file, and one in a folder."""
    with new_artifact(out, maker, **options) as partial:
        (partial / "a.txt").write_text(text)
        (partial / "deep").mkdir(exist_ok=True)
        (partial / "deep" / "b.txt").write_text(text * 2)


def fail(out, *files, force=False):
    """Write some files of resumable work, which have their names for content, and fail."""
    work = new_artifact(out, MAKER, resume="parts", force=force)
    with pytest.raises(ZeroDivisionError), work as partial:
        for name in files:
            (partial / name).parent.mkdir(exist_ok=True)
            (partial / name).write_text(name)
        raise ZeroDivisionError


def names(folder):
    """Return all relative paths below a folder."""
    return sorted(path.relative_to(folder).as_posix() for path in folder.rglob("*"))


def test_a_finished_artifact_holds_what_was_written_and_its_checksums(tmp_path):
    make(tmp_path / "deeper" / "out")

    assert names(tmp_path) == [
        "deeper",
        "deeper/out",
        "deeper/out/a.txt",
        f"deeper/out/{CHECKSUMS}",
        "deeper/out/deep",
        "deeper/out/deep/b.txt",
    ]
    sums = json.loads((tmp_path / "deeper" / "out" / CHECKSUMS).read_text())
    assert list(sums) == ["a.txt", "deep/b.txt"]
    # printf tea | sha256sum
    assert sums["a.txt"] == artifact.hashlib.sha256(b"tea").hexdigest()
    verify(tmp_path / "deeper" / "out")


def test_the_final_path_does_not_exist_during_writing(tmp_path):
    with new_artifact(tmp_path / "out", MAKER) as partial:
        assert partial == tmp_path / "out.partial"
        assert not (tmp_path / "out").exists()
    assert not partial.exists()


def test_a_relative_path_is_resolved_at_the_start(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with new_artifact(Path("out"), MAKER) as partial:
        os.chdir("/")
        (partial / "a.txt").write_text("tea")
    assert (tmp_path / "out" / "a.txt").is_file()


@pytest.mark.parametrize("error", [ZeroDivisionError, KeyboardInterrupt])
@pytest.mark.parametrize("place", ["out", "new/folders/out"])
def test_an_error_leaves_nothing(tmp_path, error, place):
    with pytest.raises(error), new_artifact(tmp_path / place, MAKER) as partial:
        (partial / "a.txt").write_text("tea")
        raise error
    assert names(tmp_path) == []


def test_an_error_in_resumable_work_keeps_the_partial_directory(tmp_path):
    fail(tmp_path / "out", "a.txt")
    with new_artifact(tmp_path / "out", MAKER, resume="parts") as partial:
        assert (partial / "a.txt").read_text() == "a.txt"
    assert names(tmp_path / "out") == ["a.txt", CHECKSUMS]


def test_resumable_work_that_wrote_nothing_leaves_nothing(tmp_path):
    fail(tmp_path / "out")
    assert names(tmp_path) == []


def test_different_settings_start_over_instead_of_resuming(tmp_path):
    fail(tmp_path / "out", "a.txt")
    with new_artifact(tmp_path / "out", {**MAKER, "cups": 3}, resume="parts") as partial:
        assert not (partial / "a.txt").exists()


def test_different_settings_do_not_clear_resumable_work(tmp_path):
    fail(tmp_path / "out", "parts/a.txt")
    other = {**MAKER, "cups": 3}
    message = "out.partial: left unfinished with different cups; pass the same values to resume,"
    with pytest.raises(ArtifactError, match=message):
        make(tmp_path / "out", maker=other, resume="parts")
    assert (tmp_path / "out.partial/parts/a.txt").read_text() == "parts/a.txt"
    with new_artifact(tmp_path / "out", other, resume="parts", force=True) as partial:
        assert not (partial / "parts").exists()


def leave_unfinished(out, maker=MAKER):
    """Create what a killed process leaves: files and maker.json."""
    partial = out.with_name(out.name + ".partial")
    (partial / "deep").mkdir(parents=True)
    (partial / "deep" / "old.txt").write_text("old")
    (partial / artifact.MAKER).write_text(json.dumps(maker))


def test_the_same_command_clears_what_a_killed_process_left(tmp_path):
    leave_unfinished(tmp_path / "out", {**MAKER, "cups": 9})
    make(tmp_path / "out")
    assert "deep/old.txt" not in names(tmp_path / "out")


def test_unfinished_work_of_another_command_is_refused_unless_forced(tmp_path):
    leave_unfinished(tmp_path / "out", OTHER)

    message = "out.partial: left unfinished by 'make-coffee'; run that command again, choose"
    with pytest.raises(ArtifactError, match=message):
        make(tmp_path / "out")
    assert (tmp_path / "out.partial" / "deep" / "old.txt").is_file()

    make(tmp_path / "out", force=True)
    assert "deep/old.txt" not in names(tmp_path / "out")


def test_an_existing_artifact_is_overwritten_only_with_force(tmp_path):
    make(tmp_path / "out")
    with pytest.raises(ArtifactError, match="out: already exists; choose another `out` or pass"):
        make(tmp_path / "out", "other")
    assert (tmp_path / "out" / "a.txt").read_text() == "tea"
    make(tmp_path / "out", "other", OTHER, force=True)
    assert (tmp_path / "out" / "a.txt").read_text() == "other"
    assert [path.name for path in tmp_path.iterdir()] == ["out"]


def test_an_error_while_replacing_keeps_the_old_artifact(tmp_path):
    make(tmp_path / "out")
    with pytest.raises(ZeroDivisionError), new_artifact(tmp_path / "out", MAKER, force=True):
        raise ZeroDivisionError
    verify(tmp_path / "out")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


def hold(out, inside, done):
    """Hold an unfinished artifact, in another process."""
    with new_artifact(out, MAKER):
        inside.set()
        done.wait(PATIENCE)


@pytest.mark.process
def test_an_artifact_being_written_is_refused_even_when_forced(tmp_path):
    context = multiprocessing.get_context("spawn")
    inside, done = context.Event(), context.Event()
    process = context.Process(target=hold, args=(tmp_path / "out", inside, done))
    process.start()
    try:
        assert inside.wait(PATIENCE)
        for force in (False, True):
            with pytest.raises(
                ArtifactError, match=r"out\.partial: another process is writing it;"
            ):
                make(tmp_path / "out", force=force)
    finally:
        done.set()
        process.join(PATIENCE)
    verify(tmp_path / "out")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        (
            "deep/b.txt",
            "teatec",
            "deep/b.txt: checksum mismatch, the file is damaged; recreate out",
        ),
        ("a.txt", None, "a.txt: the file is missing; recreate out"),
        (CHECKSUMS, "[]", "checksums.json: is damaged; recreate out"),
        (CHECKSUMS, None, "checksums.json: no such file; is {out} a finished artifact?"),
    ],
)
def test_verify_names_what_is_damaged_or_missing(name, content, message, tmp_path):
    out = tmp_path / "out"
    make(out)
    (out / name).unlink() if content is None else (out / name).write_text(content)
    with pytest.raises(ArtifactError) as caught:
        verify(out)
    assert str(caught.value) == f"{out}/{message.format(out=out)}"
    if name == "a.txt":
        verify(out, ["deep/b.txt"])


@pytest.mark.parametrize("content", ['{"a": ', "[" * 100_000], ids=["damaged", "deeply nested"])
def test_json_that_cannot_be_read_is_a_one_line_error_that_names_the_file(tmp_path, content):
    (tmp_path / "x.json").write_text(content)
    with pytest.raises(ArtifactError) as caught:
        artifact.read_json(tmp_path / "x.json")
    assert str(caught.value).startswith(f"{tmp_path}/x.json: cannot be read as JSON: ")
    assert "\n" not in str(caught.value)


def test_json_round_trips_unescaped_also_with_names_that_are_not_utf8(tmp_path):
    value = {"wörter": ["が", "हिन्दी"], "n": 1, "x": None, "name": os.fsdecode(b"b\xe9.txt")}
    artifact.write_json(tmp_path / "x.json", value)
    assert "が" in (tmp_path / "x.json").read_text(encoding="utf-8")
    assert artifact.read_json(tmp_path / "x.json") == value
    assert len(fingerprint(value)) == 16


FULL_DISK = {code: OSError(code, os.strerror(code)) for code in (errno.ENOSPC, errno.EDQUOT)}
FULL_DISK["tofile"] = OSError("123 requested and 45 written")  # the message of ndarray.tofile()


@pytest.mark.parametrize("error", FULL_DISK.values(), ids=FULL_DISK)
def test_a_full_disk_is_a_one_line_error_and_leaves_nothing(tmp_path, error):
    with pytest.raises(ArtifactError) as caught, new_artifact(tmp_path / "out", MAKER) as partial:
        (partial / "a.txt").write_text("tea")
        raise error
    assert str(caught.value) == (
        f"{tmp_path}/out: the disk is full; free some space or choose another `out`"
    )
    assert names(tmp_path) == []


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="this system has no /dev/full")
def test_a_truly_full_disk_is_a_one_line_error(tmp_path):
    with (
        pytest.raises(ArtifactError, match="the disk is full"),
        new_artifact(tmp_path / "out", MAKER),
        open("/dev/full", "w", encoding="utf-8") as full,
    ):
        full.write("tea")
    assert names(tmp_path) == []


def test_a_disk_that_fills_while_publishing_leaves_nothing(tmp_path, monkeypatch):
    def full(path, value):
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC), str(path))

    refused = pytest.raises(ArtifactError, match="the disk is full")
    with refused, new_artifact(tmp_path / "out", MAKER):
        monkeypatch.setattr(artifact, "write_json", full)
    assert names(tmp_path) == []


def test_an_unwritable_path_is_a_one_line_error(tmp_path):
    (tmp_path / "file").write_text("no folder")
    with pytest.raises(ArtifactError, match=r"out: cannot be written: ") as caught:
        make(tmp_path / "file" / "out")
    assert "\n" not in str(caught.value)


def test_errors_unrelated_to_the_disk_are_unchanged(tmp_path):
    with pytest.raises(ConnectionResetError), new_artifact(tmp_path / "out", MAKER):
        raise ConnectionResetError(errno.ECONNRESET, "reset")


def test_fingerprints_do_not_depend_on_key_order():
    assert fingerprint({"a": 1, "b": [2, "ü"]}) == fingerprint({"b": [2, "ü"], "a": 1})
    assert fingerprint({"a": 1}) != fingerprint({"a": 2})
    assert re.fullmatch("[0-9a-f]{16}", fingerprint("x"))


MAKE_FOREVER = textwrap.dedent(
    """
    import sys
    from pathlib import Path
    from firth.corpora.artifacts.artifact import new_artifact

    out = Path(sys.argv[1])
    print("ready", flush=True)
    for round in range(10**9):
        with new_artifact(out, {"command": "make-tea"}, force=True) as partial:
            for part in range(5):
                (partial / f"{part}.txt").write_text(f"{round}\\n" * 1000)
    """
)


def kill_after(seconds, out):
    """Kill a process that keeps replacing an artifact."""
    command = [sys.executable, "-c", MAKE_FOREVER, str(out)]
    with subprocess.Popen(command, stdout=subprocess.PIPE, cwd=ROOT) as process:
        assert process.stdout.readline() == b"ready\n"
        time.sleep(seconds)
        process.kill()
    assert process.returncode == -signal.SIGKILL


@pytest.mark.process
@pytest.mark.parametrize("attempt", range(12))
def test_sigkill_leaves_a_complete_artifact_or_none_and_the_next_run_cleans_up(tmp_path, attempt):
    out = tmp_path / "out"
    # from before the first artifact to many rounds later, at arbitrary steps
    kill_after(0.0007 * 1.7**attempt * (1 + attempt % 3 / 7), out)

    # between the two renames of a replacement the complete old artifact is out.replaced
    aside = tmp_path / "out.replaced"
    whole = out if out.exists() else aside
    if whole.exists():
        verify(whole)
        assert len({path.read_text() for path in whole.glob("*.txt")}) == 1

    make(out, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]
    verify(out)


STEPS = ["checksums", "sync_tree", "_publish", "sync_path"]


@pytest.mark.process
@pytest.mark.parametrize("step", STEPS)
@pytest.mark.parametrize("before", [True, False])
def test_a_kill_at_any_step_of_publishing_leaves_a_complete_artifact_or_none(
    server, tmp_path, step, before
):
    code = f"""
import os, sys
from pathlib import Path
from firth.corpora.artifacts import artifact

real = artifact.{step}
def die(*args):
    if not {before}:
        real(*args)
    os.kill(os.getpid(), 9)
artifact.{step} = die
with artifact.new_artifact(Path(sys.argv[1]), {MAKER!r}) as partial:
    (partial / "a.txt").write_text("tea")
"""
    out = tmp_path / "out"
    done = server.python(code, out, workdir=tmp_path).wait()
    assert done.status == -signal.SIGKILL

    if out.exists():
        verify(out)
        assert (out / "a.txt").read_text() == "tea"
    make(out, force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["out"]


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("out/thesis", "out: not a corpus or run; `force=True` will not overwrite it"),
        ("out.partial/thesis", "out.partial: exists and is not a partial artifact; move it"),
        ("out.replaced/thesis", "out.replaced: exists and is not a partial artifact; move it"),
        ("out.partial", "out.partial: exists and is not a partial artifact"),
    ],
)
def test_foreign_files_and_folders_are_not_touched(name, message, tmp_path):
    (tmp_path / name).parent.mkdir(exist_ok=True)
    (tmp_path / name).write_text("precious")
    before = names(tmp_path)
    with pytest.raises(ArtifactError, match=message):
        make(tmp_path / "out", force=True)
    assert names(tmp_path) == before
    assert (tmp_path / name).read_text() == "precious"


def test_a_partial_directory_with_a_truncated_record_is_cleared(tmp_path):
    leave_unfinished(tmp_path / "out")
    (tmp_path / "out.partial" / artifact.MAKER).write_text('{"comm')
    make(tmp_path / "out")
    assert names(tmp_path / "out") == ["a.txt", CHECKSUMS, "deep", "deep/b.txt"]


@pytest.mark.parametrize("name", ["x" * 250, "x" * 300])
def test_a_too_long_name_is_a_one_line_error(tmp_path, name):
    with pytest.raises(ArtifactError, match="cannot be written: File name too long"):
        make(tmp_path / name)
    assert names(tmp_path) == []


def test_a_complete_partial_directory_is_not_cleared(tmp_path, monkeypatch):
    def killed(*_):
        raise KeyboardInterrupt

    out, kept = tmp_path / "out", {"resume": "checkpoints"}
    with monkeypatch.context() as patch, pytest.raises(KeyboardInterrupt):
        patch.setattr(artifact, "_publish", killed)
        make(out, **kept)
    partial = tmp_path / "out.partial"
    with pytest.raises(
        ArtifactError, match=f"{partial}: complete, but not yet renamed; move it to"
    ):
        make(out, "other tea", **kept)
    assert (partial / "a.txt").read_text() == "tea"
    partial.rename(out)
    verify(out)


def test_an_interrupted_replacement_is_resumed(tmp_path):
    out = tmp_path / "out"
    make(out)
    fail(out, "half", force=True)
    with new_artifact(out, MAKER, force=True, resume="parts") as new:
        assert (new / "half").is_file()
    assert names(out) == [CHECKSUMS, "half"]
    fail(out, "another", force=True)
    with new_artifact(out, OTHER, force=True, resume="parts") as new:
        assert names(new) == ["maker.json"]  # --force clears work of another command


def test_the_folder_of_resumable_work_is_no_part_of_the_artifact(tmp_path, monkeypatch):
    out, seen = tmp_path / "run", []

    def work():
        with new_artifact(out, {"command": "make"}, resume="parts") as partial:
            seen.append((partial / "parts" / "state").exists())
            (partial / "parts").mkdir(exist_ok=True)
            (partial / "parts" / "state").touch()
            (partial / "data").touch()

    with monkeypatch.context() as patch:
        patch.setattr(artifact, "sync_tree", lambda path: 1 / 0)  # after the checksums
        with pytest.raises(ZeroDivisionError):
            work()
    work()
    assert seen == [False, True]
    assert sorted(path.name for path in out.iterdir()) == ["checksums.json", "data"]
    assert list(json.loads((out / "checksums.json").read_text())) == ["data"]
