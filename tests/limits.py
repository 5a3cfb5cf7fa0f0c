"""What tests may do: start processes if they are marked, and be skipped for the listed reasons."""

import multiprocessing.util
import os
import re
import sys
from typing import Any

import pytest

# What this machine may lack. All packages are there, since the extra `dev` has them.
ALLOWED_SKIPS = """
no real data: missing folder .*
no demo/: run make demo
demo/ has other runs than the page shows .*
there is (a|no) GPU
root may read everything
mounting a disk is not allowed here
(needs|this system has no|memory is read from) /(proc|dev/full)
this system has no named pipes
threads have no files here
could not import 'resource'.*
torch brings GNU's OpenMP on Linux
(bash|node|chromium|chromium or chromedriver) is not on PATH.*
there is no C\\+\\+ compiler .*
"""
if sys.version_info >= (3, 14):  # which has no wheels of gensim
    ALLOWED_SKIPS += "gensim is not installed|could not import 'gensim.*"
_ALLOWED = re.compile("|".join(f"({line})" for line in ALLOWED_SKIPS.split("\n") if line))
_PACKAGE = re.compile("could not import |.* is not installed")

# Others, such as git and uname, are asked for the provenance by the first test that needs it.
_PROGRAMS = re.compile("python|pytest|firth|torchrun|bash|sh$|node|chrom")
STARTED: list[str] = []  # the processes of the present test


def _note_process(event: str, arguments: tuple[Any, ...]) -> None:
    if event in ("os.fork", "os.forkpty", "os.posix_spawn", "os.system"):
        STARTED.append(event)
    elif event == "subprocess.Popen" and _PROGRAMS.match(
        os.path.basename(os.fsdecode(arguments[0]))
    ):
        STARTED.append(str(arguments[1]))


_spawn = multiprocessing.util.spawnv_passfds


def _spawn_noted(path: Any, arguments: Any, *more: Any) -> int:
    """Start a process of multiprocessing, which no audit event tells of."""
    STARTED.append(str(arguments))
    return _spawn(path, arguments, *more)


sys.addaudithook(_note_process)
multiprocessing.util.spawnv_passfds = _spawn_noted


def unmarked_process(item: pytest.Item) -> str:
    """Return an error if a test has started a process and has no mark that says so."""
    if not STARTED or item.get_closest_marker("process"):
        return ""
    return f"starts a process without pytest.mark.process: {STARTED[0]:.300}"


def skip_problem(report: pytest.TestReport | pytest.CollectReport, missing: bool) -> str:
    """Return an error for a skip whose reason is not allowed; packages may be ``missing``."""
    if not report.skipped or hasattr(report, "wasxfail"):
        return ""
    reason = str(report.longrepr[2] if isinstance(report.longrepr, tuple) else report.longrepr)
    reason = reason.removeprefix("Skipped: ")
    if _ALLOWED.fullmatch(reason) or (missing and _PACKAGE.match(reason)):
        return ""
    return f"skipped for a reason that is not in tests/limits.py: {reason}"
