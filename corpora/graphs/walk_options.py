"""The options of random walks over a graph."""

import re
from dataclasses import dataclass

from firth.corpora.common.errors import SettingError
from firth.corpora.common.options import (
    check,
    describe_settings,
    rare_setting,
    refuse_unused,
    setting,
)

_SIZES = re.compile(r"([1-9]\d{0,5})x([1-9]\d{0,5})")


@describe_settings
@dataclass(frozen=True, kw_only=True)
class WalkOptions:
    """Which random walks over a graph become the text of a corpus; by default none.

    Grover and Leskovec (2016), arXiv:1607.00653, section 3.2; with ``p`` and ``q`` of 1 Perozzi et
    al. (2014), arXiv:1403.6652.

    Examples
    --------
    >>> WalkOptions(walks="10x80", q=0.5).length
    80
    """

    walks: str | None = setting(
        None,
        "Read a graph, and make N random walks of L nodes from each of its nodes, such as 10x80.",
        metavar="NxL",
        heading="Graphs",
    )
    p: float = rare_setting(
        1.0, "Steps back to the node before have their weight divided by this.", above=0
    )
    q: float = rare_setting(
        1.0,
        "Steps to nodes that are not neighbors of the node before have their weight divided by "
        "this.",
        above=0,
    )
    directed: bool = rare_setting(False, "Edges lead from the first node to the second only.")
    weighted: bool = rare_setting(False, "Steps are in proportion to the weights of edges.")
    hold_out_links: float = rare_setting(
        0.0,
        "Share of the edges that no walk takes; links.tsv lists them beside as many pairs of nodes "
        "without an edge.",
        at_least=0.0,
        below=1.0,
    )
    seed: int = rare_setting(
        1, "Seed of the walks and of the held-out links.", at_least=0, at_most=2**63 - 1
    )

    def __post_init__(self) -> None:
        check(self)
        if self.walks is None:
            names = ("p", "q", "directed", "weighted", "hold_out_links", "seed")
            refuse_unused(self, names, "applies to graphs, which `walks` reads")
        elif not _SIZES.fullmatch(self.walks) or self.length < 2:
            raise SettingError(
                "WalkOptions.walks must be numbers of walks and of their nodes (2 or more), below "
                f"a million, such as 10x80, got {self.walks!r}"
            )

    @property
    def rounds(self) -> int:
        """Number of walks from each node."""
        return self._sizes[0]

    @property
    def length(self) -> int:
        """Nodes of a walk."""
        return self._sizes[1]

    @property
    def _sizes(self) -> tuple[int, int]:
        rounds, _, length = (self.walks or "0x0").partition("x")
        return int(rounds), int(length)
