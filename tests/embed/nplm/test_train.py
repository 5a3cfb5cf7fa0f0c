"""Runs of the next-word network: files, losses, interruptions, and use by other commands."""

import json

import numpy as np
import pytest

import firth
from firth.corpora.artifacts.metrics import read_metrics, read_unit_losses
from firth.corpora.common.errors import FirthError
from firth.corpora.store.corpus import Corpus
from firth.embed.nplm.config import NplmConfig, Tuning, with_samples
from firth.embed.nplm.network import NextWordNetwork
from firth.embed.nplm.train import make_nplm_run, open_text
from tests.calls import output
from tests.reporters import Killed, stopping

FEW = NplmConfig(
    dim=6, hidden=5, window=2, batch=64, epochs=2, min_count=1, threads=1, device="cpu"
)
SAMPLED = {"samples": 6}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Lines of a language in which every word has one successor, or rarely any."""
    folder = tmp_path_factory.mktemp("nplm")
    rng = np.random.default_rng(5)
    lines = []
    for _ in range(200):
        words = [int(rng.integers(20))]
        for _ in range(9):
            words.append(int(rng.integers(20)) if rng.random() < 0.1 else (3 * words[-1] + 1) % 20)
        lines.append(" ".join(f"w{word}x" for word in words))
    (folder / "text.txt").write_text("\n".join(lines))
    output(
        "build-corpus", folder / "text.txt", "--documents", "line", "--held-out", "0.2", "--out",
        folder / "corpus",
    )  # fmt: skip
    return Corpus.open(folder / "corpus")


def train(corpus, out, tuning=None, **options):
    """Make a run."""
    config = NplmConfig(**{**vars(FEW), **options})
    return make_nplm_run(corpus, config, out, tuning=tuning or Tuning())


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    return train(corpus, tmp_path_factory.mktemp("run") / "run", **SAMPLED)


def test_a_run_has_vectors_settings_and_losses(run, corpus):
    vectors = firth.load_vectors(run)
    assert vectors.matrix.shape == (20, 6)
    config = json.loads((run / "config.json").read_text())
    assert (config["method"], config["window"], config["samples"]) == ("nplm", 2, 6)
    last = read_metrics(run / "metrics.jsonl")[-1]
    units = read_unit_losses(run)
    assert last["epoch"] == 2
    assert last["held_out_loss"] == pytest.approx(units[0].sum() / units[1].sum())
    assert units[1].sum() == open_text(corpus, FEW).n_held_out_tokens


@pytest.mark.parametrize("steps", [1, 17, 30], ids=["first epoch", "middle", "second epoch"])
def test_an_interrupted_training_resumes_to_the_same_bytes(run, corpus, tmp_path, steps):
    with stopping(steps), pytest.raises(KeyboardInterrupt):
        train(corpus, tmp_path / "run", **SAMPLED)
    assert not (tmp_path / "run").exists()
    train(corpus, tmp_path / "run", **SAMPLED)
    for name in ("vectors.npy", "held_out.npy", "vocabulary.tsv"):
        assert (tmp_path / "run" / name).read_bytes() == (run / name).read_bytes(), name


def test_a_killed_training_resumes_from_its_last_checkpoint(run, corpus, tmp_path):
    often = Tuning(checkpoint_seconds=0)
    with stopping(4, Killed), pytest.raises(Killed):
        train(corpus, tmp_path / "run", often, **SAMPLED)
    train(corpus, tmp_path / "run", **SAMPLED)
    assert (tmp_path / "run/vectors.npy").read_bytes() == (run / "vectors.npy").read_bytes()


def test_without_learning_the_loss_is_that_of_word_frequencies(corpus, tmp_path):
    made = train(corpus, tmp_path / "run", epochs=1, learning_rate=1e-9)
    text = open_text(corpus, FEW)
    held_out = np.concatenate([rows for rows, *_ in text.held_out_shards()])
    expected = -np.log(text.counts[held_out] / text.counts.sum()).mean()
    # scores differ from the biases by random numbers of standard deviation .01 sqrt(H)
    assert read_metrics(made / "metrics.jsonl")[-1]["held_out_loss"] == pytest.approx(
        expected, abs=0.02
    )


@pytest.mark.slow
@pytest.mark.parametrize("samples", [0, 6], ids=["full", "sampled"])
def test_the_next_word_is_learned(corpus, tmp_path, samples):
    made = train(corpus, tmp_path / "run", epochs=10, samples=samples)
    # the successor has a probability of .905; its entropy is .595, that of all words 3.0
    assert read_metrics(made / "metrics.jsonl")[-1]["held_out_loss"] < 1.6


def test_by_default_large_vocabularies_are_sampled():
    assert [with_samples(NplmConfig(), n).samples for n in (4_096, 4_097)] == [0, 1_024]
    assert with_samples(NplmConfig(samples=0), 10**6).samples == 0


def test_a_diverging_training_ends_with_one_line(corpus, tmp_path):
    with pytest.raises(FirthError, match=r"diverged in epoch 1, after .*; pass `learning_rate=25"):
        train(corpus, tmp_path / "run", learning_rate=1e6 / 1e4)


def test_a_high_loss_of_held_out_text_or_of_few_words_is_no_divergence(
    corpus, tmp_path, monkeypatch
):
    monkeypatch.setattr(
        NextWordNetwork, "losses", lambda self, before, words: np.full(len(words), 40.0)
    )
    monkeypatch.setattr(
        NextWordNetwork, "learn", lambda self, before, words, *rest: 40.0 * len(words)
    )
    made = train(corpus, tmp_path / "run", epochs=1, batch=40)
    assert read_metrics(made / "metrics.jsonl")[-1]["held_out_loss"] == 40
    monkeypatch.setattr(
        NextWordNetwork, "losses", lambda self, before, words: np.full(len(words), np.nan)
    )
    with pytest.raises(FirthError, match=r"diverged in epoch 1, after .* the loss is nan; pass"):
        train(corpus, tmp_path / "nan", epochs=1, batch=40)


def test_curves_and_studies_take_the_method(corpus, tmp_path):
    (tmp_path / "pairs.tsv").write_text("w1x\tw4x\t9\nw4x\tw13x\t8\nw1x\tw2x\t2\nw5x\tw6x\t7\n")
    curve = firth.CurveConfig(methods="nplm", sizes="1000")
    made = firth.learning_curve(
        corpus, tmp_path / "curve", curve,
        firth.CompareConfig(sets=(f"similarity={tmp_path / 'pairs.tsv'}",), replicates=100),
    )  # fmt: skip
    assert made.failures == []
    assert "nplm" in {row["method"] for row in made.document["results"]}
    study = firth.Study(("text",), ("nplm",), options={"train-nplm": {"window": 3}})
    assert study.options["train-nplm"] == {"window": 3}


def test_the_command_prints_the_perplexity_and_keeps_finished_seeds(corpus, tmp_path):
    words = (
        "train-nplm", corpus.path, "--out", tmp_path / "run", "--dim", 4, "--hidden", 4, "--epochs",
        1, "--threads", 1, "--seeds", 2,
    )  # fmt: skip
    first, *_ = output(*words).splitlines()
    loss = read_metrics(tmp_path / "run-seed1/metrics.jsonl")[-1]["held_out_loss"]
    assert first.startswith(f"{tmp_path}/run-seed1: 20 words, 4 dimensions, loss ")
    assert first.endswith(f", perplexity {np.exp(loss):.1f}")
    assert "kept" in output(*words).splitlines()[0]
