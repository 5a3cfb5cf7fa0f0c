"""Attention on the page: what every piece of a sentence takes from every other, as pictures."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from embed.compare.report.contents import Attention

_SLOT = 20  # units of the drawing that a piece takes
_LETTER = 7.0  # about what a letter takes
_LONGEST = 14  # letters of a piece
_INK = (0x1F, 0x7A, 0xC4)  # on light and on dark paper


def attention_view(
    attention: Mapping[str, Sequence[Attention | str] | str],
) -> list[tuple[str, dict[str, Any] | str]]:
    """Lay out where models look: the mean of each layer's heads, every head, and in words."""
    # attention: mapping of str to (sequence of (Attention or str) or str)
    return [
        (run, each if isinstance(each, str) else _sentence(each))
        for run, found in attention.items()
        for each in ([found] if isinstance(found, str) else found)
    ]


def _sentence(attention: Attention) -> dict[str, Any]:
    """Where one model looks while it reads one sentence."""
    means = attention.weights.astype(np.float64).mean(axis=1)
    pieces = attention.pieces
    shown = [piece if len(piece) <= _LONGEST else f"{piece[: _LONGEST - 1]}…" for piece in pieces]
    return {
        "text": attention.text,
        "side": _SLOT * len(pieces),
        "room": 8 + round(_LETTER * max(map(len, shown))),
        "pieces": [
            {
                "piece": piece,
                "shown": shown[place],
                "middle": _SLOT * place + _SLOT // 2,
                "most": [(pieces[int(row.argmax())], float(row.max())) for row in means[:, place]],
            }
            for place, piece in enumerate(pieces)
        ],
        "layers": [
            {"mean": _source(mean), "heads": [_source(head) for head in heads]}
            for mean, heads in zip(means, attention.weights, strict=True)
        ],
    }


def png_of(weights: np.ndarray) -> bytes:
    """Make a PNG of a matrix: one color, the more opaque the larger a weight."""
    # weights: float (H, W)
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
