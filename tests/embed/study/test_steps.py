"""Steps as processes: their arguments, signals and exit."""

import os
import signal
import subprocess
import sys
import threading
from pathlib import Path

import pytest

from firth.corpora.common.console import show_progress
from firth.embed.study import steps
from firth.embed.study.steps import Step, describe_exit, run_command
from tests.waiting import PATIENCE, wait_for

# Runs a stub instead of firth, which records the signals it receives; and writes a file
# when signals are being waited for.
PARENT = """
import os, signal, subprocess, sys, time
from firth.embed.study import steps
steps.firth_command = lambda *words: [sys.executable, "-c", open(words[0]).read(), *words]
block = signal.pthread_sigmask
def block_and_report(how, signals):
    before = block(how, signals)
    open("watched", "w").close()
    return before
signal.pthread_sigmask = block_and_report
class Slow(subprocess.Popen):
    def __init__(self, *words, **options):
        super().__init__(*words, **options)
        while not os.path.exists("ready"):
            time.sleep(0.01)
        os.kill(os.getpid(), int(sys.argv[2]))
if sys.argv[2:]:
    subprocess.Popen = Slow
try:
    print("ended", steps.run_command([sys.argv[1]]))
except KeyboardInterrupt:
    print("interrupted")
"""
CHILD = """
import os, signal, sys, time
received = []
def record(number, frame):
    received.append(number)
for number in (signal.SIGINT, signal.SIGTERM):
    signal.signal(number, record)
open("ready", "w").close()
while not received:
    time.sleep(0.01)
time.sleep(0.3)
open("received", "w").write(" ".join(map(str, map(int, received))))
"""


def start(tmp_path, *words):
    """Start a process that runs a step, in its own session."""
    (tmp_path / "child.py").write_text(CHILD)
    return subprocess.Popen(
        [sys.executable, "-c", PARENT, "child.py", *words], cwd=tmp_path, text=True,
        start_new_session=True, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
        env={**os.environ, "PYTHONPATH": str(Path(steps.__file__).parents[2])},
    )  # fmt: skip


@pytest.fixture
def parent(tmp_path):
    """A process in which a step has started."""
    process = start(tmp_path)
    wait_for(lambda: all((tmp_path / name).exists() for name in ("ready", "watched")), process)
    yield process
    process.kill()
    process.communicate()


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_to_the_parent_alone_is_forwarded(parent, tmp_path, number):
    parent.send_signal(number)
    out, error = parent.communicate(timeout=PATIENCE)

    assert (tmp_path / "received").read_text() == str(int(number))
    assert out.endswith("interrupted\n"), error


@pytest.mark.process
@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_a_signal_during_startup_is_forwarded(tmp_path, number):
    with start(tmp_path, str(int(number))) as process:
        out, error = process.communicate(timeout=PATIENCE)

    assert (tmp_path / "received").read_text() == str(int(number))
    assert out.endswith("interrupted\n"), error


def test_describe_exit_names_the_signal():
    assert describe_exit(-9) == "killed by SIGKILL"
    assert describe_exit(1) == "ended with status 1 and no message, which is a bug of the command"


@pytest.mark.process
@pytest.mark.parametrize("shown", [True, False])
def test_a_failed_step_says_why(tmp_path, capfd, shown):
    with show_progress(shown):
        failure = run_command(["corpus-info", str(tmp_path / "none")])

    reason = f"{tmp_path / 'none'}: not a finished corpus; build one with firth build-corpus"
    assert failure == reason
    assert capfd.readouterr().err == (f"Error: {reason}\n" if shown else "")


@pytest.mark.process
def test_a_step_can_run_in_any_thread(capfd):
    failures = []
    command = ["corpus-info", "--help"]
    thread = threading.Thread(target=lambda: failures.append(run_command(command)))
    thread.start()
    thread.join()

    assert failures == [""]
    out = capfd.readouterr().out
    assert out.startswith("$ firth corpus-info --help\n")
    assert "Usage: firth corpus-info" in out


def test_names_that_start_with_a_dash_are_not_options():
    step = Step("train-svd", ("-text.txt",), ("--dim", "5"), Path("-out"))

    assert step.arguments(force=True) == [
        "train-svd", "./-text.txt", "--dim", "5", "--out", "./-out", "--force",
    ]  # fmt: skip
