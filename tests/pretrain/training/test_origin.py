"""train-mlm --continue: the weights at the start, what is inherited, losses before and after."""

import dataclasses
import json
import shutil

import numpy as np
import pytest
from safetensors.numpy import load_file

from firth.corpora.artifacts.artifact import verify
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.json_format import open_pieces
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.model.weights import load_model
from firth.pretrain.train import make_mlm_run, train_mlm
from firth.pretrain.training.dry_run import estimate_mlm
from firth.pretrain.training.origin import continued
from firth.pretrain.training.step import Stepper
from tests.pretrain.small_training import OFTEN, SMALL, chains, corpus_of, tree_corpus_of

MORE = {
    name: value for name, value in SMALL.items()
    if name not in ("preset", "pieces", "sequence_length")
}  # fmt: skip
MIXERS = {
    "causal": {"objective": "causal"},
    "every mixer": {"mixer": "lstm,gru,elman,conv,conformer,mean", "preset": "6/16/2"},
    "post": {"norm": "post"},
    "trees": {"attention": "tree:1"},
}


@pytest.fixture(scope="module", autouse=True)
def _few_targets():
    """Evaluate on few targets, which would take most of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaskedPieces, "held_out_targets", 400)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """The text of the first run."""
    return corpus_of(tmp_path_factory.mktemp("old"))


@pytest.fixture(scope="module")
def other(tmp_path_factory):
    """Another text of the same words, in chains of another order."""
    lines = [" ".join(line.split()[::-1]) for line in chains(seed=5)]
    return corpus_of(tmp_path_factory.mktemp("new"), lines, name="reversed")


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """The run to go on from, whose positions are learned."""
    config = MlmConfig(**SMALL, norm="post")
    return make_mlm_run(corpus, config, tmp_path_factory.mktemp("run") / "run")


def going_on(run, **options):
    """Settings of a short training that goes on from a run."""
    return continued(MlmConfig(**{**MORE, "steps": 4, **options}, continue_=str(run)))


def losses(run):
    """The held-out losses before and after, by text."""
    told = json.loads((run / "config.json").read_text())["continued"]
    return {
        text: [line[when]["held_out_loss"] for when in ("before", "after")]
        for text, line in told.items()
    }


def test_a_training_goes_on_from_the_weights_of_a_run(run, corpus, other, tmp_path):
    config = going_on(run, learning_rate=1e-9)
    more = make_mlm_run(other, config, tmp_path / "more")

    verify(more)
    assert not (more / "origin.safetensors").exists()
    old, new = (load_file(path / "model.safetensors") for path in (run, more))
    for name, weight in old.items():
        np.testing.assert_allclose(new[name], weight, atol=1e-6, rtol=0)
    assert open_pieces(more / "tokenizer.json").names == open_pieces(run / "tokenizer.json").names
    measured = losses(more)
    assert list(measured) == ["corpus", "earlier_corpus"]
    lines = [json.loads(line) for line in (run / "metrics.jsonl").read_text().splitlines()]
    assert measured["earlier_corpus"][0] == lines[-1]["held_out_loss"]
    assert measured["corpus"][0] > measured["earlier_corpus"][0]


def test_new_biases_stand_before_those_of_sentinels(corpus, tmp_path):
    base = make_mlm_run(
        corpus, MlmConfig(**SMALL, objective="denoise"), tmp_path / "base", temporary=True
    )
    new = corpus_of(tmp_path, [*chains(100), *["wdoor wrodo word1"] * 12] * 2, name="new")
    more = make_mlm_run(new, going_on(base, learning_rate=1e-9), tmp_path / "more", temporary=True)

    old_pieces, pieces = (open_pieces(path / "tokenizer.json") for path in (base, more))
    old, new = (load_file(path / "model.safetensors")["core.bias"] for path in (base, more))
    n, added = len(old_pieces), len(pieces) - len(old_pieces)
    assert added == 2
    np.testing.assert_allclose(new[:n], old[:n], atol=1e-6)
    np.testing.assert_allclose(new[n + added :], old[n:], atol=1e-6)  # of sentinels
    with pytest.raises(SettingError, match="has the sentinels of `sequence_length="):
        going_on(base, sequence_length=SMALL["sequence_length"] - 2)


def test_a_mixed_run_is_measured_in_both_readings(corpus, other, tmp_path):
    config = MlmConfig(**SMALL, objective="mixed", mask_rate="0.3")
    base = make_mlm_run(corpus, config, tmp_path / "base", temporary=True)
    config = going_on(base)
    assert config.mask_rate == "0.3"
    more = make_mlm_run(other, config, tmp_path / "more", temporary=True)
    readings = ["corpus", "corpus_read_causally"]
    assert list(losses(more)) == [*readings, *(f"earlier_{reading}" for reading in readings)]


def test_frequent_new_words_get_the_mean_of_their_pieces(run, tmp_path):
    lines = [*chains(100), *["wdoor wrodo word1"] * 12] * 2
    corpus = corpus_of(tmp_path, [*lines, *["wdoor1 word2"] * 9], name="new", held_out=0.02)
    config = going_on(run, learning_rate=1e-9)
    more = make_mlm_run(corpus, config, tmp_path / "more", temporary=True)

    old, new = (open_pieces(path / "tokenizer.json") for path in (run, more))
    added = new.names[len(old) :]
    assert set(added) == {"wdoor", "wrodo"}
    assert new.names[: len(old)] == old.names
    before, after = (load_file(path / "model.safetensors") for path in (run, more))
    for number, word in enumerate(added, start=len(old)):
        parts, _ = old.split([word])
        for name in ("pieces.weight", "core.bias"):
            expected = before[name][parts].mean(0)
            np.testing.assert_allclose(after[name][number], expected, atol=1e-6)
    assert [new.names[piece] for piece in new.split(["wdoor1"])[0]] == ["wdoor", "##1"]
    kept, _ = new.split(["word1", "word39"])
    assert kept.tolist() == old.split(["word1", "word39"])[0].tolist()


@pytest.mark.slow
def test_what_is_learned_of_another_text_shows_in_the_losses(run, other, tmp_path):
    config = going_on(run, steps=80, learning_rate=0.03)
    before, after = losses(make_mlm_run(other, config, tmp_path / "more", temporary=True))["corpus"]
    assert after < before - 0.1


def test_more_epochs_of_the_same_text_have_no_earlier_one(run, corpus, tmp_path):
    more = make_mlm_run(corpus, going_on(run), tmp_path / "more", temporary=True)
    assert list(losses(more)) == ["corpus"]
    assert load_model(more).config == load_model(run).config


@pytest.mark.slow
@pytest.mark.parametrize("shape", MIXERS.values(), ids=MIXERS)
def test_a_killed_training_resumes_to_the_same_bits(shape, corpus, tmp_path, monkeypatch):
    corpus = tree_corpus_of(tmp_path) if "attention" in shape else corpus
    base = make_mlm_run(
        corpus, MlmConfig(**{**SMALL, "steps": 2, **shape}), tmp_path / "base", temporary=True
    )
    config = going_on(base)
    whole = make_mlm_run(corpus, config, tmp_path / "whole")
    gradients = Stepper.gradients

    for killed_at in (0, 2):  # before a checkpoint, and after

        def stopping(self, step, batch, last=killed_at):
            if step == last:
                raise RuntimeError
            return gradients(self, step, batch)

        with monkeypatch.context() as patch, pytest.raises(RuntimeError):
            patch.setattr(Stepper, "gradients", stopping)
            make_mlm_run(corpus, config, tmp_path / "more", tuning=OFTEN)
        shutil.rmtree(base, ignore_errors=True)  # it has a copy of the weights
    more = make_mlm_run(corpus, config, tmp_path / "more")

    for name in ("model.safetensors", "vectors.npy", "untrained.npy"):
        assert (more / name).read_bytes() == (whole / name).read_bytes(), name


def test_rows_may_be_shorter_and_longer_where_positions_allow_it(corpus, run, tmp_path):
    assert going_on(run).sequence_length == 16
    short = make_mlm_run(
        corpus, going_on(run, sequence_length=8, steps=1), tmp_path / "short",
        temporary=True,
    )  # fmt: skip
    old, new = (load_file(path / "model.safetensors") for path in (run, short))
    assert new["position_table.weight"].shape == (8, 16)
    np.testing.assert_allclose(
        new["position_table.weight"], old["position_table.weight"][:8], atol=0.01
    )


def test_a_setting_at_its_default_counts_if_it_was_typed(run):
    assert going_on(run).preset == "1/16/2"
    with pytest.raises(SettingError, match=r"`preset=mini`: .* has `preset=1/16/2`; leave it out"):
        continued(MlmConfig(continue_=str(run)), ["preset"])


REFUSED = {
    "mixer": ({"mixer": "lstm"}, "`mixer=lstm`: {run} has `mixer=attention`; leave it out"),
    "positions": (
        {"positions": "rotary"},
        "`positions=rotary`: {run} has `positions=learned`; leave it out",
    ),
    "attention": ({"attention": "3"}, "`attention=3`: {run} has no `attention`; leave it out"),
    "pieces": ({"pieces": "70"}, "`pieces=70`: {run} has `pieces=60`; leave it out"),
    "objective": (
        {"objective": "causal"},
        "`objective=causal`: {run} has `objective=masked`; leave it out",
    ),
    "length": (
        {"sequence_length": 20},
        "`sequence_length=20`: {run} has learned positions of `sequence_length=16`; pass fewer",
    ),
    "init": (
        {"init": "words"},
        "`init=words`: `continue_={run}` has a table of vectors, too; leave one out",
    ),
}


@pytest.mark.parametrize(("options", "message"), REFUSED.values(), ids=REFUSED)
def test_settings_that_contradict_the_run_are_refused(run, options, message):
    with pytest.raises(SettingError) as refused:
        going_on(run, **options)
    assert str(refused.value) == message.format(run=run)


def test_what_is_no_run_or_damaged_is_refused_before_anything_is_written(run, corpus, tmp_path):
    with pytest.raises(ArtifactError, match="no such run"):
        going_on(tmp_path / "none")
    with pytest.raises(ArtifactError, match="a corpus, not a run"):
        going_on(corpus.path)
    damaged = shutil.copytree(run, tmp_path / "damaged")
    with open(damaged / "model.safetensors", "r+b") as file:
        file.seek(-4, 2)
        file.write(b"\0\1\2\3")
    with pytest.raises(ArtifactError, match=r"model\.safetensors: "):
        train_mlm(corpus, MlmConfig(**MORE, continue_=str(damaged)), tmp_path / "more")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["damaged"]


def test_a_corpus_of_other_text_settings_is_refused(run, tmp_path):
    cased = build_corpus(chains(50), tmp_path / "cased", words=TextSettings(keep_case=True))
    with pytest.raises(FirthError) as refused:
        make_mlm_run(cased, going_on(run), tmp_path / "more")
    assert str(refused.value) == (
        f"`continue_={run}`: its text had another `keep_case` than the corpus; build the corpus "
        "with the same"
    )


def test_text_is_divided_as_that_of_the_run(tmp_path, capsys):
    base = build_corpus(chains(), tmp_path / "cased", words=TextSettings(keep_case=True))
    config = MlmConfig(**{**SMALL, "steps": 1})
    run = make_mlm_run(base, config, tmp_path / "run", temporary=True)
    lines = [*chains(60), *["WORD wörd"] * 9]
    assert train_mlm(lines, going_on(run, steps=1)).text.keep_case
    assert f"% of the words of the text have no pieces in {run} and are [UNK]" in (
        capsys.readouterr().err
    )


def test_the_dry_run_counts_the_weights_of_the_run(run, other):
    estimate = estimate_mlm(other, going_on(run))
    assert estimate.sizes["parameters"] == sum(
        weight.size for weight in load_file(run / "model.safetensors").values()
    )
    assert dataclasses.replace(going_on(run), continue_=None).shape(n_pieces=60) == (
        load_model(run).config
    )
