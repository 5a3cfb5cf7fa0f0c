"""What a report may show beside scores, and how it is got from the runs."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain, islice, zip_longest
from pathlib import Path
from typing import Any

import numpy as np

from corpora.artifacts.artifact import read_json
from corpora.common.errors import ArtifactError, FirthError, SettingError
from embed.compare.config import CompareConfig
from embed.compare.intrinsic.shared_words import shared_words
from embed.contextual.in_context import ContextAnswer
from embed.protocols import StaticVectors
from embed.query.word_map import WordMap, map_words
from embed.vectors.neighbors import Neighbor, nearest
from embed.vectors.run_files import run_options

N_WORDS = 24  # that are shown where none are asked for
_SHARED = 5_000  # words that all runs have, among which is chosen
_FUNCTION_WORDS = 150  # the most frequent words, which mean little by themselves
_SHORTEST = 3  # letters of the Latin alphabet


@dataclass(frozen=True, eq=False)
class Attention:
    """Where a masked language model looks while it reads one sentence."""

    text: str  # the sentence
    pieces: tuple[str, ...]  # T pieces of it
    # float32 (L, H, T, T): by layer and head, how much each piece (third axis) takes from each
    # (fourth); rows sum to 1
    weights: np.ndarray


@dataclass(frozen=True, eq=False)
class RunFacts:
    """How a run came to be, as its files tell."""

    config: Mapping[str, Any]  # what ``config.json`` holds; empty where there is none
    provenance: Mapping[str, Any]  # what ``provenance.json`` holds; empty where there is none


@dataclass(frozen=True, kw_only=True, eq=False)
class ReportParts:
    """What a report shows beside what the document of a comparison holds; all of it optional."""

    config: CompareConfig | None = None  # how the comparison was made
    # mapping of str to (WordMap or str): A map of the same words per run, or why there is none
    maps: Mapping[str, WordMap | str] = field(default_factory=dict)
    # by word, then by run
    neighbors: Mapping[str, Mapping[str, Sequence[Neighbor]]] = field(default_factory=dict)
    # settings and provenance of each run
    facts: Mapping[str, RunFacts] = field(default_factory=dict)
    # the document of a learning curve, as ``curve.json`` holds it
    curve: Mapping[str, Any] | None = None
    # mapping of str to (sequence of (Attention or str) or str): per run with an encoder, one a
    # sentence; lines tell why there is none, or none of a sentence
    attention: Mapping[str, Sequence[Attention | str] | str] = field(default_factory=dict)
    # mapping of str to (sequence of (ContextAnswer or str) or str): per run with an encoder, what
    # is nearest to words in their sentences; lines tell why there is nothing, or nothing of a
    # sentence. What is nearest to them elsewhere, ``neighbors`` tells
    contexts: Mapping[str, Sequence[ContextAnswer | str] | str] = field(default_factory=dict)


def first_of_seeds(
    runs: Mapping[str, StaticVectors], groups: Mapping[str, Sequence[str]]
) -> dict[str, StaticVectors]:
    """Take one run of those that differ in the seed only."""
    further = {run for members in groups.values() for run in members[1:]}
    return {run: vectors for run, vectors in runs.items() if run not in further}


def choose_words(
    runs: Sequence[StaticVectors], sets: Sequence[Iterable[str]], n_words: int = N_WORDS
) -> list[str]:
    """Choose words to be shown, where nobody names any.

    Of the 5,000 words that come first in all runs. Two thirds are words of the sets, in turn from
    each; the rest are any. Both are taken at equal distances, from frequent to rare. Left out are
    the 150 most frequent words of all, which mean little by themselves, what is no word of letters
    or a short one of an alphabet, and words without a direction in some run.
    """
    shared = shared_words(runs, _SHARED)
    likely = [word for word in shared[_FUNCTION_WORDS:] if _is_word(word)]
    common = [word for word in likely or shared if all(_has_direction(run, word) for run in runs)]
    n_of_sets = -(-n_words * 2 // 3)
    asked = [_spread(_in_order(texts, runs, common), n_of_sets) for texts in sets]
    in_turn = (word for words in zip_longest(*asked) for word in words if word is not None)
    of_sets = islice(dict.fromkeys(in_turn), n_of_sets)
    return list(islice(dict.fromkeys(chain(of_sets, _spread(common, n_words))), n_words))


def find_neighbors(
    runs: Mapping[str, StaticVectors], words: Sequence[str], k: int = 10
) -> dict[str, dict[str, list[Neighbor]]]:
    """Find the nearest words of some words in every run."""
    found: dict[str, dict[str, list[Neighbor]]] = {word: {} for word in words}
    for name, vectors in runs.items():
        known = [word for word in found if _has_direction(vectors, word)]
        for word, near in zip(known, nearest(vectors, known, k) if known else [], strict=True):
            found[word][name] = [each for each in near if np.isfinite(each.score)]
    return found


def make_maps(
    runs: Mapping[str, StaticVectors],
    words: Sequence[str],
    groups: Sequence[str | None] | None = None,
) -> dict[str, WordMap | str]:
    """Map the same words by every run."""
    # returns dict of str to (WordMap or str)
    kept = [
        (word, group)
        for word, group in zip(words, groups or [None] * len(words), strict=True)
        if all(_has_direction(run, word) for run in runs.values())
    ]
    return {name: _map(vectors, kept) for name, vectors in runs.items()}


def read_facts(runs: Mapping[str, Path]) -> dict[str, RunFacts]:
    """Read the settings and the provenance of runs."""
    facts = {}
    for name, path in runs.items():
        config = run_options(path)
        if "method" in config:  # of ours
            made = path / "provenance.json"
            facts[name] = RunFacts(config, read_json(made) if made.is_file() else {})
    return facts


def _map(vectors: StaticVectors, words: Sequence[tuple[str, str | None]]) -> WordMap | str:
    """A map, or why there is none."""
    try:
        return map_words(vectors, [word for word, _ in words], [group for _, group in words])
    except SettingError as error:
        return str(error)


def _in_order(
    texts: Iterable[str], runs: Sequence[StaticVectors], common: Sequence[str]
) -> list[str]:
    """The words of a set that may be shown, as some run writes them, frequent ones first."""
    written = {tuple(run.words(text)) for text in dict.fromkeys(texts) for run in runs}
    words = {cut[0] for cut in written if len(cut) == 1}
    return [word for word in common if word in words]


def _spread(words: Sequence[str], n_words: int) -> list[str]:
    """So many of some words, or all, at equal distances."""
    n_taken = min(n_words, len(words))
    return [words[(2 * place + 1) * len(words) // (2 * n_taken)] for place in range(n_taken)]


def _is_word(word: str) -> bool:
    """Whether a word is made of letters, and not of a few letters of an alphabet."""
    return word.isalpha() and (len(word) >= _SHORTEST or not word.isascii())


def _has_direction(vectors: StaticVectors, word: str) -> bool:
    """Whether a run has a vector for a word, and one that is neither zero nor broken."""
    try:
        vector = vectors.vector(word)
    except FirthError:
        return False
    return vector is not None and bool(np.isfinite(vector).all() and np.any(vector))


def read_curve(path: Path) -> Mapping[str, Any]:
    """Read a learning curve."""
    found = read_json(path)
    kinds = {"corpus": str, "methods": list, "sizes": list, "results": list}
    if not isinstance(found, dict) or not all(
        isinstance(found.get(name), kind) and found[name] for name, kind in kinds.items()
    ):
        raise ArtifactError(f"{path}: is no curve.json of firth learning-curve; give one")
    return found
