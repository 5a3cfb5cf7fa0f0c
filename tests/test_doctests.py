"""The examples in docstrings are run and correct."""

import doctest
import importlib
import re

import pytest

from tests.source import FILES, ROOT, module_name

_EXAMPLE = re.compile(r"^\s*>>> ", re.MULTILINE)
WITH_EXAMPLES = {
    path: len(_EXAMPLE.findall(path.read_text(encoding="utf-8")))
    for path in FILES
    if _EXAMPLE.search(path.read_text(encoding="utf-8"))
}


def test_there_are_examples():
    assert WITH_EXAMPLES


@pytest.mark.parametrize("path", WITH_EXAMPLES, ids=lambda path: str(path.relative_to(ROOT)))
def test_the_examples_of_a_module_are_correct(path, capsys):
    module = importlib.import_module(module_name(path))

    found = doctest.testmod(module)

    assert found.failed == 0, capsys.readouterr().out
    assert found.attempted == WITH_EXAMPLES[path]  # none is where doctest does not look
