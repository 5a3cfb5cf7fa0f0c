"""Records with named fields, and the JSON Lines reader; each record is a document."""

import contextlib
import dataclasses
import json
import re
from collections.abc import Iterable, Iterator, Sequence
from typing import Any

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.detect import detect_wrapping, sample_of
from firth.corpora.reading.formats import Format
from firth.corpora.reading.line_ends import after_line_end, cut_blocks
from firth.corpora.reading.sources import Stream
from firth.corpora.reading.text_blocks import (
    RawBlock,
    ReadOptions,
    TextBlock,
    text_block,
    tokenized,
    without_entities,
)
from firth.corpora.text.segment import LONE_SURROGATE

DEFAULT_FIELD = "text"

_LINE_END = re.compile(r"\r\n?")
_BLANK_LINES = re.compile(r"\n(?:[ \t]*\n)+")


def jsonl_blocks(
    stream: Stream, chunks: Iterator[bytes], options: ReadOptions, block_bytes: int
) -> Iterator[RawBlock]:
    """Cut JSON Lines at line ends."""
    for line, data in cut_blocks(chunks, after_line_end, block_bytes, stream.limit):
        if options.wrapped is None:
            texts = _sample_texts(data, options.field or DEFAULT_FIELD)
            options = detect_wrapping(options, sample_of(texts), stream.found)
        yield RawBlock(data, stream.name, line, options, parse_jsonl)


def parse_jsonl(raw: RawBlock) -> TextBlock:
    """Extract the text and the kept fields of JSON records.

    A text that is an array of strings is one sentence of these tokens. ``missing_fields`` counts
    kept fields that a record lacks; their values are empty.
    """
    data, counts = raw.checked()
    name = raw.options.field or DEFAULT_FIELD
    texts: list[Any] = []
    positions = []
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
    counts["missing_fields"] = missing
    is_tokens = [isinstance(text, list) for text in texts if text is not None]
    texts = [tokenized([text]) if isinstance(text, list) else text for text in texts]
    if any(is_tokens) and not all(is_tokens):
        raise SourceError(
            f"{raw.source}: some texts are lists of tokens and others strings; divide all, or none"
        )
    block = records_block(raw, texts, positions, kept, counts)
    return dataclasses.replace(block, pretokenized=any(is_tokens) if is_tokens else None)


def choose_columns(
    names: Sequence[str], options: ReadOptions, source: str
) -> tuple[int, dict[str, int]]:
    """Return the indices of the text column and the kept columns; raise if one is missing."""
    for field in (options.field or DEFAULT_FIELD, *options.keep):
        if field not in names:
            about = "; pass a table about other files as `metadata`" * (field not in options.keep)
            raise SourceError(no_field(source, field, names) + about)
    text = names.index(options.field or DEFAULT_FIELD)
    return text, {field: names.index(field) for field in options.keep}


def records_block(
    raw: RawBlock,
    texts: Iterable[str | None],
    positions: Sequence[int],
    kept: dict[str, list[str]],
    counts: dict[str, int],
) -> TextBlock:
    """Concatenate record texts into a block; each line of a text is a paragraph."""
    parts = []
    for text, position in zip(texts, positions, strict=True):
        if text is None:
            text, counts["missing_texts"] = "", counts.get("missing_texts", 0) + 1
        text = without_entities(text, raw.options, counts)
        if raw.options.wrapped or "\r" in text:
            text = _paragraphs(text, bool(raw.options.wrapped))
        if text and not text.endswith("\n"):
            text += "\n"
        parts.append(_encoded(text, raw, position, counts))
    kept = {
        field: [LONE_SURROGATE.sub("\ufffd", v) for v in values] for field, values in kept.items()
    }
    return text_block(raw, parts, positions, kept, counts)


def _paragraphs(text: str, wrapped: bool) -> str:
    """Normalize line ends to LF, and unwrap paragraphs if the text is hard-wrapped."""
    text = _LINE_END.sub("\n", text)
    if not wrapped:
        return text
    return "\n".join(part.replace("\n", " ") for part in _BLANK_LINES.split(text.strip("\n")))


def _encoded(text: str, raw: RawBlock, position: int, counts: dict[str, int]) -> bytes:
    """Encode as UTF-8; JSON escapes can produce lone surrogates, which UTF-8 cannot encode."""
    try:
        return text.encode()
    except UnicodeEncodeError:
        if raw.options.errors == "strict":
            raise SourceError(
                f"{raw.source}:{position}: the text contains a lone surrogate; "
                "pass `errors=replace`"
            ) from None
        text, replaced = LONE_SURROGATE.subn("\ufffd", text)
        counts["replaced_characters"] = counts.get("replaced_characters", 0) + replaced
        return text.encode()


def _sample_texts(data: bytes, name: str) -> Iterator[str]:
    """Yield the texts of the records before the first malformed one."""
    with contextlib.suppress(ValueError, RecursionError, TypeError, KeyError):
        for line in data.splitlines():
            if line.strip():
                yield str(json.loads(line)[name])


def _json_record(line: str, where: str) -> dict[str, Any]:
    """Parse one line as a JSON object."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError) as error:
        reason = "nested too deeply" if isinstance(error, RecursionError) else error
        raise SourceError(f"{where}: malformed JSON ({reason}); fix the line") from None
    if not isinstance(record, dict):
        raise SourceError(
            f"{where}: {_json_kind(record)}, not an object; each line must be one JSON object"
        )
    return record


def _json_text(record: dict[str, Any], name: str, where: str) -> str | list[str] | None:
    """Return the text field of a record: a string, an array of tokens, or null."""
    if name not in record:
        raise SourceError(no_field(where, name, list(record)))
    text = record[name]
    is_tokens = isinstance(text, list) and all(isinstance(token, str) for token in text)
    if not (is_tokens or isinstance(text, str | None)):
        raise SourceError(
            f"{where}: field {name!r} is {_json_kind(text)}, not a string; "
            "pass another `field`, or fix the record"
        )
    return text


def _json_kind(value: Any) -> str:
    """Return the JSON type of a value for messages."""
    kinds = {type(None): "null", bool: "a boolean", dict: "an object", list: "an array"}
    return kinds.get(type(value), "a string" if isinstance(value, str) else "a number")


def _json_kept(value: Any) -> str:
    """Return a kept value as a string; non-strings as JSON, null as empty."""
    if isinstance(value, str):
        return value
    return "" if value is None else json.dumps(value, ensure_ascii=False)


def _refuse_unknown(
    kept: dict[str, list[str]], n_records: int, missing: int, raw: RawBlock
) -> None:
    """Raise for a kept field that no record of the first block has: probably a typo."""
    if missing < n_records:
        return
    records = [json.loads(line) for line in raw.checked()[0].decode().split("\n") if line.strip()]
    names = list(dict.fromkeys(name for record in records for name in record))
    for field in kept:
        if field not in names:
            raise SourceError(no_field(raw.source, field, names))


def no_field(where: str, field: str, names: Sequence[str]) -> str:
    """Return the message for a missing field."""
    listed = [" ".join(name.split())[:60] for name in names[:20]] + ["..."] * (len(names) > 20)
    return f"{where}: no field {field!r}; the fields are: {', '.join(listed) or '(none)'}"


JSONL = Format(jsonl_blocks, ("wrapped", "field", "keep"))
