"""The page of ``firth explore`` in a cell of a notebook."""

import os
from dataclasses import dataclass
from html import escape
from pathlib import Path

from firth.corpora.store.concordance import require_at_least
from firth.embed.explore.space import open_spaces
from firth.embed.explore.static_page import data_of, page_with


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
