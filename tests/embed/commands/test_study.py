"""``firth study`` as real processes: resumed, changed, interrupted and refused."""

import contextlib
import json
import os
import random
import re
import shutil
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from click.testing import CliRunner

from firth.cli import main
from firth.corpora.common.memory import available_threads
from firth.embed.study.settings import read_study
from firth.embed.study.study import StudyResult
from tests.run_python import run_python
from tests.waiting import PATIENCE, wait_for

pytestmark = pytest.mark.process

TRAIN = "threads = 1\nmin-count = 1\n"


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    """A folder with a text of 60 words, one more that occurs once, and a set of word pairs."""
    path = tmp_path_factory.mktemp("study")
    words = [a + b + c for a in "bdfg" for b in "aei" for c in "lmnrs"]
    draw = random.Random(1)
    lines = (" ".join(draw.choices(words, k=12)) for _ in range(400))
    (path / "text.txt").write_text("".join(f"{line}\n" for line in lines) + "bal qux\n")
    pairs = (f"{words[n]}\t{words[-n - 1]}\t{n}\n" for n in range(12))
    (path / "pairs.tsv").write_text("".join(pairs))
    return path


def settings(folder, name="study.toml", dim=4, methods='["svd", "skipgram"]'):
    path = folder / name
    path.write_text(
        f'sources = ["text.txt"]\nmethods = {methods}\nwords = ["bal", "qux", "zzz"]\n'
        f"[train-svd]\ndim = {dim}\n{TRAIN}"
        "[train-skipgram]\ndim = 4\nepochs = 2\nthreads = 1\nmin-count = 2\n"
        '[compare]\nsets = ["pairs.tsv"]\n'
    )
    return path.name


@pytest.fixture
def study(folder, monkeypatch):
    """Return a function that runs a study in this process, which saves imports."""
    monkeypatch.chdir(folder)
    return lambda *arguments: CliRunner().invoke(main, ["study", *map(str, arguments)])


def commands(shown):
    """Return the commands that were shown, without their arguments."""
    return re.findall(r"^\$ firth (\S+)", shown, re.MULTILINE)


@pytest.fixture(scope="module")
def finished(root, folder):
    """A finished study, of real processes."""
    done = run_python(
        root / "cli.py", "study", "--settings", settings(folder), "--out", "out", cwd=folder
    )
    assert done.returncode == 0, done.stderr
    return done


def test_a_study_makes_all_its_outputs(folder, finished):
    assert commands(finished.stderr) == [
        "build-corpus", "train-svd", "train-skipgram", "compare", "neighbors", "neighbors",
    ]  # fmt: skip
    assert finished.stderr.count("zzz") == 1
    assert "--words: neighbors are only in the report for qux: not in all runs\n" in finished.stderr
    assert "--words: no run has a vector of zzz\n" in finished.stderr
    assert re.findall(r'data-word="(\w+)"', (folder / "out/report.html").read_text())[0] == "bal"
    document = json.loads((folder / "out/comparison/comparison.json").read_text())
    assert {"out/svd", "out/skipgram"} <= {each["run"] for each in document["results"]}
    assert "<html" in (folder / "out/report.html").read_text()
    for typed in re.findall(r"^    firth (.*?)(?: --out ANOTHER)?$", finished.stdout, re.MULTILINE):
        assert typed.split()[0] in main.list_commands(None)


def test_repeating_a_study_trains_nothing(study, folder, finished):
    again = study("--settings", settings(folder), "--out", "out")

    assert again.exit_code == 0
    assert commands(again.stderr) == ["compare", "neighbors", "neighbors"]
    assert [line for line in again.stderr.splitlines() if line.endswith(": kept")] == [
        "out/corpus: kept", "out/svd: kept", "out/skipgram: kept",
    ]  # fmt: skip


def test_the_saved_settings_repeat_the_study(study, folder, finished):
    done = study("--settings", "out/study.toml", "--out", "again")

    assert done.exit_code == 0
    first, second = ((folder / out / "svd/vectors.npy").read_bytes() for out in ("out", "again"))
    assert first == second


def test_a_change_needs_force_and_redoes_only_what_depends_on_it(study, folder, finished):
    shutil.copytree(folder / "out", folder / "other")
    text = (folder / settings(folder)).read_text()
    changed = folder / "changed.toml"
    changed.write_text(re.sub(r"(train-svd]\ndim = )4", r"\g<1>5", text))

    refused = study("--settings", changed.name, "--out", "other")
    assert (refused.exit_code, refused.stdout) == (1, "")
    assert refused.stderr == (
        "Error: other: contains a study with other train-svd; choose another --out, or pass "
        "--force to redo what depends on them\n"
    )
    forced = study("--settings", changed.name, "--out", "other", "--force")
    assert forced.exit_code == 0, forced.stderr
    assert commands(forced.stderr)[:2] == ["train-svd", "compare"]


def test_a_failing_method_does_not_stop_the_others(study, folder):
    path = folder / settings(folder, "fails.toml", dim=600)
    reason = (
        "firth train-svd: --dim 600 is larger than the vocabulary (61 words after --min-count 1)"
    )

    done = study("--settings", path.name, "--out", "fails")
    path.write_text(path.read_text().replace('["svd", "skipgram"]', '["svd"]'))
    alone = study("--settings", path.name, "--out", "alone")

    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith(f"Error: {reason}")
    assert reason in (folder / "fails/report.html").read_text()
    assert alone.exit_code == 1
    last = alone.stderr.splitlines()[-1]
    assert last.startswith(f"Error: alone: no method could be trained: {reason}")


def is_training(out):
    """Return whether the skip-gram of a study has trained for an epoch."""
    metrics = out / "skipgram.partial/metrics.jsonl"
    return metrics.exists() and "epoch_loss" in metrics.read_text()


def test_an_interrupted_study_resumes(root, study, folder):
    path = folder / settings(folder, "long.toml", methods='["skipgram"]')
    path.write_text(path.read_text().replace("epochs = 2", "epochs = 300"))
    command = [sys.executable, str(root / "cli.py"), "study", "--settings", path.name]
    with subprocess.Popen(
        [*command, "--out", "long"], cwd=folder, stderr=subprocess.PIPE, text=True,
        stdout=subprocess.DEVNULL,
    ) as process:  # fmt: skip
        wait_for(lambda: is_training(folder / "long"), process)
        process.send_signal(signal.SIGINT)
        error = process.communicate(timeout=PATIENCE)[1]

    assert process.returncode == 1
    assert error.rstrip().endswith("Aborted!")
    assert "Traceback" not in error
    assert not (folder / "long/skipgram").exists()
    again = study("--settings", path.name, "--out", "long")
    assert again.exit_code == 0
    assert commands(again.stderr)[0] == "train-skipgram"


@pytest.mark.parametrize(
    "step",
    ["killed/corpus*", "killed/study.toml", "killed/comparison"],
    ids=["corpus", "settings", "comparison"],
)
def test_a_killed_study_resumes(root, study, folder, step):
    shutil.rmtree(folder / "killed", ignore_errors=True)
    name = settings(folder, "killed.toml", methods='["svd"]')
    command = [sys.executable, str(root / "cli.py"), "study", "--settings", name, "--out", "killed"]
    with subprocess.Popen(
        command, cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        wait_for(lambda: any(folder.glob(step)), process)
        assert process.poll() is None
        process.kill()

    done = study("--settings", name, "--out", "killed")
    assert done.exit_code == 0, done.stderr


def test_a_terminal_interrupt_ends_a_study(root, folder):
    path = folder / settings(folder, "terminal.toml", methods='["skipgram"]')
    path.write_text(path.read_text().replace("epochs = 2", "epochs = 2000"))
    command = [sys.executable, str(root / "cli.py"), "study", "--settings", path.name]
    import pty  # not on every system

    pid, terminal = pty.fork()
    if not pid:
        os.chdir(folder)
        os.execv(sys.executable, [*command, "--out", "terminal"])
    wait_for(lambda: is_training(folder / "terminal"))
    os.write(terminal, b"\x03")
    shown = b""
    with contextlib.suppress(OSError):  # the terminal's end
        while part := os.read(terminal, 4096):
            shown += part
    assert os.waitpid(pid, 0)[1] == 256, shown
    os.close(terminal)

    assert b"Aborted!" in shown
    assert b"Traceback" not in shown


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["empty.txt", "--out", "x"],
            "empty.txt: the source is empty; pass one that contains text",
        ),
        (["-", "--out", "x"], "-: a study reads its text more than once; save it to a file"),
        ([".", "--out", "x"], "--out x: inside the source {folder}; choose another"),
        (["text.txt", "--out", "x", "--methods", ","], "methods: empty; pass at least one"),
        (["out/corpus", "--out", "x", "--budget", "1"], "--budget must be a time such as 90s, "),
        (["--settings", "no-set.toml", "--out", "x"], "nope.tsv: no such evaluation set"),
        (["--settings", "build.toml", "--out", "x"], "[build-corpus]: out/corpus is a corpus"),
    ],
)
def test_invalid_requests_are_refused_before_anything_is_made(
    folder, finished, monkeypatch, arguments, message
):
    (folder / "empty.txt").touch()
    (folder / "no-set.toml").write_text('sources = ["text.txt"]\n[compare]\nsets = ["nope.tsv"]')
    (folder / "build.toml").write_text('sources = ["out/corpus"]\n[build-corpus]\nkeep-case = true')

    monkeypatch.chdir(folder)
    done = CliRunner().invoke(main, ["study", *arguments])

    assert (done.exit_code, done.stdout) == (1, "")
    assert done.stderr.startswith(f"Error: {message.format(folder=folder)}"), done.stderr
    assert len(done.stderr.splitlines()) == 1
    assert not (folder / "x").exists()


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--out", "x"], "Missing argument 'SOURCE...', or --settings."),
        (
            ["text.txt", "--out", "x", "--settings", "s.toml"],
            "--settings cannot be combined with SOURCE, --methods, --budget or --words",
        ),
    ],
)
def test_conflicting_arguments_are_refused(folder, monkeypatch, arguments, message):
    monkeypatch.chdir(folder)
    settings(folder, "s.toml")

    result = CliRunner().invoke(main, ["study", *arguments])

    assert result.exit_code == 2
    assert result.stderr.splitlines()[-1] == f"Error: {message}"


def test_an_unreadable_text_prints_one_line(study):
    done = study("no-such.txt", "--out", "nothing")

    assert done.exit_code == 1
    assert len(done.stderr.splitlines()) == 1
    assert "no-such.txt" in done.stderr


def test_all_settings_are_chosen_for_an_english_text_within_the_budget(study, folder, monkeypatch):
    others = [a + b + c for a in "bdfgklmnpr" for b in "aeiou" for c in "lmnrstk"]
    draw = random.Random(2)
    common = ["the", "of", "and", "to", "in", "was", "that", "for", "with", "is"]
    (folder / "english").mkdir()
    for number in range(30):
        lines = (draw.choices(common, k=8) + draw.choices(others, k=8) for _ in range(100))
        text = "".join(f"{' '.join(line)}.\n" for line in lines)
        (folder / "english" / f"{number}.txt").write_text(text)

    # neither trained nor compared: the training and 22 probes would take a minute
    trained = lambda corpus, config, out, *, force: shutil.copytree("all/cbow", out)  # noqa: E731
    monkeypatch.setattr("firth.pretrain.train.train_mlm", trained)
    monkeypatch.setattr("firth.embed.study.study._compare", lambda *arguments: "")
    monkeypatch.setenv("PATH", "")  # without a C++ compiler, torch compiles nothing
    done = study("english", "--out", "all", "--budget", "2s", "--methods", "svd,cbow,mlm")
    assert done.exit_code == 0, done.stderr

    chosen = read_study(folder / "all/study.toml").options
    assert chosen["train-svd"] == {"dim": 100}
    epochs = {1: 4, 2: 8, 3: 13, 4: 17}.get(available_threads(), 20)
    assert chosen["train-cbow"] == {"dim": 100, "epochs": epochs, "deterministic": True}
    assert chosen["train-mlm"].keys() == {"preset", "epochs", "dtype", "compile"}
    assert chosen["compare"]["sets"][-1] == "two-tags"
    assert f"--epochs {chosen['train-mlm']['epochs']}" in done.stderr


def test_a_text_that_is_not_english_is_reported(study, folder):
    done = study("text.txt", "--out", "small", "--methods", "svd")

    assert done.exit_code == 0, done.stderr
    reason = "the text does not look English, but all bundled evaluation sets are"
    told = f"left out: firth compare: evaluation sets: {reason}"
    assert done.stderr.count(told) == 2
    assert done.stderr.splitlines()[-1].startswith(told)
    assert reason in (folder / "small/report.html").read_text()
    assert read_study(folder / "small/study.toml").options["compare"] == {"intrinsic": True}


def test_a_study_shows_itself_in_a_notebook():
    runs, reason = (Path("o/svd"), Path("o/mlm")), "firth compare: evaluation sets: <none>"
    page = StudyResult(Path("o/corpus"), runs, True, (), (reason,))._repr_html_()

    for row in ("report</td><td>o/report.html", "run</td><td>o/mlm", "sets: &lt;none&gt;"):
        assert row in page
    failed = StudyResult(Path("o/corpus"), runs, False, ("firth compare: no",))
    assert failed.report is None
    assert "failed</td><td>firth compare: no" in failed._repr_html_()
