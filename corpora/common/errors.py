"""Errors caused by user input, each with a one-line message."""

import contextlib
import importlib
import importlib.util
import sys
from collections.abc import Iterator
from typing import Any

from firth.corpora.common.urls import public


class FirthError(Exception):
    """An error caused by user input, not by a bug.

    The message says what, where, the value and the remedy in one line, and writes
    settings as in Python: `` `min_count=5` ``. The command line shows them as options (by
    :func:`~firth.corpora.common.options.as_command_line`) without a traceback, with exit status 1.
    Secrets of URLs are left out.

    Parameters
    ----------
    message : str
        The line.
    """

    def __init__(self, message: str) -> None:
        super().__init__(public(message))


class SettingError(FirthError):
    """A setting has a value outside its stated range."""

    def __init__(self, message: str, setting: str | None = None) -> None:
        super().__init__(message)
        self.setting = setting  # the config field, if the value of one is at fault


class SourceError(FirthError):
    """A source of text is missing, unreadable or malformed."""


class UnreadableError(SourceError):
    """A file is binary, in another encoding or damaged; ``skip_unreadable`` leaves it out."""


class ArtifactError(FirthError):
    """A corpus or run is missing, incomplete, damaged, in use or already exists."""


class UnknownWordError(FirthError, KeyError):
    """A word has no vector in the run."""

    __str__ = Exception.__str__  # KeyError would show the message quoted


class MissingPackageError(FirthError, ModuleNotFoundError):
    """A package that a part of the program needs is not installed."""


_NAMES = {"llvmlite": "numba", "sklearn": "scikit-learn"}  # of what pip installs for a module
_HINTS = {"torch": " (without CUDA: from the index https://download.pytorch.org/whl/cpu)"}


@contextlib.contextmanager
def needed_packages(what: str = "this") -> Iterator[None]:
    """Raise MissingPackageError where an import in the block finds that a package is missing."""
    try:
        yield
    except ModuleNotFoundError as error:
        if isinstance(error, FirthError) or not error.name or "." in error.name:
            raise  # a package is there, but incomplete
        if error.name.lstrip("_") in sys.stdlib_module_names:
            raise FirthError(
                f"{what} needs {error.name.lstrip('_')}, which this Python was built without; "
                "use another Python"
            ) from error
        raise missing_package(error.name, what) from error


def missing_package(package: str, what: str) -> MissingPackageError:
    """Return the error of a package that is not installed."""
    name, hint = _NAMES.get(package, package), _HINTS.get(package, "")
    return MissingPackageError(f"{what} needs the package {name}; pip install {name}{hint}")


def require_torch(what: str) -> None:
    """Raise if torch, which ``what`` needs, is not installed; without importing it."""
    if importlib.util.find_spec("torch") is None:
        raise missing_package("torch", what)


def imported(package: str, missing: FirthError) -> Any:
    """Import a package that need not be installed; raise ``missing`` if it is not."""
    try:
        importlib.import_module(package.partition(".")[0])
        return importlib.import_module(package)
    except ImportError:
        raise missing from None


def one_line(error: Exception) -> str:
    """Return the message of an error of a library on one line."""
    return " ".join(str(error).split()) or type(error).__name__
