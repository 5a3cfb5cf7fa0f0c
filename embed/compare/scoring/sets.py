"""The evaluation sets of a comparison: which arguments they are, of which kind, and their names."""

from collections.abc import Iterable, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from firth.corpora.common.errors import ArtifactError, FirthError, SettingError, SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.fields import fallback_encoding, file_and_column
from firth.embed.compare.datasets.head import Head, Match
from firth.embed.compare.datasets.parts import split_names
from firth.embed.compare.datasets.word_pairs import BUNDLED, default_sets, find_sets
from firth.embed.compare.kinds import KINDS, kind_and_file
from firth.embed.compare.task import Task, task_class
from firth.embed.formats.vector_files import recognize


def split_arguments(arguments: Iterable[str]) -> tuple[list[str], list[str]]:
    """Divide the arguments of a command into runs and evaluation sets."""
    runs: list[str] = []
    sets: list[str] = []
    for argument in arguments:
        (sets if _is_set(argument) else runs).append(argument)
    return runs, sets


def _is_set(argument: str) -> bool:
    """Return whether an argument is a set; raise if it is a file of neither sort."""
    path, _ = file_and_column(Path(argument))
    if not path.exists():
        several = "," in argument and any(map(Path.exists, map(Path, split_names(argument))))
        return argument in BUNDLED or several
    if path.is_dir() or not path.is_file():
        return path.is_dir() and not _holds_vectors(path) and bool(_kinds(argument))
    if _kinds(argument):
        return True
    if not _holds_vectors(path) and Head.of(argument).text:
        raise SettingError(
            f"{argument}: neither vectors nor a set of a known form; name its kind, such as "
            f"`{next(iter(KINDS))}={argument}`"
        )
    return False


def _holds_vectors(path: Path) -> bool:
    """Return whether there are vectors at a path, or an unfinished or damaged run."""
    if (path / "config.json").exists():
        return True
    try:
        recognize(path)
    except ArtifactError:
        return False
    return True


def _kinds(named: str) -> list[str]:
    """Return the kinds that a set may be: of those that certainly match, else of likely ones."""
    return list(_kinds_of(Head.of(named)))


@lru_cache(16)  # a command asks for each set several times, and looking takes longer than reading
def _kinds_of(head: Head) -> tuple[str, ...]:
    """Return the kinds that a set of these first lines may be."""
    matches = {key: _match(task_class(key), head) for key in KINDS}
    best = max(matches.values())
    return tuple(key for key, match in matches.items() if match is best is not Match.NO)


def _match(task: type[Task], head: Head) -> Match:
    """Return whether a file, or the first one of a folder that a task reads, is a set of it."""
    if head.names and task.inner_files:
        pattern = Path(task.inner_files).name
        inner = [name for name in head.names if Path(name).match(pattern)]
        return task.recognize(Head.of(str(head.path / inner[0]))) if inner else Match.NO
    return task.recognize(head)


def named_sets(
    config: CompareConfig, missing: list[FirthError] | None = None
) -> list[tuple[str, Path]]:
    """Return kind and path of every set of a comparison, kind by kind.

    Without any, return the default sets, or none if intrinsic measures are asked for: these need
    no set, and the default ones are English. Errors of sets that cannot be downloaded are added to
    ``missing``; without it, the first is raised.
    """
    kinds = list(KINDS)
    named = sorted((_named(each) for each in config.sets), key=lambda each: kinds.index(each[0]))
    return find_sets(named, missing) if named or config.intrinsic else default_sets(missing)


def _named(given: str) -> tuple[str, str]:
    """Return kind and file of a set, given as ``FILE`` or ``KIND=FILE``."""
    kind, file = kind_and_file(given)
    if kind is not None:
        return kind, file
    found = [BUNDLED[given]] if given in BUNDLED and not Path(given).exists() else _kinds(given)
    if not found and not Head.of(given).path.exists():
        raise SourceError(f"{given}: no such evaluation set")
    if len(found) != 1:
        may_be = f"may be a set of {' or '.join(found)}" if found else "is a set of no known form"
        raise SettingError(
            f"{given}: {may_be}; name its kind, such as `{(found or list(KINDS))[0]}={given}`"
        )
    return found[0], given


def read_tasks(config: CompareConfig) -> list[Task]:
    """Read all evaluation sets of a comparison; raise if one cannot be read."""
    tasks, failures = _read(config)
    if failures:
        raise failures[0]
    return tasks


def readable_tasks(config: CompareConfig) -> tuple[list[Task], list[str]]:
    """Read the sets of a comparison, and the errors of others; raise if none can be read."""
    tasks, failures = _read(config)
    if failures and not tasks:
        raise failures[0]
    return tasks, [str(failure) for failure in failures]


def _read(config: CompareConfig) -> tuple[list[Task], list[FirthError]]:
    """Read sets; return those that can be read, and the errors of the others."""
    tasks: list[Task] = []
    read: list[tuple[str, Path]] = []
    failures: list[FirthError] = []
    with fallback_encoding(config.encoding):
        for kind, path in named_sets(config, failures):
            try:
                if config.groups and not task_class(kind).deals_folds:
                    raise _misused("groups", path, kind, "divided into folds")
                if config.pooling and kind != "sentences":
                    raise _misused("pooling", path, kind, "one of labeled sentences")
                for part in task_class(kind).split(path, config):
                    tasks.append(task_class(kind).read(part, config))
                    read.append((kind, part))
            except FirthError as error:  # score the other sets
                failures.append(error)
    return _told_apart(tasks, read), failures


def _misused(name: str, path: Path, kind: str, expected: str) -> SettingError:
    """Return an error for a setting that is not for sets of a kind."""
    return SettingError(f"`{name}`: {path}, a set of {kind}, is not {expected}; leave it out")


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
    return [renamed(task, name) for task, name in zip(tasks, names, strict=True)]


def renamed(task: Task, name: str) -> Task:
    """Return a task, a dataclass, under another name."""
    return task if name == task.dataset else cast(Task, replace(cast(Any, task), dataset=name))
