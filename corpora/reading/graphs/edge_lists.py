"""Edge lists, one edge on each line, and adjacency lists: a node and its neighbors."""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.graphs.edges import Edges
from firth.corpora.reading.tables import unquoted

_COMMENTS = ("#", "%")
_HEADERS = {
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("fromnodeid", "tonodeid")),
    *(("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2")),
}
_ADJACENCY = re.compile(r".*\.adjlist(?:\.\w+)?", re.IGNORECASE)
_HEAD_ROWS = 1000  # that show the format


def read_edge_list(texts: Iterable[tuple[int, str]], name: str, weighted: bool) -> Edges:
    """Read texts, each with its first line number, that are of whole lines."""
    rows = _rows(texts, name)
    head = list(itertools.islice(rows, _HEAD_ROWS))
    adjacency = _has_neighbors([fields for _, fields in head], name)
    if adjacency and weighted:
        raise SourceError(f"{name}: an adjacency list has no weights; pass `weighted=False`")
    if head and not adjacency and tuple(map(str.lower, head[0][1][:2])) in _HEADERS:
        head = head[1:]
    edges, width = Edges(), 3 if weighted else 2
    for line, fields in itertools.chain(head, rows):
        try:
            if adjacency:
                _ = edges.numbers[fields[0]]  # it may have no neighbors
                for neighbor in fields[1:]:
                    edges.add(fields[0], neighbor)
            elif len(fields) == width:
                edges.add(*fields)
            else:
                raise ValueError(_wrong_width(fields, weighted))
        except ValueError as error:
            raise SourceError(f"{name}:{line}: {error}") from None
    return edges


def _rows(texts: Iterable[tuple[int, str]], name: str) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line, with its number; the first line shows what separates them."""
    separator = ""
    for first_line, text in texts:
        for number, line in enumerate(text.split("\n"), first_line):
            line = line.strip()
            if not line or line.startswith(_COMMENTS):
                continue
            separator = separator or next((mark for mark in "\t," if mark in line), " ")
            try:
                yield number, _columns(line, separator)
            except csv.Error as error:
                raise SourceError(
                    f"{name}:{number}: malformed CSV ({error}); quote names that contain quotes, "
                    "and double these quotes"
                ) from None


def _columns(line: str, separator: str) -> list[str]:
    """Split a line, and remove quotes around names."""
    if separator == " ":
        return line.split()
    if '"' not in line:
        return [column.strip() for column in line.split(separator)]
    if separator == "\t":
        return [unquoted(column.strip()) for column in line.split("\t")]
    return next(csv.reader((line,), strict=True, skipinitialspace=True))


def _has_neighbors(rows: Sequence[Sequence[str]], name: str) -> bool:
    """Return whether a file is an adjacency list: one line for each node, of any width."""
    if _ADJACENCY.fullmatch(name):
        return True
    widths, nodes = {len(row) for row in rows}, {row[0] for row in rows}
    return len(widths) > 1 and max(widths) > 3 and len(nodes) == len(rows)


def _wrong_width(columns: Sequence[str], weighted: bool) -> str:
    """Return what is wrong with a line, and the remedy."""
    n_columns = f"has {len(columns)} column{'s' * (len(columns) != 1)}"
    if len(columns) < 2:
        return f"{n_columns}; separate two nodes by blanks, a tab or a comma"
    if columns[2:] and columns[2].startswith("{"):
        return f"{n_columns}; write the edges with data=['weight'] or data=False in NetworkX"
    if weighted:
        return f"{n_columns}; with `weighted=True` a line has two nodes and a weight"
    third = "pass `weighted=True` if the third is a weight, or " * (len(columns) == 3)
    return (
        f"{n_columns}; {third}keep two columns (a list of neighbors needs the file ending .adjlist)"
    )
