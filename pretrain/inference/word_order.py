"""How well shuffled sentences are put in order, by their length."""

from collections import Counter, defaultdict
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np

from firth.corpora.artifacts.metrics import HeldOutLoss

COLUMNS = "words", "sentences", "right neighbors", "tau", "shuffled", "tau"
_SEED = 1
_LENGTHS = {"2-5": (2, 5), "6-10": (6, 10), "11-20": (11, 20), "21+": (21, 1e9), "2+": (2, 1e9)}


def shuffled(words: Sequence[str], number: int) -> list[str]:
    """Return the words of the sentence of a number in random order, the same every time."""
    order = np.random.default_rng([_SEED, number]).permutation(len(words))
    return [words[n] for n in order]


def score_orders(
    texts: Sequence[Sequence[str]],
    answers: Sequence[Sequence[str]],
    shuffles: Sequence[Sequence[str]],
) -> list[tuple[Any, ...]]:
    """Return rows of a table: means with standard errors, over sentences of at least two words."""
    trios = [trio for trio in zip(texts, answers, shuffles, strict=True) if len(trio[0]) > 1]
    lengths, rows = np.array([len(text) for text, *_ in trios]), []
    measured = [[agreement(order, text) for order in orders] for text, *orders in trios]
    values = np.array(measured).reshape(-1, 2, 2, 2)  # sentence, order, measure, sum or number
    for name, (least, most) in _LENGTHS.items():
        part = values[(lengths >= least) & (lengths <= most)]
        if len(part):
            columns = part.reshape(-1, 4, 2).transpose(1, 2, 0)
            means = (HeldOutLoss.of_units(sums, numbers) for sums, numbers in columns)
            rows.append((name, len(part), *means))
    return rows


def agreement(order: Sequence[str], text: Sequence[str]) -> tuple[int, int, float, int]:
    """Return the pairs of neighbors that the text has, all pairs, Kendall's tau, and 1.

    For tau, the first of equal words is the first in the text.
    """
    columns = defaultdict[str, list[int]](list)
    for column in reversed(range(len(text))):
        columns[text[column]].append(column)
    places = np.array([columns[word].pop() for word in order])
    signs = np.sign(places - places[:, None])[np.triu_indices(len(places), 1)]
    common = Counter(pairwise(order)) & Counter(pairwise(text))
    return common.total(), len(places) - 1, float(signs.mean()), 1
