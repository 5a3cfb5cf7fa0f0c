"""A set of labeled words laid end to end: who learns, who decides, who is asked what."""

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embed.compare.datasets.parts import DEV, HELD_OUT, TEST, Parts
from embed.compare.datasets.tagged_words import TaggedWords
from embed.compare.probes.examples import Examples

_RARELY = 0.05  # of a word's occurrences: a label that is rarer may be an annotator's slip


@dataclass(frozen=True, eq=False)
class TaggingSet:
    """All words of a set, TRAIN first, then DEV where there is one, then TEST.

    Without DEV a tenth of the sentences of TRAIN, drawn by the seed and their numbers, stands
    in its place.
    """

    parts: Parts[TaggedWords]  # the files
    seed: int  # of the sentences held out, and of the control task

    @cached_property
    def words(self) -> list[str]:
        """Every word as its file writes it."""
        return [word for part in self.parts.given for word in part.words]

    @cached_property
    def tags(self) -> list[str]:
        """The label of every word as its file writes it."""
        return [tag for part in self.parts.given for tag in part.tags]

    @cached_property
    def offsets(self) -> np.ndarray:
        """Where sentences begin and end, int64 (n_sentences + 1,)."""
        lengths = [np.diff(part.offsets) for part in self.parts.given]
        return np.concatenate([np.zeros(1, np.int64), np.cumsum(np.concatenate(lengths))])

    @cached_property
    def sentences(self) -> np.ndarray:
        """The number of each word's sentence, int64 (n_words,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def roles(self) -> np.ndarray:
        """TRAIN, DEV or TEST for each word, int64 (n_words,)."""
        train, *dev, test = (part.n_sentences for part in self.parts.given)
        learnt = np.zeros(train, np.int64)
        if not dev:
            draws = np.array([self._draw(f"sentence {number}") for number in range(train)])
            learnt[np.argsort(draws, kind="stable")[: max(1, train // HELD_OUT)]] = DEV
        of_sentences = [learnt, np.full(sum(dev), DEV), np.full(test, TEST)]
        return np.concatenate(of_sentences)[self.sentences]

    @cached_property
    def classes(self) -> list[str]:
        """The labels of TRAIN, sorted: what a probe can answer."""
        return sorted(set(self.parts.train.tags))

    @cached_property
    def labels(self) -> np.ndarray:
        """The number of each word's label, int64 (n_words,); -1 where TRAIN has no such label."""
        numbers = {tag: number for number, tag in enumerate(self.classes)}
        return np.array([numbers.get(tag, -1) for tag in self.tags], np.int64)

    @cached_property
    def control(self) -> np.ndarray:
        """The control task's label of each word, int64 (n_words,).

        Each word, its case aside, has one label wherever it stands, drawn as often as labels are
        in TRAIN (Hewitt and Liang 2019, section 2.1): nothing but the word itself tells it.
        """
        counts = Counter(self.parts.train.tags)
        ends = np.cumsum([counts[tag] for tag in self.classes]) / len(self.parts.train.tags)
        draws = {word: self._draw(f"word {word}") for word in dict.fromkeys(self._lower)}
        found = np.searchsorted(ends, [draws[word] for word in self._lower], side="right")
        return np.minimum(found, len(self.classes) - 1)

    @cached_property
    def ambiguous(self) -> np.ndarray:
        """Whether a word carries several labels in TRAIN, bool (n_words,).

        Its case aside, and labels aside that it has in less than a twentieth of its occurrences.
        """
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for word, tag in zip(self._lower, self.parts.train.tags, strict=False):
            counts[word][tag] += 1
        several = {
            word
            for word, tags in counts.items()
            if sum(count >= _RARELY * tags.total() for count in tags.values()) > 1
        }
        return np.array([word in several for word in self._lower], dtype=bool)

    @cached_property
    def asked(self) -> np.ndarray:
        """The words of TEST in the order of items, those that are ambiguous last, int64 (n,)."""
        test = np.flatnonzero(self.roles == TEST)
        return test[np.argsort(self.ambiguous[test], kind="stable")]

    @property
    def unseen(self) -> dict[str, int]:
        """The labels of TEST that TRAIN has not, and how many words have them."""
        return Counter(tag for tag in self.parts.test.tags if tag not in set(self.classes))

    def examples(self, rows: np.ndarray, labels: np.ndarray, role: int) -> Examples:
        """Give the words of one role as a probe takes them."""
        # rows: int64 (n_words, w); labels: int64 (n_words,)
        chosen = self.roles == role
        return Examples(rows[chosen], labels[chosen])

    def fingerprint(self) -> str:
        """Name all that answers depend on."""
        digest = hashlib.sha256(str(self.seed).encode())
        for texts in (self.words, self.tags):
            digest.update("\n".join(texts).encode("utf-8", "surrogatepass"))
        digest.update(self.offsets.tobytes() + self.roles.tobytes())
        return digest.hexdigest()[:32]

    @cached_property
    def _lower(self) -> list[str]:
        """Every word, its case aside."""
        return [word.lower() for word in self.words]

    def _draw(self, about: str) -> float:
        """A number from 0 to 1, below 1, keyed by the seed and what it is about."""
        key = self.seed.to_bytes(8, "little")
        digest = hashlib.blake2b(about.encode("utf-8", "surrogatepass"), digest_size=8, key=key)
        return (int.from_bytes(digest.digest(), "little") >> 11) * 2.0**-53
