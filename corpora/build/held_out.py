"""The held-out slice: documents that no method trains on, chosen by a hash of their text."""

from collections.abc import Iterable, Sequence

import numpy as np

from corpora.artifacts.arrays import write_array
from corpora.build.shard_writer import ShardWriter
from corpora.store.shards import Shard

ENOUGH_DOCUMENTS = 10  # with so many, one at least is held out


class HeldOut:
    """Watches the documents of a build, and settles the slice at its end."""

    def __init__(self, share: float) -> None:
        self._share = share
        self._first = (1 << 64, 0, 0)  # key, shard, document

    def note(self, keys: np.ndarray, continues: bool, shards: Sequence[ShardWriter]) -> None:
        """Remember the document of the smallest key, the first choice of every share."""
        # keys: uint64 (n_documents,)
        skip = 1 if continues else 0
        if len(keys) > skip:
            best = int(np.argmin(keys[skip:]))
            place = shards[-1].lengths["documents"] + best
            self._first = min(self._first, (int(keys[skip + best]), len(shards) - 1, place))

    def settle(self, shards: Sequence[Shard]) -> None:
        """Hold something out where the share of few documents is none, and never everything."""
        n_documents = sum(len(shard.held_out) for shard in shards)
        n_held_out = sum(int(shard.held_out.sum()) for shard in shards)
        if _training_tokens(shards) and (n_held_out or not self._share):
            return
        chosen = self._first[1:] if self._share and n_documents >= ENOUGH_DOCUMENTS else None
        if chosen and _is_everything(chosen, shards):
            chosen = None
        for number, shard in enumerate(shards):
            held_out = np.zeros(len(shard.held_out), dtype=bool)
            if chosen and chosen[0] == number:
                held_out[chosen[1]] = True
            write_array(shard.directory, "held_out", held_out)


def held_out_sizes(shards: Iterable[Shard]) -> dict[str, int]:
    """Count the documents and tokens of the slice."""
    documents, tokens = 0, 0
    for shard in shards:
        documents += int(shard.held_out.sum())
        tokens += int(np.diff(shard.documents)[shard.held_out].sum())
    return {"held_out_documents": documents, "held_out_tokens": tokens}


def _is_everything(chosen: tuple[int, int], shards: Sequence[Shard]) -> bool:
    """Whether all other documents are empty."""
    number, document = chosen
    n_tokens = np.diff(shards[number].documents)[document]
    return bool(n_tokens == sum(len(shard.ids) for shard in shards))


def _training_tokens(shards: Sequence[Shard]) -> int:
    """Tokens of all documents that are not held out."""
    return sum(int(np.diff(shard.documents)[~shard.held_out].sum()) for shard in shards)
