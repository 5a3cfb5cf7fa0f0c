"""Ctrl-C and SIGKILL during training: the same command resumes to the same bytes."""

import json
import signal

import numpy as np
import pytest
from click.testing import CliRunner

from firth.cli import main
from firth.corpora.artifacts.artifact import verify
from tests.waiting import wait_for

pytestmark = pytest.mark.process

TABLES = ("vectors.npy", "contexts.npy", "vocabulary.tsv")
LONG = (
    "--dim", "24", "--epochs", "9", "--min-count", "1", "--learning-rate", "0.01",
    "--subsample", "0.001",
)  # fmt: skip
ONE_THREAD = ("--threads", "1")
DETERMINISTIC = ("--deterministic", "--threads", "2")
# the command line, but a checkpoint after every batch of chunks
OFTEN = """
import sys
from firth import cli
from firth.embed.word2vec.config import Tuning
from firth.embed.word2vec.trainer import build_trainer
build_trainer.__defaults__ = (Tuning(checkpoint_seconds=0.0),)
cli.main(sys.argv[1:])
"""


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """About 200,000 words; an epoch takes about 0.1 seconds."""
    folder = tmp_path_factory.mktemp("corpus")
    rng = np.random.default_rng(2)
    words = rng.zipf(1.2, 200_000) % 3000
    lines = (" ".join(f"w{word}x" for word in line) for line in words.reshape(-1, 50))
    (folder / "text.txt").write_text("\n".join(lines))
    out = folder / "corpus"
    run("build-corpus", folder / "text.txt", "--out", out, "--documents", "line")
    return out


@pytest.fixture(scope="module")
def whole(corpus, tmp_path_factory):
    """Uninterrupted runs by command and options."""
    made = {}

    def train(command, options):
        if (command, options) not in made:
            out = tmp_path_factory.mktemp("whole") / "run"
            finish(command, corpus, out, options)
            made[command, options] = out
        return made[command, options]

    return train


def line_of(command, corpus, out, options):
    """Return the command line of a training."""
    return [command, corpus, "--out", out, *LONG, *options]


def run(*arguments, status=0):
    """Run a command to its end in this process, which saves imports."""
    done = CliRunner().invoke(main, list(map(str, arguments)))
    assert done.exit_code == status, done.output


def finish(command, corpus, out, options):
    """Train without an interruption, or resume a training."""
    run(command, corpus, "--out", out, *LONG, *options)


def stop_when(condition, number, process):
    """Send a signal to a process on a condition; return its status and standard error."""
    wait_for(lambda: condition() or process.poll() is not None)
    process.send_signal(number)
    result = process.wait()
    return result.status, result.stderr


def same_run(out, other):
    """Return whether two runs have the same tables and losses."""
    assert [
        name for name in TABLES if (out / name).read_bytes() != (other / name).read_bytes()
    ] == []
    assert losses(out) == losses(other)


def losses(run):
    """Return the epoch lines of ``metrics.jsonl`` without the speed."""
    lines = map(json.loads, (run / "metrics.jsonl").read_text().splitlines())
    ends = (line for line in lines if "epoch_loss" in line)
    return [{key: line[key] for key in line if key != "tokens_per_second"} for line in ends]


def has_epochs(partial, n):
    """Return whether a partial run has finished this many epochs."""
    metrics = partial / "metrics.jsonl"
    return metrics.exists() and metrics.read_text().count("epoch_loss") >= n


def steps(partial):
    """Return the complete checkpoints of a partial run."""
    folder = partial / "checkpoints"
    return [path.name for path in folder.glob("step-*") if not path.suffix]


@pytest.mark.parametrize(
    ("command", "options", "threads"),
    [
        ("train-skipgram", (*ONE_THREAD, "--subwords", "3-4"), "11"),
        ("train-skipgram", DETERMINISTIC, "12"),  # resumed with more threads or with fewer
        ("train-cbow", DETERMINISTIC, "31"),
    ],
)
def test_an_interrupted_training_resumes_to_the_same_bytes(
    server, corpus, whole, tmp_path, command, options, threads
):
    out, partial = tmp_path / "run", tmp_path / "run.partial"
    n_interrupted = 0
    for n_epochs, n_threads in zip((2, 4), threads, strict=True):
        line = line_of(command, corpus, out, (*options, "--threads", n_threads))
        process = server.start(line, tmp_path.parent)
        status, errors = stop_when(
            lambda n=n_epochs: has_epochs(partial, n), signal.SIGINT, process
        )
        if out.exists():  # it was done before
            break
        n_interrupted += 1
        assert status == 1
        # above it there may be lines of progress
        assert errors.splitlines()[-3:] == [
            "interrupted; run the same command to resume", "", "Aborted!",
        ]  # fmt: skip
        assert "Traceback" not in errors
        assert [path.name for path in tmp_path.iterdir()] == ["run.partial"]
        assert len(steps(partial)) == 1
    assert n_interrupted, "no interrupt came in time: the test shows nothing"
    if not out.exists():
        finish(command, corpus, out, options)
    verify(out)
    same_run(out, whole(command, options))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


@pytest.mark.parametrize(
    ("command", "options"), [("train-cbow", ONE_THREAD), ("train-skipgram", DETERMINISTIC)]
)
def test_a_killed_training_resumes_from_its_last_checkpoint(
    server, corpus, whole, tmp_path, command, options
):
    out, partial = tmp_path / "run", tmp_path / "run.partial"
    line = line_of(command, corpus, out, options)
    process = server.python(OFTEN, *line, workdir=tmp_path.parent)

    def has_steps():
        return any(int(name.removeprefix("step-")) >= 4 for name in steps(partial))

    stop_when(has_steps, signal.SIGKILL, process)
    assert not out.exists(), "the kill came too late: the test shows nothing"
    finish(command, corpus, out, options)
    verify(out)
    same_run(out, whole(command, options))
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_an_interrupted_gensim_training_starts_again(server, corpus, whole, tmp_path):
    pytest.importorskip("gensim")
    options = (*ONE_THREAD, "--engine", "gensim", "--epochs", "5")
    out, partial = tmp_path / "run", tmp_path / "run.partial"
    process = server.start(line_of("train-skipgram", corpus, out, options), tmp_path.parent)
    status, errors = stop_when(partial.exists, signal.SIGINT, process)
    if not out.exists():
        assert status == 1
        # rarely the interrupt comes while LLVM clears up, and Python says that it passed it over
        assert "Traceback" not in errors.partition("Exception ignored in")[0]
        assert errors.endswith("Aborted!\n")
        finish("train-skipgram", corpus, out, options)
    other = whole("train-skipgram", options)
    assert (out / "vectors.npy").read_bytes() == (other / "vectors.npy").read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
