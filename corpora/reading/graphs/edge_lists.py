"""Edge lists, one edge on each line, and adjacency lists: a node and its neighbors."""

import csv
import itertools
import re
from collections.abc import Iterable, Iterator, Sequence

import numpy as np

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.graphs.edges import Edges
from firth.corpora.reading.tables import unquoted

_COMMENTS = ("#", "%")
_HEADERS = {
    *(("source", "target"), ("from", "to"), ("src", "dst"), ("fromnodeid", "tonodeid")),
    *(("node1", "node2"), ("node_1", "node_2"), ("id1", "id2"), ("id_1", "id_2")),
}
_COMMENTED = re.compile(r"^\s*[#%][^\s#%]\S*[\s,]+[^\s,]", re.MULTILINE)  # maybe edges of "#name"
_ADJACENCY = re.compile(r".*\.adjlist(?:\.\w+)?", re.IGNORECASE)
_HEAD_ROWS = 1000  # that show the format


def read_edge_list(texts: Iterable[tuple[int, str]], name: str, weighted: bool) -> Edges:
    """Read texts of whole lines, each with its first line number."""
    edges, width, texts = Edges(), 3 if weighted else 2, iter(texts)
    first = next(texts, (1, ""))
    separator = _separator(first[1])
    head = list(itertools.islice(_rows(*first, separator, name), _HEAD_ROWS))
    adjacency = _has_neighbors([fields for _, fields in head], name)
    if adjacency and weighted:
        raise SourceError(f"{name}: an adjacency list has no weights; leave out `weighted=True`")
    listed = set[int]()  # nodes with a line of their own in an adjacency list
    header = not adjacency and _has_header([fields[:2] for _, fields in head])
    for first_line, text in itertools.chain((first,), texts):
        if first_line > 1 and _add_plain(edges, text, separator or " ", width):
            continue
        edges.tally["comments"] += len(_COMMENTED.findall(text))
        for line, fields in _rows(first_line, text, separator, name):
            try:
                if adjacency:
                    listed.add(edges.numbers[fields[0]])  # which may have no neighbors
                    edges.add(itertools.chain(*((fields[0], other) for other in fields[1:])))
                elif len(fields) != width:
                    raise ValueError(_wrong_width(fields, weighted))
                elif not header or line > head[0][0]:
                    edges.add(fields[:2], fields[2:])
            except ValueError as error:
                raise SourceError(f"{name}:{line}: {error}") from None
    unlisted = (node for node, number in edges.numbers.items() if number not in listed)
    if adjacency and not _ADJACENCY.fullmatch(name) and (node := next(unlisted, None)):
        raise SourceError(
            f"{name}: has no line for {node!r}, unlike lists of neighbors; drop `walks` if it is "
            "text, or let the name of the file end in .adjlist"
        )
    return edges


def _separator(text: str) -> str | None:
    """Return what separates columns in the first line: a tab, a comma or, as None, blanks."""
    lines = (line.strip() for line in text.split("\n"))
    line = next((line for line in lines if line and not line.startswith(_COMMENTS)), "")
    return next((mark for mark in "\t," if mark in line), None)


def _rows(
    first_line: int, text: str, separator: str | None, name: str
) -> Iterator[tuple[int, list[str]]]:
    """Yield the columns of each line, without quotes around them, and the number of the line."""
    for number, line in enumerate(text.split("\n"), first_line):
        line = line.strip()
        if not line or line.startswith(_COMMENTS):
            continue
        if separator != "," or '"' not in line:
            columns = [column.strip() for column in line.split(separator)]
            yield number, list(map(unquoted, columns)) if separator else columns
            continue
        try:
            yield number, next(csv.reader((line,), strict=True, skipinitialspace=True))
        except csv.Error as error:
            raise SourceError(
                f"{name}:{number}: malformed CSV ({error}); quote names that contain quotes, "
                "and double these quotes"
            ) from None


def _add_plain(edges: Edges, text: str, separator: str, width: int) -> bool:
    """Add all edges of a text at once if nothing is to be removed; return whether this was so."""
    if any(mark in text for mark in '"#%'):
        return False
    codes = np.frombuffer(text.encode(), np.uint8)
    marks = codes[(codes == ord(separator)) | (codes == ord("\n"))]
    layout = separator * (width - 1) + "\n"
    if bytes(marks) != layout.encode() * (len(marks) // width):
        return False
    columns = text.replace("\n", separator).split(separator)[:-1]
    weights = columns[2::3] if width == 3 else []
    if weights:
        del columns[2::3]
    try:
        edges.add(columns, weights)
    except ValueError:  # the line is not known here
        return False
    return True


def _has_neighbors(rows: Sequence[Sequence[str]], name: str) -> bool:
    """Return whether a file is an adjacency list: one line for each node, of any width."""
    widths, nodes = {len(row) for row in rows}, {row[0] for row in rows}
    varied = len(widths) > 1 and max(widths) > 3 and len(nodes) == len(rows)
    varied = varied and not any(row[2:] and row[2].startswith("{") for row in rows)  # NetworkX
    return varied or bool(_ADJACENCY.fullmatch(name))


def _has_header(rows: Sequence[Sequence[str]]) -> bool:
    """Return whether the first row names the columns: by known names, or above numbers alone."""
    if not rows:
        return False
    numbers = ["".join(row).isdecimal() for row in rows]
    known = tuple(map(str.lower, rows[0])) in _HEADERS
    return known or (not any(map(str.isdecimal, rows[0])) and len(rows) > 2 and all(numbers[1:]))


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
        f"{n_columns}; {third}keep two columns (a list of neighbors needs the file ending "
        ".adjlist, text no `walks`)"
    )
