"""The guides to adding a method, a task and a reader work when followed in a copy.

The files of a page are written, its diffs applied, its tests run with ours, and its commands print
what the page shows. The guide to adding a mixer shows code that the program has.
"""

import doctest
import json
import os
import re
import shlex
import shutil

import pytest

from tests.fenced import fenced_blocks
from tests.run_python import run_python
from tests.source import PACKAGES, ROOT

pytestmark = pytest.mark.process

PAGES = [ROOT / "docs" / "adding" / f"{name}.md" for name in ("method", "task", "reader")]
BLOCKS = {page.stem: fenced_blocks(page) for page in PAGES}
MIXER = ROOT / "docs" / "adding" / "mixer.md"
CHANGES = [(name, b) for name, blocks in BLOCKS.items() for b in blocks if b.language == "diff"]
FILES = [
    (name, b)
    for name, blocks in BLOCKS.items()
    for b in blocks
    if b.path and b.language in ("python", "text")
]
COMMANDS = [
    (name, *found)
    for name, blocks in BLOCKS.items()
    for b in blocks
    if b.language == "console"
    for found in re.findall(r"^\$ (.*)\n((?:(?!\$ ).*\n)*)", b.text, re.MULTILINE)
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE
# One process runs all commands, since imports take most of the time.
DRIVER = """
import contextlib, io, json, runpy, sys
from firth.cli import main
outputs = []
for program, *words in json.load(sys.stdin):
    with contextlib.redirect_stdout(io.StringIO()) as out:
        if program == "firth":
            main(words, standalone_mode=False)
        else:
            runpy.run_path(words[0])
    outputs.append(out.getvalue())
json.dump(outputs, sys.stdout)
"""


def applied(text, change):
    """Apply the hunks of a diff to a text; the context of each must occur exactly once."""
    for hunk in re.split(r"^@@\n", change, flags=re.MULTILINE):
        lines = hunk.splitlines(keepends=True)
        before = "".join(line[1:] for line in lines if line[0] in " -")
        after = "".join(line[1:] for line in lines if line[0] in " +")
        assert text.count(before) == 1, f"{text.count(before)} places for:\n{before}"
        text = text.replace(before, after)
    return text


@pytest.fixture(scope="module")
def tree(tmp_path_factory):
    """Return a copy of the program with all additions of the pages."""
    tree = tmp_path_factory.mktemp("adding")
    for name in ("firth", *PACKAGES):
        shutil.copytree(ROOT / name, tree / name, symlinks=True)  # including compiled kernels
    kept = ("cli.py", "pyproject.toml", "tests/test_layers.py", "tests/test_docstrings.py")
    helpers = ("conftest", "limits", "processes", "run_python", "source", "corpora/conftest")
    changed = (block.path for _, block in CHANGES)
    for name in (*kept, *(f"tests/{name}.py" for name in helpers), *changed):
        (tree / name).parent.mkdir(parents=True, exist_ok=True)
        shutil.copy2(ROOT / name, tree / name)
    for _, block in FILES:
        (tree / block.path).parent.mkdir(parents=True, exist_ok=True)
        assert not (tree / block.path).exists(), block.path
        (tree / block.path).write_text(block.text, encoding="utf-8")
    for _, block in CHANGES:
        file = tree / block.path
        file.write_text(applied(file.read_text("utf-8"), block.text), encoding="utf-8")
    return tree


def run(tree, *arguments, **options):
    """Run Python in the copy."""
    environment = {**os.environ, "FIRTH_CACHE": str(tree / "cache"), "PYTHONPATH": str(tree)}
    return run_python(*arguments, cwd=tree, env=environment, **options)


@pytest.fixture(scope="module")
def printed(tree):
    """Return the output of each command of the pages."""
    commands = json.dumps([shlex.split(line) for _, line, _ in COMMANDS])
    done = run(tree, "-c", DRIVER, input=commands)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


@pytest.mark.parametrize(
    "number", range(len(COMMANDS)), ids=[f"{name}: {line}" for name, line, _ in COMMANDS]
)
def test_a_command_prints_what_the_page_shows(printed, number):
    *_, shown = COMMANDS[number]
    checker = doctest.OutputChecker()
    assert checker.check_output(shown, printed[number], FLAGS), printed[number]


def test_additions_pass_their_tests_and_the_general_rules(tree):
    own = [block.path for _, block in FILES if "/test_" in block.path]
    rules = (
        "tests/test_layers.py",
        "tests/test_docstrings.py",
        "tests/corpora/reading/test_readers.py",
    )
    done = run(tree, "-m", "pytest", "-q", "-p", "no:cacheprovider", *rules, *own)
    assert done.returncode == 0, done.stdout
    assert len(own) == len(PAGES)


def test_additions_are_linted_and_formatted(tree):
    files = [block.path for _, block in [*FILES, *CHANGES] if block.path.endswith(".py")]
    for how in (["check"], ["format", "--check"]):
        done = run(tree, "-m", "ruff", *how, "--no-cache", *files)
        assert done.returncode == 0, done.stdout


def test_the_code_of_a_mixer_is_that_of_the_program():
    shown = [block for block in fenced_blocks(MIXER) if block.path]
    for block in shown:
        change = block.language == "diff"
        code = re.sub(r"^[ +]", "", block.text, flags=re.MULTILINE) if change else block.text
        assert code in (ROOT / block.path).read_text(encoding="utf-8"), block.path
    assert len(shown) == 3


def test_a_change_without_its_context_is_an_error():
    with pytest.raises(AssertionError, match="0 places"):
        applied("a\nb\n", " c\n+d\n")
    assert applied("a\nb\nz\n", " a\n-b\n+c\n@@\n z\n+y\n") == "a\nc\nz\ny\n"
