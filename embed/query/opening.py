"""Open vectors for queries, within a bound on memory."""

from pathlib import Path

from firth.corpora.common.memory import require_memory
from firth.corpora.common.threads import thread_count
from firth.embed.formats.memory import PROGRAM, size_opened
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.context_vectors import with_contexts
from firth.embed.vectors.word_vectors import WordVectors

_BY_THREAD = 16 << 20  # blocks of rows with their products
_BY_QUERY = 500  # strings, lists
_BY_ANSWER = 1_300  # a word and its score, as an object and as JSON


def open_queried(
    run: Path,
    *,
    add_contexts: bool = False,
    memory: str | None = None,
    n_queries: int = 1,
    k: int = 10,
) -> WordVectors:
    """Open vectors, or their sums with context vectors, and refuse what exceeds the memory."""
    if memory is not None:
        size = size_opened(run, add_contexts=add_contexts)
        queries = n_queries * (_BY_QUERY + 24 * size.dim + _BY_ANSWER * min(k, size.words))
        search = _BY_THREAD * thread_count(None)
        require_memory(
            PROGRAM + size.bytes + search + queries,
            memory,
            f"{run}: {size.words:,} words of {size.dim} dimensions and queries take",
            "export the vectors to a format that is mapped, gensim or int8",
        )
    vectors = load_vectors(run)
    return with_contexts(vectors) if add_contexts else vectors
