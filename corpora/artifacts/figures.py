"""Matplotlib figures: style, fonts, text widths and atomic output as PNG or SVG.

Figures are drawn without pyplot, which keeps global state, and ignore the user's
``matplotlibrc``.
"""

import contextlib
import io
import os
import re
import sys
import unicodedata
import warnings
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.errors import SettingError
from firth.corpora.common.reporting import note

KINDS = (".png", ".svg")
DPI = 100
# Okabe and Ito 2008, "Color Universal Design": distinct for every kind of color vision
COLORS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#E69F00", "#56B4E9")
MARKERS = "osD^v"
_FONT = "DejaVu Sans"  # bundled with matplotlib
_BOXES = "Last Resort"  # bundled too; draws a box for every character
_MAX_PIXELS = 150_000_000  # 4 bytes each while drawing
# Controls, lone surrogates and noncharacters, which XML and hence SVG cannot contain.
_UNDRAWABLE = re.compile(r"[\x00-\x1f\x7f-\x9f\ud800-\udfff\ufffe\uffff]")
_REPLACED = "\ufffd"
_MAX_SIDE = 60_000  # pixels; formats end at 65,536
_STYLE: Any = {
    "font.family": [_FONT, "sans-serif"],
    "font.size": 9,
    # text stays text, which viewers draw in any script; a fixed salt makes ids reproducible
    "svg.fonttype": "none",
    "svg.hashsalt": "firth",
}


def picture_kind(path: Path) -> str:
    """Return ``.png`` or ``.svg``; raise for other endings, or without matplotlib."""
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise SettingError(f"`plot={path}`: must end in .png or .svg")
    try:
        _import_matplotlib()
    except ImportError:
        raise SettingError(
            "`plot`: plots need the package matplotlib; pip install 'firth[plots]'"
        ) from None
    return kind


def _import_matplotlib() -> None:
    """Import matplotlib; a backend of the environment that it does not have is left out.

    Commands that a notebook starts inherit the backend of its kernel, which may be another
    environment's. Pictures are drawn without any.
    """
    backend = os.environ.get("MPLBACKEND", "")
    module, named = backend.removeprefix("module://").partition(".")[0], "://" in backend
    if named and "matplotlib" not in sys.modules and find_spec(module) is None:
        del os.environ["MPLBACKEND"]
    try:
        import matplotlib  # noqa: F401
    except ValueError:
        raise SettingError(f"MPLBACKEND={backend}: no backend of matplotlib; unset it") from None


@contextlib.contextmanager
def picture_style() -> Iterator[None]:
    """Apply our fonts and sizes on top of matplotlib's defaults."""
    import matplotlib.style

    with matplotlib.style.context("default"), matplotlib.rc_context(_STYLE):
        yield


def new_figure(width: float, height: float) -> Any:
    """Return an empty figure, in inches, that is not registered in pyplot.

    User text (words, file names) needs ``parse_math=False``, or dollar signs are read as math.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    pixels = round(width * DPI), round(height * DPI)
    if max(pixels) > _MAX_SIDE or pixels[0] * pixels[1] > _MAX_PIXELS:
        raise SettingError(
            f"the figure would have {pixels[0]} x {pixels[1]} pixels; draw less in one figure"
        )
    figure = Figure(figsize=(width, height), dpi=DPI, facecolor="white")
    FigureCanvasAgg(figure)
    return figure


@dataclass(frozen=True)
class Picture:
    """A picture that was written to a file; notebooks show it."""

    path: Path

    def __fspath__(self) -> str:
        return str(self.path)

    def _repr_svg_(self) -> str | None:
        """Return what notebooks show of an SVG."""
        return self.path.read_text("utf-8") if self.path.suffix.lower() == ".svg" else None

    def _repr_png_(self) -> bytes | None:
        """Return what notebooks show of a PNG."""
        return self.path.read_bytes() if self.path.suffix.lower() == ".png" else None


def write_figure(figure: Any, path: Path, *, force: bool = False) -> Picture:
    """Write a figure and return its picture; the same figure gives the same SVG bytes.

    Undrawable characters become U+FFFD, except in tick labels: callers apply
    :func:`replace_undrawable` to those. In a PNG, characters missing from the default font are
    drawn in other installed fonts; a note lists those that no font has.
    """
    kind = picture_kind(path)
    written = io.BytesIO()
    with picture_style(), warnings.catch_warnings():
        _clean(figure)
        # about characters that no font has; _use_fonts noted them
        warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
        if kind == ".png":
            _use_fonts(figure)
        metadata = {"Date": None} if kind == ".svg" else {}
        figure.savefig(written, format=kind[1:], metadata=metadata)
    with atomic_output(path, force) as partial:
        partial.write_bytes(written.getvalue())
    return Picture(path.absolute())


def replace_undrawable(text: str) -> str:
    """Replace undrawable characters by U+FFFD, and white space by a space."""
    return _UNDRAWABLE.sub(lambda found: " " if found[0].isspace() else _REPLACED, text)


def text_width(text: str, points: float, *, bold: bool = False) -> float:
    """Return an upper bound of a text's width in inches, as PNG or SVG."""
    return float(sum(_widths(replace_undrawable(text), points, bold)))


def truncate_to_width(
    text: str, points: float, width: float, *, bold: bool = False, end: bool = False
) -> str:
    """Truncate a text to a width in inches with an ellipsis; ``end`` keeps its end."""
    text = replace_undrawable(text)
    widths = _widths(text, points, bold)
    if sum(widths) <= width:
        return text
    room = width - text_width("…", points, bold=bold)
    kept = int(np.searchsorted(np.cumsum(widths[::-1] if end else widths), room, side="right"))
    return f"…{text[len(text) - kept :]}" if end else f"{text[:kept]}…"


def _widths(text: str, points: float, bold: bool) -> list[float]:
    """Return the width of each character in inches."""
    from matplotlib.font_manager import FontProperties, findfont, get_font

    weight = "bold" if bold else "normal"
    font = get_font(findfont(FontProperties(family=[_FONT], weight=weight)))
    font.set_size(points, DPI)
    return [_width(character, points, font) for character in text]


def _width(character: str, points: float, font: Any) -> float:
    """Return a character's width in inches: the larger of PNG (whole pixels) and SVG."""
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
    """Replace undrawable characters in all texts of a figure."""
    from matplotlib.text import Text

    for text in figure.findobj(Text):
        lines = text.get_text().split("\n")
        text.set_text("\n".join(map(replace_undrawable, lines)))


def _use_fonts(figure: Any) -> None:
    """Set fonts that have all characters of a figure's texts."""
    from matplotlib.text import Text

    for axes in figure.axes:  # tick labels are created on access
        axes.get_xticklabels()
        axes.get_yticklabels()
    texts = figure.findobj(Text)
    families = _families(text.get_text() for text in texts)
    for text in texts:
        text.set_fontfamily(families)


def _families(texts: Iterable[str]) -> list[str]:
    """Return installed fonts that together have all characters, noting missing ones."""
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
        except (OSError, RuntimeError):  # matplotlib's font list is out of date
            continue
        if has:
            families.append(font.name)
            missing -= has
    if missing:
        shown = " ".join(
            chr(code) if chr(code).isprintable() else f"U+{code:04X}" for code in sorted(missing)
        )
        note(f"no installed font has {shown}; use .svg, which leaves fonts to the viewer")
    return list(dict.fromkeys(families))
