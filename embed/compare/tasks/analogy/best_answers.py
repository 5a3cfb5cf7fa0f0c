"""Who scores best, a right answer or another candidate, as blocks of candidates go by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spots:
    """What is special in one block of candidates, for some questions."""

    # int64 (n, k): per question, columns that are no answer; -1 is a spare column
    excluded: np.ndarray
    asked: np.ndarray  # int64 (m,): which of the n questions has a right answer in the block
    columns: np.ndarray  # int64 (m,): ...and where


class BestAnswers:
    """The best scores of right answers and of all other candidates, question by question.

    Questions may be entered by several threads, each question by one at a time.
    """

    def __init__(
        self, answers: Sequence[np.ndarray], excluded: np.ndarray, n_methods: int = 1
    ) -> None:
        # answers: sequence of int64 (A,); excluded: int64 (Q, k)
        self._answers = answers
        self._lengths = np.array([len(rows) for rows in answers], dtype=np.int64)
        self._excluded = excluded
        self._expected = np.full((n_methods, len(answers)), -np.inf, dtype=np.float32)
        self._others = self._expected.copy()

    def locate(self, questions: np.ndarray, start: int, n_rows: int) -> Spots:
        """Find the rows that matter to some questions in a block."""
        # questions: int64 (n,)
        excluded = self._excluded[questions] - start
        excluded[(excluded < 0) | (excluded >= n_rows)] = -1
        columns = np.concatenate([self._answers[question] for question in questions]) - start
        asked = np.repeat(np.arange(len(questions)), self._lengths[questions])
        inside = (columns >= 0) & (columns < n_rows)
        return Spots(excluded, asked[inside], columns[inside])

    def enter(self, method: int, questions: np.ndarray, scores: np.ndarray, spots: Spots) -> None:
        """Bring some questions up to date with the scores of a block."""
        # questions: int64 (n,); scores: float32 (n, n_rows + 1)
        scores[np.arange(len(scores))[:, None], spots.excluded] = -np.inf
        expected = self._expected[method]
        np.maximum.at(expected, questions[spots.asked], scores[spots.asked, spots.columns])
        scores[spots.asked, spots.columns] = -np.inf
        best = scores[:, :-1].max(axis=1)
        self._others[method, questions] = np.maximum(self._others[method, questions], best)

    def won(self) -> np.ndarray:
        """Tell which questions are answered rightly."""
        # returns bool (n_methods, Q)
        return self._expected > self._others
