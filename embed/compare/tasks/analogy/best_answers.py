"""Track whether a correct answer or another candidate scores best, block by block."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np


@dataclass(frozen=True)
class BlockColumns:
    """The columns of excluded words and correct answers in one block of candidates."""

    # int64 (n, k): excluded columns per question; -1 is the spare column
    excluded: np.ndarray
    questions: np.ndarray  # int64 (m,): position of a question with a correct answer in the block
    answers: np.ndarray  # int64 (m,): column of that answer


class BestAnswers:
    """The best scores of correct answers and of all other candidates, by question."""

    def __init__(self, answers: Sequence[np.ndarray], excluded: np.ndarray) -> None:
        # answers: rows int64 (A,) of the correct answers to each question; excluded: int64 (Q, k)
        self._answers = answers
        self._lengths = np.array([len(rows) for rows in answers], dtype=np.int64)
        self._excluded = excluded
        self._best_correct = np.full(len(answers), -np.inf, dtype=np.float32)
        self._best_other = self._best_correct.copy()

    def locate(self, questions: np.ndarray, start: int, n_rows: int) -> BlockColumns:
        """Return the columns of a block that matter to some questions."""
        # questions: int64 (n,)
        excluded = self._excluded[questions] - start
        excluded[(excluded < 0) | (excluded >= n_rows)] = -1
        columns = np.concatenate([self._answers[question] for question in questions]) - start
        positions = np.repeat(np.arange(len(questions)), self._lengths[questions])
        inside = (columns >= 0) & (columns < n_rows)
        return BlockColumns(excluded, positions[inside], columns[inside])

    def update(self, questions: np.ndarray, scores: np.ndarray, columns: BlockColumns) -> None:
        """Update some questions with the scores of a block, which are overwritten."""
        # questions: int64 (n,); scores: float32 (n, n_rows + 1)
        scores[np.arange(len(scores))[:, None], columns.excluded] = -np.inf
        np.maximum.at(
            self._best_correct,
            questions[columns.questions],
            scores[columns.questions, columns.answers],
        )
        scores[columns.questions, columns.answers] = -np.inf
        best = scores[:, :-1].max(axis=1)
        self._best_other[questions] = np.maximum(self._best_other[questions], best)

    def correct(self) -> np.ndarray:
        """Return which questions are answered correctly; a tie is not."""
        # returns bool (Q,)
        return self._best_correct > self._best_other
