"""Find words and phrases in a corpus, and say where they stand."""

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NoReturn

import numpy as np

from firth.corpora.common.errors import SettingError, UnknownWordError
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.occurrences import Occurrences
from firth.corpora.store.shards import Shard

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
        found = [self._phrase(slots, limit) for slots in self._readings(query)]
        if len(found) == 1:
            return found[0]
        starts = np.concatenate([hits.starts for hits in found])
        stops = np.concatenate([hits.stops for hits in found])
        order = np.argsort(starts, kind="stable")[:limit]
        return Hits(starts[order], stops[order])

    def count(self, query: str) -> int | None:
        """Return how often a word occurs, without looking for it; None for phrases."""
        readings = self._readings(query)
        if any(len(slots) > 1 for slots in readings):
            return None
        return sum(self._n_tokens(types) for [types] in readings if types is not None)

    def of_word(self, word: str) -> Hits:
        """Return the occurrences of a word of the vocabulary, as it is spelled there."""
        return self._phrase([self._types_of(word)], None)

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
            name: shard.field(name, inner, inner + 1)[0] if name in shard.field_names else ""
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

    def documents_where(self, condition: str) -> np.ndarray:
        """Return which documents have a value of a kept field, bool (n_documents,).

        ``condition`` is ``FIELD=VALUE``.
        """
        name, equals, value = condition.partition("=")
        if not equals:
            raise SettingError(f"{condition!r}: expected FIELD=VALUE, for example year=1850")
        values = kept_field(self.corpus, name)
        chosen = np.array([each == value for each in values], dtype=bool)
        if not chosen.any():
            some = ", ".join(sorted(set(values))[:5])
            raise SettingError(f"no document has {name}={value}; values are, for example, {some}")
        return chosen

    def _readings(self, query: str) -> list[list[np.ndarray | None]]:
        """Return the ways to read a query: for each place the types that may stand there.

        None is any word. There are several ways if the corpus joined words of the query.
        """
        parts: list[tuple[str, np.ndarray | None]] = []  # a word, or "" of a pattern; its types
        for part in query.split():
            if not part.strip(_ANY):
                parts.append(("", None))
            elif _ANY in part:
                parts.append(("", self._matching(part)))
            else:  # the segmenter splits new_york, too
                words = [word for word in self.corpus.text.words(part) if word != _JOINED]
                parts += [(word, self._types_of(word)) for word in words or [part]]
        if all(types is None for _, types in parts):
            raise SettingError(f"{query!r}: expected a word or phrase, such as sea or 'the * sea'")
        found = list(self._joined(parts))
        known = [all(types is None or len(types) for types in slots) for slots in found]
        if not any(known):
            self._refuse_unknown(query, parts)
        return [slots for slots, one in zip(found, known, strict=True) if one]

    def _joined(
        self, parts: Sequence[tuple[str, np.ndarray | None]]
    ) -> Iterator[list[np.ndarray | None]]:
        """Yield the types of each place, with and without words joined into one."""
        if not parts:
            yield []
        for stop in range(1, len(parts) + 1):
            words, types = [word for word, _ in parts[:stop]], parts[0][1]
            if stop > 1:
                types = self._types_of(_JOINED.join(words))
                if "" in words or not len(types):
                    continue
            for rest in self._joined(parts[stop:]):
                yield [types, *rest]

    def _types_of(self, word: str) -> np.ndarray:
        """Return the type of a word, int64 (1,), or none."""
        found = self.corpus.vocabulary.id_of(word)
        return np.array([] if found is None else [found], dtype=np.int64)

    def _matching(self, pattern: str) -> np.ndarray:
        """Return the types that match a pattern with ``*``, int64 (n,)."""
        parts = ["".join(self.corpus.text.words(part)) for part in pattern.split(_ANY)]
        matches = re.compile(".*".join(map(re.escape, parts)), re.DOTALL).fullmatch
        found = [n for n, word in enumerate(self.corpus.vocabulary) if matches(word)]
        return np.array(found, dtype=np.int64)

    def _phrase(self, slots: Sequence[np.ndarray | None], limit: int | None) -> Hits:
        """Return where types of the slots follow each other in a sentence."""
        sizes = [np.inf if types is None else self._n_tokens(types) for types in slots]
        rarest = int(np.argmin(sizes))
        types = slots[rarest]
        assert types is not None
        if len(slots) == 1:
            starts = self._positions(types, limit)
            return Hits(starts, starts + 1)
        starts = self._positions(types, None) - rarest
        stops = starts + len(slots)
        sentences = self.sentences_of(starts + rarest)
        inside = self.sentence_starts[sentences] <= starts
        inside &= self.sentence_starts[sentences + 1] >= stops
        starts = starts[inside]
        for place, wanted in enumerate(slots):
            if place != rarest and wanted is not None:
                starts = starts[np.isin(self.take(starts + place), wanted)]
        return Hits(starts[:limit], starts[:limit] + len(slots))

    def _positions(self, types: np.ndarray, limit: int | None) -> np.ndarray:
        """Return the first positions of some types, ascending, int64 (n,)."""
        parts = [self.occurrences.of(each)[:limit].astype(np.int64) for each in types.tolist()]
        found = np.concatenate(parts) if parts else np.zeros(0, dtype=np.int64)
        if len(found) and not np.isin(self.take(found[[0, -1]]), types).all():
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


def kept_fields(corpus: Corpus) -> list[str]:
    """Return the names of a corpus's kept fields, in alphabetical order."""
    return sorted({name for shard in corpus.shards for name in shard.field_names})


def kept_field(corpus: Corpus, name: str) -> list[str]:
    """Return a kept field of all documents; empty where a shard lacks it."""
    names = kept_fields(corpus)
    if name not in names:
        kept = ", ".join(names) or "none"
        raise SettingError(
            f"{corpus.path}: keeps no field {name!r} (it keeps {kept}); build it with `keep={name}`"
        )
    values: list[str] = []
    for shard in corpus.shards:
        n_documents = len(shard.documents) - 1
        values += shard.field(name) if name in shard.field_names else [""] * n_documents
    return values
