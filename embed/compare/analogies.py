"""Analogies: is the fourth word the best answer to "a is to b as c is to which word?"."""

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

from embed.compare.config import CompareConfig
from embed.compare.datasets import Question, read_questions
from embed.compare.tasks import TaskResult, find_words, finite_units
from embed.parallel import thread_count
from embed.protocols import StaticVectors

METRICS = ("accuracy", "accuracy_3cosmul")  # by 3CosAdd, by 3CosMul
_BLOCK = 4096  # candidates whose cosines with all question words are held at a time
_CHUNK = 32  # questions scored at a time: their scores stay in the second-level cache
_EPSILON = np.float32(0.001)  # Levy & Goldberg 2014, section 4


@dataclass(frozen=True)
class AnalogyTask:
    """A set of analogy questions, scored by the share answered rightly.

    A question is asked when its four words are among the ``restrict`` most
    frequent words; the others are left out and counted. The answer is sought
    among the same words, those of the question excluded, and is right when the
    fourth word alone scores best: a tie is no answer. In place of any of the
    first three a word outside the vocabulary will do when its vector is
    composed of n-grams; an answer always comes from the vocabulary.

    Attributes
    ----------
    dataset : str
        Stem of the set's file.
    questions : sequence of Question
        The set.
    restrict : int
        Number of candidates: the first rows of the vectors.
    sections : bool
        Whether each section is scored as well.
    """

    dataset: str
    questions: Sequence[Question]
    restrict: int
    sections: bool = False

    @classmethod
    def read(cls, path: Path, config: CompareConfig) -> "AnalogyTask":
        """Read a set of questions.

        Parameters
        ----------
        path : Path
            The file; see :func:`~embed.compare.datasets.read_questions`.
        config : CompareConfig
            Of which ``restrict`` and ``sections`` matter.

        Returns
        -------
        AnalogyTask
            Ready to score.
        """
        return cls(path.stem, read_questions(path), config.restrict, config.sections)

    def texts(self) -> Iterable[str]:
        """List the words of all questions as the file writes them."""
        return [text for question in self.questions for text in question.words]

    def score(self, vectors: StaticVectors) -> list[TaskResult]:
        """Answer the known questions by 3CosAdd and by 3CosMul.

        Parameters
        ----------
        vectors : StaticVectors
            Dense or sparse, frequent words first.

        Returns
        -------
        list of TaskResult
            Metrics ``accuracy`` (3CosAdd) and ``accuracy_3cosmul`` over the
            whole set, then, where asked for, over its sections.
        """
        found, n_words = find_words(vectors, self.texts()), len(vectors.vocabulary)
        asked = np.array(
            [[found.rows[text] for text in question.words] for question in self.questions]
        )
        candidate = (asked >= 0) & (asked < min(self.restrict, n_words))
        unseen = asked >= n_words
        known = candidate[:, 3] & (candidate | unseen)[:, :3].all(axis=1)
        right = np.zeros((len(METRICS), len(asked)), dtype=bool)
        right[:, known] = answered_rightly(vectors, asked[known], self.restrict, found.composed)
        composed = known & unseen.any(axis=1)
        whole: tuple[str | None, np.ndarray] = (None, np.ones(len(asked), dtype=bool))
        return [
            self._result(metric, section, right[index], known, composed, part)
            for section, part in (whole, *self._sections())
            for index, metric in enumerate(METRICS)
        ]

    def _sections(self) -> Iterator[tuple[str | None, np.ndarray]]:
        """Name and questions of each section, in the order of the file."""
        names = [question.section for question in self.questions]
        if self.sections:
            for name in dict.fromkeys(names):
                yield name, np.array([name == other for other in names])

    def _result(
        self,
        metric: str,
        section: str | None,
        right: np.ndarray,
        known: np.ndarray,
        composed: np.ndarray,
        part: np.ndarray,
    ) -> TaskResult:
        """The accuracy over one part of the set."""
        used = int((known & part).sum())
        reason = f"no question has its four words among the {self.restrict:,} most frequent"
        return TaskResult(
            task="analogy",
            dataset=self.dataset,
            metric=metric,
            score=float(right[known & part].mean()) if used else None,
            items_used=used,
            items_total=int(part.sum()),
            section=section,
            reason=None if used else reason,
            items_composed=int((composed & part).sum()),
        )


def answered_rightly(
    vectors: StaticVectors,
    questions: np.ndarray,
    restrict: int,
    composed: Any = None,
) -> np.ndarray:
    """Tell which analogy questions are answered rightly.

    Levy & Goldberg 2014, "Linguistic Regularities in Sparse and Explicit Word
    Representations": 3CosAdd (their eq. 3) maximises
    cos(d, b) - cos(d, a) + cos(d, c), 3CosMul (eq. 4)
    cos(d, b) cos(d, c) / (cos(d, a) + 0.001) with cosines shifted to (x + 1) / 2.
    All are sums and products of the cosines between candidates and the distinct
    words of the questions, so one matrix product serves every question.

    Parameters
    ----------
    vectors : StaticVectors
        Dense or sparse.
    questions : int64 (Q, 4)
        Rows a, b, c and the right answer, each below ``restrict``; V + i, which
        is no answer, is row i of ``composed``.
    restrict : int
        Candidates are the rows below it, without a, b and c.
    composed : float32 (n, D) or scipy.sparse CSR (n, D), optional
        Vectors of words that have no row.

    Returns
    -------
    bool (2, Q)
        By 3CosAdd and by 3CosMul: whether the right answer scores above every
        other candidate.
    """
    words, places = np.unique(questions[:, :3], return_inverse=True)
    places = places.reshape(-1, 3)
    queries = _single(finite_units(vectors, words, composed))
    expected = np.full((len(METRICS), len(questions)), -np.inf, dtype=np.float32)
    others = expected.copy()
    order = np.lexsort(places.T[[2, 1, 0]])  # a pair a, b is read from the cache while it recurs
    chunks = [order[start : start + _CHUNK] for start in range(0, len(order), _CHUNK)]
    candidates = min(restrict, len(vectors.vocabulary))

    with ThreadPoolExecutor(thread_count(None)) as pool:
        for start in range(0, candidates, _BLOCK):
            block = np.arange(start, min(start + _BLOCK, candidates))
            cosines = _products(queries, _single(finite_units(vectors, block)))
            inside = np.where(
                (questions >= start) & (questions <= block[-1]), questions - start, -1
            )
            deque(pool.map(partial(_fold, cosines, places, inside, expected, others), chunks), 0)
    forbidden = (questions[:, :3] == questions[:, 3:]).any(axis=1)
    return (expected > others) & ~forbidden


def _single(units: Any) -> Any:
    """Unit rows in single precision: twice as fast, and near enough for the order."""
    return units.astype(np.float32)


def _products(queries: Any, candidates: Any) -> np.ndarray:
    """Cosines (W, R + 1), the last column spare: places outside the block point to it."""
    cosines = np.zeros((queries.shape[0], candidates.shape[0] + 1), dtype=np.float32)
    if isinstance(queries, np.ndarray):
        np.matmul(queries, candidates.T, out=cosines[:, :-1])
    else:
        cosines[:, :-1] = (queries @ candidates.T).toarray()
    return cosines


def _fold(
    cosines: np.ndarray,
    places: np.ndarray,
    inside: np.ndarray,
    expected: np.ndarray,
    others: np.ndarray,
    chunk: np.ndarray,
) -> None:
    """Bring the best scores of some questions up to date with one block of candidates."""
    a, b, c = (cosines[rows] for rows in places[chunk].T)
    added = b - a
    added += c
    for shifted in (a, b, c):
        shifted += np.float32(1.0)  # not halved: that changes 3CosMul by a constant factor only
    b *= c
    a += 2 * _EPSILON
    b /= a
    inside = inside[chunk]
    found = np.flatnonzero(inside[:, 3] >= 0)
    here = np.arange(len(chunk))[:, None]
    for metric, scores in enumerate((added, b)):
        expected[metric, chunk[found]] = scores[found, inside[found, 3]]
        scores[here, inside] = -np.inf
        best = scores[:, :-1].max(axis=1)
        others[metric, chunk] = np.maximum(others[metric, chunk], best)
