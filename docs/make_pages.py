"""Write the pages that follow from the program: commands.md and modules.md.

``make docs`` runs it; with ``--check`` it only tells whether they are current, as a test does.
"""

import ast
import sys
from pathlib import Path

import click

from cli import COMMANDS, SUMMARIES, main

DOCS = Path(__file__).resolve().parent
WIDTH = 96
_PACKAGES = ("corpora", "embed", "pretrain")

_COMMANDS_OPENING = """\
# Commands

Written by `make docs` from each command's `--help`; mend a sentence in the program, not here.

Mistakes of the person at the keyboard end in one line on standard error and exit status 1, wrong
usage in exit status 2. `firth --debug COMMAND ...` shows where an error came from. Results go to
standard output, everything else to standard error.
"""

_MODULES_OPENING = """\
# Every file in one line

Written by `make docs` from the first line of each file; mend it there, not here. What each folder
is for, and which may import which, is told in [How the program is built](architecture.md).
"""


def help_text(command: click.Command, name: str) -> str:
    """Render a command's help as on a terminal of a fixed width.

    Parameters
    ----------
    command : click.Command
        A command or group.
    name : str
        How it is called: ``firth`` or ``firth neighbors``.

    Returns
    -------
    str
        What ``--help`` prints, without the last line end.
    """
    context = click.Context(
        command,
        info_name=name,
        terminal_width=WIDTH,
        max_content_width=WIDTH,
        help_option_names=["-h", "--help"],
    )
    return "\n".join(line.rstrip() for line in command.get_help(context).splitlines())


def commands_page() -> str:
    """Compose commands.md.

    Returns
    -------
    str
        Markdown: a table of the commands, then each one's help.
    """
    lines = [_COMMANDS_OPENING, "| command | what it does |", "|---|---|"]
    lines += [f"| [`{name}`](#firth-{name}) | {SUMMARIES[name]} |" for name in COMMANDS]
    lines += ["", *_section("firth", main)]
    context = click.Context(main)
    for name in COMMANDS:
        command = main.get_command(context, name)
        assert command is not None, name
        lines += ["", *_section(f"firth {name}", command)]
    return "\n".join(lines) + "\n"


def modules_page() -> str:
    """Compose modules.md.

    Returns
    -------
    str
        Markdown: a table per package, a row per file.
    """
    lines = [_MODULES_OPENING, f"`cli.py`: {_first_line(DOCS.parent / 'cli.py')}"]
    for package in _PACKAGES:
        for opening in sorted((DOCS.parent / package).rglob("__init__.py")):
            lines += _folder_section(opening.parent)
    return "\n".join(line for line in lines).rstrip("\n") + "\n"


PAGES = {"commands.md": commands_page, "modules.md": modules_page}


def _folder_section(folder: Path) -> list[str]:
    """One folder: heading, what it is for, a row per file."""
    name = folder.relative_to(DOCS.parent).as_posix()
    lines = ["", f"## {name}/", "", _first_line(folder / "__init__.py"), ""]
    files = [path for path in sorted(folder.glob("*.py")) if path.name != "__init__.py"]
    rows = [f"| `{path.name}` | {_first_line(path).replace('|', '&#124;')} |" for path in files]
    return [*lines, *(["| file | what it is |", "|---|---|", *rows] if rows else [])]


def _section(name: str, command: click.Command) -> list[str]:
    """One command: heading and help."""
    return [f"## {name}", "", "```text", help_text(command, name), "```"]


def _first_line(path: Path) -> str:
    """The opening of a module's docstring, double backquotes made single as Markdown has them."""
    docstring = ast.get_docstring(ast.parse(path.read_text(encoding="utf-8"))) or ""
    return docstring.split("\n\n")[0].replace("\n", " ").replace("``", "`")


def stale_pages() -> list[str]:
    """Compare the pages with what the program gives now.

    Returns
    -------
    list of str
        Names of the pages to write again.
    """
    pages = [(DOCS / name, compose()) for name, compose in PAGES.items()]
    return [
        path.name
        for path, text in pages
        if not path.exists() or path.read_text(encoding="utf-8") != text
    ]


if __name__ == "__main__":
    stale = stale_pages()
    if "--check" in sys.argv:
        sys.exit(f"not current: {', '.join(stale)}; write again: make docs" if stale else 0)
    for name in stale:
        (DOCS / name).write_text(PAGES[name](), encoding="utf-8")
    print(f"written: {', '.join(stale) or 'nothing, all pages are current'}")
