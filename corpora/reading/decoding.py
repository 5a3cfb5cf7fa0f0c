"""Bytes in any encoding to UTF-8 with LF line ends, chunk by chunk."""

import codecs
import re
import threading
from collections.abc import Iterable, Iterator

from corpora.common.errors import SourceError

_SURE_BYTES = 16 << 10

_BYTE_ORDER_MARKS = {  # the longer ones first: UTF-32's begins with UTF-16's
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_REPLACE = "firth-count-and-replace"
_replaced = threading.local()


def _count_and_replace(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: one U+FFFD, the bytes counted for the calling thread."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _replaced.bytes += error.end - error.start
    return "\ufffd", error.end


codecs.register_error(_REPLACE, _count_and_replace)


def decode_replacing(data: bytes, encoding: str) -> tuple[str, int]:
    """Decode, replacing what cannot be decoded."""
    _replaced.bytes = 0
    return data.decode(encoding, _REPLACE), _replaced.bytes


def line_of(data: bytes, offset: int, first_line: int) -> int:
    """Number the line that holds a byte."""
    return first_line + data.count(b"\n", 0, offset)


def checked_utf8(data: bytes, source: str, first_line: int, errors: str) -> tuple[bytes, int]:
    """Hold bytes to be UTF-8 without NULs."""
    nul = data.find(b"\0")
    if nul < 0 and _is_utf8(data):
        return data, 0
    if errors == "replace":
        text, replaced = decode_replacing(data, "utf-8")
        return text.replace("\0", "\ufffd").encode(), replaced + data.count(b"\0")
    try:
        data.decode()
        line = line_of(data, nul, first_line)
        raise SourceError(
            f"{source}:{line}: a NUL byte, which no text holds; pass --errors replace if the "
            "file is text otherwise"
        )
    except UnicodeDecodeError as error:
        line = line_of(data, error.start, first_line)
        raise SourceError(
            f"{source}:{line}: byte 0x{data[error.start]:02X} is not UTF-8; "
            f"pass {_remedy(data, error.start)}"
        ) from None


def _remedy(data: bytes, at: int) -> str:
    """What to pass where a byte is not UTF-8: it was so far, or is hardly ASCII, or is western."""
    if not data[:at].isascii():
        return "--errors replace"
    near = data[max(0, at - 1000) : at + 1000]
    if 3 * sum(byte >= 0x80 for byte in near) > len(near):
        return "its --encoding, such as gb18030 or koi8-r"
    windows = any(0x80 <= byte <= 0x9F for byte in near)  # control characters in latin-1
    return "--encoding windows-1252" if windows else "--encoding latin-1"


def is_utf8(encoding: str) -> bool:
    """Tell whether an encoding's bytes are UTF-8 already."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


class Recoder:
    """Turns chunks in one encoding into UTF-8, counting what it replaced."""

    def __init__(self, source: str, encoding: str, errors: str) -> None:
        self.source = source
        self.encoding = encoding
        self.replaced = 0
        self._line = 1
        handler = _REPLACE if errors == "replace" else "strict"
        self._decoder = codecs.getincrementaldecoder(encoding)(handler)

    def recode(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Decode and encode again."""
        for chunk in chunks:
            yield self._step(chunk, final=False)
        yield self._step(b"", final=True)

    def _step(self, chunk: bytes, final: bool) -> bytes:
        """One chunk; the message of an error names the line."""
        _replaced.bytes = 0
        try:
            text = self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(error.encoding, "replace")
            raise SourceError(
                f"{self.source}:{self._line + _count_text_lines(before)}: byte "
                f"0x{error.object[error.start]:02X} is not {self.encoding}; "
                "pass another --encoding, or --errors replace"
            ) from None
        except UnicodeError as error:  # of codecs that tell no place, such as punycode
            raise SourceError(
                f"{self.source}: is not {self.encoding} ({error}); pass another --encoding"
            ) from None
        self.replaced += _replaced.bytes
        self._line += _count_text_lines(text)
        # some codecs (unicode_escape) let half a surrogate pair through
        return text.encode("utf-8", "replace")


def refuse_wide(head: bytes, source: str) -> None:
    """Refuse UTF-16 and UTF-32 where UTF-8 is expected."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise SourceError(
                f"{source}: begins with a {name} byte order mark; pass --encoding {name.lower()}"
            )


def without_mark(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Strip a UTF-8 byte order mark at the beginning."""
    first = True
    for chunk in chunks:
        if first and chunk:
            chunk, first = chunk.removeprefix(codecs.BOM_UTF8), False
        if chunk:
            yield chunk


def unix_lines(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Make every line end ``\n``, whether it was ``\r\n`` or a lone ``\r``."""
    held = b""
    for chunk in chunks:
        chunk, held = held + chunk if held else chunk, b""
        if b"\r" in chunk:
            if chunk.endswith(b"\r"):
                chunk, held = chunk[:-1], b"\r"
            chunk = chunk.replace(b"\r\n", b"\n").replace(b"\r", b"\n")
        if chunk:
            yield chunk
    if held:
        yield b"\n"


def _count_text_lines(text: str) -> int:
    """Line ends of any of the three kinds."""
    if "\r" not in text:
        return text.count("\n")
    return len(re.findall(r"\r\n?|\n", text))


def _is_utf8(data: bytes) -> bool:
    """Decode piece by piece: pieces that fit the cache pass several times as fast."""
    if data.isascii():
        return True
    start = 0
    while start < len(data):
        end = start + _SURE_BYTES
        for _ in range(3):  # not inside a character, which has three bytes more at most
            end -= end < len(data) and data[end] & 0xC0 == 0x80
        try:
            data[start:end].decode()
        except UnicodeDecodeError:
            return False
        start = end
    return True
