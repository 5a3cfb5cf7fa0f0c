"""The pool command after real training: the run records its corpus."""

import json

import pytest

from firth.corpora.artifacts.artifact import verify
from firth.embed.runs.run import Run
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.config import MlmConfig
from firth.pretrain.train import make_mlm_run
from tests.calls import command
from tests.pretrain.small_training import SMALL, corpus_of


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Chains of words, a tenth held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """A run trained for a few steps."""
    out = tmp_path_factory.mktemp("trained") / "run"
    return make_mlm_run(corpus, MlmConfig(**{**SMALL, "steps": 2}), out)


def pool(run, out):
    """Run ``firth pool``."""
    return command("pool", run, "--out", out, "--min-count", 1, "--device", "cpu")


def config_of(run):
    """Return the config of a run."""
    return json.loads((run / "config.json").read_text())


def test_a_trained_run_is_pooled_without_naming_its_corpus(corpus, run, tmp_path):
    result = pool(run, tmp_path / "pooled")
    assert result.exit_code == 0, result.output
    assert result.stdout == f"{tmp_path / 'pooled'}: 40 words, 56 dimensions\n"
    verify(tmp_path / "pooled")
    assert Run.open(tmp_path / "pooled").corpus().fingerprint == corpus.fingerprint
    # the defaults are those by which training itself pooled
    found, expected = WordVectors.open(tmp_path / "pooled"), WordVectors.open(run)
    assert list(found.vocabulary) == list(expected.vocabulary)
    assert found.matrix.tobytes() == expected.matrix.tobytes()
    pooling = config_of(tmp_path / "pooled")["pooling"]
    assert {**pooling, "dtype": "float32"} == config_of(run)["pooling"]


@pytest.mark.slow
def test_a_run_of_a_sample_is_pooled_over_the_sample(corpus, tmp_path):
    sample = corpus.sample(1_000, seed=3)
    run = make_mlm_run(sample, MlmConfig(**{**SMALL, "steps": 2}), tmp_path / "run")
    assert Run.open(run).corpus().fingerprint == sample.fingerprint
    result = pool(run, tmp_path / "pooled")
    assert result.exit_code == 0, result.output
    pooled, trained = WordVectors.open(tmp_path / "pooled"), WordVectors.open(run)
    assert pooled.matrix.tobytes() == trained.matrix.tobytes()
    assert pooled.counts.sum() == sample.training_tokens
    assert Run.open(tmp_path / "pooled").corpus().fingerprint == sample.fingerprint
