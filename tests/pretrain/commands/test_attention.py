"""The attention command: weights as JSON, as a table and as a picture."""

import json
import re
import sys
from xml.etree import ElementTree

import numpy as np
import pytest
import torch
from click.testing import CliRunner

from firth import cli
from firth.corpora.common.errors import ArtifactError
from firth.corpora.tokenizer.json_format import open_pieces
from firth.corpora.tokenizer.pieces import CLS, SEP
from firth.pretrain.inference.attention_picture import _lay_out, draw_attention
from firth.pretrain.inference.attention_weights import SentenceAttention
from firth.pretrain.model.weights import load_model
from tests.pretrain.random_run import random_run

TOO_LONG = "but the encoder reads at most 22; pass a shorter one"
SENTENCE = "The naïve cat ate $5 cats 東京"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """An encoder of 3 layers and 4 heads."""
    torch.set_num_threads(1)
    return random_run(tmp_path_factory.mktemp("attention") / "run")


def attention(*arguments):
    """Run ``firth attention``."""
    return CliRunner().invoke(cli.main, ["attention", *map(str, arguments)])


def weights_of(answer):
    """Return the weights in the JSON output as one array (L, H, T, T)."""
    return np.array([[head["weights"] for head in one["heads"]] for one in answer["layers"]])


def test_json_holds_the_encoders_weights_by_layer_and_head(run):
    result = attention(run, SENTENCE, "--json")
    assert (result.exit_code, result.stderr) == (0, "")
    answer = json.loads(result.stdout)
    pieces = open_pieces(run / "tokenizer.json")
    words = ["the", "naïve", "cat", "ate", "$", "5", "cats", "東", "京"]
    ids = [CLS, *pieces.split(words)[0].tolist(), SEP]
    assert answer["text"] == SENTENCE
    assert answer["pieces"] == [pieces.names[piece] for piece in ids]
    assert [one["layer"] for one in answer["layers"]] == [0, 1, 2]
    assert [head["head"] for head in answer["layers"][1]["heads"]] == [0, 1, 2, 3]
    row = torch.tensor([ids])
    places = torch.arange(len(ids))[None]
    with torch.no_grad():
        own = load_model(run).attentions(row, places, torch.zeros_like(row))[:, 0].numpy()
    np.testing.assert_allclose(weights_of(answer), own, atol=1e-6)
    np.testing.assert_allclose(weights_of(answer).sum(-1), 1, atol=2e-5)


def test_one_layer_and_one_head_are_those_of_the_whole(run):
    whole = weights_of(json.loads(attention(run, SENTENCE, "--json").stdout))
    result = attention(run, SENTENCE, "--layer", 2, "--head", 1, "--json")
    answer = json.loads(result.stdout)
    assert [(one["layer"], one["heads"][0]["head"]) for one in answer["layers"]] == [(2, 1)]
    assert np.array_equal(weights_of(answer)[0, 0], whole[2, 1])


def test_the_table_names_what_each_piece_attends_to_most(run):
    answer = json.loads(attention(run, "the cat ate", "--json").stdout)
    mean = weights_of(answer).mean(1)

    result = attention(run, "the cat ate")

    assert (result.exit_code, result.stderr) == (0, "")
    heading, *lines = [line.split() for line in result.stdout.splitlines() if line.strip(" ─")]
    assert heading == ["piece", "layer", "0", "layer", "1", "layer", "2"]
    assert [line[0] for line in lines] == answer["pieces"]
    for place, line in enumerate(lines):
        expected = [answer["pieces"][best] for best in mean[:, place].argmax(-1)]
        assert line[1::2] == expected
        shown = [f"{weight:.2f}" for weight in mean[:, place].max(-1)]
        assert line[2::2] == shown


def test_hand_worked_weights_make_the_table_and_the_json():
    weights = np.zeros((1, 2, 2, 2), np.float32)
    weights[0, 0] = [[0.9, 0.1], [0.5, 0.5]]
    weights[0, 1] = [[0.3, 0.7], [0.25, 0.75]]
    found = SentenceAttention("x", ("a", "b"), (3,), (0, 1), weights)
    assert found.strongest() == [[("a", pytest.approx(0.6))], [("b", pytest.approx(0.625))]]
    assert found.to_json() == {
        "text": "x",
        "pieces": ["a", "b"],
        "layers": [
            {
                "layer": 3,
                "heads": [
                    {"head": 0, "weights": [[0.9, 0.1], [0.5, 0.5]]},
                    {"head": 1, "weights": [[0.3, 0.7], [0.25, 0.75]]},
                ],
            }
        ],
    }


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["cat " * 23], f"the sentence has 23 pieces, {TOO_LONG}"),
        ([" \t"], "the sentence has no words"),
        (["cat", "--layer", "3"], "--layer 3: the encoder has layers 0 to 2"),
        (["caf\udce9"], r"'caf\udce9' is not UTF-8; pass UTF-8"),
        (["cat", "--head", "-1"], "--head -1: the encoder has heads 0 to 3"),
        (["cat", "--out", "cat.pdf"], "--out cat.pdf: must end in .png or .svg"),
    ],
)
def test_errors_are_one_line(run, arguments, message):
    result = attention(run, *arguments)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {message}\n"


@pytest.mark.parametrize(
    ("mixers", "layer", "given", "remedy"),
    [
        (("attention", "gru", "attention"), 1, ("--layer", 1), "pass --layer 0"),
        (("mean", "mean", "mean"), 0, (), "train with attention"),
    ],
)
def test_layers_without_attention_are_refused(tmp_path, mixers, layer, given, remedy):
    run = random_run(tmp_path / "run", mixers=mixers)
    result = attention(run, "cat", *given)
    assert result.exit_code == 1
    what = f"layer {layer} is --mixer {mixers[layer]}, which has no attention weights"
    assert result.stderr == f"Error: {run}: {what}; {remedy}\n"


def test_the_layers_of_a_mixed_encoder_that_attend_are_shown(tmp_path):
    run = random_run(tmp_path / "run", mixers=("lstm", "attention", "conformer"), conv_width=3)
    for layers, given in (([1], ("--layer", 1)), ([2], ("--layer", 2)), ([1, 2], ())):
        answer = json.loads(attention(run, "cat", *given, "--json").stdout)
        assert [one["layer"] for one in answer["layers"]] == layers
        np.testing.assert_allclose(weights_of(answer).sum(-1), 1.0, atol=1e-4)


def test_the_longest_sentence_that_fits_a_row_is_read(run):
    answer = json.loads(attention(run, "cat " * 22, "--json").stdout)
    assert len(answer["pieces"]) == 24


@pytest.mark.slow
def test_an_existing_picture_is_overwritten_only_by_force(run, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "cat.svg"
    out.write_text("mine")
    result = attention(run, "cat", "--out", out)
    assert result.exit_code == 1
    assert result.stderr == f"Error: {out}: already exists; choose another OUT or pass --force\n"
    assert out.read_text() == "mine"
    assert attention(run, "cat", "--out", out, "--force").exit_code == 0
    assert out.read_text().startswith("<?xml")


def test_an_existing_picture_is_refused_before_the_run_is_read(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "cat.svg"
    out.write_text("mine")
    errors = attention(tmp_path / "none", "cat", "--out", out).stderr
    assert errors == f"Error: {out}: already exists; choose another OUT or pass --force\n"


def test_a_failed_picture_leaves_the_old_one_and_no_other_file(tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")

    def full(*_):
        raise OSError(28, "No space left on device")

    out = tmp_path / "cat.svg"
    out.write_text("mine")
    monkeypatch.setattr("firth.corpora.artifacts.atomic.sync_tree", full)
    weights = np.ones((1, 1, 1, 1), np.float32)
    with pytest.raises(ArtifactError) as problem:
        draw_attention(SentenceAttention("x", ("a",), (0,), (0,), weights), out, force=True)
    assert str(problem.value) == f"{out}: cannot be written: No space left on device"
    assert [path.name for path in tmp_path.iterdir()] == ["cat.svg"]
    assert out.read_text() == "mine"


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("none", "no such run"),
        ("file", "is a file; pass the directory of a run"),
        ("begun", "is unfinished; run its command again to complete it"),
        ("", "has no encoder; pass a run of firth train-mlm"),
    ],
)
def test_a_path_that_is_not_a_run_of_an_encoder_is_refused(name, message, tmp_path):
    (tmp_path / "file").write_text("")
    (tmp_path / "begun.partial").mkdir()
    result = attention(tmp_path / name, "cat")
    assert (result.exit_code, result.stderr) == (1, f"Error: {tmp_path / name}: {message}\n")


def test_without_matplotlib_a_picture_names_the_extra(run, monkeypatch):
    for name in ["matplotlib", *sys.modules]:
        if name.split(".")[0] == "matplotlib":
            monkeypatch.setitem(sys.modules, name, None)
    result = attention(run, "cat", "--out", "cat.svg")
    assert (result.exit_code, result.stderr) == (
        1, "Error: --out: plots need the package matplotlib; pip install 'firth[plots]'\n",
    )  # fmt: skip


@pytest.mark.slow
def test_the_svg_holds_every_square_and_every_piece_as_text(run, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "cat.svg"
    result = attention(run, SENTENCE, "--out", out)
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{out}: 3 layers x 4 heads\n"
    root = ElementTree.parse(out).getroot()
    texts = [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]
    pieces = json.loads(attention(run, SENTENCE, "--json").stdout)["pieces"]
    for piece in set(pieces):  # at the left of 3 layers, below 4 heads; $ begins no formula
        assert texts.count(piece) == 7 * pieces.count(piece), piece
    titles = [text for text in texts if re.match("(layer|head) ", text)]
    assert sorted(titles) == [*(f"head {n}" for n in range(4)), *(f"layer {n}" for n in range(3))]
    images = list(root.iter("{http://www.w3.org/2000/svg}image"))
    assert len(images) >= 12


@pytest.mark.slow
def test_the_same_weights_give_the_same_svg(run, tmp_path):
    pytest.importorskip("matplotlib")
    for name in ("a.svg", "b.svg"):
        assert attention(run, SENTENCE, "--layer", 1, "--out", tmp_path / name).exit_code == 0
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_png_shows_one_weight_of_1_as_one_dark_square(tmp_path):
    image = pytest.importorskip("matplotlib.image")
    weights = np.zeros((1, 1, 3, 3), np.float32)
    weights[0, 0, 0, 2] = 1.0
    shown = SentenceAttention("a b c", ("a", "b", "c"), (0,), (0,), weights)

    draw_attention(shown, tmp_path / "one.png")

    picture = image.imread(tmp_path / "one.png")
    blue = (picture[..., 2] > 0.35) & (picture[..., 0] < 0.1)  # the darkest of the scale
    rows, columns = np.nonzero(blue[:, : int(picture.shape[1] * 0.7)])  # without the scale itself
    side = 1.2 * 100 / 3  # pixels of a weight
    assert len(rows) == pytest.approx(side**2, rel=0.1)
    assert np.ptp(rows) == pytest.approx(side, abs=2)
    assert np.ptp(columns) == pytest.approx(side, abs=2)


def test_a_png_reports_characters_without_a_font(tmp_path, capsys):
    pytest.importorskip("matplotlib")
    weights = np.eye(2, dtype=np.float32)[None, None]
    shown = SentenceAttention("x", ("cat", "\U0001366d"), (0,), (0,), weights)

    draw_attention(shown, tmp_path / "one.png")

    assert capsys.readouterr().err == (
        "no installed font has U+1366D; use .svg, which leaves fonts to the viewer\n"
    )


@pytest.mark.slow
def test_many_squares_do_not_make_a_picture_of_gigabytes():
    pytest.importorskip("matplotlib")
    weights = np.full((1, 12, 120, 120), 1 / 120, np.float32)
    names = tuple("abcdefghij" * 12)
    figure = _lay_out(SentenceAttention("x", names, (0,), tuple(range(12)), weights))
    assert max(figure.get_size_inches()) * figure.dpi < 9500  # pixels


def test_control_characters_leave_an_svg_valid(tmp_path):
    pytest.importorskip("matplotlib")
    weights = np.eye(2, dtype=np.float32)[None, None]
    shown = SentenceAttention("x", ("\x1b[1m", "\ufffe"), (0,), (0,), weights)

    draw_attention(shown, tmp_path / "one.svg")

    root = ElementTree.parse(tmp_path / "one.svg").getroot()
    texts = [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]
    assert texts.count("\ufffd[1m") == texts.count("\ufffd") == 2
