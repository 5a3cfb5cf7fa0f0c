"""Attention weights drawn as a grid: a row of squares for each layer, one for each head.

Figures are drawn without pyplot, which keeps global state.
"""

import io
import itertools
import unicodedata
import warnings
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from corpora.console import note
from corpora.errors import SettingError
from corpora.replacing import replacing
from pretrain.attention_weights import SentenceAttention

KINDS = (".png", ".svg")
_DPI = 100
_SLOT = 0.16  # inches that a piece takes, so that its name can be read
_LEAST_SIDE = 1.2  # inches of a square, so that its title fits
_GAP = 0.12
_MOST = 90.0  # inches of the picture: beyond, a PNG takes gigabytes
_FONT = "DejaVu Sans"  # comes with matplotlib
_BOXES = "Last Resort"  # so does this one: it draws a box for every character


def picture_kind(path: Path) -> str:
    """Tell the kind of a picture by its name.

    Parameters
    ----------
    path : Path
        Where it shall stand.

    Returns
    -------
    str
        One of :data:`KINDS`.

    Raises
    ------
    SettingError
        It is neither, or matplotlib is not installed.
    """
    kind = path.suffix.lower()
    if kind not in KINDS:
        raise SettingError(f"--out {path}: is neither .png nor .svg; name one of them")
    try:
        import matplotlib  # noqa: F401 - only whether it is there
    except ImportError:
        raise SettingError(
            "--out: pictures need the package matplotlib; pip install 'firth[plots]'"
        ) from None
    return kind


def draw_attention(attention: SentenceAttention, path: Path, *, force: bool = False) -> None:
    """Draw every layer and head, and write the picture.

    The same weights give the same bytes of SVG.

    Parameters
    ----------
    attention : SentenceAttention
        What to draw.
    path : Path
        A file ending in ``.png`` or ``.svg``; whole or not at all.
    force : bool
        Replace a file that stands there.

    Raises
    ------
    ArtifactError
        ``path`` exists, or cannot be written.
    SettingError
        As :func:`picture_kind` does.
    """
    kind = picture_kind(path)
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    # svg: text stays text, which any viewer draws in any script, and names come from a fixed salt
    style: Any = {"svg.fonttype": "none", "svg.hashsalt": "firth", "font.size": 9}
    style["font.family"] = _families(attention.pieces, kind)
    with matplotlib.rc_context(style):
        figure = Figure(dpi=_DPI)
        FigureCanvasAgg(figure)
        _lay_out(figure, attention)
        written = io.BytesIO()
        with warnings.catch_warnings():
            # of characters that no font has; _families has told which
            warnings.filterwarnings("ignore", "Glyph .* missing", UserWarning)
            metadata = {"Date": None} if kind == ".svg" else {}
            figure.savefig(written, format=kind[1:], metadata=metadata)
    with replacing(path, force) as partial:
        partial.write_bytes(written.getvalue())


def _lay_out(figure: Any, attention: SentenceAttention) -> None:
    """Squares of the same size and scale; pieces are named at the left and below."""
    n_layers, n_heads, length, _ = attention.weights.shape
    side = min(max(_LEAST_SIDE, _SLOT * length), _MOST / max(n_layers, n_heads))
    points = min(8.0, 72 * side / length * 0.8)
    label = 0.01 * points * max(map(_columns, attention.pieces))  # inches of the longest name
    left, right, top, below = 0.5 + label, 0.75, 0.6, 0.2 + label
    step = side + _GAP
    width, height = left + n_heads * step + right, top + n_layers * step + below
    figure.set_size_inches(width, height)

    def place(x: float, y: float, wide: float, high: float) -> Any:
        """Axes by their upper left corner, in inches."""
        return figure.add_axes((x / width, 1 - (y + high) / height, wide / width, high / height))

    most = float(attention.weights.max())
    for row, column in itertools.product(range(n_layers), range(n_heads)):
        axes = place(left + column * step, top + row * step, side, side)
        weights = attention.weights[row, column]
        # uninterpolated, so that in SVG, too, every weight is a sharp square
        image = axes.imshow(weights, cmap="Blues", vmin=0.0, vmax=most, interpolation="none")
        axes.tick_params(length=0, labelsize=points)
        axes.set(xticks=[], yticks=[])
        if row == 0:
            axes.set_title(f"head {attention.heads[column]}")
        if column == 0:
            _name(axes.yaxis, attention.pieces)
            middle = 1 - (top + row * step + side / 2) / height
            layer = f"layer {attention.layers[row]}"
            figure.text(0.15 / width, middle, layer, rotation=90, va="center")
        if row == n_layers - 1:
            _name(axes.xaxis, attention.pieces, rotation=90)
    bar = place(width - right + 0.1, top, 0.12, min(n_layers * step - _GAP, 2.5))
    figure.colorbar(image, cax=bar)
    figure.text(0.15 / width, 1 - 0.2 / height, "rows attend to columns", style="italic")


def _columns(piece: str) -> int:
    """Width of a name in letters: Chinese and Japanese characters are twice as wide."""
    return sum(2 if unicodedata.east_asian_width(each) in "WF" else 1 for each in piece)


def _name(axis: Any, pieces: Iterable[str], **style: Any) -> None:
    """Write the pieces along an axis; dollars are no formulas."""
    names = list(pieces)
    axis.set_ticks(range(len(names)), names, parse_math=False, **style)


def _families(pieces: Iterable[str], kind: str) -> list[str]:
    """Fonts of this machine that together have all characters, as far as there are such."""
    if kind == ".svg":
        return [_FONT, "sans-serif"]
    from matplotlib.font_manager import fontManager
    from matplotlib.ft2font import FT2Font

    missing = {ord(character) for piece in pieces for character in piece}
    families = []
    fonts = [font for font in fontManager.ttflist if not font.name.startswith(_BOXES)]
    fonts.sort(key=lambda font: (font.name != _FONT, font.name, font.fname))
    for font in fonts:
        if not missing:
            break
        has = missing & FT2Font(font.fname).get_charmap().keys()
        if has or font.name == _FONT:
            families.append(font.name)
            missing -= has
    if missing:
        shown = "".join(map(chr, sorted(missing)))
        note(f"no font here has {shown}; take .svg, which leaves the fonts to the viewer")
    return list(dict.fromkeys(families))
