"""Score runs and baselines on every evaluation set."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.console import Progress, no_progress
from embed.compare.baselines import make_baselines
from embed.compare.config import CompareConfig
from embed.compare.datasets import default_sets
from embed.compare.tasks import Task, TaskResult, read_task
from embed.protocols import StaticVectors


@dataclass(frozen=True)
class Score:
    """What one run reached on one evaluation set.

    Attributes
    ----------
    run : str
        The run, ``one-hot`` or ``random``.
    place : int
        Position of the set among those compared: two files may share a stem.
    result : TaskResult
        The number and what stands behind it.
    """

    run: str
    place: int
    result: TaskResult


def read_tasks(config: CompareConfig) -> list[Task]:
    """Read all evaluation sets of a comparison.

    Parameters
    ----------
    config : CompareConfig
        Names the files; where it names none, the sets that gensim carries.

    Returns
    -------
    list of Task
        Similarity first, in the order given.

    Raises
    ------
    SourceError
        A set is missing or malformed.
    """
    named = [("similarity", Path(file)) for file in config.similarity]
    named += [("analogy", Path(file)) for file in config.analogies]
    return [read_task(name, path, config) for name, path in named or default_sets()]


def compare(
    runs: Mapping[str, StaticVectors],
    tasks: Sequence[Task],
    config: CompareConfig,
    progress: Progress = no_progress,
) -> list[Score]:
    """Score runs, then one-hot and random vectors, on every evaluation set.

    Parameters
    ----------
    runs : mapping of str to StaticVectors
        Name to vectors, at least one.
    tasks : sequence of Task
        The sets, read.
    config : CompareConfig
        How to score.
    progress : Progress
        Told after each set of each run.

    Returns
    -------
    list of Score
        Set by set, runs in the order given, baselines last.
    """
    texts = [text for task in tasks for text in task.texts()]
    baselines = make_baselines(list(runs.values()), texts, config.restrict, config.seed)
    everything = [*runs.items(), *baselines.items()]
    scores = []
    for place, task in enumerate(tasks):
        for index, (name, vectors) in enumerate(everything, start=1):
            scores += [Score(name, place, result) for result in task.score(vectors)]
            progress(place * len(everything) + index, len(tasks) * len(everything))
    return scores
