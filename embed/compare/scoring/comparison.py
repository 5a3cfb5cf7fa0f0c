"""Score runs and baselines on every evaluation set, and test all pairwise differences."""

from collections.abc import Collection, Mapping, Sequence
from functools import partial

from firth.corpora.common.reporting import Progress, no_progress
from firth.embed.compare.config import CompareConfig, rows_of_run
from firth.embed.compare.datasets.parts import bare_name
from firth.embed.compare.inputs.baselines import OF_TASKS, make_baselines
from firth.embed.compare.scoring.cache import MeasurementCache, evict_oldest, name_contents
from firth.embed.compare.scoring.evaluate import SetEvaluation
from firth.embed.compare.scoring.frequency_bands import frequency_bands
from firth.embed.compare.scoring.notes import note_published, warn_of_language
from firth.embed.compare.scoring.results import Comparison, Pair, Score
from firth.embed.compare.scoring.sets import renamed
from firth.embed.compare.task import Task
from firth.embed.protocols import StaticVectors
from firth.embed.registry import Chosen


def compare_vectors(
    runs: Mapping[str, StaticVectors],
    tasks: Sequence[Task],
    config: CompareConfig,
    progress: Progress = no_progress,
    *,
    groups: Mapping[str, Sequence[str]] | None = None,
    fingerprints: Mapping[str, str] | None = None,
    chosen: Mapping[str, Chosen] | None = None,
    starts: Collection[str] = (),
) -> Comparison:
    """Score runs, then one-hot and random vectors, and test the difference of every pair.

    ``groups`` names runs that differ only in the seed; runs with ``fingerprints`` are cached;
    ``starts`` are tested as baselines are, apart from the other runs.
    """
    texts = [text for task in tasks for text in task.texts()]
    limit = config.candidates or max(len(vectors.vocabulary) for vectors in runs.values())
    baselines = {}
    if config.baseline_names:
        made = make_baselines(list(runs.values()), texts, limit, config.seed)
        of_tasks = dict.fromkeys(task.own_baseline for task in tasks if task.own_baseline)
        baselines = {name: made[name] for name in (*config.baseline_names, *of_tasks)}
    vectors, rows_of = {**runs, **baselines}, partial(rows_of_run, config)
    groups = {
        row: by_row
        for name, members in (groups or {}).items()
        for row, *by_row in zip(*map(rows_of, (name, *members)), strict=True)
    }
    controls = {row for name in (*baselines, *starts) for row in rows_of(name)}
    about_baselines = [*texts, str(limit), str(config.seed)]
    fingerprints = fingerprints or {}
    # a baseline depends on all runs, so it has a name only if they all have one
    named = list(baselines) if runs.keys() == fingerprints.keys() else []
    contents = name_contents(fingerprints, named, about_baselines)
    chosen = dict(chosen or {})
    chosen |= {name: chosen[runs[0]] for name, runs in groups.items() if runs[0] in chosen}
    foreign = warn_of_language(
        {  # without counts, words may be in any order
            name: run.vocabulary
            for name, run in runs.items()
            if getattr(run, "counts", None) is not None
        },
        tasks,
    )
    foreign |= {name for name, members in groups.items() if members[0] in foreign}
    scores: list[Score] = []
    pairs: list[Pair] = []
    failures: list[str] = []
    for set_index, task in enumerate(tasks):
        bands = frequency_bands(task, next(iter(runs.values()))) if config.bands else {}
        # the same measurements, whatever the folder and the other sets are
        cache = MeasurementCache(renamed(task, bare_name(task.dataset)), contents)
        of_task = {n: v for n, v in vectors.items() if n not in OF_TASKS or n == task.own_baseline}
        evaluation = SetEvaluation(task, set_index, of_task, groups, config, cache, bands, controls)
        failures += evaluation.find_known_items()
        failures += evaluation.measure(progress, len(tasks))
        scores += note_published(evaluation.scores(), task, chosen, foreign)
        pairs += evaluation.pairs()
    if contents:
        evict_oldest()
    seed_groups = {name: tuple(members) for name, members in groups.items()}
    rows = {row: name for name in vectors for row in rows_of(name)}
    return Comparison(rows, scores, pairs, failures, seed_groups)
