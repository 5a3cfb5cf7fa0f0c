"""Notes on how runs were scored, deduplicated over runs and sections."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A note on how runs were scored."""

    runs: tuple[str, ...]
    place: str  # the set, and the section if it is about a section only
    text: str


def gather_notes(found: Iterable[tuple[str, str, str | None, bool, str | None]]) -> list[Note]:
    """Merge notes, each given as (run, set, section, shared items, text).

    A note on both the shared items and all items of a run is given once, for the shared items.
    """
    with_text = [each for each in found if each[-1] is not None]
    seen: set[tuple[str, str, str | None]] = set()
    gathered: dict[tuple[str, str], list[str]] = {}
    for run, dataset, section, shared, text in sorted(with_text, key=lambda each: not each[3]):
        if (run, dataset, text) not in seen and text is not None:
            seen.add((run, dataset, text))
            place = dataset if section is None else f"{dataset}: {section}"
            place = place if shared else f"{place}, on all items it covers"
            gathered.setdefault((place, text), []).append(run)
    return [Note(tuple(runs), place, text) for (place, text), runs in gathered.items()]
