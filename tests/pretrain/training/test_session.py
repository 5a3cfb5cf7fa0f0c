"""Lines of metrics.jsonl: sums, averages and the display."""

import math

import numpy as np
import pytest
import torch

from firth.corpora.artifacts.metrics import read_metrics
from firth.corpora.common.reporting import reporting_to
from firth.pretrain.config import MlmConfig
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.evaluation import MlmScore
from firth.pretrain.training.optimizer import ModelState
from firth.pretrain.training.schedule import Budget
from firth.pretrain.training.session import MlmSession, Workload
from tests.reporters import Recorder

CPU = torch.device("cpu")
SCALE = Workload(row_slots=16, batch_rows=4, n_rows=32, padding=0.01, row_flops=1e6, peak=1e8)


class Clock:
    """A clock that the test sets."""

    def __init__(self, monkeypatch):
        self.now = 100.0
        for module in ("pretrain.training.session", "pretrain.device", "embed.runs.session"):
            monkeypatch.setattr(f"firth.{module}.time", self)

    def perf_counter(self):
        return self.now

    monotonic = perf_counter


@pytest.fixture
def clock(monkeypatch):
    """Return the clock of a session."""
    return Clock(monkeypatch)


@pytest.fixture
def shown():
    """Records the progress display."""
    return Recorder()


@pytest.fixture
def session(tmp_path, clock, shown):
    """Return a new training of 20 steps."""
    with reporting_to(shown), make_session(tmp_path) as session:
        session.restart()
        yield session


def make_session(run):
    """Return a training of a model without weights."""
    model = torch.nn.Module()
    return MlmSession(
        run, ModelState(model, None), MlmConfig().resolved(), Budget(steps=20), SCALE,
        ProcessGroup(), CPU, n_pieces=10**9, text="",
    )  # fmt: skip


def values(loss, right, n_targets, norm=1.0):
    """Return the values of a step."""
    return torch.tensor([loss, right, n_targets, norm])


def test_a_line_covers_the_steps_since_the_last_one(session, clock, shown, tmp_path):
    session.learned(values(30.0, 1, 10), 0.02, 0.3)
    session.learned(values(60.0, 8, 20, 0.25), 0.01, 0.2)
    for part, seconds in (("data_wait", 0.5), ("forward", 1)):
        with session.stopwatch.part(part):
            clock.now += seconds
    clock.now += 2.5
    session.write_line_if_due()
    session.learned(values(4.0, 2, 4), 0.02, 0.1)
    clock.now += 1
    session.write_line_if_due()  # not yet
    session.write_line()

    first, second = read_metrics(tmp_path / "metrics.jsonl")
    memory = first.pop("memory")
    assert memory > 1e6
    assert first == {
        "step": 2,
        "epoch": 0.25,  # 8 of 32 rows
        "tokens": 128,
        "seconds": 4.0,
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
        "eta_seconds": 36.0,  # a tenth took 4
    }
    assert (second["loss"], second["accuracy"], second["tokens_per_second"]) == (1.0, 0.5, 64)
    assert [call[:2] for call in shown.calls] == [(0, None), (128, 1280.0), (192, 1280.0)]
    assert shown.calls[1][2] == "loss 3.000  rate 0.01"


def test_a_score_is_logged_with_the_baseline_and_takes_no_training_time(
    session, clock, shown, tmp_path
):
    clock.now += 50
    unigram = MlmScore(3.0, 0.25, 7)
    session.write_score(MlmScore(2.0, 0.5, 7, 0.025, 6, np.array([[14.0], [7.0]])), unigram)
    session.learned(values(30.0, 1, 10), 0.01, 0.15)
    clock.now += 2
    session.write_line()
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
    assert shown.calls[-1][2] == "loss 3.000  rate 0.01  held-out 2.000 ± 0.025"


def test_without_steps_there_is_no_line(session, tmp_path):
    session.write_line()
    assert read_metrics(tmp_path / "metrics.jsonl") == []


def test_an_evaluation_shows_how_much_is_done(session, shown):
    assert list(session.evaluating("abcd")) == [*"abcd"]
    assert [detail for *_, detail in shown.calls[1:]] == [
        "evaluating 25%", "evaluating 50%", "evaluating 75%", "evaluating 100%",
    ]  # fmt: skip
