"""The anonymous memory of a process and its children."""

import contextlib
import os
import subprocess
import sys

import pytest

from firth.corpora.common.peak_memory import anonymous_bytes, peak_memory

pytestmark = pytest.mark.process

CHILD = "held = bytearray(60 << 20); print(flush=True); input()"


@contextlib.contextmanager
def child():
    """A process that holds 60 MiB."""
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE}
    with subprocess.Popen([sys.executable, "-c", CHILD], **pipes) as process:
        process.stdout.readline()
        yield process
        process.communicate(b"\n")


def test_the_memory_of_children_counts_until_they_end():
    before = anonymous_bytes()
    with child() as process:
        assert anonymous_bytes(process.pid) > 60 << 20
        with peak_memory() as peak:
            assert anonymous_bytes() - before > 50 << 20
    assert peak.bytes - before > 50 << 20
    assert anonymous_bytes() - before < 30 << 20
    assert anonymous_bytes(process.pid) == 0


def test_a_forked_child_that_runs_no_program_yet_shares_the_memory_of_its_parent():
    held, before = bytearray(60 << 20), anonymous_bytes()
    ours, theirs = os.pipe()
    if not (pid := os.fork()):
        os.read(ours, 1)
        os._exit(0)
    assert anonymous_bytes() - before < 50 << 20
    os.write(theirs, b".")
    os.waitpid(pid, 0)
    assert len(held) == 60 << 20
