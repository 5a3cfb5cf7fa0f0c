"""Options stated once: default, help and range beside the field that owns them.

A config is a frozen, keyword-only dataclass whose fields are made by
:func:`setting`. The command's options, the range check, its message and the
``config.json`` of a run all come from that one statement.
"""

import dataclasses
import math
import types
import typing
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from corpora.common.errors import SettingError

ConfigT = TypeVar("ConfigT")

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
    at_least: float | None = None,
    at_most: float | None = None,
    above: float | None = None,
    below: float | None = None,
    choices: Sequence[str] | None = None,
    metavar: str | None = None,
    opposite: str | None = None,
) -> Any:
    """State one option of a config: its default, help and permitted range."""
    bounds = {"at_least": at_least, "at_most": at_most, "above": above, "below": below}
    return dataclasses.field(
        default=default,
        metadata={
            "help": help,
            "bounds": {name: bound for name, bound in bounds.items() if bound is not None},
            "choices": tuple(choices) if choices is not None else None,
            "metavar": metavar,
            "opposite": opposite,
        },
    )


def check(config: Any) -> None:
    """Hold every field of a config against its type and range; call it in ``__post_init__``."""
    owner = type(config).__name__
    kinds = typing.get_type_hints(type(config))
    for field in dataclasses.fields(config):
        value = getattr(config, field.name)
        if not field.metadata or (value is None and field.default is None):
            continue
        _check_kind(f"{owner}.{field.name}", _plain_type(kinds[field.name]), value)
        choices = field.metadata["choices"]
        if choices is not None and value not in choices:
            raise SettingError(
                f"{owner}.{field.name} must be one of {', '.join(choices)}, got {value!r}"
            )
        for name, bound in field.metadata["bounds"].items():
            words, holds = _BOUNDS[name]
            if not holds(value, bound):  # NaN holds no bound
                raise SettingError(f"{owner}.{field.name} must be {words} {bound}, got {value}")
        if isinstance(value, float) and not math.isfinite(value):
            raise SettingError(f"{owner}.{field.name} must be a finite number, got {value}")


def click_options(config_class: type, *, skip: Sequence[str] = ()) -> Callable[[Any], Any]:
    """Make a decorator that adds one click option per field of a config class."""
    import click

    kinds = typing.get_type_hints(config_class)

    def decorate(command: Any) -> Any:
        # click lists options in the reverse order of decoration
        for field in reversed(dataclasses.fields(config_class)):
            if field.metadata and field.name not in skip:
                command = _click_option(click, field, _plain_type(kinds[field.name]))(command)
        return command

    return decorate


def take(config_class: type[ConfigT], options: Mapping[str, Any]) -> ConfigT:
    """Build a config from the entries of ``options`` that it has fields for."""
    names = {field.name for field in dataclasses.fields(config_class)}  # type: ignore[arg-type]
    try:
        return config_class(**{name: value for name, value in options.items() if name in names})
    except SettingError as error:
        raise SettingError(_as_option(str(error), config_class.__name__)) from None


def _as_option(message: str, owner: str) -> str:
    """Name a field as the option that a person typed."""
    start, _, rest = message.partition(" ")
    if not start.startswith(f"{owner}."):
        return message
    return f"--{start.removeprefix(f'{owner}.').replace('_', '-')} {rest}"


def _plain_type(kind: Any) -> Any:
    """``int | None`` as ``int``; everything else unchanged."""
    if isinstance(kind, types.UnionType):
        return next(part for part in typing.get_args(kind) if part is not types.NoneType)
    return kind


def _check_kind(name: str, kind: Any, value: Any) -> None:
    """Refuse a value of another type; an int serves where a float is asked for."""
    kind = typing.get_origin(kind) or kind
    right = isinstance(value, (int, float) if kind is float else kind)
    if not right or (isinstance(value, bool) and kind is not bool):
        raise SettingError(f"{name} must be of type {kind.__name__}, got {value!r}")


def _click_option(click: Any, field: Any, kind: Any) -> Any:
    """One click option from one field."""
    name = "--" + field.name.replace("_", "-")
    about: dict[str, Any] = {"help": field.metadata["help"], "default": field.default}
    if kind is bool:
        if opposite := field.metadata["opposite"]:
            name, about["show_default"] = f"{name}/--{opposite}", True
        return click.option(name, field.name, is_flag=True, **about)
    if typing.get_origin(kind) is tuple:
        return click.option(
            name, field.name, multiple=True, metavar=field.metadata["metavar"], **about
        )
    choices = field.metadata["choices"]
    about["type"] = click.Choice(choices) if choices else kind
    if not choices:
        about["metavar"] = field.metadata["metavar"]
    return click.option(name, field.name, show_default=field.default is not None, **about)
