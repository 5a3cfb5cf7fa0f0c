"""Sessions: checkpoints, Ctrl-C, metrics after resuming, divergence."""

import os
import signal
import subprocess
import sys
from dataclasses import dataclass, replace

import numpy as np
import pytest

from firth.corpora.artifacts.checkpoint import load_checkpoint, save_checkpoint
from firth.corpora.artifacts.metrics import read_metrics
from firth.corpora.common.errors import ArtifactError, FirthError
from firth.embed.runs import session as sessions
from firth.embed.runs.session import Interval, Position, Session, lower_rate
from tests.reporters import Killed
from tests.source import ROOT


@dataclass(frozen=True)
class Counted(Position):
    """Steps, and the sum of their numbers."""

    total: float = 0.0


class Weights:
    """One number."""

    def __init__(self):
        self.value = np.zeros(1)

    def arrays(self):
        return {"value": self.value}

    def load(self, arrays, step):
        self.value = np.array(arrays["value"]) + 0 * step


def train(run, *, every=2, stop=None, error=None, **options):
    """Take six steps, each of which adds its number to the weights; return the session."""
    run.mkdir(exist_ok=True)
    weights = Weights()
    session = Session(run, weights, Counted(), Interval(steps=every), **options)
    with session:
        for number in session.steps(range(session.position.step, 6)):
            if number == stop:
                error()
            weights.value += number
            at = session.position
            session.position = replace(at, step=number + 1, total=at.total + number)
            session.metrics.write(step=number + 1)
            session.show(number + 1, 6)
    assert weights.value[0] == session.position.total
    return session


def ctrl_c():
    for _ in range(3):
        os.kill(os.getpid(), signal.SIGINT)


def die():
    raise Killed


def test_a_second_ctrl_c_does_not_cut_the_checkpoint_off(tmp_path, monkeypatch):
    save = sessions.save_checkpoint

    def impatient(*given):
        ctrl_c()
        save(*given)

    monkeypatch.setattr(sessions, "save_checkpoint", impatient)
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, every=9, stop=3, error=ctrl_c)
    assert load_checkpoint(tmp_path / "checkpoints")[1]["step"] == 4


# Trains in a child for every change of a file, and kills it before; prints how many were killed.
KILLER = """
import os, signal, sys
from pathlib import Path
sys.path.insert(0, {root!r})
from tests.embed.runs.test_session import train
folder, changes, last = Path({folder!r}), 0, 0
def count(event, arguments):
    global changes
    writes = event == "open" and isinstance(arguments[2], int) and arguments[2] & 3
    if writes or event in ("os.rename", "os.remove", "os.mkdir", "os.rmdir"):
        if str(arguments[0]).startswith({folder!r}):
            changes += 1
            if changes == last:
                os.kill(os.getpid(), signal.SIGKILL)
sys.addaudithook(count)
status = 1
while status:
    last += 1
    if (child := os.fork()) == 0:
        train(folder / str(last))
        os._exit(0)
    status = os.waitpid(child, 0)[1]
    assert status in (0, signal.SIGKILL), status
print(last)
"""


@pytest.mark.process
def test_a_training_killed_at_any_moment_resumes_exactly(tmp_path):
    script = KILLER.format(root=str(ROOT), folder=str(tmp_path))
    done = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, cwd=ROOT, check=False
    )
    assert done.returncode == 0, done.stderr
    assert int(done.stdout) > 25
    for run in tmp_path.iterdir():
        assert train(run).position == Counted(6, 15.0)
        assert [line["step"] for line in read_metrics(run / "metrics.jsonl")] == [*range(1, 7)]


@pytest.mark.parametrize("stop", range(6))
@pytest.mark.parametrize(("error", "kind"), [(ctrl_c, KeyboardInterrupt), (die, Killed)])
def test_a_stopped_training_resumes_exactly(tmp_path, stop, error, kind):
    with pytest.raises(kind):
        train(tmp_path, stop=stop, error=error)
    assert signal.getsignal(signal.SIGINT) is signal.default_int_handler
    found = load_checkpoint(tmp_path / "checkpoints")
    # Ctrl-C takes effect after the step; a kill leaves the checkpoint of every other step
    expected = stop + 1 if error is ctrl_c else stop - stop % 2
    assert (found[1]["step"] if found else 0) == expected
    assert train(tmp_path).position == Counted(6, 15.0)
    assert [line["step"] for line in read_metrics(tmp_path / "metrics.jsonl")] == [*range(1, 7)]


def test_lines_of_another_training_are_removed(tmp_path):
    (tmp_path / "metrics.jsonl").write_text('{"step": 1}\n{"step"')
    train(tmp_path)
    assert len(read_metrics(tmp_path / "metrics.jsonl")) == 6


def test_checkpoints_are_written_in_intervals_of_time(tmp_path):
    for seconds, n_left in ((0, 3), (1e9, 0)):
        run, weights = tmp_path / str(seconds), Weights()
        run.mkdir()
        with Session(run, weights, Position(), Interval(seconds=seconds), keep=3) as session:
            for _ in session.steps(range(4)):
                pass
        assert len([*(run / "checkpoints").iterdir()]) == n_left


def test_a_checkpoint_of_another_text_is_refused_and_stays(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, stop=3, error=die, subject="one")
    with pytest.raises(ArtifactError, match=r"checkpoints: belongs to another text; pass `force"):
        train(tmp_path, subject="other")
    assert load_checkpoint(tmp_path / "checkpoints") is not None


@pytest.mark.parametrize("keep", [False, True])
def test_a_divergence_names_the_remedy_and_perhaps_the_checkpoint(tmp_path, keep):
    error = train(tmp_path).diverged("at step 7", "the loss is nan", lower_rate(0.1), keep=keep)
    assert isinstance(error, FirthError)
    kept = "; the checkpoint of step 6 is kept" if keep else ""
    assert str(error) == (
        f"training diverged at step 7: the loss is nan; pass `learning_rate=0.025` or less{kept}"
    )
    assert (tmp_path / "checkpoints").exists() == keep


def test_only_the_process_that_writes_changes_the_run(tmp_path):
    with pytest.raises(Killed):
        train(tmp_path, stop=3, error=die)
    before = sorted(tmp_path.rglob("*"))
    other = Session(tmp_path, Weights(), Counted(), Interval(steps=1), writes=False)
    with other:
        assert other.position == Counted(2, 1.0)
    assert other.metrics is None
    assert sorted(tmp_path.rglob("*")) == before
    assert len(read_metrics(tmp_path / "metrics.jsonl")) == 3


@pytest.mark.parametrize("steps", [20, 33, 60, 150, 1999])
def test_a_twentieth_of_all_steps_ends_at_twenty_steps(steps):
    interval = Interval(steps=steps * 0.05)
    ends = [step for step in range(steps + 1) if interval.is_step(step)]
    assert (len(ends), ends[-1]) == (20, steps)


def test_steps_that_overrun_an_interval_in_time_do_not_delay_the_next_ones(monkeypatch):
    clock = [0.0]
    monkeypatch.setattr(sessions.time, "monotonic", lambda: clock[0])
    interval = Interval(seconds=3.0)
    ends = []
    for _ in range(30):  # steps of two seconds
        clock[0] += 2.0
        if interval.is_due(step=1):
            ends.append(clock[0])
            interval.advance()
    assert len(ends) == 20
    assert ends[:4] == [4.0, 6.0, 10.0, 12.0]


@pytest.mark.parametrize(
    ("change", "reason"),
    [
        ({"step": -1}, "step -1"), ({"step": "4"}, "step '4'"), ({"total": None}, "total None"),
        ({"step": 4.0}, "step 4.0"), ({"lines": "x"}, "invalid literal"), ({"other": 1}, "other"),
        (np.zeros((1, 1)), r"value of shape \(1, 1\)"), (np.zeros(1, "i8"), "value of shape"),
    ],
    ids=str,
)  # fmt: skip
def test_a_checkpoint_that_does_not_fit_is_refused(tmp_path, change, reason):
    with pytest.raises(KeyboardInterrupt):
        train(tmp_path, every=9, stop=3, error=ctrl_c)
    folder = tmp_path / "checkpoints"
    arrays, state = load_checkpoint(folder)
    changed = isinstance(change, dict)
    save_checkpoint(
        folder, arrays if changed else {"value": change}, state | (change if changed else {})
    )
    with pytest.raises(ArtifactError, match=rf"does not fit this training \(.*{reason}.*; pass"):
        train(tmp_path)
