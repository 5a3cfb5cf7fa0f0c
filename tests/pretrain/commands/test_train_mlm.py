"""The train-mlm command: output, errors, dry run and resuming."""

import json
import re
import shutil
import signal

import pytest
import torch
from click.testing import CliRunner

from firth import cli
from firth.corpora.artifacts.artifact import verify
from firth.corpora.artifacts.metrics import HeldOutLoss, read_metrics
from firth.corpora.common.options import take
from firth.embed.formats.vector_files import load_vectors
from firth.pretrain.commands import train_mlm
from firth.pretrain.commands.train_mlm import command as mlm_command
from firth.pretrain.commands.train_mlm import step_time, summary
from firth.pretrain.config import MlmConfig
from firth.pretrain.device import compile_problem
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.training.optimizer import n_weights
from tests.pretrain.launched import OFTEN
from tests.pretrain.small_training import SMALL, as_words, corpus_of
from tests.run_python import run_python
from tests.waiting import wait_for

STABLE = [
    "--preset", "--steps", "--epochs", "--minutes", "--device",
    "--seed", "--batch", "--sequence-length", "--learning-rate", "--mask-rate", "--pieces",
    "--positions", "--mixer", "--attention", "--norm", "--out", "--force",
    "--dry-run", "--json",
]  # fmt: skip


def invoke(*arguments):
    """Run one command."""
    return CliRunner().invoke(cli.main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of word chains, a tenth of it held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def trained(corpus, tmp_path_factory):
    """A run and the output of its command."""
    out = tmp_path_factory.mktemp("run") / "run"
    return out, invoke("train-mlm", corpus.path, "--out", out, *as_words(SMALL))


# ---- files and output


def test_the_options_that_scripts_rely_on_are_there():
    names = {name for option in mlm_command.params for name in option.opts}
    assert [name for name in STABLE if name not in names] == []


@pytest.mark.slow
def test_the_summary_shows_the_baseline_and_warns_of_too_little_text(trained):
    out, result = trained
    assert result.exit_code == 0
    last = read_metrics(out / "metrics.jsonl")[-1]
    loss = HeldOutLoss.from_line(last)
    assert loss.n_units > 1
    assert 0 < loss.standard_error < loss.mean
    assert result.stdout == (
        f"{out}: 40 words, 56 dimensions, held-out loss {loss}{loss.warning} (unigram "
        f"baseline {last['unigram_loss']:.{loss.decimals}f}), "
        f"accuracy {last['held_out_accuracy']:.1%} ({last['unigram_accuracy']:.1%})\n"
        "too little training text to judge the method: 1.54k tokens; results become meaningful "
        "from about 50M\n"
    )


@pytest.mark.slow
def test_the_summary_of_pointing_shows_chance_also_when_it_goes_on(corpus, tmp_path):
    few = as_words({**SMALL, "steps": 2})
    results = [
        invoke("train-mlm", corpus.path, "--out", tmp_path / name, option, value, *few)
        for name, option, value in (
            ("a", "--objective", "point"),
            ("b", "--continue", tmp_path / "a"),
        )
    ]
    for result in results:
        assert result.exit_code == 0, result.output
        assert re.search(r"held-out loss .* \(chance \d\.\d+\), accuracy", result.output)
    assert "held-out loss of the" in results[1].output


def test_going_on_shows_losses_before_and_after(trained, corpus, tmp_path):
    run, _ = trained
    words = ["train-mlm", corpus.path, "--continue", run, "--out", tmp_path / "more"]
    options = as_words({name: SMALL[name] for name in ("steps", "min_count", "threads", "batch")})
    refused = invoke(*words, *options, "--preset", "mini")
    assert refused.stderr.endswith(
        f"Error: --preset mini: {run} has --preset 1/16/2; leave it out\n"
    )
    planned = invoke(*words, *options, "--dry-run", "--json")
    assert json.loads(planned.stdout)["pieces"] == 60

    made = invoke(*words, *options, "--seeds", 1)

    assert made.exit_code == 0, made.stderr
    before, after = (
        HeldOutLoss.from_line(read_metrics(path / "metrics.jsonl")[-1])
        for path in (run, tmp_path / "more-seed1")
    )
    assert f"\nheld-out loss of the corpus before {before}, after {after}\n" in made.stdout
    assert "too little training text" not in made.stdout  # what it goes on from is not counted
    again = invoke(*words, *options, "--seeds", 1)
    assert "kept, already trained with these settings" in again.stdout


def test_the_parts_of_a_step_are_told_at_the_end(trained):
    out, result = trained
    shares = [line["backward"] for line in read_metrics(out / "metrics.jsonl") if "loss" in line]
    assert step_time(out) in result.stderr
    assert re.fullmatch(
        rf"{out}: of the time of a step, data wait \d+%, forward \d+%, backward \d+%, "
        r"optimizer \d+%",
        step_time(out),
    )
    assert f"backward {sum(shares) / len(shares):.0%}" in step_time(out)


def test_a_long_training_is_not_called_too_short(trained, tmp_path):
    run = shutil.copytree(trained[0], tmp_path / "long")
    last = read_metrics(run / "metrics.jsonl")[-1]
    (run / "metrics.jsonl").write_text(json.dumps({**last, "tokens": 50_000_000}) + "\n")
    assert "too little" not in summary(run)


@pytest.mark.slow
def test_every_option_reaches_the_config_and_the_run(corpus, tmp_path):
    given = {
        **SMALL, "preset": "2/16/2", "mixer": "attention:bilinear", "positions": "learned",
        "attention": "4:2", "norm": "post", "boundary": "sentence",
        "mask_rate": "0.3:0.15", "masking": "span", "seed": 7, "steps": 8, "optimizer": "adamw",
        "init": "none", "max_vocabulary": 20,
    }  # fmt: skip
    result = invoke("train-mlm", corpus.path, "--out", tmp_path / "run", *as_words(given))
    assert result.exit_code == 0, result.output
    stored = json.loads((tmp_path / "run" / "config.json").read_text())
    assert take(MlmConfig, stored) == MlmConfig(**given)
    assert load_vectors(tmp_path / "run").matrix.shape == (20, 32)
    first, last = (
        [line for line in read_metrics(tmp_path / "run" / "metrics.jsonl") if "loss" in line][n]
        for n in (0, -1)
    )
    assert 0.15 < last["mask_rate"] < first["mask_rate"] < 0.3


@pytest.mark.slow
def test_raw_text_is_built_first(corpus, tmp_path):
    text = corpus.path.parent / "chains.txt"
    lines = text.read_text().replace("\n", "\n\n")  # a blank line ends a paragraph, not a document
    for number in range(20):
        (tmp_path / "texts").mkdir(exist_ok=True)
        (tmp_path / "texts" / f"{number}.txt").write_text(lines[number * 500 : number * 500 + 500])
    out = tmp_path / "run"
    options = as_words({**SMALL, "pieces": "auto"})
    result = invoke("train-mlm", tmp_path / "texts", "--out", out, *options)
    assert result.exit_code == 0, result.output
    verify(out)


# ---- the plan


def planned(corpus, **options):
    """The output of a dry run."""
    result = invoke(
        "train-mlm", corpus.path, "--dry-run", "--json",
        *as_words({k: v for k, v in {**SMALL, **options}.items() if v is not None}),
    )  # fmt: skip
    assert result.exit_code == 0, result.output
    return json.loads(result.stdout)


def test_the_plan_has_exact_parameters_steps_and_epochs(corpus, trained, tmp_path):
    plan = planned(corpus)
    stored = json.loads((trained[0] / "config.json").read_text())
    last = [line for line in read_metrics(trained[0] / "metrics.jsonl") if "epoch" in line][-1]
    config = take(MlmConfig, stored)
    assert plan["parameters"] == n_weights(MaskedLanguageModel(config.shape(n_pieces=60)))
    assert plan["steps"] == last["step"] == 12
    assert plan["tokens"] == last["tokens"] == 12 * 8 * 16
    assert plan["epochs"] == last["epoch"]
    assert plan["pieces"] == 60
    assert plan["epoch_tokens"] == plan["rows"] * 16
    assert (plan["device"], plan["dtype"], plan["compile"], plan["batch"]) == (
        "cpu", "float32", False, 8,
    )  # fmt: skip
    assert list(tmp_path.iterdir()) == []


def test_the_plans_measurements_are_consistent(corpus):
    plan = planned(corpus, steps=10_000)
    assert plan["seconds"] == pytest.approx(plan["tokens"] / plan["tokens_per_second"], rel=0.01)
    assert plan["memory"] > 1e7
    assert 0 <= plan["mfu"] < 1
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d[+-]\d\d:\d\d", plan["end"])


def test_the_plan_of_minutes_ends_when_they_are_over(corpus):
    assert planned(corpus, steps=None, minutes=2)["seconds"] == 120


@pytest.mark.parametrize(
    ("options", "better"),
    [
        ({"minutes": 14}, "tiny"),
        ({"minutes": 49}, "micro"),
        ({"minutes": 14, "preset": "micro"}, "tiny"),
        ({"minutes": 16, "preset": "small"}, "micro"),
        ({"minutes": 51}, None),
        ({"minutes": 16, "preset": "micro"}, None),
        ({"minutes": 14, "preset": "tiny"}, None),
        ({"minutes": 14, "preset": "4/64/4"}, None),
        ({"minutes": 14, "mixer": "mean"}, None),
        ({"minutes": 14, "objective": "causal"}, None),
        ({"steps": 1}, None),
    ],
)
def test_a_smaller_preset_may_learn_more_in_a_short_time(options, better):
    config = MlmConfig(**options, device="cpu", threads=1).resolved()
    assert train_mlm._better_preset(config) == better


def test_the_preset_that_learns_more_is_named():
    options = as_words({"minutes": 20, "device": "cpu", "threads": 1})
    called = ("train-mlm", "nowhere", "--dry-run", *options)
    assert "in so short a time --preset micro learns more than mini\n" in invoke(*called).stderr
    assert "in so short a time" not in invoke(*called, "--preset", "micro").stderr


def test_more_cores_are_more_time_and_a_gpu_is_not_measured(monkeypatch):
    config = MlmConfig(minutes=12, device="cpu").resolved()
    monkeypatch.setattr("firth.corpora.common.threads.available_threads", lambda: 4)
    assert train_mlm._better_preset(config) == "micro"
    monkeypatch.setattr("firth.corpora.common.device.choose_device", {"cpu": "cuda"}.get)
    assert train_mlm._better_preset(config) is None


# ---- refused


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("--preset 1/10/4", "a --preset of width 10 is not divisible by 4 heads"),
        ("--attention 16", "an attention span of 16 must be below the row length of 16"),
        ("--learning-rate 0", "--learning-rate must be above 0, got 0.0"),
        ("--init nowhere", "nowhere: no such run or vectors file"),
        ("--init nowhere --dry-run", "nowhere: no such run or vectors file"),
        ("--epochs 2", "--steps and --epochs are both budgets; pass one of them"),
    ],
)
def test_impossible_options_are_one_line_errors(corpus, tmp_path, words, message):
    options = [*as_words(SMALL), *words.split()]
    result = invoke("train-mlm", corpus.path, "--out", tmp_path / "run", *options)
    assert (result.exit_code, result.stdout, result.stderr.count("\n")) == (1, "", 1)
    assert result.stderr.startswith(f"Error: {message}")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
def test_a_missing_device_is_refused_before_a_corpus_is_built(tmp_path):
    (tmp_path / "text.txt").write_text("some words\n")
    options = as_words({**SMALL, "device": "cuda"})
    for more in (("--out", tmp_path / "run"), ("--dry-run",)):
        result = invoke("train-mlm", tmp_path / "text.txt", *more, *options)
        assert result.exit_code == 1
        assert result.stderr.startswith("Error: --device cuda: torch ")
        assert result.stderr.endswith("sees no CUDA device; pass --device cpu\n")
        assert result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    ("words", "message"),
    [("", "Missing option '--out'."), ("--out x --json", "--json requires --dry-run")],
)
def test_without_out_only_a_dry_run_is_allowed(corpus, words, message):
    result = invoke("train-mlm", corpus.path, *words.split())
    assert (result.exit_code, result.stderr.splitlines()[-1]) == (2, f"Error: {message}")


# ---- killed


def same_run(out, other):
    """Return whether two runs have the same weights, vectors and metrics."""
    for name in ("model.safetensors", "vectors.npy", "vocabulary.tsv", "tokenizer.json"):
        assert (out / name).read_bytes() == (other / name).read_bytes(), name
    found = [
        [(line["step"], line["held_out_loss"]) for line in read_metrics(run / "metrics.jsonl")
         if "held_out_loss" in line]
        for run in (out, other)
    ]  # fmt: skip
    assert found[0] == found[1]


@pytest.mark.process
def test_a_killed_training_resumes_to_the_same_bytes(server, corpus, tmp_path):
    whole, out, partial = (tmp_path / name for name in ("whole", "run", "run.partial"))
    options = {**SMALL, "steps": 60}
    line = ("train-mlm", corpus.path, "--out", out, *as_words(options))
    process = server.python(OFTEN, *line, workdir=corpus.path.parent)
    wait_for(lambda: (partial / "checkpoints" / "step-2").exists(), process)
    process.send_signal(signal.SIGKILL)
    assert process.wait().status == -signal.SIGKILL
    assert not out.exists()
    for made in (whole, out):
        line = ("train-mlm", corpus.path, "--out", made, *as_words(options))
        assert server.python(OFTEN, *line, workdir=corpus.path.parent).wait().status == 0
    verify(out)
    same_run(out, whole)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["run", "whole"]


# in a process, since torch's compiler leaves threads
STOPPED_AND_WHOLE = """
import json, sys
from pathlib import Path
from firth.corpora.store.corpus import Corpus
from firth.pretrain.config import MlmConfig, MlmTuning
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training.step import Stepper

corpus, folder = Corpus.open(sys.argv[1]), Path(sys.argv[2])
config = MlmConfig(**json.loads(sys.argv[3]))
make_mlm_run(corpus, config, folder / "whole")
update, done = Stepper.update, []

def stop(self, sums, rate):
    done.append(rate)
    if len(done) > 9:
        raise ZeroDivisionError
    return update(self, sums, rate)

Stepper.update = stop
try:
    make_mlm_run(corpus, config, folder / "run", tuning=MlmTuning(checkpoint_seconds=0.0))
except ZeroDivisionError:
    assert (folder / "run.partial" / "checkpoints" / "step-9").exists()
Stepper.update = update
make_mlm_run(corpus, config, folder / "run")
"""


@pytest.mark.process
def test_a_stopped_compiled_training_resumes_to_the_same_bytes(root, corpus, tmp_path, monkeypatch):
    if problem := compile_problem(torch.device("cpu")):
        pytest.skip(problem)
    monkeypatch.setenv("TORCHINDUCTOR_CACHE_DIR", str(tmp_path.parent / "inductor"))
    monkeypatch.setenv("TORCHINDUCTOR_COMPILE_THREADS", "1")  # more would be processes
    monkeypatch.setenv("ATEN_CPU_CAPABILITY", "default")  # scalar code compiles faster
    options = {**SMALL, "compile": "on", "dropout": 0.1}
    done = run_python("-c", STOPPED_AND_WHOLE, corpus.path, tmp_path, json.dumps(options), cwd=root)
    assert done.returncode == 0, done.stderr
    same_run(tmp_path / "run", tmp_path / "whole")
