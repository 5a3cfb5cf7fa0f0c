"""Words in their context: which static vectors are nearest to one occurrence."""

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, Protocol

import numpy as np

from corpora.common.errors import ArtifactError, SettingError
from embed.contextual.encoders import open_encoder
from embed.contextual.pooling import parse_layers
from embed.protocols import ContextualEncoder
from embed.query.neighbors import Neighbor, nearest_to
from embed.query.search import unit_length
from embed.vectors.run_files import run_options
from embed.vectors.word_vectors import WordVectors

BRACKETED = re.compile(r"\[([^\[\]]*)\]")  # what stands in brackets is its only group


@dataclass(frozen=True)
class Occurrence:
    """A word, or several, in a sentence."""

    words: list[str]  # the whole sentence
    start: int  # the occurrence is ``words[start:stop]``
    stop: int  # the occurrence is ``words[start:stop]``

    @property
    def name(self) -> str:
        """The words that were asked for."""
        return " ".join(self.words[self.start : self.stop])


@dataclass(frozen=True)
class ContextAnswer:
    """What is nearest to one occurrence."""

    context: str  # as it was given
    word: str  # the bracketed words, as the run's text settings write them
    neighbors: list[Neighbor]  # best first


def nearest_in_context(
    run: str | Path,
    vectors: WordVectors,
    contexts: Sequence[str],
    k: int = 10,
    *,
    layers: str | None = None,
    device: str = "auto",
) -> list[ContextAnswer]:
    """Find the words whose static vectors are nearest to bracketed words in their contexts.

    Parameters
    ----------
    run : str or Path
        Has the encoder, or was pooled from one.
    vectors : WordVectors
        The run's.
    contexts : sequence of str
        Sentences with one or more words in square brackets.
    k : int
        Neighbours per occurrence, at least 1.
    layers : str, optional
        The layers to average, as :func:`~embed.contextual.pooling.parse_layers` reads them; by
        default
        those of which the static vectors were made, so that both lie in one space.
    device : str
        ``auto``, ``cpu`` or ``cuda``.

    Returns
    -------
    list of ContextAnswer
        One per bracket, in the order of the text; the bracketed word itself is no answer.

    Raises
    ------
    ArtifactError
        The run has no states of words in context, or static vectors of another width.
    SettingError
        A context has no bracketed word, or the encoder has no such layers.
    """
    encoder = open_encoder(run, device)
    chosen = parse_layers(_pooled_layers(Path(run)) if layers is None else layers, encoder.n_layers)
    return nearest_by_encoder(encoder, vectors, contexts, chosen, k)


def nearest_by_encoder(
    encoder: ContextualEncoder,
    vectors: WordVectors,
    contexts: Sequence[str],
    layers: Sequence[int],
    k: int = 10,
) -> list[ContextAnswer]:
    """Find the same as :func:`nearest_in_context`, by an encoder that is open."""
    asked = [(text, read_context(text, encoder)) for text in contexts]
    states = encoder.encode([found[0].words for _, found in asked], layers)
    queries, owners = [], []
    for (text, found), of_words in zip(asked, states, strict=True):
        for occurrence in found:
            queries.append(of_words[occurrence.start : occurrence.stop].mean(axis=0))
            owners.append((text, occurrence.name))
    units = unit_length(np.array(queries, dtype=np.float64))
    if units.shape[1] != vectors.matrix.shape[1]:
        raise ArtifactError(
            f"{vectors.name}: has vectors of {vectors.matrix.shape[1]} dimensions and states of "
            f"{units.shape[1]}; make the run again"
        )
    rows = [vectors.row(name) for _, name in owners]
    answers = nearest_to(vectors, units, rows, k)
    return [
        ContextAnswer(text, name, neighbors)
        for (text, name), neighbors in zip(owners, answers, strict=True)
    ]


def read_context(text: str, encoder: ContextualEncoder) -> list[Occurrence]:
    """Cut a text into words, and find those in square brackets."""
    words, bounds = cut_parts(encoder, BRACKETED.split(text))
    # every second part is a regular expression's group: what was in brackets
    places = list(pairwise(bounds))[1::2]
    if any(start == stop for start, stop in places):
        raise SettingError(f"{text!r} has no word in its brackets; write [word]")
    if not places:
        raise SettingError(f"{text!r} has no word in brackets; write the one that is meant as [it]")
    return [Occurrence(words, start, stop) for start, stop in places]


class Cutter(Protocol):
    """What cuts text into words."""

    def words(self, text: str) -> list[str]:
        """Cut text into words."""


def cut_parts(cutter: Cutter, parts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Cut the parts of a text into words, each by itself."""
    words: list[str] = []
    bounds = [0]
    for part in parts:
        words += cutter.words(part)
        bounds.append(len(words))
    return words, bounds


def _pooled_layers(run: Path) -> str:
    """The layers of which a run's static vectors are the mean."""
    pooling: Any = run_options(run).get("pooling")
    layers = pooling.get("layers") if isinstance(pooling, dict) else None
    if not layers:
        raise SettingError(
            f"{run}: its vectors are no means of states; pass `layers` to choose the states"
        )
    return ",".join(map(str, layers))
