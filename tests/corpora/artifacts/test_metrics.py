"""metrics.jsonl: lines are appended, and trimmed when training resumes."""

import json

from corpora.artifacts.metrics import Metrics, read_metrics


def test_resuming_drops_lines_of_repeated_steps(tmp_path):
    path = tmp_path / "metrics.jsonl"
    metrics = Metrics(path, lambda line: True)
    for step in range(5):
        metrics.write(step=step, loss=step / 2)
    metrics = Metrics(path, lambda line: line["step"] <= 2)
    metrics.write(step=3, loss=9.0)
    assert [line["step"] for line in read_metrics(path)] == [0, 1, 2, 3]
    assert read_metrics(path)[-1] == {"step": 3, "loss": 9.0}
    assert [child.name for child in tmp_path.iterdir()] == ["metrics.jsonl"]


def test_a_truncated_line_is_ignored(tmp_path):
    path = tmp_path / "metrics.jsonl"
    path.write_text('{"step": 1}\n{"step": 2, "lo')
    assert read_metrics(path) == [{"step": 1}]
    Metrics(path, lambda line: True).write(step=2)
    assert read_metrics(path) == [{"step": 1}, {"step": 2}]


def test_nan_and_infinity_become_null(tmp_path):
    path = tmp_path / "metrics.jsonl"
    Metrics(path, lambda line: True).write(loss=float("nan"), rate=float("inf"), step=1)

    def refuse(name):
        raise AssertionError(name)

    assert json.loads(path.read_text(), parse_constant=refuse) == {
        "loss": None, "rate": None, "step": 1,
    }  # fmt: skip


def test_a_missing_file_has_no_lines(tmp_path):
    assert read_metrics(tmp_path / "metrics.jsonl") == []
