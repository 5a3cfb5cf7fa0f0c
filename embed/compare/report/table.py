"""Show a comparison as a table or as JSON."""

import math
from collections.abc import Hashable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from firth.corpora.artifacts.metrics import HeldOutLoss
from firth.corpora.common.console import bare, name_room, print_table
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import ONE_HOT, RANDOM
from firth.embed.compare.kinds import KINDS
from firth.embed.compare.scoring.held_out import HeldOutRow
from firth.embed.compare.scoring.notes import FEW_MARK, few_note, few_of, gather_notes, join_notes
from firth.embed.compare.scoring.results import Comparison, Pair, Score
from firth.embed.compare.statistics.ranking import ALPHA, Rank, rank_runs
from firth.embed.compare.task import Measurement, task_class

COLUMNS = ("dataset", "metric", "run", "score", "95 %", "items", "coverage")
_LONGEST, _BESIDE_SEEDS = 16, 13  # characters of a name
_ITEMS = {
    "skip": "items covered by all runs",
    "zero": "all items, unknown words as zero vectors",
    "mean": "all items, unknown words as the mean vector",
}
_MARKS = {Rank.BEST: "*", Rank.EQUAL: "=", Rank.UNTESTED: "?"}


def to_json(
    comparison: Comparison, config: CompareConfig, about: Mapping[str, Mapping[str, Any]]
) -> dict[str, Any]:
    """Turn a comparison into the JSON that ``firth compare --json`` prints."""
    return {
        "runs": [
            {"run": run, **about.get(run, {"method": run, "fingerprint": None})}
            for run in comparison.runs
        ]
        + [
            {"run": name, "method": about.get(runs[0], {}).get("method"), "fingerprint": None}
            | {"seeds": list(runs)}
            for name, runs in comparison.groups.items()
        ],
        "results": [_result(score, comparison, config.unknown) for score in comparison.scores],
        "pairs": [_pair(pair) for pair in comparison.pairs],
        **({"failures": comparison.failures} if comparison.failures else {}),
    }


def print_report(comparison: Comparison, unknown: str) -> None:
    """Print a table, of at most 100 columns on a terminal, and below it a legend and notes."""
    print_table(COLUMNS, list(table_rows(comparison)))
    for line in legend_lines(comparison, unknown):
        print(line)


def legend_lines(comparison: Comparison, unknown: str) -> Iterator[str]:
    """Yield the lines below the table: marks, seeds, chance levels and notes."""
    ranked = any(score.measured.ranked for score in comparison.scores)
    marks = (
        f"; * best, = no significant difference (p > {ALPHA:g}, Holm), ? untested" if ranked else ""
    )
    yield f"on {_ITEMS[unknown]}{marks}"
    few = dict.fromkeys(filter(None, (few_note(each) for each in comparison.scores if each.shared)))
    if few:
        yield f"{FEW_MARK} {'; '.join(few)}"
    yield from filter(None, (_seeds(name, comparison) for name in comparison.groups))
    yield from filter(None, [_chances(comparison.scores)])
    shown = [score for score in comparison.scores if score.run in set(comparison.rows)]
    yield from _association_lines(shown)
    yield from _notes(shown)


def _result(score: Score, comparison: Comparison, unknown: str) -> dict[str, Any]:
    """Return one entry of the JSON."""
    measured = score.measured
    entry = {
        "run": score.run,
        "task": measured.task,
        "dataset": measured.dataset,
        "metric": measured.metric,
        "score": score.score,
        "low": score.low,
        "high": score.high,
        "items_used": len(measured.items),
        "items_total": measured.items_total,
        "unknown": unknown,
        "shared_items": score.shared,
    }
    further = {
        "section": measured.section,
        "reason": measured.reason,
        "remark": join_notes(measured.note, few_note(score)),
        "few": few_of(score),
        "foreign": score.foreign or None,
        "items_composed": measured.items_composed or None,
        "items_zero": measured.items_zero or None,
        "items_known": None if unknown == "skip" else score.known,
        "ranked": None if measured.ranked else False,
        "p": measured.p,
        "chance": measured.chance,
        "coverage": measured.coverage,
        "seeds": score.n_seeds if score.run in comparison.groups else None,
        "deviation": score.deviation,
    }
    return entry | {name: value for name, value in further.items() if value is not None}


def held_out_json(rows: Sequence[HeldOutRow]) -> list[dict[str, Any]]:
    """Turn held-out losses into JSON; a loss or error that is undefined is null."""
    return [
        {"run": row.run, "units": row.loss.n_units, **_loss_json("", row.loss, row.bits)}
        | ({} if row.deviation is None else {"deviation": _finite(row.deviation)})
        | ({} if row.behind is None else _loss_json("behind_", row.behind, row.bits))
        for row in rows
    ]


def _loss_json(prefix: str, loss: HeldOutLoss, bits: bool) -> dict[str, float | None]:
    """Return a loss or difference with its error."""
    return {
        f"{prefix}{'bits_per_character' if bits else 'loss'}": _finite(loss.mean),
        f"{prefix}standard_error": _finite(loss.standard_error),
    }


def _finite(number: float) -> float | None:
    """Return a number, or None for NaN and infinity, which JSON lacks."""
    return number if math.isfinite(number) else None


def print_held_out(rows: Sequence[HeldOutRow]) -> None:
    """Print the held-out losses of comparable runs, best first."""
    names = short_names([row.run for row in rows], name_room(_LONGEST))
    rows = sorted(rows, key=lambda row: row.loss.mean)
    unit = "bits per character" if rows[0].bits else "loss"
    print_table(
        ("held-out loss", unit, "over seeds", "difference from the best"),
        [
            [
                names[row.run],
                str(row.loss),
                "" if row.deviation is None else f"±{row.deviation:.4f}",
                "" if row.behind is None else str(row.behind),
            ]
            for row in rows
        ],
    )
    seeds = " and with that over seeds" if any(row.deviation is not None for row in rows) else ""
    print(
        f"± standard error over {rows[0].loss.n_units} held-out units; of a difference, paired by "
        f"unit{seeds}"
    )


def _pair(pair: Pair) -> dict[str, Any]:
    """Return one entry of the JSON."""
    names, numbers = ("a", "b", "task", "dataset", "metric"), ("difference", "low", "high", "p")
    return {
        **{name: getattr(pair, name) for name in names},
        **{name: _finite(getattr(pair.difference, name)) for name in numbers},
        **({} if pair.section is None else {"section": pair.section}),
    }


def _group(set_index: int, what: Measurement | Pair) -> Hashable:
    """Return the key shared by comparable scores."""
    return set_index, what.section, what.metric


def table_rows(comparison: Comparison) -> Iterator[list[object]]:
    """Yield the rows of the table; a set is named in its first row only."""
    longest = name_room(_BESIDE_SEEDS if comparison.groups else _LONGEST)
    names = short_names(comparison.rows, longest)
    shown = [score for score in comparison.scores if score.run in names]
    for scores in _grouped(shown).values():
        marks = _marks(scores, comparison.pairs)
        for index, score in enumerate(scores):
            yield [
                _set_name(score.measured, longest) if index == 0 else "",
                score.measured.metric.removeprefix("accuracy_") if index == 0 else "",
                names[score.run],
                _number(score, marks.get(score.run, "")),
                _interval(score),
                len(score.measured.items),
                f"{score.known}/{score.measured.items_total}",
            ]


def _grouped(scores: Sequence[Score]) -> dict[Hashable, list[Score]]:
    """Group comparable scores on shared items."""
    groups: dict[Hashable, list[Score]] = {}
    for score in scores:
        if score.shared:
            groups.setdefault(_group(score.set_index, score.measured), []).append(score)
    return groups


def _marks(scores: Sequence[Score], pairs: Sequence[Pair]) -> dict[str, str]:
    """Return the mark of every run: best, no significant difference, or untested."""
    group = _group(scores[0].set_index, scores[0].measured)
    tests = (
        (pair.a, pair.b, None if math.isnan(pair.difference.p) else pair.difference.p)
        for pair in pairs
        if _group(pair.set_index, pair) == group
    )
    found = rank_runs(
        {score.run: score.score for score in scores}, tests, ranked=scores[0].measured.ranked
    )
    return {run: _MARKS.get(rank, "") for run, rank in found.items()}


def _seeds(name: str, comparison: Comparison) -> str:
    """Return the legend line of a row of several seeds; empty if it has no score."""
    scored = {score.n_seeds for score in comparison.scores if score.run == name}
    total = len(comparison.groups[name])
    averaged = " to ".join(map(str, sorted(scored))) if scored != {total} else str(total)
    of_all = "" if scored == {total} else f" of {total}"
    return f"{name}: mean of {averaged}{of_all} seeds ± their standard deviation" if scored else ""


def _set_name(measured: Measurement, longest: int) -> str:
    """Return the name of the set, or of its section."""
    section = measured.section
    return cut_name(measured.dataset if section is None else f": {section}", longest)


def cut_name(name: str, longest: int) -> str:
    """Truncate a name with an ellipsis."""
    return name if len(name) <= longest else f"{name[: longest - 1]}…"


def _number(score: Score, mark: str) -> str:
    """Format a score with its deviation over seeds and its mark, signs aligned."""
    if score.score is None:
        return "undefined"
    spread = "" if score.deviation is None else f" ±{bare(score.deviation)}"
    few = FEW_MARK if few_note(score) else ""
    return f"{score.score:6.3f}{spread} {mark}{few}".rstrip()


def _interval(score: Score) -> str:
    """Format an interval in three decimals without leading zeros."""
    if score.low is None or score.high is None:
        return ""
    return f"{bare(score.low)} {bare(score.high)}"


def short_names(runs: Sequence[str], longest: int = _LONGEST) -> dict[str, str]:
    """Return distinct short names of runs for tables and pictures."""
    last = {run: Path(run).name or run for run in runs}
    names = last if len(set(last.values())) == len(runs) else {run: run for run in runs}
    cut = {
        run: name if len(name) <= longest else f"…{name[1 - longest :]}"
        for run, name in names.items()
    }
    if len(set(cut.values())) == len(runs):
        return cut
    return {
        run: f"{number}: {cut_name(names[run], longest - 4)}" for number, run in enumerate(runs, 1)
    }


def _chances(scores: Sequence[Score]) -> str:
    """Return the legend line of the chance levels of all sets; empty if there is none."""
    by_set: dict[tuple[int, str], dict[str, str]] = {}  # sets of two tasks may share a name
    for score in scores:
        measured = score.measured
        if score.shared and measured.chance is not None:
            levels = by_set.setdefault((score.set_index, measured.dataset), {})
            levels[measured.metric] = bare(measured.chance)
    parts = [f"{name} {_levels(levels)}" for (_, name), levels in by_set.items()]
    by = "guessing, or always the most frequent answer"
    return f"chance: {'; '.join(parts)} ({by})" if parts else ""


def _levels(levels: Mapping[str, str]) -> str:
    """Return the one chance level of all metrics of a set, or that of each metric."""
    if len(set(levels.values())) == 1:
        return next(iter(levels.values()))
    return ", ".join(f"{metric} {level}" for metric, level in levels.items())


def _association_lines(scores: Sequence[Score]) -> Iterator[str]:
    """Yield list coverage and p-values of association tests on shared items."""
    names = short_names(list(dict.fromkeys(score.run for score in scores)), name_room(_LONGEST))
    for scored in _grouped(scores).values():
        measured = scored[0].measured
        where = measured.section or measured.dataset
        if measured.coverage is not None:
            lists = (f"{name} {used}/{n}" for name, (used, n) in measured.coverage.items())
            yield f"words: {where}: {', '.join(lists)}"
        found = [f"{names[s.run]} {s.measured.p:.4f}" for s in scored if s.measured.p is not None]
        if found:
            yield f"p: {where}: {', '.join(found)} (one-sided, permutations of the target words)"


def _notes(scores: Sequence[Score]) -> Iterator[str]:
    """Yield reasons for undefined scores, counts of composed and zero vectors, and notes."""
    names = short_names(list(dict.fromkeys(score.run for score in scores)), name_room(_LONGEST))
    undefined: dict[tuple[str, str], dict[str, None]] = {}
    lines: dict[str, None] = {}
    for score in scores:
        measured = score.measured
        if measured.reason is not None and score.shared:
            key = names[score.run], measured.reason
            undefined.setdefault(key, {})[measured.dataset] = None
        if measured.section is not None or score.run in (ONE_HOT, RANDOM) or score.shared:
            continue
        start, n_items = f"{names[score.run]} on {measured.dataset}", len(measured.items)
        # probes read an unknown word as a zero vector; elsewhere its item is left out
        unknown = measured.task in KINDS and task_class(measured.task).zero_if_unknown
        zero = "without a vector" if unknown else "with a zero vector"
        for kind, number, what in (
            ("composed", measured.items_composed, "composed of n-grams, pieces or parts"),
            ("unknown" if unknown else "zero", measured.items_zero, zero),
        ):
            if number:
                lines[f"{kind}: {start}: {number} of {n_items} items have a word {what}"] = None
    for (run, reason), places in undefined.items():
        yield f"undefined: {run} on {', '.join(places)}: {reason}"
    yield from lines
    for note in gather_notes(
        (s.run, s.measured.dataset, s.measured.section, s.shared, s.measured.note) for s in scores
    ):
        yield f"{', '.join(names[run] for run in note.runs)} on {note.subject}: {note.text}"
