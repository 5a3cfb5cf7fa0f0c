"""Random walks over the graph of a file, as the encoded blocks of a corpus."""

import itertools
import math
from collections.abc import Hashable, Iterator, Mapping
from concurrent.futures import Executor
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.threads import map_ahead
from firth.corpora.encoding.encode import EncodedBlock
from firth.corpora.encoding.encode_kernels import count_tokens
from firth.corpora.encoding.held_out import unit_keys
from firth.corpora.encoding.table_pool import Encoded, TableStore
from firth.corpora.graphs.links import hold_out_links, write_links
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.graphs.walker import Walker
from firth.corpora.reading.graphs.files import read_graph
from firth.corpora.reading.sources import SourceFile
from firth.corpora.reading.text_blocks import ReadOptions, TextBlock

LINKS = "links.tsv"  # in a corpus: pairs of nodes with and without a held-out edge
_TABLE = 0  # the one table of types, whose ids are the numbers of nodes


class WalkedGraph:
    """The graph of a file without the links to hold out, and ``n_blocks`` blocks of its walks."""

    def __init__(self, file: SourceFile, options: WalkOptions, read: ReadOptions) -> None:
        found = read_graph(file, directed=options.directed, weighted=options.weighted, options=read)
        self.names, graph = found.names, found.graph
        self._source, self.sha256 = file.name, found.sha256  # of the file
        self.tally, self._links = dict(found.tally), list[np.ndarray]()  # as of hold_out_links
        sides = 2 - options.directed  # from which an edge is there
        if share := options.hold_out_links:
            self.tally["asked_links"] = round(share * len(graph.neighbors) / sides)
            graph, *self._links = hold_out_links(graph, share, options.seed, options.directed)
            self.tally["held_out_links"] = len(self._links[0])
        self.tally["edges"] = len(graph.neighbors) // sides
        self.walker = Walker(graph, options)
        self.n_blocks = math.ceil(self.walker.n_walks / self.walker.walks_at_once)

    @property
    def n_tokens(self) -> int:
        """Tokens of all walks that are to be made, if none ends early."""
        n_walks = min(self.walker.n_walks, self.n_blocks * self.walker.walks_at_once)
        return n_walks * self.walker.options.length

    def encoded(self, store: TableStore, threads: Executor, n_threads: int) -> Iterator[Encoded]:
        """Make the walks on threads and yield them in order; the nodes are in the store after."""
        counts = np.zeros(len(self.names), np.int64)
        starts = itertools.islice(self.walker.starts(), self.n_blocks)
        blocks = map_ahead(threads, lambda block: self._block(*block), starts, 2 * n_threads)
        for number, encoded in enumerate(blocks, 1):
            count_tokens(encoded.block.token_ids, counts)
            if number == self.n_blocks:
                encoded.block.tally.update(self._tally(counts))
            yield encoded
        names = [name.encode() for name in self.names]
        text = np.frombuffer(b"".join(names), dtype=np.uint8)
        store.add(_TABLE, text, offsets_of(map(len, names)), counts)

    def save(self, corpus: Path, ids_of_table: Mapping[Hashable, np.ndarray]) -> None:
        """Write the graph into a corpus, given the ids of its types, and the held-out links."""
        self.walker.graph.renumbered(ids_of_table[_TABLE]).save(corpus)
        if self._links:
            write_links(corpus / LINKS, self.names, *self._links)

    def _block(self, first: int, starts: np.ndarray) -> Encoded:
        """Make the walks of a block, each of which is a document of one sentence."""
        ids, ends = self.walker.block(first, starts)
        numbers = np.arange(first, first + len(starts))
        block = EncodedBlock(ids, ends[:-1], ends[:-1], ends[:-1], unit_keys(numbers), {}, None)
        text = TextBlock(b"", ends, numbers + 1, self._source, {}, pretokenized=None)
        return Encoded(block, text, _TABLE, len(starts) * self.walker.options.length)

    def _tally(self, counts: np.ndarray) -> dict[str, int]:
        """Return what the manifest counts: sizes of the text, and what the graph lacks."""
        sizes = {"bytes": [len(name.encode()) for name in self.names]}
        sizes["characters"] = [*map(len, self.names)]
        sums = {what: int(counts @ np.array(lengths)) for what, lengths in sizes.items()}
        return {**sums, "unspaced_characters": 0, "dropped_bytes": 0, **self.tally}
