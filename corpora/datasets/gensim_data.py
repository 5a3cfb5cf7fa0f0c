"""Texts and evaluation sets of gensim's test data, downloaded where gensim is not installed."""

import importlib.util
from pathlib import Path

from firth.corpora.common.cache import cache_folder
from firth.corpora.datasets.download import Download, fetch

_ADDRESS = "https://raw.githubusercontent.com/piskvorky/gensim/4.4.0/gensim/test/test_data"
_MAX_BYTES = 2_000_000  # of the largest file
LEE = ("lee_background.cor", "lee.cor")
WIKI = "enwiki-latest-pages-articles1.xml-p000000010p000030302-shortened.bz2"
_SHA256 = {
    "lee_background.cor": "5d78d6dafd953bbf65797bef09a9ffb9ec430583381be705f8fd460000f370fb",
    "lee.cor": "a878f9a58f6743c32985c56c2f2f75988386216b38a4023a01fd3bcf7884d93e",
    WIKI: "a53f4648dec40467ebdcbc7a1307eddb51fe6e28e9309f6ebde81ba0d04bea2d",
    "wordsim353.tsv": "f92a022fc2537793a15bc3a8c162ebcd74990e033a228bb6388cb71e4c0b1e1d",
    "simlex999.txt": "d5e0501971478a511430ee880bd0121e94ac701ba86d90544d83e6d2ba3db05d",
    "questions-words.txt": "8c29b3332afc46f3fb8be04cb5297bf96f39aa7131272dff57869b4485b22a36",
}


def gensim_file(name: str, *, address: str = _ADDRESS) -> Path:
    """Return the path of a file in the installed gensim, else of one downloaded into the cache."""
    # same as gensim.test.utils.datapath, but importing gensim takes a second
    spec = importlib.util.find_spec("gensim")
    for folder in (spec and spec.submodule_search_locations) or ():
        path = Path(folder, "test", "test_data", name)
        if path.is_file():
            return path
    wanted = Download(
        url=f"{address}/{name}",
        name=name,
        max_bytes=_MAX_BYTES,
        checksum=f"sha256:{_SHA256[name]}",
    )
    return fetch(wanted, cache_folder("samples"))
