"""Say in sentences which runs are better, as far as the paired tests of a comparison show it."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import combinations
from typing import Any

from firth.embed.compare.inputs.baselines import BASELINES, OF_TASKS
from firth.embed.compare.report.document import ResultGroup, group_results, rows_of
from firth.embed.compare.report.explanations import skill
from firth.embed.compare.report.names import short_names
from firth.embed.compare.statistics.ranking import ALPHA, Rank

LEGEND = (
    "by the first metric of each set; better and worse mean a significant difference on the same "
    f"items (p at most {ALPHA:g}, Holm-corrected for all pairs of the runs that were named; pairs "
    "with a baseline or a start apart); no significant difference does not mean equal"
)
_RANKS = {Rank.EQUAL: "no significant difference", Rank.WORSE: "worse", Rank.UNTESTED: "not tested"}
_BETTER, _WORSE, _NOT = "better than", "worse than", "not significantly better than"
_UNTESTED = "not tested against"
_WORDS = (_BETTER, _WORSE, _NOT, _UNTESTED)  # in this order
_WHOLE_NAMES = 10_000


def summarize(document: Mapping[str, Any], noun: str = "word") -> list[str]:
    """Return sentences on the results of a comparison's document; sets may share one."""
    rows = rows_of(document)
    names = short_names(rows, _WHOLE_NAMES)
    runs = {row: names[row] for row in rows if row not in BASELINES}
    sets: dict[tuple[str, str, int], list[ResultGroup]] = {}
    for group in group_results(document):
        sets.setdefault((group.task, group.dataset, group.number), []).append(group)
    # the parts of a sentence before and after the names of sets -> skill -> sets
    places: dict[tuple[str, str], dict[str, list[str]]] = {}
    for (task, dataset, _), groups in sets.items():
        for claim in _claims(groups, runs):
            places.setdefault(claim, {}).setdefault(skill(task, noun), []).append(dataset)
    where = (
        _listed(f"{what} ({', '.join(found)})" for what, found in named.items())
        for named in places.values()
    )
    said = [f"{start} at {at}{end}." for (start, end), at in zip(places, where, strict=True)]
    return said or ["No evaluation set was scored, so nothing here shows which run is better."]


def _claims(groups: Sequence[ResultGroup], names: Mapping[str, str]) -> Iterator[tuple[str, str]]:
    """Yield what the metrics of one set show."""
    foreign = [run for run in names if any(g.results.get(run, {}).get("foreign") for g in groups)]
    if foreign:
        why = "because the set is English and the vocabulary does not look so"
        yield f"Left out: {_listed(names[run] for run in foreign)}", f", {why}"
    runs = [run for run in names if run not in foreign]
    scored = [group for group in groups if _scores(group, runs)]
    ranked = [group for group in scored if group.ranked and group.section is None]
    if ranked:
        yield _outcome(ranked[0], runs, names)
    elif any(not group.ranked for group in scored):
        yield "Runs are not ranked", ", where a higher score is not better"
    elif runs:
        yield f"No {'other ' if foreign else ''}run has a score", ""


def _scores(group: ResultGroup, runs: Iterable[str]) -> dict[str, float]:
    """Return the scores of the runs that have one."""
    found = {run: group.results[run]["score"] for run in runs if run in group.results}
    return {run: score for run, score in found.items() if score is not None}


def _outcome(group: ResultGroup, runs: Sequence[str], names: Mapping[str, str]) -> tuple[str, str]:
    """Return which runs score highest, and how the others compare with these and baselines."""
    scores = _scores(group, runs)
    p = {frozenset(pair): entry["p"] for pair, entry in group.pairs.items()}
    ranks = group.rank(scores)
    best = [names[run] for run in scores if ranks[run] is Rank.BEST]
    lists: dict[str, list[str]] = {}
    if len(scores) == 1:
        start = f"{best[0]} is the only run with a score"
    elif all((p.get(frozenset(two)) or 0) > ALPHA for two in combinations(scores, 2)):
        start = f"No significant difference between {_listed(names[run] for run in scores)}"
    else:
        start = f"{_listed(best)} {'scores' if len(best) == 1 else 'score'} highest"
        lists = {word: [run for run in scores if ranks[run] is r] for r, word in _RANKS.items()}
    lists |= {"no score": [run for run in runs if run not in scores]}
    lists |= _beside_baselines(group, scores, p)
    return start, "".join(
        f"; {word}: "
        + ("all runs" if len(listed) == len(names) > 2 else _listed(names[run] for run in listed))
        for word, listed in lists.items()
        if listed
    )


def _beside_baselines(
    group: ResultGroup, scores: Mapping[str, float], p: Mapping[frozenset[str], float | None]
) -> dict[str, list[str]]:
    """Return the runs that are better or worse than a baseline, others, and untested ones."""
    bases: dict[tuple[str, tuple[str, ...]], list[str]] = {}
    for base, low in _scores(group, BASELINES).items():
        found: dict[str, list[str]] = {word: [] for word in _WORDS}
        for run, score in scores.items():
            tested = p.get(frozenset((run, base)))
            if tested is None:
                word = _UNTESTED
            elif tested > ALPHA:
                word = _NOT
            else:
                word = _BETTER if score > low else _WORSE
            found[word].append(run)
        if len(found[_UNTESTED]) < len(scores):
            for word, listed in found.items():
                bases.setdefault((word, tuple(listed)), []).append(base)
    return {
        f"{word} {_listed(named)}{' vectors' if {*named}.isdisjoint(OF_TASKS) else ''}": list(
            listed
        )
        for (word, listed), named in sorted(
            bases.items(), key=lambda item: _WORDS.index(item[0][0])
        )
    }


def _listed(words: Iterable[str]) -> str:
    """Join words by commas and a last ``and``."""
    *first, last = words
    return f"{', '.join(first)} and {last}" if first else last
