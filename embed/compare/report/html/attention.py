"""Attention section of the page: weights between the pieces of a sentence, as pictures."""

import base64
import struct
import zlib
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from firth.embed.compare.report.contents import Attention
from firth.embed.compare.report.names import cut_name

_SLOT = 20  # drawing units per piece
_LETTER = 7.0  # approximate width of a letter
_LONGEST = 14  # letters shown of a piece
_COLOR = (0x1F, 0x7A, 0xC4)  # readable in light and dark mode


def attention_view(
    attention: Mapping[str, Sequence[Attention | str]],
) -> list[tuple[str, dict[str, Any] | str]]:
    """Lay out the attention of each run, or why it has none: layer means, heads, a table."""
    return [
        (run, each if isinstance(each, str) else _sentence(each))
        for run, found in attention.items()
        for each in found
    ]


def _sentence(attention: Attention) -> dict[str, Any]:
    """Lay out the attention of one run over one sentence."""
    means = attention.weights.astype(np.float64).mean(axis=1)
    pieces = attention.pieces
    shown = [cut_name(piece, _LONGEST) for piece in pieces]
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
            {"number": number, "mean": _source(mean), "heads": [_source(head) for head in heads]}
            for number, mean, heads in zip(attention.layers, means, attention.weights, strict=True)
        ],
    }


def png_of(weights: np.ndarray) -> bytes:
    """Return a PNG of a matrix in one color, with opacity proportional to weight."""
    # weights: float (H, W)
    high, wide = weights.shape
    opacity = np.round(255 * weights / max(float(weights.max()), 1e-12)).astype(np.uint8)
    pixels = np.empty((high, 1 + 4 * wide), dtype=np.uint8)
    pixels[:, 0] = 0  # filter type: none
    for channel, value in enumerate(_COLOR):
        pixels[:, 1 + channel :: 4] = value
    pixels[:, 4::4] = opacity
    head = struct.pack(">IIBBBBB", wide, high, 8, 6, 0, 0, 0)
    chunks = ((b"IHDR", head), (b"IDAT", zlib.compress(pixels.tobytes(), 9)), (b"IEND", b""))
    return b"\x89PNG\r\n\x1a\n" + b"".join(_chunk(kind, data) for kind, data in chunks)


def _chunk(kind: bytes, data: bytes) -> bytes:
    """Return a PNG chunk: length, type, data, CRC."""
    return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))


def _source(weights: np.ndarray) -> str:
    """Return a picture as a data URL."""
    return f"data:image/png;base64,{base64.b64encode(png_of(weights)).decode('ascii')}"
