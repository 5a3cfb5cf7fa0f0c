"""Lock files: one process at a time, and nothing left behind."""

import subprocess
import sys
import threading
import time

import pytest
from filelock import FileLock, Timeout

from firth.corpora.artifacts.lock import locked
from firth.corpora.common.errors import ArtifactError

HOLDER = """
import sys, time
from filelock import FileLock
with FileLock(sys.argv[1]):
    print("held", flush=True)
    sys.stdin.readline()
"""


@pytest.fixture
def holder(tmp_path):
    """Another process that holds the lock until a line is written to it."""
    process = subprocess.Popen(
        [sys.executable, "-c", HOLDER, tmp_path / "a.lock"],
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True,
    )  # fmt: skip
    assert process.stdout.readline() == "held\n"
    yield process
    process.communicate()


def test_a_free_lock_is_held_and_then_removed(tmp_path):
    with locked(tmp_path / "a.lock", ValueError("busy")):
        assert (tmp_path / "a.lock").exists()
    assert list(tmp_path.iterdir()) == []


@pytest.mark.process
def test_a_lock_of_another_process_raises_the_error_that_was_asked(holder, tmp_path):
    with pytest.raises(ValueError, match="busy"), locked(tmp_path / "a.lock", ValueError("busy")):
        pass
    holder.kill()  # nobody else releases it
    holder.wait()
    with locked(tmp_path / "a.lock", ValueError("busy")):
        pass


@pytest.mark.process
def test_another_process_is_waited_for_with_a_word(holder, tmp_path, capsys):
    def release():
        while "waiting" not in seen:
            seen.append(capsys.readouterr().err.strip())
            time.sleep(0.01)
        holder.stdin.write("\n")
        holder.stdin.flush()

    seen: list[str] = []
    thread = threading.Thread(target=release, daemon=True)
    thread.start()
    with locked(tmp_path / "a.lock", waiting="waiting"):
        assert holder.wait() == 0
    thread.join()


def test_a_third_process_does_not_get_the_lock_that_a_second_one_took(tmp_path):
    first, second, third = (FileLock(tmp_path / "a.lock", is_singleton=False) for _ in range(3))
    first.acquire()
    (tmp_path / "a.lock").unlink()
    second.acquire(timeout=0)
    first.release()  # versions before 3.29.5 remove the file of the second
    with pytest.raises(Timeout):
        third.acquire(timeout=0)
    second.release()


def test_a_file_of_the_user_is_kept_and_what_is_no_file_is_refused(tmp_path):
    (tmp_path / "notes.lock").write_text("my notes")
    with locked(tmp_path / "notes.lock", ValueError("busy")):
        pass
    assert (tmp_path / "notes.lock").read_text() == "my notes"
    (tmp_path / "folder.lock").mkdir()
    with pytest.raises(ArtifactError) as refused, locked(tmp_path / "folder.lock"):
        pass
    assert str(refused.value) == (
        f"{tmp_path / 'folder.lock'}: cannot be written as a lock file; remove it"
    )
