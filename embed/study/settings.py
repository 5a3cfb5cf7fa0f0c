"""The settings of a study, read from and written to a TOML file."""

import dataclasses
import pkgutil
import re
import tomllib
import typing
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, TypeVar

from firth.corpora.common.errors import FirthError, SettingError
from firth.corpora.common.options import many, option_name, take
from firth.corpora.common.urls import public
from firth.corpora.text.segment import LONE_SURROGATE
from firth.embed.compare.kinds import kind_and_file
from firth.embed.registry import METHODS, find_method

ConfigT = TypeVar("ConfigT")

SETTINGS = "study.toml"
DEFAULT_METHODS = ("svd", "cbow", "skipgram", "mlm")
DEFAULT_BUDGET = "30m"
BUILD, COMPARE = "build-corpus", "compare"

_SECONDS = {"s": 1, "m": 60, "h": 3600}
# Table of the settings file (a command's name) to the classes whose fields are its keys.
_CONFIGS = {
    BUILD: (
        "firth.corpora.reading.text_blocks:ReadOptions",
        "firth.corpora.text.segment:TextSettings",
        "firth.corpora.encoding.request:BuildOptions",
        "firth.corpora.encoding.phrase_options:PhraseOptions",
    ),
    **{f"train-{name}": (method.config,) for name, method in METHODS.items()},
    COMPARE: ("firth.embed.compare.config:CompareConfig",),
}


@dataclass(frozen=True)
class Study:
    """The settings of a study.

    Parameters
    ----------
    sources : tuple of str
        A corpus, or texts to build one from, as on the command line.
    methods : tuple of str
        Training methods, in order: ``svd``, ``cbow``, ``skipgram``, ``mlm``; also ``nplm``,
        ``autoencoder``.
    budget : str
        Approximate time for everything, for example ``10m``.
    words : tuple of str
        Words whose neighbors are printed and shown in the report; by default some are chosen.
    options : mapping of str to mapping
        Options by command, named as on the command line without the dashes.

    Raises
    ------
    SettingError
        If a setting is unknown or out of range.

    Examples
    --------
    >>> study = Study(("texts",), ("svd",), "10m", options={"train-svd": {"dim": 50}})
    >>> study.seconds
    600.0
    """

    sources: tuple[str, ...]
    methods: tuple[str, ...] = DEFAULT_METHODS
    budget: str = DEFAULT_BUDGET
    words: tuple[str, ...] = ()
    options: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)

    def __post_init__(self) -> None:
        """Check every setting as its command would; one string or path is a tuple of one."""
        for name in ("sources", "methods", "words"):
            object.__setattr__(self, name, tuple(map(str, many(getattr(self, name)))))
        for name, value in (("sources", self.sources), ("methods", self.methods)):
            if not value:
                raise SettingError(f"{name}: empty; pass at least one")
        for method in self.methods:
            find_method(method)
        parse_budget(self.budget)
        for text in (*self.sources, *self.words):
            if not _is_plain(text):
                raise SettingError(f"{text!r}: cannot be written to a settings file; rename it")
        for command, options in self.options.items():
            _check_options(command, options)

    @property
    def seconds(self) -> float:
        """The budget in seconds."""
        return parse_budget(self.budget)

    def with_options(self, command: str, **options: Any) -> "Study":
        """Return a study with default options of a command.

        Parameters
        ----------
        command : str
            For example ``train-svd``.
        **options
            Defaults, with ``_`` for ``-``; options that the study already sets are kept.

        Returns
        -------
        Study
            A new study.
        """
        given = self.options.get(command, {})
        added = {name.replace("_", "-"): value for name, value in options.items()}
        return dataclasses.replace(self, options={**self.options, command: {**added, **given}})

    def to_json(self) -> dict[str, Any]:
        """Return the study as a JSON object, which is also the content of its TOML file.

        The user, password and signatures of a URL are left out.
        """
        return {
            "sources": list(map(public, self.sources)),
            "methods": list(self.methods),
            "budget": self.budget,
            "words": list(self.words),
            **{command: dict(options) for command, options in self.options.items()},
        }


def parse_budget(text: str) -> float:
    """Return a time such as 90s, 10m or 1.5h in seconds."""
    match = re.fullmatch(r"([0-9]+(?:\.[0-9]+)?)([smh])", text)
    if match is None or float(match[1]) <= 0:
        raise SettingError(f"`budget` must be a time such as 90s, 10m or 1.5h, got {text!r}")
    return float(match[1]) * _SECONDS[match[2]]


def read_study(path: str | Path) -> Study:
    """Read a settings file.

    Parameters
    ----------
    path : str or Path
        TOML with ``sources``, ``methods``, ``budget``, ``words`` and a table of options per
        command. Paths in it are relative to the current directory.

    Returns
    -------
    Study
        The settings, checked.

    Raises
    ------
    SettingError
        If the file cannot be read, is not TOML, or has an invalid setting.

    Examples
    --------
    >>> import tempfile
    >>> file = Path(tempfile.mkdtemp()) / "study.toml"
    >>> _ = file.write_text('sources = ["texts"]\\nbudget = "2h"')
    >>> read_study(file).budget
    '2h'
    """
    try:
        read = tomllib.loads(Path(path).read_text(encoding="utf-8-sig"))
    except OSError as error:
        raise SettingError(f"{path}: cannot be read: {error.strerror}") from error
    except (ValueError, RecursionError) as error:  # bad TOML or UTF-8, huge integers, deep nesting
        raise SettingError(f"{path}: not TOML: {error}") from error
    try:
        return study_from_json(read)
    except FirthError as error:
        raise SettingError(f"{path}: {error}") from error


def study_from_json(read: Mapping[str, Any]) -> Study:
    """Return the study of a parsed JSON or TOML object."""
    tables = {name: value for name, value in read.items() if name in _CONFIGS}
    lists = {name: _strings(name, read[name]) for name in _LISTS if name in read}
    for name in read.keys() - tables.keys() - _LISTS - {"budget"}:
        raise SettingError(
            f"{name}: unknown setting; expected one of "
            f"{', '.join([*sorted(_LISTS), 'budget', *_CONFIGS])}"
        )
    if "sources" not in lists:
        raise SettingError('sources: missing; name a corpus or texts: sources = ["my-texts"]')
    budget = read.get("budget", DEFAULT_BUDGET)
    if not isinstance(budget, str):
        raise SettingError(f'budget: must be a string such as "10m", got {budget!r}')
    for name, table in tables.items():
        if not isinstance(table, Mapping):
            raise SettingError(f"{name}: must be a table, [{name}], got {table!r}")
    return Study(**lists, budget=budget, options=tables)


def write_toml(study: Study, path: Path) -> None:
    """Write a study as a settings file."""
    import tomli_w

    path.write_text(tomli_w.dumps(study.to_json()), encoding="utf-8", newline="\n")


def command_options(options: Mapping[str, Any], command: str) -> list[str]:
    """Return options as command-line arguments."""
    fields = _fields(command)
    parts: list[str] = []
    for name, value in options.items():
        if isinstance(value, bool):
            opposite = fields[name].metadata["opposite"]
            if value or opposite:
                parts.append(f"--{name if value else opposite}")
        elif name == "sets":
            for kind, file in map(kind_and_file, value):
                parts += [file] if kind is None else [f"--{kind}", file]
        else:
            for each in value if isinstance(value, list | tuple) else [value]:
                parts += [f"--{name}", str(each)]
    return parts


def make_config(config: type[ConfigT], options: Mapping[str, Any]) -> ConfigT:
    """Return a config from those options that are its fields."""
    kinds = typing.get_type_hints(config)
    values: dict[str, Any] = {}
    names = {option_name(field): field for field in kinds}
    for name, value in options.items():
        own = names.get(name, name)
        is_text = kinds.get(own) in (str, str | None)
        number = isinstance(value, int | float) and not isinstance(value, bool)
        values[own] = str(value) if is_text and number else value
        if typing.get_origin(kinds.get(own)) is tuple:
            values[own] = _strings(name, value)
        elif isinstance(value, str) and not _is_plain(value):
            raise SettingError(f"{name}: contains NUL or a lone surrogate: {value!r}")
    return take(config, values)


_LISTS = {"sources", "methods", "words"}


def _strings(name: str, value: Any) -> tuple[str, ...]:
    """Return a list of strings as a tuple; raise if it is anything else."""
    if not isinstance(value, list | tuple) or not all(isinstance(each, str) for each in value):
        raise SettingError(f'{name}: must be a list of strings, ["...", ...], got {value!r}')
    return tuple(value)


def _is_plain(text: str) -> bool:
    """Return whether a string has no NUL and no lone surrogate, as TOML and file names require."""
    return "\0" not in text and LONE_SURROGATE.search(text) is None


def _check_options(command: str, options: Mapping[str, Any]) -> None:
    """Raise if a command does not take these options."""
    fields = _fields(command)
    for name in options:
        if name not in fields:
            raise SettingError(
                f"[{command}] {name}: cannot be set in a study; expected one of "
                f"{', '.join(sorted(fields))}"
            )
    try:
        for config in _config_classes(command):
            make_config(config, options)
    except FirthError as error:
        raise SettingError(f"[{command}] {error}") from error


def _fields(command: str) -> dict[str, "dataclasses.Field[Any]"]:
    """Return the config fields of a command by option name."""
    return {
        option_name(each.name): each
        for config in _config_classes(command)
        for each in dataclasses.fields(config)
        if each.metadata
    }


def _config_classes(command: str) -> Sequence[type]:
    """Return the config classes of a command."""
    return [pkgutil.resolve_name(path) for path in _CONFIGS[command]]
