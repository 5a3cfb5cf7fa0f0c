"""Lazy public names of a package (PEP 562).

``embed.train_svd`` is ``embed.svd.train.train_svd``. Importing that takes a second, and most
commands do not need it, so a package's ``__init__.py`` imports it on first access. The names
are repeated there under ``TYPE_CHECKING`` for type checkers.
"""

import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Return a package's ``__getattr__`` and ``__dir__``; ``homes`` maps modules to names."""
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:  # perhaps a submodule, which Python tries next
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = pkgutil.resolve_name(f"{home[name]}:{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return get, names
