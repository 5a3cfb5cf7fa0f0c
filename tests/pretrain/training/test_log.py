"""Lines of metrics.jsonl: sums, averages and the display."""

import math

import numpy as np
import pytest
import torch

from firth.corpora.artifacts.metrics import read_metrics
from firth.pretrain.training.evaluation import MlmScore
from firth.pretrain.training.log import TrainingLog, TrainingStatus, Workload

CPU = torch.device("cpu")
SCALE = Workload(row_slots=16, batch_rows=4, n_rows=32, padding=0.01, row_flops=1e6, peak=1e8)


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        for module in ("firth.pretrain.training.log", "firth.pretrain.device"):
            monkeypatch.setattr(f"{module}.time", self)

    def perf_counter(self):
        return self.now


@pytest.fixture
def clock(monkeypatch):
    """Return the batch timer of the log."""
    return Clock(monkeypatch)


@pytest.fixture
def shown():
    """Calls of the progress display."""
    return []


@pytest.fixture
def log(tmp_path, clock, shown):
    """Return the log of a new training."""
    return TrainingLog(
        tmp_path / "metrics.jsonl", 0, SCALE, CPU, lambda *arguments: shown.append(arguments)
    )


def values(loss, right, n_targets, norm=1.0):
    """Return the values of a step."""
    return torch.tensor([loss, right, n_targets, norm])


def test_a_line_covers_the_steps_since_the_last_one(log, clock, shown, tmp_path):
    log.add(values(30.0, 1, 10))
    log.add(values(60.0, 8, 20, 0.25))
    for part, seconds in (("data_wait", 0.5), ("forward", 1)):
        with log.stopwatch.part(part):
            clock.now += seconds
    clock.now += 2.5
    assert log.is_due
    assert log.read().tolist() == [[30, 1, 10, 1], [60, 8, 20, 0.25]]
    log.write_line(TrainingStatus(step=2, seconds=5.0, progress=0.1, rate=0.01, mask_rate=0.2))
    assert not log.is_due
    log.add(values(4.0, 2, 4))
    clock.now += 1
    log.read()
    log.write_line(TrainingStatus(step=3, seconds=6.0, progress=0.5, rate=0.02, mask_rate=0.1))

    first, second = read_metrics(tmp_path / "metrics.jsonl")
    memory = first.pop("memory")
    assert memory > 1e6
    assert first == {
        "step": 2,
        "epoch": 0.25,  # 8 of 32 rows
        "tokens": 128,
        "seconds": 5.0,
        "loss": 3.0,
        "accuracy": 0.3,
        "rate": 0.01,
        "mask_rate": 0.2,
        "gradient_norm": 0.25,
        "tokens_per_second": 32,
        "padding": 0.01,
        "mfu": 0.02,  # 8 rows of 1e6 in 4 seconds, of 1e8 a second
        "data_wait": 0.125,  # half a second of 4
        "forward": 0.25,
        "backward": 0.0,
        "optimizer": 0.0,
        "eta_seconds": 45.0,  # a tenth took 5
    }
    assert (second["loss"], second["accuracy"], second["tokens_per_second"]) == (1.0, 0.5, 64)
    assert [arguments[:2] for arguments in shown] == [(0, None), (128, 1280.0), (192, 384.0)]
    assert shown[1][2] == "loss 3.000  rate 0.01"


def test_a_score_is_logged_with_the_baseline_and_takes_no_training_time(
    log, clock, shown, tmp_path
):
    clock.now += 50
    log.write_score(
        TrainingStatus(0, 50.0, 0.0, 0.0, 0.15),
        MlmScore(2.0, 0.5, 7, 0.025, 6, np.array([[14.0], [7.0]])),
        MlmScore(3.0, 0.25, 7),
    )
    log.add(values(30.0, 1, 10))
    clock.now += 2
    log.read()
    log.write_line(TrainingStatus(1, 52.0, 0.1, 0.01, 0.15))
    score, line = read_metrics(tmp_path / "metrics.jsonl")
    assert score == {
        "step": 0,
        "tokens": 0,
        "seconds": 50.0,
        "held_out_loss": 2.0,
        "held_out_standard_error": 0.025,
        "held_out_units": 6,
        "held_out_perplexity": math.exp(2.0),
        "held_out_accuracy": 0.5,
        "held_out_targets": 7,
        "unigram_loss": 3.0,
        "unigram_accuracy": 0.25,
    }
    assert np.load(tmp_path / "held_out.npy").tolist() == [[14.0], [7.0]]
    assert line["tokens_per_second"] == 32
    assert shown[-1][2] == "loss 3.000  rate 0.01  held-out 2.000 ± 0.025"


def test_without_steps_there_is_no_line(log, tmp_path):
    assert log.read().shape == (0, 4)
    log.write_line(TrainingStatus(0, 0.0, 0.0, 0.0, 0.15))
    assert read_metrics(tmp_path / "metrics.jsonl") == []


@pytest.mark.parametrize(("step", "kept"), [(0, []), (4, [0, 3, 4])])
def test_lines_of_repeated_steps_are_removed(tmp_path, clock, step, kept):
    path = tmp_path / "metrics.jsonl"
    path.write_text("".join(f'{{"step": {n}}}\n' for n in (0, 3, 4, 5)))
    TrainingLog(path, step, SCALE, CPU, lambda *arguments: None)
    assert [line["step"] for line in read_metrics(path)] == kept
