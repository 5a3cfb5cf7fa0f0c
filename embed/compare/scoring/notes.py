"""Notes on how runs were scored, on few items, and on defaults chosen on the set that is shown."""

import dataclasses
import hashlib
from collections.abc import Collection, Iterable, Iterator, Mapping
from dataclasses import dataclass

from firth.corpora.common.reporting import note
from firth.embed.compare.datasets.word_pairs import NOT_ENGLISH, looks_foreign
from firth.embed.compare.scoring.results import Score
from firth.embed.compare.task import Task
from firth.embed.registry import METHODS, Chosen
from firth.embed.runs.run import Run

# Published sets by :func:`words_digest`: copies differ in file name and form.
PUBLISHED = {
    "ad81d9645fd4": "WS-353",
    "226f3fd282f9": "WS-353",  # its part about similarity
    "b27889a760d4": "WS-353",  # its part about relatedness
    "72879c74d4d6": "SimLex-999",
    "a3f7fd2e0f46": "MTurk-287",
    "f331014b8bdb": "RG-65",
    "631d5ee6efa9": "Google analogies",
    "26bb3b705b28": "MSR analogies",
    "ebd927ce26d2": "AP",
}
_FEW = 30  # below, percentile intervals and normal tests are rough
FEW_MARK = "~"
FEW_NOTES = {
    "items": f"fewer than {_FEW} items, so intervals and tests are rough",
    "units": f"items of fewer than {_FEW} pairs, topics or words, so intervals and tests are rough",
}
_MOST_SECTIONS = 5  # named in a note
_FOREIGN = "the set is English, the run does not look so, so scores say nothing"
_CHOSEN_HERE = "default settings were chosen on this set, so scores may be too high"


@dataclass(frozen=True)
class Note:
    """A note on how runs were scored."""

    runs: tuple[str, ...]
    subject: str  # the set, and the section if it is about a section only
    text: str


def gather_notes(found: Iterable[tuple[str, str, str | None, bool, str | None]]) -> list[Note]:
    """Merge notes of (run, set, section, shared items, text); on shared items they count once."""
    places: dict[tuple[str, str, str], tuple[bool, list[str | None]]] = {}
    for run, dataset, section, shared, text in sorted(found, key=lambda each: not each[3]):
        if text is not None:
            first_shared, sections = places.setdefault((run, dataset, text), (shared, []))
            if shared == first_shared:
                sections.append(section)
    gathered: dict[tuple[str, str], list[str]] = {}
    for (run, dataset, text), (shared, sections) in places.items():
        subject = f"{dataset}{_name_sections(sections)}"
        subject = subject if shared else f"{subject}, on all items it covers"
        gathered.setdefault((subject, text), []).append(run)
    return [Note(tuple(runs), subject, text) for (subject, text), runs in gathered.items()]


def _name_sections(sections: Iterable[str | None]) -> str:
    """Name the sections that a note is about; nothing if it is about the whole set."""
    names = list(dict.fromkeys(sections))
    if None in names:
        return ""
    further = len(names) - _MOST_SECTIONS
    shown = ", ".join(filter(None, names[:_MOST_SECTIONS]))
    return f": {shown}" + (f" and {further} more" if further > 0 else "")


def few_of(score: Score) -> str | None:
    """Return whether a defined score rests on few ``items`` or ``units``, or None."""
    if score.score is None:
        return None
    if len(score.measured.items) < _FEW:
        return "items"
    return "units" if score.measured.n_independent < _FEW else None


def join_notes(note: str | None, further: str | None) -> str | None:
    """Append a further note to the one on a score; either may be missing."""
    return "; ".join(filter(None, (note, further))) or None


def chosen_defaults(run: Run) -> Chosen | None:
    """Return how the settings of a run were chosen; None if not on sets, or if one was changed."""
    if run.method not in METHODS:
        return None
    config_class = METHODS[run.method].config_class()
    chosen: Chosen | None = getattr(config_class, "chosen", None)
    defaults = {field.name: field.default for field in dataclasses.fields(config_class)}
    if chosen is None or any(
        run.options.get(name, defaults[name]) != defaults[name] for name in chosen.settings
    ):
        return None
    return chosen


def note_published(
    scores: Iterable[Score], task: Task, chosen: Mapping[str, Chosen], foreign: Collection[str]
) -> Iterator[Score]:
    """Add notes to scores of foreign runs, or of settings chosen here, on published sets."""
    name = PUBLISHED.get(words_digest(task)) if chosen or foreign else None
    for score in scores:
        if name is None or score.measured.section is not None:
            yield score
            continue
        found, note = chosen.get(score.run), score.measured.note
        if score.run in foreign:
            note = join_notes(note, _FOREIGN)
        elif found is not None and name in found.sets:
            note = join_notes(note, _CHOSEN_HERE)
        measured = dataclasses.replace(score.measured, note=note)
        yield dataclasses.replace(score, measured=measured, foreign=score.run in foreign)


def warn_of_language(vocabularies: Mapping[str, Iterable[str]], tasks: Iterable[Task]) -> set[str]:
    """Return the names of vocabularies that are not English; report them if published sets are."""
    foreign = {name for name, words in vocabularies.items() if looks_foreign(words)}
    if foreign and any(words_digest(task) in PUBLISHED for task in tasks):
        note(f"{', '.join(sorted(foreign))}: {NOT_ENGLISH}")
    return foreign


def words_digest(task: Task) -> str:
    """Identify a set by its distinct words, in any order and case."""
    words = sorted({text.lower() for text in task.texts()})
    return hashlib.sha256("\n".join(words).encode("utf-8", "surrogatepass")).hexdigest()[:12]
