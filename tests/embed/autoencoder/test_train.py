"""Auto-encoders: the linear one is the truncated SVD; runs, metrics, refusals."""

import dataclasses
import json

import numpy as np
import pytest
import torch
from scipy import sparse
from scipy.linalg import subspace_angles

import firth
from firth.corpora.artifacts.metrics import read_metrics
from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.common.reporting import reporting_to
from firth.corpora.store.corpus import Corpus
from firth.embed.autoencoder.config import AutoencoderConfig
from firth.embed.autoencoder.network import AutoencoderNetwork, Losses
from firth.embed.autoencoder.train import make_autoencoder_run, train_codes
from firth.embed.svd.truncated_svd import truncated_svd
from tests.calls import output
from tests.embed.small_corpus import SmallCorpus
from tests.reporters import Killed, Recorder

RANK = 4


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Lines of words from three themes, and one word that stands alone."""
    folder = tmp_path_factory.mktemp("rows")
    rng = np.random.default_rng(5)
    lines = [
        " ".join(f"w{word}x" for word in 50 * (line % 3) + rng.integers(50, size=8))
        for line in range(400)
    ]
    (folder / "text.txt").write_text("\n".join([*lines, "alone"]))
    made = output(
        "build-corpus", folder / "text.txt", "--documents", "line", "--held-out", "0", "--out",
        folder / "corpus",
    )  # fmt: skip
    assert "401 documents" in made
    return Corpus.open(folder / "corpus")


def options(**given):
    """Return settings of a small training."""
    small = {"dim": 8, "epochs": 3, "batch": 64, "min_count": 1, "threads": 1, "device": "cpu"}
    return AutoencoderConfig(**{**small, **given})


@pytest.fixture
def low_rank():
    """A sparse matrix with four large singular values, and noise, float32 (90, 70)."""
    rng = np.random.default_rng(3)
    planted = sum(
        size * np.outer(rng.standard_normal(90), rng.standard_normal(70))
        for size in (1.0, 0.9, 0.8, 0.7)
    )
    noisy = planted + 0.05 * rng.standard_normal(planted.shape)
    return sparse.csr_matrix((noisy * (np.abs(noisy) > 0.02)).astype(np.float32))


def test_the_linear_network_is_the_truncated_svd(low_rank, tmp_path):
    config = options(kind="linear", dim=RANK, batch=30, epochs=120)
    codes = train_codes(low_rank, config, "cpu", tmp_path)[0].astype(np.float64)

    found = truncated_svd(low_rank, RANK)
    left, values = found.left.astype(np.float64), found.values
    assert np.rad2deg(subspace_angles(codes, left).max()) < 0.5
    # U S up to a rotation: the same inner products
    expected = left * values
    np.testing.assert_allclose(codes @ codes.T, expected @ expected.T, atol=0.01 * values[0] ** 2)
    last = read_metrics(tmp_path / "metrics.jsonl")[-1]
    assert last["unexplained"] == pytest.approx(1 - found.captured / found.total, rel=1e-3)


@pytest.mark.slow
@pytest.mark.parametrize("kind", ["hidden", "denoising", "variational"])
def test_other_networks_learn_to_reconstruct(low_rank, tmp_path, kind):
    config = options(kind=kind, dim=RANK, hidden=20, batch=30, epochs=40).resolved()
    codes, _ = train_codes(low_rank, config, "cpu", tmp_path)
    first, *_, last = read_metrics(tmp_path / "metrics.jsonl")
    assert first["unexplained"] > 0.8
    assert last["unexplained"] < 0.4
    assert ("divergence" in last) == (kind == "variational")
    again, _ = train_codes(low_rank, config, "cpu", tmp_path)
    assert codes.tobytes() == again.tobytes()


def test_noise_hides_its_share_of_entries_and_scales_up_the_others(low_rank, tmp_path, monkeypatch):
    batches = []

    def backward(self, seen, whole, rng):
        everything = torch.eye(low_rank.shape[1])
        batches.append([rows.product(everything).numpy() for rows in (seen, whole)])
        return Losses(1.0, 0.0, 1.0)

    monkeypatch.setattr(AutoencoderNetwork, "backward", backward)
    monkeypatch.setattr(AutoencoderNetwork, "step", lambda self, rate: None)
    config = options(kind="denoising:0.2", dim=RANK, batch=30, epochs=4)
    train_codes(low_rank, config.resolved(), "cpu", tmp_path)
    seen, whole = np.concatenate(batches, axis=1)
    kept = seen != 0
    np.testing.assert_allclose(seen[kept], whole[kept] / 0.8, rtol=1e-6)
    assert kept.sum() / (whole != 0).sum() == pytest.approx(0.8, abs=0.01)


@pytest.mark.slow
@pytest.mark.parametrize("stop", [KeyboardInterrupt, Killed])
@pytest.mark.parametrize("kind", ["linear", "denoising", "variational"])
def test_a_resumed_training_gives_the_same_bytes(corpus, tmp_path, monkeypatch, kind, stop):
    config = options(kind=kind, rows="log")  # three epochs of three steps
    whole = make_autoencoder_run(corpus, config, tmp_path / "whole")
    take_step, calls = AutoencoderNetwork.step, []

    def step(self, rate):
        calls.append(rate)
        if len(calls) in (1, 3, 6, 9, 12):
            raise stop
        take_step(self, rate)

    monkeypatch.setattr(AutoencoderNetwork, "step", step)
    out = tmp_path / "run"
    for _ in range(5):
        with pytest.raises(stop):
            make_autoencoder_run(corpus, config, out, checkpoint_seconds=0)
    more = dataclasses.replace(config, memory="1GB")
    make_autoencoder_run(corpus, more, out, checkpoint_seconds=0)

    assert len(calls) == 9 + 5  # no step was taken twice
    assert (out / "vectors.npy").read_bytes() == (whole / "vectors.npy").read_bytes()
    assert not (out / "checkpoints").exists()
    mine, theirs = ([without_seconds(line) for line in read_metrics(run / "metrics.jsonl")]
                    for run in (out, whole))  # fmt: skip
    assert mine == theirs
    assert [line["epoch"] for line in mine] == [1, 2, 3, 3]


def without_seconds(line):
    """Return a line of metrics without its time."""
    return {name: value for name, value in line.items() if name != "seconds"}


def test_a_larger_beta_keeps_the_codes_nearer_to_the_prior(low_rank, tmp_path):
    divergences = []
    for beta in (0.1, 10.0):
        config = options(kind=f"variational:{beta}", dim=RANK, hidden=20, epochs=20)
        train_codes(low_rank, config, "cpu", tmp_path)
        divergences.append(read_metrics(tmp_path / "metrics.jsonl")[-1]["divergence"])
    assert divergences[0] > 2 * divergences[1] > 0


def test_a_run_has_the_codes_of_the_words_and_zeros_for_a_word_alone(corpus, tmp_path):
    out = make_autoencoder_run(corpus, options(kind="hidden", rows="log"), tmp_path / "run")
    vectors = firth.load_vectors(out)
    assert vectors.matrix.shape == (151, 8)
    zero = [
        word for word, row in zip(vectors.vocabulary, vectors.matrix, strict=True) if not row.any()
    ]
    assert zero == ["alone"]
    assert vectors.counts.sum() == corpus.training_tokens
    config = json.loads((out / "config.json").read_text())
    assert [config[name] for name in ("method", "rows", "hidden")] == ["autoencoder", "log", 100]


def test_words_of_one_theme_are_nearer_than_words_of_two(corpus, tmp_path):
    vectors = firth.train_autoencoder(corpus, options(epochs=20))
    assert vectors.similarity("w1x", "w2x") > 0.5 > vectors.similarity("w1x", "w70x")


@pytest.mark.parametrize(
    "kind",
    ["deep", "hidden:2", "denoising:1", "denoising:0", "denoising:much", "variational:-1",
     "variational:nan", "variational:"],
)  # fmt: skip
def test_kinds_that_are_none_are_refused(kind):
    with pytest.raises(SettingError, match=f"^`kind={kind}`: pass one of linear, hidden"):
        AutoencoderConfig(kind=kind)
    with pytest.raises(SettingError, match="no hidden layer with `kind=linear`"):
        AutoencoderConfig(kind="linear", hidden=9)


def test_a_diverging_training_ends_with_one_line_and_is_not_resumed(corpus, tmp_path):
    config = options(kind="linear", learning_rate=1e20)
    with pytest.raises(
        FirthError, match=r"diverged in epoch 1: the loss is \S+; pass `learning_ra"
    ):
        make_autoencoder_run(corpus, config, tmp_path / "run", checkpoint_seconds=0)
    make_autoencoder_run(corpus, options(kind="linear"), tmp_path / "run")


def test_a_network_that_is_worse_than_zeros_is_reported(corpus, tmp_path):
    for rate, expected in ((10.0, True), (0.1, False)):
        recorder = Recorder()
        with reporting_to(recorder):
            config = options(kind="linear", learning_rate=rate)
            make_autoencoder_run(corpus, config, tmp_path / f"run-{rate}")
        assert any("worse than zeros" in text for text in recorder.notes) == expected
    assert Losses(error=-1e-9, divergence=0.0, squares=1.0).unexplained == 0  # by rounding


def test_a_divergence_of_the_finished_network_is_refused(low_rank, tmp_path, monkeypatch):
    encode = AutoencoderNetwork.encode

    def diverged(self, rows):
        codes, losses = encode(self, rows)
        return codes, dataclasses.replace(losses, divergence=np.inf)

    monkeypatch.setattr(AutoencoderNetwork, "encode", diverged)
    with pytest.raises(FirthError, match="training diverged in epoch 3"):
        config = options(kind="variational", dim=RANK).resolved()
        train_codes(low_rank, config, "cpu", tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\nb\na\n", "no two of the 2 words occur in the same paragraph"),
        ("a a\na a a\n", "only one word occurs"),
    ],
    ids=["no pairs", "one word"],
)
def test_a_corpus_without_an_entry_is_refused(tmp_path, text, message):
    with pytest.raises(FirthError, match=message):
        make_autoencoder_run(SmallCorpus(text), options(dim=1), tmp_path / "run")
    assert not (tmp_path / "run").exists()


def test_the_command_prints_the_reconstruction_and_curves_take_the_method(corpus, tmp_path):
    words = ("--dim", 8, "--epochs", 1, "--min-count", 1, "--threads", 1)
    out = tmp_path / "run"
    made = output("train-autoencoder", corpus.path, "--out", out, *words, "--kind", "variational")
    last = read_metrics(out / "metrics.jsonl")[-1]
    assert made.splitlines()[0] == (
        f"{out}: 151 words, 8 dimensions, unexplained {last['unexplained']:.4f}, "
        f"KL {last['divergence']:.2f} nats per word"
    )
    (tmp_path / "pairs.tsv").write_text("w1x\tw4x\t9\nw4x\tw13x\t8\nw1x\tw92x\t2\nw5x\tw60x\t1\n")
    curve = firth.learning_curve(
        corpus, tmp_path / "curve", firth.CurveConfig(methods="autoencoder", sizes="2000"),
        firth.CompareConfig(sets=(f"similarity={tmp_path / 'pairs.tsv'}",), replicates=100),
    )  # fmt: skip
    assert curve.failures == []
    assert "autoencoder" in {row["method"] for row in curve.document["results"]}
