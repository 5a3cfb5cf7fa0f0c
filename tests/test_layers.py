"""Who may import whom, read off the source; and what `firth --help` may load."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("corpora", "embed", "pretrain")
FILES = sorted(
    [ROOT / "cli.py", *(path for name in PACKAGES for path in (ROOT / name).rglob("*.py"))]
)
# What makes vectors, as opposed to what holds, asks or scores them.
TRAINING = (
    "barrier_kernels",
    "cooccurrence",
    "initial",
    "inverted",
    "methods",
    "noise",
    "ppmi",
    "row_writer",
    "svd",
    "training_text",
    "vector_kernels",
    "window_weights",
    "word2vec",
)


@dataclass(frozen=True)
class Import:
    """One imported module: in which file and line, and whether at import time."""

    file: str
    line: int
    module: str
    at_module_level: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def imports_of(source: str, file: str) -> Iterator[Import]:
    """Every import of a file; ``from a import b`` counts as ``a.b``."""
    tree = ast.parse(source)
    late = {
        id(node)
        for outer in ast.walk(tree)
        if isinstance(outer, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
        or _is_type_checking(outer)
        for node in ast.walk(outer)
    }
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, file)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            continue
        for name in names:
            yield Import(file, node.lineno, name, id(node) not in late)


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _absolute(node: ast.ImportFrom, file: str) -> str:
    if not node.level:
        return node.module or ""
    parents = Path(file).parts[: -node.level]
    return ".".join([*parents, *([node.module] if node.module else [])])


ALL = [
    found
    for path in FILES
    for found in imports_of(path.read_text(encoding="utf-8"), path.relative_to(ROOT).as_posix())
]


def offenders(folder: str, forbidden: tuple[str, ...], *, only_early: bool = False) -> list[str]:
    """Imports, in files below a folder, of modules or anything below them."""
    return [
        str(found)
        for found in ALL
        if found.file.startswith(folder)
        and any(f"{found.module}.".startswith(f"{name}.") for name in forbidden)
        and (found.at_module_level or not only_early)
    ]


def test_the_reader_of_imports_sees_late_relative_and_plain_ones():
    source = (
        "import a.b\nfrom c import d\nfrom ..vectors import X\n"
        "def f():\n    import torch\nif TYPE_CHECKING:\n    import e\n"
    )

    found = [(i.module, i.at_module_level) for i in imports_of(source, "embed/compare/tasks.py")]

    assert found == [
        ("a.b", True),
        ("c.d", True),
        ("embed.vectors.X", True),
        ("torch", False),
        ("e", False),
    ]


def test_corpora_knows_nothing_of_vectors_or_models():
    assert offenders("corpora/", ("embed", "pretrain", "cli", "torch", "transformers")) == []


def test_embed_does_not_know_pretraining():
    assert offenders("embed/", ("pretrain", "cli", "transformers")) == []


def test_compare_does_not_know_how_vectors_are_trained():
    parts = [path.stem for path in (ROOT / "embed").glob("*.py")]
    training = [
        part for part in parts if any(part == t or part.startswith(f"{t}_") for t in TRAINING)
    ]

    forbidden = tuple(f"embed.{part}" for part in (*training, *TRAINING, "commands"))

    assert offenders("embed/compare/", forbidden) == []


def test_pretraining_knows_of_embed_only_protocols_vectors_and_pooling():
    files = ("embed.run_files", "embed.wordlist")
    allowed = ("embed.protocols", "embed.vectors", "embed.pooling", *files)
    found = offenders("pretrain/", ("embed", "cli"))
    assert [line for line in found if not any(f" {name}." in line for name in allowed)] == []


def test_nothing_imports_the_command_line():
    assert offenders("", ("cli",)) == []


def test_numba_is_imported_by_kernels_only():
    found = [str(i) for i in ALL if i.module.split(".")[0] in ("numba", "llvmlite")]
    assert [line for line in found if "_kernels.py:" not in line] == []


@pytest.mark.parametrize(
    "slow", ["torch", "gensim", "sklearn", "tokenizers", "rich", "pyarrow", "matplotlib"]
)
def test_what_is_slow_to_import_is_imported_where_it_is_used(slow):
    assert offenders("corpora/", (slow,), only_early=True) == []
    assert offenders("embed/", (slow,), only_early=True) == []
    assert offenders("cli.py", (slow,), only_early=True) == []


def test_package_files_import_at_once_only_what_makes_the_rest_wait():
    early = [i for i in ALL if i.file.endswith("__init__.py") and i.at_module_level]
    allowed = ("typing.TYPE_CHECKING", "corpora.lazy.offer")
    assert [str(i) for i in early if i.module not in allowed] == []


def test_every_package_is_installed():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    packages = [path.parent for path in FILES if path.name == "__init__.py"]
    names = [path.relative_to(ROOT).as_posix().replace("/", ".") for path in packages]
    assert sorted(project["tool"]["setuptools"]["packages"]) == sorted(names)


def loaded_by(code: str) -> list[str]:
    """Run code in a new interpreter; tell which slow or own modules it loaded."""
    watched = "numpy scipy torch gensim numba sklearn tokenizers rich embed corpora.commands"
    report = f"print(*(name for name in {watched.split()!r} if name in sys.modules))"
    done = subprocess.run(
        [sys.executable, "-c", f"import sys\n{code}\n{report}"],
        capture_output=True,
        text=True,
        cwd=ROOT,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()[-1].split()


def test_help_loads_no_command_and_not_even_numpy():
    code = """
from cli import main
try:
    main(["--help"])
except SystemExit:
    pass
"""
    assert loaded_by(code) == []
