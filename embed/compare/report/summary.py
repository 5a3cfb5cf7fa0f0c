"""Say in sentences which runs are better, as far as the paired tests of a comparison show it."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from typing import Any

from embed.compare.inputs.baselines import ONE_HOT, RANDOM
from embed.compare.report.explanations import skill
from embed.compare.report.result_groups import ResultGroup, group_results, rows_of
from embed.compare.report.table import short_names
from embed.compare.scoring.notes import FEW_ITEMS, FEW_UNITS
from embed.compare.statistics.ranking import ALPHA, Rank, rank_runs

NOTHING_SCORED = "No evaluation set was scored, so nothing here shows which run is better"
LEGEND = (
    "by the first metric of each set; better and worse: a significant difference of the same items "
    f"(p at most {ALPHA:g}, Holm-corrected for all pairs of that set); equally good: none found"
)
_BASELINES = (ONE_HOT, RANDOM)
_WHOLE_NAMES = 10_000


@dataclass(frozen=True)
class _Finding:
    """What the tests on one set show; sets with the same finding share a sentence."""

    runs: tuple[str, ...]  # with a score, in the order of the tables, without baselines
    unscored: bool  # whether another run has no score
    few: bool  # whether there are too few items for more than rough tests
    leaders: tuple[str, ...]  # the best and those not significantly different from it
    alike: bool  # whether no two of the leaders differ significantly
    best: str | None  # the run with the highest score, where the sentence names it
    worse: tuple[str, ...]  # significantly worse than the best
    behind_all: bool  # whether these are significantly worse than every leader
    untested: tuple[str, ...]
    # runs that are not significantly better than a baseline, and these baselines
    idle: tuple[str, ...]
    baselines: tuple[str, ...]
    compared: bool  # whether a test against a baseline was possible


def summarize(document: Mapping[str, Any]) -> list[str]:
    """Return sentences on the results of a comparison's document."""
    rows = rows_of(document)
    names = short_names(rows, _WHOLE_NAMES)
    places: dict[_Finding, dict[str, list[str]]] = {}
    for group in _first_metrics(document):
        finding = _find(group, [row for row in rows if row not in _BASELINES])
        if finding.runs:
            places.setdefault(finding, {}).setdefault(group.task, []).append(group.dataset)
    if not places:
        return [f"{NOTHING_SCORED}."]
    return [f"{_sentence(found, _where(sets), names)}." for found, sets in places.items()]


def _first_metrics(document: Mapping[str, Any]) -> Iterator[ResultGroup]:
    """Yield the results of the first ranked metric on every whole set."""
    seen = set()
    for group in group_results(document):
        key = group.task, group.dataset, group.number
        if group.section is None and group.ranked and key not in seen:
            seen.add(key)
            yield group


def _find(group: ResultGroup, rows: Sequence[str]) -> _Finding:
    """Return what the tests on one set show."""
    scores = {row: group.results[row]["score"] for row in rows if row in group.results}
    runs = tuple(row for row in rows if scores.get(row) is not None)
    tests = [(a, b, entry["p"]) for (a, b), entry in group.pairs.items()]
    ranks = rank_runs({run: scores[run] for run in runs}, tests)

    def ranked(*wanted: Rank) -> tuple[str, ...]:
        return tuple(run for run in runs if ranks[run] in wanted)

    leaders, worse = ranked(Rank.BEST, Rank.EQUAL), ranked(Rank.WORSE)
    alike = all(_better(group, a, b) is None for a, b in combinations(leaders, 2))
    behind_all = all(_better(group, a, b) == a for a in leaders for b in worse)
    missed = {
        run: [
            base
            for base in _BASELINES
            if _tested(group, run, base) and _better(group, run, base) != run
        ]
        for run in runs
    }
    return _Finding(
        runs=runs,
        unscored=len(runs) < len(rows),
        few=any(
            note in (group.results[run].get("remark") or "")
            for run in runs
            for note in (FEW_ITEMS, FEW_UNITS)
        ),
        leaders=leaders,
        alike=alike,
        best=None if alike and behind_all else ranked(Rank.BEST)[0],
        worse=worse,
        behind_all=behind_all,
        untested=ranked(Rank.UNTESTED),
        idle=tuple(run for run in runs if missed[run]),
        baselines=tuple(base for base in _BASELINES if base in chain(*missed.values())),
        compared=all(any(_tested(group, run, base) for base in _BASELINES) for run in runs),
    )  # fmt: skip


def _test(group: ResultGroup, a: str, b: str) -> Mapping[str, Any] | None:
    """Return the test of two runs; None if there is none."""
    return group.pairs.get((a, b)) or group.pairs.get((b, a))


def _tested(group: ResultGroup, a: str, b: str) -> bool:
    """Return whether a test of two runs was possible."""
    test = _test(group, a, b)
    return test is not None and test["p"] is not None


def _better(group: ResultGroup, a: str, b: str) -> str | None:
    """Return the run that is significantly better than the other; None if neither is."""
    test = _test(group, a, b)
    if test is None or test["p"] is None or test["p"] > ALPHA:
        return None
    return str(test["a"] if test["difference"] > 0 else test["b"])


def _sentence(found: _Finding, where: str, names: Mapping[str, str]) -> str:
    """Say what was found and where, without a full stop."""
    baselines = f"{_listed(found.baselines)} vectors"
    if found.idle == found.runs:
        subject = "No run" if len(found.runs) > 1 else names[found.runs[0]]
        negated = "is" if subject == "No run" else "is not"
        return f"{subject} {negated} significantly better than {baselines} at {where}"
    clauses = [f"{_main_clause(found, names)} at {where}", *_further_clauses(found, names)]
    if found.idle:
        clauses.append(f"{_are(found.idle, names)} not significantly better there than {baselines}")
    return "; ".join(clauses)


def _main_clause(found: _Finding, names: Mapping[str, str]) -> str:
    """Say which runs are best."""
    leaders = _named(found.leaders, names)
    if len(found.runs) == 1:
        subject = f"Only {leaders} could be scored and" if found.unscored else leaders
        outcome = "is better than the baselines" if found.compared else "could not be tested"
        return f"{subject} {outcome}"
    if len(found.leaders) == 1 and not found.worse:
        return f"It cannot be told which of {_named(found.runs, names)} is better"
    behind = f"better than {_named(found.worse, names)}" if found.worse else ""
    if len(found.leaders) == 1:
        return f"{leaders} is {behind}"
    if not found.alike:
        return f"{names[found.best or '']} scores highest"
    unsure = found.few or set(found.leaders) & set(found.idle)  # one may be no better than chance
    if not (behind and found.behind_all):
        return f"{leaders} {'cannot be told apart' if unsure else 'are equally good'}"
    return (
        f"{leaders} {'cannot be told apart but are' if unsure else 'are equally good and'} {behind}"
    )


def _further_clauses(found: _Finding, names: Mapping[str, str]) -> Iterator[str]:
    """Say what the main clause leaves open."""
    best = names[found.best] if found.best else ""
    if not found.alike:
        close = [run for run in found.leaders if run != found.best]
        yield f"{_are(close, names)} not significantly different from {best}"
    if found.worse and not (found.alike and found.behind_all):
        yield f"{_are(found.worse, names)} worse than {best}"
    if found.untested:
        yield f"no test of {_named(found.untested, names)} was possible"


def _where(sets: Mapping[str, Sequence[str]]) -> str:
    """Name tasks and their sets."""
    return _listed([f"{skill(task)} ({', '.join(named)})" for task, named in sets.items()])


def _are(runs: Sequence[str], names: Mapping[str, str]) -> str:
    """Name runs with the verb."""
    return f"{_named(runs, names)} {'is' if len(runs) == 1 else 'are'}"


def _named(runs: Sequence[str], names: Mapping[str, str]) -> str:
    """Name runs."""
    return _listed([names[run] for run in runs])


def _listed(words: Sequence[str]) -> str:
    """Join words by commas and a last ``and``."""
    return " and ".join(filter(None, (", ".join(words[:-1]), *words[-1:])))
