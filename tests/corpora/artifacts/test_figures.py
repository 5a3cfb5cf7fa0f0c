"""Figures: formats, sizes, fonts, text widths and atomic files."""

import sys
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from firth.corpora.artifacts.figures import (
    new_figure,
    picture_kind,
    picture_style,
    replace_undrawable,
    text_width,
    truncate_to_width,
    write_figure,
)
from firth.corpora.common.errors import ArtifactError, SettingError

matplotlib = pytest.importorskip("matplotlib")


def figure_of(*texts):
    """Return a figure of 4 x 3 inches whose tick labels are these texts."""
    with picture_style():
        figure = new_figure(4, 3)
        axes = figure.add_axes((0.3, 0.2, 0.6, 0.7))
        axes.plot([0, 1], [0, 1])
        axes.set_yticks(range(len(texts)), texts, parse_math=False)
    return figure


def texts_of(path):
    """Return the texts of an SVG."""
    root = ElementTree.parse(path).getroot()
    return [part.text for part in root.iter("{http://www.w3.org/2000/svg}text")]


def test_the_file_ending_selects_the_format():
    assert [picture_kind(Path(name)) for name in ("a.svg", "b.PNG")] == [".svg", ".png"]


REFUSED = {
    "pdf": (lambda: picture_kind(Path("a.pdf")), "`plot=a.pdf`: must end in .png or .svg"),
    "no ending": (lambda: picture_kind(Path("a")), "`plot=a`: must end in .png or .svg"),
    "too wide": (lambda: new_figure(601, 1), "the figure would have 60100 x 100 pixels; draw less"),
    "too large": (lambda: new_figure(130, 130), "the figure would have 13000 x 13000 pixels; draw"),
}


@pytest.mark.parametrize(("call", "message"), REFUSED.values(), ids=REFUSED)
def test_what_cannot_be_drawn_is_refused(call, message):
    with pytest.raises(SettingError) as refusal:
        call()
    assert str(refusal.value).startswith(message)


def test_without_matplotlib_the_error_names_the_extra(monkeypatch):
    monkeypatch.setitem(sys.modules, "matplotlib", None)
    message = r"^`plot`: plots need the package matplotlib; pip install 'firth\[plots\]'$"
    with pytest.raises(SettingError, match=message):
        picture_kind(Path("a.svg"))


@pytest.mark.process
def test_figures_do_not_import_pyplot(server, tmp_path):
    code = f"""
import sys
from pathlib import Path
from firth.corpora.artifacts.figures import *
with picture_style():
    figure = new_figure(1, 1)
write_figure(figure, Path({str(tmp_path / "a.png")!r}))
print("matplotlib.pyplot" in sys.modules)
"""
    done = server.python(code, workdir=tmp_path).wait()
    assert done.stdout == "False\n"


def test_a_png_has_100_pixels_per_inch_and_a_white_background(tmp_path):
    write_figure(new_figure(4, 3), tmp_path / "a.png")
    from matplotlib import image

    picture = image.imread(tmp_path / "a.png")
    assert picture.shape[:2] == (300, 400)
    assert (picture == 1).all()


def test_the_svg_does_not_depend_on_the_users_settings(tmp_path):
    write_figure(figure_of("one", "two"), tmp_path / "a.svg")
    dark = {"axes.facecolor": "black", "font.size": 30, "svg.hashsalt": "other", "axes.grid": True}
    with matplotlib.rc_context(dark):
        write_figure(figure_of("one", "two"), tmp_path / "b.svg")
    assert (tmp_path / "a.svg").read_bytes() == (tmp_path / "b.svg").read_bytes()


def test_a_notebook_shows_the_picture_that_was_written(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    svg, png = (write_figure(figure_of("one"), Path(name)) for name in ("a.svg", "a.png"))
    monkeypatch.chdir("/")
    assert "one</text>" in svg._repr_svg_()
    assert png._repr_png_().startswith(b"\x89PNG")
    assert svg._repr_png_() is png._repr_svg_() is None
    assert Path(svg) == tmp_path / "a.svg"


def test_an_svg_keeps_text_of_any_script_as_text(tmp_path, capsys):
    words = ["$5 and $6", "東京", "कुत्ता", "\U0001366d"]
    write_figure(figure_of(*words), tmp_path / "a.svg")
    assert [text for text in texts_of(tmp_path / "a.svg") if text in words] == words
    assert capsys.readouterr().err == ""


def test_a_png_notes_once_which_characters_no_font_has(tmp_path, capsys):
    write_figure(figure_of("a\U0001366d", "\U0001366d\nb"), tmp_path / "a.png")
    assert capsys.readouterr().err == (  # unassigned in Python's Unicode, so shown as a number
        "no installed font has U+1366D; use .svg, which leaves fonts to the viewer\n"
    )


def test_the_font_note_shows_unprintable_characters_as_numbers(tmp_path, capsys, only_usual_font):
    write_figure(figure_of("東a\u202e"), tmp_path / "a.png")
    write_figure(figure_of("京\ue000"), tmp_path / "b.png")
    assert capsys.readouterr().err == (
        "no installed font has 東; use .svg, which leaves fonts to the viewer\n"
        "no installed font has 京 U+E000; use .svg, which leaves fonts to the viewer\n"
    )


CONTROLS = "a\x07b\x1b[1m\ufffe\uffffc\udcff\x7f\x9b"


def test_undrawable_characters_are_replaced_and_white_space_becomes_spaces():
    assert replace_undrawable(CONTROLS) == "a\ufffdb\ufffd[1m\ufffd\ufffdc\ufffd\ufffd\ufffd"
    assert replace_undrawable("a\tb\nc\r東\U0001366d é") == "a b c 東\U0001366d é"


@pytest.mark.parametrize("kind", ["png", "svg"])
def test_controls_and_lone_surrogates_are_drawn_as_replacements(kind, tmp_path, capsys):
    with picture_style():
        figure = new_figure(2, 1)
        figure.text(0.1, 0.5, CONTROLS)
        figure.text(0.1, 0.1, "two\nlines")
    out = tmp_path / f"a.{kind}"
    write_figure(figure, out)
    assert capsys.readouterr().err == ""
    if kind == "svg":
        assert texts_of(out) == [replace_undrawable(CONTROLS), "two", "lines"]


def test_missing_font_files_are_skipped(tmp_path, capsys, only_usual_font):
    (tmp_path / "text.ttf").write_text("no font")
    for name in ("gone.ttf", "text.ttf"):
        entry = only_usual_font[0]
        gone = type(entry)(fname=str(tmp_path / name), name="Aaa", style="normal")
        only_usual_font.append(gone)
    write_figure(figure_of("東"), tmp_path / "a.png")
    assert capsys.readouterr().err.startswith("no installed font has 東; ")


@pytest.fixture
def only_usual_font(monkeypatch):
    """Reduce matplotlib's font list to the default font."""
    from matplotlib.font_manager import fontManager

    usual = [font for font in fontManager.ttflist if font.name == "DejaVu Sans"]
    monkeypatch.setattr(fontManager, "ttflist", usual)
    return usual


def test_a_png_uses_another_font_for_missing_characters(tmp_path, capsys):
    from matplotlib.font_manager import FontProperties, findfont
    from matplotlib.ft2font import FT2Font

    usual = FT2Font(findfont(FontProperties(family="DejaVu Sans"))).get_charmap()
    other = FT2Font(findfont(FontProperties(family="STIXGeneral"))).get_charmap()
    character = chr(min(other.keys() - usual.keys()))
    figure = figure_of(character)

    write_figure(figure, tmp_path / "a.png")

    families = figure.axes[0].get_yticklabels()[0].get_fontfamily()
    assert (families[0], len(families), capsys.readouterr().err) == ("DejaVu Sans", 2, "")


def test_an_existing_figure_is_replaced_only_with_force(tmp_path):
    out = tmp_path / "a.png"
    out.write_text("mine")
    with pytest.raises(ArtifactError) as refusal:
        write_figure(new_figure(1, 1), out)
    assert str(refusal.value) == f"{out}: already exists; choose another OUT or pass `force=True`"
    assert out.read_text() == "mine"
    write_figure(new_figure(1, 1), out, force=True)
    assert out.read_bytes().startswith(b"\x89PNG")
    assert list(tmp_path.iterdir()) == [out]


@pytest.mark.parametrize("weight", ["normal", "bold"])
@pytest.mark.parametrize("text", ["Illinois", "naïve WORD_12", "мир", "x" * 40])
def test_text_width_matches_the_drawn_text(text, weight):
    for points in (9, 20):
        with picture_style():
            figure = new_figure(12, 1)
            drawn = figure.text(0, 0, text, fontsize=points, weight=weight).get_window_extent()
        # drawings are measured by ink and are kerned: half a letter in total
        width = text_width(text, points, bold=weight == "bold") * 100
        assert width == pytest.approx(drawn.width, abs=points / 2, rel=0.02)
        assert width > drawn.width - 2  # an upper bound


def test_a_long_text_is_truncated_at_the_end_or_the_beginning():
    text = "abc" * 40
    for bold in (False, True):
        for end in (False, True):
            shown = truncate_to_width(text, 8, 2.0, bold=bold, end=end)
            assert text_width(shown, 8, bold=bold) <= 2.0
            kept = shown.strip("…")
            assert shown == (f"…{kept}" if end else f"{kept}…")
            assert (text.endswith if end else text.startswith)(kept)
            longer = f"{kept}…{text[len(kept)]}"
            assert end or text_width(longer, 8, bold=bold) > 2.0
    assert truncate_to_width(text, 8, 2.0).count("a") > truncate_to_width(
        text, 8, 2.0, bold=True
    ).count("a")


def test_a_short_text_changes_only_in_undrawable_characters():
    assert truncate_to_width("abc", 8, text_width("abc", 8)) == "abc"
    assert truncate_to_width("a\x07", 8, 9.0, end=True) == "a\ufffd"
    assert truncate_to_width("abc", 8, 0.0) == "…"


def test_wide_characters_are_squares_and_accents_have_no_width():
    assert text_width("東京", 36) == pytest.approx(1.0)
    assert text_width("e\u0301", 36) == text_width("e", 36)
    assert text_width("क", 72) == pytest.approx(0.6)
    assert text_width("ab", 72) == pytest.approx(2 * text_width("ab", 36), rel=0.02)
    assert text_width("a\x07", 36) == text_width("a\ufffd", 36)
    assert np.isclose(text_width("", 10), 0)


@pytest.mark.process
def test_a_backend_of_a_notebook_of_another_environment_is_left_out(server, tmp_path):
    code = """
from pathlib import Path
from firth.corpora.artifacts.figures import new_figure, picture_kind, write_figure
picture_kind(Path("a.png"))
write_figure(new_figure(2, 1), Path("a.png"))
"""
    environment = {"MPLBACKEND": "module://matplotlib_inline.backend_inline"}
    done = server.python(code, workdir=tmp_path, env=environment).wait()
    assert done.status == 0, done.stderr
    assert (tmp_path / "a.png").stat().st_size > 0
