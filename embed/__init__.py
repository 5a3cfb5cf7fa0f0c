"""Word vectors: counting, factorising, querying and comparing."""

from typing import TYPE_CHECKING

from corpora.lazy import offer

if TYPE_CHECKING:
    from embed.compare.compared import Compared as Compared
    from embed.compare.compared import compare_runs as compare_runs
    from embed.compare.config import CompareConfig as CompareConfig
    from embed.contexts import with_contexts as with_contexts
    from embed.encoders import open_encoder as open_encoder
    from embed.formats import write_vectors as write_vectors
    from embed.in_context import nearest_in_context as nearest_in_context
    from embed.map_picture import draw_map as draw_map
    from embed.neighbors import analogy as analogy
    from embed.neighbors import nearest as nearest
    from embed.neighbors import similarity as similarity
    from embed.pooled_run import pool_run as pool_run
    from embed.pooling import PoolConfig as PoolConfig
    from embed.study.settings import Study as Study
    from embed.study.settings import read_study as read_study
    from embed.study.study import make_study as make_study
    from embed.svd_vectors import SvdConfig as SvdConfig
    from embed.svd_vectors import train_svd as train_svd
    from embed.vectors import WordVectors as WordVectors
    from embed.vectors import load_vectors as load_vectors
    from embed.word2vec import CbowConfig as CbowConfig
    from embed.word2vec import SkipGramConfig as SkipGramConfig
    from embed.word2vec import train_cbow as train_cbow
    from embed.word2vec import train_skipgram as train_skipgram
    from embed.word_map import map_words as map_words

HOMES = {
    "embed.compare.compared": ("Compared", "compare_runs"),
    "embed.compare.config": ("CompareConfig",),
    "embed.contexts": ("with_contexts",),
    "embed.encoders": ("open_encoder",),
    "embed.formats": ("write_vectors",),
    "embed.in_context": ("nearest_in_context",),
    "embed.map_picture": ("draw_map",),
    "embed.neighbors": ("analogy", "nearest", "similarity"),
    "embed.pooled_run": ("pool_run",),
    "embed.pooling": ("PoolConfig",),
    "embed.study.settings": ("Study", "read_study"),
    "embed.study.study": ("make_study",),
    "embed.svd_vectors": ("SvdConfig", "train_svd"),
    "embed.vectors": ("WordVectors", "load_vectors"),
    "embed.word2vec": ("CbowConfig", "SkipGramConfig", "train_cbow", "train_skipgram"),
    "embed.word_map": ("map_words",),
}
__all__ = [name for names in HOMES.values() for name in names]

if not TYPE_CHECKING:  # a checker that saw __getattr__ would take any name
    __getattr__, __dir__ = offer(__name__, HOMES)
