"""Scores of tasks as plain numbers."""

from dataclasses import replace

import numpy as np

from firth.embed.compare.scoring.sets import read_tasks


def ask(task, vectors, unknown="skip"):
    """Measure a task on all items that the vectors cover."""
    return task.measure(vectors, task.known(vectors, unknown), unknown)


def score(measured):
    """Return the score with every count 1."""
    if measured.statistic is None:
        return None
    [value] = measured.statistic.evaluate(np.ones((1, len(measured.items)), dtype=np.int32))
    return float(value)


def scores(task, vectors, unknown="skip"):
    """Metric to score over the whole set."""
    results = ask(task, vectors, unknown)
    return {result.metric: score(result) for result in results if result.section is None}


def of_kind(config, kind):
    """Return the sets of one kind of a config."""
    return tuple(each for each in config.sets if each.startswith(f"{kind}="))


def read_task(kind, path, config):
    """Read one set."""
    [task] = read_tasks(replace(config, sets=(f"{kind}={path}",)))
    return task
