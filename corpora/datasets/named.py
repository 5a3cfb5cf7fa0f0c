"""Named corpora: found in an installed package, downloaded or generated."""

from pathlib import Path
from typing import Any

from firth.corpora.common.cache import cache_folder
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
# fields of ReadOptions with which each is read
NAMED_CORPORA: dict[str, dict[str, Any]] = {
    # a pound sign is encoded as Latin-1
    "lee": {"format": "text", "documents": "line", "encoding": "latin-1"},
    "wiki-sample": {"format": "mediawiki"},
    "synthetic": {"format": "text", "documents": "block"},
    "text8": {"format": "text", "documents": "file"},
}


def named_files(name: str) -> list[Path]:
    """Return the files of a named corpus; generate or download missing ones."""
    if name == "lee":
        return [gensim_file(file) for file in LEE]
    if name == "wiki-sample":
        return [gensim_file(WIKI)]
    if name == "text8":
        return [fetch(_TEXT8, cache_folder("samples"))]
    return [_synthetic()]


def synthetic_gold() -> list[Path]:
    """Write the gold evaluation sets of the synthetic corpus into the cache."""
    from firth.corpora.datasets.synthetic import VERSION, write_gold

    return write_gold(cache_folder("samples") / f"synthetic-gold-v{VERSION}")


def _synthetic() -> Path:
    """Return the synthetic corpus, generating it the first time."""
    from firth.corpora.datasets.synthetic import VERSION, SyntheticConfig, write_synthetic

    config = SyntheticConfig()
    name = f"synthetic-v{VERSION}-{config.n_tokens}-seed{config.seed}.txt"
    path = cache_folder("samples") / name
    if not path.is_file():
        with progress("generating", "words") as show:
            write_synthetic(path, config, show)
    note(f"synthetic: gold evaluation sets are in {synthetic_gold()[0].parent}")
    return path
