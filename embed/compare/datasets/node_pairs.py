"""Read pairs of nodes, some of them linked; the header names the columns."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import Row, cut_rows, no_column, read_rows
from firth.embed.compare.datasets.head import Head

_LINK, _GROUP = "link", "group"
_LINKED = {"1": True, "0": False}
_EXPECTED = "expected a header such as source,target,link and lines such as a,b,1"


@dataclass(frozen=True)
class NodePair:
    """Two nodes and whether they are linked."""

    nodes: tuple[str, str]  # as the file writes them
    linked: bool
    group: str  # pairs of a group are held out together


def looks_like_links(head: Head) -> bool:
    """Return whether a header names links, and 1 or 0 stands below it."""
    if not head.is_list:
        return False
    names, *rows = cut_rows(head.rows, lambda n_fields: n_fields > 2)
    link = _column(names.fields, _LINK)
    return link is not None and all(
        len(row.fields) > link and row.fields[link] in _LINKED for row in rows
    )


def read_node_pairs(path: Path, groups: str = "") -> tuple[list[NodePair], str]:
    """Read a table, and which column its groups are; without a header, lines are a, b, 1 or 0."""
    names, *rows = every = read_rows(
        path, lambda n_fields: n_fields > 2, nothing=f"no pairs; {_EXPECTED}"
    )
    link, group = (_column(names.fields, name) for name in (_LINK, groups or _GROUP))
    if groups and group is None:
        raise no_column(path, groups, names.fields)
    if link is None:
        rows, link, group = every, 2, None
    a, b, *_ = [n for n in range(max(3, len(names.fields))) if n not in (link, group)]
    pairs = [_pair(row, a, b, link, group) for row in rows]
    if len({pair.linked for pair in pairs}) < 2:
        only = "with" if pairs and pairs[0].linked else "without"
        raise SourceError(f"{path}: has pairs {only} a link only; {_EXPECTED}, and b,c,0")
    return pairs, "" if group is None else names.fields[group]


def _pair(row: Row, a: int, b: int, link: int, group: int | None) -> NodePair:
    """Return the pair in a line."""
    fields = row.fields
    if len(fields) <= max(a, b, link, group or 0) or fields[link] not in _LINKED:
        raise row.malformed(f"two nodes and a link, 1 or 0, separated by {row.between}")
    one, other = sorted((fields[a], fields[b]))
    within = f"{one}\t{other}" if group is None else fields[group]
    return NodePair((fields[a], fields[b]), _LINKED[fields[link]], within)


def _column(names: Sequence[str], name: str) -> int | None:
    """Return the column of a name; None if there are not two others."""
    lower, name = [each.lower() for each in names], name.lower()
    return lower.index(name) if name in lower and len(lower) > 2 else None
