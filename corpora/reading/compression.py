"""Decompression of gzip, bzip2, xz and zstd, recognized by content; truncation is an error."""

import bz2
import lzma
import re
import zlib
from collections.abc import Iterable, Iterator
from typing import Any

from firth.corpora.common.errors import UnreadableError, one_line

# Bounds the memory of one step: zstd can expand 1 KB to some 40 MB, gzip to 1 MB.
_STEP_BYTES = 1 << 10
_MOST_BYTES = 4 << 20  # at once of bzip2 and xz: a block of bzip2 holds any number of equal bytes
_LEAST_WINDOW = 128 << 20  # as the zstd command takes without an option

_MAGIC = {
    "gzip": re.compile(rb"\x1f\x8b"),
    "bzip2": re.compile(rb"BZh[1-9](?:1AY&SY|\x17rE8P\x90)"),
    "xz": re.compile(rb"\xfd7zXZ\0"),
    "zstd": re.compile(rb"\x28\xb5\x2f\xfd|[\x50-\x5f]\x2a\x4d\x18"),
}
_COMMANDS = {"xz": "xz -dk", "zstd": "zstd -d -M2048MB"}
_ERRORS = (zlib.error, lzma.LZMAError, OSError, EOFError, ValueError)


def compression_of(head: bytes) -> str | None:
    """Return gzip, bzip2, xz, zstd or None, given the first ten bytes of a file."""
    return next((kind for kind, magic in _MAGIC.items() if magic.match(head)), None)


def decompress(
    chunks: Iterable[bytes], kind: str, source: str, most_bytes: float = 0
) -> Iterator[bytes]:
    """Decompress a stream of concatenated members, with a window of ``most_bytes`` or 128 MiB."""
    window = int(min(max(most_bytes, _LEAST_WINDOW), 1 << 31))
    decoder, errors = _decoder(kind, window)
    for step in _steps(chunks):
        while step:
            if decoder.eof:
                step = step.lstrip(b"\0") if kind in ("gzip", "xz") else step  # their padding
                if not step:
                    break
                decoder, errors = _decoder(kind, window)
            try:
                yield from _expand(decoder, step)
            except errors as error:
                if "memory" in str(error).lower():
                    raise UnreadableError(
                        f"{source}: its {kind} data need more than {window >> 20} MiB at once; "
                        f"pass more `memory`, or decompress it first: {_COMMANDS[kind]} {source}"
                    ) from None
                raise UnreadableError(
                    f"{source}: the {kind} data is corrupt ({one_line(error)}); download the file "
                    "again"
                ) from error
            step = decoder.unused_data if decoder.eof else b""
    if not decoder.eof:
        raise UnreadableError(f"{source}: the {kind} data is truncated; download the file again")


def _expand(decoder: Any, step: bytes) -> Iterator[bytes]:
    """Yield what a step expands to, in pieces if the decoder can divide it."""
    if not hasattr(decoder, "needs_input"):
        yield decoder.decompress(step)
        return
    yield decoder.decompress(step, _MOST_BYTES)
    while not (decoder.eof or decoder.needs_input):
        yield decoder.decompress(b"", _MOST_BYTES)


def _steps(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Split chunks into steps small enough to decompress one at a time."""
    for chunk in chunks:
        for start in range(0, len(chunk), _STEP_BYTES):
            yield chunk[start : start + _STEP_BYTES]


def _decoder(kind: str, window: int) -> tuple[Any, tuple[type[Exception], ...]]:
    """Return a decompressor and its errors."""
    if kind == "gzip":
        return zlib.decompressobj(wbits=31), _ERRORS
    if kind == "bzip2":
        return bz2.BZ2Decompressor(), _ERRORS
    if kind == "xz":
        return lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=window + _MOST_BYTES), _ERRORS
    import zstandard  # lazy: seldom needed

    decoder = zstandard.ZstdDecompressor(max_window_size=window).decompressobj()
    return decoder, (zstandard.ZstdError,)
