"""The attention command: weights as JSON, as a table and as a picture."""

import json
import re
from xml.etree import ElementTree

import numpy as np
import pytest
import torch

from firth.corpora.tokenizer.json_format import open_pieces
from firth.corpora.tokenizer.pieces import CLS, SEP
from firth.pretrain.data.batches import Rows
from firth.pretrain.inference.attention_picture import _lay_out, draw_attention
from firth.pretrain.inference.attention_weights import SentenceAttention
from firth.pretrain.model.weights import load_model
from tests.calls import command, output, refusal
from tests.pretrain.small_run import random_run

TOO_LONG = "but the encoder reads at most 22; pass a shorter one"
SENTENCE = "The naïve cat ate $5 cats 東京"


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    """An encoder of 3 layers and 4 heads."""
    torch.set_num_threads(1)
    return random_run(tmp_path_factory.mktemp("attention") / "run")


def asked(*words):
    """Return the JSON of ``firth attention`` and its weights as one array (L, H, T, T)."""
    answer = json.loads(output("attention", *words, "--json"))
    weights = [[head["weights"] for head in one["heads"]] for one in answer["layers"]]
    return answer, np.array(weights)


def test_json_holds_the_encoders_weights_by_layer_and_head(run):
    answer, weights = asked(run, SENTENCE)
    pieces = open_pieces(run / "tokenizer.json")
    words = ["the", "naïve", "cat", "ate", "$", "5", "cats", "東", "京"]
    ids = [CLS, *pieces.split(words)[0].tolist(), SEP]
    assert answer["text"] == SENTENCE
    assert answer["pieces"] == [pieces.names[piece] for piece in ids]
    assert [one["layer"] for one in answer["layers"]] == [0, 1, 2]
    assert [head["head"] for head in answer["layers"][1]["heads"]] == [0, 1, 2, 3]
    with torch.no_grad():
        own = load_model(run).attentions(Rows.whole(torch.tensor([ids])))[:, 0].numpy()
    np.testing.assert_allclose(weights, own, atol=1e-6)
    np.testing.assert_allclose(weights.sum(-1), 1, atol=2e-5)

    answer, part = asked(run, SENTENCE, "--layer", 2, "--head", 1)
    assert [(one["layer"], one["heads"][0]["head"]) for one in answer["layers"]] == [(2, 1)]
    assert np.array_equal(part[0, 0], weights[2, 1])
    assert len(asked(run, "cat " * 22)[0]["pieces"]) == 24  # the longest that fits a row


def test_the_table_names_what_each_piece_attends_to_most(run):
    answer, weights = asked(run, "the cat ate")
    mean = weights.mean(1)
    shown = output("attention", run, "the cat ate")
    heading, *lines = [line.split() for line in shown.splitlines() if line.strip(" ─")]
    assert heading == ["piece", "layer", "0", "layer", "1", "layer", "2"]
    assert [line[0] for line in lines] == answer["pieces"]
    for place, line in enumerate(lines):
        assert line[1::2] == [answer["pieces"][best] for best in mean[:, place].argmax(-1)]
        assert line[2::2] == [f"{weight:.2f}" for weight in mean[:, place].max(-1)]


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
        ([" \t"], "the sentence has no words; remove it"),
        (["cat", "--layer", "3"], "--layer 3: the encoder has layers 0 to 2"),
        (["caf\udce9"], r"'caf\udce9' is not UTF-8; pass UTF-8"),
        (["cat", "--head", "-1"], "--head -1: the encoder has heads 0 to 3"),
        (["cat", "--plot", "cat.pdf"], "--plot cat.pdf: must end in .png or .svg"),
    ],
)
def test_errors_are_one_line(run, arguments, message):
    assert refusal("attention", run, *arguments) == message


@pytest.mark.parametrize(
    ("mixers", "layer", "given", "remedy"),
    [
        (("attention", "gru", "attention"), 1, ("--layer", 1), "pass --layer 0"),
        (("mean", "mean", "mean"), 0, (), "train with attention"),
    ],
)
def test_layers_without_attention_are_refused(tmp_path, mixers, layer, given, remedy):
    run = random_run(tmp_path / "run", mixers=mixers)
    what = f"layer {layer} is --mixer {mixers[layer]}, which has no attention weights"
    assert refusal("attention", run, "cat", *given) == f"{run}: {what}; {remedy}"


def test_the_layers_of_a_mixed_encoder_that_attend_are_shown(tmp_path):
    run = random_run(tmp_path / "run", mixers=("lstm", "attention", "conformer"), conv_width=3)
    for layers, given in (([1], ("--layer", 1)), ([2], ("--layer", 2)), ([1, 2], ())):
        answer, weights = asked(run, "cat", *given)
        assert [one["layer"] for one in answer["layers"]] == layers
        np.testing.assert_allclose(weights.sum(-1), 1.0, atol=1e-4)


def test_an_existing_picture_is_refused_before_the_run_is_read(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "cat.svg"
    out.write_text("mine")
    assert refusal("attention", tmp_path / "none", "cat", "--plot", out) == (
        f"{out}: already exists; choose another OUT or pass --force"
    )


@pytest.mark.slow
def test_the_svg_holds_every_square_and_every_piece_as_text(run, tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "cat.svg"
    out.write_text("old")
    result = command("attention", run, SENTENCE, "--plot", out, "--force")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == f"{out}: 3 layers x 4 heads\n"
    root = ElementTree.parse(out).getroot()
    texts = [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]
    pieces = asked(run, SENTENCE)[0]["pieces"]
    for piece in set(pieces):  # at the left of 3 layers, below 4 heads; $ begins no formula
        assert texts.count(piece) == 7 * pieces.count(piece), piece
    titles = [text for text in texts if re.match("(layer|head) ", text)]
    assert sorted(titles) == [*(f"head {n}" for n in range(4)), *(f"layer {n}" for n in range(3))]
    images = list(root.iter("{http://www.w3.org/2000/svg}image"))
    assert len(images) >= 12


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


@pytest.mark.slow
def test_many_squares_do_not_make_a_picture_of_gigabytes():
    pytest.importorskip("matplotlib")
    weights = np.full((1, 12, 120, 120), 1 / 120, np.float32)
    names = tuple("abcdefghij" * 12)
    figure = _lay_out(SentenceAttention("x", names, (0,), tuple(range(12)), weights))
    assert max(figure.get_size_inches()) * figure.dpi < 9500  # pixels
