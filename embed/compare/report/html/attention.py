"""Attention drawn for a report: what every piece of a sentence takes from every other."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence

import numpy as np

from embed.compare.report.contents import Attention
from embed.compare.report.html.escape import Html, decimal, fold, join, name, table, tag
from embed.compare.report.html.intervals import Look

_SLOT = 20  # units of the drawing that a piece takes
_LETTER = 7.0  # about what a letter takes
_LONGEST = 14  # letters of a piece
_INK = (0x1F, 0x7A, 0xC4)  # on light and on dark paper


def show_attention(
    attention: Mapping[str, Sequence[Attention | str] | str], looks: Mapping[str, Look]
) -> Html:
    """Show where models look: the mean of each layer's heads, every head, and in words.

    Parameters
    ----------
    attention : mapping of str to (sequence of (Attention or str) or str)
        By run, of some sentences; lines tell why there is none, or none of a sentence.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        Rows attend to columns; each picture has its own scale, the largest weight is strongest.
    """
    return join(
        (
            tag("p", looks[run].show(), each)
            if isinstance(each, str)
            else _sentence(each, looks[run])
            for run, found in attention.items()
            for each in ([found] if isinstance(found, str) else found)
        ),
        "\n",
    )


def _sentence(attention: Attention, look: Look) -> Html:
    """Where one model looks while it reads one sentence."""
    n_heads = attention.weights.shape[1]
    means = attention.weights.astype(np.float64).mean(axis=1)
    layers = [
        _labelled(mean, attention.pieces, f"Layer {layer}, mean of {n_heads} heads")
        for layer, mean in enumerate(means)
    ]
    heads = [
        _small(weights, f"layer {layer}, head {head}")
        for layer, of_layer in enumerate(attention.weights)
        for head, weights in enumerate(of_layer)
    ]
    return join(
        [
            tag("p", tag("q", attention.text, dir="auto"), ", read by ", look.show()),
            tag("div", *layers, class_="heads"),
            fold("Every head", tag("div", *heads, class_="heads")),
            fold("In words: where each piece looks most", _most(means, attention.pieces)),
        ],
        "\n",
    )  # fmt: skip


def png_of(weights: np.ndarray) -> bytes:
    """Make a PNG of a matrix: one color, the more opaque the larger a weight.

    Parameters
    ----------
    weights : float (H, W)
        Not negative.

    Returns
    -------
    bytes
        H x W pixels, red, green, blue and opacity (W3C PNG, third edition, color type 6).
    """
    high, wide = weights.shape
    opacity = np.round(255 * weights / max(float(weights.max()), 1e-12)).astype(np.uint8)
    pixels = np.empty((high, 1 + 4 * wide), dtype=np.uint8)
    pixels[:, 0] = 0  # lines without a filter
    for channel, value in enumerate(_INK):
        pixels[:, 1 + channel :: 4] = value
    pixels[:, 4::4] = opacity
    head = struct.pack(">IIBBBBB", wide, high, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(pixels.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    """A part of a PNG: length, kind, content, checksum."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _source(weights: np.ndarray) -> str:
    """A picture as an address that needs no network."""
    return f"data:image/png;base64,{base64.b64encode(png_of(weights)).decode('ascii')}"


def _labelled(weights: np.ndarray, pieces: Sequence[str], title: str) -> Html:
    """A matrix with its pieces at the left and below."""
    shown = [piece if len(piece) <= _LONGEST else f"{piece[: _LONGEST - 1]}…" for piece in pieces]
    side, room = _SLOT * len(pieces), 8 + round(_LETTER * max(map(len, shown)))
    middles = [_SLOT * place + _SLOT // 2 for place in range(len(pieces))]
    rows = [
        tag("text", piece, x=room - 5, y=middle + 4, class_="end")
        for piece, middle in zip(shown, middles, strict=True)
    ]
    columns = [
        tag("text", piece, class_="end", transform=f"translate({room + middle + 4} {side + 6}) "
            "rotate(-90)")
        for piece, middle in zip(shown, middles, strict=True)
    ]  # fmt: skip
    image = tag(
        "image", href=_source(weights), x=room, y=0, width=side, height=side,
        preserveAspectRatio="none",
    )  # fmt: skip
    frame = tag("rect", x=room, y=0, width=side, height=side, class_="frame")
    wide, high = room + side + 2, side + room
    picture = tag(
        "svg", frame, image, *rows, *columns, class_="attention", role="img",
        width=wide, height=high, viewBox=f"0 0 {wide} {high}",
        aria_label=f"{title}; where each piece looks most is told in words below",
    )  # fmt: skip
    return tag("figure", tag("figcaption", title), picture)


def _small(weights: np.ndarray, title: str) -> Html:
    """One head without the names of its pieces."""
    image = tag("img", src=_source(weights), alt=title, width=96, height=96)
    return tag("figure", image, tag("figcaption", title))


def _most(means: np.ndarray, pieces: Sequence[str]) -> Html:
    """For each piece and layer, the piece that it takes most from."""
    rows = (
        tag(
            "tr",
            tag("th", name(piece), scope="row"),
            *(_largest(mean[place], pieces) for mean in means),
        )
        for place, piece in enumerate(pieces)
    )
    heads = ("Piece", *(f"Layer {layer}" for layer in range(len(means))))
    return table("Where each piece looks most, mean of all heads", heads, rows)


def _largest(weights: np.ndarray, pieces: Sequence[str]) -> Html:
    """A piece and its weight."""
    place = int(weights.argmax())
    return tag("td", name(pieces[place]), tag("small", f" {decimal(float(weights[place]), 2)}"))
