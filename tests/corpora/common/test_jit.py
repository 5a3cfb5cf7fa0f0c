"""The kernel cache: entries are used only while all their sources are unchanged."""

import ast
import os
import shutil
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

from firth.corpora.common.jit import _Entries, _note_no_cache, _read, compiled
from firth.corpora.encoding.encode_kernels import renumber
from tests.source import FILES, module_name

KERNELS = [
    module_name(path)
    for path in FILES
    if path.stem.endswith("_kernels") or path.match("kernels/[a-z]*.py")
]
SOURCES = {
    "__init__.py": "",
    "numbers.py": "STEP = 1\n",
    "inner.py": """
from firth.corpora.common.jit import compiled
from tiny.numbers import STEP

@compiled
def inner(x):
    return x + STEP
""",
    "outer.py": """
from firth.corpora.common.jit import compiled
from tiny.inner import inner

@compiled(fastmath=True)
def outer(x):
    return inner(x) * 10
""",
}
PROGRAM = """
import sys, numba
numba.config.reload_config()  # which was imported with another environment
sys.path.insert(0, sys.argv[2])
sys.dont_write_bytecode = True  # Python's own cache misses changes of the same size and time
from tiny.outer import outer
stats = outer.stats.cache_hits, outer.stats.cache_misses
print(int(outer(eval(sys.argv[1]))), *(sum(each.values()) for each in stats))
"""


class Package:
    """Return a package of two kernels, one calling the other, with its own cache."""

    def __init__(self, server, folder):
        self.server = server
        self.folder = folder / "tiny"
        self.cache = folder / "cache"
        self.folder.mkdir()
        for name, source in SOURCES.items():
            (self.folder / name).write_text(source)

    def replace(self, name, old, new):
        """Change a file without changing its size and time."""
        file = self.folder / name
        before = file.stat()
        file.write_text(file.read_text().replace(old, new))
        os.utime(file, ns=(before.st_atime_ns, before.st_mtime_ns))
        assert file.stat().st_size == before.st_size

    def run(self, argument="1"):
        """Return the outer kernel's result in a new process, with cache hits and misses."""
        cache = {"NUMBA_CACHE_DIR": str(self.cache)}
        parent = self.folder.parent
        done = self.server.python(PROGRAM, argument, parent, workdir=parent, env=cache).wait()
        assert done.status == 0, done.stderr
        return tuple(int(word) for word in done.stdout.split())


@pytest.fixture
def package(server, tmp_path):
    return Package(server, tmp_path)


@pytest.mark.process
def test_a_kernel_is_recompiled_only_when_a_dependency_changed(package):
    assert package.run() == (20, 0, 1)
    package.replace("inner.py", "x + STEP", "x - STEP")
    assert package.run() == (0, 0, 1)
    package.replace("numbers.py", "1", "2")
    assert package.run() == (-10, 0, 1)
    assert package.run() == (-10, 1, 0)


@pytest.mark.process
def test_cache_entries_of_other_sources_are_not_used(package, tmp_path):
    package.run()
    old = shutil.copytree(package.cache, tmp_path / "old")
    package.replace("numbers.py", "1", "2")
    assert package.run() == (30, 0, 1)
    for file in old.rglob("*.nbc"):  # only the code; the index is the other process's
        shutil.copy(file, package.cache / file.relative_to(old))
    assert package.run() == (30, 0, 1)


@pytest.mark.process
def test_what_another_process_wrote_for_other_types_is_not_used(package, tmp_path):
    assert package.run("1.5") == (25, 0, 1)
    other = package.cache.rename(tmp_path / "other")
    assert package.run() == (20, 0, 1)
    for file in other.rglob("*.nbc"):  # begun at once, both number their first file 1
        shutil.copy(file, package.cache / file.relative_to(other))
    assert package.run() == (20, 0, 1)


@pytest.mark.process
def test_a_cache_that_names_a_renamed_type_is_not_used(package):
    record = "from typing import NamedTuple\n\nclass Pair(NamedTuple):\n    left: int\n"
    (package.folder / "numbers.py").write_text(SOURCES["numbers.py"] + record)
    (package.folder / "inner.py").write_text(SOURCES["inner.py"].replace("x + ", "x.left + "))
    argument = "__import__('tiny.numbers').numbers.Pair(1)"
    assert package.run(argument) == (20, 0, 1)
    package.replace("numbers.py", "Pair", "Duo_")
    argument = argument.replace("Pair", "Duo_")
    assert package.run(argument) == (20, 0, 1)
    assert package.run(argument) == (20, 1, 0)


def test_without_a_folder_for_the_cache_kernels_are_compiled_and_a_note_says_how(
    monkeypatch, capsys
):
    monkeypatch.setattr(_Entries, "_locator_classes", [])
    _note_no_cache.cache_clear()
    assert [compiled(renumber.py_func).stats.cache_path for _ in range(2)] == [None, None]
    assert capsys.readouterr().err.count("set NUMBA_CACHE_DIR to a folder that can be written") == 1


@pytest.mark.slow
@pytest.mark.parametrize("module", KERNELS)
def test_every_project_import_is_found(module):
    waiting, seen = [module], set()
    while waiting:
        name = waiting.pop()
        if name not in seen:
            seen.add(name)
            found = _read(name)[1]
            assert set(found) >= imported_by(name)
            waiting += found


def imported_by(module):
    """Return the project modules that a file imports at import time."""
    tree = ast.parse(Path(find_spec(module).origin).read_text(encoding="utf-8"))
    skipped = {id(inner) for node in ast.walk(tree) if is_late(node) for inner in ast.walk(node)}
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.Import) and id(node) not in skipped:
            found |= {alias.name for alias in node.names}
        elif isinstance(node, ast.ImportFrom) and id(node) not in skipped:
            assert not node.level, module
            found.add(node.module)
            if find_spec(node.module).submodule_search_locations is not None:
                inner = {f"{node.module}.{alias.name}" for alias in node.names}
                found |= {name for name in inner if find_spec(name) is not None}
    return {name for name in found if name.partition(".")[0] == "firth"}


def is_late(node):
    return isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or (
        isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
    )


@pytest.mark.process
def test_a_kernel_in_a_script_is_compiled_but_not_cached(root, tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "from firth.corpora.common.jit import compiled\n\n\n"
        "@compiled\ndef double(x):\n    return 2 * x\n\n\nprint(double(21))\n"
    )
    done = subprocess.run(
        [sys.executable, script], capture_output=True, text=True, check=False,
        env={**os.environ, "PYTHONPATH": str(root)},
    )  # fmt: skip
    assert done.stdout == "42\n", done.stderr
