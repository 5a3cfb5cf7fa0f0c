"""What readers produce: raw blocks cut in order, and text blocks parsed from them anywhere."""

import dataclasses
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from corpora.common.errors import SettingError, SourceError
from corpora.common.options import check, setting
from corpora.reading.decoding import checked_utf8

FORMATS = ("text", "jsonl", "csv", "tsv", "parquet", "conllu", "mediawiki", "wikiextractor")
BLOCK_BYTES = 4 << 20

# CoNLL-U blocks carry their own segmentation (see TextBlock.given).
TOKEN_END = b"\x1f"
SENTENCE_END = b"\x1e"


@dataclass(frozen=True, kw_only=True)
class ReadOptions:
    """How sources are read."""

    format: str = setting("auto", "Format of the sources.", choices=("auto", *FORMATS))
    documents: str = setting(
        "file",
        "What one document of plain text is: a file, a line, or a block between blank lines.",
        choices=("file", "line", "block"),
    )
    wrapped: bool = setting(
        False, "Text is hard-wrapped: paragraphs end at blank lines, not at line ends."
    )
    field: str | None = setting(
        None,
        "Field that holds the text of JSONL, CSV, TSV and Parquet (default: text), "
        "or the column form or lemma of CoNLL-U (default: form).",
        metavar="NAME",
    )
    keep: tuple[str, ...] = setting(
        (), "Fields to keep with each document, comma-separated; repeatable.", metavar="NAMES"
    )
    encoding: str = setting("utf-8", "Encoding of the sources.", metavar="NAME")
    errors: str = setting(
        "strict",
        "On bytes that are not text in the encoding: stop, or replace (and count) them.",
        choices=("strict", "replace"),
    )

    def __post_init__(self) -> None:
        """Split comma lists and check every value."""
        check(self)
        names = (name.strip() for part in self.keep for name in part.split(","))
        object.__setattr__(self, "keep", tuple(dict.fromkeys(name for name in names if name)))
        try:
            " ".encode(self.encoding)
        except (LookupError, ValueError):
            raise SettingError(
                "ReadOptions.encoding must be an encoding that Python knows, such as latin-1, "
                f"got {self.encoding!r}"
            ) from None
        if self.wrapped and self.documents == "line":
            raise SettingError(
                "ReadOptions.wrapped joins lines, so documents must be file or block, got 'line'"
            )


@dataclass(frozen=True)
class TextBlock:
    r"""Documents laid end to end, ready for sentence splitting and segmentation."""

    # valid UTF-8. ``\n`` ends a paragraph; every document that is not empty and not cut by the
    # block's end ends with one. Paragraphs may be empty
    text: bytes
    # int64 (n + 1,): document d is ``text[documents[d]:documents[d + 1]]``; the first offset is 0
    # and the last ``len(text)``
    documents: NDArray[np.int64]
    # int64 (n,): 1-based line (Parquet: record) of the source at which each document starts
    positions: NDArray[np.int64]
    source: str  # the file's path, as given or as found in the folder given; ``<stdin>``
    fields: dict[str, list[str]]  # the kept fields, one value per document
    continues: bool = False  # the first document goes on from the block before
    # tokens and sentences are given: ``\x1f`` between tokens, ``\x1e`` between sentences, ``\n``
    # after paragraphs
    given: bool = False
    # what was dropped or replaced
    counts: dict[str, int] = dataclasses.field(default_factory=dict)


@dataclass(frozen=True)
class RawBlock:
    """A piece of a source, cut where it is safe to cut; picklable."""

    data: Any  # UTF-8 not yet validated with LF line ends, or records already split
    source: str  # as in :class:`TextBlock`
    first_line: int  # 1-based line of the source at which ``data`` begins
    options: ReadOptions  # what the reading was asked for
    parser: Callable[["RawBlock"], TextBlock]  # rawBlock to TextBlock; a module-level function
    heavy: bool = False  # true where parsing is slow pure Python, so that processes pay
    continues: bool = False  # the block begins inside a document
    # bytes of the file (as stored, compressed or not) read since the block before
    consumed: int = 0
    state: Any = None  # what the format's parser needs of the file's beginning
    # what was dropped or replaced before the cut
    counts: dict[str, int] = dataclasses.field(default_factory=dict)

    def parse(self) -> TextBlock:
        """Decode and lay out the documents of the block."""
        return self.parser(self)

    def checked(self) -> tuple[bytes, dict[str, int]]:
        """Validate ``data`` as UTF-8 text."""
        data, replaced = checked_utf8(self.data, self.source, self.first_line, self.options.errors)
        counts = dict(self.counts)
        if replaced:
            counts["replaced_bytes"] = counts.get("replaced_bytes", 0) + replaced
        return data, counts


def keep_fields(
    options: ReadOptions, available: dict[str, list[str]], source: str
) -> dict[str, list[str]]:
    """Select the kept fields of a format that has fixed ones; all, when none is named."""
    for name in options.keep:
        if name not in available:
            raise SourceError(
                f"{source}: no field {name!r} to keep; its fields are {', '.join(available)}"
            )
    return {name: available[name] for name in options.keep or available}
