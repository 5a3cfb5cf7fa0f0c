"""Pictures of attention weights: a grid of matrices by layer and head."""

import itertools
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.figures import (
    Picture,
    new_figure,
    picture_kind,
    picture_style,
    replace_undrawable,
    text_width,
    write_figure,
)
from firth.pretrain.inference.attention_weights import SentenceAttention

_SLOT = 0.16  # inches per piece, so that its name is readable
_MIN_SIDE = 1.2  # inches per matrix, so that its title fits
_GAP = 0.12
_MAX = 90.0  # inches of the grid: beyond, a PNG takes gigabytes


def draw_attention(
    attention: SentenceAttention, path: str | Path, *, force: bool = False
) -> Picture:
    """Draw the attention weights of every layer and head to a file.

    The same weights give the same bytes of SVG.

    Parameters
    ----------
    attention : SentenceAttention
        Weights to draw, as :func:`firth.attend` returns them.
    path, force
        As of :func:`firth.draw_map`, whose errors are also raised.

    Returns
    -------
    Picture
        The file; a notebook shows it.
    """
    picture_kind(Path(path))
    with picture_style():
        return write_figure(_lay_out(attention), Path(path), force=force)


def _lay_out(attention: SentenceAttention) -> Any:
    """Lay out matrices of equal size and color scale, with pieces at the left and below."""
    n_layers, n_heads, *lengths = attention.weights.shape
    high, wide = (
        min(max(_MIN_SIDE, _SLOT * length), _MAX / max(n_layers, n_heads)) for length in lengths
    )
    points = min(8.0, *(72 * s / n * 0.8 for s, n in zip((high, wide), lengths, strict=True)))
    beside, under = (
        0.1 + max(text_width(piece, points) for piece in pieces)  # inches
        for pieces in (attention.pieces, attention.keys)
    )
    left, right, top, below = 0.5 + beside, 0.75, 0.6, 0.2 + under
    width = left + n_heads * (wide + _GAP) + right
    height = top + n_layers * (high + _GAP) + below
    figure = new_figure(width, height)

    def place(x: float, y: float, w: float, h: float) -> Any:
        """Add axes by their upper left corner, in inches."""
        return figure.add_axes((x / width, 1 - (y + h) / height, w / width, h / height))

    most = float(attention.weights.max())
    for row, column in itertools.product(range(n_layers), range(n_heads)):
        axes = place(left + column * (wide + _GAP), top + row * (high + _GAP), wide, high)
        weights = attention.weights[row, column]
        # no interpolation, so that every weight is a sharp square in SVG, too
        image = axes.imshow(
            weights, cmap="Blues", vmin=0.0, vmax=most, interpolation="none", aspect="auto"
        )
        axes.tick_params(length=0, labelsize=points)
        axes.set(xticks=[], yticks=[])
        if row == 0:
            axes.set_title(f"head {attention.heads[column]}")
        if column == 0:
            _name(axes.yaxis, attention.pieces)
            middle = 1 - (top + row * (high + _GAP) + high / 2) / height
            layer = f"layer {attention.layers[row]}"
            figure.text(0.15 / width, middle, layer, rotation=90, va="center")
        if row == n_layers - 1:
            _name(axes.xaxis, attention.keys, rotation=90)
    bar = place(width - right + 0.1, top, 0.12, min(n_layers * (high + _GAP) - _GAP, 2.5))
    figure.colorbar(image, cax=bar)
    figure.text(0.15 / width, 1 - 0.2 / height, "rows attend to columns", style="italic")
    return figure


def _name(axis: Any, pieces: Iterable[str], **style: Any) -> None:
    """Label an axis with pieces, without parsing dollars as math."""
    names = [replace_undrawable(piece) for piece in pieces]
    axis.set_ticks(range(len(names)), names, parse_math=False, **style)
