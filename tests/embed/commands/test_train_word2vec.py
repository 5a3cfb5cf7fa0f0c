"""The commands train-skipgram and train-cbow: outputs, messages and refusals."""

import errno
import json
import math
import re

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import verify
from firth.corpora.artifacts.metrics import HeldOutLoss
from firth.corpora.common.console import duration
from firth.corpora.common.options import take
from firth.embed.formats.vector_files import load_vectors
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig, Tuning
from firth.embed.word2vec.trainer import build_trainer
from tests.calls import command as invoke
from tests.calls import output

COMMANDS = ["train-skipgram", "train-cbow"]
SMALL = (
    "--dim", "8", "--epochs", "2", "--min-count", "1", "--threads", "1", "--subsample", "0.001",
)  # fmt: skip


def themed_lines(n_lines=300, seed=4):
    """Lines about one of two themes, with a function word in each."""
    rng = np.random.default_rng(seed)
    themes = [[f"{theme}{end}" for end in "abcdefghijklmno"] for theme in ("sea", "sun")]
    lines = ([*rng.choice(themes[n % 2], 6).tolist(), "the"] for n in range(n_lines))
    return "\n".join(" ".join(line) for line in lines)


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    """Raw text with one document per line."""
    path = tmp_path_factory.mktemp("text") / "text.txt"
    path.write_text(themed_lines())
    return path


@pytest.fixture(scope="module")
def corpus(text):
    """The same text as a corpus, a tenth of it held out."""
    out = text.parent / "corpus"
    output("build-corpus", text, "--out", out, "--documents", "line", "--held-out", "0.1")
    return out


@pytest.fixture(scope="module")
def skipgram(corpus):
    """A run of skip-gram."""
    out = corpus.parent / "skipgram"
    output("train-skipgram", corpus, "--out", out, *SMALL)
    return out


def options_of(run):
    """Return the content of ``config.json``."""
    return json.loads((run / "config.json").read_text(encoding="utf-8"))


def said(result):
    """Return the lines of standard error except those that depend on the speed of the machine."""
    lines = [line for line in result.stderr.splitlines() if not line.startswith("training ")]
    return [line for line in lines if " would take about " not in line]


# ---- files and output


@pytest.mark.parametrize("command", COMMANDS)
def test_a_summary_has_losses_and_what_twice_the_epochs_would_take(corpus, tmp_path, command):
    result = invoke(command, corpus, "--out", tmp_path / "run", *SMALL)
    assert (result.exit_code, said(result)) == (0, [])
    last = json.loads((tmp_path / "run" / "metrics.jsonl").read_text().splitlines()[-1])
    held_out = HeldOutLoss.from_line(last)
    assert held_out.n_units > 1
    assert 0 < held_out.standard_error < held_out.mean
    assert last["epoch"] == 2
    assert result.stdout == (
        f"{tmp_path / 'run'}: 31 words, 8 dimensions, loss {last['epoch_loss']:.4f}, "
        f"held-out loss {held_out}{held_out.warning}\n"
    )
    took = last["tokens"] / last["tokens_per_second"]
    cost = result.stderr.splitlines()[-1]
    assert cost == (
        f"{tmp_path / 'run'}: 2 epochs took {duration(took)}; --epochs 4 would take about "
        f"{duration(2 * took)}"
    )
    again = invoke(command, corpus, "--out", tmp_path / "short", *SMALL, "--epochs", 1)
    assert ": 1 epoch took " in again.stderr


def test_a_text_without_held_out_documents_is_trained_without_a_held_out_loss(tmp_path):
    (tmp_path / "one.txt").write_text(themed_lines().replace("\n", " "))
    result = invoke("train-skipgram", tmp_path / "one.txt", "--out", tmp_path / "run", *SMALL)
    assert re.fullmatch(
        re.escape(f"{tmp_path / 'run'}: 31 words, 8 dimensions, loss ") + r"\d\.\d{4}\n",
        result.stdout,
    )


@pytest.mark.parametrize(
    ("command", "config_class", "method"),
    [("train-skipgram", SkipGramConfig, "skipgram"), ("train-cbow", CbowConfig, "cbow")],
)
def test_every_option_reaches_the_config_and_the_run(
    corpus, tmp_path, command, config_class, method
):
    given = {
        "dim": 6, "window": 3, "window_weighting": "flat", "negatives": 7,
        "unigram_exponent": 0.5, "subsample": 0.01, "learning_rate": 0.03,
        "epochs": 1, "min_count": 2, "max_vocabulary": 20, "boundary": "document",
        "punctuation": "keep", "subwords": "3-4", "buckets": 1000, "deterministic": True,
        "seed": 9, "threads": 2,
    }  # fmt: skip
    words = []
    for name, value in given.items():
        words += [f"--{name.replace('_', '-')}", *([] if value is True else [value])]
    output(command, corpus, "--out", tmp_path / "run", *words)
    stored = options_of(tmp_path / "run")
    assert (stored["format"], stored["method"]) == (1, method)
    assert take(config_class, stored) == config_class(**given)
    vectors = load_vectors(tmp_path / "run")
    assert vectors.matrix.shape == (20, 6)


def test_cbow_averages_contexts_by_default(corpus, tmp_path):
    matrices = {}
    for flags in ((), ("--combine", "mean"), ("--combine", "sum")):
        out = tmp_path / "".join(("run", *flags))
        output("train-cbow", corpus, "--out", out, *SMALL, *flags)
        assert options_of(out)["combine"] == (*flags, "mean")[flags != ()]
        matrices[flags] = np.load(out / "vectors.npy")
    assert np.array_equal(matrices[()], matrices[("--combine", "mean")])
    assert not np.array_equal(matrices[()], matrices[("--combine", "sum")])


@pytest.mark.parametrize("command", COMMANDS)
def test_the_gensim_engine_trains_a_run(corpus, skipgram, tmp_path, command):
    pytest.importorskip("gensim")
    out = tmp_path / "run"
    result = invoke(command, corpus, "--out", out, *SMALL, "--engine", "gensim")
    assert (result.exit_code, said(result)) == (0, [])
    assert result.stdout == f"{out}: 31 words, 8 dimensions\n"
    verify(out)
    vectors = load_vectors(out)
    assert vectors.vocabulary == load_vectors(skipgram).vocabulary
    assert vectors.matrix.shape == vectors.contexts.shape == (31, 8)
    assert options_of(out)["engine"] == "gensim"
    assert [path.name for path in tmp_path.iterdir()] == ["run"]


def test_subwords_give_neighbors_to_an_unseen_word(corpus, tmp_path):
    out = tmp_path / "run"
    options = ("--subwords", "3-6", "--epochs", "20")
    output("train-skipgram", corpus, "--out", out, *SMALL, *options)
    asked = invoke("neighbors", out, "seaworthy", "-k", "5", "--json")
    assert asked.stderr == (
        "'seaworthy' is not in the vocabulary; its vector is composed of its n-grams\n"
    )
    neighbors = [entry["neighbor"] for entry in json.loads(asked.stdout)["seaworthy"]]
    assert [word[:3] for word in neighbors] == ["sea"] * 5


@pytest.mark.parametrize("command", COMMANDS)
def test_a_raw_source_is_built_in_the_cache_first(text, fresh_cache, tmp_path, command):
    result = invoke(command, text, "--out", tmp_path / "run", *SMALL)
    assert result.exit_code == 0, result.output
    assert result.stderr.startswith(f"building a corpus of {text} in {fresh_cache}/corpora/text-")
    assert len(load_vectors(tmp_path / "run").vocabulary) == 31


# ---- refusals, each before any work: not even a raw source is built


REFUSALS = [
    (("--learning-rate", "0"), "--learning-rate must be above 0, got 0.0"),
    (
        ("--engine", "gensim", "--deterministic", "--init", "old.txt"),
        (
            "--engine gensim does not support --init and --deterministic; leave them out or pass "
            "--engine firth"
        ),
    ),
    (("--init", "no/such/run"), "no/such/run: no such run or vectors file"),
    (
        ("--init", "{skipgram}"),
        "--dim 100 differs from the 8 dimensions of {skipgram}; pass --dim 8",
    ),
]


@pytest.mark.slow
@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize(("options", "message"), REFUSALS)
def test_an_invalid_option_prints_one_line_before_any_work(
    text, skipgram, fresh_cache, tmp_path, command, options, message
):
    options = [option.format(skipgram=skipgram) for option in options]
    result = invoke(command, text, "--out", tmp_path / "run", *options)
    assert (result.exit_code, result.stdout) == (1, "")
    assert result.stderr == f"Error: {message.format(skipgram=skipgram)}\n"
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("command", COMMANDS)
def test_an_existing_output_is_overwritten_only_with_force(
    text, corpus, fresh_cache, tmp_path, command
):
    out = tmp_path / "run"
    assert invoke(command, corpus, "--out", out, *SMALL).exit_code == 0
    again = invoke(command, text, "--out", out, *SMALL)
    assert again.exit_code == 1
    assert again.stderr == (f"Error: {out}: already exists; choose another --out or pass --force\n")
    assert not fresh_cache.exists()
    assert invoke(command, corpus, "--out", out, *SMALL, "--dim", "5", "--force").exit_code == 0
    assert np.load(out / "vectors.npy").shape == (31, 5)


# ---- a full disk


def full(*arguments):
    """Raise the error of a full disk."""
    raise OSError(errno.ENOSPC, "No space left on device")


@pytest.mark.parametrize(
    ("module", "seconds"),
    [("firth.embed.word2vec.tables", math.inf), ("firth.corpora.artifacts.checkpoint", 0.0)],
)
def test_a_full_disk_prints_one_line_and_training_can_resume(
    corpus, skipgram, tmp_path, monkeypatch, module, seconds
):
    command = ("train-skipgram", corpus, "--out", tmp_path / "run", *SMALL)
    with monkeypatch.context() as patch:
        tuning = Tuning(checkpoint_seconds=seconds)
        patch.setattr(build_trainer, "__defaults__", (tuning,))
        patch.setattr(f"{module}.save_array", full)
        result = invoke(*command)
    assert result.exit_code == 1
    assert result.stderr == (
        f"Error: {tmp_path / 'run'}: the disk is full; free some space or choose another --out\n"
    )
    assert [path.name for path in tmp_path.iterdir()] == ["run.partial"]

    output(*command)
    for name in ("vectors.npy", "contexts.npy", "vocabulary.tsv"):
        assert (tmp_path / "run" / name).read_bytes() == (skipgram / name).read_bytes()
    assert [path.name for path in tmp_path.iterdir()] == ["run"]
