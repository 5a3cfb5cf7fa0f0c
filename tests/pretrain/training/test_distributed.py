"""Distributed training: shares of rows, sums, and joint exit."""

import datetime
import json
import os
import signal
import subprocess
import sys

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from firth import cli
from firth.corpora.artifacts.metrics import read_metrics
from firth.corpora.common import threads
from firth.corpora.common.errors import FirthError, SettingError
from firth.pretrain.config import MlmConfig, MlmTuning
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training import autotune, distributed, session
from firth.pretrain.training.distributed import ProcessGroup, process_group
from tests.pretrain.launched import OFTEN, RUN, launched
from tests.pretrain.small_training import SMALL, as_words, chains, corpus_of
from tests.waiting import wait_for

COMPLETE = {"WORLD_SIZE": "2", "RANK": "0", "MASTER_ADDR": "127.0.0.1", "MASTER_PORT": "0"}
PATIENCE = 1500  # seconds; torch gives up by itself after 1800, which no test should wait for


def torchrun(*words):
    """Return the command line of two processes."""
    launcher = [sys.executable, "-m", "torch.distributed.run", "--standalone"]
    return [*launcher, "--nproc-per-node=2", *map(str, words)]


def start(command, **environment):
    """Start a command in its own session, so that signals reach all its processes."""
    return subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True, start_new_session=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", **environment},
    )  # fmt: skip


def finish(process):
    """Wait; return status and output, and assert that no process of it is left."""
    try:
        out, err = process.communicate(timeout=PATIENCE)
    except subprocess.TimeoutExpired:
        os.killpg(process.pid, signal.SIGKILL)
        raise
    return process.returncode, out, err


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of word chains, a tenth of it held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"))


# ---- one process


def test_a_single_process_is_its_own_group(monkeypatch):
    monkeypatch.delenv("WORLD_SIZE", raising=False)
    with process_group("cpu") as group:
        assert group == ProcessGroup(0, 1, 0)
        assert group.is_first
        assert group.broadcast(0.25) == 0.25
        assert group.row_range(7) == (0, 7)
        tensor = torch.ones(3)
        group.all_reduce([tensor])
        assert tensor.tolist() == [1, 1, 1]
        with group.first_ahead():
            done = True
        assert done


@pytest.mark.parametrize(
    ("variables", "words"),
    [
        ({"WORLD_SIZE": "2"}, "without RANK and MASTER_ADDR and MASTER_PORT; .* unset WORLD_SIZE"),
        ({**COMPLETE, "MASTER_PORT": None}, "WORLD_SIZE=2 is set without MASTER_PORT"),
        ({**COMPLETE, "WORLD_SIZE": "two"}, "WORLD_SIZE=two is set beside what is no number"),
        (COMPLETE, "process 0: 2 processes did not meet at 127.0.0.1:0 within 0:00:00.1"),
    ],
    ids=["left over", "no port", "no number", "alone"],
)
def test_variables_that_a_launcher_left_behind_are_told(variables, words, monkeypatch):
    monkeypatch.setattr(distributed, "_MEETING", datetime.timedelta(seconds=0.1))
    for name in COMPLETE:
        monkeypatch.delenv(name, raising=False)
    for name, value in variables.items():
        if value is not None:
            monkeypatch.setenv(name, value)
    with pytest.raises(FirthError, match=words), process_group("cpu"):
        pass


def test_shares_cover_the_batch_once():
    shares = [ProcessGroup(rank, 4).row_range(12) for rank in range(4)]
    assert shares == [(0, 3), (3, 6), (6, 9), (9, 12)]
    with pytest.raises(SettingError) as refused:
        ProcessGroup(0, 4).row_range(6)
    assert str(refused.value) == (
        "`batch=6` is not divisible by 4 processes; pass a multiple, or to resume start as many "
        "processes as divide it"
    )


def test_an_error_after_the_last_step_is_no_success_for_the_others(monkeypatch):
    monkeypatch.setattr(ProcessGroup, "broadcast", lambda self, value: session._STOP)
    with pytest.raises(SystemExit), ProcessGroup(1, 2).first_ahead():
        raise AssertionError("the block of another process")


def test_threads_are_shared_by_the_processes_of_a_machine(monkeypatch):
    monkeypatch.setattr(threads, "available_threads", lambda: 16)
    config = MlmConfig(device="cpu")
    group = ProcessGroup(rank=5, size=8, local_rank=1, local_size=4)
    assert autotune.threads_of(config, None, torch.device("cpu"), group) == 4


# ---- two processes

LEAVES = """
import os, sys, torch
from firth.pretrain.training.distributed import process_group
with process_group("cpu") as group:
    weights = torch.ones(3, requires_grad=True)
    weights.sum().backward()
    torch.optim.AdamW([weights], fused=True).step()  # torch imports much of itself here
    group.all_reduce([weights.grad])
threads = [open(f"/proc/self/task/{each}/comm").read() for each in os.listdir("/proc/self/task")]
sys.exit(any("gloo" in name for name in threads))
"""


@pytest.mark.process
@pytest.mark.skipif(not os.path.exists("/proc/self/task"), reason="threads have no files here")
def test_no_thread_of_the_group_outlives_it(server, tmp_path):
    # one that did would abort the process now and then, when Python ends
    done = launched(server, LEAVES, workdir=tmp_path)
    assert done.status == 0, done.stderr


@pytest.mark.process
def test_two_processes_train_as_one_even_if_ctrl_c_ends_them_once(server, corpus, tmp_path):
    options = {**SMALL, "steps": 30}
    (tmp_path.parent / "often.py").write_text(OFTEN)
    two, checkpoints = tmp_path / "two", tmp_path / "two.partial" / "checkpoints"
    line = ("train-mlm", corpus.path, "--out", two, *as_words(options))
    process = start(torchrun(tmp_path.parent / "often.py", *line))
    wait_for(lambda: any(checkpoints.glob("step-*")), process)
    os.killpg(process.pid, signal.SIGINT)
    status, _, errors = finish(process)
    assert status != 0
    assert "interrupted; run the same command to resume" in errors
    assert not two.exists(), "the interrupt came too late: the test shows nothing"

    done = launched(server, OFTEN, *line, workdir=tmp_path.parent)
    assert done.status == 0, done.stderr
    assert done.stdout.startswith(f"{two}: 40 words, 56 dimensions, held-out loss ")
    assert done.stdout.count("held-out loss") == 1  # only the first process prints

    one = make_mlm_run(
        corpus, MlmConfig(**options), tmp_path / "one", tuning=MlmTuning(evaluations=3)
    )
    for name, weight in load_file(one / "model.safetensors").items():
        np.testing.assert_allclose(load_file(two / "model.safetensors")[name], weight, atol=1e-4)
    evaluated = [
        {line["step"]: line["held_out_loss"] for line in read_metrics(run / "metrics.jsonl")
         if "held_out_loss" in line}
        for run in (one, two)
    ]  # fmt: skip
    assert list(evaluated[0]) == [0, 10, 20, 30]
    assert evaluated[1] == pytest.approx(evaluated[0], abs=1e-4)
    assert json.loads((two / "config.json").read_text())["decided"]["processes"] == 2
    assert sorted(path.name for path in tmp_path.iterdir()) == ["one", "two"]


@pytest.mark.process
@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"pieces": "9000"}, "Error: --pieces 9000: this corpus yields at most "),
        # found before the processes join
        ({"norm": "odd"}, "Error: Invalid value for '--norm': 'odd' is not one of "),
    ],
)
def test_an_error_ends_all_processes(server, corpus, tmp_path, change, message):
    options = as_words({**SMALL, **change})
    line = ("train-mlm", corpus.path, "--out", tmp_path / "run", *options)
    done = launched(server, RUN, *line, workdir=corpus.path.parent)
    assert done.status in (1, 2)
    assert message in done.stderr
    assert done.stderr.count(message) == 1  # only the first process prints
    assert "firth/cli.py" not in done.stderr, "a traceback of ours"
    assert list(tmp_path.iterdir()) == []


FROM_PYTHON = """
import sys
from firth import MlmConfig, train_mlm
_, text, out = sys.argv
config = MlmConfig(
    preset="1/16/2", pieces="60", steps=2, dtype="float32", compile="off", min_count=1,
    device="cpu",
)
encoder = train_mlm(text, config, out)
print(encoder.path)
"""


@pytest.mark.process
def test_two_processes_of_a_script_train_on_a_text_that_is_built_first(server, tmp_path):
    lines = (json.dumps({"text": line}) for line in chains())
    (tmp_path / "chains.jsonl").write_text("\n".join(lines), encoding="utf-8")
    out = tmp_path / "run"
    done = launched(server, FROM_PYTHON, tmp_path / "chains.jsonl", out, workdir=tmp_path)
    assert done.status == 0, done.stderr
    assert done.stdout.count(str(out)) == 2


def test_a_mistake_of_one_process_is_told_after_a_while(monkeypatch, capfd):
    monkeypatch.setattr(cli, "_PATIENCE", 0.0)
    monkeypatch.setattr(sys, "stderr", sys.stderr)  # put back at the end
    with pytest.raises(SystemExit) as ended, cli._held_messages():
        cli.main(["train-mlm", "--norm", "odd"], prog_name="firth")
    assert ended.value.code == 2
    assert "Invalid value for '--norm': 'odd'" in capfd.readouterr().err
