"""Search in encoded lines: the lines nearest to a text, with their texts and places."""

import os
from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.corpora.artifacts.arrays import array_path, map_array, read_strings
from firth.corpora.artifacts.artifact import CHECKSUMS
from firth.corpora.common.display import TableList
from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.corpora.common.keywords import suggesting
from firth.embed.contextual.encoded_text import TEXTS, mean_state
from firth.embed.contextual.encoders import encoder_fingerprint, open_encoder
from firth.embed.contextual.pooling import parse_layers
from firth.embed.contextual.sif import SentenceVectors
from firth.embed.formats.vector_files import load_vectors
from firth.embed.query.index import NeighborIndex, open_index, rows_near
from firth.embed.runs.run import Run
from firth.embed.runs.writer import LINES
from firth.embed.vectors.search import top_rows, unit_length
from firth.embed.vectors.word_vectors import WordVectors

_AGAIN = "encode the lines again"


class FoundLine(NamedTuple):
    """A line that was found."""

    cosine: float
    source: str  # its file and line, or its document, sentence and kept fields
    text: str


class FoundLines(TableList):
    """Lines that were found, the nearest first: a list shown as a table."""

    _columns = FoundLine._fields


@suggesting
class TextSearch:
    """Encoded lines, and what encodes a query as they were.

    Parameters
    ----------
    lines : WordVectors
        A run of lines, of ``firth encode``.
    encode : callable
        Returns the vectors of texts, float32 (n, D).
    """

    def __init__(self, lines: WordVectors, encode: Callable[[Sequence[str]], np.ndarray]) -> None:
        self.lines, self.encode = lines, encode
        path = Path(os.fspath(lines))
        files = (array_path(path, f"{TEXTS}.{part}") for part in ("text", "offsets"))
        missing = f"is missing; {_AGAIN}"
        self._texts = [map_array(file, again=_AGAIN, missing=missing) for file in files]
        if self._texts[1].shape != (len(lines) + 1,):
            raise ArtifactError(f"{path}: has not as many texts as lines; {_AGAIN}")

    @classmethod
    def open(cls, run: str | os.PathLike[str], device: str = "auto") -> "TextSearch":
        """Open a run of lines, and the run that encoded them.

        Parameters
        ----------
        run : str or Path
            A folder that ``firth encode RUN FILE --out`` made.
        device : {'auto', 'cpu', 'cuda', 'mps'}
            Where an encoder runs; ``mps`` is untried.

        Returns
        -------
        TextSearch

        Raises
        ------
        ArtifactError
            If it has no lines, or the run that encoded them is missing or has changed.
        """
        opened = Run.finished(Path(run))
        if opened.method != LINES:
            raise ArtifactError(
                f"{run}: has no encoded lines; pass a folder that `encode_lines()` made"
            )
        options = opened.options
        source = opened.moved(Path(str(options["run"])))
        if not (source / CHECKSUMS).is_file():
            raise ArtifactError(f"{source}: is missing, but {run} was encoded by it; {_AGAIN}")
        if encoder_fingerprint(source) != options["fingerprint"]:
            raise ArtifactError(f"{source}: has changed since it encoded {run}; {_AGAIN}")
        if options.get("sif"):
            mapped = bool(options.get("mapped"))
            sentences = SentenceVectors.open(str(source), kept=opened.path, mapped=mapped)
            return cls(load_vectors(run), sentences.encode)
        encoder = open_encoder(source, device)
        layers = parse_layers(str(options["layers"]), encoder.n_layers)

        def encode(texts: Sequence[str]) -> np.ndarray:
            states = encoder.encode([encoder.words(text) for text in texts], layers)
            return np.array([mean_state(each) for each in states])

        return cls(load_vectors(run), encode)

    @cached_property
    def index(self) -> NeighborIndex:
        """The index that :func:`firth.make_index` made of the lines."""
        return open_index(self.lines)

    def search(self, text: str, k: int = 10, *, approximate: bool = False) -> FoundLines:
        """Find the lines nearest to a text by cosine.

        Parameters
        ----------
        text : str
            A word, a question or a document.
        k : int
            Number of lines, at least 1.
        approximate : bool
            Search by the index.

        Returns
        -------
        FoundLines
            Best first; equal ones in their order.

        Raises
        ------
        UnknownWordError
            If no word of the text has a vector.
        """
        if k < 1:
            raise SettingError(f"k must be at least 1, got {k}")
        [vector] = self.encode([text])
        if not vector.any():
            raise UnknownWordError(
                f"{self.lines.name}: no word of {text!r} has a vector; use other words"
            )
        units = unit_length(vector[None].astype(np.float64))
        if approximate:
            [(rows, cosines)] = rows_near(self.index, units, [None], k)
        else:
            [(rows, cosines)] = top_rows(self.lines.matrix, units, k)
        text_of, offsets = self._texts
        return FoundLines(
            FoundLine(
                cosine, self.lines.vocabulary[row], *read_strings(text_of, offsets, row, row + 1)
            )
            for row, cosine in zip(rows.tolist(), cosines.tolist(), strict=True)
        )
