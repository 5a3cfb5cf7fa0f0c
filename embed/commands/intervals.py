"""The options of intervals, and the tables and bars in which they are shown."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import click

if TYPE_CHECKING:
    from firth.embed.resampling.intervals import NeighborInterval, NeighborIntervals

_BAR = 32  # columns of a bar


def interval_options(excludes: Sequence[str] = (), *, corpus: bool = True) -> Any:
    """Return what adds ``--resamples``, ``--unit`` and perhaps ``--corpus`` to a command."""
    from firth.corpora.common.command import PATH, option

    group = "Intervals, of runs of train-svd, or trained with --resamples"
    added = [
        option(
            "--resamples",
            metavar="N",
            type=int,
            group=group,
            excludes=excludes,
            help="Add 95 % intervals: documents are divided into N groups, such as 100, of which "
            "each is left out once.",
        ),
        option(
            "--unit",
            type=click.Choice(["document", "paragraph", "sentence"]),
            group=group,
            needs="--resamples",
            help="What is left out; by default documents, if there are 20.",
        ),
        option(
            "--corpus",
            "corpora",
            type=PATH,
            callback=lambda _context, _option, place: [] if place is None else [place],
            group=group,
            needs="--resamples",
            help="The corpus of the run, or a folder of corpora, if it was moved.",
        ),
    ]

    def add(command: Any) -> Any:
        for each in reversed(added if corpus else added[:-1]):
            command = each(command)
        return command

    return add


def interval_text(value: Mapping[str, Any]) -> str:
    """Return an interval, or why there is none, to stand after a cosine; empty if nobody asked."""
    if "reason" not in value:
        return ""
    reason, low, high = (value[name] for name in ("reason", "low", "high"))
    return f" (no interval: {reason})" if reason else f" (95 %: {low:.3f} to {high:.3f})"


def print_intervals(answer: "NeighborIntervals", question: str) -> None:
    """Print a row with a bar for each neighbor, and what is sure of them."""
    from firth.corpora.common.console import print_table
    from firth.embed.resampling.intervals import FEWEST_TOKENS, FEWEST_UNITS

    near = answer.neighbors
    numbers = [x for each in near for x in (each.score, each.low, each.high) if x is not None]
    low, high = min(numbers, default=0.0), max(numbers, default=1.0)  # between which bars are drawn
    rows = [
        (
            each.rank, each.word, f"{each.score:.3f}", *_numbers(each),
            "stable" if each.stable else "", _bar(each, low, high),
        )
        for each in near
    ]  # fmt: skip
    columns = ["", question, "score" if len(answer.words) > 1 else "cosine"]
    ends = f"{low:.2f}".ljust(_BAR - 4) + f"{high:.2f}"
    print_table([*columns, "95 %", f"in top {len(near)}", "", ends], rows)
    without = dict.fromkeys(each.reason for each in near if each.reason is not None)
    if any(each.reason is None for each in near):
        click.echo("an interval is lower than its cosine, since high ones are listed")
        click.echo(
            f"stable: {sum(each.stable for each in near)} of {len(near)} (each among the nearest "
            f"{len(near)} in 90 % of simulated texts of as many {answer.unit}s)"
        )
    if answer.entrants:
        named = ", ".join(f"{each.word} ({each.share:.0%})" for each in answer.entrants)
        click.echo(f"often among them, too: {named}")
    if without:
        click.echo(
            f"no interval ({FEWEST_TOKENS} tokens in {FEWEST_UNITS} {answer.unit}s are needed): "
            + "; ".join(without)
        )


def _numbers(each: "NeighborInterval") -> tuple[str, str]:
    """Return the interval and the share of a neighbor as texts."""
    if each.low is None or each.share is None:
        return "", ""
    return f"{each.low:.3f} {each.high:.3f}", f"{each.share:.0%}"


def _bar(each: "NeighborInterval", low: float, high: float) -> str:
    """Draw an interval as a line with a dot at the cosine."""

    def place(value: float) -> int:
        return round((value - low) / max(high - low, 1e-9) * (_BAR - 1))

    bar = [" "] * _BAR
    if each.low is not None and each.high is not None:
        bar[place(each.low) : place(each.high) + 1] = "─" * (place(each.high) - place(each.low) + 1)
    bar[place(each.score)] = "●"
    return "".join(bar).rstrip()
