"""Settings declared once: default, help and range beside the config field they belong to.

A config is a frozen, keyword-only dataclass whose fields are made by
:func:`setting`. The command's options, the range check, its message and the
``config.json`` of a run all come from that one declaration.
"""

import dataclasses
import inspect
import math
import os
import re
import textwrap
import types
import typing
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, TypeVar

from firth.corpora.common.errors import SettingError

ConfigT = TypeVar("ConfigT")

ALL = 1_000_000  # what a setting ``or_all`` is for "all": as good as no limit

# A setting in a message: `name` or `name=value`.
_SETTING = re.compile(r"`(?P<name>[a-z][a-z0-9_]*)(?:=(?P<value>[^`]*))?`")
# A public function in a message, and the commands that are not named like their function.
_FUNCTION = re.compile(r"`([a-z_]+)\(\)`")
_COMMANDS = {
    "align_vectors": "align", "encode_lines": "encode", "make_index": "index", "pool_run": "pool",
}  # fmt: skip

_BOUNDS: dict[str, tuple[str, Callable[[Any, Any], bool]]] = {
    "at_least": ("at least", lambda value, bound: value >= bound),
    "at_most": ("at most", lambda value, bound: value <= bound),
    "above": ("above", lambda value, bound: value > bound),
    "below": ("below", lambda value, bound: value < bound),
}


def setting(
    default: Any,
    help: str,
    *,
    choices: Sequence[str] = (),
    metavar: str | None = None,
    opposite: str | None = None,
    heading: str | None = None,
    rare: bool = False,
    or_all: bool = False,
    **bounds: float,
) -> Any:
    """Declare one field of a config: its default, help and range, such as ``at_least=1``.

    In help, the options from a ``heading`` on are in its group. A number ``or_all`` may also be
    "all", which is ALL in the config.
    """
    assert bounds.keys() <= _BOUNDS.keys(), bounds
    return dataclasses.field(
        default=default,
        metadata={
            "help": help,
            "bounds": bounds,
            "choices": tuple(choices),
            "metavar": metavar,
            "opposite": opposite,
            "heading": heading,
            "rare": rare,
            "or_all": or_all,
        },
    )


def rare_setting(default: Any, help: str, **about: Any) -> Any:
    """Declare a field as :func:`setting` does, whose option only ``--help-all`` shows."""
    return setting(default, help, rare=True, **about)


def describe_settings(config_class: type[ConfigT]) -> type[ConfigT]:
    """Add the settings and their help to a config's docstring; a class decorator."""
    lines = [inspect.cleandoc(config_class.__doc__ or ""), "\nParameters\n----------"]
    for field in dataclasses.fields(config_class):  # type: ignore[arg-type]
        if not field.metadata:
            continue
        choices = ", ".join(map(repr, field.metadata["choices"]))
        kind = f"{{{choices}}}" if choices else inspect.formatannotation(field.type)
        lines.append(f"{field.name} : {kind}, default {field.default!r}")
        lines.append(textwrap.indent(textwrap.fill(field.metadata["help"], 90), "    "))
    config_class.__doc__ = "\n".join(lines)
    return config_class


def refuse_unused(config: Any, names: Iterable[str], reason: str) -> None:
    """Raise if one of these fields, which do nothing for a reason, is not its default."""
    defaults = {field.name: field.default for field in dataclasses.fields(config)}
    for name in names:
        if (value := getattr(config, name)) != defaults[name]:
            raise SettingError(f"`{name}={value}`: {reason}; leave it out")


def check(config: Any) -> None:
    """Raise if a field of a config violates its type or range; call it in ``__post_init__``.

    What equals a value of the type becomes one: numpy's numbers, 50.0, a list for a tuple.
    """
    owner = type(config).__name__
    kinds = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if not field.metadata or (value is None and field.default is None):
            continue
        if field.metadata["or_all"] and value in ("all", ALL):
            object.__setattr__(config, field.name, ALL)
            continue
        value = _of_kind(owner, field.name, _plain_type(kinds[field.name]), value)
        object.__setattr__(config, field.name, value)
        choices = field.metadata["choices"]
        if choices and value not in choices:
            raise SettingError(
                f"{owner}.{field.name} must be one of {', '.join(choices)}, got {value!r}",
                setting=field.name,
            )
        for name, bound in field.metadata["bounds"].items():
            words, holds = _BOUNDS[name]
            if not holds(value, bound):  # NaN fails every comparison
                raise SettingError(
                    f"{owner}.{field.name} must be {words} {bound}, got {value}",
                    setting=field.name,
                )
        if isinstance(value, float) and not math.isfinite(value):
            raise SettingError(
                f"{owner}.{field.name} must be a finite number, got {value}", setting=field.name
            )


def config_of(config: ConfigT | None, config_class: type[ConfigT]) -> ConfigT:
    """Return a config, or the default one for None; raise if it is not of this class."""
    if config is None:
        return config_class()
    if not isinstance(config, config_class):
        remedy = "; pass the path as `out`" if isinstance(config, str | os.PathLike) else ""
        raise SettingError(
            f"config must be of type {config_class.__name__}, got {type(config).__name__}{remedy}"
        )
    return config


def click_options(config_class: type, *, skip: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Make a decorator that adds one click option per field of a config class."""
    kinds = typing.get_type_hints(config_class)
    options = []
    heading = "Options"
    for field in dataclasses.fields(config_class):
        if not field.metadata:
            continue
        heading = field.metadata["heading"] or heading
        if field.name not in skip:
            options.append(_click_option(field, _plain_type(kinds[field.name]), heading))

    def decorate(command: Any) -> Any:
        for add_option in reversed(options):  # click lists the last added first
            command = add_option(command)
        return command

    return decorate


def take(config_class: type[ConfigT], options: Mapping[str, Any]) -> ConfigT:
    """Build a config from the entries of ``options`` that it has fields for."""
    names = {field.name for field in dataclasses.fields(config_class)}  # type: ignore[arg-type]
    try:
        return config_class(**{name: value for name, value in options.items() if name in names})
    except SettingError as error:
        # "SvdConfig.dim must be" becomes "`dim` must be", which the command line shows as "--dim"
        start, _, rest = str(error).partition(" ")
        owner, _, field = start.partition(".")
        message = f"`{field}` {rest}" if owner == config_class.__name__ else str(error)
        raise SettingError(message, error.setting) from None


def option_name(field: str) -> str:
    """Return a field's name on the command line; that of ``continue_`` is continue."""
    return field.rstrip("_").replace("_", "-")


def split_list(text: str | None) -> tuple[str, ...]:
    """Return the parts of a comma-separated list, such as a list of words."""
    return tuple(part.strip() for part in (text or "").split(",") if part.strip())


def as_command_line(message: str) -> str:
    """Write settings in a message as options, and functions as commands.

    `` `min_count=5` `` becomes ``--min-count 5``, and `` `train_svd()` `` ``firth train-svd``.
    """
    return _FUNCTION.sub(_as_command, _SETTING.sub(_as_option, message))


def _as_command(found: re.Match[str]) -> str:
    """Write one function as its command."""
    return f"firth {_COMMANDS.get(found[1], found[1].replace('_', '-'))}"


def _as_option(found: re.Match[str]) -> str:
    """Write one setting as an option; ``name=True`` and ``name=False`` are bare flags."""
    value = found["value"]
    option = f"--{'no-' * (value == 'False')}{option_name(found['name'])}"
    return option if value in (None, "True", "False") else f"{option} {value}"


def _plain_type(kind: Any) -> Any:
    """Return ``int`` for ``int | None``; other types unchanged."""
    if isinstance(kind, types.UnionType):
        return next(part for part in typing.get_args(kind) if part is not types.NoneType)
    return kind


def _of_kind(owner: str, name: str, kind: Any, value: Any) -> Any:
    """Return a value as one of a type that it equals; raise if there is none."""
    kind = typing.get_origin(kind) or kind
    taken = value.item() if hasattr(value, "item") else value  # numpy's numbers
    number = isinstance(taken, int | float) and not isinstance(taken, bool)
    if kind is int and number and taken == taken // 1:
        taken = int(taken)
    elif kind is tuple and isinstance(taken, str | os.PathLike | Sequence):
        taken = many(taken)
    elif kind is str and isinstance(taken, os.PathLike | list | tuple):
        taken = ",".join(map(str, many(taken)))
    right = number if kind is float else isinstance(taken, kind)
    if not right or (isinstance(taken, bool) and kind is not bool):
        raise SettingError(
            f"{owner}.{name} must be of type {kind.__name__}, got {value!r}", setting=name
        )
    return taken


def many(values: Any) -> tuple[Any, ...]:
    """Return several values as a tuple, also if one is given alone."""
    alone = isinstance(values, str | os.PathLike) or not isinstance(values, Iterable)
    return (values,) if alone else tuple(values)


def _click_option(field: dataclasses.Field[Any], kind: Any, group: str) -> Any:
    """Return the click option of one field."""
    import click

    from firth.corpora.common.command import NumberOrAll, option

    name = "--" + option_name(field.name)
    about: dict[str, Any] = {
        "help": as_command_line(field.metadata["help"]),
        "default": field.default,
        "group": group,
        "rare": field.metadata["rare"],
    }
    if kind is bool:
        if opposite := field.metadata["opposite"]:
            name, about["show_default"] = f"{name}/--{opposite}", True
        return option(name, field.name, is_flag=True, **about)
    if typing.get_origin(kind) is tuple:
        return option(name, field.name, multiple=True, metavar=field.metadata["metavar"], **about)
    choices = field.metadata["choices"]
    about["type"] = click.Choice(choices) if choices else kind
    if field.metadata["or_all"]:
        about["type"] = NumberOrAll()
    if not choices:
        about["metavar"] = field.metadata["metavar"]
    return option(name, field.name, show_default=field.default is not None, **about)
