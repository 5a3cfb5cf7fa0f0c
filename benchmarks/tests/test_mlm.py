"""The benchmark of masked-LM pretraining runs completely and its checks hold."""

import json
import os
import subprocess
import sys

import pytest

from firth.pretrain.config import MlmConfig
from firth.pretrain.train import make_mlm_run
from tests.pretrain.small_training import SMALL, corpus_of

BENCH = "benchmarks"


@pytest.mark.process
def test_every_part_runs_and_writes_its_numbers(root, tmp_path):
    pytest.importorskip("transformers")
    out = tmp_path / "mlm.json"
    done = subprocess.run(
        [sys.executable, f"{BENCH}/bench_mlm.py", "--device", "cpu", "--quick", "--threads", "1",
         "--json", out],
        capture_output=True, text=True, cwd=root, check=False,
        env={**os.environ, "PYTHONWARNINGS": "error::UserWarning"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    found = json.loads(out.read_text())
    assert found["git"] is None or found["git"]["commit"]
    assert found["packages"]["transformers"]

    assert all(check["holds"] for check in found["checks"].values())
    expected = ["gradient, post, bfloat16", "gradient, pre, bfloat16", "weights after a resume",
                "loss of Hugging Face's, post", "loss of Hugging Face's, pre"]  # fmt: skip
    assert set(expected) <= found["checks"].keys()

    steps = found["steps"]["32x2"]
    names = ["firth", "firth, pre-norm", "huggingface", "huggingface, pre-norm"]
    assert list(steps["contestants"]) == names
    for one in steps["contestants"].values():
        slowest, fastest = one["tokens_per_second_spread"]
        assert 0 < slowest <= one["tokens_per_second"] <= fastest
    ours, theirs = (steps["contestants"][name] for name in ("firth", "huggingface"))
    ratio = ours["tokens_per_second"] / theirs["tokens_per_second"]
    assert steps["ratios"]["firth : huggingface"] == pytest.approx(ratio)
    assert steps["ratios"].keys() == {
        "firth : huggingface", "firth, pre-norm : huggingface, pre-norm",
    }  # fmt: skip
    pre, stock = (steps["contestants"][name]["parameters"] for name in names[1::2])
    assert pre == stock
    assert ours["parameters"] == theirs["parameters"] - 2 * 32  # two rows of token types
    assert ours["mfu"] > 0  # above 1 if the peak was measured while others computed
    assert 0 < ours["data_share"] < 1

    spans = found["spans"]
    assert spans["largest_difference"] < 1e-4
    assert spans["seconds_by_length"].keys() == {"64", "128"}
    assert spans["exponent_in_the_span"].keys() == {"blocks", "dense mask"}

    quality = found["quality"]
    assert quality["training"]["held_out_loss"] > 0
    results = {(each["dataset"], each["run"]): each["score"] for each in quality["results"]}
    assert results["pairs", "run"] in (0, 0.5, 1)
    for run in ("run", "run start", "random"):
        assert -1 <= results["synthetic-similarity", run] <= 1


@pytest.fixture
def quality(root, monkeypatch):
    """Import benchmarks/mlm_quality.py as a module."""
    monkeypatch.syspath_prepend(str(root / BENCH))
    import mlm_quality

    return mlm_quality


def test_a_curve_has_the_minutes_of_its_steps(quality, tmp_path):
    score = {
        "tokens": 8, "held_out_loss": 5.0, "held_out_perplexity": 148.4, "held_out_accuracy": 0.2,
        "held_out_targets": 90, "unigram_loss": 7.0, "unigram_accuracy": 0.05,
    }  # fmt: skip
    lines = [{"step": 0, **score}, {"step": 10, "loss": 4.0}, {"step": 15, **score},
             {"step": 40, **score}]  # fmt: skip
    (tmp_path / "metrics.jsonl").write_text("".join(json.dumps(line) + "\n" for line in lines))
    (tmp_path / "config.json").write_text('{"preset": "mini"}')
    found = quality.curve(tmp_path, 20.0)
    assert found["options"] == {"preset": "mini"}
    measured = [(each["minute"], each["step"]) for each in found["held_out"]]
    assert measured == [(0, 0), (7.5, 15), (20, 40)]


def test_the_score_on_the_text_of_its_own_corpus_is_the_training_s(quality, tmp_path):
    corpus = corpus_of(tmp_path)
    run = make_mlm_run(corpus, MlmConfig(**{**SMALL, "steps": 2}), tmp_path / "run")
    expected = quality.last_scores(run)
    found = quality.held_out_score(run, corpus.path, "cpu")
    assert found["held_out_loss"] == pytest.approx(expected["held_out_loss"], rel=1e-6)
    error = "held_out_standard_error"
    assert found[error] == pytest.approx(expected[error], rel=1e-6)
    assert found["held_out_accuracy"] == expected["held_out_accuracy"]
    assert found["held_out_targets"] == expected["held_out_targets"]
