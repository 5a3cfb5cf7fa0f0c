"""Steps as processes: how they are typed, what reaches them, how they end."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from embed.study import steps
from embed.study.steps import Step, ended, run
from tests.waiting import PATIENCE, wait_for

# Runs a stub in the place of firth, which writes down the signals that it gets; and writes a file
# when signals are watched.
PARENT = """
import os, signal, subprocess, sys, time
from embed.study import steps
steps.firth = lambda *words: [sys.executable, "-c", open(words[0]).read(), *words]
block = signal.pthread_sigmask
def block_and_tell(how, signals):
    before = block(how, signals)
    open("watched", "w").close()
    return before
signal.pthread_sigmask = block_and_tell
class Slow(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        while not os.path.exists("ready"):
            time.sleep(0.01)
        os.kill(os.getpid(), int(sys.argv[2]))
if sys.argv[2:]:
    subprocess.Popen = Slow
try:
    print("status", steps.run([sys.argv[1]]))
except KeyboardInterrupt:
    print("interrupted")
"""
CHILD = """
import os, signal, sys, time
came = []
def note(number, frame):
    came.append(number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, note)
open("ready", "w").close()
while not came:
    time.sleep(0.01)
time.sleep(0.3)
open("came", "w").write(" ".join(map(str, map(int, came))))
"""


def begin(tmp_path, *words):
    """A process that runs a step, in a session of its own."""
    (tmp_path / "child.py").write_text(CHILD)
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, "child.py", *words], cwd=tmp_path, text=True,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(steps.__file__).parents[2])},
    )  # fmt: skip


@pytest.fixture
def parent(tmp_path):
    """A process that runs a step, begun."""
    process = begin(tmp_path)
    wait_for(lambda: all((tmp_path / name).exists() for name in ("ready", "watched")), process)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_us_alone_is_passed_on_and_waited_with(parent, tmp_path, number):
    parent.send_signal(number)
    out, error = parent.communicate(timeout=PATIENCE)

    assert (tmp_path / "came").read_text() == str(int(number))
    assert out.endswith("interrupted\n"), error


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_that_comes_while_a_step_starts_is_passed_on(tmp_path, number):
    with begin(tmp_path, str(int(number))) as process:
        out, error = process.communicate(timeout=PATIENCE)

    assert (tmp_path / "came").read_text() == str(int(number))
    assert out.endswith("interrupted\n"), error


def test_a_step_that_is_killed_says_by_what():
    assert ended(-9) == "was ended by SIGKILL"
    assert ended(1) == "failed, see above"


def test_a_step_may_be_run_by_any_thread(capfd):
    status = []
    thread = threading.Thread(target=lambda: status.append(run(["corpus-info", "--help"])))
    thread.start()
    thread.join()

    assert status == [0]
    out = capfd.readouterr().out
    assert out.startswith("$ firth corpus-info --help\n")
    assert "Describe a corpus" in out


def test_names_that_begin_with_a_dash_are_no_options():
    step = Step("train-svd", ("-text.txt",), ("--dim", "5"), Path("-out"))

    assert step.typed(force=True) == [
        "train-svd", "./-text.txt", "--dim", "5", "--out", "./-out", "--force",
    ]  # fmt: skip
