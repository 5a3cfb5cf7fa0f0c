"""Selects the held-out slice: documents excluded from training, chosen by hash."""

from collections.abc import Iterable, Sequence

import numpy as np

from corpora.artifacts.arrays import write_array
from corpora.build.shard_writer import ShardWriter
from corpora.store.shards import Shard

MIN_DOCUMENTS_TO_HOLD_OUT = 10  # from here on, at least one document is held out


class HeldOutSelector:
    """Fixes the held-out slice at the end of a build if it would be empty or everything.

    Blocks already mark the documents whose hash is below the share.
    """

    def __init__(self, share: float) -> None:
        self._share = share
        self._smallest = (1 << 64, 0, 0)  # key, shard, document

    def observe(self, keys: np.ndarray, continues: bool, shards: Sequence[ShardWriter]) -> None:
        """Remember the document with the smallest key before its block goes into the last shard.

        ``continues``: the first document started in the previous block.
        """
        # keys: uint64 (n_documents,)
        skip = 1 if continues else 0
        if len(keys) > skip:
            smallest = int(np.argmin(keys[skip:]))
            place = shards[-1].lengths["documents"] + smallest
            self._smallest = min(
                self._smallest, (int(keys[skip + smallest]), len(shards) - 1, place)
            )

    def finalize(self, shards: Sequence[Shard]) -> None:
        """Rewrite ``held_out`` of the shards if it covers every token, or none despite a share."""
        n_documents = sum(len(shard.held_out) for shard in shards)
        n_held_out = sum(int(shard.held_out.sum()) for shard in shards)
        if _training_tokens(shards) and (n_held_out or not self._share):
            return
        choice = (
            self._smallest[1:] if self._share and n_documents >= MIN_DOCUMENTS_TO_HOLD_OUT else None
        )
        if choice and _is_everything(choice, shards):
            choice = None
        for number, shard in enumerate(shards):
            held_out = np.zeros(len(shard.held_out), dtype=bool)
            if choice and choice[0] == number:
                held_out[choice[1]] = True
            write_array(shard.directory, "held_out", held_out)


def held_out_sizes(shards: Iterable[Shard]) -> dict[str, int]:
    """Return the numbers of held-out documents and tokens."""
    documents, tokens = 0, 0
    for shard in shards:
        documents += int(shard.held_out.sum())
        tokens += int(np.diff(shard.documents)[shard.held_out].sum())
    return {"held_out_documents": documents, "held_out_tokens": tokens}


def _is_everything(choice: tuple[int, int], shards: Sequence[Shard]) -> bool:
    """Return whether all other documents are empty."""
    number, document = choice
    n_tokens = np.diff(shards[number].documents)[document]
    return bool(n_tokens == sum(len(shard.ids) for shard in shards))


def _training_tokens(shards: Sequence[Shard]) -> int:
    """Return the number of tokens that are not held out."""
    return sum(int(np.diff(shard.documents)[~shard.held_out].sum()) for shard in shards)
