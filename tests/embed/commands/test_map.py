"""The map command: table, JSON and picture."""

import json
import os
from functools import partial
from xml.etree import ElementTree

import numpy as np
import pytest

from firth.corpora.artifacts.figures import picture_style
from firth.corpora.text.segment import TextSettings
from firth.embed.query.map_picture import _lay_out
from firth.embed.query.word_map import map_words
from firth.embed.resampling.draws import CountDraws
from firth.embed.resampling.prepared import prepare
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output, refusal
from tests.embed.fasttext_model import write_run
from tests.embed.themed_run import RARE, themed_run

WORDS = ["cat", "dog", "$5", "東京"]


@pytest.fixture
def run(tmp_path):
    """Vectors along (1, 0), (0, 1), (-1, 0), (0, -1) whose unit vectors have mean zero; and fox."""
    matrix = np.array([[4, 0], [0, 1], [-2, 0], [0, -3], [1, 1]], np.float32)
    folder = tmp_path / "run"
    folder.mkdir()
    WordVectors([*WORDS, "fox"], matrix).write(folder)
    return folder


mapped = partial(command, "map")


def texts_of(path):
    """Return the texts of an SVG."""
    root = ElementTree.parse(path).getroot()
    return [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]


def test_json_has_coordinates_and_the_share_of_the_variance(run):
    answer = json.loads(output("map", run, "cat", "dog", "$5", "--json"))
    # (1, 0), (0, 1), (-1, 0) around their mean (0, 1/3): scatter 2 along x, 2/3 along y
    assert answer["run"] == str(run)
    assert answer["share"] == pytest.approx([0.75, 0.25])
    assert [word["word"] for word in answer["words"]] == ["cat", "dog", "$5"]
    assert [abs(word["x"]) for word in answer["words"]] == pytest.approx([1, 0, 1])
    assert [word["y"] for word in answer["words"]] == pytest.approx([-1 / 3, 2 / 3, -1 / 3])


def test_the_table_has_coordinates_and_share(run):
    result = mapped(run, "cat", "dog", "$5")
    assert (result.exit_code, result.stderr) == (0, "")
    lines = [line.split() for line in result.stdout.splitlines() if line.strip(" ─")]
    assert lines[0] == ["word", "x", "y"]
    assert [(line[0], line[2]) for line in lines[1:4]] == [
        ("cat", "-0.333"),
        ("dog", "0.667"),
        ("$5", "-0.333"),
    ]
    assert result.stdout.splitlines()[-1] == (
        "3 words; two components explain 100.0% of the variance (75.0% and 25.0%)"
    )


def test_a_file_gives_words_with_groups(run, tmp_path):
    words = tmp_path / "words.tsv"
    words.write_text("cat\tanimal\ndog\tanimal\n東京\tcity\n", encoding="utf-8")
    answer = json.loads(mapped(run, "--words-from", words, "--json").stdout)
    assert [word["group"] for word in answer["words"]] == ["animal", "animal", "city"]
    table = mapped(run, "--words-from", words).stdout
    assert table.split()[:4] == ["word", "x", "y", "group"]


def test_the_picture_has_every_word_and_group_as_text(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    words, out = tmp_path / "words.tsv", tmp_path / "map.svg"
    words.write_text("cat\tanimal\ndog\tanimal\n$5\t$ $\n東京\tcity\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)  # a short name fits whole
    out.write_text("old")
    result = mapped(run.name, "--words-from", words, "--plot", out, "--force")
    assert (result.exit_code, result.stdout) == (0, "")
    assert result.stderr == (
        f"{out}: 4 words; two components explain 100.0% of the variance (50.0% and 50.0%)\n"
    )
    shown = texts_of(out)
    for text in (*WORDS, "animal", "city", "$ $", run.name, "first component (50%)"):
        assert shown.count(text) == 1, text


def test_long_names_do_not_overlap():
    pytest.importorskip("matplotlib")
    words = ["a", "b", "x" * 300]
    triangle = WordVectors(words, np.eye(3, dtype=np.float32))
    with picture_style():
        found = map_words(triangle, words, ["g" * 300, "h", "h"])
        figure = _lay_out(found, "out/" + "long-" * 30 + "seed1")
        shown = {text.get_text(): text.get_window_extent() for text in figure.texts}
        [title] = [text for text in shown if text.endswith("long-seed1")]
        [summary] = [text for text in shown if text.startswith("two components")]
        [group] = [text for text in shown if text.startswith("ggg")]
        [word] = [t for t in figure.axes[0].texts if t.get_text().startswith("xxx")]
        frame = figure.axes[0].get_window_extent()
        box = word.get_window_extent()
    assert title.startswith("…")
    assert shown[title].x1 < shown[summary].x0 - 10
    assert group.endswith("…")
    assert frame.x0 < shown[group].x0 < shown[group].x1 < frame.x1
    assert frame.x0 < box.x0 < box.x1 < frame.x1


def test_a_run_whose_path_is_not_utf8_is_drawn(run, tmp_path, monkeypatch):
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    odd = os.fsdecode(b"r\xff")
    run.rename(odd)
    for out in ("map.svg", "map.png"):
        assert mapped(odd, *WORDS, "--plot", out).exit_code == 0
    assert "r\ufffd" in texts_of("map.svg")


def test_an_existing_picture_is_refused_before_the_run_is_read(tmp_path):
    pytest.importorskip("matplotlib")
    out = tmp_path / "map.svg"
    out.write_text("mine")
    message = f"{out}: already exists; choose another OUT or pass --force"
    assert refusal("map", tmp_path / "none", "cat", "--plot", out) == message


def test_both_axes_of_the_picture_have_the_same_scale(run, tmp_path):
    pytest.importorskip("matplotlib")
    wide = WordVectors(list("abc"), np.array([[9, 1], [9, -1], [8, 2]], np.float32))
    figure = _lay_out(map_words(wide, list("abc")), "run")
    axes = figure.axes[0]
    width, height = figure.get_size_inches() * axes.get_position().size
    assert width / np.ptp(axes.get_xlim()) == pytest.approx(height / np.ptp(axes.get_ylim()))


def test_errors_are_one_line(run, tmp_path):
    unknown = f"{run}: no vector for 'cst'; did you mean 'cat'?"
    for words, message in {
        ("cat", "dog", "cst"): f"{unknown} (--skip-unknown skips it)",
        ("cat", "dog"): "a map needs at least 3 words, got 2; pass more",
        ("--words-from", str(tmp_path)): f"{tmp_path}: no such file of words",
        ("cat", "dog", "--plot", "a.pdf"): "--plot a.pdf: must end in .png or .svg",
    }.items():
        assert refusal("map", run, *words) == message
    both = mapped(run, "cat", "--words-from", tmp_path)
    assert (both.exit_code, mapped(run).exit_code) == (2, 2)
    assert both.stderr.endswith("Error: pass either WORDs or --words-from FILE\n")


def test_words_are_skipped_normalized_or_composed_as_in_other_queries(run, tmp_path):
    result = mapped(run, "cat", "cst", "dog", "$5", "--skip-unknown", "--json")
    assert result.stderr == f"skipped: {run}: no vector for 'cst'; did you mean 'cat'?\n"
    assert len(json.loads(result.stdout)["words"]) == 3
    (run / "config.json").write_text(json.dumps({"text": TextSettings().to_json()}))
    result = mapped(run, "CAT", "dog", "fox", "--json")
    assert json.loads(result.stdout)["words"][0]["word"] == "cat"
    assert result.stderr == "'CAT' is read as 'cat'\n"
    write_run(tmp_path / "n-grams", ["river", "rivers", "sea"], dim=6)
    answer = json.loads(output("map", tmp_path / "n-grams", "river", "sea", "rivery", "--json"))
    assert answer["words"][2]["word"] == "rivery"


def test_words_have_ellipses_of_how_far_they_move_between_draws(tmp_path):
    words = ["sea1", "sea5", "sea12", "sea20", RARE]
    run = themed_run(tmp_path)
    answer = json.loads(output("map", run, *words, "--resamples", 40, "--json"))
    vectors = WordVectors.open(run)
    places = np.array([[word["x"], word["y"]] for word in answer["words"]])
    units = np.array([vectors[word] / np.linalg.norm(vectors[word]) for word in words])
    axes = np.linalg.pinv(units - units.mean(axis=0), rcond=0.1) @ places
    draws = CountDraws(prepare(vectors), vectors.matrix, 40, 1)
    assert [word["ellipse"] is None for word in answer["words"]] == [False] * 4 + [True]
    for word in answer["words"][:4]:
        drawn = draws.deviations((draws.vectors(vectors.row(word["word"])) @ axes).T).T
        squares = 5.991 * len(drawn) * np.cov(drawn.T, bias=True)
        long, short = word["ellipse"]["half_axes"]
        turned = np.exp(1j * np.deg2rad(word["ellipse"]["angle"])) * np.array([long, 1j * short])
        halves = np.array([turned.real, turned.imag])
        np.testing.assert_allclose(halves @ halves.T, squares, rtol=1e-3, atol=1e-6)
    table = output("map", run, *words, "--resamples", 40)
    assert f"{long:.3f} {short:.3f}" in table
    pytest.importorskip("matplotlib")
    figure = _lay_out(map_words(vectors, words, resamples=40), "run")
    axes = figure.axes[0]
    shapes = [patch for patch in axes.patches if hasattr(patch, "angle")]
    assert [tuple(shape.center) for shape in shapes] == [tuple(place) for place in places[:4]]
    assert (shapes[3].width / 2, shapes[3].height / 2) == (long, short)
    for shape in shapes:
        (left, low), (right, high) = shape.get_extents().get_points()
        box = axes.get_window_extent()
        assert box.x0 < left < right < box.x1
        assert box.y0 < low < high < box.y1
    assert any("ellipses: 95 %" in text.get_text() for text in figure.texts)
