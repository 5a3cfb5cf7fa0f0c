"""Records with named fields, and JSON Lines: each record is a document."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

import numpy as np

from corpora.common.errors import SourceError
from corpora.reading.line_ends import after_line_end, cut_blocks
from corpora.reading.sources import Stream
from corpora.reading.text_blocks import RawBlock, ReadOptions, TextBlock
from corpora.text.segment import HALF_CHARACTER

DEFAULT_FIELD = "text"

_LINE_END = re.compile(r"\r\n?")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def jsonl_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut JSON Lines at line ends."""
    for line, data in cut_blocks(chunks, after_line_end, block_bytes):
        yield RawBlock(data, stream.name, line, options, parse_jsonl)


def parse_jsonl(raw: RawBlock) -> TextBlock:
    """Take the text and the kept fields out of JSON records."""
    data, counts = raw.checked()
    name = raw.options.field or DEFAULT_FIELD
    texts, positions = [], []
    kept: dict[str, list[str]] = {field: [] for field in raw.options.keep}
    missing = 0
    for number, line in enumerate(data.decode().split("\n"), raw.first_line):
        if not line.strip():
            continue
        where = f"{raw.source}:{number}"
        record = _json_record(line, where)
        texts.append(_json_text(record, name, where))
        positions.append(number)
        for field, values in kept.items():
            missing += field not in record
            values.append(_json_kept(record.get(field)))
    if raw.first_line == 1 and texts:
        _refuse_unknown(kept, len(texts), missing, raw)
    if missing:
        counts["missing_fields"] = missing
    return records_block(raw, texts, positions, kept, counts)


def choose_columns(
    names: Sequence[str], options: ReadOptions, source: str
) -> tuple[int, dict[str, int]]:
    """Find the text column and the kept columns of a table."""
    for field in (options.field or DEFAULT_FIELD, *options.keep):
        if field not in names:
            raise SourceError(_no_field(source, field, names))
    text = names.index(options.field or DEFAULT_FIELD)
    return text, {field: names.index(field) for field in options.keep}


def records_block(
    raw: RawBlock,
    texts: Iterable[str],
    positions: Sequence[int],
    kept: dict[str, list[str]],
    counts: dict[str, int],
) -> TextBlock:
    """Lay the texts of records end to end."""
    parts = []
    for text, position in zip(texts, positions, strict=True):
        if raw.options.wrapped or "\r" in text:
            text = _paragraphs(text, raw.options.wrapped)
        if text and not text.endswith("\n"):
            text += "\n"
        parts.append(_encoded(text, raw, position, counts))
    lengths = np.fromiter((len(part) for part in parts), np.int64, len(parts))
    documents = np.concatenate([np.zeros(1, np.int64), np.cumsum(lengths)])
    kept = {
        field: [HALF_CHARACTER.sub("\ufffd", v) for v in values] for field, values in kept.items()
    }
    return TextBlock(
        b"".join(parts), documents, np.array(positions, np.int64), raw.source, kept, counts=counts
    )


def _paragraphs(text: str, wrapped: bool) -> str:
    """LF line ends; those inside the paragraphs of wrapped text become spaces."""
    text = _LINE_END.sub("\n", text)
    if not wrapped:
        return text
    return "\n".join(part.replace("\n", " ") for part in _BLANK_LINES.split(text.strip("\n")))


def _encoded(text: str, raw: RawBlock, position: int, counts: dict[str, int]) -> bytes:
    """UTF-8; JSON can spell half a surrogate pair, which no UTF-8 can hold."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        if raw.options.errors == "strict":
            raise SourceError(
                f"{raw.source}:{position}: the text holds half a surrogate pair, which is no "
                "character; pass --errors replace"
            ) from None
        text, replaced = HALF_CHARACTER.subn("\ufffd", text)
        counts["replaced_characters"] = counts.get("replaced_characters", 0) + replaced
        return text.encode()


def _json_record(line: str, where: str) -> dict[str, Any]:
    """One line as an object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        raise SourceError(f"{where}: malformed JSON ({error}); mend the line") from None
    if not isinstance(record, dict):
        raise SourceError(
            f"{where}: {_json_kind(record)}, not an object; each line must be one JSON object"
        )
    return record


def _json_text(record: dict[str, Any], name: str, where: str) -> str:
    """The text of a record."""
    if name not in record:
        raise SourceError(_no_field(where, name, list(record)))
    text = record[name]
    if not isinstance(text, str):
        raise SourceError(
            f"{where}: field {name!r} holds {_json_kind(text)}, not a string; "
            "pass another --field, or mend the record"
        )
    return text


def _json_kind(value: Any) -> str:
    """What a JSON value is, in words."""
    kinds = {type(None): "null", bool: "a truth value", dict: "an object", list: "an array"}
    return kinds.get(type(value), "a string" if isinstance(value, str) else "a number")


def _json_kept(value: Any) -> str:
    """A kept value as a string; anything but strings as JSON."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _refuse_unknown(
    kept: dict[str, list[str]], n_records: int, missing: int, raw: RawBlock
) -> None:
    """Refuse a kept field that no record of the first block has: most likely misspelt."""
    if missing < n_records:
        return
    records = [json.loads(line) for line in raw.checked()[0].decode().split("\n") if line.strip()]
    names = list(dict.fromkeys(name for record in records for name in record))
    for field in kept:
        if field not in names:
            raise SourceError(_no_field(raw.source, field, names))


def _no_field(where: str, field: str, names: Sequence[str]) -> str:
    """The message about a field that is not there."""
    listed = ", ".join(names[:20]) + (", ..." if len(names) > 20 else "")
    return f"{where}: no field {field!r}; pass one of its fields: {listed or 'it has none'}"
