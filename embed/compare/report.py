"""Show a comparison: a table for eyes, JSON for programs."""

from collections.abc import Hashable, Iterator, Sequence
from pathlib import Path
from typing import Any

from corpora.console import print_table
from embed.compare.baselines import ONE_HOT, RANDOM
from embed.compare.comparison import Score
from embed.compare.tasks import TaskResult

_COLUMNS = ("dataset", "metric", "run", "score", "used", "total")
_LONGEST = 32


def to_json(scores: Sequence[Score]) -> dict[str, Any]:
    """Turn scores into the JSON that ``firth compare --json`` prints.

    Parameters
    ----------
    scores : sequence of Score
        Of :func:`~embed.compare.comparison.compare`.

    Returns
    -------
    dict
        ``{"results": [{"run", "task", "dataset", "metric", "score",
        "items_used", "items_total"}, ...]}``; ``section`` where it is not the
        whole set, ``reason`` where the score is undefined (null), and
        ``items_composed`` where items have words outside the vocabulary.
    """
    return {"results": [_result(score) for score in scores]}


def print_report(scores: Sequence[Score]) -> None:
    """Print a table of at most 100 columns and, below it, what needs saying.

    Parameters
    ----------
    scores : sequence of Score
        Of :func:`~embed.compare.comparison.compare`.
    """
    print_table(_COLUMNS, list(_rows(scores)))
    print("* best of its set")
    for line in _remarks(scores):
        print(line)


def _result(score: Score) -> dict[str, Any]:
    """One entry of the JSON."""
    result = score.result
    entry = {
        "run": score.run,
        "task": result.task,
        "dataset": result.dataset,
        "metric": result.metric,
        "score": result.score,
        "items_used": result.items_used,
        "items_total": result.items_total,
    }
    further = {
        "section": result.section,
        "reason": result.reason,
        "items_composed": result.items_composed or None,
    }
    return entry | {name: value for name, value in further.items() if value is not None}


def _group(score: Score) -> Hashable:
    """What two scores must share to be compared."""
    return score.place, score.result.section, score.result.metric


def _grouped(scores: Sequence[Score]) -> dict[Hashable, list[Score]]:
    """Scores that can be compared, together; groups in the order of their first score."""
    groups: dict[Hashable, list[Score]] = {}
    for score in scores:
        groups.setdefault(_group(score), []).append(score)
    return groups


def _rows(scores: Sequence[Score]) -> Iterator[list[object]]:
    """Rows of the table; a set is named in its first row only."""
    names = _short_names(list(dict.fromkeys(score.run for score in scores)))
    for group in _grouped(scores).values():
        best = max((s.result.score for s in group if s.result.score is not None), default=None)
        for index, score in enumerate(group):
            result = score.result
            yield [
                _set_name(result) if index == 0 else "",
                result.metric if index == 0 else "",
                names[score.run],
                _number(result.score, result.score == best),
                result.items_used,
                result.items_total,
            ]


def _set_name(result: TaskResult) -> str:
    """The set, or below it the name of its section."""
    return result.dataset if result.section is None else f": {result.section}"


def _number(score: float | None, best: bool) -> str:
    """A score in three decimals, signs aligned, the best one marked."""
    return "undefined" if score is None else f"{score:6.3f}{' *' if best else ''}"


def _short_names(runs: Sequence[str]) -> dict[str, str]:
    """Last parts of the runs' paths where these differ, none longer than the table can hold."""
    last = {run: Path(run).name or run for run in runs}
    names = last if len(set(last.values())) == len(runs) else {run: run for run in runs}
    return {
        run: name if len(name) <= _LONGEST else f"…{name[1 - _LONGEST :]}"
        for run, name in names.items()
    }


def _remarks(scores: Sequence[Score]) -> Iterator[str]:
    """Why scores are undefined, what was composed, where runs were scored on different items."""
    names = _short_names(list(dict.fromkeys(score.run for score in scores)))
    undefined: dict[tuple[str, str], list[str]] = {}
    uneven: dict[str, None] = {}
    composed: dict[str, None] = {}
    for rivals in _grouped(scores).values():
        dataset = rivals[0].result.dataset
        for reason in dict.fromkeys(score.result.reason for score in rivals):
            if reason is not None:
                runs = ", ".join(names[s.run] for s in rivals if s.result.reason == reason)
                undefined.setdefault((runs, reason), []).append(dataset)
        if len({s.result.items_used for s in rivals if s.run not in (ONE_HOT, RANDOM)}) > 1:
            uneven[dataset] = None
        for score in rivals:
            told = score.result.section is not None or score.run in (ONE_HOT, RANDOM)
            if score.result.items_composed and not told:
                composed[
                    f"composed: {names[score.run]} on {dataset}: {score.result.items_composed} of "
                    f"{score.result.items_used} items have a word made of its n-grams"
                ] = None
    for (runs, reason), places in undefined.items():
        yield f"undefined: {runs} on {', '.join(dict.fromkeys(places))}: {reason}"
    yield from composed
    if uneven:
        yield f"different items: the runs do not know the same items of {', '.join(uneven)}"
