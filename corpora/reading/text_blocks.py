"""The output of readers: raw blocks, cut in order, and the text blocks parsed from them."""

import dataclasses
import html
import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.options import check, describe_settings, rare_setting, setting
from firth.corpora.reading.decoding import checked_utf8
from firth.corpora.text.characters import SENTENCE_SEPARATOR, TOKEN_SEPARATOR

# Each is a Format of the module that reads it, and the endings of names that decide for it.
FORMATS = {
    "text": ("firth.corpora.reading.plain_text:TEXT",),
    "jsonl": ("firth.corpora.reading.records:JSONL", ".jsonl", ".ndjson"),
    "csv": ("firth.corpora.reading.tables:CSV", ".csv"),
    "tsv": ("firth.corpora.reading.tables:TSV", ".tsv", ".tab"),
    "parquet": ("firth.corpora.reading.parquet:PARQUET",),
    "conllu": ("firth.corpora.reading.conllu:CONLLU", ".conllu", ".conllup"),
    "vertical": ("firth.corpora.reading.vertical:VERTICAL", ".vert", ".vrt", ".vertical"),
    "mediawiki": ("firth.corpora.reading.wiki.reader:MEDIAWIKI",),
    "tei": ("firth.corpora.reading.tei:TEI",),
    "wikiextractor": ("firth.corpora.reading.wiki.reader:WIKIEXTRACTOR",),
}
BLOCK_BYTES = 4 << 20
HEAVY_BYTES = 1 << 20  # fewer are parsed in less time than a process takes to start
ENTITY = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")

_SEPARATORS = re.compile(r"[\x0b\x0c\x1c-\x1f\x85\r\n]")


@describe_settings
@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """Format and encoding of sources, and the fields to read.

    ``keep`` also takes comma-separated names; it is split on construction.

    Attributes
    ----------
    sequences : bool
        Each line of plain text is a document, as each record is; set by the settings of the text.

    Examples
    --------
    >>> ReadOptions(format="jsonl", keep=("date,author",)).keep
    ('date', 'author')
    """

    format: str = rare_setting(
        "auto", "Format of the sources.", choices=("auto", *FORMATS), heading="Sources"
    )
    documents: str = setting(
        "file",
        "One document of plain text: a file, a line, or a block between blank lines; of TEI: a "
        "text or a division (div).",
        choices=("file", "line", "block", "div"),
    )
    wrapped: bool | None = rare_setting(
        None,
        "Text is hard-wrapped: paragraphs end at blank lines, not at line ends (default: detected "
        "for each file).",
        opposite="no-wrapped",
    )
    field: str | None = setting(
        None,
        "Text field of JSONL, CSV, TSV and Parquet (default: text), "
        "the column form or lemma of CoNLL-U (default: form); word, tag, lemma or a number of a "
        "vertical file (default: word); of TEI the body or all of the text (default: body).",
        metavar="NAME",
    )
    keep: tuple[str, ...] = setting(
        (), "Fields to keep with each document, comma-separated; repeatable.", metavar="NAMES"
    )
    metadata: str | None = setting(
        None,
        "TSV, CSV or XLSX table of fields to keep with the documents: a row for each, found by the "
        "name of its file, by a field that is kept, or else in order.",
        metavar="FILE",
    )
    unescape: bool = rare_setting(
        False, "Replace entities such as &amp; in plain text and records by characters."
    )
    encoding: str = rare_setting("utf-8", "Encoding of the sources.", metavar="NAME")
    errors: str = rare_setting(
        "strict",
        "For bytes that are invalid in the encoding: stop, or replace and count them.",
        choices=("strict", "replace"),
    )

    skip_unreadable: bool = rare_setting(
        False, "Leave out files that cannot be read, such as PDF files, and list them."
    )
    sequences: bool = dataclasses.field(default=False, repr=False)

    def __post_init__(self) -> None:
        """Split comma lists and check every value."""
        check(self)
        names = (name.strip() for part in self.keep for name in part.split(","))
        object.__setattr__(self, "keep", tuple(dict.fromkeys(name for name in names if name)))
        try:
            " ".encode(self.encoding)
        except (LookupError, ValueError):
            raise SettingError(
                "ReadOptions.encoding must be a Python encoding name, such as latin-1, "
                f"got {self.encoding!r}"
            ) from None
        if self.wrapped and self.documents == "line":
            raise SettingError(
                "ReadOptions.wrapped joins lines, so documents must be file or block, got 'line'"
            )


@dataclass(frozen=True)
class TextBlock:
    """Concatenated documents, ready for sentence splitting and segmentation."""

    # valid UTF-8; "\n" ends a paragraph, which may be empty, and every non-empty document that is
    # not cut by the end of the block
    text: bytes
    documents: NDArray[np.int64]  # (n + 1,) byte offsets, from 0 to len(text)
    positions: NDArray[np.int64]  # (n,) 1-based line (Parquet: record) at which each one starts
    source: str  # SourceFile.name
    fields: dict[str, list[str]]  # the kept fields, one value per document
    continues: bool = False  # the first document continues the last one of the previous block
    # whether tokens and sentences are separated as by ``tokenized``; None if there is no text
    pretokenized: bool | None = False
    # int32 (n_tokens,), of pretokenized text: the signed distance of each token to its syntactic
    # head in the sentence, in tokens; 0 for a root or if it is unknown. None if none is known
    heads: NDArray[np.int32] | None = None
    # of what was dropped or replaced
    counts: dict[str, int] = dataclasses.field(default_factory=dict)


def tokenized(sentences: Iterable[Iterable[str]]) -> str:
    """Return the sentences of a paragraph as the text of a pretokenized block."""
    clean = ((_SEPARATORS.sub(" ", token) for token in tokens) for tokens in sentences)
    return SENTENCE_SEPARATOR.join(map(TOKEN_SEPARATOR.join, clean)) + "\n"


@dataclass(frozen=True)
class RawBlock:
    """A part of a source, cut at a safe boundary; picklable."""

    data: Any  # UTF-8 with LF line ends, not yet validated, or records already split
    source: str  # SourceFile.name
    first_line: int  # 1-based line number of the first line of ``data``
    options: ReadOptions
    parser: Callable[["RawBlock"], TextBlock]  # a module-level function, for pickling
    heavy: bool = False  # slow pure-Python parsing, worth another process
    continues: bool = False  # starts inside a document
    consumed: int = 0  # stored (maybe compressed) bytes read since the previous block
    state: Any = None  # what the parser needs from the start of the file, such as a header
    # of what was dropped or replaced while cutting
    counts: dict[str, int] = dataclasses.field(default_factory=dict)

    def parse(self) -> TextBlock:
        """Parse the documents; raise SourceError with file and line for malformed input."""
        return self.parser(self)

    def checked(self) -> tuple[bytes, dict[str, int]]:
        """Return ``data`` validated as UTF-8, and ``counts`` updated with ``replaced_bytes``."""
        data, replaced = checked_utf8(self.data, self.source, self.first_line, self.options.errors)
        counts = dict(self.counts)
        if replaced:
            counts["replaced_bytes"] = counts.get("replaced_bytes", 0) + replaced
        return data, counts


def without_entities(text: str, options: ReadOptions, counts: dict[str, int]) -> str:
    """Return a text with its entities replaced, if that is wanted, else count them."""
    if "&" not in text:
        return text
    replaced, count = ENTITY.subn(_character, text)
    name = "unescaped" if options.unescape else "entities"
    counts[name] = counts.get(name, 0) + count
    return replaced if options.unescape else text


def unescaped(text: str) -> str:
    """Return a text with its entities replaced."""
    return ENTITY.sub(_character, text) if "&" in text else text


def _character(entity: re.Match[str]) -> str:
    """Return the character of an entity; a space for a line end, so that lines stay as they are."""
    return re.sub(r"[\r\n]", " ", html.unescape(entity[0]))


def keep_fields(
    options: ReadOptions, available: dict[str, list[str]], source: str
) -> dict[str, list[str]]:
    """Return the kept fields of a format with fixed fields; all of them if none is named."""
    for name in options.keep:
        if name not in available:
            raise SourceError(
                f"{source}: no field {name!r} to keep; its fields are {', '.join(available)}"
            )
    return {name: available[name] for name in options.keep or available}


def text_block(
    raw: RawBlock,
    documents: Sequence[bytes],
    positions: Sequence[int] | NDArray[np.int64],
    fields: dict[str, list[str]],
    counts: dict[str, int],
    **about: Any,
) -> TextBlock:
    """Return documents as a block, with the fields to keep, and the counts that are not 0."""
    return TextBlock(
        b"".join(documents),
        offsets_of(map(len, documents)),
        np.array(positions, np.int64),
        raw.source,
        keep_fields(raw.options, fields, raw.source),
        counts={name: count for name, count in counts.items() if count},
        **about,
    )
