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
    low: float | None  # None for a single pair
    high: float | None

    def __str__(self) -> str:
        ends = "" if self.low is None else f" [{self.low:.3f}, {self.high:.3f}]"
        return f"{self.mean:.3f}{ends}"


def read_sources(transducer: Transducer, file: Path, *, pairs: bool) -> tuple[list[str], list[str]]:
    """Return the sources of a file, with their tags behind a tab, and the targets of pairs.

    Blank lines are skipped. Raises SourceError for the first line that is none.
    """
    name = "<stdin>" if str(file) == STDIN else str(file)
    sources, targets = [], []
    for number, line in enumerate(text_lines(file), 1):
        source = line.rstrip("\r\n")
        if not source.strip():
            continue
        try:
            if pairs and (problem := pair_problem(source)):
                raise SettingError(f"{problem}; correct or remove the line")
            if pairs:
                source, target, *tags = source.split("\t")
                source = "\t".join([source, *tags])
                targets.append(target)
            transducer.row(source)
        except SettingError as error:
            raise SourceError(f"{name}:{number}: {error}") from None
        sources.append(source)
    if not sources:
        needs = "pairs; pass lines of a source, a tab and a target"
        raise SourceError(f"{name}: has no {needs if pairs else 'sources; pass one a line'}")
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
        ends = interval(resampled) if len(targets) > 1 else (None, None)
        scores[name] = PairScore(resampled.score, *ends)
    return scores


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
