"""Counting on a cluster: each task counts some shards of a corpus and writes what it counted."""

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from firth.corpora.artifacts.arrays import open_array, write_array
from firth.corpora.artifacts.tasks import TaskFolder, WorkerTask
from firth.corpora.common.memory import parse_memory
from firth.corpora.common.reporting import Progress
from firth.corpora.common.threads import even_ranges
from firth.corpora.store.shards import Shard
from firth.corpora.store.view import Boundary, Documents, StoredText, View
from firth.corpora.store.vocabulary import Vocabulary
from firth.embed.svd.cooccurrence import Rows, count_cooccurrences

TASK_TOKENS = 1 << 24  # counted by one task, at least: two shards
_ROWS = ("starts", "columns", "counts")


@dataclass(frozen=True, kw_only=True)
class Windows:
    """What a task counts."""

    n_words: int
    window: int
    weighting: str
    context: str
    memory: str | None  # of a worker
    boundary: Boundary
    documents: Documents
    unit: Boundary  # by which text is held out


def counts_of_shards(
    tasks: TaskFolder,
    view: View,
    windows: Windows,
    progress: Progress,
    task_tokens: int = TASK_TOKENS,
) -> Iterator[Rows]:
    """Count shards on workers, then yield the counts of each task, which are to be added."""
    stored = view.stored
    words = tasks.new_folder("words")
    write_array(words, "rows", view.rows_of_types())
    write_array(words, "counts", view.counts)
    directories = [shard.directory.absolute() for shard in stored.shards]
    tokens = np.array([len(shard.ids) for shard in stored.shards])
    counting = []
    for number, span in enumerate(even_ranges(tokens, task_tokens)):
        arguments = (
            directories[slice(*span)],
            stored.vocabulary.directory.absolute(),
            words,
            windows,
        )
        counting.append(
            WorkerTask(
                f"count-{number:05}",
                count_shards,
                arguments,
                f"{span} {windows.window} {windows.weighting} {windows.context}",
            )
        )
    for done, _ in enumerate(tasks.run(counting), 1):
        progress(view.n_tokens * done // len(counting), view.n_tokens)
    for task in counting:
        starts, columns, counts = (open_array(tasks.path_of(task), name) for name in _ROWS)
        yield starts, columns, counts


def count_shards(
    folder: Path, shards: list[Path], vocabulary: Path, words: Path, windows: Windows
) -> None:
    """Count some shards, in files."""
    rows, counts = open_array(words, "rows"), open_array(words, "counts")
    types = np.empty(len(counts), np.int64)
    types[rows[rows >= 0]] = np.flatnonzero(rows >= 0)
    opened = [Shard(directory, windows.unit) for directory in shards]
    stored = StoredText(Vocabulary(vocabulary), opened, None, windows.unit)
    counted = count_cooccurrences(
        View(stored, types, [], counts, boundary=windows.boundary, documents=windows.documents),
        window=windows.window,
        n_words=windows.n_words,
        weighting=windows.weighting,
        context=windows.context,
        threads=1,
        memory=parse_memory(windows.memory),
        directory=folder,
    )
    for name, values in zip(_ROWS, counted.rows, strict=True):
        write_array(folder, name, values)
