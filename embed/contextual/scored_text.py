"""Read the lines to score, with the context of each."""

import json
from collections.abc import Iterator
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note
from firth.corpora.reading.records import no_field
from firth.corpora.reading.tables import table_rows
from firth.embed.contextual.encoded_text import text_lines


def read_scored(source: Path, column: str | None, given: str | None) -> list[tuple[str, str]]:
    """Return the context and the sentence of each line, or of each row of a table or JSON lines."""
    if column is not None:
        names = (column,) if given is None else (given, column)
        cells = (_json_cells if ".jsonl" in source.suffixes else _cells)(source, names)
        return [(" ".join(context), text) for *context, text in cells]
    if source.suffix.lower() in (".csv", ".jsonl"):
        note(f"{source}: read as lines of text; `column=NAME` reads one column of a table")
    pairs = []
    for number, line in enumerate(text_lines(source), 1):
        context, _, text = line.rstrip("\r\n").rpartition("\t")
        if "\t" in context:
            raise SourceError(f"{source}:{number}: has two tabs; leave one, after a context")
        pairs.append((context, text))
    return pairs


def _cells(source: Path, names: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield the cells of some columns of CSV or TSV."""
    text = "".join(text_lines(source)).replace("\r\n", "\n")
    header, *rows = [*table_rows(text, str(source))] or [[]]
    for name in names:
        if name not in header:
            raise SourceError(no_field(str(source), name, header))
    for row in rows:
        yield [row[header.index(name)] for name in names]


def _json_cells(source: Path, names: tuple[str, ...]) -> Iterator[list[str]]:
    """Yield some fields of JSON lines."""
    for number, line in enumerate(text_lines(source), 1):
        try:
            record = json.loads(line)
        except (ValueError, RecursionError):
            record = None
        values = map(record.get, names) if isinstance(record, dict) else []
        cells = [value for value in values if isinstance(value, str)]
        if len(cells) < len(names):
            needs = f"not a JSON object with text in {' and '.join(names)}; correct it"
            raise SourceError(f"{source}:{number}: {needs}")
        yield cells
