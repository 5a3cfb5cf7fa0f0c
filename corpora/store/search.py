"""Find words and phrases in a corpus, and say where they stand."""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np

from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.fields import kept_fields
from firth.corpora.store.occurrences import Occurrences
from firth.corpora.store.shards import Shard
from firth.corpora.text.spelling import FoldedWords, did_you_mean

_ANY = "*"
_JOINED = "_"  # between the words of a phrase that is one word of the corpus


@dataclass(frozen=True)
class Hits:
    """Occurrences of a query: tokens ``starts[k]`` to ``stops[k] - 1`` of the corpus."""

    starts: np.ndarray  # int64 (n,), ascending
    stops: np.ndarray  # int64 (n,)

    def __len__(self) -> int:
        return len(self.starts)

    def __getitem__(self, chosen: np.ndarray | slice) -> "Hits":
        return Hits(self.starts[chosen], self.stops[chosen])

    def sample(self, n: int, seed: int) -> "Hits":
        """Return up to ``n`` at random, in order of the text."""
        if len(self) <= n:
            return self
        return self[np.sort(np.random.default_rng(seed).choice(len(self), n, replace=False))]


@dataclass(frozen=True)
class Slot:
    """Words ``start`` to ``stop - 1`` of a query, as one token."""

    start: int
    stop: int
    types: np.ndarray | None  # int64 (n,), of which the token may be; None for any


class Search:
    """Finds queries in all documents of a corpus."""

    def __init__(self, corpus: Corpus) -> None:
        if corpus.sampled is not None:
            raise SettingError(f"{corpus.path}: a sample is not searched; pass the whole corpus")
        self.corpus = corpus
        self.occurrences = Occurrences(corpus)
        self.occurrences.require()
        self._shard_starts = np.cumsum([0, *(len(shard.ids) for shard in corpus.shards)])

    def find(self, query: str, limit: int | None = None) -> Hits:
        """Return the occurrences of a word or phrase, the first ``limit`` of them.

        The query is normalized as the text was. ``*`` stands for any characters of a word, and
        alone for any word. A phrase lies within a sentence; words that the corpus joined into one
        are found, too.
        """
        return self._phrase(self._slots(query), limit)

    def count(self, query: str) -> int | None:
        """Return how often a word occurs, without looking for it; None for phrases."""
        slots = self._slots(query)
        whole = [slot for slot in slots if slot.stop == slots[-1].stop and not slot.start]
        if len(whole) < len(slots):
            return None
        return sum(self._n_tokens(slot.types) for slot in whole if slot.types is not None)

    def of_word(self, word: str) -> Hits:
        """Return the occurrences of a word of the vocabulary, as it is spelled there."""
        return self._phrase([Slot(0, 1, self._types_of(word))], None)

    def near(self, hits: Hits, others: Hits, within: int, unit: str = "document") -> Hits:
        """Return the hits that have others within some tokens, in the same document or sentence."""
        if not len(others) or not len(hits):
            return hits[slice(0)]
        if len(others) < len(hits):
            hits = _roughly_near(hits, others, within)
        bounds = self.document_starts if unit == "document" else self.sentence_starts
        owners = np.searchsorted(bounds, hits.starts, "right") - 1
        firsts = np.maximum(bounds[owners], hits.starts - within)
        lasts = np.minimum(bounds[owners + 1], hits.stops + within)
        nearest = np.searchsorted(others.stops, hits.starts, "right") - 1
        before = (nearest >= 0) & (others.starts[nearest] >= firsts)
        nearest = np.searchsorted(others.starts, hits.stops)
        after = np.append(others.stops, np.iinfo(np.int64).max)[nearest] <= lasts
        return hits[before | after]

    def take(self, positions: np.ndarray) -> np.ndarray:
        """Return the types at some positions, int32 (n,); -1 outside the corpus."""
        types = np.full(len(positions), -1, dtype=np.int32)
        shard_of = np.searchsorted(self._shard_starts, positions, "right") - 1
        for number, (shard, start) in enumerate(self.shards()):
            inside = shard_of == number
            types[inside] = shard.ids[positions[inside] - start]
        return types

    def shards(self) -> Iterator[tuple[Shard, int]]:
        """Yield each shard with the position of its first token."""
        yield from zip(self.corpus.shards, self._shard_starts.tolist(), strict=False)

    def words(self, starts: np.ndarray, stops: np.ndarray) -> list[list[str]]:
        """Return the words of some ranges of the text."""
        places = [np.arange(*bounds) for bounds in zip(starts, stops, strict=True)]
        every = np.concatenate([np.zeros(0, dtype=np.int64), *places])
        types, owner = np.unique(self.take(every), return_inverse=True)
        words = [self.corpus.vocabulary[each] for each in types.tolist()]
        each = iter(owner.tolist())
        return [[words[next(each)] for _ in place] for place in places]

    @cached_property
    def document_starts(self) -> np.ndarray:
        """Positions at which documents begin, and the end, int64 (n_documents + 1,)."""
        return self.bounds("document")

    @cached_property
    def sentence_starts(self) -> np.ndarray:
        """Positions at which sentences begin, and the end, int64 (n_sentences + 1,)."""
        return self.bounds("sentence")

    def documents_of(self, positions: np.ndarray) -> np.ndarray:
        """Return the numbers of the documents that hold some positions, from 0, int64 (n,)."""
        return np.asarray(np.searchsorted(self.document_starts, positions, "right") - 1)

    def sentences_of(self, positions: np.ndarray) -> np.ndarray:
        """Return the numbers of the sentences that hold some positions, from 0, int64 (n,)."""
        return np.asarray(np.searchsorted(self.sentence_starts, positions, "right") - 1)

    def origin(self, document: int) -> tuple[str, int]:
        """Return the source of a document, and its line or record there, from 1."""
        shard, inner = self.locate(document, "document")
        source = self.corpus.manifest["document_sources"][shard.array("document_sources")[inner]]
        return str(source), int(shard.array("document_positions")[inner])

    def fields(self, document: int) -> dict[str, str]:
        """Return the kept fields of a document."""
        shard, inner = self.locate(document, "document")
        return {
            name: shard.field(name, inner, inner + 1)[0] if name in shard.fields else ""
            for name in self.field_names
        }

    def locate(self, number: int, unit: str) -> tuple[Shard, int]:
        """Return the shard of a document or sentence, and its number there."""
        for shard in self.corpus.shards:
            if number < (size := len(shard.offsets(unit)) - 1):
                return shard, number
            number -= size
        raise IndexError(unit)

    @cached_property
    def field_names(self) -> list[str]:
        """Names of the kept fields, in alphabetical order."""
        return kept_fields(self.corpus)

    def _slots(self, query: str, types_of: Callable[[str], np.ndarray] | None = None) -> list[Slot]:
        """Return the tokens of which a query may consist, in order of their last words."""
        types_of = types_of or self._types_of
        parts: list[tuple[str, np.ndarray | None]] = []  # a word, or "" of a pattern; its types
        for part in query.split():
            if not part.strip(_ANY):
                parts.append(("", None))
            elif _ANY in part:
                parts.append(("", self._matching(part)))
            else:  # the segmenter splits new_york, too
                words = [word for word in self.corpus.text.words(part) if word != _JOINED]
                parts += [(word, types_of(word)) for word in words or [part]]
        if all(types is None for _, types in parts):
            raise SettingError(f"{query!r}: expected a word or phrase, such as sea or 'the * sea'")
        slots = _on_paths([*self._possible(parts, types_of)], len(parts))
        if not slots:
            if types_of != self._types_spelled:
                return self._slots(query, self._types_spelled)
            self._refuse_unknown(query, parts)
        return slots

    def _possible(
        self,
        parts: Sequence[tuple[str, np.ndarray | None]],
        types_of: Callable[[str], np.ndarray],
    ) -> Iterator[Slot]:
        """Yield the words that the corpus has, then those that it joined of several."""
        longest = int(np.diff(self.corpus.vocabulary.offsets).max())  # bytes
        for start, (joined, types) in enumerate(parts):
            if types is None or len(types):
                yield Slot(start, start + 1, types)
            for stop, (word, _) in enumerate(parts[start + 1 :], start + 2):
                joined = f"{joined}{_JOINED}{word}"
                if not word or not parts[start][0] or len(joined) > longest:
                    break
                if len(types := types_of(joined)):
                    yield Slot(start, stop, types)

    def _types_of(self, word: str) -> np.ndarray:
        """Return the types of a word, int64 (n,); one in tokenized text may have spaces."""
        forms = (word, word.replace(_JOINED, " "))
        found = {self.corpus.vocabulary.id_of(form) for form in forms}
        return np.array(sorted(row for row in found if row is not None), dtype=np.int64)

    def _types_spelled(self, word: str) -> np.ndarray:
        """Return the type that a word is another spelling of, int64 (1,), or none."""
        found, row = self._types_of(word), None
        if not len(found):
            row = self._folded.row(word)
        return found if row is None else np.array([row])

    @cached_property
    def _folded(self) -> FoldedWords:
        """The types by what their spellings share."""
        return FoldedWords(self.corpus.vocabulary)

    def _matching(self, pattern: str) -> np.ndarray:
        """Return the types that match a pattern with ``*``, int64 (n,)."""
        parts = ["".join(self.corpus.text.words(part)) for part in pattern.split(_ANY)]
        found = [n for n, word in enumerate(self.corpus.vocabulary) if _matches(word, parts)]
        return np.array(found, dtype=np.int64)

    def _phrase(self, slots: Sequence[Slot], limit: int | None) -> Hits:
        """Return where slots follow each other in a sentence, found from the rarest ones on."""
        n_words = max(slot.stop for slot in slots)
        sizes = np.zeros(n_words)
        for slot in slots:
            size = np.inf if slot.types is None else self._n_tokens(slot.types)
            sizes[slot.start : slot.stop] += size
        rarest = int(np.argmin(sizes))
        hits = [
            self._around(slot, slots, n_words, limit)
            for slot in slots
            if slot.start <= rarest < slot.stop
        ]
        starts = np.concatenate([each.starts for each in hits])
        order = np.argsort(starts, kind="stable")[:limit] if len(hits) > 1 else slice(limit)
        return Hits(starts[order], np.concatenate([each.stops for each in hits])[order])

    def _around(self, slot: Slot, slots: Sequence[Slot], n_words: int, limit: int | None) -> Hits:
        """Return the hits in which a slot takes part."""
        assert slot.types is not None
        is_whole = slot.stop - slot.start == n_words
        starts = self._positions(slot.types, limit if is_whole else None)
        if is_whole:
            return Hits(starts, starts + 1)
        sentences = self.sentences_of(starts)
        firsts, lasts = self.sentence_starts[sentences], self.sentence_starts[sentences + 1]
        edges = [(each.start, each.stop, each.types) for each in slots]
        hits, stops = self._follow(edges, slot.stop, n_words, starts + 1, lasts, 1)
        backward = [(stop, start, types) for start, stop, types in edges]
        rest, starts = self._follow(backward, slot.start, 0, starts[hits], firsts[hits], -1)
        return Hits(starts, stops[rest])

    def _follow(
        self,
        edges: Sequence[tuple[int, int, np.ndarray | None]],
        node: int,
        goal: int,
        ends: np.ndarray,
        limits: np.ndarray,
        step: int,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return which hits reach the goal along edges between words of a query, and their ends."""
        # ends: int64 (n,); limits: int64 (n,), where their sentences end
        none = np.zeros(0, dtype=np.int64)
        reached = {node: (np.arange(len(ends)), ends)}
        for source, target, types in sorted(edges, key=lambda edge: step * edge[0]):
            hits, ends = reached.get(source, (none, none))
            fits = ends != limits[hits]
            if types is not None:
                fits[fits] = np.isin(self.take(ends[fits] - (step < 0)), types)
            ways = [reached[target]] if target in reached else []
            ways.append((hits[fits], ends[fits] + step))
            hits, ends = map(np.concatenate, zip(*ways, strict=True))
            reached[target] = (hits, ends)
        hits, ends = reached.get(goal, (none, none))
        order = np.argsort(hits)
        return hits[order], ends[order]

    def _positions(self, types: np.ndarray, limit: int | None) -> np.ndarray:
        """Return the first positions of some types, ascending, int64 (n,)."""
        parts = [self.occurrences.of(each)[:limit].astype(np.int64) for each in types.tolist()]
        found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        ascend = all((part[1:] > part[:-1]).all() for part in parts)
        ends = found[[found.argmin(), found.argmax()]] if len(found) else found
        if not ascend or not np.isin(self.take(ends), types).all():
            self.occurrences.refuse()
        return np.sort(found)[:limit] if len(parts) > 1 else found

    def _n_tokens(self, types: np.ndarray) -> int:
        """Return the number of tokens of some types."""
        return sum(map(self.occurrences.count, types.tolist()))

    def _refuse_unknown(
        self, query: str, parts: Sequence[tuple[str, np.ndarray | None]]
    ) -> NoReturn:
        """Raise for the first word of a query that is not in the corpus."""
        word = next(word for word, types in parts if types is not None and not len(types))
        pruned = self.corpus.vocabulary.is_pruned
        why = "; it may be one of the words that `max_types` left out" if pruned else ""
        if not pruned and word:
            why = f"; {did_you_mean(word, self.corpus.vocabulary)}"
        raise UnknownWordError(f"{self.corpus.path}: does not contain {word or query!r}{why}")

    def bounds(self, unit: str) -> np.ndarray:
        """Return the positions at which units of all shards begin, and the end."""
        parts = [shard.offsets(unit)[:-1] + start for shard, start in self.shards()]
        return np.concatenate([*parts, self._shard_starts[-1:]])


def _roughly_near(hits: Hits, others: Hits, within: int) -> Hits:
    """Return all hits near few others, and perhaps some that are not."""
    longest = int((hits.stops - hits.starts).max())
    firsts = np.searchsorted(hits.starts, others.stops - within - longest)
    lasts = np.searchsorted(hits.starts, others.starts + within, "right")
    begun = np.bincount(firsts, minlength=len(hits) + 1)
    ended = np.bincount(np.maximum(firsts, lasts), minlength=len(hits) + 1)
    return hits[np.flatnonzero(np.cumsum(begun - ended)[:-1])]


def _on_paths(slots: Sequence[Slot], n_words: int) -> list[Slot]:
    """Return the slots that lie on a way from the first word of a query to the last."""
    begun, ended = {0}, {n_words}
    for slot in sorted(slots, key=lambda slot: slot.start):
        if slot.start in begun:
            begun.add(slot.stop)
    for slot in sorted(slots, key=lambda slot: -slot.stop):
        if slot.stop in ended:
            ended.add(slot.start)
    return [slot for slot in slots if slot.start in begun and slot.stop in ended]


def _matches(word: str, parts: Sequence[str]) -> bool:
    """Return whether a word begins and ends with the outer parts, and has the others between."""
    first, *inner, last = parts
    at, stop = len(first), len(word) - len(last)
    if at > stop or not (word.startswith(first) and word.endswith(last)):
        return False
    for part in inner:
        found = word.find(part, at, stop)
        if found < 0:
            return False
        at = found + len(part)
    return True
