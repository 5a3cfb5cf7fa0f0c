"""How well a model of pairs writes the targets of a file, beside copying the source."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np

from firth.corpora.common.errors import SettingError, SourceError
from firth.corpora.text.pairs import pair_problem
from firth.embed.compare.statistics.bootstrap import draw_counts, interval, resample
from firth.embed.compare.statistics.estimators import Means
from firth.embed.contextual.encoded_text import STDIN, text_lines
from firth.pretrain.inference.transducer import Transducer

_DRAWS, _SEED = 1000, 1


class PairScore(NamedTuple):
    """A mean over pairs with its 95 % bootstrap interval."""

    mean: float
    low: float
    high: float


def read_sources(transducer: Transducer, file: Path) -> list[str]:
    """Return the lines of a file; raise SourceError for one that is no source."""
    sources = [line.rstrip("\r\n") for line in text_lines(file)]
    for number, source in enumerate(sources, 1):
        try:
            transducer.row(source)
        except SettingError as error:
            raise SourceError(f"{_name(file)}:{number}: {error}") from None
    return sources


def read_pairs(file: Path) -> tuple[list[str], list[str]]:
    """Return the sources of a file, with their tags behind a tab, and the targets."""
    sources, targets = [], []
    for number, line in enumerate(text_lines(file), 1):
        if problem := pair_problem(line.rstrip("\r\n")):
            raise SourceError(f"{_name(file)}:{number}: {problem}; correct or remove the line")
        source, target, *tags = line.rstrip("\r\n").split("\t")
        sources.append("\t".join([source, *tags]))
        targets.append(target)
    if not targets:
        raise SourceError(
            f"{_name(file)}: has no pairs; pass lines of a source, a tab and a target"
        )
    return sources, targets


def score_pairs(
    transducer: Transducer, answers: Sequence[str], targets: Sequence[str]
) -> dict[str, PairScore]:
    """Score answers by the share that is right, and the mean edit distance in units."""
    units = [[transducer.units(text) for text in texts] for texts in (answers, targets)]
    distances = np.array([edit_distance(*pair) for pair in zip(*units, strict=True)])
    counts = draw_counts(len(distances), _DRAWS, _SEED, "pairs")
    scores = {}
    for name, values in (("exact", distances == 0), ("distance", distances)):
        resampled = resample(Means(values), counts)
        scores[name] = PairScore(resampled.score, *interval(resampled))
    return scores


def _name(file: Path) -> str:
    """Name a file in messages."""
    return "<stdin>" if str(file) == STDIN else str(file)


def edit_distance(first: Sequence[str], second: Sequence[str]) -> int:
    """Return the fewest units to insert, delete or replace (Levenshtein 1966)."""
    above = list(range(len(second) + 1))
    for row, unit in enumerate(first, 1):
        beside = [row]
        for column, other in enumerate(second, 1):
            changed = above[column - 1] + (unit != other)
            beside.append(min(changed, above[column] + 1, beside[-1] + 1))
        above = beside
    return above[-1]
