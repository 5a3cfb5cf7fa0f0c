"""What sets of labeled words and of labeled sentences share: classes, roles and a fingerprint."""

import hashlib
from abc import ABC, abstractmethod
from dataclasses import dataclass
from functools import cached_property
from typing import Generic

import numpy as np

from firth.embed.compare.datasets.parts import TRAIN, Labeled, Part, Parts

_LISTED = 10  # labels that a note lists


@dataclass(frozen=True, eq=False)
class LabeledSet(ABC, Generic[Part]):
    """The items of all parts, which are words or sentences: TRAIN, then DEV if given, then TEST."""

    parts: Parts[Part]  # the files
    seed: int  # of what is drawn

    @property
    @abstractmethod
    def roles(self) -> np.ndarray:
        """TRAIN, DEV or TEST for each item, int64 (n,); without a file, DEV is a tenth of TRAIN."""

    @cached_property
    def classes(self) -> list[str]:
        """The labels of TRAIN, sorted: what a probe can predict."""
        return sorted(set(self.parts.train.labels))

    @cached_property
    def labels(self) -> np.ndarray:
        """The class number of each label, int64 (n,); -1 if TRAIN lacks the label."""
        numbers = {label: number for number, label in enumerate(self.classes)}
        given = (label for part in self.parts.given for label in part.labels)
        return np.array([numbers.get(label, -1) for label in given], np.int64)

    def places(self, role: int) -> np.ndarray:
        """Return the numbers of the items of one role, ascending."""
        # returns int64 (n,)
        return np.flatnonzero(self.roles == role)

    def right_by_chance(self, places: np.ndarray) -> np.ndarray:
        """Return which items have the label most frequent in TRAIN."""
        # places: int64 (n,); returns bool (n,)
        most = np.bincount(self.labels[self.places(TRAIN)]).argmax()
        return np.asarray(self.labels[places] == most)

    def unseen_note(self, part: Labeled, items: str) -> str | None:
        """Return a note on labels of a part that TRAIN lacks; None if there are none."""
        known = set(self.classes)
        unseen = [label for label in part.labels if label not in known]
        if not unseen:
            return None
        names = sorted(set(unseen))
        more = [f"{len(names) - _LISTED:,} more"] if len(names) > _LISTED else []
        return (
            f"{len(unseen):,} {items} have labels that the training part lacks "
            f"({', '.join([*names[:_LISTED], *more])}); they count as wrong"
        )

    def fingerprint(self) -> str:
        """Return a hash of everything that predictions depend on."""
        contents = [
            each.tolist() if isinstance(each, np.ndarray) else each
            for part in self.parts.given
            for each in vars(part).values()
        ]
        text = repr((self.seed, self.roles.tolist(), contents))
        return hashlib.sha256(text.encode()).hexdigest()[:32]
