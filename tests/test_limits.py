"""Tests that start processes without a mark, and skips for other reasons, fail."""

import subprocess
import sys
from types import SimpleNamespace

import pytest

from tests.limits import STARTED, skip_problem, unmarked_process


@pytest.mark.parametrize(
    ("reason", "allowed", "if_missing"),
    [
        ("there is no GPU", True, True),
        ("no real data: missing folder /a (set B)", True, True),
        ("could not import 'umap': no module", False, True),
        ("usearch is not installed", False, True),
        ("too slow", False, False),
    ],
)
def test_skips_have_listed_reasons_or_are_of_missing_packages(reason, allowed, if_missing):
    report = SimpleNamespace(skipped=True, longrepr=("test.py", 3, f"Skipped: {reason}"))
    assert (not skip_problem(report, missing=False), not skip_problem(report, missing=True)) == (
        allowed, if_missing,
    )  # fmt: skip


@pytest.mark.process
def test_a_process_is_noticed_unless_its_test_is_marked():
    subprocess.run([sys.executable, "-c", ""], check=True)
    assert len(STARTED) == 1
    marked, unmarked = (SimpleNamespace(get_closest_marker=lambda _, m=m: m) for m in (True, None))
    assert unmarked_process(marked) == ""
    assert sys.executable in unmarked_process(unmarked)
