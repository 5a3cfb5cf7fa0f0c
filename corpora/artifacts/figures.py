"""Pictures: their kinds, their fonts, and files that are whole or not there.

Figures are drawn without pyplot, which keeps global state, and in a style of
our own, whatever the person's ``matplotlibrc`` says. What is drawn is the
business of others: this file knows of no vectors.
"""

import contextlib
import io
import re
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.atomic import atomic_output
from corpora.common.console import note
from corpora.common.errors import SettingError

KINDS = (".png", ".svg")
DPI = 100
# Okabe and Ito 2008, "Color Universal Design": apart for every kind of color vision
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^v"
_FONT = "DejaVu Sans"  # comes with matplotlib
_BOXES = "Last Resort"  # so does this one: it draws a box for every character
_MOST_PIXELS = 150_000_000  # of a picture: each takes 4 bytes while it is drawn
# Controls, halves of characters and what is never one: XML, and hence SVG, knows no such.
_UNDRAWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REPLACED = "\ufffd"
_LONGEST_SIDE = 60_000  # pixels: from 65,536 on there is no such picture
_STYLE: Any = {
    "font.family": [_FONT, "sans-serif"],
    "font.size": 9,
    # text stays text, which any viewer draws in any script, and names come from a fixed salt
    "svg.fonttype": "none",
    "svg.hashsalt": "firth",
}


def picture_kind(path: Path, setting: str = "plot") -> str:
    """Tell the kind of a picture by its name."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise SettingError(f"`{setting}={path}`: is neither .png nor .svg; name one of them")
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError:
        raise SettingError(
            f"`{setting}`: pictures need the package matplotlib; pip install 'firth[plots]'"
        ) from None
    return kind


@contextlib.contextmanager
def picture_style() -> Iterator[None]:
    """Draw within this: our fonts and sizes on matplotlib's own defaults."""
    import matplotlib.style

    with matplotlib.style.context("default"), matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Any:
    """Make an empty figure that no global state knows of.

    Texts that people wrote (words, names of files) need ``parse_math=False``:
    dollars are no formulas.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    pixels = round(width * DPI), round(height * DPI)
    if max(pixels) > _LONGEST_SIDE or pixels[0] * pixels[1] > _MOST_PIXELS:
        raise SettingError(
            f"the picture would have {pixels[0]} x {pixels[1]} pixels; draw less in one picture"
        )
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


def write_figure(figure: Any, path: Path, *, force: bool = False) -> None:
    """Write a figure as a picture; the same figure gives the same bytes of SVG.

    Characters that cannot be drawn, such as controls, become U+FFFD; those of ticks are to be
    replaced with :func:`replace_undrawable` by who names them.
    In a PNG, characters that the usual font lacks are drawn in other fonts of
    this machine; a note on standard error tells those that none has.
    """
    kind = picture_kind(path)
    written = io.BytesIO()
    with picture_style(), warnings.catch_warnings():
        _clean(figure)
        # of characters that no font has; _use_fonts has told which
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        if kind == ".png":
            _use_fonts(figure)
        metadata = {"Date": None} if kind == ".svg" else {}
        figure.savefig(written, format=kind[1:], metadata=metadata)
    with atomic_output(path, force) as partial:
        partial.write_bytes(written.getvalue())


def replace_undrawable(text: str) -> str:
    """Replace what cannot be drawn."""
    return _UNDRAWABLE.sub(lambda found: " " if found[0].isspace() else _REPLACED, text)


def text_width(text: str, points: float, *, bold: bool = False) -> float:
    """Compute how wide a text will be, whichever font draws it."""
    return float(sum(_widths(replace_undrawable(text), points, bold)))


def truncate_to_width(
    text: str, points: float, wide: float, *, bold: bool = False, end: bool = False
) -> str:
    """Give as much of a text as fits."""
    text = replace_undrawable(text)
    widths = _widths(text, points, bold)
    if sum(widths) <= wide:
        return text
    room = wide - text_width("…", points, bold=bold)
    kept = int(np.searchsorted(np.cumsum(widths[::-1] if end else widths), room, side="right"))
    return f"…{text[len(text) - kept :]}" if end else f"{text[:kept]}…"


def _widths(text: str, points: float, bold: bool) -> list[float]:
    """What each character of a text takes, in inches."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    weight = "bold" if bold else "normal"
    font = get_font(findfont(FontProperties(family=[_FONT], weight=weight)))
    font.set_size(points, DPI)
    return [_width(character, points, font) for character in text]


def _width(character: str, points: float, font: Any) -> float:
    """One of them: as a PNG has it, to whole pixels, or as an SVG, whichever is more."""
    from matplotlib.ft2font import LoadFlags

    if unicodedata.east_asian_width(character) in "WF":
        return points / 72
    if unicodedata.category(character) in ("Mn", "Me"):
        return 0.0
    if not font.get_char_index(ord(character)):
        return 0.6 * points / 72
    glyph = font.load_char(ord(character), flags=LoadFlags.DEFAULT)
    return float(max(glyph.horiAdvance / 64, glyph.linearHoriAdvance / 65536) / DPI)


def _clean(figure: Any) -> None:
    """Let every text of a figure be one that can be drawn."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        lines = text.get_text().split("\n")
        text.set_text("\n".join(map(replace_undrawable, lines)))


def _use_fonts(figure: Any) -> None:
    """Let every text of a figure be drawn in fonts that have its characters."""
    from matplotlib.text import Text

    for axes in figure.axes:  # names of ticks are texts only when somebody asks for them
        axes.get_xticklabels()
        axes.get_yticklabels()
    texts = figure.findobj(Text)
    families = _families(text.get_text() for text in texts)
    for text in texts:
        text.set_fontfamily(families)


def _families(texts: Iterable[str]) -> list[str]:
    """Fonts of this machine that together have all characters, as far as there are such."""
    from matplotlib.font_manager import fontManager
    from matplotlib.ft2font import FT2Font

    missing = {ord(character) for text in texts for character in text if character != "\n"}
    families = [_FONT]
    fonts = [font for font in fontManager.ttflist if not font.name.startswith(_BOXES)]
    fonts.sort(key=lambda font: (font.name != _FONT, font.name, font.fname))
    for font in fonts:
        if not missing:
            break
        try:
            has = missing & FT2Font(font.fname).get_charmap().keys()
        except (OSError, RuntimeError):  # matplotlib's list of fonts is older than the machine's
            continue
        if has:
            families.append(font.name)
            missing -= has
    if missing:
        shown = " ".join(
            chr(code) if chr(code).isprintable() else f"U+{code:04X}" for code in sorted(missing)
        )
        note(f"no font here has {shown}; take .svg, which leaves the fonts to the viewer")
    return list(dict.fromkeys(families))
