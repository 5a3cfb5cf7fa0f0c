"""Training and encoding on mps, by the stand-in of tests/mps.py: no Mac has run them."""

import dataclasses
import json

import numpy as np
import pytest
import torch

from firth.corpora.artifacts.metrics import read_metrics
from firth.corpora.common.errors import SettingError
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.train import train_autoencoder
from firth.embed.contextual.encoders import open_encoder
from firth.embed.nplm.config import NplmConfig
from firth.embed.nplm.train import train_nplm
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training import autotune
from firth.pretrain.training.distributed import process_group
from firth.pretrain.training.step import Stepper
from tests.mps import MPS, stand_in
from tests.pretrain.small_training import OFTEN, SMALL, corpus_of
from tests.reporters import Killed

pytestmark = pytest.mark.slow
CONFIG = MlmConfig(**{**SMALL, "steps": 4, "dropout": 0.1, "init": "none", "device": "mps"})
# of float32, after few steps: on a CPU, attention to few words has a kernel of its own
NEAR = {"rtol": 1e-3, "atol": 1e-4}


@pytest.fixture(scope="module", autouse=True)
def _few_targets():
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaskedPieces, "held_out_targets", 400)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """A run that was trained on mps."""
    with stand_in():
        return make_mlm_run(corpus, CONFIG, tmp_path_factory.mktemp("run") / "run")


def test_a_run_trained_on_mps_is_near_the_one_of_a_cpu(corpus, run, tmp_path):
    other = make_mlm_run(corpus, dataclasses.replace(CONFIG, device="cpu"), tmp_path / "cpu")
    np.testing.assert_allclose(np.load(run / "vectors.npy"), np.load(other / "vectors.npy"), **NEAR)
    found, expected = (read_metrics(each / "metrics.jsonl")[0] for each in (run, other))
    assert found["unigram_loss"] == expected["unigram_loss"]
    assert json.loads((run / "config.json").read_text())["decided"]["device"] == "mps"
    assert json.loads((run / "provenance.json").read_text())["device"].startswith("mps")


def test_a_training_killed_on_mps_resumes_to_the_same_bits(corpus, run, tmp_path, monkeypatch):
    step = Stepper.gradients

    def killed(self, number, batch):
        if number == 3:
            raise Killed
        return step(self, number, batch)

    with stand_in():
        with monkeypatch.context() as patch, pytest.raises(Killed):
            patch.setattr(Stepper, "gradients", killed)
            make_mlm_run(corpus, CONFIG, tmp_path / "run", tuning=OFTEN)
        resumed = make_mlm_run(corpus, CONFIG, tmp_path / "run", tuning=OFTEN)
    for name in ("model.safetensors", "vectors.npy", "held_out.npy"):
        assert (resumed / name).read_bytes() == (run / name).read_bytes()


def test_an_encoder_on_mps_gives_the_states_of_a_cpu(run):
    sentences = [["word1", "word10", "word33"], ["word7"]]
    expected = open_encoder(run, "cpu").encode(sentences, [0, 1])
    with stand_in():
        encoder = open_encoder(run, "mps")
        assert encoder.model.pieces.weight.device == MPS
        found = encoder.encode(sentences, [0, 1])
        assert encoder.fill_mask("word1 [MASK] word33", 3)
    for left, right in zip(found, expected, strict=True):
        np.testing.assert_allclose(left, right, **NEAR)


@pytest.mark.parametrize(
    ("train", "config"),
    [
        (train_nplm, NplmConfig(dim=4, hidden=4, window=2, samples=5, min_count=1, threads=1)),
        (train_nplm, NplmConfig(dim=4, hidden=4, window=2, samples=0, min_count=1, threads=1)),
        (train_autoencoder, AutoencoderConfig(dim=4, epochs=1, min_count=1, threads=1)),
    ],
    ids=["sampled", "nplm", "autoencoder"],
)
def test_small_networks_on_mps_give_the_vectors_of_a_cpu(corpus, tmp_path, train, config):
    made = {}
    for device in ("cpu", "mps"):
        with stand_in():
            made[device] = train(corpus, dataclasses.replace(config, device=device))
    assert isinstance(made["mps"], WordVectors)
    np.testing.assert_array_equal(made["mps"].matrix, made["cpu"].matrix)


def test_auto_never_selects_mps():
    from firth.pretrain.device import choose_device

    with stand_in():
        assert choose_device("mps") == MPS
        assert choose_device("auto").type != "mps"


def test_what_mps_cannot_do_is_refused_in_one_line(monkeypatch):
    with stand_in():
        with pytest.raises(SettingError) as refused:
            autotune.check_settings(MlmConfig(compile="on"), MPS)
        assert str(refused.value) == "`compile=on`: it is untried on mps; pass `compile=off`"
        with monkeypatch.context() as patch, pytest.raises(SettingError, match="integers wrongly"):
            patch.setattr(autotune, "keyed_bits", lambda *given: torch.tensor([given[-1] == "cpu"]))
            autotune.check_settings(MlmConfig(), MPS)
    for name in ("WORLD_SIZE", "RANK", "MASTER_ADDR", "MASTER_PORT"):
        monkeypatch.setenv(name, "2")
    with pytest.raises(SettingError, match=r"only one process .* WORLD"), process_group("mps"):
        pass
