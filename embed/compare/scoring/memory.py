"""How much memory a comparison takes, and the refusal of what does not fit."""

import os
from collections.abc import Sequence
from pathlib import Path

from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import require_memory
from firth.corpora.common.threads import thread_count
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.task import Task
from firth.embed.compare.tasks.analogy.analogies import AnalogyTask
from firth.embed.compare.tasks.analogy.bats import RelationTask
from firth.embed.formats.memory import PROGRAM, OpenedSize, size_opened
from firth.embed.vectors.piece_table import FIRST_VECTORS
from firth.embed.vectors.word_vectors import WordVectors

_UNBOUNDED = ("contexts", "tagging", "sentences", "minimal_pairs")
_SCORING = 160 << 20  # SciPy, numba and compiled kernels, matplotlib
_BY_NUMBER = 9  # of opened vectors, while they are checked against their run
_BY_START_WORD = 200  # strings
_BY_BASELINE_WORD = 1_700  # 300 numbers, strings, ranks
_BY_TEXT = 2_000  # of a set and of each run: strings, places
_BY_CANDIDATE = 8_192  # cosines of a word with a block of candidates


def require_fit(
    runs: Sequence[str | os.PathLike[str]],
    tasks: Sequence[Task],
    config: CompareConfig,
    memory: str,
    *,
    add_contexts: bool,
) -> None:
    """Raise if a comparison takes more than ``memory``, before any vectors are read."""
    if unbounded := [name for name in _UNBOUNDED if getattr(config, name)]:
        raise SettingError(
            f"`memory={memory}`: what `{unbounded[0]}` takes is not known before it is done; leave "
            "out one of both"
        )
    paths = [Path(run) for run in runs if not isinstance(run, WordVectors) or run.path is not None]
    sizes = {path: size_opened(path, add_contexts=add_contexts) for path in paths}
    texts = [set(task.texts()) for task in tasks]
    words = [min(size.words, config.candidates or size.words) for size in sizes.values()]
    opened = sum(size.bytes + _of_start(path, size) for path, size in sizes.items())
    given = [run for run in runs if isinstance(run, WordVectors) and run.path is not None]
    opened += sum(_BY_NUMBER * sizes[Path(run)].words * sizes[Path(run)].dim for run in given)
    baselines = _BY_BASELINE_WORD * (sum(words) + sum(map(len, texts)))
    widest = max((size.dim for size in sizes.values()), default=0)
    sets = max(
        (
            _of_set(task, len(distinct), widest, len(paths) + 2)
            for task, distinct in zip(tasks, texts, strict=True)
        ),
        default=0,
    )
    largest = max(sizes, key=lambda path: sizes[path].bytes, default=None)
    shown = "" if largest is None else f" (most: {largest}, {sizes[largest].bytes >> 20:,} MB)"
    require_memory(
        PROGRAM + _SCORING + opened + baselines + sets,
        memory,
        f"comparing {len(paths)} runs{shown} takes",
        "export vectors of files as int8 or for gensim, which are mapped",
    )


def _of_start(run: Path, size: OpenedSize) -> int:
    """Return the bytes of the words of a masked LM without context, which are compared, too."""
    has_start = (run / FIRST_VECTORS).is_file()
    return (_BY_START_WORD + 24 * size.dim) * size.words if has_start else 0


def _of_set(task: Task, n_texts: int, dim: int, n_runs: int) -> int:
    """Return the bytes that scoring a set takes, several runs at a time."""
    at_once = min(n_runs, thread_count(None))
    n_bytes = n_texts * (n_runs * _BY_TEXT + at_once * 12 * max(dim, 300))
    if isinstance(task, AnalogyTask | RelationTask):
        n_bytes += at_once * n_texts * (_BY_CANDIDATE + 4 * n_texts)
    return n_bytes
