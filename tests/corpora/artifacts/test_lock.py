"""Lock files: one process at a time, and nothing left behind."""

import subprocess
import sys
import threading
import time

import pytest

from firth.corpora.artifacts.lock import locked

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
    thread = threading.Thread(target=release)
    thread.start()
    with locked(tmp_path / "a.lock", waiting="waiting"):
        assert holder.wait() == 0
    thread.join()
