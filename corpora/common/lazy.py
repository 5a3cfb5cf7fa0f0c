"""What a package offers by its own name, imported when it is asked for.

``embed.train_svd`` is ``embed.svd.train.train_svd``. Importing that takes a second, and most
commands do without, so a package's ``__init__.py`` imports it only when the attribute is looked
up (PEP 562). The same names stand there once more for type checkers, which never run anything.
"""

import pkgutil
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any


def lazy_exports(
    package: str, homes: Mapping[str, Sequence[str]]
) -> tuple[Callable[[str], Any], Callable[[], list[str]]]:
    """Make a package's ``__getattr__`` and ``__dir__``."""
    home = {name: module for module, names in homes.items() for name in names}

    def get(name: str) -> Any:
        if name not in home:  # a submodule, perhaps, which Python looks for next
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = pkgutil.resolve_name(f"{home[name]}:{name}")
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *home})

    return get, names
