"""How much memory a skip-gram or CBOW training takes, and the refusal of what does not fit."""

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import machine_memory, parse_memory
from firth.corpora.common.threads import thread_count
from firth.embed.vectors.subwords import word_buckets
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import TUNING, Ngrams, Word2VecConfig
from firth.embed.word2vec.kernel_settings import lockstep_rows
from firth.embed.word2vec.kernels.simd_ir import LANES
from firth.embed.word2vec.training_text import TrainingText

_PROGRAM = 120 << 20  # Python, NumPy, numba and compiled kernels
_GENSIM = 60 << 20  # gensim and SciPy
_COMPOSING = 12 << 20  # code and memory that remains from composing words
# bytes of Python's and NumPy's objects, measured with tables of one column
_BY_TYPE = 40  # of the corpus: counts and rows of types
_BY_WORD = 80  # strings, counts, noise
_BY_WORD_GENSIM = 100  # dictionaries
_BY_INITIAL_WORD = 250  # strings and a dictionary
_BY_COMPOSED = 120  # of these, too
_BY_NGRAM = 44  # while words are composed of their n-grams
_WORDS_AT_ONCE = 1 << 15


@dataclass(frozen=True, kw_only=True)
class TrainingSize:
    """What the memory of a training depends on, besides its settings."""

    words: int  # that get vectors
    types: int  # of the corpus
    tokens: int  # most of two shards in succession
    units: int  # most sentences, paragraphs or documents of these, as ``boundary`` says
    ngrams: int = 0  # of all words
    buckets: int = 0  # that the n-grams use


def memory_needed(size: TrainingSize, config: Word2VecConfig) -> int:
    """Return the bytes of anonymous memory that a training takes at most; mapped files are none."""
    width = -(-config.dim // LANES) * LANES
    text = 4 * size.tokens + 30 * size.units  # a shard is prepared while the last one is held
    fixed = _PROGRAM + text + _BY_TYPE * size.types + _BY_WORD * size.words
    if config.engine == "gensim":
        return fixed + _GENSIM + (8 * config.dim + _BY_WORD_GENSIM) * size.words
    tables = 4 * width * (2 * size.words + size.buckets)
    threads = thread_count(config.threads)
    if config.deterministic:
        tables += 4 * width * lockstep_rows(config, TUNING) + 32 * size.words
    if config.ngrams is None:
        return fixed + tables
    composed = _COMPOSING + 4 * size.ngrams + (4 * threads + _BY_COMPOSED) * size.words
    return fixed + max(_BY_NGRAM * size.ngrams, tables + composed)


def require_memory(text: TrainingText, config: Word2VecConfig, init: WordVectors | None) -> None:
    """Raise if a training takes more memory than was asked for, or than the machine has."""
    needed = memory_of(text, config, init)
    limit = machine_memory() if config.memory is None else parse_memory(config.memory)
    if needed <= limit:
        return
    what = f"`memory={config.memory}`" if config.memory else f"this machine has {limit >> 20:,} MB"
    raise SettingError(
        f"{what}: {len(text.words):,} words of {config.dim} dimensions take at least "
        f"`memory={-(-needed >> 20)}M`; pass that, a smaller `max_vocabulary`, a larger "
        "`min_count` or a smaller `dim`"
    )


def memory_of(text: TrainingText, config: Word2VecConfig, init: WordVectors | None) -> int:
    """Return the bytes of anonymous memory that the training on a text takes at most."""
    return memory_needed(training_size(text, config), config) + _of_initial(init)


def training_size(text: TrainingText, config: Word2VecConfig) -> TrainingSize:
    """Return the sizes of a text on which the memory of a training depends."""
    stored = text.view.stored
    tokens = [len(shard.ids) for shard in stored.shards]
    units = [len(shard.offsets(config.boundary)) for shard in stored.shards]
    ngrams, buckets = (0, 0) if config.ngrams is None else count_ngrams(text.words, config.ngrams)
    again = config.epochs != 1  # the first shard follows the last one
    return TrainingSize(
        words=len(text.words),
        types=len(stored.vocabulary),
        tokens=_most_of_two(tokens, again),
        units=_most_of_two(units, again),
        ngrams=ngrams,
        buckets=buckets,
    )


def count_ngrams(words: Sequence[str], ngrams: Ngrams) -> tuple[int, int]:
    """Return the number of n-grams of all words, and of the buckets that they use."""
    n_ngrams, used = 0, np.zeros(ngrams.n_buckets, dtype=bool)
    for first in range(0, len(words), _WORDS_AT_ONCE):
        _, buckets = word_buckets(words[first : first + _WORDS_AT_ONCE], *ngrams)
        n_ngrams += len(buckets)
        used[buckets] = True
    return n_ngrams, int(used.sum())


def _most_of_two(sizes: list[int], again: bool) -> int:
    """Return the greatest sum of two neighbors; the first one may follow the last one ``again``."""
    return max(map(sum, pairwise([sizes[-1] if again else 0, *sizes])))


def _of_initial(init: WordVectors | None) -> int:
    """Return the bytes that vectors to start from take: their words, and a matrix from a file."""
    if init is None:
        return 0
    in_memory = 0 if init.path is not None else init.matrix.nbytes
    return in_memory + _BY_INITIAL_WORD * len(init.vocabulary)
