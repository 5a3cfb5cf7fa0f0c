"""Text in memory: lists, data frames and generators, written as JSON Lines for the readers."""

import contextlib
import dataclasses
import json
import os
import re
import tempfile
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.artifact import checksum
from firth.corpora.common.cache import cache_directory
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.reading.records import DEFAULT_FIELD, no_field
from firth.corpora.reading.remote import is_url
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.text.segment import LONE_SURROGATE

# A path or several, or text itself: a list of strings, a Series, a DataFrame, an iterator of
# strings, of pairs (text, fields), of records with named fields, or of lists of tokens.
TextSource = str | os.PathLike[str] | Iterable[Any]
Files = list[str | os.PathLike[str] | SourceFile]

_FILE_NAME = re.compile(r"[/\\]|\.\w{1,8}$")
_LONGEST_NAME = 255  # bytes of a file name, in most file systems
_MISSING = ("NAType", "NaTType")  # of pandas
_KINDS = "strings, lists of tokens, records with named fields, or pairs (text, fields)"


@contextlib.contextmanager
def as_files(
    source: TextSource, read: ReadOptions | None, text: str | None, keep: Iterable[str]
) -> Iterator[tuple[Files, ReadOptions]]:
    """Yield the files of a source, and options with the field of the text and the fields to keep.

    Text in memory is in a temporary file, which has the name of the object's type.
    """
    read = _with_fields(read or ReadOptions(), text, keep)
    files = paths_of(source)
    if files is not None:
        yield files, read
        return
    name = f"<{type(source).__name__}>"
    # in the cache, which the workers of a cluster may see
    cache_directory().mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(prefix=".text-", dir=cache_directory()) as folder:
        path = Path(folder, "text.jsonl")
        field = read.field or DEFAULT_FIELD
        fields = _write(_records(source, name, field, read.keep), path)
        kept = read.keep or fields
        read = dataclasses.replace(read, format="jsonl", encoding="utf-8", field=field, keep=kept)
        yield [SourceFile(name, path, path.stat().st_size, None, etag=checksum(path))], read


def _with_fields(read: ReadOptions, text: str | None, keep: Iterable[str]) -> ReadOptions:
    """Return options with the field of the text and the fields to keep, which may be open."""
    names = (keep,) if isinstance(keep, str) else tuple(keep)
    if text is not None and not isinstance(text, str):
        raise SettingError(
            f"`text` must be the name of a field, got {type(text).__name__}; pass settings of the "
            "text as `words`"
        )
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
    if any(isinstance(each, os.PathLike) for each in source):
        return list(source)
    if not all(isinstance(each, str) for each in source):
        return None
    if all(map(_may_be_path, source)):
        return list(source)
    if existing := next(filter(_exists, source), None):
        raise SourceError(
            f"{existing!r} is a file, but other strings of the list are not; pass paths as Path "
            "objects, or texts as iter(texts)"
        )
    return None


def _may_be_path(text: str) -> bool:
    """Return whether a string names a file, or would if a letter of it were mistyped."""
    is_name = len(text) <= _LONGEST_NAME and len(text.split()) == 1
    is_name = is_name and bool(text.isascii() or _FILE_NAME.search(text))
    return is_name or is_url(text) or _exists(text)


def _exists(text: str) -> bool:
    """Return whether a path exists; text may be too long for one, or contain NUL."""
    return len(text) <= _LONGEST_NAME and "\0" not in text and os.path.exists(text)


def _write(records: Iterable[dict[str, Any]], path: Path) -> tuple[str, ...]:
    """Write records, the text first, as JSON Lines; return the names of all other fields."""
    names: dict[str, None] = {}
    with open(path, "wb") as file:
        for record in records:
            _, *fields = record
            names.update(dict.fromkeys(fields))
            line = json.dumps(record, ensure_ascii=False, default=str)
            if LONE_SURROGATE.search(line):
                line = json.dumps(record, default=str)  # escaped
            file.write(line.encode() + b"\n")
    return tuple(names)


def _records(source: Any, name: str, field: str, keep: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield a record for each document, of the text and then the fields to keep."""
    if isinstance(source, Mapping) or not isinstance(source, Iterable):
        raise SourceError(f"{name}: neither paths nor text; pass {_KINDS}")
    if hasattr(source, "columns"):  # a data frame of any library
        source = _rows(source, name, (field, *keep))
    for number, item in enumerate(source, 1):
        text, fields = _divided(item, f"{name}:{number}", field, keep)
        if field in fields:
            raise SourceError(f"{name}:{number}: a field has the name {field!r}; rename it")
        yield {field: text, **{key: _plain(value) for key, value in fields.items()}}


def _rows(frame: Any, name: str, names: tuple[str, ...]) -> Iterator[dict[str, Any]]:
    """Yield the rows of a data frame with some of its columns."""
    columns = {str(column): column for column in frame.columns}
    for each in names:
        if each not in columns:
            raise SourceError(no_field(name, each, list(columns)))
    for row in zip(*(frame[columns[each]] for each in names), strict=True):
        yield dict(zip(names, row, strict=True))


def _divided(
    item: Any, where: str, field: str, keep: tuple[str, ...]
) -> tuple[str | list[str] | None, dict[str, Any]]:
    """Return the text or the tokens of a document, and its fields to keep."""
    if isinstance(item, Mapping):
        if field not in item:
            raise SourceError(no_field(where, field, list(map(str, item))))
        return _text(item[field], where), {key: item[key] for key in keep if key in item}
    if isinstance(item, tuple) and len(item) == 2 and isinstance(item[1], Mapping):
        text, fields = item[0], {str(key): value for key, value in item[1].items()}
        return _text(text, where), {key: fields[key] for key in keep or fields if key in fields}
    return _text(item, where), {}


def _text(text: Any, where: str) -> str | list[str] | None:
    """Return text as a string, tokens as a list; None if it is missing."""
    if _is_missing(text):
        return None
    if isinstance(text, str):
        return str(text)
    tokens = text.tolist() if isinstance(text, np.ndarray) else text
    if isinstance(tokens, list | tuple) and all(isinstance(token, str) for token in tokens):
        return list(map(str, tokens))
    raise SourceError(f"{where}: of type {type(text).__name__}; pass {_KINDS}, or a list of paths")


def _plain(value: Any) -> Any:
    """Return a value of a field as JSON has it."""
    if _is_missing(value):
        return None
    return value.item() if isinstance(value, np.number | np.bool_) else value


def _is_missing(value: Any) -> bool:
    """Return whether a value is None, NaN, or missing in a data frame."""
    is_nan = isinstance(value, float) and value != value
    return value is None or is_nan or type(value).__name__ in _MISSING
