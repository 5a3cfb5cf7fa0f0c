"""Expands sources into files and opens each as a stream of UTF-8."""

import errno
import hashlib
import itertools
import math
import os
import re
import stat
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any, BinaryIO

from firth.corpora.artifacts.artifact import LOCK, artifact_paths
from firth.corpora.artifacts.kinds import kind_of, with_article
from firth.corpora.common.errors import SourceError, UnreadableError
from firth.corpora.common.reporting import note
from firth.corpora.common.urls import public
from firth.corpora.reading.compression import compression_of, decompress
from firth.corpora.reading.decoding import (
    Recoder,
    is_utf8,
    normalize_line_ends,
    refuse_utf16,
    strip_byte_order_mark,
)
from firth.corpora.reading.line_ends import BlockLimit
from firth.corpora.reading.remote import is_url, open_remote, remote_files
from firth.corpora.reading.text_blocks import FORMATS, ReadOptions

STANDARD_INPUT = "-"
# what Parquet, Spark and Delta write beside the data
_METADATA = {"_metadata", "_common_metadata", "_SUCCESS", "_delta_log", "_temporary"}
# what is about data: left out beside files of a format that is named by their endings
_ABOUT = re.compile(
    r"(?:README|LICEN[CS]E|COPYING|NOTICE|CITATION|dataset_infos?)(?:[._-].*)?", re.IGNORECASE
)
# Parquet and XML are recognized by content alone
_ENDINGS = (".parquet", ".xml", *(end for _, *endings in FORMATS.values() for end in endings))
_DATA = re.compile(
    rf".*(?:{'|'.join(map(re.escape, _ENDINGS))})(?:\.(?:gz|bz2|xz|zstd?))?", re.IGNORECASE
)


@dataclass(frozen=True)
class SourceFile:
    """One file to read."""

    name: str  # for messages: the path as given, or folder as given plus relative path
    path: Path | None  # None for standard input and URLs
    size: int | None  # bytes; None for standard input and pipes
    mtime_ns: int | None  # None for standard input and pipes
    named: bool = True  # False if found in a folder
    start: int = 0  # byte in or at the end of the line before the first one to read
    url: str | None = field(default=None, repr=False)  # with what must not be published
    etag: str | None = None  # of a URL or text in memory: changes with its contents

    def __str__(self) -> str:
        return self.name


def source_files(
    sources: Sequence[str | os.PathLike[str] | SourceFile], *, exclude: Path | None = None
) -> list[SourceFile]:
    """List the files of sources in reading order; folders are walked and sorted by path.

    A string with ``://`` is a URL, in which ``*`` stands for any name.

    Hidden files are skipped, and so is the corpus directory ``exclude`` with its temporary
    siblings. Raises SourceError for a source that is missing, unreadable or without files, and
    for standard input named twice.
    """
    files: list[SourceFile] = []
    for source in sources:
        if isinstance(source, SourceFile):
            files.append(source)
        elif str(source) == STANDARD_INPUT:
            files.append(SourceFile("<stdin>", None, None, None))
        elif is_url(source):
            for file in remote_files(str(source)):
                marks, named = asdict(file), file.url == source
                if not named and any(map(_is_hidden, file.url[len(str(source)) :].split("/"))):
                    continue
                files.append(SourceFile(public(file.url), None, named=named, **marks))
        elif os.path.isdir(source):
            files.extend(_folder_files(Path(source), exclude))
        else:
            files.append(_source_file(Path(source), named=True))
    if not files:
        raise SourceError("no source given; pass files, folders or - for standard input")
    times = sum(file.path is None and file.url is None for file in files)
    if times > 1:
        raise SourceError(f"<stdin>: named {times} times; it can be read only once")
    return files


def _source_file(path: Path, named: bool) -> SourceFile:
    """Stat one file; pipes have neither size nor time."""
    name = _name(path)
    try:
        status = path.stat()
    except (FileNotFoundError, ValueError):  # ValueError: NUL
        may_be_text = len(name.split()) > 1 or "\0" in name
        remedy = "pass text itself in a list: [text]" if may_be_text else "check the path"
        raise SourceError(f"{name}: no such file or folder; {remedy}") from None
    except OSError as error:
        if error.errno == errno.ENAMETOOLONG:
            raise SourceError(
                f"{name[:40]}...: no such file or folder; pass text itself in a list: [text]"
            ) from None
        raise SourceError(f"{name}: cannot be read ({error.strerror})") from None
    if not stat.S_ISREG(status.st_mode):
        return SourceFile(name, path, None, None, named)
    return SourceFile(name, path, status.st_size, status.st_mtime_ns, named)


def _found_file(path: Path) -> SourceFile:
    """Stat one file found in a folder; if that fails, as for a dangling link, reading it will."""
    try:
        return _source_file(path, named=False)
    except SourceError:
        return SourceFile(_name(path), path, 0, 0, named=False)


def _name(path: Path) -> str:
    """Return a path as text; bytes that are not UTF-8 become U+FFFD."""
    return os.fsencode(path).decode("utf-8", "replace")


def _folder_files(folder: Path, exclude: Path | None) -> list[SourceFile]:
    """List all regular files below a folder, sorted by path."""
    skipped = set() if exclude is None else set(artifact_paths(exclude))
    found = (path for path in _walk(folder, (), skipped) if not path.name.endswith(LOCK))
    paths = sorted(found, key=lambda path: path.parts)
    data = [path for path in paths if _DATA.fullmatch(path.name)]
    about = [path for path in sorted({*paths} - {*data}) if _ABOUT.fullmatch(path.name)]
    if about and data and len(data) + len(about) == len(paths):
        names = ", ".join(map(_name, about[:5])) + ", ..." * (len(about) > 5)
        note(f"{_name(folder)}: left out what only describes the data: {names}")
        paths = data
    files = [_found_file(path) for path in paths]
    files = [file for file in files if file.size is not None]
    if not any(file.size for file in files):
        kind = "only empty files" if files else "no files (hidden files are skipped)"
        raise SourceError(
            f"{_name(folder)}: the folder contains {kind}; pass one that contains text"
        )
    return files


def _walk(
    folder: Path, ancestors: tuple[tuple[int, int], ...], skipped: set[Path]
) -> Iterator[Path]:
    """Yield files below a folder; links to folders are followed unless they form a cycle."""
    if Path(os.path.realpath(folder)) in skipped:
        return
    try:
        status = folder.stat()
        entries = [entry for entry in os.scandir(folder) if not _is_hidden(entry.name)]
    except OSError as error:
        raise SourceError(f"{_name(folder)}: cannot be read ({error.strerror})") from None
    folder_id = (status.st_dev, status.st_ino)
    if folder_id in ancestors:
        return
    if kind := kind_of(folder):
        raise SourceError(
            f"{_name(folder)}: {with_article(kind)} inside the text; move it away, or "
            "name the files of the text"
        )
    for entry in entries:
        if os.path.isdir(entry):  # entry.is_dir() fails on a link to itself
            yield from _walk(folder / entry.name, (*ancestors, folder_id), skipped)
        else:
            yield folder / entry.name


def _is_hidden(name: str) -> bool:
    """Return whether an entry of a folder is not read."""
    return name.startswith((".", "_committed_", "_started_")) or name in _METADATA


class Stream:
    """An open source that hashes and counts its raw bytes as they are read.

    A piece of more than ``most_bytes`` that cannot be divided is refused.
    ``head`` is at least the first four decompressed bytes, if there are so many;
    ``is_plain_file`` is False for pipes, URLs and compressed files.
    """

    def __init__(
        self,
        file: SourceFile,
        options: ReadOptions,
        chunk_bytes: int,
        most_bytes: float = math.inf,
    ) -> None:
        self.name = file.name
        self.limit = BlockLimit(file.name, most_bytes)
        self.file = file
        self._recoder = Recoder(file.name, options.encoding, options.errors)
        self._utf8 = is_utf8(options.encoding)
        self.found: dict[str, bool] = {}  # what a corpus records about the file
        self._sha256 = hashlib.sha256()
        self._consumed = 0
        raw_head, chunks = peek(self._read(chunk_bytes), 10)
        kind = compression_of(raw_head)
        self.is_plain_file = kind is None and file.path is not None and file.size is not None
        if kind:
            chunks = decompress(chunks, kind, file.name, most_bytes)
        self.head, self._chunks = peek(chunks, 4)

    def text(self) -> Iterator[bytes]:
        """Yield non-empty chunks of UTF-8 with LF line ends; UTF-8 input is not validated here."""
        if self._utf8:
            refuse_utf16(self.head, self.name)
            chunks = self._chunks
        else:
            chunks = self._recoder.recode(self._chunks)
        _, chunks = peek(chunks, 3)
        return normalize_line_ends(strip_byte_order_mark(chunks))

    def drain(self, copy: BinaryIO | None = None) -> None:
        """Read to the end for the digest, writing decompressed bytes to ``copy``."""
        for chunk in self._chunks:
            if copy is not None:
                copy.write(chunk)

    def digest(self) -> str:
        """Return the hexadecimal SHA-256 of the raw bytes read so far."""
        return self._sha256.hexdigest()

    def take_consumed(self) -> int:
        """Return the raw bytes read since the last call."""
        consumed, self._consumed = self._consumed, 0
        return consumed

    def take_counts(self) -> dict[str, int]:
        """Return ``replaced_bytes`` of decoding since the last call, empty if none."""
        replaced, self._recoder.replaced = self._recoder.replaced, 0
        return {"replaced_bytes": replaced} if replaced else {}

    def add_replaced(self, replaced: int) -> None:
        """Add bytes that a reader replaced before cutting blocks."""
        self._recoder.replaced += replaced

    def _read(self, chunk_bytes: int) -> Iterator[bytes]:
        """Yield the raw bytes, hashing and counting them."""
        try:
            with self._open() as handle:
                if self.file.start:
                    handle.seek(self.file.start)
                    _skip_line(handle, chunk_bytes)
                while chunk := handle.read(chunk_bytes):
                    self._sha256.update(chunk)
                    self._consumed += len(chunk)
                    yield chunk
        except OSError as error:
            raise UnreadableError(f"{self.name}: cannot be read ({error.strerror})") from error

    def _open(self) -> AbstractContextManager[Any]:
        """Open the file; standard input is left open afterwards."""
        if self.file.url is not None:
            return open_remote(self.file.url)
        if self.file.path is None:
            if sys.stdin is None:
                raise SourceError(
                    f"{self.name}: standard input is closed; pipe text into it or name a file"
                )
            return nullcontext(sys.stdin.buffer)
        # an unbuffered pipe returns short reads; with a buffer, blocks do not depend on timing
        return open(self.file.path, "rb", buffering=-1 if self.file.size is None else 0)


def _skip_line(handle: Any, chunk_bytes: int) -> None:
    """Move to the start of the next line."""
    while chunk := handle.read(chunk_bytes):
        after = chunk.find(b"\n") + 1
        if after:
            handle.seek(after - len(chunk), 1)
            return


def peek(chunks: Iterable[bytes], size: int) -> tuple[bytes, Iterator[bytes]]:
    """Return at least ``size`` bytes, if there are so many, and the whole stream again."""
    rest = iter(chunks)
    head = b""
    while len(head) < size:
        chunk = next(rest, None)
        if chunk is None:
            break
        head = head + chunk if head else chunk
    return head, itertools.chain((head,) if head else (), rest)
