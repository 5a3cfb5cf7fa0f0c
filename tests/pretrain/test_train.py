"""train_mlm: the files of a run, resuming to the same bits, refusals before any work."""

import itertools
import json
import math
import signal
import time
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from safetensors.numpy import load_file

from firth.corpora.artifacts.artifact import verify
from firth.corpora.artifacts.checkpoint import load_checkpoint, save_checkpoint
from firth.corpora.artifacts.metrics import HeldOutLoss, read_metrics, read_unit_losses
from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.corpora.tokenizer.json_format import open_pieces
from firth.embed.compare.scoring.held_out import held_out_losses
from firth.embed.contextual.encoders import vectors_method
from firth.embed.contextual.pooled_run import pool_run
from firth.embed.contextual.pooling import PoolConfig
from firth.embed.runs import session as sessions
from firth.embed.runs.run import Run
from firth.embed.svd.train import SvdConfig, make_svd_run
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.training import NothingCountedError, torch_threads
from firth.embed.vectors.word_vectors import WordVectors
from firth.pretrain import train
from firth.pretrain.commands.train_mlm import summary
from firth.pretrain.config import MlmConfig, MlmTuning
from firth.pretrain.data.batches import Batch, Batches
from firth.pretrain.data.objectives.masked import MaskedPieces
from firth.pretrain.data.packing import PackedRows
from firth.pretrain.data.text import open_text
from firth.pretrain.inference.causal_encoder import CausalEncoder
from firth.pretrain.inference.mlm_encoder import open_causal, open_masked
from firth.pretrain.model.encoder import Core
from firth.pretrain.objectives import OBJECTIVES
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.train import make_mlm_run, train_mlm
from firth.pretrain.training import autotune, loop, prepare, session, warm_start
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.evaluation import evaluate
from firth.pretrain.training.session import PARTS, MlmSession
from firth.pretrain.training.step import Stepper
from tests.pretrain.small_training import OFTEN, SMALL, corpus_of, tree_corpus_of

FILES = [
    "centers.npy", "checksums.json", "config.json", "first_vectors.npy", "held_out.npy",
    "metrics.jsonl", "model.safetensors", "provenance.json", "start",
    "tokenizer.json", "untrained.npy", "vectors.npy", "vocabulary.tsv",
]  # fmt: skip


SOME = MlmTuning(evaluations=3)


def small(**options):
    """Settings of a short training."""
    return MlmConfig(**{**SMALL, **options})


@pytest.fixture(scope="module", autouse=True)
def _few_targets():
    """Evaluate on a twentieth of the usual targets, which would take half of the time."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(MaskedPieces, "held_out_targets", 400)
        yield


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """A corpus of word chains, a tenth of it held out."""
    return corpus_of(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def run(corpus, tmp_path_factory):
    """A run evaluated every four steps; lines are written only before each score."""
    out = tmp_path_factory.mktemp("run") / "run"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(session, "LINE_SECONDS", math.inf)
        return make_mlm_run(corpus, small(), out, tuning=SOME)


@pytest.fixture(scope="module")
def causal(corpus, tmp_path_factory):
    """A run of next pieces."""
    out = tmp_path_factory.mktemp("causal") / "run"
    return make_mlm_run(corpus, small(objective="causal"), out)


def same_weights(run, other):
    """Return whether two runs have the same bits."""
    first, second = (load_file(path / "model.safetensors") for path in (run, other))
    assert first.keys() == second.keys()
    assert [name for name in first if first[name].tobytes() != second[name].tobytes()] == []
    assert (run / "vectors.npy").read_bytes() == (other / "vectors.npy").read_bytes()


def scores(run):
    """Return the held-out losses by step."""
    lines = read_metrics(run / "metrics.jsonl")
    return {line["step"]: line["held_out_loss"] for line in lines if "held_out_loss" in line}


# ---- what is made


@pytest.mark.slow
def test_a_run_holds_its_files_and_leaves_no_others(run):
    verify(run)
    assert sorted(path.name for path in run.iterdir()) == FILES
    assert [path.name for path in run.parent.iterdir()] == ["run"]


def test_the_config_holds_every_resolved_setting(corpus, run):
    stored = json.loads((run / "config.json").read_text())
    assert (stored["format"], stored["method"]) == (1, "mlm")
    assert stored["steps"] == 12
    assert stored["positions"] == "rotary"
    assert stored["encoder"]["n_pieces"] == 60 == len(open_pieces(run / "tokenizer.json"))
    assert stored["decided"]["batch"] == 8
    assert stored["decided"]["dtype"] == "float32"
    assert stored["pooling"]["source"] == "joined"
    assert stored["pooling"]["layers"] == [1]
    assert stored["text"] == corpus.text.to_json()
    assert Run.open(run).corpus().path == corpus.path.resolve()
    about = json.loads((run / "provenance.json").read_text())
    assert (about["corpus"], about["seeds"], about["threads"]) == (corpus.fingerprint, [1], 1)
    assert "torch" in about["packages"]


def test_every_word_has_a_vector(corpus, run):
    vectors = WordVectors.open(run)
    assert vectors.matrix.shape == (40, 56)
    assert np.isfinite(vectors.matrix).all()
    assert sorted(vectors.vocabulary) == sorted(f"word{n}" for n in range(40))


def test_held_out_text_is_scored_first_last_and_in_between(run):
    lines = [line for line in read_metrics(run / "metrics.jsonl") if "held_out_loss" in line]
    assert [line["step"] for line in lines] == [0, 4, 8, 12]
    assert len({line["unigram_loss"] for line in lines}) == 1
    assert lines[0]["held_out_loss"] == pytest.approx(lines[0]["unigram_loss"], abs=0.1)
    assert lines[-1]["held_out_perplexity"] == pytest.approx(np.exp(lines[-1]["held_out_loss"]))


def test_metrics_have_loss_speed_and_memory(run):
    lines = [line for line in read_metrics(run / "metrics.jsonl") if "loss" in line]
    assert [line["step"] for line in lines] == [4, 8, 12]  # before each score
    last = lines[-1]
    assert last["tokens"] == 12 * 8 * 16
    assert 0 < last["loss"] < np.log(60) + 1
    assert 0 < last["rate"] < 1e-3  # of a schedule that ends at 0
    assert 0.15 < last["mask_rate"] < lines[0]["mask_rate"] < 0.4
    assert last["tokens_per_second"] > 0
    assert 0 <= last["padding"] < 0.1
    assert 0 <= last["mfu"] < 1  # in four digits: 0.0 where the machine is busy
    parts = [last[part] for part in PARTS]
    assert min(parts) >= 0  # in four digits, as mfu
    assert max(parts) > 0
    assert sum(parts) < 1
    assert last["memory"] > 1e7
    assert last["eta_seconds"] == 0
    assert last["epoch"] > lines[0]["epoch"] > 0


@pytest.mark.slow
def test_training_beats_the_unigram_baseline(corpus, tmp_path):
    config = small(steps=80, preset="1/32/2", learning_rate=6e-3)
    out = make_mlm_run(corpus, config, tmp_path / "run")
    last = [line for line in read_metrics(out / "metrics.jsonl") if "held_out_loss" in line][-1]
    assert last["held_out_loss"] < last["unigram_loss"] - 0.25
    assert last["held_out_accuracy"] > last["unigram_accuracy"]


@pytest.mark.slow
def test_the_same_options_give_the_same_bits_and_another_seed_others(corpus, run, tmp_path):
    with torch_threads(3):  # of the program, which stay
        same_weights(run, make_mlm_run(corpus, small(), tmp_path / "again"))
        assert torch.get_num_threads() == 3
    other = load_file(make_mlm_run(corpus, small(seed=2), tmp_path / "other") / "model.safetensors")
    mine = load_file(run / "model.safetensors")
    assert not np.array_equal(mine["core.head.weight"], other["core.head.weight"])


# ---- the next piece


@pytest.mark.slow
def test_a_causal_training_learns_which_word_follows(corpus, tmp_path):
    config = small(objective="causal", steps=80, preset="1/32/2", learning_rate=6e-3)
    encoder = train_mlm(corpus, config, tmp_path / "run")

    lines = read_metrics(tmp_path / "run" / "metrics.jsonl")
    last = [line for line in lines if "held_out_loss" in line][-1]
    assert last["held_out_loss"] < last["unigram_loss"] - 0.5
    assert next(line["mask_rate"] for line in lines if "mask_rate" in line) is None
    assert isinstance(encoder, CausalEncoder)
    follows = [[f"word{n}", f"word{(7 * n + 3) % 40}"] for n in range(40)]
    strays = [[f"word{n}", f"word{(7 * n + 4) % 40}"] for n in range(40)]
    assert (encoder.score(follows) > encoder.score(strays)).mean() > 0.8
    stored = json.loads((tmp_path / "run" / "config.json").read_text())
    assert stored["pooling"]["source"] == "joined"  # as of masked pieces
    assert WordVectors.open(tmp_path / "run").matrix.shape == (40, 72)


@pytest.mark.slow
def test_a_mixed_training_reports_the_losses_of_the_run_read_both_ways(corpus, tmp_path):
    run = make_mlm_run(corpus, small(objective="mixed"), tmp_path / "run")
    last = read_metrics(run / "metrics.jsonl")[-1]
    masked, causal = open_masked(run, "cpu"), open_causal(run, "cpu")
    rows = PackedRows.pack(open_text(corpus, small()).held_out, causal.pieces, 16, "cpu")
    for encoder, name, prefix in ((masked, "mixed", ""), (causal, "causal", "causal_")):
        batches = prepare.held_out_batches(rows, encoder.pieces, 8, OBJECTIVES[name])
        score = evaluate(encoder.model, batches, torch.float32)
        assert last[f"{prefix}held_out_loss"] == pytest.approx(score.loss, rel=1e-6)
        assert last[f"{prefix}held_out_accuracy"] == pytest.approx(score.accuracy)
    assert last["held_out_bits_per_character"] > 0
    expected = HeldOutLoss(score.loss, last["causal_held_out_standard_error"], 1)
    assert f"; causal held-out loss {expected}, accuracy {score.accuracy:.1%}, " in summary(run)


@pytest.mark.slow
def test_bits_per_character_are_those_of_the_text_that_the_pieces_spell(corpus, run, causal):
    pieces = open_pieces(causal / "tokenizer.json")
    text = open_text(corpus, small())
    rows = PackedRows.pack(text.held_out, pieces, 16, "cpu")
    spelled, n_targets = "", 0
    for batch in prepare.held_out_batches(rows, pieces, 8, OBJECTIVES["causal"]):
        for piece in batch.targets[batch.weights > 0].tolist():
            name, n_targets = pieces.names[piece], n_targets + 1
            spelled += name[2:] if name.startswith("##") else f" {name}"

    last = read_metrics(causal / "metrics.jsonl")[-1]
    assert last["held_out_targets"] == n_targets > 100
    nats = last["held_out_loss"] * n_targets
    expected = nats / math.log(2) / len(spelled)
    assert last["held_out_bits_per_character"] == pytest.approx(expected)
    losses, n_pieces, characters = read_unit_losses(causal)
    assert (n_pieces.sum(), characters.sum()) == (n_targets, len(spelled))
    error = HeldOutLoss.of_units(losses / math.log(2), characters).standard_error
    assert last["held_out_bits_standard_error"] == pytest.approx(error)
    assert last["held_out_perplexity"] == pytest.approx(math.exp(last["held_out_loss"]))
    assert "held_out_bits_per_character" not in (run / "metrics.jsonl").read_text()


@pytest.mark.slow
def test_bits_per_character_are_of_the_same_text_for_other_pieces(corpus, causal, tmp_path):
    smaller = make_mlm_run(corpus, small(objective="causal", pieces="30"), tmp_path / "30")
    assert read_unit_losses(smaller)[1].sum() > read_unit_losses(causal)[1].sum()
    [rows] = held_out_losses({"30": smaller, "60": causal}, {})
    assert [(row.run, row.bits) for row in rows] == [("30", True), ("60", True)]


@pytest.mark.slow
def test_a_causal_training_in_half_precision_is_near_the_exact_one(corpus, causal, tmp_path):
    half = make_mlm_run(corpus, small(objective="causal", dtype="bfloat16"), tmp_path / "run")
    exact, rounded = (list(scores(run).values())[-1] for run in (causal, half))
    assert rounded == pytest.approx(exact, abs=0.02)
    assert rounded != exact


@pytest.mark.slow
def test_vectors_pooled_in_half_precision_are_near_the_exact_ones(corpus, tmp_path):
    rounded = make_mlm_run(corpus, small(dtype="bfloat16"), tmp_path / "run")
    exact = pool_run(rounded, PoolConfig(min_count=1), tmp_path / "exact", corpus=corpus)
    found, expected = (unit_length(WordVectors.open(run).matrix) for run in (rounded, exact))
    assert (found != expected).any()
    assert (found * expected).sum(axis=1).min() > 0.999


# ---- the start


def test_a_run_keeps_what_it_was_started_from(corpus, run, tmp_path):
    vectors, start = WordVectors.open(run), WordVectors.open(run).start
    counted = WordVectors.open(run / "start")  # what train-svd makes, as wide as there are words
    assert Run.open(run / "start").method == "svd"
    assert start.name == f"{run} start"
    width = start.dim
    assert width == len(counted) <= len(vectors)
    assert vectors.dim == width + 16
    np.testing.assert_array_equal(start[list(counted)], counted.matrix)
    joined = vectors.matrix[:, :width]  # the start, at length 1
    lengths = np.linalg.norm(start.matrix, axis=1, keepdims=True)
    np.testing.assert_allclose(joined * lengths, start.matrix, rtol=1e-4, atol=1e-6)
    assert list(start.vocabulary) == list(vectors.vocabulary)
    assert np.linalg.matrix_rank(start.matrix) > 10
    random = make_mlm_run(corpus, small(init="none", steps=1), tmp_path / "random")
    assert WordVectors.open(random).start is None
    first = read_metrics(random / "metrics.jsonl")[0]
    assert first["held_out_loss"] == pytest.approx(np.log(60), abs=0.3)


def test_a_run_keeps_what_its_encoder_pools_before_training(corpus, run, tmp_path, monkeypatch):
    vectors, width = WordVectors.open(run), WordVectors.open(run).start.dim
    untrained = vectors.untrained
    assert untrained.name == f"{run} untrained"
    np.testing.assert_array_equal(untrained.matrix[:, :width], vectors.matrix[:, :width])
    monkeypatch.setattr(train, "train_model", lambda *given, **options: None)
    for number, options in enumerate([{}, {"init": "none"}, {"objective": "causal"}]):
        made = WordVectors.open(make_mlm_run(corpus, small(**options), tmp_path / str(number)))
        np.testing.assert_array_equal(made.untrained.matrix, made.matrix)  # it was not trained
        if not options:
            np.testing.assert_array_equal(made.matrix, untrained.matrix)
            assert (untrained.matrix[:, width:] != vectors.matrix[:, width:]).any()


def test_vectors_before_training_are_pooled_once_and_fit_the_words(
    corpus, run, tmp_path, monkeypatch
):
    pool, calls = train.pool_words, []

    def die_second(*given):
        calls.append(given)
        return pool(*given) if len(calls) == 1 else die()

    with monkeypatch.context() as patch, pytest.raises(StoppedError):
        patch.setattr(train, "pool_words", die_second)
        make_mlm_run(corpus, small(), tmp_path / "run", tuning=SOME)
    monkeypatch.delattr(train, "untrained_model")
    made = make_mlm_run(corpus, small(), tmp_path / "run", tuning=SOME)
    expected = np.load(run / "untrained.npy")
    np.testing.assert_array_equal(np.load(made / "untrained.npy"), expected)
    assert (made / "vectors.npy").read_bytes() == (run / "vectors.npy").read_bytes()
    np.save(made / "untrained.npy", expected[1:])
    with pytest.raises(ArtifactError, match="does not fit 40 words of 56 dimensions; train the"):
        _ = WordVectors.open(made).untrained


@pytest.mark.slow
def test_words_are_counted_again_if_that_was_killed_before_they_had_their_name(
    corpus, run, tmp_path, monkeypatch
):
    kill_pooling(monkeypatch, corpus, tmp_path / "run")
    partial = tmp_path / "run.partial"
    (partial / "start").rename(partial / "start.partial")
    made = make_mlm_run(corpus, small(), tmp_path / "run")
    assert not (made / "start.partial").exists()
    for name in ("start/vectors.npy", "start/pieces.npy", "vectors.npy"):
        np.testing.assert_array_equal(np.load(made / name), np.load(run / name))


@pytest.mark.slow
def test_a_training_ends_if_words_cannot_be_counted_for_another_reason(
    corpus, tmp_path, monkeypatch
):
    def full(*arguments, **options):
        raise ArtifactError("the disk is full")

    monkeypatch.setattr(warm_start, "rows_from_words", full)
    with pytest.raises(ArtifactError, match="the disk is full"):
        make_mlm_run(corpus, small(), tmp_path / "run")


def nothing_counted(*_, **__):
    raise NothingCountedError("no PMI is positive")


def test_a_text_without_positive_pmi_starts_at_random(tmp_path, capsys, monkeypatch):
    monkeypatch.setattr(warm_start, "text_vectors", nothing_counted)
    corpus = corpus_of(tmp_path, ["a b", "c d"] * 40)
    out = make_mlm_run(corpus, small(pieces="auto", steps=2), tmp_path / "run")
    assert "too few pieces occur together" in capsys.readouterr().err
    assert np.isfinite(WordVectors.open(out).matrix).all()
    assert vectors_method(Run.open(out)) == "mlm"
    assert WordVectors.open(out).untrained.matrix.shape == WordVectors.open(out).matrix.shape


def test_the_warm_up_is_no_part_of_a_step(corpus, tmp_path, monkeypatch):
    measured = []
    monkeypatch.setattr(Stepper, "warm_up", lambda self, batch: measured.append(self.stopwatch))
    monkeypatch.setattr(torch, "compile", lambda function, dynamic: function)
    monkeypatch.setattr(autotune, "compile_problem", lambda device: None)
    make_mlm_run(corpus, small(compile="on", steps=2), tmp_path / "run")
    assert measured == [None]


def test_a_training_starts_from_the_vectors_of_a_run(corpus, tmp_path):
    svd = make_svd_run(corpus, SvdConfig(dim=16, min_count=1, threads=1), tmp_path / "svd")
    made = make_mlm_run(corpus, small(init=str(svd), steps=1), tmp_path / "mlm")
    source, first = WordVectors.open(svd), np.load(made / "first_vectors.npy")
    pieces = open_pieces(made / "tokenizer.json")
    split = {word: pieces.split([word])[0].tolist() for word in source}
    sums, totals = np.zeros((60, 16)), np.zeros(60)
    for word, count in zip(source, source.counts, strict=True):
        for piece in split[word]:
            sums[piece] += count * source[word]
            totals[piece] += count
    for piece in np.flatnonzero(totals):
        np.testing.assert_allclose(first[piece], sums[piece] / totals[piece], rtol=1e-3, atol=1e-4)
    np.testing.assert_array_equal(np.load(made / "start" / "pieces.npy"), first)
    start = WordVectors.open(made).start
    np.testing.assert_array_equal(start[list(source)], source[list(source)])
    assert vectors_method(Run.open(made)) == "init + mlm"


# ---- interrupted


class StoppedError(Exception):
    """The exception that ends a training in these tests."""


@pytest.fixture
def stop_at(monkeypatch):
    """Ends a training before a step, as a kill does, or as Ctrl-C."""

    def plant(step, how):
        take = Stepper.gradients

        def stopping(self, number, batch):
            if number == step:
                how()
            return take(self, number, batch)

        monkeypatch.setattr(Stepper, "gradients", stopping)
        return monkeypatch

    return plant


def die():
    """Simulates a kill: nothing is saved."""
    raise StoppedError


def kill(step, stop_at, corpus, config, out, *, tuning=OFTEN, force=False):
    """Kill a training before a step."""
    planted = stop_at(step, die)
    with pytest.raises(StoppedError):
        make_mlm_run(corpus, config, out, tuning=tuning, force=force)
    planted.undo()


def kill_pooling(monkeypatch, corpus, out):
    """Kill a training when its weights are written and words are pooled."""
    with monkeypatch.context() as patch:
        patch.setattr(train, "pool_words", lambda *given: die())
        with pytest.raises(StoppedError):
            make_mlm_run(corpus, small(), out, tuning=SOME)


EVERY_STEP = MlmTuning(checkpoint_seconds=0.0, evaluations=6)


@pytest.fixture(
    scope="module",
    params=[{}, {"dropout": 0.1}, {"objective": "causal"}, {"objective": "mixed"}],
    ids=str,
)
def whole(request, corpus, tmp_path_factory):
    """Options, and the run of an uninterrupted training."""
    config = small(**request.param)
    out = tmp_path_factory.mktemp("whole") / "whole"
    return config, make_mlm_run(corpus, config, out, tuning=EVERY_STEP)


@pytest.mark.slow
@pytest.mark.parametrize("step", [2, 3, 11])
def test_a_killed_training_resumes_to_the_same_bits(corpus, tmp_path, stop_at, step, whole):
    config, whole = whole
    kill(step, stop_at, corpus, config, tmp_path / "run", tuning=EVERY_STEP)
    folder = tmp_path / "run.partial" / "checkpoints"
    assert load_checkpoint(folder)[1]["step"] == step
    assert {path.name for path in folder.iterdir()} == {f"step-{step - 1}", f"step-{step}"}
    same_weights(make_mlm_run(corpus, config, tmp_path / "run", tuning=EVERY_STEP), whole)
    assert scores(tmp_path / "run") == scores(whole)


@pytest.mark.slow
@pytest.mark.parametrize(
    "shape",
    [
        {"mixer": "lstm,gru,elman,conv,conformer,mean,linear", "preset": "7/16/2", "dropout": 0.1},
        {"attention": "tree:1", "dropout": 0.1},
        {"mixer": "attention:hard", "positions": "relative"},
        {"mixer": "attention:key-value"},
        {"objective": "denoise:share=0.3", "dropout": 0.1},
        {"objective": "denoise:permute=0.5,delete=0.1", "mixer": "gru"},
        {"objective": "point", "boundary": "sentence", "dropout": 0.1},
    ],
    ids=["every mixer", "trees", "hard", "key-value", "spans", "text", "point"],
)
def test_a_killed_training_of_another_shape_resumes_to_the_same_bits(
    corpus, tmp_path, stop_at, shape
):
    corpus = tree_corpus_of(tmp_path) if "attention" in shape else corpus
    config = small(steps=6, **shape)
    kill(5, stop_at, corpus, config, tmp_path / "run")
    resumed = make_mlm_run(corpus, config, tmp_path / "run")
    same_weights(resumed, make_mlm_run(corpus, config, tmp_path / "whole"))
    saved = json.loads((resumed / "config.json").read_text())
    assert saved.items() >= shape.items()
    n_pieces = saved["encoder"]["n_pieces"]
    assert EncoderConfig.from_json(saved["encoder"]) == config.shape(n_pieces=n_pieces)


@pytest.mark.slow
@pytest.mark.parametrize("step", [6, 7])  # after the second an evaluation is due
@pytest.mark.parametrize(("kind", "name"), [(Stepper, "gradients"), (Batches, "batch")])
def test_ctrl_c_saves_the_steps_before_the_begun_one(
    corpus, run, tmp_path, monkeypatch, capsys, step, kind, name
):
    work, config = getattr(kind, name), small()

    def interrupted(self, number, *more):
        if number == step:
            signal.raise_signal(signal.SIGINT)
        return work(self, number, *more)

    with monkeypatch.context() as patch:
        patch.setattr(kind, name, interrupted)
        with pytest.raises(KeyboardInterrupt):
            make_mlm_run(corpus, config, tmp_path / "run", tuning=SOME)
    assert capsys.readouterr().err.endswith("interrupted; run the same command to resume\n")
    assert load_checkpoint(tmp_path / "run.partial" / "checkpoints")[1]["step"] == step
    same_weights(make_mlm_run(corpus, config, tmp_path / "run", tuning=SOME), run)
    assert scores(tmp_path / "run") == scores(run)


def test_other_processes_stop_after_the_checkpoint_is_written(corpus, tmp_path, monkeypatch):
    def between_steps(training):
        if training.position.step == 7:
            signal.raise_signal(signal.SIGINT)

    order = []
    save = sessions.save_checkpoint
    monkeypatch.setattr(MlmSession, "write_line_if_due", between_steps)
    monkeypatch.setattr(
        sessions, "save_checkpoint", lambda *a, **k: (save(*a, **k), order.append("saved"))
    )
    monkeypatch.setattr(
        ProcessGroup, "broadcast", lambda self, value: (order.append(value), value)[1]
    )
    with pytest.raises(KeyboardInterrupt):
        make_mlm_run(corpus, small(), tmp_path / "run")
    assert order[order.index("saved") :][:2] == ["saved", session._STOP]


@pytest.mark.slow
def test_a_run_that_replaces_another_is_resumed_too(corpus, tmp_path, stop_at, monkeypatch):
    config = small()
    make_mlm_run(corpus, small(steps=1), tmp_path / "run")
    kill(7, stop_at, corpus, config, tmp_path / "run", force=True)
    begun = []
    load = sessions.load_checkpoint
    monkeypatch.setattr(
        sessions, "load_checkpoint", lambda folder: (begun.append(load(folder)), begun[-1])[1]
    )
    make_mlm_run(corpus, config, tmp_path / "run", force=True)
    assert begun[0][1]["step"] == 7


def test_weights_that_diverge_in_the_last_step_are_not_published(corpus, tmp_path):
    message = problem(FirthError, corpus, small(steps=1, learning_rate=3e37), tmp_path / "run")
    assert message.startswith("training diverged at step 1: the held-out loss is ")
    assert not (tmp_path / "run").exists()


@pytest.mark.slow
def test_a_training_killed_during_pooling_is_not_repeated(corpus, run, tmp_path, monkeypatch):
    kill_pooling(monkeypatch, corpus, tmp_path / "run")
    monkeypatch.delattr(train, "train_model")
    same_weights(make_mlm_run(corpus, small(), tmp_path / "run", tuning=SOME), run)


@pytest.mark.slow
def test_first_vectors_and_tuned_settings_are_kept_on_resume(
    corpus, run, tmp_path, stop_at, monkeypatch, capsys
):
    kill(7, stop_at, corpus, small(), tmp_path / "run")
    monkeypatch.delattr(warm_start, "vectors_from_text")
    out = make_mlm_run(corpus, small(threads=3), tmp_path / "run")
    assert capsys.readouterr().err == "`threads=3`: the run was started with 1 and keeps them\n"
    same_weights(out, run)


@pytest.mark.slow
def test_seconds_of_earlier_calls_count_towards_a_time_budget(corpus, tmp_path, stop_at):
    config = small(steps=None, minutes=0.05)
    planted = stop_at(6, die)
    ticks = itertools.count()
    # passes whenever it is looked at
    clock = SimpleNamespace(monotonic=lambda: next(ticks) / 32, perf_counter=time.perf_counter)
    planted.setattr(session, "time", clock)
    with pytest.raises(StoppedError):
        make_mlm_run(corpus, config, tmp_path / "run", tuning=OFTEN)
    before = load_checkpoint(tmp_path / "run.partial" / "checkpoints")[1]["seconds"]
    planted.undo()
    planted.setattr(session, "time", clock)
    out = make_mlm_run(corpus, config, tmp_path / "run", tuning=OFTEN)
    seconds = [line["seconds"] for line in read_metrics(out / "metrics.jsonl")]
    assert 0 < before < 3.0
    assert seconds == sorted(seconds)
    assert 3.0 <= seconds[-1] < 3.4


# ---- refused


def problem(kind, corpus, config, out, **more):
    """Return the error message; assert that no run was made."""
    with pytest.raises(kind) as refused:
        make_mlm_run(corpus, config, out, **more)
    return str(refused.value)


def test_a_corpus_without_held_out_text_is_refused(tmp_path):
    corpus = corpus_of(tmp_path, held_out=0.0)
    assert problem(SettingError, corpus, small(), tmp_path / "run") == (
        f"{corpus.path}: has no held-out text to evaluate on; build it from more text, "
        "without `held_out=0`"
    )
    assert not (tmp_path / "run.partial").exists()


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"pieces": "9000"}, "`pieces=9000`: this corpus yields at most "),
        ({"min_count": 10**6}, "no word occurs 1000000 times or more"),
        ({"attention": "tree"}, "chains: keeps no heads of words, which `attention=tree` needs; "),
    ],
)
def test_options_that_do_not_fit_the_corpus_are_refused_before_any_work(
    corpus, tmp_path, options, message
):
    assert message in problem(SettingError, corpus, small(**options), tmp_path / "run")
    assert list(tmp_path.iterdir()) == []


def test_the_unfinished_work_of_another_command_is_refused_before_any(
    corpus, tmp_path, monkeypatch
):
    (tmp_path / "run.partial").mkdir()
    (tmp_path / "run.partial" / "maker.json").write_text('{"command": "train-svd"}')
    monkeypatch.delattr(train, "first_pieces")
    message = problem(ArtifactError, corpus, small(), tmp_path / "run")
    assert message.startswith(f"{tmp_path / 'run.partial'}: left unfinished by 'train-svd';")


def test_an_existing_run_is_refused_and_untouched(corpus, run):
    before = (run / "model.safetensors").stat()
    message = problem(ArtifactError, corpus, small(), run)
    assert message == f"{run}: already exists; choose another `out` or pass `force=True`"
    assert (run / "model.safetensors").stat() == before


@pytest.mark.slow
def test_other_options_do_not_resume_from_a_checkpoint(corpus, tmp_path, stop_at):
    kill(7, stop_at, corpus, small(), tmp_path / "run")
    message = problem(ArtifactError, corpus, small(preset="1/8/2"), tmp_path / "run")
    assert message.startswith(f"{tmp_path / 'run.partial'}: left unfinished with different preset;")
    out = make_mlm_run(corpus, small(preset="1/8/2"), tmp_path / "run", force=True)
    assert WordVectors.open(out).matrix.shape == (40, 48)


@pytest.mark.slow
def test_a_checkpoint_of_another_text_is_refused_and_stays(corpus, tmp_path, stop_at):
    kill(7, stop_at, corpus, small(), tmp_path / "run")
    folder = tmp_path / "run.partial" / "checkpoints"
    arrays, state = load_checkpoint(folder)
    save_checkpoint(folder, arrays, {**state, "text": "0"})
    assert problem(ArtifactError, corpus, small(), tmp_path / "run") == (
        f"{folder}: belongs to another text; pass `force=True` to start over"
    )
    assert load_checkpoint(folder) is not None


# ---- going wrong


def test_minutes_that_the_first_vectors_take_are_refused(corpus, tmp_path):
    for _ in range(2):
        message = problem(SettingError, corpus, small(steps=None, minutes=1e-9), tmp_path / "run")
        assert message.startswith("`minutes=1e-09`: the first vectors alone took ")
    assert not (tmp_path / "run").exists()


def test_a_nan_loss_ends_the_training_with_a_suggestion(corpus, tmp_path, monkeypatch):
    losses, calls = Core.losses, itertools.count(1)

    def breaking(*arguments):
        loss, right = losses(*arguments)
        return loss * (float("nan") if next(calls) >= 8 else 1.0), right

    monkeypatch.setattr(Core, "losses", breaking)
    message = problem(
        FirthError, corpus, small(), tmp_path / "run",
        tuning=MlmTuning(checkpoint_seconds=0.0, evaluations=1),
    )  # fmt: skip
    assert message == (
        "training diverged at step 8: the loss is nan; pass `force=True` to start over, and "
        "`learning_rate=0.00075` or less, or `dtype=float32`; the checkpoint of step 7 is kept"
    )
    arrays, state = load_checkpoint(tmp_path / "run.partial" / "checkpoints")
    assert state["step"] == 7
    assert all(np.isfinite(array).all() for array in arrays.values())


def test_a_diverging_loss_ends_the_training(corpus, tmp_path):
    config = small(steps=300, learning_rate=1e4, optimizer="adamw")
    message = problem(
        FirthError, corpus, config, tmp_path / "run", tuning=MlmTuning(evaluations=30)
    )
    assert message.startswith("training diverged at step ")
    assert "pass `force=True` to start over, and `learning_rate=2.5e+03` or less" in message


@pytest.mark.parametrize(
    ("filled", "expected"),
    [((3, 3, 2), [0, 2, 4, 6]), ((2, 3, 2), [0, 1, 4, 6]), ((2, 1, 1), None)],
)
def test_some_rows_are_spread_evenly_over_those_with_pieces_to_predict(filled, expected):
    batches = []
    for number, n_rows in enumerate(filled):
        ids = torch.arange(3 * number, 3 * number + 3)[:, None]
        batches.append(Batch(ids, ids, ids, ids, ids, (torch.arange(3) < n_rows).float()[:, None]))
    some = loop.take_rows(batches, 4)

    if expected is None:
        assert some == batches
    else:
        assert [len(batch.ids) for batch in some] == [3, 1]
        assert torch.cat([batch.targets for batch in some]).flatten().tolist() == expected
        assert all(batch.weights.all() for batch in some)


@pytest.mark.slow
@pytest.mark.parametrize("given", [{"steps": 40}, {"steps": None, "minutes": 0.02}])
def test_evaluations_use_the_same_rows_and_the_last_one_all(corpus, tmp_path, monkeypatch, given):
    used, evaluate = [], loop.evaluate

    def noting(model, batches, *others):
        batches = list(batches)
        used.append(torch.cat([batch.ids for batch in batches]))
        return evaluate(model, batches, *others)

    monkeypatch.setattr(loop, "evaluate", noting)
    run = make_mlm_run(corpus, small(**given), tmp_path / "run")

    if "minutes" not in given:
        assert list(scores(run)) == list(range(0, 41, 2))
    assert len(used) > 2
    assert {len(ids) for ids in used[:-1]} == {64}
    assert all(torch.equal(ids, used[0]) for ids in used[1:-1])
    assert len(used[-1]) > 64
