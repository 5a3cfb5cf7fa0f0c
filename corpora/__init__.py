"""Text, words, ids and files: from sources to one encoded corpus."""

from typing import TYPE_CHECKING

from corpora.lazy import offer

if TYPE_CHECKING:
    from corpora.blocks import ReadOptions as ReadOptions
    from corpora.corpus import Corpus as Corpus
    from corpora.errors import FirthError as FirthError
    from corpora.info import describe as describe
    from corpora.make import make_corpus as make_corpus
    from corpora.opening import open_or_build as open_or_build
    from corpora.request import BuildOptions as BuildOptions
    from corpora.segment import TextSettings as TextSettings

HOMES = {
    "corpora.blocks": ("ReadOptions",),
    "corpora.corpus": ("Corpus",),
    "corpora.errors": ("FirthError",),
    "corpora.info": ("describe",),
    "corpora.make": ("make_corpus",),
    "corpora.opening": ("open_or_build",),
    "corpora.request": ("BuildOptions",),
    "corpora.segment": ("TextSettings",),
}
__all__ = [name for names in HOMES.values() for name in names]

if not TYPE_CHECKING:  # a checker that saw __getattr__ would take any name
    __getattr__, __dir__ = offer(__name__, HOMES)
