"""What is told of how runs were scored: each remark once, of all the runs that it is about."""

from collections.abc import Iterable
from dataclasses import dataclass


@dataclass(frozen=True)
class Remark:
    """A remark on how runs were scored.

    Attributes
    ----------
    runs : tuple of str
        The runs that it is about.
    place : str
        The set, and its section where it is not about all of it.
    text : str
        What was remarked.
    """

    runs: tuple[str, ...]
    place: str
    text: str


def gather_remarks(found: Iterable[tuple[str, str, str | None, bool, str | None]]) -> list[Remark]:
    """Gather what was remarked on scores.

    Parameters
    ----------
    found : iterable of (str, str, str or None, bool, str or None)
        Of each score the run, the set, its section where it is not the whole, whether it is on the
        items that all runs know, and the remark, where there is one; whole sets before sections.

    Returns
    -------
    list of Remark
        Of a set, and a run, no text twice: what holds for a set holds for its sections, and what
        holds for shared items for all that a run knows itself.

    Examples
    --------
    >>> found = [("a", "set", None, True, "odd"), ("a", "set", "x", True, "odd")]
    >>> for remark in gather_remarks([*found, ("b", "set", "x", True, "odd")]):
    ...     print(*remark.runs, "on", remark.place)
    a on set
    b on set: x
    """
    told = [each for each in found if each[-1] is not None]
    seen: set[tuple[str, str, str | None]] = set()
    gathered: dict[tuple[str, str], list[str]] = {}
    for run, dataset, section, shared, text in sorted(told, key=lambda each: not each[3]):
        if (run, dataset, text) not in seen and text is not None:
            seen.add((run, dataset, text))
            place = dataset if section is None else f"{dataset}: {section}"
            place = place if shared else f"{place}, on all that it knows itself"
            gathered.setdefault((place, text), []).append(run)
    return [Remark(tuple(runs), place, text) for (place, text), runs in gathered.items()]
