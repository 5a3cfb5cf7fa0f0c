"""The source files of the program and their module names."""

import ast
import functools
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("corpora", "embed", "pretrain")
# not through the links in firth/, so that each file has one path
FILES = sorted(
    path
    for folder in (".", "firth", *PACKAGES)
    for path in (ROOT / folder).glob("cli.py" if folder == "." else "**/*.py")
    if not path.is_symlink()
)


def module_name(path: Path) -> str:
    """Return the dotted name of a module or package file."""
    parts = path.relative_to(ROOT).with_suffix("").parts
    parts = parts if parts[0] == "firth" else ("firth", *parts)
    return ".".join(parts[:-1] if parts[-1] == "__init__" else parts)


@functools.cache
def parsed(path: Path) -> ast.Module:
    """Return the syntax tree of a file."""
    return ast.parse(path.read_text(encoding="utf-8"))
