"""Checkpoints: after a kill or a full disk at any moment, the old or the new one is complete."""

import errno
import itertools
import json
import os
import subprocess
import sys
import tracemalloc

import numpy as np
import pytest

from firth.corpora.artifacts import checkpoint
from firth.corpora.artifacts.checkpoint import clear_checkpoints, load_checkpoint, save_checkpoint
from firth.corpora.common.errors import ArtifactError

# Forks a child for every system call of saving, and kills it before and after the call. A separate
# process, since pytest's has threads. Prints, for each child, the call, the version that can be
# loaded afterwards, and the number of directories after the next save.
KILLER = """
import json, os, signal, sys
from pathlib import Path
import numpy as np
from firth.corpora.artifacts.checkpoint import load_checkpoint, save_checkpoint

CALLS = {"fsync", "rename", "mkdir", "rmdir", "unlink", "open", "write", "close"}
directory = Path(sys.argv[1])

def save(version):
    table = np.full((500, 8), version, np.float32)
    arrays = {"inputs": table[:, :5], "outputs": np.full((40, 5), version, np.float32)}
    save_checkpoint(directory, arrays, {"version": version, "chunk": 7 * version})

def version():
    arrays, state = load_checkpoint(directory)
    assert state["chunk"] == 7 * state["version"], state
    assert arrays["inputs"].shape == (500, 5)
    assert arrays["outputs"].shape == (40, 5)
    assert all((array == state["version"]).all() for array in arrays.values())
    return state["version"]

def killed_at(moment):
    seen = 0
    def watch(frame, event, function):
        nonlocal seen
        if event in ("c_call", "c_return") and function.__name__ in CALLS:
            seen += 1
            if seen == moment:
                os.write(1, (event + " " + function.__name__ + " ").encode())
                os.kill(os.getpid(), signal.SIGKILL)
    sys.setprofile(watch)

moment, status, version_now = 0, 1, 1
save(1)
while status:
    moment += 1
    sys.stdout.flush()
    child = os.fork()
    if child == 0:
        killed_at(moment)
        save(version_now + 1)
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
    loaded = version() - version_now
    version_now += 10
    save(version_now)
    assert version() == version_now
    names = [path.name for path in directory.iterdir()]
    print("ended" if status == 0 else "", loaded, len(names))
"""


def tables(version=1.0):
    """Return two arrays, one of them a slice of columns."""
    wide = np.full((300, 16), np.nan, np.float32)
    wide[:, :10] = version + np.arange(3000).reshape(300, 10)
    return {"inputs": wide[:, :10], "outputs": np.full((7, 10), version)}


def assert_loads(directory, version):
    """Assert that this version is loaded, arrays and state."""
    arrays, state = load_checkpoint(directory)
    assert state == {"version": version}
    assert list(arrays) == ["inputs", "outputs"]
    for name, array in tables(version).items():
        assert arrays[name].dtype == array.dtype
        np.testing.assert_array_equal(arrays[name], array)


def names(directory):
    """Return the names in a directory."""
    return sorted(path.name for path in directory.iterdir())


def test_a_saved_checkpoint_is_loaded_and_replaces_the_previous_one(tmp_path):
    directory = tmp_path / "checkpoints"
    assert load_checkpoint(directory) is None
    for version in (1.0, 2.0, 3.0):
        save_checkpoint(directory, tables(version), {"version": version})
        (directory / "step-9.partial").mkdir()  # of a save that was killed
        assert_loads(directory, version)
    assert names(directory) == ["step-3", "step-9.partial"]
    assert names(directory / "step-3") == [
        "checksums.json", "inputs.npy", "outputs.npy", "state.json",
    ]  # fmt: skip


@pytest.mark.parametrize(
    ("keeps", "left"),
    [
        ([1] * 5, [5]), ([2] * 5, [4, 5]), ([3] * 5, [3, 4, 5]), ([9] * 5, [1, 2, 3, 4, 5]),
        ([3, 3, 3, 2], [3, 4]),
    ],
)  # fmt: skip
def test_the_last_checkpoints_are_kept_and_the_newest_is_loaded(tmp_path, keeps, left):
    for version, keep in enumerate(keeps, 1):
        save_checkpoint(tmp_path, tables(version), {"version": version}, keep=keep)
    assert names(tmp_path) == [f"step-{number}" for number in left]
    assert_loads(tmp_path, len(keeps))


def test_arrays_are_stored_as_numpy_files_and_the_state_as_it_is(tmp_path):
    arrays = {
        "rows": np.arange(12, dtype=np.uint64).reshape(3, 4),
        "transposed": np.arange(12.0).reshape(3, 4).T,
        "one": np.array([2**63 - 1]),
        "none": np.empty((0, 5), np.float32),
        "columnless": np.empty((5, 0), np.int8),
        "cube": np.arange(60, dtype=np.int32).reshape(5, 4, 3)[::2, 1:],
    }
    state = {"stream": 2**64 - 1, "rate": 0.1 + 0.2, "words": ["naïve", "図書館"], "none": None}
    save_checkpoint(tmp_path, arrays, state)
    loaded, loaded_state = load_checkpoint(tmp_path)
    assert loaded_state == state
    for name, array in arrays.items():
        plain = np.load(tmp_path / "step-1" / f"{name}.npy", allow_pickle=False)
        for read in (plain, loaded[name]):
            assert (read.dtype, read.shape) == (array.dtype, array.shape)
            np.testing.assert_array_equal(read, array)


def test_no_array_is_copied(tmp_path):
    table = np.zeros((400_000, 16), np.float32)
    save_checkpoint(tmp_path, {"warm": table[:5]}, {})
    tracemalloc.start()
    save_checkpoint(tmp_path, {"view": table[:, :10], "whole": table}, {})
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < table.nbytes  # one block, and a read buffer per thread


def test_loaded_arrays_outlive_their_checkpoint(tmp_path):
    save_checkpoint(tmp_path, tables(1.0), {"version": 1.0})
    arrays, _ = load_checkpoint(tmp_path)
    save_checkpoint(tmp_path, arrays, {"version": 1.0})
    assert names(tmp_path) == ["step-2"]
    np.testing.assert_array_equal(arrays["inputs"], tables(1.0)["inputs"])
    assert_loads(tmp_path, 1.0)


@pytest.mark.process
def test_a_kill_at_any_system_call_leaves_a_complete_checkpoint(root, tmp_path):
    done = subprocess.run(
        [sys.executable, "-c", KILLER, str(tmp_path / "checkpoints")],
        capture_output=True, text=True, cwd=root, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    *killed, ended = [line.split() for line in done.stdout.splitlines()]
    assert ended == ["ended", "1", "1"]
    # each line: event, call, how much newer the loaded version is, directories after a save
    assert {line[-1] for line in killed} == {"1"}
    newer = [int(line[-2]) for line in killed]
    assert set(newer) == {0, 1}
    assert newer == sorted(newer), "the new one stays loadable"
    calls = {(line[0], line[1]) for line in killed}
    assert {("c_call", "rename"), ("c_return", "rename"), ("c_return", "write")} <= calls
    assert len(killed) > 40


def refused(monkeypatch, moment, code, work):
    """Make the n-th writing call fail; return its errno, 0 if ignored, None if not reached."""
    n_calls = 0

    def failing(call):
        def wrapped(*arguments, **options):
            nonlocal n_calls
            n_calls += 1
            if n_calls == moment:
                raise OSError(code, os.strerror(code))
            return call(*arguments, **options)

        return wrapped

    with monkeypatch.context() as patch:
        for name in ("fsync", "mkdir", "rename", "open"):
            patch.setattr(os, name, failing(getattr(os, name)))
        for name in ("save_array", "write_json"):
            patch.setattr(checkpoint, name, failing(getattr(checkpoint, name)))
        try:
            work()
        except OSError as error:
            return error.errno
    return None if n_calls < moment else 0


@pytest.mark.slow
@pytest.mark.parametrize("code", [errno.ENOSPC, errno.EIO])
def test_a_disk_error_at_any_call_leaves_a_complete_checkpoint(tmp_path, monkeypatch, code):
    outcomes = []
    for moment in itertools.count(1):
        directory = tmp_path / str(moment)
        save_checkpoint(directory, tables(1.0), {"version": 1.0})
        found = refused(
            monkeypatch, moment, code,
            lambda: save_checkpoint(directory, tables(2.0), {"version": 2.0}),  # noqa: B023
        )  # fmt: skip
        if found is None:
            break
        if found == 0:  # no effect: mkdir of a directory that exists
            assert_loads(directory, 2.0)
            continue
        assert found == code
        version = load_checkpoint(directory)[1]["version"]
        assert_loads(directory, version)
        assert version == 2.0 or names(directory) == ["step-1"], "no leftover files"
        outcomes.append(version)
    assert len(outcomes) > 15
    assert outcomes == sorted(outcomes)
    assert set(outcomes) == {1.0, 2.0}


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="needs /dev/full")
def test_a_file_cut_short_by_a_full_disk_is_an_error(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, tables(1.0), {"version": 1.0})

    class Full(os.PathLike):
        def __init__(self, path):
            self._path = path

        def __fspath__(self):
            return "/dev/full"

    write = checkpoint.save_array
    monkeypatch.setattr(checkpoint, "save_array", lambda path, array: write(Full(path), array))
    with pytest.raises(OSError, match="No space left") as refused:
        save_checkpoint(tmp_path, tables(2.0), {"version": 2.0})
    assert refused.value.errno == errno.ENOSPC
    assert names(tmp_path) == ["step-1"]
    assert_loads(tmp_path, 1.0)


@pytest.mark.parametrize("name", ["inputs.npy", "state.json", "checksums.json"])
@pytest.mark.parametrize("damage", ["changed", "missing", "empty", "unlisted"])
def test_a_damaged_checkpoint_is_skipped_with_a_note(tmp_path, capsys, name, damage):
    save_checkpoint(tmp_path, tables(1.0), {"version": 1.0})
    (tmp_path / "step-1").rename(tmp_path / "kept")
    save_checkpoint(tmp_path, tables(2.0), {"version": 2.0})
    (tmp_path / "step-1").rename(tmp_path / "step-10")
    (tmp_path / "kept").rename(tmp_path / "step-9")
    assert_loads(tmp_path, 2.0)
    path = tmp_path / "step-10" / name
    data = path.read_bytes()
    path.unlink()
    if damage == "unlisted":
        sums = tmp_path / "step-10" / "checksums.json"
        path.write_bytes(data)
        listed = json.loads(sums.read_text())
        sums.write_text(json.dumps({other: listed[other] for other in listed if other != name}))
        if name == sums.name:
            sums.write_text("{}")
    elif damage != "missing":
        path.write_bytes(b"" if damage == "empty" else data[:-3] + b"\x07" + data[-2:])

    assert_loads(tmp_path, 1.0)

    found = f"{tmp_path / 'step-10'}: damaged checkpoint skipped\n"
    assert capsys.readouterr().err == found


def test_clearing_that_is_interrupted_leaves_no_checkpoint_that_counts(tmp_path, monkeypatch):
    directory = tmp_path / "checkpoints"
    save_checkpoint(directory, tables(), {})

    def stop(path, *, ignore_errors=False):
        if not ignore_errors:
            raise KeyboardInterrupt

    with monkeypatch.context() as planted:
        planted.setattr(checkpoint.shutil, "rmtree", stop)
        with pytest.raises(KeyboardInterrupt):
            clear_checkpoints(directory)
    assert not directory.exists()
    clear_checkpoints(directory)  # of none
    assert names(tmp_path) == []
    save_checkpoint(directory, tables(), {})
    (directory / "step-2.partial").mkdir()
    clear_checkpoints(directory)
    assert names(tmp_path) == []


def test_a_checkpoint_of_another_format_is_refused_and_stays(tmp_path, monkeypatch):
    save_checkpoint(tmp_path, tables(), {"version": 1.0})
    monkeypatch.setattr(checkpoint, "FORMAT", 2)
    with pytest.raises(ArtifactError) as refused:
        load_checkpoint(tmp_path)
    assert str(refused.value) == (
        f"{tmp_path}: has format 1, this version reads 2; pass `force=True` to start over"
    )
    assert names(tmp_path) == ["step-1"]
