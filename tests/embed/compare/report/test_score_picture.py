"""The picture of scores: text, positions and colors read from the SVG."""

import json
import re
from xml.etree import ElementTree

import pytest

from firth.corpora.artifacts.figures import text_width
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.embed.compare.report.score_picture import draw_scores
from tests.embed.compare.refusals import message_of
from tests.embed.compare.report.report_pages import pair, result

pytest.importorskip("matplotlib")
BLUE, VERMILION, GREEN, GREY = "#0072b2", "#d55e00", "#009e73", "#767676"


def document(*results, runs=(), pairs=()):
    """A document with two runs of different methods and a baseline."""
    known = [
        {"run": "out/svd", "method": "svd", "fingerprint": "1"},
        {"run": "out/sg", "method": "skipgram", "fingerprint": "2"},
        *runs,
        {"run": "one-hot", "method": "one-hot", "fingerprint": None},
    ]
    return {"runs": known, "results": list(results), "pairs": list(pairs)}


def drawn(tmp_path, what):
    """The SVG as text."""
    out = tmp_path / "scores.svg"
    draw_scores(what, out, force=True)
    return out.read_text(encoding="utf-8")


def texts(svg):
    """Its texts, in the order of drawing."""
    root = ElementTree.fromstring(svg)
    return [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]


def faces(svg):
    """Fill and edge of every point drawn."""
    uses = re.findall(r'<use xlink:href="#m\w+" x="[^"]+" y="[^"]+" style="([^"]+)"', svg)
    styles = [dict(part.split(": ") for part in use.split("; ")) for use in uses]
    return [
        (style["fill"], style["stroke"]) for style in styles if style.get("stroke-width") == "1.2"
    ]


def test_every_run_has_name_score_and_number_of_items(tmp_path):
    svg = drawn(tmp_path, document(result("out/svd", 0.5, 0.4, 0.6), result("out/sg", -0.25)))
    shown = texts(svg)
    for text in ("ws353", "spearman", "n = 40", "svd", "sg", "0.500", "−0.250"):
        assert shown.count(text) == 1, text


def test_intervals_are_drawn_to_scale(tmp_path):
    rows = [result("out/svd", 0.5, 0.4, 0.6), result("out/sg", 0.5, 0.3, 0.7)]
    svg = drawn(tmp_path, document(*rows))
    lengths = []
    for color in (BLUE, VERMILION):
        style = rf'd="M ([\d.]+) [\d.]+ \nL ([\d.]+) [\d.]+ \n" [^>]*stroke: {color}'
        [(start, stop)] = re.findall(style, svg)
        lengths.append(float(stop) - float(start))
    assert lengths[1] == pytest.approx(2 * lengths[0], rel=1e-3)


def test_undefined_scores_show_their_reason_truncated_if_long(tmp_path):
    rows = [result("out/svd", 0.5), result("one-hot", None, reason="all cosines are equal")]
    shown = texts(drawn(tmp_path, document(*rows)))
    assert "undefined: all cosines are equal" in shown
    assert [text for text in shown if re.fullmatch(r"−?\d\.\d{3}", text)] == ["0.500"]
    reason = "no question has all its words among the 30,000 most frequent" * 4
    shown = texts(drawn(tmp_path, document(result("out/svd", None, reason=reason))))
    [shown_reason] = [text for text in shown if text.startswith("undefined")]
    assert shown_reason.endswith("…")
    assert len(shown_reason) < len(reason)


def test_set_names_are_truncated_to_their_panels(tmp_path):
    names = ["a long name of a set that goes on and on and on for the whole of the picture" * 2]
    names.append("b" + names[0])
    svg = drawn(tmp_path, document(*(result("out/svd", 0.5, dataset=name) for name in names)))
    root = ElementTree.fromstring(svg)
    found = [
        part
        for part in root.iter("{http://www.w3.org/2000/svg}text")
        if "long name" in (part.text or "")
    ]
    places = [float(part.get("x", "")) for part in found]
    width = float(root.get("viewBox", "").split()[2])
    for part, start, stop in zip(found, places, [places[1], width], strict=True):
        shown = str(part.text)
        assert shown.endswith("…")
        assert len(shown) > 20
        assert start + 72 * text_width(shown, 9, bold=True) < stop


@pytest.mark.parametrize(
    ("name", "shown"), [("a\x1b[1m\ufffe", "a\ufffd[1m\ufffd"), ("$x_1$ 東京", "$x_1$ 東京")]
)
def test_control_characters_and_dollar_signs_have_no_effect(tmp_path, name, shown):
    assert shown in texts(drawn(tmp_path, document(result("out/svd", 0.5, dataset=name))))


def test_only_shared_items_count_and_a_run_without_a_result_is_not_scored(tmp_path):
    rows = [result("out/svd", 0.5), result("out/sg", 0.5), result("out/svd", 0.5, metric="pearson")]
    shown = texts(drawn(tmp_path, document(*rows, result("out/svd", 0.75, shared_items=False))))
    assert (shown.count("not scored"), "0.750" in shown) == (1, False)


def test_best_and_tied_runs_are_filled_and_others_hollow(tmp_path):
    runs = [{"run": "out/cbow", "method": "cbow", "fingerprint": "3"}]
    rows = [result(run, s) for run, s in (("out/svd", 0.6), ("out/sg", 0.5), ("out/cbow", 0.4))]
    pairs = [
        pair("out/svd", "out/sg", 0.1, 0.2),
        pair("out/svd", "out/cbow", 0.1, 0.04),
        pair("out/sg", "out/cbow", 0.1, 0.9),
    ]
    filled = [(BLUE, BLUE), (VERMILION, VERMILION)]
    for tested, last in ((pairs, "#ffffff"), ([], GREEN)):  # without tests no run is worse
        svg = drawn(tmp_path, document(*rows, runs=runs, pairs=tested))
        assert faces(svg) == [*filled, (last, GREEN)]


def test_runs_of_one_method_share_a_color_and_baselines_are_gray(tmp_path):
    runs = [{"run": "out/svd-flat", "method": "svd", "fingerprint": "3"}]
    rows = [result(run, 0.5) for run in ("out/svd", "out/sg", "out/svd-flat", "one-hot")]
    edges = [edge for _, edge in faces(drawn(tmp_path, document(*rows, runs=runs)))]
    assert edges == [BLUE, VERMILION, BLUE, GREY]


def test_seeds_are_one_row_with_their_deviation(tmp_path):
    runs = [
        {"run": "out/cbow-1", "method": "cbow", "fingerprint": "3"},
        {"run": "out/cbow-2", "method": "cbow", "fingerprint": "4"},
        {"run": "out/cbow-*", "method": "cbow", "seeds": ["out/cbow-1", "out/cbow-2"]},
    ]
    rows = [
        result("out/svd", 0.5),
        result("out/cbow-1", 0.125),
        result("out/cbow-2", 0.25),
        result("out/cbow-*", 0.1875, seeds=2, deviation=0.0625),
    ]
    svg = drawn(tmp_path, document(*rows, runs=runs))
    shown = texts(svg)
    assert "cbow-* (2 seeds)" in shown
    assert [t for t in shown if re.fullmatch(r"\d\.\d{3}", t)] == ["0.500", "0.188"]
    assert len(re.findall(r"stroke-opacity: 0.35; stroke-width: 6", svg)) == 1


def test_sets_of_one_name_and_sections_have_panels_of_their_own(tmp_path):
    rows = [result("out/svd", 0.125), result("out/svd", 0.25)]
    more = {"task": "analogy", "metric": "accuracy_3cosmul", "section": "family"}
    shown = texts(drawn(tmp_path, document(*rows, result("out/svd", 0.5, **more))))
    assert [shown.count(text) for text in ("ws353", "0.125", "0.250")] == [2, 1, 1]
    assert {"ws353: family", "3cosmul"} <= set(shown)


def test_the_same_document_gives_the_same_svg_also_from_json(tmp_path):
    what = document(
        result("out/svd", 1 / 3, 0.1, 0.4), pairs=[pair("out/svd", "out/sg", 0.1, None)]
    )
    assert drawn(tmp_path, what) == drawn(tmp_path, json.loads(json.dumps(what)))


@pytest.mark.slow
def test_pictures_are_1000_pixels_wide(tmp_path):
    image = pytest.importorskip("PIL.Image")
    runs = [{"run": f"out/{n}", "method": f"m{n}", "fingerprint": None} for n in range(14)]
    rows = [
        result(run["run"], 0.5, dataset=f"set{n}", metric=metric)
        for n in range(2)
        for metric in "abcde"
        for run in runs
    ]
    draw_scores(document(*rows, runs=runs), tmp_path / "a.png")
    with image.open(tmp_path / "a.png") as picture:
        assert picture.size[0] == 1000
        assert picture.size[1] > 2 * 2 * 14 * 19


def test_a_document_without_scores_and_an_existing_picture_are_refused(tmp_path):
    out = tmp_path / "a.svg"
    empty = message_of(SettingError, draw_scores, document(), out)
    assert empty == f"{out}: there is no score to draw"
    assert not out.exists()
    out.write_text("mine")
    existing = message_of(ArtifactError, draw_scores, document(result("out/svd", 0.5)), out)
    assert existing == f"{out}: already exists; choose another OUT or pass `force=True`"
