"""--seeds: several runs of one training, each equal to a single run."""

import dataclasses
import fcntl
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from firth import cli
from firth.corpora.artifacts.artifact import new_artifact, verify, write_json
from firth.corpora.store.corpus import Corpus
from firth.embed.runs.run import trained
from firth.embed.runs.seeds import SeedRuns
from firth.embed.svd.train import SvdConfig
from firth.embed.word2vec.config import SkipGramConfig, Tuning
from firth.embed.word2vec.train import train_skipgram
from firth.embed.word2vec.trainer import build_trainer, resolve_epochs
from tests.pretrain.launched import RUN, launched
from tests.pretrain.small_training import SMALL, as_words, corpus_of

STATIC = ("--dim", "8", "--min-count", "1", "--threads", "1")
OPTIONS = {
    "train-svd": STATIC,
    "train-skipgram": (*STATIC, "--epochs", "2"),
    "train-cbow": (*STATIC, "--epochs", "2"),
    "train-mlm": tuple(as_words(SMALL)),
}


def invoke(*arguments):
    """Run one command."""
    return CliRunner().invoke(cli.main, list(map(str, arguments)))


WORDS = [a + b + c for a in "bcdfg" for b in "aeiou" for c in "lmnrst"]


def train(command, corpus, out, *more):
    """Run a training that must succeed; return the lines it prints."""
    result = invoke(command, corpus, "--out", out, *OPTIONS[command], *more)
    assert result.exit_code == 0, result.output
    return result.stdout.splitlines()


def refusal(*arguments):
    """Return the error of a command that must fail."""
    result = invoke(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    [line] = result.stderr.splitlines()
    return line.removeprefix("Error: ")


def vectors(run):
    """Return the bytes of the trained vectors."""
    return (run / "vectors.npy").read_bytes()


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of word chains, a tenth held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus")).path


@pytest.fixture(scope="module")
def pair(corpus, tmp_path_factory):
    """Skip-gram runs with seeds 1 and 2, to be copied and changed."""
    folder = tmp_path_factory.mktemp("pair")
    train("train-skipgram", corpus, folder / "run", "--seeds", 2)
    return folder


@pytest.fixture
def copied(pair, tmp_path):
    """Return the value of ``--out`` for a copy of the pair."""
    shutil.copytree(pair, tmp_path / "copied")
    return tmp_path / "copied" / "run"


# ---- runs and messages


@pytest.mark.slow
@pytest.mark.parametrize("command", OPTIONS)
def test_every_run_equals_a_single_run_with_its_seed(corpus, tmp_path, command):
    lines = train(command, corpus, tmp_path / "run", "--seeds", 2, "--seed", 3)

    assert sorted(path.name for path in tmp_path.iterdir()) == ["run-seed3", "run-seed4"]
    shown = [line for line in lines if not line.startswith("too little training text")]
    n_words, dim = np.load(tmp_path / "run-seed3" / "vectors.npy").shape
    for seed, line in zip((3, 4), shown, strict=False):
        assert line.startswith(f"{tmp_path}/run-seed{seed}: {n_words} words, {dim} dimensions")
    assert shown[2:] == [f"compare them: firth compare {tmp_path}/run-seed3 {tmp_path}/run-seed4"]

    train(command, corpus, tmp_path / "alone", "--seed", 4)
    assert vectors(tmp_path / "alone") == vectors(tmp_path / "run-seed4")
    if command != "train-svd":  # SVD of few words is exact for any seed
        assert vectors(tmp_path / "alone") != vectors(tmp_path / "run-seed3")
    verify(tmp_path / "run-seed4")
    assert trained(tmp_path / "run-seed4") == trained(tmp_path / "alone")


def test_one_seed_is_appended_too(corpus, tmp_path):
    train("train-svd", corpus, tmp_path / "run", "--seeds", 1)
    assert [path.name for path in tmp_path.iterdir()] == ["run-seed1"]


@pytest.mark.process
@pytest.mark.skipif(shutil.which("bash") is None, reason="bash is not on PATH")
@pytest.mark.parametrize("n_seeds", [1, 3, 4, 12])
@pytest.mark.parametrize("out", ["it's a run", "-x", "caf\udce9 -seed", "out/svd"])
def test_the_hint_names_exactly_the_runs(out, n_seeds):
    runs = SeedRuns(command="train-svd", config=SvdConfig(seed=9), out=Path(out), seeds=n_seeds,
                force=False)  # fmt: skip
    words = os.fsencode(runs.hint().removeprefix("compare them: firth compare "))
    shown = subprocess.run(
        ["bash", "-c", b"printf '%s\\n' " + words], capture_output=True, check=True
    )
    typed = [Path(os.fsdecode(line)) for line in shown.stdout.splitlines()]
    assert typed == list(runs.configs())
    assert not words.startswith(b"-")


@pytest.mark.parametrize("out", [".", "..", "runs/..", "/"])
def test_out_needs_a_name_to_append_to(corpus, tmp_path, monkeypatch, out):
    monkeypatch.chdir(tmp_path)
    assert refusal("train-svd", corpus, "--out", out, "--seeds", 2, "--seed", 5) == (
        f"--out {out}: no name to append -seed5 to; pass one"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_raw_source_is_opened_once(tmp_path, monkeypatch):
    from firth.corpora.encoding import build

    opened = []
    plain = build.open_or_build
    monkeypatch.setattr(
        build, "open_or_build", lambda source: opened.append(source) or plain(source)
    )
    (tmp_path / "text.txt").write_text("the sea and the sun and the sand and the wind\n" * 20)
    train("train-svd", tmp_path / "text.txt", tmp_path / "run", "--seeds", 3, "--dim", 2)
    assert opened == [str(tmp_path / "text.txt")]


# ---- repeated commands


def test_finished_runs_of_the_same_training_are_kept(corpus, copied):
    before = (copied.parent / "run-seed1" / "vectors.npy").stat().st_mtime_ns
    lines = train("train-skipgram", corpus, copied, "--seeds", 3)
    assert lines[:2] == [
        f"{copied}-seed{n}: kept, already trained with these settings" for n in (1, 2)
    ]
    assert lines[2].startswith(f"{copied}-seed3: 40 words")
    assert (copied.parent / "run-seed1" / "vectors.npy").stat().st_mtime_ns == before


def forget_gradient(file):
    """Write a JSON file as versions without the option did."""
    about = json.loads(file.read_text())
    assert about.pop("gradient") == "word2vec.c"
    file.write_text(json.dumps(about))


def test_threads_do_not_distinguish_trainings(corpus, copied):
    lines = train("train-skipgram", corpus, copied, "--seeds", 2, "--threads", 2)
    assert [line.endswith("kept, already trained with these settings") for line in lines[:2]] == [
        True, True,
    ]  # fmt: skip


def test_force_retrains_all_runs(corpus, copied):
    for seed in (1, 2):
        (copied.parent / f"run-seed{seed}" / "stray").touch()
    train("train-skipgram", corpus, copied, "--seeds", 2, "--force")
    assert [(copied.parent / f"run-seed{seed}" / "stray").exists() for seed in (1, 2)] == [
        False, False,
    ]  # fmt: skip


def test_an_interrupted_series_resumes_to_the_same_bytes(corpus, pair, tmp_path, monkeypatch):
    from firth.embed.runs import session as training

    plain = training.save_checkpoint

    def save_and_stop(directory, *rest, **more):
        plain(directory, *rest, **more)
        if "run-seed2" in str(directory):
            raise KeyboardInterrupt

    often = Tuning(checkpoint_seconds=0.0)
    monkeypatch.setattr(build_trainer, "__defaults__", (often,))
    monkeypatch.setattr(training, "save_checkpoint", save_and_stop)
    arguments = ["train-skipgram", corpus, "--out", tmp_path / "run", *OPTIONS["train-skipgram"]]
    stopped = invoke(*arguments, "--seeds", 2)
    assert stopped.exit_code == 1
    assert "interrupted; run the same command to resume" in stopped.stderr
    assert {path.name for path in tmp_path.iterdir()} == {"run-seed1", "run-seed2.partial"}
    monkeypatch.undo()

    resumed = []
    load = training.load_checkpoint
    monkeypatch.setattr(
        training, "load_checkpoint", lambda folder: resumed.append(load(folder)) or resumed[-1]
    )
    lines = train("train-skipgram", corpus, tmp_path / "run", "--seeds", 2)
    assert lines[0] == f"{tmp_path}/run-seed1: kept, already trained with these settings"
    assert resumed[0] is not None
    for seed in (1, 2):
        assert vectors(tmp_path / f"run-seed{seed}") == vectors(pair / f"run-seed{seed}")


# ---- refusals, all before training


def without_first(folder):
    """Remove the first run."""
    shutil.rmtree(folder / "run-seed1")


def renamed(folder):
    """Give the second run the name of the first."""
    without_first(folder)
    (folder / "run-seed2").rename(folder / "run-seed1")


def damaged(folder):
    """Cut the vectors of the second run off."""
    path = folder / "run-seed2" / "vectors.npy"
    path.write_bytes(path.read_bytes()[:-4])


@pytest.mark.parametrize(
    ("change", "command", "more", "message"),
    [
        (without_first, "train-skipgram", ("--window", 3, "--dim", 6),
         "run-seed2: was trained with different dim, window; pass the same values"),
        (renamed, "train-skipgram", (), "run-seed1: was trained with different seed;"),
        (damaged, "train-skipgram", ("--seeds", 3),
         "run-seed2/vectors.npy: checksum mismatch, the file is damaged"),
        (lambda folder: None, "train-cbow", (),
         "run-seed1: already exists; choose another --out or pass --force"),
    ],
    ids=["other options", "renamed", "damaged", "other command"],
)  # fmt: skip
def test_runs_that_are_not_of_the_training_are_refused_before_it(
    corpus, copied, change, command, more, message
):
    change(copied.parent)
    before = sorted(copied.parent.iterdir())
    options = (*OPTIONS[command], "--seeds", 2, *more)
    said = refusal(command, corpus, "--out", copied, *options)
    assert said.startswith(f"{copied.parent}/{message}")
    assert sorted(copied.parent.iterdir()) == before


def test_a_run_on_another_text_is_refused(copied, tmp_path):
    other = corpus_of(tmp_path, ["a b c d", "b c d a"] * 20, name="other").path
    options = (*OPTIONS["train-skipgram"], "--seeds", 2)
    said = refusal("train-skipgram", other, "--out", copied, *options)
    assert said.startswith(f"{copied}-seed1: was trained with different corpus;")


@pytest.mark.parametrize("force", [(), ("--force",)])
def test_foreign_folders_at_a_run_path_are_refused(corpus, tmp_path, force):
    (tmp_path / "run-seed2").mkdir()
    (tmp_path / "run-seed2" / "letter.txt").touch()
    remedy = (
        "not a corpus or run; --force will not overwrite it"
        if force
        else "already exists; choose another --out or pass --force"
    )
    out = tmp_path / "run"
    said = refusal("train-cbow", corpus, "--out", out, *OPTIONS["train-cbow"], "--seeds", 2, *force)
    assert said == f"{out}-seed2: {remedy}"
    assert [path.name for path in tmp_path.iterdir()] == ["run-seed2"]


def test_svds_of_automatic_width_are_kept(tmp_path):
    text = tmp_path / "text.txt"
    rng = random.Random(1)
    text.write_text("\n".join(" ".join(rng.choices(WORDS, k=20)) for _ in range(200)))
    command = ("train-svd", text, "--out", tmp_path / "run", "--seeds", 1)
    assert invoke(*command).exit_code == 0
    assert "kept" in invoke(*command).stdout
    assert "different dim" in refusal(*command, "--dim", 50)


@pytest.mark.parametrize("epochs", [5, 20])
def test_automatic_epochs_match_explicit_ones(corpus, tmp_path, epochs):
    options = (*STATIC, "--seeds", "1")
    invoke("train-skipgram", corpus, "--out", tmp_path / "run", *options, "--epochs", epochs)
    again = invoke("train-skipgram", corpus, "--out", tmp_path / "run", *options)
    assert again.exit_code == (0 if epochs == 20 else 1)
    assert ("kept" if epochs == 20 else "was trained with different epochs;") in again.output


def test_default_epochs_depend_on_the_text_size(corpus, tmp_path):
    config = SkipGramConfig(dim=4, min_count=1, threads=1)
    opened = Corpus.open(corpus)
    run = train_skipgram(opened, config, tmp_path / "run").path
    taken = json.loads((run / "config.json").read_text())["epochs"]
    assert build_trainer(opened, config).epochs == taken == 20
    sizes = (4_000_000, 8_000_000, 16_000_000, 64_000_000, 10**9)
    assert [resolve_epochs(config, n) for n in sizes] == [20, 14, 10, 5, 5]
    assert resolve_epochs(dataclasses.replace(config, epochs=7), 10) == 7


def left_unfinished(out, kind=SkipGramConfig, **options):
    """Leave an unfinished training with a checkpoint; return its partial directory."""
    config = kind(dim=8, min_count=1, epochs=2, threads=1, **options)
    maker = {"command": f"train-{kind.method}", **dataclasses.asdict(config)}
    with (
        pytest.raises(KeyboardInterrupt),
        new_artifact(out, maker, resume="checkpoints") as partial,
    ):
        (partial / "checkpoints").mkdir()
        (partial / "checkpoints" / "work").touch()
        raise KeyboardInterrupt
    return partial


def test_unfinished_work_of_another_training_is_refused_before_training(corpus, tmp_path):
    partial = left_unfinished(tmp_path / "run-seed2", seed=2, window=9)
    options = [*OPTIONS["train-skipgram"], "--seeds", 3]
    assert refusal("train-skipgram", corpus, "--out", tmp_path / "run", *options) == (
        f"{partial}: left unfinished with different corpus, window; pass the same values to "
        "resume, choose another --out or pass --force"
    )
    assert refusal("train-cbow", corpus, "--out", tmp_path / "run", *options) == (
        f"{partial}: left unfinished by 'train-skipgram'; run that command again, choose another "
        "--out or pass --force"
    )
    assert (partial / "checkpoints" / "work").is_file()
    assert [path.name for path in tmp_path.iterdir()] == ["run-seed2.partial"]


def test_a_run_that_another_process_writes_is_refused_before_training(corpus, tmp_path):
    partial = left_unfinished(tmp_path / "run-seed2")
    options = [*OPTIONS["train-skipgram"], "--seeds", 2]
    with open(partial / ".lock") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        for force in ([], ["--force"]):
            said = refusal("train-skipgram", corpus, "--out", tmp_path / "run", *options, *force)
            assert said == (
                f"{partial}: another process is writing it; wait for it or choose another --out"
            )
    assert [path.name for path in tmp_path.iterdir()] == ["run-seed2.partial"]


def test_a_raw_source_is_not_built_if_a_run_is_refused(copied, tmp_path, fresh_cache):
    (tmp_path / "text.txt").write_text("the sea and the sun\n" * 20)
    arguments = ["train-skipgram", tmp_path / "text.txt", "--out", copied, *STATIC, "--seeds", 2]
    assert "was trained with different window" in refusal(*arguments, "--window", 3)
    assert not fresh_cache.exists()


@pytest.mark.parametrize(
    ("words", "status", "message"),
    [
        (("--seed", 2**31 - 1, "--seeds", 2), 1, "--seed must be at most 2147483647, got"),
        (("--seeds", 0), 2, "0 is not in the range 1<=x<=1000"),
        (("--seeds", 1001), 2, "1001 is not in the range 1<=x<=1000"),
    ],
)
def test_seed_counts_and_seeds_out_of_range_are_refused(corpus, tmp_path, words, status, message):
    options = ["--out", tmp_path / "run", *OPTIONS["train-mlm"], *words]
    result = invoke("train-mlm", corpus, *options)
    assert result.exit_code == status
    assert message in result.stderr
    assert list(tmp_path.iterdir()) == []


# ---- masked language models


def test_a_batch_size_of_another_device_is_another_training(corpus, tmp_path):
    options = as_words({name: value for name, value in SMALL.items() if name != "batch"})
    arguments = ["train-mlm", corpus, "--out", tmp_path / "run", *options, "--seeds", 1]
    assert invoke(*arguments).exit_code == 0
    again = invoke(*arguments)
    assert again.stdout.startswith(f"{tmp_path}/run-seed1: kept")
    config = json.loads((tmp_path / "run-seed1" / "config.json").read_text())
    write_json(
        tmp_path / "run-seed1" / "config.json",
        config | {"decided": {**config["decided"], "batch": 1024}},
    )
    assert refusal(*arguments).startswith(
        f"{tmp_path}/run-seed1: was trained with different batch;"
    )


def test_the_plan_of_several_runs_gives_their_total_time(corpus):
    options = [*OPTIONS["train-mlm"], "--dry-run", "--json"]
    shown = invoke("train-mlm", corpus, *options, "--seeds", 3)
    planned = json.loads(shown.stdout)
    assert planned["runs"] == 3
    assert planned["total_seconds"] == pytest.approx(3 * planned["seconds"], abs=0.11)
    alone = json.loads(invoke("train-mlm", corpus, *options).stdout)
    assert planned.keys() - alone.keys() == {"runs", "total_seconds"}


@pytest.mark.process
def test_distributed_training_makes_all_runs_and_keeps_finished_ones(server, corpus, tmp_path):
    train("train-mlm", corpus, tmp_path / "run", "--seeds", 1)
    words = ["train-mlm", corpus, "--out", tmp_path / "run", *OPTIONS["train-mlm"], "--seeds", 2]
    done = launched(server, RUN, *words, workdir=tmp_path)
    assert done.status == 0, done.stderr
    shown = [line.partition(":")[0] for line in done.stdout.splitlines() if "-seed" in line]
    assert shown == [f"{tmp_path}/run-seed1", f"{tmp_path}/run-seed2", "compare them"]
    assert done.stdout.startswith(f"{tmp_path}/run-seed1: kept")
    assert vectors(tmp_path / "run-seed1") != vectors(tmp_path / "run-seed2")


def test_other_initial_vectors_are_another_training(corpus, tmp_path):
    first = tmp_path / "first"
    train("train-skipgram", corpus, first)
    arguments = ["train-skipgram", corpus, "--out", tmp_path / "run", *OPTIONS["train-skipgram"]]
    arguments += ["--init", first, "--seeds", 1]
    assert invoke(*arguments).exit_code == 0
    assert "kept" in invoke(*arguments).stdout
    train("train-skipgram", corpus, first, "--force", "--seed", 5)
    assert refusal(*arguments).startswith(f"{tmp_path}/run-seed1: was trained with different init;")
