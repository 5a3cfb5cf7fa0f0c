"""Format detection, by content first and then by file name."""

import dataclasses
import itertools
import json
import math
import re
from collections.abc import Iterable
from pathlib import PurePath

from firth.corpora.common.errors import SourceError, UnreadableError
from firth.corpora.reading.formats import format_named
from firth.corpora.reading.text_blocks import FORMATS, ReadOptions

HEAD_BYTES = 64 << 10

_BINARY = {
    b"%PDF-": "a PDF file",
    b"PK\x03\x04": "a ZIP archive or office document",
    b"PAR1": "a Parquet file",
    b"ARROW1": "an Arrow file",
    b"{\\rtf": "an RTF document",
    b"\x89PNG": "an image",
    b"\xff\xd8\xff": "an image",
    b"GIF8": "an image",
    b"7z\xbc\xaf": "a 7z archive",
    b"Rar!": "a RAR archive",
    b"SQLite format 3\0": "an SQLite database",
    b"\x93NUMPY": "a NumPy array",
    b"\x7fELF": "a program",
    b"\xd0\xcf\x11\xe0": "an old office document",
    b"\x1f\x8b": "compressed twice",
}
_BYTES_PER_CONTROL = 50  # more control bytes than one in 50: binary, such as a pickle
_STRAY_NULS = 2  # tolerated here; a later check reports them with their line
_NO_CONTROLS = bytes(byte for byte in range(256) if byte >= 0x1B or 0x07 <= byte <= 0x0D)
_COMPRESSED_NAMES = {".gz", ".bz2", ".xz", ".zst", ".zstd"}
# or an element in a line of its own, with its end
_MARKUP = re.compile(
    rb"\s*(?:<\?xml|<!doctype|<html|<(\w+)(?:\s[^<>\n]*)?>[ \t]*\n(?:.*\n)?[ \t]*</\1>)",
    re.IGNORECASE | re.DOTALL,
)
# word2vec or GloVe: perhaps a header, then a word and its numbers
_VECTORS = re.compile(rb"(?:[0-9]+ [0-9]+ *\r?\n)?\S+(?: -?[0-9]+\.[0-9]+(?:e-?[0-9]+)?){10}")
# Text of a known structure that is not read: what it begins with, its name, and what to do.
_STRUCTURES = (
    (rb"WARC/[0-9]", "a web archive (WARC, WET)", "extract its text first, such as by trafilatura"),
    (rb"WEBVTT|\s*(?:[0-9]+\s*\n)?[0-9]+:[0-9]{2}:[0-9]{2}[,.][0-9]{3} *-->", "subtitles",
     r"extract their text: grep -vE '^(WEBVTT.*|[0-9]*|.*-->.*)\s*$' FILE | sed 's/<[^>]*>//g'"),
    (rb"\[Script Info\]", "subtitles (ASS)", "convert them to text first"),
    (rb"@UTF8\b|@Begin\b", "a CHAT transcript", "take its lines: sed -n 's/^\\*[^:]*:\\t//p' FILE"),
    (rb"\s*\(\s*(?:[A-Z]\S* )?\([A-Z]\S* +\(", "bracketed trees",
     "take their words: grep -oE '[^() ]+\\)' FILE | tr -d ')'"),
    (rb"#begin document", "CoNLL-2012",
     "make it vertical: awk '!/^#/ {print $4 (NF ? \"\\t\" $5 : \"\")}' FILE > FILE.vert"),
    (rb"(?:[^\s/]+/[^\s/]+\s+){8}|(?:[^\s_]+_[A-Z0-9]+\s+){8}", "words with tags",
     "remove them: sed -E 's#[/_][^/_ ]*( |$)#\\1#g' FILE"),
)  # fmt: skip
# sentences whose words are numbered, but without the ten columns of CoNLL-U
_CONLL = re.compile(rb"(?:#[^\n]*\n|[ \t]*\n)*1\t([^\t\n]+(?:\t[^\t\n]*)*)\n(?:2\t[^\n]*\n|\n)")
_LEAST_ROWS = 3  # of a table
_LEAST_WRAPS = 8  # pairs of lines; fewer are not enough to tell


def detect(head: bytes, source: str, options: ReadOptions) -> str:
    """Return the format of a source from its decoded first bytes, name and options."""
    head = head[:HEAD_BYTES]
    refuse_binary(head, source)
    detected = options.format
    if detected == "auto":
        by_content = _by_content(head, source) or _by_name(source, head)
        detected = by_content or _by_field(head, options) or "text"
        if detected == "text":
            _refuse_table(head, source)
    _check_options(detected, source, options)
    return detected


def refuse_binary(head: bytes, source: str) -> None:
    """Raise if the content is binary."""
    kind = next((kind for magic, kind in _BINARY.items() if head.startswith(magic)), None)
    if kind is None and head[257:262] == b"ustar":
        kind = "a tar archive"
    if kind is not None:
        raise UnreadableError(f"{source}: {kind}, not text; exclude it, or extract its text first")
    n_controls = len(head.translate(None, _NO_CONTROLS)) - min(head.count(b"\0"), _STRAY_NULS)
    if _BYTES_PER_CONTROL * n_controls > len(head):
        raise UnreadableError(
            f"{source}: contains control bytes, so it is not text; exclude it, or pass `encoding`"
        )


def detect_wrapping(options: ReadOptions, sample: bytes, found: dict[str, bool]) -> ReadOptions:
    """Return the options with ``wrapped`` set, by a sample of a file if it is to be detected.

    If the file is hard-wrapped, ``found`` gets an entry ``wrapped``. It is False if blank lines do
    not separate paragraphs: joined, these would be one paragraph, which must fit in memory.
    """
    if options.wrapped is None and options.documents != "line" and is_hard_wrapped(sample):
        found["wrapped"] = has_blank_lines(sample)
    return dataclasses.replace(options, wrapped=options.wrapped or found.get("wrapped", False))


def sample_of(texts: Iterable[str]) -> bytes:
    """Return the first texts, with blank lines between them, as a sample for `detect_wrapping`."""
    parts, size = [], 0
    for text in texts:
        parts.append(text)
        size += len(text)
        if size >= HEAD_BYTES:
            break
    return "\n\n".join([*parts, ""]).encode("utf-8", "ignore")


def is_hard_wrapped(sample: bytes) -> bool:
    """Return whether a text is prose that was broken into lines of one width, 50 to 100 characters.

    That is so if most lines end where the next word would not fit, and go on in lower case or in
    a script without case. In verse, tables and lists one of the two fails, or the width; in text
    with a paragraph or sentence on each line, and in Chinese, the width or the number of words.
    """
    lines = [line.rstrip() for line in sample[:HEAD_BYTES].decode("utf-8", "ignore").split("\n")]
    # the last line may be cut
    pairs = [(line, after) for line, after in itertools.pairwise(lines[:-1]) if line and after]
    if len(pairs) < _LEAST_WRAPS:
        return False
    width = sorted(len(line) for line, _ in pairs)[int(0.95 * (len(pairs) - 1))]
    n_words = sum(len(line.split()) for line, _ in pairs)
    n_full = sum(len(line) + len(after.split()[0]) >= width - 2 for line, after in pairs)
    n_continued = sum(_continues(after) for _, after in pairs)
    return (
        50 <= width <= 100
        and n_words >= 4 * len(pairs)
        and n_continued >= 0.2 * len(pairs)
        # a standard error more, so that a few lines are not taken for prose by chance
        and n_full >= 0.65 * len(pairs) + 0.5 * math.sqrt(len(pairs))
    )


def has_blank_lines(sample: bytes) -> bool:
    """Return whether blank lines can be the ends of paragraphs: one in 200 lines, or so."""
    lines = sample[:HEAD_BYTES].split(b"\n")
    n_blank = sum(not line.strip() for line in lines)
    return len(lines) <= 200 * (n_blank + 1)


def _continues(line: str) -> bool:
    """Return whether the first letter or digit of a line can stand inside a sentence."""
    first = next((character for character in line if character.isalnum()), "")
    return first.isalpha() and not first.isupper() and not first.istitle()


def _by_content(head: bytes, source: str) -> str | None:
    """Detect formats with recognizable content; raise for word vectors."""
    if _VECTORS.match(head):
        raise SourceError(
            f"{source}: word vectors, not text; pass the text or the corpus they were trained on"
        )
    for name in FORMATS:
        begins = format_named(name).begins
        if begins and begins(head):
            return name
    for beginning, kind, remedy in _STRUCTURES:
        if re.match(beginning, head):
            raise SourceError(f"{source}: {kind}, not text; {remedy} (or pass `format=text`)")
    conll = _CONLL.match(head)
    again = conll and (b"\n1\t" in head[conll.end() - 1 :] or b"\n\n" in head)
    if conll and (again or b" " not in conll[0]):
        n_columns = conll[1].count(b"\t") + 2
        raise SourceError(
            f"{source}: CoNLL with {n_columns} columns, not CoNLL-U; name them: (echo '# "
            f"global.columns = ID FORM{' LEMMA' * (n_columns > 2)}'; cut -f 1-{min(n_columns, 3)} "
            "FILE) > FILE.conllup"
        )
    return "jsonl" if _is_json_lines(head) else None


def _refuse_table(head: bytes, source: str) -> None:
    """Raise for lines that all have equally many tabs, which are a table and no text."""
    lines = [line for line in head.split(b"\n") if line.strip()]
    lines = lines[: -1 if len(head) >= HEAD_BYTES else None]
    n_tabs = {line.count(b"\t") for line in lines}
    if len(lines) >= _LEAST_ROWS and len(n_tabs) == 1 and 0 not in n_tabs:
        raise SourceError(
            f"{source}: a table of {n_tabs.pop() + 1} columns, not text; pass `format=tsv` and "
            "`field` if its first line names them, `format=vertical` if each line is a word, or "
            "`format=text`"
        )


def _is_json_lines(head: bytes) -> bool:
    """Return whether the first line is a JSON object, or the truncated start of one."""
    line, end, _ = head.lstrip().partition(b"\n")
    if not line.startswith(b"{"):
        return False
    try:
        return isinstance(json.loads(line), dict)
    except RecursionError:  # which its reader reports with the line
        return True
    except ValueError:
        return not end and re.match(rb'\{\s*"[^"\n]*"\s*:', line) is not None


def _by_name(source: str, head: bytes) -> str | None:
    """Detect a format by file suffix; raise for multi-line JSON and unknown markup."""
    path = PurePath(source)
    if path.suffix.lower() in _COMPRESSED_NAMES:
        path = path.with_suffix("")
    suffix = path.suffix.lower()
    if suffix in (".json", ".jsonl", ".ndjson") and head.lstrip().startswith(b"["):
        raise SourceError(
            f"{source}: one JSON array, not one record per line; convert it with: jq -c '.[]'"
        )
    if suffix == ".json" and head.lstrip().startswith(b"{"):
        raise SourceError(
            f"{source}: one JSON object over several lines, not one record per line; "
            "convert it with: jq -c ."
        )
    named = next((name for name, (_, *endings) in FORMATS.items() if suffix in endings), None)
    if named is None and _MARKUP.match(head):
        raise SourceError(
            f"{source}: unknown markup; extract its text first, or pass `format=text`"
        )
    return named


def _by_field(head: bytes, options: ReadOptions) -> str | None:
    """Detect a TSV or CSV table whose header contains the requested field."""
    if options.field is None:
        return None
    header = head.partition(b"\n")[0].decode("utf-8", "replace")
    for detected, separator in (("tsv", "\t"), ("csv", ",")):
        if options.field in [name.strip('"') for name in header.split(separator)]:
            return detected
    return None


def _check_options(detected: str, source: str, options: ReadOptions) -> None:
    """Raise for options that the format would ignore."""
    takes = format_named(detected).takes
    if options.documents not in ("file", *takes):
        kind = "TEI" if options.documents == "div" else "plain text"
        raise SourceError(
            f"{source}: `documents={options.documents}` is for {kind}, not for {detected}"
        )
    if options.wrapped and "wrapped" not in takes:
        raise SourceError(
            f"{source}: `wrapped=True` is for plain text and records, not for {detected}"
        )
    if options.field is not None and "field" not in takes:
        raise SourceError(
            f"{source}: {detected} has no field {options.field!r}; drop `field`, or pass `format`"
        )
    if options.keep and "keep" not in takes:
        raise SourceError(
            f"{source}: plain text has no field {options.keep[0]!r} to keep; drop `keep`, "
            "or pass `format`"
        )
