"""Streaming conversion of any encoding to UTF-8 with LF line ends."""

import codecs
import re
import threading
from collections.abc import Iterable, Iterator

from firth.corpora.common.errors import UnreadableError

_SLICE_BYTES = 16 << 10

_BYTE_ORDER_MARKS = {  # longest first: the UTF-32 mark starts with the UTF-16 mark
    codecs.BOM_UTF32_LE: "UTF-32",
    codecs.BOM_UTF32_BE: "UTF-32",
    codecs.BOM_UTF16_LE: "UTF-16",
    codecs.BOM_UTF16_BE: "UTF-16",
}
_REPLACE = "firth-count-and-replace"
_replaced = threading.local()


def _count_and_replace(error: UnicodeError) -> tuple[str, int]:
    """Codec error handler: insert U+FFFD and count the replaced bytes per thread."""
    if not isinstance(error, UnicodeDecodeError):
        raise error
    _replaced.bytes += error.end - error.start
    return "\ufffd", error.end


codecs.register_error(_REPLACE, _count_and_replace)


def line_of(data: bytes, offset: int, first_line: int) -> int:
    """Return the line number of a byte offset, counting from ``first_line``."""
    return first_line + data.count(b"\n", 0, offset)


def checked_utf8(data: bytes, source: str, first_line: int, errors: str) -> tuple[bytes, int]:
    """Return whole lines of UTF-8 without NULs, and how many bytes were replaced; or raise."""
    nul = data.find(b"\0")
    if nul < 0 and _is_utf8(data):
        return data, 0
    if errors == "replace":
        _replaced.bytes = data.count(b"\0")
        text = data.decode("utf-8", _REPLACE).replace("\0", "\ufffd")
        return text.encode(), _replaced.bytes
    try:
        data.decode()
        line = line_of(data, nul, first_line)
        raise UnreadableError(
            f"{source}:{line}: contains a NUL byte; pass `errors=replace` if the file "
            "is otherwise text"
        )
    except UnicodeDecodeError as error:
        line = line_of(data, error.start, first_line)
        ascii_before = data[: error.start].isascii()  # else it is UTF-8, cut or damaged
        remedy = guess_encoding(data, error.start) if ascii_before else "`errors=replace`"
        raise UnreadableError(
            f"{source}:{line}: byte 0x{data[error.start]:02X} is not UTF-8; pass {remedy}"
        ) from None


def guess_encoding(data: bytes, at: int) -> str:
    """Suggest ``encoding`` for text with a byte that is not UTF-8: a Western one, or others."""
    near = data[max(0, at - 1000) : at + 1000]
    if 3 * sum(byte >= 0x80 for byte in near) > len(near):
        return "`encoding=gb18030` or `encoding=koi8-r`"
    windows = any(0x80 <= byte <= 0x9F for byte in near)  # these are control codes in latin-1
    return f"`encoding={'windows-1252' if windows else 'latin-1'}`"


def is_utf8(encoding: str) -> bool:
    """Return whether a codec name means UTF-8."""
    return codecs.lookup(encoding).name in ("utf-8", "utf-8-sig")


class Recoder:
    """Re-encodes chunks as UTF-8; ``replaced`` counts the bytes replaced."""

    def __init__(self, source: str, encoding: str, errors: str) -> None:
        self.source = source
        self.encoding = encoding
        self.replaced = 0
        self._line = 1
        handler = _REPLACE if errors == "replace" else "strict"
        self._decoder = codecs.getincrementaldecoder(encoding)(handler)

    def recode(self, chunks: Iterable[bytes]) -> Iterator[bytes]:
        """Yield UTF-8 cut between characters; input chunks may be cut inside them."""
        for chunk in chunks:
            yield self._step(chunk, final=False)
        yield self._step(b"", final=True)

    def _step(self, chunk: bytes, final: bool) -> bytes:
        """Re-encode one chunk; errors name the line."""
        _replaced.bytes = 0
        try:
            text = self._decoder.decode(chunk, final)
        except UnicodeDecodeError as error:
            before = error.object[: error.start].decode(error.encoding, "replace")
            raise UnreadableError(
                f"{self.source}:{self._line + _count_text_lines(before)}: byte "
                f"0x{error.object[error.start]:02X} is not {self.encoding}; "
                "pass another `encoding`, or `errors=replace`"
            ) from None
        except UnicodeError as error:  # some codecs, such as punycode, give no position
            raise UnreadableError(
                f"{self.source}: not {self.encoding} ({error}); pass another `encoding`"
            ) from None
        self.replaced += _replaced.bytes
        self._line += _count_text_lines(text)
        # some codecs (unicode_escape) let lone surrogates through
        return text.encode("utf-8", "replace")


def refuse_utf16(head: bytes, source: str) -> None:
    """Raise if the first bytes are a UTF-16 or UTF-32 byte order mark."""
    for mark, name in _BYTE_ORDER_MARKS.items():
        if head.startswith(mark):
            raise UnreadableError(
                f"{source}: starts with a {name} byte order mark; pass `encoding={name.lower()}`"
            )


def strip_byte_order_mark(chunks: Iterable[bytes]) -> Iterator[bytes]:
    """Strip a leading UTF-8 byte order mark and drop empty chunks.

    The first chunk must have at least three bytes if the stream has.
    """
    first = True
    for chunk in chunks:
        if first and chunk:
            chunk, first = chunk.removeprefix(codecs.BOM_UTF8), False
        if chunk:
            yield chunk


def normalize_line_ends(chunks: Iterable[bytes]) -> Iterator[bytes]:
    r"""Convert ``\r\n`` and lone ``\r`` to ``\n``, even where a chunk ends between the two."""
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
    r"""Count line ends: ``\n``, ``\r\n`` or ``\r``."""
    if "\r" not in text:
        return text.count("\n")
    return len(re.findall(r"\r\n?|\n", text))


def _is_utf8(data: bytes) -> bool:
    """Return whether data is UTF-8; slices that fit the cache decode several times as fast."""
    if data.isascii():
        return True
    start = 0
    while start < len(data):
        end = start + _SLICE_BYTES
        for _ in range(3):  # step back to a character boundary: at most 3 continuation bytes
            end -= end < len(data) and data[end] & 0xC0 == 0x80
        try:
            data[start:end].decode()
        except UnicodeDecodeError:
            return False
        start = end
    return True
