"""A set of labeled words, divided into training, development and test part."""

import hashlib
from collections import Counter, defaultdict
from dataclasses import dataclass
from functools import cached_property
from itertools import chain

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.embed.compare.datasets.parts import DEV, HELD_OUT, TEST, TRAIN
from firth.embed.compare.datasets.tagged_words import TaggedWords
from firth.embed.compare.probes.examples import Examples
from firth.embed.compare.tasks.labeled_set import LabeledSet

_RARELY = 0.05  # share of a word's occurrences below which a label may be an annotation error


@dataclass(frozen=True, eq=False)
class TaggingSet(LabeledSet[TaggedWords]):
    """Labeled words; whole sentences of TRAIN, drawn by the seed, are held out."""

    @cached_property
    def words(self) -> list[str]:
        """Every word as its file writes it."""
        return [word for part in self.parts.given for word in part.words]

    @cached_property
    def offsets(self) -> np.ndarray:
        """Offset of each sentence in words, int64 (n_sentences + 1,)."""
        lengths = [np.diff(part.offsets) for part in self.parts.given]
        return offsets_of(np.concatenate(lengths))

    @cached_property
    def heads(self) -> np.ndarray | None:
        """Signed distance of every word to its head, int64 (n_words,); None if a file has none."""
        heads = [part.heads for part in self.parts.given if part.heads is not None]
        return np.concatenate(heads) if len(heads) == len(self.parts.given) else None

    @cached_property
    def gaps(self) -> list[str] | None:
        """What stands before every word in the text; None if a file does not say."""
        gaps = [part.gaps for part in self.parts.given if part.gaps is not None]
        return [*chain(*gaps)] if len(gaps) == len(self.parts.given) else None

    @cached_property
    def sentences(self) -> np.ndarray:
        """The number of each word's sentence, int64 (n_words,)."""
        return np.repeat(np.arange(len(self.offsets) - 1), np.diff(self.offsets))

    @cached_property
    def roles(self) -> np.ndarray:
        """TRAIN, DEV or TEST for each word, int64 (n_words,)."""
        train, *dev, test = (part.n_sentences for part in self.parts.given)
        train_roles = np.zeros(train, np.int64)
        if not dev:
            draws = np.array([self._draw(f"sentence {number}") for number in range(train)])
            train_roles[np.argsort(draws, kind="stable")[: max(1, train // HELD_OUT)]] = DEV
        of_sentences = [train_roles, np.full(sum(dev), DEV), np.full(test, TEST)]
        return np.concatenate(of_sentences)[self.sentences]

    @cached_property
    def control(self) -> np.ndarray:
        """The control task's random label of each lowercased word, int64 (n_words,).

        Drawn as frequent as in TRAIN (Hewitt and Liang 2019, 2.1): only memorization predicts it.
        """
        counts = Counter(self.parts.train.labels)
        ends = np.cumsum([counts[label] for label in self.classes]) / len(self.parts.train.labels)
        draws = {word: self._draw(f"word {word}") for word in dict.fromkeys(self._lower)}
        found = np.searchsorted(ends, [draws[word] for word in self._lower], side="right")
        return np.minimum(found, len(self.classes) - 1)

    @cached_property
    def ambiguous(self) -> np.ndarray:
        """Whether a lowercased word has several labels, none rare, in TRAIN, bool (n_words,)."""
        counts: dict[str, Counter[str]] = defaultdict(Counter)
        for word, tag in zip(self._lower, self.parts.train.labels, strict=False):
            counts[word][tag] += 1
        several = {
            word
            for word, tags in counts.items()
            if sum(count >= _RARELY * tags.total() for count in tags.values()) > 1
        }
        return np.array([word in several for word in self._lower], dtype=bool)

    @cached_property
    def test_words(self) -> np.ndarray:
        """The words of TEST in item order, ambiguous ones last, int64 (n,)."""
        test = self.places(TEST)
        return test[np.argsort(self.ambiguous[test], kind="stable")]

    def for_probes(self, rows: np.ndarray, labels: np.ndarray) -> tuple[Examples, Examples, int]:
        """Return the words of TRAIN and of DEV as examples, and the number of classes."""
        # rows: int64 (n_words, w); labels: int64 (n_words,)
        train, dev = (Examples(rows[some], labels[some]) for some in map(self.places, (TRAIN, DEV)))
        return train, dev, len(self.classes)

    @cached_property
    def _lower(self) -> list[str]:
        """Every word in lower case."""
        return [word.lower() for word in self.words]

    def _draw(self, key_text: str) -> float:
        """Return a number in [0, 1) keyed by the seed and a text."""
        key = self.seed.to_bytes(8, "little")
        digest = hashlib.blake2b(key_text.encode("utf-8", "surrogatepass"), digest_size=8, key=key)
        return (int.from_bytes(digest.digest(), "little") >> 11) * 2.0**-53
