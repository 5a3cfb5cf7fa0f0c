"""Named corpora: found in an installed package, downloaded or generated."""

import dataclasses
from collections.abc import Callable
from pathlib import Path
from typing import Any

from firth.corpora.common.cache import cache_directory
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note, progress
from firth.corpora.datasets.download import Download, fetch
from firth.corpora.datasets.gensim_data import LEE, WIKI, gensim_file

# The MD5 is that of the unpacked file, published with it.
_TEXT8 = Download(
    url="http://mattmahoney.net/dc/text8.zip",
    name="text8",
    max_bytes=100_000_000,
    checksum="md5:3bea1919949baf155f99411df5fada7e",
    zipped=True,
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class NamedCorpus:
    """A corpus that is addressed by a name instead of a path."""

    options: dict[str, Any]  # fields of ReadOptions
    find: Callable[..., list[Path]]  # returns its files; generates or downloads missing ones


def is_named_corpus(name: str) -> bool:
    """Return whether a corpus has this name."""
    return name in NAMED_CORPORA


def named_source(name: str, **choices: Any) -> tuple[list[Path], dict[str, Any]]:
    """Return the files of a named corpus and the reading options they need."""
    if name not in NAMED_CORPORA:
        known = ", ".join(NAMED_CORPORA)
        raise SourceError(f"{name}: no named corpus of this name; choose from {known}")
    corpus = NAMED_CORPORA[name]
    return corpus.find(**choices), dict(corpus.options)


def synthetic_gold() -> list[Path]:
    """Write the gold evaluation sets of the synthetic corpus into the cache."""
    from firth.corpora.datasets.synthetic import VERSION, write_gold

    return write_gold(cache_directory() / "samples" / f"synthetic-gold-v{VERSION}")


def _synthetic(**choices: int) -> list[Path]:
    """Return the synthetic corpus of a size and seed, generating it the first time."""
    from firth.corpora.datasets.synthetic import VERSION, SyntheticConfig, write_synthetic

    config = SyntheticConfig(**choices)
    name = f"synthetic-v{VERSION}-{config.n_tokens}-seed{config.seed}.txt"
    path = cache_directory() / "samples" / name
    if not path.is_file():
        with progress("generating", "words") as show:
            write_synthetic(path, config, show)
    note(f"synthetic: gold evaluation sets are in {synthetic_gold()[0].parent}")
    return [path]


NAMED_CORPORA: dict[str, NamedCorpus] = {
    "lee": NamedCorpus(
        # a pound sign is encoded as Latin-1
        options={"format": "text", "documents": "line", "encoding": "latin-1"},
        find=lambda: [gensim_file(name) for name in LEE],
    ),
    "wiki-sample": NamedCorpus(
        options={"format": "mediawiki"},
        find=lambda: [gensim_file(WIKI)],
    ),
    "synthetic": NamedCorpus(
        options={"format": "text", "documents": "block"},
        find=_synthetic,
    ),
    "text8": NamedCorpus(
        options={"format": "text", "documents": "file"},
        find=lambda: [fetch(_TEXT8, cache_directory() / "samples")],
    ),
}
