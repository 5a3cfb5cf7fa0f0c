"""Open vectors for queries, within a bound on memory."""

from pathlib import Path

from firth.corpora.common.memory import limited_memory, require_room
from firth.corpora.common.threads import thread_count
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.context_vectors import with_contexts
from firth.embed.vectors.word_vectors import WordVectors

_KERNELS = 96 << 20  # blocks of a file, numba and compiled kernels
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
    with limited_memory(memory, _KERNELS + _BY_THREAD * thread_count(None)):
        vectors = load_vectors(run)
        if add_contexts:
            vectors = with_contexts(vectors)
        answer = _BY_QUERY + 24 * vectors.dim + _BY_ANSWER * min(k, len(vectors))
        what = f"{run}: answering {n_queries:,} queries"
        require_room(n_queries * answer, what, "ask less at once")
    return vectors
