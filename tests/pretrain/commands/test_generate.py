"""The generate command: exact output and exact errors, and commands that need masks."""

import json

import pytest

from firth.pretrain.inference import causal_encoder
from firth.pretrain.inference.sampling import GenerateConfig
from tests.calls import command, refusal
from tests.pretrain.small_run import small_encoder, small_run

ENCODER = small_encoder(causal=True)


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run of train-mlm by the causal objective."""
    return str(small_run(tmp_path_factory.mktemp("generate"), causal=True))


@pytest.fixture(scope="module")
def masked(tmp_path_factory):
    """A run by the masked objective."""
    return str(small_run(tmp_path_factory.mktemp("masked")))


def test_the_text_is_printed(run):
    expected = ENCODER.generate("the king", GenerateConfig(length=4, temperature=0.5, seed=2))
    options = ["--length", "4", "--temperature", "0.5", "--seed", "2", "--device", "cpu"]
    result = command("generate", run, "the king", *options)
    assert (result.exit_code, result.stdout, result.stderr) == (0, f"{expected}\n", "")


def test_json_has_the_pieces_and_why_the_text_ended(run):
    expected = ENCODER.generate("", GenerateConfig(top_p=0.4))
    result = command("generate", run, "", "--top-p", "0.4", "--json", "--device", "cpu")
    found = json.loads(result.stdout)
    assert found["pieces"] == [
        {"piece": piece, "probability": pytest.approx(p, rel=1e-5)} for piece, p in expected.pieces
    ]
    assert (found["prompt"], found["text"], found["end"]) == ("", str(expected), expected.end)


def test_the_end_of_the_row_is_said(run):
    result = command("generate", run, "", "--temperature", "0", "--device", "cpu")
    assert result.stderr == "ended after 14 pieces: the longest row of the run is full\n"


def test_an_end_before_the_first_piece_is_said(run, monkeypatch):
    monkeypatch.setattr(causal_encoder, "continue_row", lambda *_: ([], True))
    result = command("generate", run, "the", "--device", "cpu")
    assert (result.stdout, result.stderr) == (
        "the\n",
        "nothing was added: the model ends the text here; another --seed may continue it\n",
    )


@pytest.mark.parametrize(
    ("line", "error"),
    [
        ("generate RUN a --top-p 0", "--top-p must be above 0, got 0.0"),
        ("generate RUN [MASK]saw", "RUN: predicts the next piece and reads no [MASK]"),
        ("fill-mask RUN [MASK]saw", "has no masks; pass a run with --objective masked"),
        ("attention RUN [MASK]saw", "RUN: predicts the next piece and reads no [MASK]"),
        ("why RUN king queen", "train-mlm with --objective masked, or of firth train-skipgram"),
        ("train-mlm TEXT --dry-run --objective causal --masking word",
         "--masking word: nothing is masked with --objective causal"),
        ("generate MASKED king", "MASKED: does not predict the next piece; pass a run"),
    ],
)  # fmt: skip
def test_what_does_not_fit_is_refused_in_one_line(run, masked, line, error):
    line, error = (text.replace("RUN", run).replace("MASKED", masked) for text in (line, error))
    assert error in refusal(*line.split())
