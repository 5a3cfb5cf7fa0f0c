"""SIGKILL at many moments: the artifact is complete or absent, and the next run works."""

import os
import shutil
import signal
import time
from pathlib import Path

import pytest
from click.testing import CliRunner

from firth.cli import main
from firth.corpora.artifacts.artifact import verify
from tests.processes import NOT_RENAMED, ForkServer
from tests.waiting import processes_in_group, wait_for

pytestmark = pytest.mark.process


def firth(words: list[str]) -> None:
    """Run a command in this process, which saves imports."""
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 0, done.stderr


def kill_everywhere(server: ForkServer, words: list[str], out: Path) -> int:
    """Run a command, then repeat it and kill it when certain files appear; return how many died.

    Kills at other moments are tested in tests/faults.
    """
    firth(words)
    files = sorted(path.relative_to(out) for path in out.rglob("*") if path.is_file())
    partial = out.with_name(f"{out.name}.partial")
    n_unfinished = 0
    for name in (Path(), *files[:: max(len(files) // 2, 1)]):
        shutil.rmtree(out)
        process = server.start(words, out.parent)
        wait_for(lambda name=name: (partial / name).exists() or out.exists(), process)
        process.send_signal(signal.SIGKILL)
        process.wait()
        if out.exists():
            verify(out)
        else:
            n_unfinished += 1
            again = CliRunner().invoke(main, words)
            if NOT_RENAMED in again.stderr:  # killed just before the rename
                partial.rename(out)
            else:
                assert again.exit_code == 0, again.stderr
            verify(out)
        beside = sorted(
            path.name for path in out.parent.iterdir() if path.name.startswith(out.name)
        )
        assert beside == [out.name], "the next run cleans up"
    return n_unfinished


@pytest.fixture(scope="module")
def text(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a text of 200 documents, a few megabytes."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(
        "\n".join(
            " ".join(f"w{(n * 31 + d * 17) % (50 + n % 900)}" for n in range(2000))
            for d in range(200)
        )
    )
    return path


def test_a_killed_build_leaves_a_complete_corpus_or_none(server, text, tmp_path):
    out = tmp_path / "corpus"
    words = ["build-corpus", str(text), "--out", str(out)]
    n_unfinished = kill_everywhere(server, words, out)
    assert n_unfinished > 0, "no kill came in time: the test shows nothing"


@pytest.mark.skipif(not os.path.exists("/proc/self/stat"), reason="needs /proc")
def test_an_interrupt_prints_one_word_despite_worker_processes(server, tmp_path):
    row = "\t".join(["1", "word", *"_" * 8]) + "\n\n"
    (tmp_path / "a.conllu").write_text(row * 1_500_000)
    words = ["build-corpus", tmp_path / "a.conllu", "--out", tmp_path / "corpus", "--threads", 2]
    n_interrupted = 0
    for seconds in (0.0, 0.4, 1.0):  # at work, at an arbitrary point
        process = server.start(words, tmp_path)
        # itself, a worker, and the process that Python starts with the first worker
        wait_for(lambda of=process: processes_in_group(of.pid) > 2 or of.poll() is not None)
        time.sleep(seconds)
        process.send_signal(signal.SIGINT)  # to the workers too, like the keyboard
        stderr = process.wait().stderr
        if (tmp_path / "corpus").exists():  # finished earlier, so complete
            verify(tmp_path / "corpus")
            shutil.rmtree(tmp_path / "corpus")
            continue
        n_interrupted += 1
        # progress lines may precede it
        assert stderr.split("\n")[-2:] == ["Aborted!", ""]
        assert "Traceback" not in stderr
        assert [path.name for path in tmp_path.iterdir()] == ["a.conllu"]
    assert n_interrupted > 0, "no interrupt came in time: the test shows nothing"


def test_a_killed_training_leaves_a_complete_run_or_none(server, text, tmp_path):
    corpus, out = tmp_path / "corpus", tmp_path / "run"
    firth(["build-corpus", str(text), "--out", str(corpus), "--documents", "line"])
    words = ["train-svd", str(corpus), "--out", str(out), "--dim", "50"]
    n_unfinished = kill_everywhere(server, words, out)
    assert n_unfinished > 0, "no kill came in time: the test shows nothing"
