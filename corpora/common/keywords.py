"""Wrong keywords of public functions and settings, answered by what was meant."""

import dataclasses
import difflib
import functools
import inspect
import re
import typing
from collections.abc import Callable
from typing import Any, TypeVar

_Kind = TypeVar("_Kind")
_WRONG = re.compile(r"unexpected keyword argument '(\w+)'$")  # Python 3.13 may add what was meant


def with_suggestions(public: Any, name: str) -> Any:
    """Return a public function or class of settings that names keywords close to a wrong one."""
    if inspect.isfunction(public):
        wrapped = _suggesting(public)
        wrapped.__module__, wrapped.__qualname__ = "firth", name
        return wrapped
    if dataclasses.is_dataclass(public):
        public.__init__ = _suggesting(public.__init__)  # type: ignore[method-assign,misc]
    return public


def suggesting(kind: type[_Kind]) -> type[_Kind]:
    """Make methods that have parameters with defaults name keywords close to a wrong one."""
    for name, member in list(vars(kind).items()):
        function = member.__func__ if isinstance(member, classmethod) else member
        is_public = name == "__init__" or not name.startswith("_")
        if not (is_public and inspect.isfunction(function)):
            continue
        parameters = inspect.signature(function).parameters.values()
        if any(each.default is not each.empty for each in parameters):
            called = _suggesting(function)
            setattr(kind, name, classmethod(called) if function is not member else called)
    return kind


def _suggesting(function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function that does the same, but says more of a wrong keyword."""

    @functools.wraps(function)
    def call(*values: Any, **named: Any) -> Any:
        try:
            return function(*values, **named)
        except TypeError as error:
            wrong = _WRONG.search(str(error))
            if wrong is None or not str(error).startswith(f"{function.__qualname__}("):
                raise
            message = f"{error}; {_meant(function, wrong[1])}"
        raise TypeError(message)

    return call


def _meant(function: Callable[..., Any], wrong: str) -> str:
    """Return the keyword that was meant, whose setting it is, or all there are."""
    taken = inspect.signature(function).parameters
    if close := difflib.get_close_matches(wrong, taken, 1):
        return f"did you mean {close[0]!r}?"
    for name, parameter in taken.items():
        for kind in typing.get_args(parameter.annotation):
            if wrong in getattr(kind, "__dataclass_fields__", ()):
                return f"pass {name}={kind.__name__}({wrong}=...)"
    return f"it takes {', '.join(each for each in taken if each not in ('self', 'cls'))}"
