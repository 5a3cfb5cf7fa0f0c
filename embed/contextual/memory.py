"""How much memory pooling takes, and which of its arrays are to be in files."""

from pathlib import Path
from typing import TYPE_CHECKING

from firth.corpora.common.memory import parse_memory, require_memory
from firth.embed.contextual.pooling import MASKED_CONTEXTS, PoolConfig
from firth.embed.formats.huggingface import weights_size
from firth.embed.svd.scratch import Scratch

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.store.corpus import Corpus

_PROGRAM = 720 << 20  # Python, torch, transformers, numba and compiled kernels, a small batch
_BY_WEIGHT = 6  # of an encoder: read, held, and the states of a batch, which grow alike
_BY_TOKEN = 40  # of a shard: rows, words, selected ones
_BY_HEAD = 64  # of a shard: the tree of each token, if the corpus keeps trees
_BY_TYPE = 330  # of the corpus: strings, a dictionary
_BY_WORD = 330  # that gets a vector: strings, counts, pieces
_BY_CONTEXT = 8


def pooling_scratch(
    run: Path, corpus: "Corpus", config: PoolConfig, memory: str | None, directory: Path
) -> Scratch:
    """Return where arrays of words and dimensions go; raise if all the rest exceeds the memory.

    Files are in the nearest ``directory`` that exists.
    """
    if memory is None:
        return Scratch()
    view = corpus.view(min_count=config.min_count, max_vocabulary=config.max_vocabulary)
    contexts = config.contexts_per_word or MASKED_CONTEXTS
    words = len(view.words) * (_BY_WORD + _BY_CONTEXT * contexts)
    by_token = _BY_TOKEN + (_BY_HEAD if corpus.keeps_heads else 0)
    text = by_token * max(len(shard.ids) for shard in corpus.shards)
    text += _BY_TYPE * len(corpus.vocabulary)
    needed = _PROGRAM + _BY_WEIGHT * weights_size(run) + words + text
    require_memory(
        needed,
        memory,
        f"pooling {run} on {corpus.path} takes",
        "a larger `min_count`, a smaller `contexts_per_word` or a smaller corpus",
    )
    nearest = next(folder for folder in (directory, *directory.parents) if folder.is_dir())
    return Scratch(parse_memory(memory) - needed, nearest)
