"""Joins phrases: finds them in the ids of a corpus, and makes each one word.

The phrases are a trie over word ids. Its nodes are the ids of the joined text, first the types as
they are and then one per edge, until the new vocabulary is written and the text renumbered.
"""

import os
import queue
import shutil
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import (
    array_path,
    offsets_of,
    open_array,
    read_strings,
    write_array,
)
from firth.corpora.common.system import unmap_unused
from firth.corpora.common.threads import even_ranges
from firth.corpora.encoding.phrase_kernels import count_next, gather_next, join, score_pairs
from firth.corpora.encoding.phrase_options import NPMI, PhraseRules
from firth.corpora.encoding.vocabulary_writer import TypeRuns
from firth.corpora.store.shards import HEADS
from firth.corpora.store.vocabulary import Vocabulary
from firth.corpora.store.vocabulary_kernels import gather_types
from firth.corpora.text.segment import TextSettings

_LEAST_TOKENS = 1 << 20  # of the words whose pairs are counted together, in one reading of the text
_TYPES_AT_ONCE = 1 << 20


@dataclass(frozen=True)
class Trie:
    """Phrases as paths of words; the node of edge e is V + e."""

    parents: np.ndarray  # int64 (n_edges,), nodes
    words: np.ndarray  # int32 (n_edges,), word ids
    is_phrase: np.ndarray  # bool (n_edges,), whether a phrase ends here

    def sorted_edges(self, n_types: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Return the edges of each node as offsets, int64 (n_nodes + 1,), words and targets."""
        order = np.lexsort((self.words, self.parents))
        n_edges = np.bincount(self.parents, minlength=n_types + len(order))
        targets = (n_types + order).astype(np.int32)
        return offsets_of(n_edges), self.words[order], targets

    def paths(self, n_types: int) -> list[tuple[int, ...]]:
        """Return the words from the root to each node; parents come before their children."""
        paths: list[tuple[int, ...]] = []
        for parent, word in zip(self.parents.tolist(), self.words.tolist(), strict=True):
            before = (parent,) if parent < n_types else paths[parent - n_types]
            paths.append((*before, word))
        return paths


def find_phrases(
    directories: Sequence[Path],
    vocabulary: Vocabulary,
    rules: PhraseRules,
    text: TextSettings,
    threads: ThreadPoolExecutor,
    n_threads: int,
    memory: int,
) -> Trie:
    """Return the phrases that are listed, or else the pairs of words that score high enough."""
    breaks = vocabulary.punctuation.copy()
    if rules.listed:
        return _listed(vocabulary, breaks, [text.words(line) for line in rules.listed])
    for line in rules.stop_words:
        ids = map(vocabulary.id_of, text.words(line))
        breaks[[type_id for type_id in ids if type_id is not None]] = True
    counts, min_count = np.asarray(vocabulary.counts), rules.options.phrase_min_count
    pairs, pair_counts, n_pairs = _count_pairs(
        directories, counts, breaks, min_count, threads, n_threads, memory
    )
    scores = np.empty(len(pair_counts))
    n_entries, n_tokens = np.count_nonzero(~breaks) + n_pairs, counts[~breaks].sum()
    npmi = rules.options.phrases == NPMI
    score_pairs(pairs, pair_counts, counts, min_count, n_entries, n_tokens, npmi, scores)
    firsts, seconds = pairs[:, scores > rules.options.threshold]
    return Trie(firsts.astype(np.int64), seconds, np.ones(len(firsts), dtype=bool))


def _listed(vocabulary: Vocabulary, breaks: np.ndarray, phrases: list[list[str]]) -> Trie:
    """Return the listed phrases whose words all occur."""
    # breaks: bool (n_types,)
    ids = {word: vocabulary.id_of(word) for word in {word for words in phrases for word in words}}
    nodes: dict[tuple[int, int], int] = {}  # of parent and word
    last = set()
    for words in phrases:
        path = [type_id for word in words if (type_id := ids[word]) is not None]
        if len(path) < max(len(words), 2) or breaks[path].any():
            continue
        node = path[0]
        for word in path[1:]:
            node = nodes.setdefault((node, word), len(vocabulary) + len(nodes))
        last.add(node)
    parents, edge_words = np.array([*nodes], dtype=np.int64).reshape(-1, 2).T
    is_phrase = np.array([node in last for node in nodes.values()], dtype=bool)
    return Trie(parents, edge_words.astype(np.int32), is_phrase)


def _count_pairs(
    directories: Sequence[Path],
    counts: np.ndarray,
    breaks: np.ndarray,
    min_count: int,
    threads: ThreadPoolExecutor,
    n_threads: int,
    memory: int,
) -> tuple[np.ndarray, np.ndarray, int]:
    """Count adjacent words in sentences; return pairs, their counts, and the number of all."""
    # counts: int64 (n_types,); breaks: bool (n_types,)
    # returns int32 (2, n) and int64 (n,) of pairs with ``min_count`` occurrences or more
    n_workers = max(1, min(n_threads, memory // (8 * len(counts))))
    bytes_per_token = 4 + 16 // min_count
    n_tokens = min(memory // n_workers // bytes_per_token, counts.sum() // n_workers + 1)
    scratch = queue.SimpleQueue[np.ndarray]()
    for _ in range(n_workers):
        scratch.put(np.zeros(len(counts), dtype=np.int64))

    def count(words: tuple[int, int]) -> tuple[np.ndarray, np.ndarray, int]:
        times, (first, stop) = scratch.get(), words
        try:
            offsets = offsets_of(counts[first:stop])
            starts, ends = offsets[:-1], offsets[:-1].copy()
            following = np.empty(offsets[-1], dtype=np.int32)
            for directory in directories:
                ids, sentences = (open_array(directory, name) for name in ("ids", "sentences"))
                gather_next(ids, sentences, breaks, first, stop, ends, following)
            room = len(following) // min_count
            pairs, pair_counts = np.empty((2, room), np.int32), np.empty(room, np.int64)
            n_kept, n_pairs = count_next(
                starts, ends, following, first, min_count, times, pairs, pair_counts
            )
            return pairs[:, :n_kept].copy(), pair_counts[:n_kept].copy(), n_pairs
        finally:
            scratch.put(times)

    ranges = even_ranges(counts, max(n_tokens, _LEAST_TOKENS))
    all_pairs, all_counts, n_pairs = zip(*threads.map(count, ranges), strict=True)
    return np.concatenate(all_pairs, axis=1), np.concatenate(all_counts), sum(n_pairs)


def join_phrases(
    directories: Sequence[Path], trie: Trie, n_types: int, threads: ThreadPoolExecutor
) -> tuple[list[int], np.ndarray]:
    """Replace the phrases in all shards by their nodes.

    Returns the tokens of each shard, and how often each node of the trie occurs, int64 (n_edges,).
    """
    work = partial(_join_shard, edges=trie.sorted_edges(n_types), is_phrase=trie.is_phrase)
    sizes, n_joined = [], np.zeros(len(trie.words), dtype=np.int64)
    for size, joined in threads.map(work, directories):
        sizes.append(size)
        n_joined += joined
    return sizes, n_joined


def _join_shard(
    directory: Path, edges: tuple[np.ndarray, ...], is_phrase: np.ndarray
) -> tuple[int, np.ndarray]:
    """Join the phrases of one shard and rewrite its ids and offsets."""
    ids = open_array(directory, "ids", writable=True)
    sentences = np.array(open_array(directory, "sentences"))
    ends, n_joined = np.empty_like(sentences), np.zeros(len(is_phrase), dtype=np.int64)
    n_tokens = join(ids, sentences, *edges, is_phrase, ends, n_joined)
    write_array(directory, "joined", ids[:n_tokens])  # a mapped file cannot be shortened
    del ids
    unmap_unused()
    os.replace(array_path(directory, "joined"), array_path(directory, "ids"))
    for level in ("documents", "paragraphs"):
        places = np.searchsorted(sentences, np.array(open_array(directory, level)))
        write_array(directory, level, ends[places])
    write_array(directory, "sentences", ends)
    array_path(directory, HEADS).unlink(missing_ok=True)  # they are of single words
    return n_tokens, n_joined


def write_joined(
    directory: Path, runs: TypeRuns, trie: Trie, n_joined: np.ndarray, max_types: int | None
) -> tuple[np.ndarray, str]:
    """Replace the vocabulary by that of the joined text.

    Types that occur only in phrases are dropped; a phrase that was a type already is one with it.
    Return the new id of each node, and the phrases as lines of ``TextSettings.joined_phrases``.
    """
    vocabulary = Vocabulary(directory)
    n_types, found = len(vocabulary), np.flatnonzero(n_joined)
    counts = np.array(vocabulary.counts)
    paths = trie.paths(n_types)
    for edge in found.tolist():
        np.subtract.at(counts, list(paths[edge]), n_joined[edge])  # a word may occur twice
    nodes_of_runs = {}
    for first in range(0, n_types, _TYPES_AT_ONCE):
        kept = first + np.flatnonzero(counts[first : min(first + _TYPES_AT_ONCE, n_types)])
        runs.add(first, *_gather(vocabulary, kept), counts[kept])
        nodes_of_runs[first] = kept
    spelled = _spelled(vocabulary, [paths[edge] for edge in found.tolist()])
    types = [phrase.replace("\t", "_").encode() for phrase in spelled]
    text = np.frombuffer(b"".join(types), dtype=np.uint8)
    runs.add(n_types, text, offsets_of(map(len, types)), n_joined[found])
    nodes_of_runs[n_types] = n_types + found
    written = directory.with_name("joined")
    new_ids = np.zeros(n_types + len(paths), dtype=np.int32)
    ids = runs.merge(written, max_types)
    for first, nodes in nodes_of_runs.items():
        new_ids[nodes] = ids[first]
    del vocabulary
    unmap_unused()
    shutil.rmtree(directory)
    os.replace(written, directory)
    return new_ids, "\n".join(spelled)


def _spelled(vocabulary: Vocabulary, paths: Sequence[tuple[int, ...]]) -> list[str]:
    """Return phrases, their words separated by tabs."""
    ids = np.unique(np.array([word for path in paths for word in path], dtype=np.int64))
    words = read_strings(*_gather(vocabulary, ids), 0, len(ids))
    spelling = dict(zip(ids.tolist(), words, strict=True))
    return ["\t".join(spelling[word] for word in path) for path in paths]


def _gather(vocabulary: Vocabulary, ids: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the bytes of types and their offsets."""
    n_bytes = int((vocabulary.offsets[ids + 1] - vocabulary.offsets[ids]).sum())
    text, offsets = np.empty(n_bytes, dtype=np.uint8), np.empty(len(ids) + 1, dtype=np.int64)
    gather_types(vocabulary.text, vocabulary.offsets, ids.astype(np.int64), text, offsets)
    return text, offsets
