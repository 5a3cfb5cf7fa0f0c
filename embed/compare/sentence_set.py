"""A set of labelled sentences: who learns, who decides, who is asked."""

import hashlib
from collections import Counter
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embed.compare.sentence_files import LabelledSentences, SentenceParts

TRAIN, DEV, TEST = range(3)
_HELD_OUT = 10  # one sentence in so many stands for a development part


@dataclass(frozen=True, eq=False)
class SentenceSet:
    """All sentences of a set, TRAIN first, then DEV where there is one, then TEST.

    Without DEV a tenth of the sentences of TRAIN, drawn by the seed and their numbers, stands
    in its place.

    Attributes
    ----------
    parts : SentenceParts
        The files.
    seed : int
        Of the sentences held out, and of probes.
    """

    parts: SentenceParts
    seed: int

    @cached_property
    def texts(self) -> list[str]:
        """Every sentence as its file writes it."""
        return [text for part in self._given for text in part.texts]

    @cached_property
    def roles(self) -> np.ndarray:
        """TRAIN, DEV or TEST for each sentence, int64 (n_sentences,)."""
        train, *dev, test = (part.n_sentences for part in self._given)
        learnt = np.full(train, TRAIN)
        if not dev:
            learnt[self._held_out()] = DEV
        return np.concatenate([learnt, np.full(sum(dev), DEV), np.full(test, TEST)])

    @cached_property
    def classes(self) -> list[str]:
        """The labels of TRAIN, sorted: what a probe can answer."""
        return sorted(set(self.parts.train.labels))

    @cached_property
    def labels(self) -> np.ndarray:
        """The number of each label, int64 (n_sentences,); -1 where TRAIN has no such label."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        given = (label for part in self._given for label in part.labels)
        return np.array([numbers.get(label, -1) for label in given], np.int64)

    @property
    def unseen(self) -> dict[str, int]:
        """The labels of TEST that TRAIN has not, and how many sentences have them."""
        known = set(self.classes)
        return Counter(label for label in self.parts.test.labels if label not in known)

    @property
    def n_repeated(self) -> int:
        """How many sentences of TEST are among those of TRAIN."""
        known = set(self.parts.train.texts)
        return sum(text in known for text in self.parts.test.texts)

    def places(self, role: int) -> np.ndarray:
        """Give the numbers of the sentences of one role.

        Parameters
        ----------
        role : int
            TRAIN, DEV or TEST.

        Returns
        -------
        int64 (n,)
            Ascending.
        """
        return np.flatnonzero(self.roles == role)

    def fingerprint(self) -> str:
        """Name all that answers depend on.

        Returns
        -------
        str
            The same for the same sentences, labels, parts and seed.
        """
        digest = hashlib.sha256(str(self.seed).encode())
        for part in self._given:
            for texts in (part.texts, part.labels):
                digest.update(b"\n" + str(len(texts)).encode())
                digest.update("\n".join(texts).encode("utf-8", "surrogatepass"))
        digest.update(self.roles.tobytes())
        return digest.hexdigest()[:32]

    def _held_out(self) -> np.ndarray:
        """A tenth of TRAIN, but of each label the sentence that is drawn first is learnt from."""
        n_train = self.parts.train.n_sentences
        order = np.random.default_rng([self.seed, n_train]).permutation(n_train)
        first = np.unique(self.labels[order], return_index=True)[1]
        return np.delete(order, first)[: max(1, n_train // _HELD_OUT)]

    @property
    def _given(self) -> list[LabelledSentences]:
        """The parts that there are, in their order."""
        parts = self.parts
        return [part for part in (parts.train, parts.dev, parts.test) if part is not None]
