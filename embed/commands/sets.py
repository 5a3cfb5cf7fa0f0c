"""Options that name the kind of an evaluation set, for files that may be of several."""

from collections.abc import Iterable
from typing import Any

from firth.corpora.common.command import option
from firth.embed.compare.kinds import KINDS


def set_options(command: Any) -> Any:
    """Add an option for each kind; the help of the first tells them all."""
    first, *others = KINDS
    listed = ", ".join(f"--{key} ({KINDS[key].files})" for key in others)
    text = f"A set whose kind is not recognized, of {KINDS[first].files}. So too {listed}."
    for key in reversed(KINDS):
        command = option(
            f"--{key}", multiple=True, metavar="FILE", group="Sets and scores",
            hidden=key != first, help=text if key == first else KINDS[key].files,
        )(command)  # fmt: skip
    return command


def taken_sets(files: Iterable[str], options: dict[str, Any]) -> tuple[str, ...]:
    """Return the sets of a command, and take those with a kind out of its options."""
    named = {key: options.pop(key.replace("-", "_")) for key in KINDS}
    return (*files, *(f"{key}={file}" for key, given in named.items() for file in given))
