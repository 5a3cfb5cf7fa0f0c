"""Contents of a report beside scores: words, maps, neighbors, settings."""

import contextlib
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from firth.corpora.common.errors import ArtifactError, FirthError, SettingError
from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.intrinsic.shared_words import shared_words
from firth.embed.contextual.in_context import ContextAnswer
from firth.embed.protocols import StaticVectors
from firth.embed.query.word_map import WordMap, map_words
from firth.embed.registry import NEIGHBOR_INTERVALS, resolve
from firth.embed.runs.run import Run
from firth.embed.vectors.neighbors import nearest
from firth.embed.vectors.word_vectors import WordVectors

N_WORDS = 24  # words shown by default
_SHARED = 5_000  # choose among this many words shared by all runs
_FUNCTION_WORDS = 150  # the most frequent words, mostly function words
_SHORTEST = 3  # letters of an ASCII word


@dataclass(frozen=True, eq=False)
class Attention:
    """Attention weights of a masked language model over one sentence."""

    text: str  # the sentence
    pieces: tuple[str, ...]  # its T pieces
    layers: tuple[int, ...]  # numbers of the L layers that have attention, from 0
    # float32 (L, H, T, T): layer, head, attending piece, attended piece; rows sum to 1
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class RunFacts:
    """Settings and provenance of a run."""

    config: Mapping[str, Any]  # ``config.json``; empty if missing
    provenance: Mapping[str, Any]  # ``provenance.json``; empty if missing


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportParts:
    """Optional contents of a report; strings in their place say why a run has none."""

    config: CompareConfig | None = None  # options of the comparison
    # run -> map of the same words
    maps: Mapping[str, WordMap | str] = field(default_factory=dict)
    # word -> run -> nearest neighbors; instead of Neighbor also NeighborInterval
    neighbors: Mapping[str, Mapping[str, Sequence[Any]]] = field(default_factory=dict)
    unknown: Sequence[str] = ()  # asked for, but in no run
    facts: Mapping[str, RunFacts] = field(default_factory=dict)
    # run with an encoder -> attention over each sentence
    attention: Mapping[str, Sequence[Attention | str]] = field(default_factory=dict)
    # run with an encoder -> neighbors of marked words in their sentences
    contexts: Mapping[str, Sequence[ContextAnswer | str]] = field(default_factory=dict)


def choose_words(
    runs: Sequence[StaticVectors], sets: Sequence[Iterable[str]], n_words: int = N_WORDS
) -> list[str]:
    """Choose words to show by default, evenly spaced from frequent to rare.

    Two thirds are words of the sets in turn, the rest any of the 5,000 most frequent shared words,
    without function words, short ASCII words and zero vectors.
    """
    shared = shared_words(runs, _SHARED)
    likely = [word for word in shared[_FUNCTION_WORDS:] if _is_word(word)]
    common = [word for word in likely or shared if all(has_direction(run, word) for run in runs)]
    n_of_sets = -(-n_words * 2 // 3)
    by_set = [_spread(_in_order(texts, runs, common), n_of_sets) for texts in sets]
    in_turn = (word for words in zip_longest(*by_set) for word in words if word is not None)
    of_sets = islice(dict.fromkeys(in_turn), n_of_sets)
    return list(islice(dict.fromkeys(chain(of_sets, _spread(common, n_words))), n_words))


def find_asked(
    runs: Sequence[StaticVectors], asked: Mapping[str, str | None]
) -> tuple[dict[str, str | None], list[str]]:
    """Spell words as the runs do; return them with their groups, and those that no run has."""
    found: dict[str, str | None] = {}
    unknown = []
    for text, group in asked.items():
        spelled = _spelling(runs, text)
        if spelled is None:
            unknown.append(text)
        else:
            found[spelled] = found.get(spelled) or group
    return found, unknown


def find_neighbors(
    runs: Mapping[str, StaticVectors],
    words: Sequence[str],
    k: int = 10,
    resampled: Collection[str] = (),
) -> dict[str, dict[str, Sequence[Any]]]:
    """Return word -> run -> the k nearest neighbors; of ``resampled`` words with intervals."""
    found: dict[str, dict[str, Sequence[Any]]] = {word: {} for word in words}
    for name, vectors in runs.items():
        known = [word for word in found if has_direction(vectors, word)]
        try:
            near = nearest(vectors, known, k) if known else []
        except ArtifactError as error:
            note(f"{name}: {error}")
            continue
        for word, neighbors in zip(known, near, strict=True):
            found[word][name] = neighbors
        chosen = [word for word in known if word in resampled]
        if chosen and isinstance(vectors, WordVectors):
            with contextlib.suppress(FirthError):  # a run that cannot have intervals
                answers = resolve(NEIGHBOR_INTERVALS)(vectors, chosen, k)
                for word, each in zip(chosen, answers, strict=True):
                    found[word][name] = each.neighbors
    return found


def make_maps(
    runs: Mapping[str, StaticVectors], words: Mapping[str, str | None]
) -> dict[str, WordMap | str]:
    """Map the same words, with their groups, in every run, or say why a map is missing."""
    kept = {
        word: group
        for word, group in words.items()
        if all(has_direction(run, word) for run in runs.values())
    }
    return {name: _map(vectors, kept) for name, vectors in runs.items()}


def read_facts(runs: Mapping[str, Path]) -> dict[str, RunFacts]:
    """Read settings and provenance of Firth runs; other files and folders are skipped."""
    facts = {}
    for name, path in runs.items():
        run = Run.open(path)
        if run.method is not None:
            # all but the phrases, which may be many
            text = {name: of for name, of in (run.text or {}).items() if name != "joined_phrases"}
            config = {"method": run.method, **run.options, "text": text or None}
            facts[name] = RunFacts(config, run.provenance)
    return facts


def _map(vectors: StaticVectors, words: Mapping[str, str | None]) -> WordMap | str:
    """Return a map, or the reason why there is none."""
    try:
        return map_words(vectors, list(words), list(words.values()))
    except SettingError as error:
        return str(error)


def _in_order(
    texts: Iterable[str], runs: Sequence[StaticVectors], common: Sequence[str]
) -> list[str]:
    """Return the words of a set that may be shown, frequent first."""
    written = {tuple(run.words(text)) for text in dict.fromkeys(texts) for run in runs}
    words = {cut[0] for cut in written if len(cut) == 1}
    return [word for word in common if word in words]


def _spread(words: Sequence[str], n_words: int) -> list[str]:
    """Return up to ``n_words`` evenly spaced words."""
    n_taken = min(n_words, len(words))
    return [words[(2 * index + 1) * len(words) // (2 * n_taken)] for index in range(n_taken)]


def _is_word(word: str) -> bool:
    """Return whether a word is all letters and not a short ASCII word."""
    return word.isalpha() and (len(word) >= _SHORTEST or not word.isascii())


def _spelling(runs: Sequence[StaticVectors], text: str) -> str | None:
    """Return the spelling of a word in most runs, by their text settings; None if none has it."""
    split = [run.words(text) for run in runs]
    spellings = dict.fromkeys([text, *(cut[0] for cut in split if len(cut) == 1)])
    times = {word: sum(has_direction(run, word) for run in runs) for word in spellings}
    best = max(times, key=lambda word: times[word])  # the first of equals
    return best if times[best] else None


def has_direction(vectors: StaticVectors, word: str) -> bool:
    """Return whether a run has a finite nonzero vector for a word."""
    try:
        vector = vectors.vector(word)
    except FirthError:
        return False
    return vector is not None and bool(np.isfinite(vector).all() and np.any(vector))
