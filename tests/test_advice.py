"""Advice in messages and examples: the commands exist and take the options."""

import ast
import re
import shlex
from pathlib import Path

import click
import pytest

from firth.cli import COMMANDS, load_command
from firth.corpora.common.options import as_command_line

ROOT = Path(__file__).parents[1]

FILES = [
    ROOT / "cli.py",
    *(p for d in ("corpora", "embed", "pretrain") for p in (ROOT / d).rglob("*.py")),
]
OTHERS = {"--help-all", "--version", "--debug", "--help"}


def strings(*, docstrings):
    """Every string of the product as the command line shows it; placeholders are ``{}``."""
    for path in FILES:
        for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
            if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant) and docstrings:
                yield path, str(node.value.value)
            elif isinstance(node, ast.JoinedStr):
                parts = [v.value if isinstance(v, ast.Constant) else "{}" for v in node.values]
                yield path, as_command_line("".join(map(str, parts)))
            elif isinstance(node, ast.Constant) and isinstance(node.value, str):
                yield path, as_command_line(node.value)


@pytest.mark.slow
def test_every_command_in_an_example_or_message_is_parsed():
    failures = []
    for path, text in strings(docstrings=True):
        for line in re.findall(
            r"^ +firth ([a-z][a-z-]+ .+)$", text.replace("\\\n", " "), re.MULTILINE
        ):
            name, *args = shlex.split(line.partition(" | ")[0].partition(" > ")[0])
            if name not in COMMANDS:
                failures.append((path.name, line))
                continue
            try:
                load_command(name).make_context(name, args, resilient_parsing=False)
            except click.exceptions.Exit:
                pass
            except click.UsageError as error:
                if isinstance(error, click.NoSuchOption):
                    failures.append((path.name, line, error.format_message()))
    assert failures == []


@pytest.mark.slow
def test_every_function_in_a_message_is_a_command():
    shown = {
        name
        for _, text in strings(docstrings=False)
        for name in re.findall(r"firth ([a-z][a-z-]+)", text)
    }
    assert shown - {*COMMANDS} == {"import", "train-"}  # Python, and a name that is composed
