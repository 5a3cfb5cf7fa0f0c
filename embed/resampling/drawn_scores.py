"""How scores of words would vary over other texts: cosines with a word, or of an analogy."""

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from firth.corpora.common.reporting import progress
from firth.corpora.common.threads import even_ranges, map_in_order, thread_count
from firth.embed.resampling.drawn_rows import DrawnRows, UnitText
from firth.embed.resampling.draws import deviations, groups_of_units
from firth.embed.resampling.prepared import Prepared
from firth.embed.vectors.search import unit_matrix

# of float32 (J, m, D), the words of a query in each text at unit length, and float32 (J, C, D),
# the candidates: float32 (J, C)
Score = Callable[[np.ndarray, np.ndarray], np.ndarray]
_BYTES = 1 << 30  # of vectors at once, and of scores at once
_TOKENS = 1 << 15  # of words that a thread counts between two reports of progress
_SIMULATED = 400  # other texts, in which words are ranked
# Holding the contexts fixed leaves something out: docs/intervals.md has how much.
WIDENED = 1.25


@dataclass(frozen=True, eq=False)
class Scored:
    """Queries of one or more words, and the candidates of each with their scores."""

    words: np.ndarray  # int64 (q, m), rows
    candidates: np.ndarray  # int64 (q, C), rows
    scores: np.ndarray  # float64 (q, C), as the run has them


def cosines(words: np.ndarray, candidates: np.ndarray) -> np.ndarray:
    """Score candidates by the cosine with the first word of a query."""
    return np.asarray(candidates @ words[:, 0, :, None])[..., 0]


def draw_scores(
    prepared: Prepared,
    scored: Scored,
    k: int,
    resamples: int,
    seed: int,
    score: Score = cosines,
    n_bytes: int = _BYTES,
) -> tuple[np.ndarray, np.ndarray]:
    """Return the standard deviation of each score, and how often it is among the k largest.

    That is counted over simulated texts, whose scores vary together as those without each group.
    """
    # returns float64 (q, C) and (q, C)
    text, n_groups = _by_group(prepared, resamples, seed)
    k, n_queries = min(k, scored.scores.shape[1]), len(scored.scores)
    normal = np.random.default_rng(seed).standard_normal((_SIMULATED, n_groups), np.float32)
    errors, shares = np.empty((2, *scored.scores.shape))
    step = max(1, n_bytes // (4 * n_groups * scored.scores.shape[1]))
    for first in range(0, n_queries, step):
        part = slice(first, first + step)
        own = Scored(scored.words[part], scored.candidates[part], scored.scores[part])
        without = _scores_without(prepared, text, own, n_groups, score, n_bytes)
        for n in range(len(own.scores)):
            away = WIDENED * deviations(without[:, n])  # (G, C)
            errors[first + n] = np.sqrt((away.astype(np.float64) ** 2).sum(axis=0))
            simulated = own.scores[n] + normal @ away
            least = np.partition(simulated, -k, axis=1)[:, -k, None]
            shares[first + n] = (simulated >= least).mean(axis=0)
    return errors, shares


def draw_cosines(prepared: Prepared, pairs: np.ndarray, resamples: int, seed: int) -> np.ndarray:
    """Return the deviations of the cosine of each pair of words, float64 (n, G)."""
    # pairs: int64 (n, 2), rows
    text, n_groups = _by_group(prepared, resamples, seed)
    scored = Scored(pairs[:, :1], pairs[:, 1:], np.zeros((len(pairs), 1)))
    without = _scores_without(prepared, text, scored, n_groups, cosines, _BYTES)
    return WIDENED * deviations(without[..., 0].astype(np.float64)).T


def _by_group(prepared: Prepared, resamples: int, seed: int) -> tuple[UnitText, int]:
    """Return the text with the group of each position, and the number of groups."""
    n_units = prepared.text.n_units
    n_groups = min(resamples, n_units)
    groups = groups_of_units(n_units, n_groups, seed)[prepared.text.units]
    return replace(prepared.text, units=groups, n_units=n_groups), n_groups


def _scores_without(
    prepared: Prepared, text: UnitText, scored: Scored, n_groups: int, score: Score, n_bytes: int
) -> np.ndarray:
    """Return the scores of the text without each group, float32 (G, q, C).

    Vectors of some groups are in memory at once.
    """
    from threadpoolctl import threadpool_limits

    rows = np.unique([*scored.words.ravel(), *scored.candidates.ravel()])
    words, candidates = (np.searchsorted(rows, each) for each in (scored.words, scored.candidates))
    threads, dim = thread_count(None), prepared.space.basis.shape[1]
    drawn = DrawnRows(text, prepared.space, prepared.config, threads)
    copies = 1 - np.eye(n_groups, dtype=drawn.kind)
    work = even_ranges(text.counts[rows] + 50, _TOKENS)
    spans = even_ranges(np.ones(len(words)), max(1, len(words) / threads))
    found = np.empty((n_groups, *scored.scores.shape), np.float32)
    step = max(1, n_bytes // (4 * dim * len(rows)))
    with threadpool_limits(1, user_api="blas"), progress("resampling", "words") as show:
        show(0, n_groups * len(rows))
        for first in range(0, n_groups, step):
            part = np.ascontiguousarray(copies[:, first : first + step])
            units = np.empty((len(rows), part.shape[1], dim), np.float32)

            def draw(span: tuple[int, int], part: Any = part, units: Any = units) -> int:
                for place in range(*span):
                    units[place] = unit_matrix(drawn.vectors(int(rows[place]), part))
                return span[1]

            def measure(
                span: tuple[int, int], units: Any = units, found: Any = found[first : first + step]
            ) -> None:
                for n in range(*span):
                    each = (units[places[n]].swapaxes(0, 1) for places in (words, candidates))
                    found[:, n] = score(*each)

            for done in map_in_order(draw, work, threads):
                show(first * len(rows) + done * part.shape[1], n_groups * len(rows))
            list(map_in_order(measure, spans, threads))
    return found
