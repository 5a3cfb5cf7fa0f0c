"""Text in memory: lists, data frames and generators, written as JSON Lines for the readers."""

import contextlib
import dataclasses
import datetime
import itertools
import json
import os
import re
import shutil
import tempfile
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence, Set
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import checksum
from firth.corpora.common.cache import cache_folder
from firth.corpora.common.errors import ArtifactError, SettingError, SourceError
from firth.corpora.reading.records import DEFAULT_FIELD, no_field
from firth.corpora.reading.remote import is_url
from firth.corpora.reading.sources import STANDARD_INPUT, SourceFile
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.segment import LONE_SURROGATE

# A path or several, or text itself: a list of strings, a Series, a DataFrame, an iterator of
# strings, of pairs of a text and its fields, of records with named fields, or of lists of tokens.
TextSource = str | os.PathLike[str] | Iterable[Any]
Files = list[str | os.PathLike[str] | SourceFile]

_FILE_NAME = re.compile(r"[/\\]|\.\w{1,8}$")
_LONGEST_NAME = 255  # bytes of a file name, in most file systems
_N_CHECKED = 10  # texts of an iterator that are compared with names of files
_WEEK = 7 * 24 * 3600  # seconds
_MISSING = ("NAType", "NaTType")  # of pandas
_UNORDERED = (Mapping, Set, bytes, bytearray)
_KINDS = (
    "strings, lists of tokens, records with named fields, or pairs of a text and a mapping of "
    "fields"
)


@contextlib.contextmanager
def as_files(
    source: TextSource, read: ReadOptions | None, text: str | None, keep: Iterable[str]
) -> Iterator[tuple[Files, ReadOptions]]:
    """Yield the files of a source, text in memory as a temporary one, and how to read them."""
    read = _with_fields(read or ReadOptions(), text, keep)
    files = paths_of(source)
    if files is not None:
        yield files, read
        return
    name = f"<{type(source).__name__}>"
    # in the cache, which the workers of a cluster may see
    with tempfile.TemporaryDirectory(dir=_cleared_cache()) as folder:
        path = Path(folder, "text.jsonl")
        field = read.field or DEFAULT_FIELD
        kept = _write(source, name, path, field, read.keep)
        read = dataclasses.replace(read, format="jsonl", encoding="utf-8", field=field, keep=kept)
        yield [SourceFile(name, path, path.stat().st_size, None, etag=checksum(path))], read


def _cleared_cache() -> Path:
    """Make the folder for texts; remove those that killed processes have left a week ago."""
    cache = cache_folder("text")
    try:
        cache.mkdir(parents=True, exist_ok=True)
        for left in cache.iterdir():
            if left.stat().st_mtime < time.time() - _WEEK:
                shutil.rmtree(left, ignore_errors=True)
    except OSError as error:
        raise ArtifactError(
            f"{cache}: cannot be written ({error.strerror}), and text in memory is stored there "
            "first; set FIRTH_CACHE to another folder"
        ) from None
    return cache


def _with_fields(read: ReadOptions, text: str | None, keep: Iterable[str]) -> ReadOptions:
    """Return options with the field of the text and the fields to keep, which may be open."""
    if text is not None and not isinstance(text, str):
        raise SettingError(
            f"`text` must be the name of a field, got {type(text).__name__}; pass settings of the "
            "text as `words`"
        )
    names = (keep,) if isinstance(keep, str) else keep
    if not isinstance(names, Iterable) or not all(isinstance(name, str) for name in names):
        raise SettingError(f"`keep` must be names of fields, got {keep!r}")
    names = tuple(names)
    for option, given, known in (("text", text, read.field), ("keep", names, read.keep)):
        if given and known:
            raise SettingError(f"`{option}`: also set by `read`; drop one of them")
    return dataclasses.replace(read, field=text or read.field, keep=names or read.keep)


def paths_of(source: TextSource) -> Files | None:
    """Return the paths of a source; None if it is text.

    A list of strings holds paths if all of them look like paths, so that a misspelled one is not
    taken for text; a Series or an iterator of strings always holds text.
    """
    if isinstance(source, str | os.PathLike):
        return [source]
    if not isinstance(source, list | tuple):
        return None
    if not source:
        raise SourceError(f"<{type(source).__name__}>: is empty; pass paths, {_KINDS}")
    of_paths = any(isinstance(each, os.PathLike) for each in source)
    if not all(isinstance(each, str | os.PathLike) for each in source):
        if of_paths:
            raise SourceError(f"<{type(source).__name__}>: mixes paths and other objects")
        return None
    if of_paths or all(map(_may_be_path, source)):
        _check_paths(source)
        return list(source)
    if file := next(filter(_names_file, source), None):
        raise SourceError(
            f"{file!r} is a file, but other strings of the list are not; pass paths as Path "
            "objects, or texts as iter(texts)"
        )
    return None


def _check_paths(source: Sequence[str | os.PathLike[str]]) -> None:
    """Raise if one of several paths is missing, and may be a text."""
    if len(source) == 1:  # it may name a corpus
        return
    for each in source:
        is_path = isinstance(each, os.PathLike) or each == STANDARD_INPUT or is_url(each)
        if not is_path and not _exists(str(each)):
            raise SourceError(
                f"{each}: no such file or folder; check the path, or pass texts as iter(texts)"
            )


def _may_be_path(text: str) -> bool:
    """Return whether a string names a file, or would if a letter of it were mistyped."""
    is_name = len(text) <= _LONGEST_NAME and len(text.split()) == 1
    looks_so = text.isascii() or _FILE_NAME.search(text) or is_url(text)
    return bool(is_name and looks_so) or _exists(text)


def _exists(text: str) -> bool:
    """Return whether a path exists; text may be too long for one."""
    return len(text) <= _LONGEST_NAME and os.path.exists(text)


def _names_file(text: str) -> bool:
    """Return whether a string is the path of a file, with a folder or an extension."""
    may_be = len(text) <= _LONGEST_NAME and _FILE_NAME.search(text)
    return bool(may_be) and os.path.isfile(text)


def _write(
    source: Any, name: str, path: Path, field: str, keep: tuple[str, ...]
) -> tuple[str, ...]:
    """Write a record for each document as JSON Lines; return the names of the fields to keep."""
    names: dict[str, None] = {}
    of_pairs: dict[str, None] = {}
    with open(path, "wb") as file:
        for number, item in enumerate(_items(source, name, (field, *keep)), 1):
            where = f"{name}:{number}"
            text, fields = _divided(item, where, field)
            names.update(dict.fromkeys(fields))
            if isinstance(item, tuple):
                of_pairs.update(dict.fromkeys(fields))
            wanted = fields if isinstance(item, tuple) and not keep else keep
            record = {key: plain(fields[key]) for key in wanted if key in fields}
            file.write(_line({**record, field: _text(text, where)}, where))
    if not path.stat().st_size:
        raise SourceError(f"{name}: has no texts; an iterator can be read only once")
    for each in keep or of_pairs:
        if each not in names and each != field:
            raise SourceError(no_field(name, each, [field, *names]))
        if "," in each:
            raise SourceError(f"{name}: the field {each!r} has a comma in its name; rename it")
    return keep or tuple(of_pairs)


def _items(source: Any, name: str, columns: tuple[str, ...]) -> Iterator[Any]:
    """Yield the documents of a source; raise if it is none."""
    if isinstance(source, _UNORDERED) or not isinstance(source, Iterable):
        raise SourceError(f"{name}: neither paths nor text; pass a list of {_KINDS}")
    if isinstance(source, np.ndarray) and source.ndim != 1:
        raise SourceError(f"{name}: has {source.ndim} dimensions; pass one column of it")
    if hasattr(source, "columns"):  # of pandas, polars and others
        yield from _rows(source, name, columns)
        return
    items = iter(source)
    first = list(itertools.islice(items, _N_CHECKED))
    if first and all(isinstance(each, str) and _names_file(each) for each in first):
        raise SourceError(
            f"{name}: has names of files, such as {str(first[0])!r}; pass a list of them"
        )
    yield from first
    yield from items


def _rows(frame: Any, name: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data frame with some of its columns."""
    columns = list(map(str, frame.columns))
    for each in names:
        if each not in columns:
            remedy = "; pass one column, or its name to build_corpus" if each == names[0] else ""
            raise SourceError(no_field(name, each, columns) + remedy)
        if columns.count(each) > 1:
            raise SourceError(f"{name}: has {columns.count(each)} columns {each!r}; rename them")
    chosen = [frame[frame.columns[columns.index(each)]] for each in names]
    for row in zip(*chosen, strict=True):
        yield dict(zip(names, row, strict=True))


def _divided(item: Any, where: str, field: str) -> tuple[Any, dict[str, Any]]:
    """Return the text or the tokens of a document, and its other fields."""
    if isinstance(item, Mapping):
        fields = {str(key): value for key, value in item.items()}
        if field not in fields:
            raise SourceError(no_field(where, field, list(fields)))
        return fields.pop(field), fields
    if not isinstance(item, tuple):
        return item, {}
    if len(item) != 2 or not isinstance(item[1], Mapping):
        kinds = ", ".join(type(each).__name__ for each in item[:3])
        raise SourceError(f"{where}: a tuple ({kinds}); pass {_KINDS}")
    fields = {str(key): value for key, value in item[1].items()}
    if field in fields:
        raise SourceError(f"{where}: a field has the name {field!r}; rename it")
    return item[0], fields


def _text(text: Any, where: str) -> str | list[str] | None:
    """Return text as a string, tokens as a list; None if it is missing."""
    text = plain(text)
    if text is None or isinstance(text, str):
        return text
    if not isinstance(text, list):
        raise SourceError(f"{where}: of type {type(text).__name__}; pass {_KINDS}")
    for token in text:
        if not isinstance(token, str):
            raise SourceError(
                f"{where}: a list with an object of type {type(token).__name__}; pass {_KINDS}"
            )
    return text


def _line(record: dict[str, Any], where: str) -> bytes:
    """Return a record as a line of JSON."""
    try:
        line = json.dumps(record, ensure_ascii=False, default=_serializable)
        if LONE_SURROGATE.search(line):
            line = json.dumps(record, default=_serializable)  # escaped
    except (TypeError, ValueError) as error:
        raise SourceError(f"{where}: a field cannot be stored as JSON ({error})") from None
    return line.encode() + b"\n"


def plain(value: Any) -> Any:
    """Return a value of NumPy or pandas as Python's, a whole number as int; None if missing."""
    value = value.tolist() if isinstance(value, np.generic | np.ndarray) else value
    is_nan = isinstance(value, float) and value != value
    if isinstance(value, float) and value.is_integer():
        return int(value)
    return None if is_nan or type(value).__name__ in _MISSING else value


def _serializable(value: Any) -> Any:
    """Return a value that JSON lacks as one that it has."""
    known = plain(value)
    return as_iso(value) if known is value else known


def as_field(value: Any) -> str:
    """Return a value as that of a kept field; empty if it is missing."""
    value = plain(value)
    return "" if value is None else as_iso(value)


def as_iso(value: Any) -> str:
    """Return a value as text, a date in ISO 8601, without a time of day if it is midnight."""
    if isinstance(value, datetime.datetime) and value.time() == datetime.time():
        value = value.date()
    return str(value.isoformat() if hasattr(value, "isoformat") else value)
