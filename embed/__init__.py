"""Word vectors: training, queries and comparison."""

from typing import TYPE_CHECKING

from corpora.common.lazy import lazy_exports

if TYPE_CHECKING:
    from embed.align.api import Aligned as Aligned
    from embed.align.api import align_vectors as align_vectors
    from embed.align.config import AlignConfig as AlignConfig
    from embed.autoencoder.config import AutoencoderConfig as AutoencoderConfig
    from embed.autoencoder.train import train_autoencoder as train_autoencoder
    from embed.change.config import ChangeConfig as ChangeConfig
    from embed.change.path_picture import draw_path as draw_path
    from embed.change.report import write_change_report as write_change_report
    from embed.change.result import WordChanges as WordChanges
    from embed.change.words import word_changes as word_changes
    from embed.compare.api import Compared as Compared
    from embed.compare.api import compare_runs as compare_runs
    from embed.compare.config import CompareConfig as CompareConfig
    from embed.compare.curves.api import LearningCurve as LearningCurve
    from embed.compare.curves.api import learning_curve as learning_curve
    from embed.compare.curves.learning_curve import CurveConfig as CurveConfig
    from embed.compare.pooling_weights import pooling_weights as pooling_weights
    from embed.compare.recommend import recommend as recommend
    from embed.contextual.encoders import open_encoder as open_encoder
    from embed.contextual.in_context import nearest_in_context as nearest_in_context
    from embed.contextual.pooled_run import pool_run as pool_run
    from embed.contextual.pooling import PoolConfig as PoolConfig
    from embed.explore.differ import differ as differ
    from embed.explore.why import why_near as why_near
    from embed.formats.vector_files import load_vectors as load_vectors
    from embed.formats.vector_files import write_vectors as write_vectors
    from embed.nplm.config import NplmConfig as NplmConfig
    from embed.nplm.train import train_nplm as train_nplm
    from embed.query.index import NeighborIndex as NeighborIndex
    from embed.query.index import make_index as make_index
    from embed.query.index import open_index as open_index
    from embed.query.map_picture import draw_map as draw_map
    from embed.query.word_map import map_words as map_words
    from embed.refine.api import refine_vectors as refine_vectors
    from embed.refine.config import RefineConfig as RefineConfig
    from embed.registry import write_model as write_model
    from embed.study.settings import Study as Study
    from embed.study.settings import read_study as read_study
    from embed.study.study import make_study as make_study
    from embed.svd.train import SvdConfig as SvdConfig
    from embed.svd.train import train_svd as train_svd
    from embed.vectors.context_vectors import with_contexts as with_contexts
    from embed.vectors.neighbors import analogy as analogy
    from embed.vectors.neighbors import nearest as nearest
    from embed.vectors.neighbors import similarity as similarity
    from embed.vectors.word_vectors import WordVectors as WordVectors
    from embed.word2vec.config import CbowConfig as CbowConfig
    from embed.word2vec.config import SkipGramConfig as SkipGramConfig
    from embed.word2vec.train import train_cbow as train_cbow
    from embed.word2vec.train import train_skipgram as train_skipgram

HOMES = {
    "embed.align.api": ("Aligned", "align_vectors"),
    "embed.align.config": ("AlignConfig",),
    "embed.autoencoder.config": ("AutoencoderConfig",),
    "embed.autoencoder.train": ("train_autoencoder",),
    "embed.change.config": ("ChangeConfig",),
    "embed.change.path_picture": ("draw_path",),
    "embed.change.report": ("write_change_report",),
    "embed.change.result": ("WordChanges",),
    "embed.change.words": ("word_changes",),
    "embed.refine.api": ("refine_vectors",),
    "embed.refine.config": ("RefineConfig",),
    "embed.compare.api": ("Compared", "compare_runs"),
    "embed.compare.config": ("CompareConfig",),
    "embed.compare.curves.api": ("LearningCurve", "learning_curve"),
    "embed.compare.curves.learning_curve": ("CurveConfig",),
    "embed.compare.pooling_weights": ("pooling_weights",),
    "embed.compare.recommend": ("recommend",),
    "embed.vectors.context_vectors": ("with_contexts",),
    "embed.contextual.encoders": ("open_encoder",),
    "embed.explore.differ": ("differ",),
    "embed.explore.why": ("why_near",),
    "embed.formats.vector_files": ("load_vectors", "write_vectors"),
    "embed.contextual.in_context": ("nearest_in_context",),
    "embed.nplm.config": ("NplmConfig",),
    "embed.nplm.train": ("train_nplm",),
    "embed.query.index": ("NeighborIndex", "make_index", "open_index"),
    "embed.query.map_picture": ("draw_map",),
    "embed.vectors.neighbors": ("analogy", "nearest", "similarity"),
    "embed.contextual.pooled_run": ("pool_run",),
    "embed.contextual.pooling": ("PoolConfig",),
    "embed.registry": ("write_model",),
    "embed.study.settings": ("Study", "read_study"),
    "embed.study.study": ("make_study",),
    "embed.svd.train": ("SvdConfig", "train_svd"),
    "embed.vectors.word_vectors": ("WordVectors",),
    "embed.word2vec.config": ("CbowConfig", "SkipGramConfig"),
    "embed.word2vec.train": ("train_cbow", "train_skipgram"),
    "embed.query.word_map": ("map_words",),
}
__all__ = [name for names in HOMES.values() for name in names]

if not TYPE_CHECKING:  # with __getattr__, type checkers would accept any name
    __getattr__, __dir__ = lazy_exports(__name__, HOMES)
