"""What is told of how runs were scored: each remark once, of all the runs that it is about."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A remark on how runs were scored."""

    runs: tuple[str, ...]  # the runs that it is about
    place: str  # the set, and its section where it is not about all of it
    text: str  # what was remarked


def gather_notes(found: Iterable[tuple[str, str, str | None, bool, str | None]]) -> list[Note]:
    """Gather what was remarked on scores."""
    told = [each for each in found if each[-1] is not None]
    seen: set[tuple[str, str, str | None]] = set()
    gathered: dict[tuple[str, str], list[str]] = {}
    for run, dataset, section, shared, text in sorted(told, key=lambda each: not each[3]):
        if (run, dataset, text) not in seen and text is not None:
            seen.add((run, dataset, text))
            place = dataset if section is None else f"{dataset}: {section}"
            place = place if shared else f"{place}, on all that it knows itself"
            gathered.setdefault((place, text), []).append(run)
    return [Note(tuple(runs), place, text) for (place, text), runs in gathered.items()]
