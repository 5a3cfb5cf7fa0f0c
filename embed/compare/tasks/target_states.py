"""States of marked words in their contexts."""

from collections.abc import Iterable, Sequence

import numpy as np

from firth.embed.compare.datasets.context_pairs import Target
from firth.embed.contextual.in_context import WordSplitter, masked_states, split_parts
from firth.embed.contextual.states import WORDS_AT_ONCE, encode_in_blocks
from firth.embed.protocols import ContextualEncoder


def target_words(splitter: WordSplitter, targets: Sequence[Target]) -> list[list[str]]:
    """Return the words of each target as the encoder splits them."""
    found = _find(splitter, targets)
    return [[sentence[place] for place in places] for sentence, places in found]


def target_states(
    encoder: ContextualEncoder,
    targets: Sequence[Target],
    layers: Sequence[int],
    at_once: int = WORDS_AT_ONCE,
) -> np.ndarray:
    """Return the state of each target, summed over its words; each context is encoded once."""
    # returns float32 (n_targets, D)
    found = _find(encoder, targets)
    owners: dict[int, list[int]] = {}
    for target, (sentence, _) in enumerate(found):
        owners.setdefault(id(sentence), []).append(target)
    states: dict[int, np.ndarray] = {}
    sentences = [found[first][0] for first, *_ in owners.values()]
    for first, block in encode_in_blocks(encoder, sentences, layers, at_once):
        for sentence, of_words in zip(sentences[first:], block, strict=False):
            for target in owners[id(sentence)]:
                states[target] = of_words[found[target][1]].sum(axis=0)
    return np.array([states[target] for target in range(len(targets))], dtype=np.float32)


def masked_target_states(
    encoder: ContextualEncoder,
    targets: Sequence[Target],
    layers: Sequence[int],
    centers: np.ndarray | None,
) -> np.ndarray:
    """Return the same of words that are masked one by one; joined with their vectors."""
    # centers: of joined vectors; returns float32 (n_targets, D), joined (n_targets, S + D)
    found = _find(encoder, targets)
    sentences = [words for words, places in found for _ in places]
    places = np.concatenate([places for _, places in found])
    states = masked_states(encoder, sentences, places, layers, centers)
    sums = np.zeros((len(targets), states.shape[1]), dtype=np.float32)
    np.add.at(sums, np.repeat(np.arange(len(targets)), [len(each) for _, each in found]), states)
    return sums


def contexts_read(splitter: WordSplitter, targets: Sequence[Target]) -> list[list[str]]:
    """Return the distinct contexts of targets as lists of words."""
    return list({id(words): words for words, _ in _find(splitter, targets)}.values())


def _find(splitter: WordSplitter, targets: Iterable[Target]) -> list[tuple[list[str], np.ndarray]]:
    """Return the words of each target's context, one list each, and the target's places in it."""
    every = list(targets)
    split = {parts: split_parts(splitter, parts) for parts in {target.parts for target in every}}
    distinct: dict[tuple[str, ...], list[str]] = {}
    found = []
    for target in every:
        words, bounds = split[target.parts]
        places = [place for mark in target.marks for place in range(*bounds[mark : mark + 2])]
        words = distinct.setdefault((*words, getattr(words, "text", "")), words)
        found.append((words, np.array(places, dtype=np.int64)))
    return found
