"""Next item: where the last item of a session ranks, by the mean of the vectors before it."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from firth.corpora.artifacts.arrays import offsets_of
from firth.corpora.common.errors import SourceError
from firth.corpora.common.reporting import note
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import read_rows
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import set_name
from firth.embed.compare.inputs.baselines import POPULAR, PopularityBaseline
from firth.embed.compare.inputs.encoder_access import encoder_of
from firth.embed.compare.inputs.lookup import find_words, raw_rows
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.task import Measurement, Task
from firth.embed.protocols import NextWordPredictor, StaticVectors
from firth.embed.vectors.one_thread import ONE_THREAD
from firth.embed.vectors.search import unit_length

_BLOCK = 512  # sessions ranked at once
_REPEATING = 0.01  # from this share of last items that stood before, seen items may be answers
_TIE = 1e-12  # of cosines: rounding
_TOP = (10, 20)
_CONTEXT, _LM = "context_", "lm_"

_Scores = Callable[[slice], np.ndarray]  # of some sessions: float64 (b, N), of every item


@dataclass(frozen=True)
class NextItemTask(Task):
    """Sessions; the candidates are all items of the file, the same for all runs."""

    dataset: str  # name of the set
    sessions: Sequence[Sequence[str]]  # the items of each, two or more
    key = "next-item"
    skill = "next items"
    own_baseline = POPULAR
    metrics: ClassVar = {
        f"{prefix}{measure}_{top}": f"{what} {top}{by}"
        for prefix, by in (
            ("", ", by cosine"),
            (_CONTEXT, ", by the product with context vectors"),
            (_LM, ", by the language model's own prediction"),
        )
        for measure, what in (
            ("hits", "share of last items among the first"),
            ("mrr", "mean of 1 / rank of the last item, 0 beyond rank"),
        )
        for top in _TOP
    }

    @classmethod
    def recognize(cls, head: Head) -> Match:
        """Recognize nothing: any text could be sessions."""
        return Match.NO

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "NextItemTask":
        """Read a session per line, its items between white space."""
        rows = read_rows(path, comment=lambda _: False, nothing="no sessions")
        sessions = [row.text.split() for row in rows]
        if max(map(len, sessions)) < 2:
            raise SourceError(f"{path}: no session has two items; write one session in each line")
        asking = [session for session in sessions if len(session) > 1]
        if short := len(sessions) - len(asking):
            note(f"{path}: {short:,} of {len(sessions):,} sessions have one item: left out")
        return cls(set_name(path), asking)

    def items(self) -> Sequence[Sequence[str]]:
        """Return the sessions."""
        return self.sessions

    def known(self, vectors: StaticVectors, unknown: str = "skip") -> np.ndarray:
        """Return the sessions whose last item and another one have vectors."""
        rows = find_words(vectors, self.candidates, unknown).rows
        has = [[rows[item] >= 0 for item in session] for session in self.sessions]
        return np.array([each[-1] and any(each[:-1]) for each in has], dtype=bool)

    @cached_property
    def candidates(self) -> list[str]:
        """The items of all sessions."""
        return list(dict.fromkeys(item for session in self.sessions for item in session))

    def measure(
        self, vectors: StaticVectors, items: np.ndarray, unknown: str = "skip"
    ) -> list[Measurement]:
        """Rank all items by their cosine with the mean of a session, and by other scores."""
        chosen = np.flatnonzero(items)
        sessions = [self.sessions[item] for item in chosen.tolist()]
        before = self._counts([session[:-1] for session in sessions])
        answers = self._numbers([session[-1] for session in sessions])
        is_popularity = isinstance(vectors, PopularityBaseline)
        if is_popularity:
            scores = {"": self._popularity(before, answers)}
        else:
            scores = self._scores(vectors, sessions, before, unknown)
        reason = None if sessions else "no session is known"
        with ONE_THREAD:
            values = {
                prefix: _values(*self._ranks(of_prefix, before, answers))
                for prefix, of_prefix in scores.items()
            }
        if is_popularity:  # the same by each metric that a run has
            values = dict.fromkeys(("", _CONTEXT, _LM), values[""])
        return [
            self._measurement(f"{prefix}{name}", chosen, Means(of_metric), reason)
            for prefix, of_prefix in values.items()
            for name, of_metric in of_prefix.items()
        ]

    def _scores(
        self, vectors: StaticVectors, sessions: Sequence[Sequence[str]], before: Any, unknown: str
    ) -> dict[str, _Scores]:
        """Return the scores of all items by the prefix of their metrics."""
        found = find_words(vectors, self.candidates, unknown)
        places = found.places(self.candidates)
        scores = {"": self._cosines(vectors, before, places, found.composed)}
        if getattr(vectors, "contexts", None) is not None:
            scores[_CONTEXT] = self._products(vectors, before, places)
        encoder: object = encoder_of(vectors)
        if isinstance(encoder, NextWordPredictor):
            scores[_LM] = self._predictions(encoder, sessions)
        return scores

    def _popularity(self, before: Any, answers: np.ndarray) -> _Scores:
        """Return how often items are in other sessions."""
        counts = np.bincount(self._numbers([i for s in self.sessions for i in s])).astype(float)

        def elsewhere(part: slice) -> np.ndarray:
            rest = counts - before[part].toarray()
            rest[np.arange(len(rest)), answers[part]] -= 1
            return np.asarray(rest)

        return elsewhere

    @cached_property
    def _number(self) -> dict[str, int]:
        """The number of each candidate."""
        return {item: number for number, item in enumerate(self.candidates)}

    @cached_property
    def _repeating(self) -> bool:
        """Whether items are often repeated, so that those seen may be answers."""
        repeated = [session[-1] in session[:-1] for session in self.sessions]
        return bool(np.mean(repeated) >= _REPEATING)

    def _numbers(self, items: Sequence[str]) -> np.ndarray:
        """Return the numbers of items, int64 (n,)."""
        return np.array([self._number[item] for item in items], dtype=np.int64)

    def _counts(self, sessions: Sequence[Sequence[str]]) -> Any:
        """Return how often each session has each item, CSR (S, N)."""
        import scipy.sparse

        columns = self._numbers([item for session in sessions for item in session])
        parts = np.ones(len(columns)), columns, offsets_of(map(len, sessions))
        return scipy.sparse.csr_matrix(parts, shape=(len(sessions), len(self.candidates)))

    def _cosines(
        self, vectors: StaticVectors, before: Any, places: np.ndarray, composed: Any
    ) -> _Scores:
        """Return the cosines of sessions' mean vectors with all items; 0 of those without one."""
        import scipy.sparse

        known = scipy.sparse.diags((places >= 0).astype(np.float64)).tocsr()
        rows = known @ raw_rows(vectors, np.maximum(places, 0), composed)
        units, means = unit_length(rows), unit_length(before @ rows)

        def cosines(part: slice) -> np.ndarray:
            products = means[part] @ units.T
            return products if isinstance(products, np.ndarray) else products.toarray()

        return cosines

    def _products(self, vectors: Any, before: Any, places: np.ndarray) -> _Scores:
        """Return products of sessions' mean vectors with context vectors; -inf without one."""
        has = (places >= 0) & (places < len(vectors.contexts))
        rows = np.where(has, places, 0)
        words = np.where(has[:, None], raw_rows(vectors, rows), 0)
        contexts = vectors.contexts[rows].astype(np.float64)
        means = before @ words / np.maximum(before @ has[:, None].astype(np.float64), 1)
        return lambda part: np.where(has, means[part] @ contexts.T, -np.inf)

    def _predictions(
        self, encoder: NextWordPredictor, sessions: Sequence[Sequence[str]]
    ) -> _Scores:
        """Return the logits of all items after sessions."""
        words = [(encoder.words(item) or [item])[0] for item in self.candidates]
        read = [[w for item in each[:-1] for w in encoder.words(item)] for each in sessions]
        return lambda part: encoder.predict_next(read[part], words)

    def _ranks(
        self, scores: _Scores, before: Any, answers: np.ndarray
    ) -> tuple[np.ndarray, np.ndarray]:
        """Return how many items rank above each answer, and how many as high, itself included."""
        # before: CSR (S, N); answers: int64 (S,); returns int64 (S,) twice
        above, tied = np.zeros((2, len(answers)), np.int64)
        for start in range(0, len(answers), _BLOCK):
            part = slice(start, start + _BLOCK)
            values = scores(part)
            at = np.arange(len(values)), answers[part]
            right = values[at][:, None]
            if not self._repeating:
                values[before[part].nonzero()] = -np.inf
                values[at] = right[:, 0]
            above[part] = np.count_nonzero(values > right + _TIE, axis=1)
            tied[part] = np.count_nonzero(values >= right - _TIE, axis=1) - above[part]
        return above, tied


def _values(above: np.ndarray, tied: np.ndarray) -> dict[str, np.ndarray]:
    """Return the value of each session by metric, expected over the order of items that tie."""
    # above, tied: int64 (S,); returns float64 (S,)
    found = {}
    for top in _TOP:
        found[f"hits_{top}"] = np.clip((top - above) / tied, 0, 1)
        sums = np.append(0, np.cumsum(1 / np.arange(1, top + 1)))
        found[f"mrr_{top}"] = (
            sums[np.minimum(above + tied, top)] - sums[np.minimum(above, top)]
        ) / tied
    return found
