"""Score runs and baselines on every evaluation set, and test all pairwise differences."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from firth.corpora.common.errors import FirthError
from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import bare_name, split_names
from firth.embed.compare.datasets.word_pairs import default_sets, find_set
from firth.embed.compare.inputs.baselines import make_baselines
from firth.embed.compare.scoring.cache import MeasurementCache, evict_oldest, name_contents
from firth.embed.compare.scoring.evaluate import ComparedVectors, SetEvaluation
from firth.embed.compare.scoring.frequency_bands import EDGES, frequency_bands
from firth.embed.compare.scoring.notes import note_published, warn_of_language
from firth.embed.compare.scoring.results import Comparison, Pair, Score
from firth.embed.compare.task import Task, read_task
from firth.embed.protocols import StaticVectors
from firth.embed.registry import Chosen

# task name -> CompareConfig field that lists its sets
SET_OPTIONS = {
    "similarity": "similarity",
    "analogy": "analogies",
    "categorization": "categories",
    "odd-one-out": "odd_one_out",
    "contexts": "contexts",
    "tagging": "tagging",
    "sentences": "sentences",
    "minimal-pairs": "minimal_pairs",
    "change": "change",
    "association": "associations",
}


def read_tasks(config: CompareConfig) -> list[Task]:
    """Read all evaluation sets of a comparison."""
    named = named_sets(config)
    tasks = [read_task(name, path, config) for name, path in named]
    return _told_apart(tasks, named)


def readable_tasks(config: CompareConfig) -> tuple[list[Task], list[str]]:
    """Read the evaluation sets of a comparison; return those that can be read, and the errors.

    Raise the first error if no set can be read.
    """
    tasks: list[Task] = []
    named: list[tuple[str, Path]] = []
    failures: list[FirthError] = []
    for name, path in named_sets(config):
        try:
            tasks.append(read_task(name, path, config))
            named.append((name, path))
        except FirthError as error:  # score the other sets
            failures.append(error)
    if failures and not tasks:
        raise failures[0]
    return _told_apart(tasks, named), [str(failure) for failure in failures]


def _nth(progress: Progress, before: int, of: int) -> Progress:
    """Return the progress of one set among several."""

    def show(done: float, total: float | None = None, detail: str = "") -> None:
        progress(before + done, of, detail)

    return show


def _told_apart(tasks: Sequence[Task], named: Sequence[tuple[str, Path]]) -> list[Task]:
    """Rename sets of one task that share a name: by their folders, else by numbers.

    >>> from firth.embed.compare.tasks.similarity import SimilarityTask
    >>> two = [SimilarityTask("rare", ()), SimilarityTask("rare", ())]
    >>> files = [("similarity", Path(folder) / "rare.txt") for folder in "ab"]
    >>> [task.dataset for task in _told_apart(two, files)]
    ['a/rare', 'b/rare']
    """
    alike: dict[tuple[str, str], list[int]] = {}
    for place, (task, (name, _)) in enumerate(zip(tasks, named, strict=True)):
        alike.setdefault((name, task.dataset), []).append(place)
    names = [task.dataset for task in tasks]
    for (_, name), places in alike.items():
        files = [Path(split_names(str(named[place][1]))[-1]).resolve() for place in places]
        folders = [file.parent.name for file in files]
        by_folder = len(set(folders)) == len(folders) and "/" not in name
        for number, (place, folder) in enumerate(zip(places, folders, strict=True), start=1):
            if len(places) > 1:
                names[place] = f"{folder}/{name}" if by_folder else f"{name} ({number})"
    return [_renamed(task, name) for task, name in zip(tasks, names, strict=True)]


def _renamed(task: Task, name: str) -> Task:
    """Return a task, a dataclass, under another name."""
    return task if name == task.dataset else cast(Task, replace(cast(Any, task), dataset=name))


def named_sets(config: CompareConfig) -> list[tuple[str, Path]]:
    """Return task and path of every set of a comparison.

    Without any, return the default sets, or none if intrinsic measures are asked for: these need
    no set, and the default ones are English.
    """
    named = [
        (task, find_set(task, file))
        for task, option in SET_OPTIONS.items()
        for file in getattr(config, option)
    ]
    return named if named or config.intrinsic else default_sets()


def compare_vectors(
    runs: Mapping[str, StaticVectors],
    tasks: Sequence[Task],
    config: CompareConfig,
    progress: Progress = no_progress,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    fingerprints: Mapping[str, str] | None = None,
    chosen: Mapping[str, Chosen] | None = None,
    edges: Mapping[str, int] = EDGES,
    threads: int | None = None,
) -> Comparison:
    """Score runs, then one-hot and random vectors, and test the difference of every pair.

    ``groups`` names runs that differ only in the seed. Measurements are cached for runs with
    ``fingerprints``. ``chosen`` says how the settings of runs were chosen, for a note on their
    scores. ``edges`` are the frequency bands of ``CompareConfig.bands``.
    """
    texts = [text for task in tasks for text in task.texts()]
    limit = config.candidates or max(len(vectors.vocabulary) for vectors in runs.values())
    baselines = {
        name: made
        for name, made in make_baselines(list(runs.values()), texts, limit, config.seed).items()
        if name in config.baseline_names
    }
    compared = ComparedVectors({**runs, **baselines}, list(runs), groups or {})
    about_baselines = [*texts, str(limit), str(config.seed)]
    fingerprints = fingerprints or {}
    # a baseline depends on all runs, so it has a name only if they all have one
    named = list(baselines) if runs.keys() == fingerprints.keys() else []
    contents = name_contents(fingerprints, named, about_baselines)
    chosen = dict(chosen or {})
    chosen |= {name: chosen[runs[0]] for name, runs in (groups or {}).items() if runs[0] in chosen}
    foreign = warn_of_language(
        {  # without counts, words may be in any order
            name: run.vocabulary
            for name, run in runs.items()
            if getattr(run, "counts", None) is not None
        },
        tasks,
    )
    foreign |= {name for name, members in (groups or {}).items() if members[0] in foreign}
    scores: list[Score] = []
    pairs: list[Pair] = []
    failures: list[str] = []
    n_vectors = len(compared.vectors)
    for set_index, task in enumerate(tasks):
        bands = frequency_bands(task, next(iter(runs.values())), edges) if config.bands else {}
        # the same measurements, whatever the folder and the other sets are
        cache = MeasurementCache(_renamed(task, bare_name(task.dataset)), contents)
        evaluation = SetEvaluation(task, set_index, compared, config, cache, bands)
        failures += evaluation.find_known_items()
        show = _nth(progress, set_index * n_vectors, len(tasks) * n_vectors)
        failures += [each for each in evaluation.measure(threads, show) if each is not None]
        scores += note_published(evaluation.scores(), task, chosen, foreign)
        pairs += evaluation.pairs()
    if contents:
        evict_oldest()
    seed_groups = {name: tuple(members) for name, members in compared.groups.items()}
    return Comparison(tuple(compared.vectors), scores, pairs, failures, seed_groups)
