"""Who scores best, a right answer or another candidate, as blocks of candidates go by."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class Spots:
    """What is special in one block of candidates, for some questions.

    Attributes
    ----------
    excluded : int64 (n, k)
        Per question, columns that are no answer; -1 is a spare column.
    asked : int64 (m,)
        Which of the n questions has a right answer in the block...
    columns : int64 (m,)
        ...and where.
    """

    excluded: np.ndarray
    asked: np.ndarray
    columns: np.ndarray


class Contest:
    """The best scores of right answers and of all other candidates, question by question.

    Questions may be entered by several threads, each question by one at a time.

    Parameters
    ----------
    answers : sequence of int64 (A,)
        Per question, the rows of its right answers.
    excluded : int64 (Q, k)
        Per question, rows that are no candidates.
    n_methods : int
        Ways of scoring, each a contest of its own.
    """

    def __init__(
        self, answers: Sequence[np.ndarray], excluded: np.ndarray, n_methods: int = 1
    ) -> None:
        self._answers = answers
        self._lengths = np.array([len(rows) for rows in answers], dtype=np.int64)
        self._excluded = excluded
        self._expected = np.full((n_methods, len(answers)), -np.inf, dtype=np.float32)
        self._others = self._expected.copy()

    def locate(self, questions: np.ndarray, start: int, n_rows: int) -> Spots:
        """Find the rows that matter to some questions in a block.

        Parameters
        ----------
        questions : int64 (n,)
            Which.
        start, n_rows : int
            First row of the block, and how many it has.

        Returns
        -------
        Spots
            For :meth:`enter`.
        """
        excluded = self._excluded[questions] - start
        excluded[(excluded < 0) | (excluded >= n_rows)] = -1
        columns = np.concatenate([self._answers[question] for question in questions]) - start
        asked = np.repeat(np.arange(len(questions)), self._lengths[questions])
        inside = (columns >= 0) & (columns < n_rows)
        return Spots(excluded, asked[inside], columns[inside])

    def enter(self, method: int, questions: np.ndarray, scores: np.ndarray, spots: Spots) -> None:
        """Bring some questions up to date with the scores of a block.

        Parameters
        ----------
        method : int
            Which way of scoring.
        questions : int64 (n,)
            Which.
        scores : float32 (n, n_rows + 1)
            The last column is spare. Overwritten.
        spots : Spots
            Of these questions and this block.
        """
        scores[np.arange(len(scores))[:, None], spots.excluded] = -np.inf
        expected = self._expected[method]
        np.maximum.at(expected, questions[spots.asked], scores[spots.asked, spots.columns])
        scores[spots.asked, spots.columns] = -np.inf
        best = scores[:, :-1].max(axis=1)
        self._others[method, questions] = np.maximum(self._others[method, questions], best)

    def won(self) -> np.ndarray:
        """Tell which questions are answered rightly.

        Returns
        -------
        bool (n_methods, Q)
            Whether a right answer scores above every other candidate: a tie is no
            answer.
        """
        return self._expected > self._others
