"""Corpora that have a name: in installed packages, generated, or fetched once."""

import dataclasses
import importlib.util
from collections.abc import Callable
from pathlib import Path
from typing import Any

from corpora.common.cache import cache_directory
from corpora.common.console import note, progress
from corpora.common.errors import SourceError
from corpora.datasets.download import Download, fetch

_LEE = ("lee_background.cor", "lee.cor")
_WIKI = ("enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2",)
# The MD5 of the unpacked file, as published with it and repeated by its users.
_TEXT8 = Download(
    url="http://mattmahoney.net/dc/text8.zip",
    member="text8",
    max_bytes=100_000_000,
    md5="3bea1919949baf155f99411df5fada7e",
)


@dataclasses.dataclass(frozen=True, kw_only=True)
class Sample:
    """A corpus that has a name."""

    summary: str  # what it is, in one line
    options: dict[str, Any]  # how it is to be read: values of fields of the readers' options
    # gives the paths of its files, making or fetching them where they are not yet
    find: Callable[..., list[Path]]


def sample_source(name: str, **choices: Any) -> tuple[list[Path], dict[str, Any]]:
    """Find the files of a named corpus, and how to read them."""
    if name not in SAMPLES:
        raise SourceError(f"{name}: no sample has this name; there are {', '.join(SAMPLES)}")
    sample = SAMPLES[name]
    return sample.find(**choices), dict(sample.options)


def planted_gold() -> list[Path]:
    """Write the evaluation sets of planted text into the cache."""
    from corpora.datasets.synthetic import VERSION, write_gold

    return write_gold(cache_directory() / "samples" / f"planted-gold-v{VERSION}")


def _in_gensim(*names: str) -> Callable[[], list[Path]]:
    """Files of gensim's test data."""

    def find() -> list[Path]:
        # as gensim.test.utils.datapath, without the second that importing gensim takes
        spec = importlib.util.find_spec("gensim")
        if spec is None or not spec.submodule_search_locations:
            raise SourceError(f"{names[0]}: the gensim package carries it; pip install gensim")
        folder = Path(spec.submodule_search_locations[0]) / "test" / "test_data"
        for name in names:
            if not (folder / name).is_file():
                raise SourceError(
                    f"{folder / name}: this gensim comes without its test data; "
                    "pip install --force-reinstall gensim"
                )
        return [folder / name for name in names]

    return find


def _planted(**choices: int) -> list[Path]:
    """Planted text of a size and seed, made the first time."""
    from corpora.datasets.synthetic import VERSION, PlantedConfig, write_planted

    config = PlantedConfig(**choices)
    name = f"planted-v{VERSION}-{config.n_tokens}-seed{config.seed}.txt"
    path = cache_directory() / "samples" / name
    if not path.is_file():
        with progress("planting", "words") as tell:
            write_planted(path, config, tell)
    note(f"planted: what is known of it lies in {planted_gold()[0].parent}")
    return [path]


def _text8() -> list[Path]:
    """The text8 file, fetched the first time."""
    return [fetch(_TEXT8, cache_directory() / "samples")]


SAMPLES: dict[str, Sample] = {
    "lee": Sample(
        summary="350 news stories of the year 2001 (Lee, Pincombe and Welsh 2005)",
        # one pound sign in it is not UTF-8
        options={"format": "text", "documents": "line", "encoding": "latin-1"},
        find=_in_gensim(*_LEE),
    ),
    "wiki-sample": Sample(
        summary="100 articles of English Wikipedia, an excerpt of a dump",
        options={"format": "mediawiki"},
        find=_in_gensim(*_WIKI),
    ),
    "planted": Sample(
        summary="generated text whose classes, relations and similarities are known",
        options={"format": "text", "documents": "block"},
        find=_planted,
    ),
    "text8": Sample(
        summary="100 MB of English Wikipedia in a 27-letter alphabet, downloaded",
        options={"format": "text", "documents": "file"},
        find=_text8,
    ),
}
