"""GraphML: nodes by their ids, and edges, whose weights are the data named weight."""

import re
from collections.abc import Iterable
from typing import Any
from xml.parsers import expat

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.graphs.edges import Edges

_ONE = re.compile(r"(?:1(?:\.0*)?)?")  # or nothing


def read_graphml(
    texts: Iterable[tuple[int, str]], name: str, *, directed: bool, weighted: bool
) -> Edges:
    """Read the pieces of a file; an undirected edge of it is read both ways if ``directed``."""
    reader, parser = _Reader(directed, weighted), expat.ParserCreate("utf-8")
    parser.StartElementHandler, parser.EndElementHandler = reader.start, reader.end
    parser.CharacterDataHandler = reader.characters
    parser.StartDoctypeDeclHandler = _refuse_doctype
    try:
        for _, text in texts:
            parser.Parse(text, False)
        parser.Parse("", True)
    except expat.ExpatError as error:
        reason = f"malformed XML ({expat.ErrorString(error.code)}); fix the file"
        raise SourceError(f"{name}:{error.lineno}: {reason}") from None
    except ValueError as error:
        raise SourceError(f"{name}:{parser.CurrentLineNumber}: {error}") from None
    except KeyError as error:
        reason = f"an element has no attribute {error}; fix the file"
        raise SourceError(f"{name}:{parser.CurrentLineNumber}: {reason}") from None
    return reader.edges


def _refuse_doctype(*_: Any) -> None:
    """Raise, since a DOCTYPE can declare entities that expand without end."""
    raise ValueError("has a DOCTYPE, which GraphML does not need; remove it")


class _Reader:
    """Handles the events of the XML parser."""

    def __init__(self, directed: bool, weighted: bool) -> None:
        self.edges = Edges()
        self._directed, self._weighted = directed, weighted
        self._one_way = self._edges_one_way = False  # of the edge, and if it does not say
        self._root = ""
        self._key = ""  # of the element that is open
        self._weight_key: str | None = None
        self._text, self._default, self._weight = "", "", ""
        self._ends = ["", ""]

    def start(self, tag: str, attributes: dict[str, str]) -> None:
        """Begin an element."""
        tag, self._text = tag.rpartition(":")[2], ""
        self._root = self._root or tag
        if self._root != "graphml":
            raise ValueError(f"is XML of {self._root}; convert it to GraphML or an edge list")
        if tag == "graph":
            self._edges_one_way = attributes["edgedefault"] != "undirected"
        elif tag == "node":
            _ = self.edges.numbers[attributes["id"]]
        elif tag == "edge":
            self._ends, self._weight = [attributes["source"], attributes["target"]], self._default
            direction = attributes.get("directed")
            self._one_way = self._edges_one_way if direction is None else direction != "false"
        elif tag in ("key", "data"):
            self._key = attributes["id" if tag == "key" else "key"]
            if attributes.get("attr.name") == "weight" and attributes.get("for") != "node":
                self._weight_key = self._key

    def characters(self, text: str) -> None:
        """Keep the text of an element."""
        self._text += text

    def end(self, tag: str) -> None:
        """End an element."""
        tag = tag.rpartition(":")[2]
        if tag == "edge":
            if self._weighted and not self._weight:
                raise ValueError("the edge has no weight; add it, or leave out `weighted=True`")
            weights = [self._weight] if self._weighted else []
            self.edges.tally["directed_edges"] += self._one_way and not self._directed
            if not self._weighted and not _ONE.fullmatch(self._weight):
                self.edges.tally["unused_weights"] += 1
            self.edges.add(self._ends, weights)
            if self._directed and not self._one_way:
                self.edges.add(self._ends[::-1], weights)
        elif self._key == self._weight_key and tag == "data":
            self._weight = self._text.strip()
        elif self._key == self._weight_key and tag == "default":
            self._default = self._text.strip()
