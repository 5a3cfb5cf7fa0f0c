"""The benchmark harness measures time and memory correctly."""

import argparse
import importlib.util
import json
import sys
from pathlib import Path

import pytest

PATH = Path(__file__).parents[1] / "harness.py"


@pytest.fixture(scope="module")
def harness():
    """Import benchmarks/harness.py as a module."""
    spec = importlib.util.spec_from_file_location("harness", PATH)
    module = importlib.util.module_from_spec(spec)
    sys.modules["harness"] = module  # dataclasses look their module up
    spec.loader.exec_module(module)
    return module


def test_turns_alternate_forward_and_backward(harness):
    assert "".join(harness.turns("ABC", 3)) == "ABCCBAABC"


def test_functions_are_warmed_up_and_called_in_turn(harness):
    calls = []
    measured = harness.time_functions(
        {"a": lambda: calls.append("a"), "b": lambda: calls.append("b")}, 2
    )
    assert "".join(calls) == "ab" + "abba"
    assert [len(entry.seconds) for entry in measured.values()] == [2, 2]


@pytest.mark.process
def test_a_process_is_measured_with_its_children(harness):
    # its memory is sampled 20 times a second
    child = "b = bytearray(150_000_000); import time; time.sleep(1.5)"
    parent = f"import subprocess, sys; subprocess.run([sys.executable, '-c', {child!r}]); print(5)"

    measured = harness.time_processes({"it": [sys.executable, "-c", parent]}, 1)["it"]

    assert measured.outputs == ["5\n"]
    assert measured.median > 1.5
    assert measured.peak_bytes[0] > 150e6
    if sys.platform == "linux":
        assert measured.tree_bytes > 150e6


@pytest.mark.process
def test_a_process_that_fails_ends_the_benchmark(harness):
    with pytest.raises(SystemExit, match="status 3"):
        harness.run_process([sys.executable, "-c", "raise SystemExit(3)"])


def test_the_report_prints_ratios_and_writes_json(harness, tmp_path, capsys):
    measured = {
        "firth": harness.Measurement(seconds=[1.0, 2.0, 1.5], peak_bytes=[10**8]),
        "other": harness.Measurement(seconds=[12.0, 12.0, 13.0]),
    }
    arguments = argparse.Namespace(json=tmp_path / "x.json")

    harness.report("t", measured, ours="firth", work=30, unit="MB", arguments=arguments)

    out = capsys.readouterr().out
    assert next(line for line in out.splitlines() if "other" in line).split() == [
        "other",
        "12.00",
        "12.00-13.00",
        "2.5",
        "8.00",
        "-",
        "-",
    ]
    written = json.loads((tmp_path / "x.json").read_text())
    assert written["results"]["firth"]["median_seconds"] == 1.5
    assert written["results"]["other"]["per_second"] == 2.5
    assert written["results"]["other"]["times_ours"] == 8
    assert written["results"]["other"]["times_ours_by_round"] == [6, 12]  # 12/2 and 12/1
    assert written["packages"]["numpy"]
    assert written["memory_bytes"] > 0
