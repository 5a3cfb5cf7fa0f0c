"""Notes on how runs were scored, deduplicated over runs and sections."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Note:
    """A note on how runs were scored."""

    runs: tuple[str, ...]
    subject: str  # the set, and the section if it is about a section only
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
            subject = dataset if section is None else f"{dataset}: {section}"
            subject = subject if shared else f"{subject}, on all items it covers"
            gathered.setdefault((subject, text), []).append(run)
    return [Note(tuple(runs), subject, text) for (subject, text), runs in gathered.items()]
