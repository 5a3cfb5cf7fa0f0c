"""Rank runs and mark statistical ties, for tables, pictures and pages alike."""

from collections.abc import Iterable, Mapping
from enum import StrEnum

ALPHA = 0.05  # significance level of Holm-corrected p-values


class Rank(StrEnum):
    """How a run compares with the best run."""

    BEST = "best"
    EQUAL = "equal"  # no significant difference from the best
    WORSE = "worse"
    UNTESTED = "untested"  # no test against the best was possible


def rank_runs(
    scores: Mapping[str, float | None],
    pairs: Iterable[tuple[str, str, float | None]],
    *,
    ranked: bool = True,
) -> dict[str, Rank]:
    """Rank every run with a score against the best; none unless higher is better."""
    scored = {run: score for run, score in scores.items() if score is not None} if ranked else {}
    top = max(scored.values(), default=None)
    best = {run for run, score in scored.items() if score == top}
    p_values: dict[str, list[float]] = {run: [] for run in scored}
    for a, b, p in pairs:
        for run, other in ((a, b), (b, a)):
            if run in scored and other in best and p is not None:
                p_values[run].append(p)
    ranks = {}
    for run, tests in p_values.items():
        ranks[run] = Rank.BEST if run in best else Rank.UNTESTED
        if tests and run not in best:
            ranks[run] = Rank.EQUAL if min(tests) > ALPHA else Rank.WORSE
    return ranks
