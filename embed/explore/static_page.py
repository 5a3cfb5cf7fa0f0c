"""The page of ``firth explore`` as one file that opens from disk, with its data.

The file has ``<script type="text/plain" id="firth-data">``: base64 of the raw deflate stream
(``DecompressionStream("deflate-raw")``) of UTF-8 JSON::

    {"version": 1,
     "runs": [{"name": str, "method": str, "dim": int, "corpus": str or null,
               "words": [str, ...],            # n words, most frequent first
               "counts": [int, ...] or null,
               "map": base64 of little-endian int16 x0, y0, x1, y1, ...; 10000 is 1, up to 3,
               "k": int,                        # neighbors of each word, 10 or fewer
               "row_bytes": 2 or 4,
               "neighbors": base64 of little-endian uint16 or uint32: k numbers of words for each
                            word, nearest first
               "cosines": k characters for each word, numbers of 0 and more as "0" and what
                          follows it: by how many hundredths the first cosine is less than 1, and
                          each other less than the one before
               "clusters": a character for each word, its cluster as above
              }, ...],
     "differ": [{"word", "distance", "usual", "only_a", "only_b", "one_document"}, ...] of the first
               two runs, or null}

It stands before the scripts of the page, which are the files themselves as one.
"""

import base64
import hashlib
import json
import os
import re
import zlib
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.common.errors import FirthError
from firth.corpora.common.reporting import note
from firth.corpora.store.concordance import require_at_least
from firth.embed.explore.server import SCRIPTS, page_file
from firth.embed.explore.space import COMPARED, Space, compare_spaces, open_spaces, shown

MOST_WORDS = 50_000
_NEIGHBORS = 10
CLUSTERS = 12
_DIFFERING, _NEAR = 500, 5  # words that differ, and neighbors of each
_STYLE = re.compile(r'<link\b[^>]*\bhref="/?page\.css"[^>]*>')
_SCRIPT = re.compile(r'<script\b[^>]*?\s*\bsrc="/?(?:data|map|page)\.js"[^>]*></script>')


def write_page(
    spaces: Sequence[Space], out: Path, *, force: bool = False, method: str = "pca"
) -> None:
    """Write the page with the data of some runs, with maps by a method."""
    page = page_with(data_of(spaces, method))
    with atomic_output(out, force) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")


def data_of(spaces: Sequence[Space], method: str, n_compared: int = COMPARED) -> dict[str, Any]:
    """Return the data of the page, see above."""
    differ = None
    if len(spaces) > 1:
        try:
            found = compare_spaces(spaces[0], spaces[1], n_compared)
            differ = shown(found, spaces[:2], _DIFFERING, _NEAR)
        except FirthError as error:
            note(f"no differences: {error}")
    return {"version": 1, "runs": [_run(space, method) for space in spaces], "differ": differ}


def page_with(data: dict[str, Any]) -> str:
    """Return the page with its style, script and data inside."""
    text = json.dumps(data, ensure_ascii=True, separators=(",", ":"))
    packer = zlib.compressobj(9, wbits=-15)
    packed = packer.compress(text.encode()) + packer.flush()
    style = page_file("page.css").decode()
    script = "\n".join(page_file(name).decode() for name in SCRIPTS)
    assert "</style" not in style
    assert "</script" not in script
    policy = (
        f"default-src 'none'; script-src '{_hash(script)}'; style-src '{_hash(style)}'; "
        "img-src data: blob:; base-uri 'none'; form-action 'none'"
    )
    page = page_file("index.html").decode()
    page = _STYLE.sub(lambda _: f"<style>{style}</style>", page)
    page = _SCRIPT.sub("", page)
    meta = f'<meta http-equiv="Content-Security-Policy" content="{policy}">'
    page = page.replace("<head>", f"<head>\n{meta}", 1)
    inside = f'<script type="text/plain" id="firth-data">{_base64(packed)}</script>\n'
    return page.replace("</body>", f"{inside}<script>{script}</script>\n</body>", 1)


def _run(space: Space, method: str) -> dict[str, Any]:
    """Return the data of one run."""
    nearest, cosines = space.nearest_rows(_NEIGHBORS)
    hundredths = np.round(100 * cosines.clip(-1, 1)).astype(np.int64)
    steps = -np.diff(hundredths, axis=1, prepend=100)
    row_bytes = 2 if len(space.words) <= 1 << 16 else 4
    places = np.round(space.map(method).clip(-3, 3) * 10_000)
    about = space.describe()
    return {
        "name": space.name,
        **{name: about[name] for name in ("noun", "method", "dim")},
        "corpus": about["corpus"],
        "words": space.words,
        "counts": None if space.counts is None else space.counts.tolist(),
        "map": _base64(places.astype("<i2").tobytes()),
        "k": nearest.shape[1],
        "row_bytes": row_bytes,
        "neighbors": _base64(nearest.astype(f"<u{row_bytes}").tobytes()),
        "cosines": _characters(steps.ravel().tolist()),
        "clusters": _characters(space.clusters(CLUSTERS)),
    }


def _characters(numbers: list[int]) -> str:
    """Return small numbers as text, which packs better than base64."""
    return "".join(chr(ord("0") + number) for number in numbers)


def _base64(data: bytes) -> str:
    return base64.b64encode(data).decode()


def _hash(text: str) -> str:
    """Return the hash of an inline script or style for a policy."""
    return f"sha256-{_base64(hashlib.sha256(text.encode()).digest())}"


@dataclass(frozen=True, repr=False)
class ExplorerCell:
    """The page of some runs, which notebooks show."""

    html: str  # with its data
    height: int  # pixels

    def __repr__(self) -> str:
        return f"<ExplorerCell: {len(self.html) / 1e6:.1f} MB of HTML, shown by notebooks>"

    def _repr_html_(self) -> str:
        """Return a frame whose script can reach neither the notebook nor the network."""
        return (
            f'<iframe title="Words of the runs" srcdoc="{escape(self.html)}" '
            'sandbox="allow-scripts allow-downloads" '
            f'style="display: block; width: 100%; height: {self.height}px; border: 0"></iframe>'
        )


def explore(*runs: str | os.PathLike[str], words: int = 10_000, height: int = 640) -> ExplorerCell:
    """Show the words of runs on a map, with search and neighbors, in a cell of a notebook.

    That is the page that ``firth explore --html`` writes: its data are in the notebook, and it
    needs no server. Two runs are shown beside each other, with the words that they treat
    differently.

    Parameters
    ----------
    *runs : str, Path or WordVectors
        Run directories, vectors files, Hugging Face folders, or vectors that were opened from them.
    words : int
        The most frequent words, of each run; 10,000 take half a megabyte.
    height : int
        Pixels of the cell.

    Returns
    -------
    ExplorerCell
        Show it as the last value of a cell, or by ``display``.

    Raises
    ------
    SettingError
        Vectors are sparse or in memory only, or an option is out of range.
    ArtifactError
        A run is missing or damaged.
    """
    require_at_least(1, words=words, height=height, runs=len(runs))
    spaces = open_spaces([Path(run) for run in runs], words, None)
    return ExplorerCell(page_with(data_of(spaces, "pca", words)), height)
