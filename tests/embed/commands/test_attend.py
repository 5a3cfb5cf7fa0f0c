"""The attend command: word weights as a table and as JSON, and refusals."""

import json
from dataclasses import replace
from functools import partial

import numpy as np
import pytest

from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.scoring.open_runs import open_runs
from tests.calls import command, output

pytestmark = pytest.mark.usefixtures("brief_attention")
WORDS = ["good", "bad", *(f"fill{i}" for i in range(10))]


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """A file of vectors that separate good from bad."""
    rng = np.random.default_rng(1)
    matrix = rng.normal(size=(len(WORDS), 6))
    matrix[0], matrix[1] = [3, 3, 0, 0, 0, 0], [-3, 3, 0, 0, 0, 0]
    path = tmp_path_factory.mktemp("run") / "vectors.vec"
    rows = (f"{w} {' '.join(map(str, v))}" for w, v in zip(WORDS, matrix.round(3), strict=True))
    path.write_text("\n".join([f"{len(WORDS)} 6", *rows]) + "\n")
    return path


@pytest.fixture(scope="module")
def labeled(tmp_path_factory):
    """200 sentences of five fillers and good or bad."""
    rng, lines = np.random.default_rng(2), []
    for number in range(200):
        words = rng.choice(WORDS[2:], size=5).tolist()
        words.insert(2, ("bad", "good")[number % 2])
        lines.append(f"{('no', 'yes')[number % 2]}\t{' '.join(words)}\n")
    path = tmp_path_factory.mktemp("set") / "train.tsv"
    path.write_text("".join(lines))
    return path


attend = partial(command, "attend")


def test_json_has_weights_that_sum_to_one_and_the_predicted_label(run, labeled):
    result = attend(run, "--on", labeled, "--json", "fill1 good fill2 xyz !", "fill1 bad fill2")

    assert result.exit_code == 0, result.output
    first, second = json.loads(result.stdout)
    assert list(first) == ["sentence", "label", "probabilities", "sentences", "words"]
    assert first["sentences"] == pytest.approx([1], abs=1e-5)
    assert {word["sentence"] for word in first["words"]} == {0}
    assert (first["label"], second["label"]) == ("yes", "no")
    assert sum(word["weight"] for word in first["words"]) == pytest.approx(1, abs=1e-5)
    assert max(first["words"], key=lambda word: word["weight"])["word"] == "good"
    assert [word["known"] for word in first["words"]] == [True, True, True, False, True]
    assert sum(first["probabilities"].values()) == pytest.approx(1, abs=1e-5)
    assert first["probabilities"]["yes"] > 0.5


def test_a_table_shows_each_word_with_its_bar(run, labeled):
    result = attend(run, "--on", labeled, "fill1 good xyz")

    lines = [line.split() for line in result.stdout.splitlines()]
    [good] = [line for line in lines if line[:1] == ["good"]]
    assert good[2] == "█" * 24
    [unknown] = [line for line in lines if line[:1] == ["xyz"]]
    assert unknown[-1] == "unknown"
    assert any(line[:1] == ["yes:"] and line[-1] == "0.333)" for line in lines)
    assert f"learning 2 labels from 180 sentences of {labeled}\n" in result.stderr
    assert "on the development part\n" in result.stderr


@pytest.fixture(scope="module")
def documents(labeled, tmp_path_factory):
    """The same with a second sentence of fillers alone."""
    path = tmp_path_factory.mktemp("set") / "documents.tsv"
    path.write_text(labeled.read_text().replace("\n", ". Fill3 fill4.\n"))
    return path


def test_texts_of_several_sentences_have_weights_of_sentences(run, documents):
    text = "fill1 fill2 fill3. Fill1 good xyz."
    [shown] = json.loads(output("attend", run, "--on", documents, "--json", text))
    table = output("attend", run, "--on", documents, text)

    assert shown["label"] == "yes"
    of_sentences = [[w["weight"] for w in shown["words"] if w["sentence"] == s] for s in (0, 1)]
    assert [sum(weights) for weights in of_sentences] == pytest.approx(shown["sentences"], abs=1e-6)
    assert sum(shown["sentences"]) == pytest.approx(1, abs=1e-6)
    assert shown["sentences"][1] > 0.6
    lines = [line.split() for line in table.splitlines()]
    assert ["sentence", "2,", "weight", f"{shown['sentences'][1]:.3f}"] in lines
    [good] = [line for line in lines if line[:1] == ["good"]]
    share = max(of_sentences[1]) / shown["sentences"][1]
    assert good[1:] == [f"{share:.3f}", "█" * 24]
    assert lines[-2][-1] == "0.500)"


@pytest.mark.slow
def test_sentences_from_standard_input_give_the_same_output_by_the_seed(run, labeled):
    both = f"{labeled},{labeled}"
    once, again = (
        attend(run, "--on", both, "--json", "-", input="good fill1\n\nbad\n") for _ in range(2)
    )
    assert [each["sentence"] for each in json.loads(once.stdout)] == ["good fill1", "bad"]
    assert once.stdout == again.stdout
    note = "200 sentences of the development part are also in the training part"
    assert f"train.tsv: {note}\n" in once.stderr
    assert "test part" not in once.stderr
    [other] = json.loads(output("attend", run, "--on", both, "--seed", 2, "--json", "good fill1"))
    assert other["words"] != json.loads(once.stdout)[0]["words"]


def test_files_in_another_encoding_are_read_with_the_option_that_the_error_names(
    run, labeled, tmp_path
):
    file = tmp_path / "train.tsv"
    file.write_bytes(labeled.read_bytes().replace(b"fill1", b"caf\xe9"))
    assert "--encoding latin-1" in attend(run, "--on", file, "good").stderr
    found = json.loads(
        output("attend", run, "--on", file, "--encoding", "latin-1", "--json", "good")
    )
    assert found[0]["label"] == "yes"


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["--on", "a,b,c", "x"], ("Error: --on 'a,b,c': expected 1 or 2 files; pass TRAIN or "
         "TRAIN,DEV")),
        (["--on", "{labeled}", "  "], "Error: '  ' is not a sentence; pass words in UTF-8"),
        (["--on", "{labeled}", "-"], "Error: no sentence on standard input"),
        (["--on", "{run}.none", "x"], "Error: {run}.none: no such file"),
        (["--on", "{labeled}", "x", "-"], "Error: - cannot be combined with sentences"),
        (["x"], "Error: Missing option '--on'."),
    ],
)  # fmt: skip
def test_invalid_requests_print_one_line(run, labeled, arguments, message):
    places = {"run": run, "labeled": labeled}
    result = attend(run, *(argument.format(**places) for argument in arguments))
    assert result.exit_code != 0
    assert result.stderr.splitlines()[-1] == message.format(**places)


class Windows:
    """An encoder with windows of three words that drops tildes."""

    n_layers = 0

    def words(self, text):
        return [] if text == "~" else [text]

    def encode(self, sentences, layers):
        return [
            np.array([[w == "good", w == "bad", 1] for w in words], np.float32).reshape(-1, 3)
            for words in sentences
        ]

    def n_windows(self, sentences):
        return np.array([-(-len(words) // 3) for words in sentences])


@pytest.fixture
def encoder(monkeypatch):
    """The same run with an encoder."""

    def opened(runs):
        found = open_runs(runs)
        vectors = {name: WithEncoder(v, Windows) for name, v in found.vectors.items()}
        return replace(found, vectors=vectors)

    monkeypatch.setattr("firth.embed.compare.pooling_weights.open_runs", opened)


def test_sentences_read_in_windows_are_noted(run, labeled, encoder):
    result = attend(run, "--on", labeled, "good", "fill1 fill2 fill3 fill4")

    assert result.exit_code == 0, result.output
    assert (
        "201 of 202 sentences are longer than the encoder's input and are read in overlapping "
        "windows\n"
    ) in result.stderr


@pytest.mark.slow
def test_a_sentence_without_words_is_reported(run, labeled, encoder):
    shown = attend(run, "--on", labeled, "~ ~")
    as_json = attend(run, "--on", labeled, "--json", "~ ~")

    assert shown.stdout.startswith("~ ~: no words\n\n")
    assert "weight" not in shown.stdout
    assert json.loads(as_json.stdout)[0]["words"] == []
