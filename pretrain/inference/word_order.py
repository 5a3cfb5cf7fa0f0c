"""How well an encoder puts the words of shuffled sentences in order, by the sentences' length."""

import math
from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

from firth.corpora.artifacts.metrics import HeldOutLoss
from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.contextual.encoded_text import text_lines
from firth.pretrain.inference.trained_encoder import TrainedEncoder

_SEED = 1
_LENGTHS = ((2, 5), (6, 10), (11, 20), (21, None), (2, None))  # words


class OrderScore(NamedTuple):
    """Means over sentences of some length with standard errors, of answers and of the shuffles."""

    words: str
    sentences: int
    neighbors: HeldOutLoss  # share of words that are followed by the right one
    tau: HeldOutLoss  # Kendall's
    shuffled_neighbors: HeldOutLoss
    shuffled_tau: HeldOutLoss

    def to_json(self) -> dict[str, Any]:
        """Return everything as JSON, a mean and its error as a list; null is the error of one."""
        values = self._asdict()
        for name, value in values.items():
            if isinstance(value, HeldOutLoss):
                error = value.standard_error
                values[name] = [value.mean, error if math.isfinite(error) else None]
        return values


def read_sentences(encoder: TrainedEncoder, file: Path) -> list[list[str]]:
    """Return the words of each line; raise SourceError if a line is empty or too long."""
    sentences = []
    for number, line in enumerate(text_lines(file), 1):
        sentences.append(encoder.words(line))
        n_pieces = int(encoder.n_pieces(sentences[-1]).sum())
        if not 0 < n_pieces <= encoder.max_pieces:
            raise SourceError(
                f"{file}:{number}: has {n_pieces} pieces; pass sentences of 1 to "
                f"{encoder.max_pieces}"
            )
    return sentences


def score_orders(
    encoder: TrainedEncoder, sentences: Sequence[Sequence[str]], show: Progress = no_progress
) -> list[OrderScore]:
    """Shuffle sentences of at least two words, the same way every time, and score their orders."""
    sentences = [words for words in sentences if len(words) > 1]
    if not sentences:
        raise SettingError("no sentence has two words; pass longer ones")
    measured = []  # of answers and shuffles: right neighbors, all neighbors, tau
    for number, words in enumerate(sentences):
        shuffled = [
            words[n] for n in np.random.default_rng([_SEED, number]).permutation(len(words))
        ]
        answer = [shuffled[n] for n in encoder.reorder(shuffled)]
        measured.append([agreement(order, words) for order in (answer, shuffled)])
        show(number + 1, len(sentences))
    lengths, values, scores = np.array([len(words) for words in sentences]), np.array(measured), []
    for least, most in _LENGTHS:
        part = values[(lengths >= least) & (lengths <= (most or np.inf))]  # float64 (n, 2, 3)
        means = (
            HeldOutLoss.of_units(part[:, side, value], part[:, side, 1] if value == 0 else ones)
            for ones in [np.ones(len(part))] for side in (0, 1) for value in (0, 2)
        )  # fmt: skip
        span = f"{least}-{most}" if most else f"{least}+"
        scores.append(OrderScore(span, len(part), *means))
    return [score for score in scores if score.sentences]


def agreement(order: Sequence[str], text: Sequence[str]) -> tuple[int, int, float]:
    """Return pairs of neighbors that the text has, all pairs, and Kendall's tau.

    For tau, the first of equal words is the first in the text.
    """
    columns = defaultdict[str, list[int]](list)
    for column in reversed(range(len(text))):
        columns[text[column]].append(column)
    places = np.array([columns[word].pop() for word in order])
    signs = np.sign(places - places[:, None])[np.triu_indices(len(places), 1)]
    common = Counter(pairwise(order)) & Counter(pairwise(text))
    return common.total(), len(places) - 1, float(signs.mean())
