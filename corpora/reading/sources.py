"""Which files a list of sources stands for, and each of them as a stream of UTF-8."""

import hashlib
import itertools
import os
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from corpora.artifacts.artifact import places
from corpora.common.errors import SourceError
from corpora.reading.compression import compression_of, decompress
from corpora.reading.decoding import Recoder, is_utf8, refuse_wide, unix_lines, without_mark
from corpora.reading.text_blocks import ReadOptions

STANDARD_INPUT = "-"


@dataclass(frozen=True)
class SourceFile:
    """One file to read."""

    name: str  # what messages and documents call it: the path as given, or below the folder given
    path: Path | None  # none for standard input
    size: int | None  # bytes and modification time; None for standard input and pipes
    mtime_ns: int | None  # bytes and modification time; None for standard input and pipes
    named: bool = True  # given by name rather than found in a folder


def source_files(
    sources: Sequence[str | Path | SourceFile], *, apart_from: Path | None = None
) -> list[SourceFile]:
    """List the files that sources stand for, in the order in which they are read."""
    files: list[SourceFile] = []
    for source in sources:
        if isinstance(source, SourceFile):
            files.append(source)
        elif str(source) == STANDARD_INPUT:
            files.append(SourceFile("<stdin>", None, None, None))
        elif os.path.isdir(source):
            files.extend(_folder_files(Path(source), apart_from))
        else:
            files.append(_source_file(Path(source), named=True))
    if not files:
        raise SourceError("no source given; name files, folders or - for standard input")
    times = sum(file.path is None for file in files)
    if times > 1:
        raise SourceError(f"<stdin>: named {times} times; it can be read only once")
    return files


def _source_file(path: Path, named: bool) -> SourceFile:
    """A file's name, size and time; pipes have neither size nor time."""
    name = _name(path)
    try:
        about = path.stat()
    except FileNotFoundError:
        raise SourceError(f"{name}: no such file or folder; check the path") from None
    except OSError as error:
        raise SourceError(f"{name}: cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(about.st_mode):
        return SourceFile(name, path, None, None, named)
    return SourceFile(name, path, about.st_size, about.st_mtime_ns, named)


def _name(path: Path) -> str:
    """A path as text, even where its bytes are none."""
    return os.fsencode(path).decode("utf-8", "replace")


def _folder_files(folder: Path, apart_from: Path | None) -> list[SourceFile]:
    """All regular files below a folder, sorted by path."""
    skipped = set() if apart_from is None else set(places(apart_from))
    paths = sorted(_walk(folder, (), skipped), key=lambda path: path.parts)
    files = [_source_file(path, named=False) for path in paths]
    files = [file for file in files if file.size is not None]
    if not any(file.size for file in files):
        kind = "only empty files" if files else "no files (hidden ones do not count)"
        raise SourceError(f"{_name(folder)}: the folder holds {kind}; name one that holds text")
    return files


def _walk(folder: Path, above: tuple[tuple[int, int], ...], skipped: set[Path]) -> Iterator[Path]:
    """Files below a folder; links to folders are followed unless they lead back up."""
    if Path(os.path.abspath(folder)) in skipped:
        return
    try:
        about = folder.stat()
        entries = [entry for entry in os.scandir(folder) if not entry.name.startswith(".")]
    except OSError as error:
        raise SourceError(f"{_name(folder)}: cannot be read ({error.strerror})") from None
    here = (about.st_dev, about.st_ino)
    if here in above:
        return
    for entry in entries:
        if os.path.isdir(entry):  # entry.is_dir() fails on a link to itself
            yield from _walk(folder / entry.name, (*above, here), skipped)
        else:
            yield folder / entry.name


class Stream:
    """One source, opened: its raw bytes hashed and counted while they pass."""

    def __init__(self, file: SourceFile, options: ReadOptions, chunk_bytes: int) -> None:
        self.name = file.name
        self.file = file
        self._recoder = Recoder(file.name, options.encoding, options.errors)
        self._utf8 = is_utf8(options.encoding)
        self._sha256 = hashlib.sha256()
        self._consumed = 0
        raw_head, chunks = peek(self._read(chunk_bytes), 10)
        kind = compression_of(raw_head)
        self.in_place = kind is None and file.size is not None
        self.head, self._chunks = peek(decompress(chunks, kind, file.name) if kind else chunks, 4)

    def text(self) -> Iterator[bytes]:
        """Recode and make line ends LF."""
        if self._utf8:
            refuse_wide(self.head, self.name)
            chunks = self._chunks
        else:
            chunks = self._recoder.recode(self._chunks)
        _, chunks = peek(chunks, 3)
        return unix_lines(without_mark(chunks))

    def drain(self, copy: BinaryIO | None = None) -> None:
        """Read to the end, for the digest."""
        for chunk in self._chunks:
            if copy is not None:
                copy.write(chunk)

    def digest(self) -> str:
        """Digest the raw bytes that have passed."""
        return self._sha256.hexdigest()

    def take_consumed(self) -> int:
        """Tell how far reading is."""
        consumed, self._consumed = self._consumed, 0
        return consumed

    def take_counts(self) -> dict[str, int]:
        """Tell what decoding before the cut replaced."""
        replaced, self._recoder.replaced = self._recoder.replaced, 0
        return {"replaced_bytes": replaced} if replaced else {}

    def add_replaced(self, replaced: int) -> None:
        """Count bytes that a reader replaced before the cut."""
        self._recoder.replaced += replaced

    def _read(self, chunk_bytes: int) -> Iterator[bytes]:
        """The raw bytes, hashed and counted."""
        try:
            with self._open() as handle:
                while chunk := handle.read(chunk_bytes):
                    self._sha256.update(chunk)
                    self._consumed += len(chunk)
                    yield chunk
        except OSError as error:
            raise SourceError(f"{self.name}: cannot be read ({error.strerror})") from error

    def _open(self) -> AbstractContextManager[Any]:
        """The file, or standard input left open for whoever owns it."""
        if self.file.path is None:
            if sys.stdin is None:
                raise SourceError(f"{self.name}: is closed; pipe text into it or name a file")
            return nullcontext(sys.stdin.buffer)
        # a pipe gives what it has; a buffered one waits for whole chunks, so blocks fall the same
        return open(self.file.path, "rb", buffering=-1 if self.file.size is None else 0)


def peek(chunks: Iterable[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """Look at the beginning of a stream without losing it."""
    rest = iter(chunks)
    head = b""
    while len(head) < size:
        chunk = next(rest, None)
        if chunk is None:
            break
        head = head + chunk if head else chunk
    return head, itertools.chain((head,) if head else (), rest)
