"""Corpora: from text sources to one encoded corpus on disk."""

from typing import TYPE_CHECKING

from corpora.common.lazy import lazy_exports
from corpora.common.openmp import set_wait_policy

if TYPE_CHECKING:
    from corpora.common.console import show_progress as show_progress
    from corpora.common.errors import FirthError as FirthError
    from corpora.encoding.make import make_corpus as make_corpus
    from corpora.encoding.open_or_build import open_or_build as open_or_build
    from corpora.encoding.phrase_options import PhraseOptions as PhraseOptions
    from corpora.encoding.request import BuildOptions as BuildOptions
    from corpora.reading.text_blocks import ReadOptions as ReadOptions
    from corpora.store.collocates import collocates as collocates
    from corpora.store.concordance import concordance as concordance
    from corpora.store.corpus import Corpus as Corpus
    from corpora.store.statistics import describe as describe
    from corpora.text.segment import TextSettings as TextSettings

set_wait_policy()  # here, since every other package imports this one first

HOMES = {
    "corpora.reading.text_blocks": ("ReadOptions",),
    "corpora.store.collocates": ("collocates",),
    "corpora.store.concordance": ("concordance",),
    "corpora.store.corpus": ("Corpus",),
    "corpora.common.console": ("show_progress",),
    "corpora.common.errors": ("FirthError",),
    "corpora.store.statistics": ("describe",),
    "corpora.encoding.make": ("make_corpus",),
    "corpora.encoding.open_or_build": ("open_or_build",),
    "corpora.encoding.phrase_options": ("PhraseOptions",),
    "corpora.encoding.request": ("BuildOptions",),
    "corpora.text.segment": ("TextSettings",),
}
__all__ = [name for names in HOMES.values() for name in names]

if not TYPE_CHECKING:  # with __getattr__, type checkers would accept any name
    __getattr__, __dir__ = lazy_exports(__name__, HOMES)
