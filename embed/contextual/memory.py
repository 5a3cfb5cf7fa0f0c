"""How much memory pooling takes, and which of its arrays are to be in files."""

from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.corpora.artifacts.artifact import read_json
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory, require_memory
from firth.embed.contextual.pooling import MASKED_CONTEXTS, PoolConfig
from firth.embed.formats.huggingface import CONFIG, is_huggingface, weights_size
from firth.embed.runs.run import Run
from firth.embed.svd.scratch import Scratch

if TYPE_CHECKING:  # numba comes with it
    from firth.corpora.store.corpus import Corpus

_PROGRAM = 320 << 20  # Python, torch, numba and compiled kernels
_TRANSFORMERS = 250 << 20
_SLOTS = 2048  # of a batch on a CPU
_AT_ONCE = 1 << 15  # words that are encoded at once
_PIECES = 3  # of a word, on average, at most
_BY_TOKEN = 40  # of a shard: rows, words, selected ones
_BY_HEAD = 64  # of a shard: the tree of each token, if the encoder reads trees
_BY_TYPE = 330  # of the corpus: strings, a dictionary
_BY_WORD = 330  # that gets a vector: strings, counts, pieces
_BY_CONTEXT = 8
_SHAPE = ("dim", "layers", "feed_forward_dim", "heads", "max_length")
_THEIR_SHAPE = (
    "hidden_size", "num_hidden_layers", "intermediate_size", "num_attention_heads",
    "max_position_embeddings",
)  # fmt: skip


def pooling_scratch(
    run: Path, corpus: "Corpus", config: PoolConfig, memory: str | None, directory: Path
) -> Scratch:
    """Return where arrays of words and dimensions go; raise if all the rest exceeds the memory.

    Files are in the nearest ``directory`` that exists.
    """
    if memory is None:
        return Scratch()
    needed = memory_needed(run, corpus, config)
    require_memory(
        needed,
        memory,
        f"pooling {run} on {corpus.path} takes",
        "a larger `min_count`, a smaller `contexts_per_word` or a smaller corpus",
    )
    there = next(each for each in (directory, *directory.parents) if each.is_dir())
    return Scratch(parse_memory(memory) - needed, there)


def memory_needed(run: Path, corpus: "Corpus", config: PoolConfig) -> int:
    """Return the bytes of anonymous memory that pooling takes with its large arrays in files."""
    view = corpus.view(min_count=config.min_count, max_vocabulary=config.max_vocabulary)
    contexts = config.contexts_per_word or MASKED_CONTEXTS
    words = len(view.words) * (_BY_WORD + _BY_CONTEXT * contexts)
    types = _BY_TYPE * len(corpus.vocabulary)
    by_token = _BY_TOKEN + (_BY_HEAD if _reads_trees(run) else 0)
    text = by_token * max(len(shard.ids) for shard in corpus.shards)
    return _PROGRAM + _of_encoder(run) + words + types + text


def _reads_trees(run: Path) -> bool:
    """Return whether the encoder of a run attends along the edges of trees."""
    shape = {} if is_huggingface(run) else Run.open(run).entries("encoder")
    return shape.get("attention_edges") is not None


def _of_encoder(run: Path) -> int:
    """Return the bytes of an encoder's weights, while they are read, and of its batches."""
    other = is_huggingface(run)
    options: Any = read_json(run / CONFIG) if other else Run.open(run).entries("encoder")
    try:
        dim, layers, inner, heads, length = (
            int(options[name]) for name in (_THEIR_SHAPE if other else _SHAPE)
        )
    except (TypeError, KeyError, ValueError):
        raise SettingError(
            f"`memory`: {run / CONFIG} does not tell the shape of its encoder; pass no bound"
        ) from None
    slots = max(_SLOTS, length)
    states = slots * (4 * dim * (layers + 12) + 16 * inner + 12 * heads * min(length, slots))
    kept = _AT_ONCE * (_PIECES + 2) * 4 * dim
    # twice, as it is derived from the shapes and measured for small encoders only
    return 2 * weights_size(run) + 2 * (states + kept) + (_TRANSFORMERS if other else 0)
