"""--seeds: several runs of one training, each equal to a single run."""

import dataclasses
import itertools
import json
import os
import random
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pytest
from filelock import FileLock

from firth.corpora.artifacts.artifact import new_artifact, verify, write_json
from firth.corpora.store.corpus import Corpus
from firth.embed.runs.run import trained
from firth.embed.runs.seeds import SeedRuns
from firth.embed.svd.train import SvdConfig
from firth.embed.word2vec.config import SkipGramConfig, Tuning, default_epochs
from firth.embed.word2vec.train import train_skipgram
from firth.embed.word2vec.trainer import build_trainer
from tests.calls import command as invoke
from tests.calls import output, refusal
from tests.pretrain.launched import RUN, launched
from tests.pretrain.small_training import SMALL, as_words, corpus_of

STATIC = ("--dim", "8", "--min-count", "1", "--threads", "1")
OPTIONS = {
    "train-svd": STATIC,
    "train-skipgram": (*STATIC, "--epochs", "2"),
    "train-cbow": (*STATIC, "--epochs", "2"),
    "train-mlm": tuple(as_words(SMALL)),
}


WORDS = [a + b + c for a in "bcdfg" for b in "aeiou" for c in "lmnrst"]


def train(name, corpus, out, *more):
    """Run a training that must succeed; return the lines it prints."""
    return output(name, corpus, "--out", out, *OPTIONS[name], *more).splitlines()


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
    assert refusal("train-svd", corpus, "--out", out, "--seeds", 1, "--seed", 5) == (
        f"--out {out}: no name to append -seed5 to; pass one"
    )
    assert list(tmp_path.iterdir()) == []


def test_a_raw_source_is_opened_once(tmp_path, monkeypatch):
    from firth.corpora.encoding import build

    opened = []
    plain = build.open_or_build
    monkeypatch.setattr(
        build, "open_or_build", lambda source, text: opened.append(source) or plain(source, text)
    )
    (tmp_path / "text.txt").write_text("the sea and the sun and the sand and the wind\n" * 20)
    train("train-svd", tmp_path / "text.txt", tmp_path / "run", "--seeds", 3, "--dim", 2)
    assert opened == [str(tmp_path / "text.txt")]


# ---- repeated commands


def test_finished_runs_of_the_same_training_are_kept_unless_forced(corpus, copied):
    first = copied.parent / "run-seed1" / "vectors.npy"
    before = first.stat().st_mtime_ns
    lines = train("train-skipgram", corpus, copied, "--seeds", 3, "--threads", 2)
    assert lines[:2] == [
        f"{copied}-seed{n}: kept, already trained with these settings" for n in (1, 2)
    ]
    assert lines[2].startswith(f"{copied}-seed3: 40 words")
    assert first.stat().st_mtime_ns == before
    strays = [copied.parent / f"run-seed{seed}" / "stray" for seed in (1, 2)]
    for stray in strays:
        stray.touch()
    train("train-skipgram", corpus, copied, "--seeds", 2, "--force")
    assert not any(stray.exists() for stray in strays)


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
    words = ["train-skipgram", corpus, "--out", tmp_path / "run", *OPTIONS["train-skipgram"]]
    stopped = invoke(*words, "--seeds", 2)
    assert (stopped.exit_code, "run the same command to resume" in stopped.stderr) == (1, True)
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


def test_runs_that_are_not_of_the_training_are_refused_before_it(corpus, copied, tmp_path):
    first, second = (copied.parent / f"run-seed{seed}" for seed in (1, 2))
    out = ("--out", copied, "--seeds", 2)

    def refused(name, source, *more):
        before = sorted(copied.parent.iterdir())
        said = refusal(name, source, *out, *OPTIONS[name], *more)
        assert sorted(copied.parent.iterdir()) == before
        return said.removeprefix(f"{copied.parent}/")

    assert refused("train-cbow", corpus).startswith("run-seed1: already exists; choose another")
    other = corpus_of(tmp_path, ["a b c d", "b c d a"] * 2000, name="other").path
    message = "run-seed1: was trained with different corpus;"
    assert refused("train-skipgram", other).startswith(message)
    path = second / "vectors.npy"
    whole = path.read_bytes()
    path.write_bytes(whole[:-4])
    message = "run-seed2/vectors.npy: checksum mismatch, the file is damaged"
    assert refused("train-skipgram", corpus, "--seeds", 3).startswith(message)
    path.write_bytes(whole)
    shutil.rmtree(first)
    message = "run-seed2: was trained with different dim, window; pass the same values"
    assert refused("train-skipgram", corpus, "--window", 3, "--dim", 6).startswith(message)
    second.rename(first)
    message = "run-seed1: was trained with different seed;"
    assert refused("train-skipgram", corpus).startswith(message)


def test_foreign_folders_at_a_run_path_are_refused(corpus, tmp_path):
    (tmp_path / "run-seed2").mkdir()
    (tmp_path / "run-seed2" / "letter.txt").touch()
    words = ("train-cbow", corpus, "--out", tmp_path / "run", *OPTIONS["train-cbow"], "--seeds", 2)
    assert refusal(*words).endswith(
        "run-seed2: already exists; choose another --out or pass --force"
    )
    message = "run-seed2: not a corpus or run; --force will not overwrite it"
    assert refusal(*words, "--force").endswith(message)
    assert [path.name for path in tmp_path.iterdir()] == ["run-seed2"]


def test_svds_of_automatic_width_are_kept(tmp_path):
    text = tmp_path / "text.txt"
    rng = random.Random(1)
    text.write_text("\n".join(" ".join(rng.choices(WORDS, k=20)) for _ in range(200)))
    command = ("train-svd", text, "--out", tmp_path / "run", "--seeds", 1)
    invoke(*command)  # notes that the text is small
    assert "kept" in output(*command)
    assert "different dim" in refusal(*command, "--dim", 50)


@pytest.mark.parametrize("epochs", [5, 20])
def test_automatic_epochs_match_explicit_ones(corpus, tmp_path, epochs):
    words = ("train-skipgram", corpus, "--out", tmp_path / "run", *STATIC, "--seeds", 1)
    output(*words, "--epochs", epochs)
    again = invoke(*words)
    assert again.exit_code == (0 if epochs == 20 else 1)
    assert ("kept" if epochs == 20 else "was trained with different epochs;") in again.output


def test_default_epochs_depend_on_the_text_size(corpus, tmp_path):
    config = SkipGramConfig(dim=4, min_count=1, threads=1)
    opened = Corpus.open(corpus)
    run = train_skipgram(opened, config, tmp_path / "run").path
    taken = json.loads((run / "config.json").read_text())["epochs"]
    assert build_trainer(opened, config).epochs == taken == 20
    sizes = (4_000_000, 8_000_000, 16_000_000, 64_000_000, 10**9)
    assert [default_epochs(n) for n in sizes] == [20, 14, 10, 5, 5]


def test_a_larger_text_is_trained_with_fewer_tokens_by_one_pass_at_most():
    sizes = np.unique(np.geomspace(1e5, 1e9, 20_000).astype(np.int64)).tolist()
    epochs = [default_epochs(n) for n in sizes]
    falls = [(a, b) for a, b in itertools.pairwise(epochs) if a != b]
    assert falls == [(passes, passes - 1) for passes in range(20, 5, -1)]  # at 15 sizes
    totals = [n * passes for n, passes in zip(sizes, epochs, strict=True)]
    most = itertools.accumulate(totals, max)
    assert all(total >= least - n for n, total, least in zip(sizes, totals, most, strict=True))


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
    with FileLock(f"{partial}.lock"):
        for force in ([], ["--force"]):
            said = refusal("train-skipgram", corpus, "--out", tmp_path / "run", *options, *force)
            assert said == (
                f"{partial}: another process is writing it; wait for it or choose another --out"
            )
    assert not (tmp_path / "run-seed1").exists()


def test_a_raw_source_is_not_built_if_a_run_is_refused(copied, tmp_path, fresh_cache):
    (tmp_path / "text.txt").write_text("the sea and the sun\n" * 20)
    arguments = ["train-skipgram", tmp_path / "text.txt", "--out", copied, *STATIC, "--seeds", 2]
    assert "was trained with different window" in refusal(*arguments, "--window", 3)
    assert not fresh_cache.exists()


def test_seed_counts_and_seeds_out_of_range_are_refused(corpus, tmp_path):
    words = ["train-mlm", corpus, "--out", tmp_path / "run", *OPTIONS["train-mlm"], "--seeds"]
    assert refusal(*words, 2, "--seed", 2**31 - 1).startswith("--seed must be at most 2147483647,")
    for count in (0, 1001):
        refused = invoke(*words, count)
        assert refused.exit_code == 2
        assert f"{count} is not in the range 1<=x<=1000" in refused.stderr
    assert list(tmp_path.iterdir()) == []


# ---- masked language models


def test_a_batch_size_of_another_device_is_another_training(corpus, tmp_path):
    options = as_words({name: value for name, value in SMALL.items() if name != "batch"})
    words = ["train-mlm", corpus, "--out", tmp_path / "run", *options, "--seeds", 1]
    output(*words)
    assert output(*words).startswith(f"{tmp_path}/run-seed1: kept")
    file = tmp_path / "run-seed1" / "config.json"
    config = json.loads(file.read_text())
    write_json(file, config | {"decided": {**config["decided"], "batch": 1024}})
    message = f"{tmp_path}/run-seed1: was trained with different batch;"
    assert refusal(*words).startswith(message)


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
    output(*arguments)
    assert "kept" in output(*arguments)
    train("train-skipgram", corpus, first, "--force", "--seed", 5)
    refused = invoke(*arguments)
    assert f"Error: {tmp_path}/run-seed1: was trained with different init;" in refused.stderr
