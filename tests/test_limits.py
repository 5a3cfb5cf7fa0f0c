"""Tests that start processes without a mark, and skips for other reasons, fail."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.limits import STARTED, skip_problem, unmarked_process


def skipped(reason):
    """Return the report of a skipped test."""
    return SimpleNamespace(skipped=True, longrepr=("test.py", 3, f"Skipped: {reason}"))


@pytest.mark.parametrize("reason", ["there is no GPU", "no real data: missing folder /a (set B)"])
def test_what_a_machine_may_lack_may_be_skipped(reason):
    assert skip_problem(skipped(reason), missing=False) == ""


@pytest.mark.parametrize(
    "reason", ["could not import 'umap': no module", "usearch is not installed"]
)
def test_packages_are_missing_only_on_request(reason):
    assert reason in skip_problem(skipped(reason), missing=False)
    assert skip_problem(skipped(reason), missing=True) == ""


def test_any_other_reason_is_a_failure():
    assert "too slow" in skip_problem(skipped("too slow"), missing=True)
    passed = SimpleNamespace(skipped=False, longrepr=None)
    assert skip_problem(passed, missing=False) == ""


@pytest.mark.process
def test_a_process_is_noticed_unless_its_test_is_marked():
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert len(STARTED) == 1
    marked, unmarked = (SimpleNamespace(get_closest_marker=lambda _, m=m: m) for m in (True, None))
    assert unmarked_process(marked) == ""
    assert sys.executable in unmarked_process(unmarked)
