"""Who is best, and who cannot be told from the best: one decision for tables, pictures, pages."""

from collections.abc import Iterable, Mapping
from enum import Enum

SURE = 0.05  # a corrected p above it: the difference may be chance


class Rank(Enum):
    """How a run stands to the best of those that it was compared with."""

    BEST = "best"
    EQUAL = "equal"  # a test cannot tell it from the best
    WORSE = "worse"
    UNTESTED = "untested"  # no test could hold it against the best


def rank_runs(
    scores: Mapping[str, float | None],
    pairs: Iterable[tuple[str, str, float | None]],
    *,
    ranked: bool = True,
) -> dict[str, Rank]:
    """Tell how every run stands to the best one."""
    # scores: mapping of str to (float or None)
    scored = {run: score for run, score in scores.items() if score is not None} if ranked else {}
    top = max(scored.values(), default=None)
    best = {run for run, score in scored.items() if score == top}
    chances: dict[str, list[float]] = {run: [] for run in scored}
    for a, b, p in pairs:
        for run, other in ((a, b), (b, a)):
            if run in scored and other in best and p is not None:
                chances[run].append(p)
    return {run: Rank.BEST if run in best else _against(chances[run]) for run in scored}


def _against(chances: list[float]) -> Rank:
    """How a run stands to the best, by the p of each test against one of these."""
    if not chances:
        return Rank.UNTESTED
    return Rank.EQUAL if min(chances) > SURE else Rank.WORSE
