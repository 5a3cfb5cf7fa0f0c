"""gzip, bzip2, xz and zstd, known by their first bytes and held to be complete."""

import bz2
import lzma
import re
import zlib
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from corpora.common.errors import SourceError

# What one step can expand to is bounded by what it is fed: a zstd bomb makes
# about 128 MB of 4 KB, the others less.
_STEP_BYTES = 4 << 10

_BEGINNINGS = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}


def _zstd() -> Any:
    """A decompressor for any window that zstd can write (``--long=31``)."""
    import zstandard

    return zstandard.ZstdDecompressor(max_window_size=1 << 31).decompressobj()


_DECOMPRESSORS: dict[str, Callable[[], Any]] = {
    "gzip": lambda: zlib.decompressobj(wbits=31),
    "bzip2": bz2.BZ2Decompressor,
    "xz": lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ),
    "zstd": _zstd,
}


_DAMAGES = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


def compression_of(head: bytes) -> str | None:
    """Tell how a file is compressed."""
    return next((kind for kind, begins in _BEGINNINGS.items() if begins.match(head)), None)


def decompress(chunks: Iterable[bytes], kind: str, source: str) -> Iterator[bytes]:
    """Decompress a stream of one or several members."""
    decoder = _DECOMPRESSORS[kind]()
    for step in _steps(chunks):
        while step:
            if decoder.eof:
                step = _next_member(step, kind)
                if not step:
                    break
                decoder = _DECOMPRESSORS[kind]()
            yield _expand(decoder, step, kind, source)
            step = decoder.unused_data if decoder.eof else b""
    if not decoder.eof:
        raise SourceError(
            f"{source}: the {kind} data end too soon; the file is truncated: fetch it again"
        )


def _steps(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Pieces small enough to expand one at a time."""
    for chunk in chunks:
        for start in range(0, len(chunk), _STEP_BYTES):
            yield chunk[start : start + _STEP_BYTES]


def _next_member(step: bytes, kind: str) -> bytes:
    """What follows a member; gzip and xz may be padded with zeros."""
    return step.lstrip(b"\0") if kind in ("gzip", "xz") else step


def _expand(decoder: Any, step: bytes, kind: str, source: str) -> bytes:
    """One step; every library's own error becomes ours."""
    damages = _zstd_error() if kind == "zstd" else _DAMAGES
    try:
        expanded: bytes = decoder.decompress(step)
    except damages as error:
        raise SourceError(
            f"{source}: the {kind} data are damaged ({_one_line(error)}); fetch the file again"
        ) from error
    return expanded


def _zstd_error() -> type[Exception]:
    """What zstandard raises; imported only where zstd is read."""
    import zstandard

    return zstandard.ZstdError


def _one_line(error: Exception) -> str:
    """The library's words, on one line."""
    return " ".join(str(error).split()) or type(error).__name__
