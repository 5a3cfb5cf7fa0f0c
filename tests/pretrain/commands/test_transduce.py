"""The transduce command on a small model of pairs that was trained, and what it refuses."""

import itertools
import json
import math
import re
from functools import cache

import numpy as np
import pytest
import torch

import firth
from firth.corpora.common.errors import SettingError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.text.segment import TextSettings
from firth.corpora.tokenizer.pieces import SEP
from firth.pretrain.config import MlmConfig
from firth.pretrain.inference.attention_picture import draw_attention
from firth.pretrain.inference.pair_scores import edit_distance
from firth.pretrain.inference.transducer import Transducer
from firth.pretrain.train import make_mlm_run
from tests.calls import command, refusal
from tests.pretrain.letters import LETTERS
from tests.pretrain.small_run import small_run

NOUNS = ["".join(letters) for letters in itertools.product("abcd", repeat=3)]
PAIRS = [
    f"{noun}\t{noun}{end}\tN;{tag}" for noun in NOUNS for end, tag in (("", "SG"), ("en", "PL"))
]
SMALL = {"preset": "1/32/2", "sequence_length": 32, "batch": 16, "device": "cpu", "threads": 1}
FAST = {"dtype": "float32", "compile": "off"}


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A run that adds an ending for one of two tags."""
    folder = tmp_path_factory.mktemp("transduce")
    corpus = build_corpus(PAIRS, folder / "corpus", words=TextSettings(pattern="pairs"))
    config = MlmConfig(
        objective="transduce:dropout=0", steps=80, learning_rate=0.01, **SMALL, **FAST
    )
    return str(make_mlm_run(corpus, config, folder / "run"))


@pytest.fixture
def test_file(tmp_path):
    (tmp_path / "test.tsv").write_text("\n".join(PAIRS))
    return tmp_path / "test.tsv"


def lines_of(text):
    return [line.split("\t") for line in text.splitlines()]


@pytest.mark.slow
def test_it_learns_the_ending(run, test_file):
    result = command("transduce", run, test_file, "--test", "--json")
    found = json.loads(result.stdout)
    assert (result.exit_code, found["pairs"]) == (0, len(PAIRS))
    answers, sources = (found["scores"][name] for name in ("answers", "sources as they are"))
    # half of the targets are their sources, the others have two units more
    assert (sources["exact"]["mean"], sources["distance"]["mean"]) == (0.5, 1.0)
    assert sources["exact"]["low"] < 0.5 < sources["exact"]["high"]
    assert answers["exact"]["low"] > 0.9
    assert answers["distance"]["mean"] < 0.2
    table = command("transduce", run, test_file, "--test", "--beam", 1).stdout
    assert table.split()[:6] == ["128", "pairs", "exact", "match", "edit", "distance"]


@pytest.mark.slow
def test_answers_are_printed_the_likeliest_first_and_as_json(run):
    text = "abc\tN;PL\n\ndad\tN;SG\n"
    result = command("transduce", run, "--best", 3, input=text)
    rows = lines_of(result.stdout)
    assert [row[:2] for row in rows] == [["abc", "N;PL"]] * 3 + [["dad", "N;SG"]] * 3
    assert (rows[0][2], rows[3][2]) == ("abcen", "dad")
    assert [float(row[3]) for row in rows[:3]] == sorted(
        (float(row[3]) for row in rows[:3]), reverse=True
    )
    assert math.exp(float(rows[0][3])) > 0.5
    as_json = json.loads(command("transduce", run, "--json", input=text).stdout)
    assert as_json[0]["source"] == "abc\tN;PL"
    [answer] = as_json[0]["answers"]
    assert answer == {
        "target": "abcen",
        "log_probability": pytest.approx(float(rows[0][3]), abs=1e-3),
        "ended": True,
    }
    [[same]] = firth.open_encoder(run, "cpu").transduce(["abc\tN;PL"])
    assert same._asdict() == {**answer, "log_probability": pytest.approx(same.log_probability)}


@pytest.mark.slow
def test_unknown_units_are_named(run):
    result = command("transduce", run, input="axb\tN;DU\n")
    assert "no piece for them: x +DU" in result.stderr
    assert result.exit_code == 0


@pytest.mark.slow
def test_the_attention_of_a_target_is_that_on_its_source(run, tmp_path):
    found = firth.attend(run, "dab\tN;PL")
    assert found.pieces == (*"daben", "[SEP]")
    assert found.keys == ("[CLS]", *"dab", "⇥", "[TARGET]", "⇥", "+N", "+PL", "[SEP]")
    assert found.weights.shape == (1, 2, 6, 10)
    assert np.allclose(found.weights.sum(-1), 1.0, atol=1e-5)
    # some head reads each letter to write it
    assert found.weights[0].max(0)[:3, 1:4].diagonal().min() > 0.25
    assert found.to_json()["read"] == list(found.keys)
    draw_attention(found, tmp_path / "a.svg")
    assert "TARGET" in (tmp_path / "a.svg").read_text()


@pytest.mark.slow
@pytest.mark.parametrize(
    ("text", "options", "problem"),
    [
        ("\n", [], r"<stdin>: has no sources; pass one a line"),
        ("a\tb\tc\n", [], r"<stdin>:1: 'a\\tb\\tc' is no source"),
        ("ab\na⇥b\n", [], r"<stdin>:2: 'a⇥b' is no source"),
        ("a" * 50 + "\tb", ["--test"], r"<stdin>:1: the sentence has 53 pieces"),
        ("ab\n" + "a" * 50, [], r"<stdin>:2: the sentence has 53 pieces, but the encoder reads"),
        ("a", ["--best", 7], r"--best 7: a --beam of 5 has from 1 to 5 targets"),
        ("ab\n", ["--test"], r"<stdin>:1: no source, target and perhaps tags, divided by tabs"),
        ("", ["--test"], r"<stdin>: has no pairs; pass lines of a source, a tab and a target"),
    ],
)
def test_bad_input_is_refused_in_one_line(run, text, options, problem):
    assert re.match(problem, refusal("transduce", run, *options, input=text))


@pytest.mark.slow
def test_other_runs_and_numbers_are_refused(run, tmp_path):
    masked = small_run(tmp_path)
    assert "predicts no targets of pairs; pass a run with" in refusal("transduce", masked)
    assert "predicts no masked pieces" in refusal("fill-mask", run, "a[MASK]")
    encoder = firth.open_encoder(run)
    with pytest.raises(SettingError, match="predicts targets of pairs and no other words"):
        encoder.predict_next([["a"]], ["b"])
    untagged = Transducer(encoder.model, LETTERS, encoder.text)
    with pytest.raises(SettingError, match="has tags, and the pairs of the run had none"):
        untagged.row("a\tN")


@pytest.mark.slow
def test_an_answer_that_does_not_end_is_cut_and_counted(run):
    encoder = firth.open_encoder(run)
    with torch.no_grad():
        encoder.model.core.bias[SEP] = -1e4
    [[answer]] = encoder.transduce(["ab\tN;PL"], beam=1)
    assert (len(answer.target), answer.ended) == (SMALL["sequence_length"] - 2, False)


@pytest.mark.slow
def test_one_pair_has_no_interval(run):
    result = command("transduce", run, "--test", "--json", input="ab\tab\tN;SG\n")
    exact = json.loads(result.stdout)["scores"]["sources as they are"]["exact"]
    assert exact == {"mean": 1.0, "low": None, "high": None}
    assert " 1.000 " in command("transduce", run, "--test", input="ab\tab\tN;SG\n").stdout


@pytest.mark.parametrize(
    ("a", "b"), [("kitten", "sitting"), ("", "ab"), ("abc", "abc"), ("ab", "ba")]
)
def test_edit_distances_follow_the_recursion(a, b):
    @cache
    def distance(i, j):
        if not i or not j:
            return i + j
        return min(
            distance(i - 1, j) + 1,
            distance(i, j - 1) + 1,
            distance(i - 1, j - 1) + (a[i - 1] != b[j - 1]),
        )

    assert edit_distance(a, b) == distance(len(a), len(b))
