"""What a study is to do: read from a settings file (TOML), checked, and written as one."""

import dataclasses
import pkgutil
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from corpora.common.errors import FirthError, SettingError
from corpora.common.options import take
from corpora.text.segment import LONE_SURROGATE
from embed.registry import METHODS, find_method

ConfigT = TypeVar("ConfigT")

SETTINGS = "study.toml"
DEFAULT_METHODS = ("svd", "cbow", "skipgram", "mlm")
DEFAULT_BUDGET = "30m"
BUILD, COMPARE = "build-corpus", "compare"

_SECONDS = {"s": 1, "m": 60, "h": 3600}
# Table to the classes whose fields are its keys: the options of the command of that name.
_CONFIGS = {
    BUILD: (
        "corpora.reading.text_blocks:ReadOptions",
        "corpora.text.segment:TextSettings",
        "corpora.build.request:BuildOptions",
    ),
    **{f"train-{name}": (method.config,) for name, method in METHODS.items()},
    COMPARE: ("embed.compare.config:CompareConfig",),
}


@dataclass(frozen=True)
class Study:
    """A study as it is asked for, or with every choice made.

    Attributes
    ----------
    sources : tuple of str
        A corpus, or texts of which one is built; as commands take them.
    methods : tuple of str
        Keys of METHODS, in the order of training.
    budget : str
        What all of it may take, about, such as ``10m``.
    words : tuple of str
        Whose neighbors are printed; chosen where none are named.
    options : mapping of str to mapping
        By command, its options as they are typed without the dashes.
    """

    sources: tuple[str, ...]
    methods: tuple[str, ...] = DEFAULT_METHODS
    budget: str = DEFAULT_BUDGET
    words: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Hold every setting against what its command takes."""
        for name, value in (("sources", self.sources), ("methods", self.methods)):
            if not value:
                raise SettingError(f"{name}: names nothing; name at least one")
        for method in self.methods:
            find_method(method)
        parse_budget(self.budget)
        for text in (*self.sources, *self.words):
            if not _is_plain(text):
                raise SettingError(f"{text!r}: cannot stand in a settings file; rename it")
        for command, options in self.options.items():
            _check(command, options)

    @property
    def seconds(self) -> float:
        """The budget in seconds."""
        return parse_budget(self.budget)

    def with_options(self, command: str, **options: Any) -> "Study":
        """Add options of a command to those that are named.

        Parameters
        ----------
        command : str
            Such as ``train-svd``.
        **options
            Left out where the study names them already; ``_`` for ``-``.

        Returns
        -------
        Study
            Another one.
        """
        known = self.options.get(command, {})
        added = {name.replace("_", "-"): value for name, value in options.items()}
        return dataclasses.replace(self, options={**self.options, command: {**added, **known}})

    def to_json(self) -> dict[str, Any]:
        """Give all of it as JSON, or as TOML has it.

        Returns
        -------
        dict
            What :func:`study_of` reads.
        """
        return {
            "sources": list(self.sources),
            "methods": list(self.methods),
            "budget": self.budget,
            "words": list(self.words),
            **{command: dict(options) for command, options in self.options.items()},
        }


def parse_budget(text: str) -> float:
    """Read a time."""
    found = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", text)
    if found is None or float(found[1]) <= 0:
        raise SettingError(f"`budget` must be a time such as 90s, 10m or 1.5h, got {text!r}")
    return float(found[1]) * _SECONDS[found[2]]


def read_study(path: Path) -> Study:
    """Read a settings file.

    Parameters
    ----------
    path : Path
        TOML: ``sources``, ``methods``, ``budget``, ``words``, and a table for each command that
        is given options. Files are named from where the command is called.

    Returns
    -------
    Study
        Checked.

    Raises
    ------
    SettingError
        It cannot be read, is no TOML, or a setting is none; names it.
    """
    try:
        read = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # of TOML, UTF-8, digits without end, depth
        raise SettingError(f"{path}: is no TOML: {error}") from error
    try:
        return study_of(read)
    except FirthError as error:
        raise SettingError(f"{path}: {error}") from error


def study_of(read: Mapping[str, Any]) -> Study:
    """Turn JSON or TOML into a study."""
    tables = {name: value for name, value in read.items() if name in _CONFIGS}
    lists = {name: _strings(name, read[name]) for name in _LISTS if name in read}
    for name in read.keys() - tables.keys() - _LISTS - {"budget"}:
        raise SettingError(
            f"{name}: is no setting; there are {', '.join([*sorted(_LISTS), 'budget', *_CONFIGS])}"
        )
    if "sources" not in lists:
        raise SettingError('sources: is missing; name a corpus or texts: sources = ["my-texts"]')
    budget = read.get("budget", DEFAULT_BUDGET)
    if not isinstance(budget, str):
        raise SettingError(f'budget: must be a text such as "10m", got {budget!r}')
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingError(f"{name}: must be a table, [{name}], got {table!r}")
    return Study(**lists, budget=budget, options=tables)


def write_toml(study: Study, path: Path) -> None:
    """Write a study as a settings file."""
    import tomli_w

    path.write_text(tomli_w.dumps(study.to_json()), encoding="utf-8")


def typed_options(options: Mapping[str, Any], command: str) -> list[str]:
    """Write options as they are typed."""
    fields = _fields(command)
    parts: list[str] = []
    for name, value in options.items():
        if isinstance(value, bool):
            opposite = fields[name].metadata["opposite"]
            if value or opposite:
                parts.append(f"--{name if value else opposite}")
        else:
            for each in value if isinstance(value, list | tuple) else [value]:
                parts += [f"--{name}", str(each)]
    return parts


def config_of(config: type[ConfigT], options: Mapping[str, Any]) -> ConfigT:
    """Make a config of the options that are its own."""
    kinds = typing.get_type_hints(config)
    values: dict[str, Any] = {}
    for name, value in options.items():
        own = name.replace("-", "_")
        is_text = kinds.get(own) in (str, str | None)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        values[own] = str(value) if is_text and number else value
        if typing.get_origin(kinds.get(own)) is tuple:
            values[own] = _strings(name, value)
        elif isinstance(value, str) and not _is_plain(value):
            raise SettingError(f"{name}: holds what no file name or text can: {value!r}")
    return take(config, values)


_LISTS = {"sources", "methods", "words"}


def _strings(name: str, value: Any) -> tuple[str, ...]:
    """A list of texts."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise SettingError(f'{name}: must be a list of texts, ["...", ...], got {value!r}')
    return tuple(value)


def _is_plain(text: str) -> bool:
    """Whether a text is UTF-8 without NUL, as TOML and file names are."""
    return "\0" not in text and LONE_SURROGATE.search(text) is None


def _check(command: str, options: Mapping[str, Any]) -> None:
    """Refuse what a command does not take."""
    fields = _fields(command)
    for name in options:
        if name not in fields:
            raise SettingError(
                f"[{command}] {name}: cannot be set in a study; there are "
                f"{', '.join(sorted(fields))}"
            )
    try:
        for config in _classes(command):
            config_of(config, options)
    except FirthError as error:
        raise SettingError(f"[{command}] {error}") from error


def _fields(command: str) -> dict[str, "dataclasses.Field[Any]"]:
    """What a command takes, by the names of its options."""
    return {
        each.name.replace("_", "-"): each
        for config in _classes(command)
        for each in dataclasses.fields(config)
        if each.metadata
    }


def _classes(command: str) -> Sequence[type]:
    """Whose fields a command's options are."""
    return [pkgutil.resolve_name(path) for path in _CONFIGS[command]]
