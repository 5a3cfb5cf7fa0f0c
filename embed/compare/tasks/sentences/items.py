"""A set of labeled sentences: who learns, who decides, who is asked."""

import hashlib
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from embed.compare.datasets.labeled_sentences import LabeledSentences
from embed.compare.datasets.parts import DEV, HELD_OUT, TEST, TRAIN, Parts

_LISTED = 10  # labels that a remark names


@dataclass(frozen=True, eq=False)
class SentenceSet:
    """All sentences of a set, TRAIN first, then DEV where there is one, then TEST.

    Without DEV a tenth of the sentences of TRAIN, drawn by the seed and their numbers, stands
    in its place.
    """

    parts: Parts[LabeledSentences]  # the files
    seed: int  # of the sentences held out, and of probes

    @cached_property
    def texts(self) -> list[str]:
        """Every sentence as its file writes it."""
        return [text for part in self.parts.given for text in part.texts]

    @cached_property
    def roles(self) -> np.ndarray:
        """TRAIN, DEV or TEST for each sentence, int64 (n_sentences,)."""
        train, *dev, test = (part.n_sentences for part in self.parts.given)
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
        given = (label for part in self.parts.given for label in part.labels)
        return np.array([numbers.get(label, -1) for label in given], np.int64)

    def training_notes(self) -> Iterator[str]:
        """Say what of the files that are learnt from is not as it should be."""
        if self.parts.dev is not None:
            yield from self._told("development", self.parts.dev, {"training": self.parts.train})

    def test_notes(self) -> Iterator[str]:
        """Say the same of TEST, against TRAIN and DEV."""
        parts = self.parts
        others = {"training": parts.train, "development": parts.dev}
        yield from self._told(
            "test", parts.test, {n: p for n, p in others.items() if p is not None}
        )

    def _told(
        self, role: str, part: LabeledSentences, others: Mapping[str, LabeledSentences]
    ) -> Iterator[str]:
        """Labels of a part that cannot be answered, and sentences that other parts have."""
        known = set(self.classes)
        if unseen := [label for label in part.labels if label not in known]:
            names = sorted(set(unseen))
            listed = ", ".join([*names[:_LISTED], *(["…"] if len(names) > _LISTED else [])])
            yield (
                f"{len(unseen):,} sentences of the {role} part have labels that the training part "
                f"lacks ({listed}); they count as wrong"
            )
        for other, theirs in others.items():
            there = set(theirs.texts)
            if n_repeated := sum(text in there for text in part.texts):
                yield f"{n_repeated:,} sentences of the {role} part stand in the {other} part, too"

    def places(self, role: int) -> np.ndarray:
        """Give the numbers of the sentences of one role."""
        # returns int64 (n,)
        return np.flatnonzero(self.roles == role)

    def fingerprint(self) -> str:
        """Name all that answers depend on."""
        digest = hashlib.sha256(str(self.seed).encode())
        for part in self.parts.given:
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
        return np.delete(order, first)[: max(1, n_train // HELD_OUT)]
