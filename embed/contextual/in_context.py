"""Words in context: the static vectors nearest to one occurrence of a word."""

import itertools
import os
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.display import TableList
from firth.corpora.common.errors import ArtifactError, SettingError
from firth.corpora.text.joining import joined_parts
from firth.embed.contextual.encoders import open_encoder
from firth.embed.contextual.joined import joined
from firth.embed.contextual.pooling import MASKING, parse_layers
from firth.embed.protocols import ContextualEncoder, JoinableEncoder, StaticVectors
from firth.embed.runs.run import Run
from firth.embed.vectors.neighbors import Neighbor, nearest_to
from firth.embed.vectors.opened import opened
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors

WordSplitter = ContextualEncoder | StaticVectors
BRACKETED = re.compile(r"\[([^\[\]]*)\]")  # group 1: the text between brackets


@dataclass(frozen=True)
class Occurrence:
    """A word or phrase in a sentence: ``words[start:stop]``."""

    words: list[str]  # the whole sentence
    start: int
    stop: int

    @property
    def name(self) -> str:
        """The word or phrase itself."""
        return " ".join(self.words[self.start : self.stop])


@dataclass(frozen=True)
class ContextAnswer:
    """The nearest neighbors of one occurrence."""

    context: str  # the query as given
    word: str  # the bracketed words, normalized by the run's text settings
    neighbors: list[Neighbor]  # best first


def nearest_in_context(
    run: str | os.PathLike[str],
    vectors: WordVectors | str | os.PathLike[str],
    contexts: Sequence[str],
    k: int = 10,
    *,
    layers: str | None = None,
    device: str = "auto",
) -> list[ContextAnswer]:
    """Find the static vectors nearest to bracketed words in their contexts, by cosine.

    Parameters
    ----------
    run : str or Path
        A run with an encoder, or pooled from one.
    vectors : WordVectors, str or path
        The vectors of that run.
    contexts : sequence of str
        Sentences with one or more words in square brackets.
    k : int
        Neighbors per occurrence, at least 1.
    layers : str, optional
        Layers to average, for example ``"0,1"``; by default those that the static vectors were
        pooled from, so that both lie in the same space.
    device : {'auto', 'cpu', 'cuda', 'mps'}
        Where the encoder runs; ``mps`` is untried.

    Returns
    -------
    list of ContextAnswer
        One per bracket, in text order; the bracketed word itself is excluded.

    Raises
    ------
    ArtifactError
        If the run has no encoder, or its states and static vectors differ in width.
    SettingError
        If a context has no bracketed word, or the encoder has no such layer.
    """
    encoder, static = open_encoder(run, device), opened(vectors)
    return nearest_in_space(encoder, run, static, contexts, k, layers=layers)


def nearest_in_space(
    encoder: ContextualEncoder,
    run: str | os.PathLike[str],
    vectors: WordVectors,
    contexts: Sequence[str],
    k: int = 10,
    *,
    layers: str | None = None,
) -> list[ContextAnswer]:
    """Do what :func:`nearest_in_context` does, with the encoder of the run already open."""
    pooling = Run.open(Path(run)).entries("pooling")
    pooled = ",".join(map(str, pooling.get("layers") or ()))
    masked = pooling.get("source") in MASKING
    if layers is None and not pooled:
        raise SettingError(
            f"{run}: its vectors were not pooled from states; pass `layers` to choose layers"
        )
    chosen = parse_layers(pooled if layers is None else layers, encoder.n_layers)
    if masked and chosen != parse_layers(pooled, encoder.n_layers):
        raise SettingError(
            f"`layers={layers}`: the vectors of {run} are of masked words in layer {pooled}; leave "
            "it out, or pool other layers with `source=states`"
        )
    return nearest_by_encoder(encoder, vectors, contexts, chosen, k, masked=masked)


def nearest_by_encoder(
    encoder: ContextualEncoder,
    vectors: WordVectors,
    contexts: Sequence[str],
    layers: Sequence[int],
    k: int = 10,
    *,
    masked: bool = False,
) -> list[ContextAnswer]:
    """Do what :func:`nearest_in_context` does, with an encoder that is already open."""
    parsed = [(text, parse_context(text, encoder)) for text in contexts]
    sentences = [occurrences[0].words for _, occurrences in parsed]
    states = [] if masked else encoder.encode(sentences, layers)
    queries, owners = [], []
    for number, (text, occurrences) in enumerate(parsed):
        for occurrence in occurrences:
            if masked:
                places = np.arange(occurrence.start, occurrence.stop)
                copies = [occurrence.words] * len(places)  # one for each masked word
                found = masked_states(encoder, copies, places, layers, vectors.centers)
            else:
                found = states[number][occurrence.start : occurrence.stop]
            queries.append(found.mean(axis=0))
            owners.append((text, occurrence.name))
    units = unit_length(np.array(queries, dtype=np.float64))
    if units.shape[1] != vectors.matrix.shape[1]:
        raise ArtifactError(
            f"{vectors.name}: has vectors of {vectors.matrix.shape[1]} dimensions but states of "
            f"{units.shape[1]}; pass vectors pooled from this encoder"
        )
    rows = [vectors.row(name) for _, name in owners]
    answers = nearest_to(vectors, units, rows, k)
    return TableList(
        ContextAnswer(text, name, neighbors)
        for (text, name), neighbors in zip(owners, answers, strict=True)
    )


def masked_states(
    encoder: ContextualEncoder,
    sentences: Sequence[Sequence[str]],
    places: np.ndarray,
    layers: Sequence[int],
    centers: np.ndarray | None,
) -> np.ndarray:
    """Return the state of one masked word of each sentence, joined with its vector."""
    # places: int64 (n,), of the word in each sentence; returns float32 (n, D), joined (n, S + D)
    if not isinstance(encoder, JoinableEncoder):
        raise SettingError("this encoder cannot mask words; pass vectors of `source=states`")
    tokens = offsets_of(map(len, sentences))[:-1] + places
    states = encoder.encode_masked(sentences, tokens, layers)
    if centers is None:
        return states
    words = [sentence[place] for sentence, place in zip(sentences, places.tolist(), strict=True)]
    return joined(encoder.static_embeddings(words), states, encoder.n_pieces(words), centers)


def parse_context(text: str, encoder: ContextualEncoder) -> list[Occurrence]:
    """Split a text into words and return those in square brackets."""
    words, bounds = split_parts(encoder, BRACKETED.split(text))
    # re.split puts the groups, here the bracketed parts, at odd positions
    spans = list(itertools.pairwise(bounds))[1::2]
    if any(start == stop for start, stop in spans):
        raise SettingError(f"{text!r} has no word in its brackets; write [word]")
    if not spans:
        raise SettingError(
            f"{text!r} has no word in brackets; write [word] around the one to query"
        )
    return [Occurrence(words, start, stop) for start, stop in spans]


def split_parts(splitter: WordSplitter, parts: Sequence[str]) -> tuple[list[str], list[int]]:
    """Split each part of a text; return all words and the bounds of the parts among them."""
    split = [splitter.words(part) for part in parts]
    return joined_parts(split, [""] * len(parts)), offsets_of(map(len, split)).tolist()
