"""Import rules: layers of subpackages, and what may be imported at start."""

import ast
import functools
import importlib
import re
import tomllib
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import pytest

import firth
from firth.cli import COMMANDS
from firth.corpora.common.options import as_command_line
from tests.run_python import run_python
from tests.source import FILES, PACKAGES, ROOT, module_name, parsed

# All folders, and modules beside them, by layer: each may import from lines above, but not from its
# own line or below. Names are without ``firth.`` here.
LAYERS = """
corpora.common
corpora.artifacts
corpora.datasets corpora.graphs corpora.text
corpora.reading corpora.store corpora.tokenizer
corpora.encoding
corpora.commands
embed.protocols embed.registry
embed.runs
embed.vectors
embed.formats embed.svd
embed.resampling
embed.query
embed.word2vec embed.contextual embed.autoencoder
embed.nplm
embed.explore
embed.compare.kinds
embed.compare.config
embed.compare.statistics embed.compare.datasets embed.compare.probes embed.compare.inputs
embed.compare.task
embed.compare.tasks embed.compare.intrinsic
embed.compare.scoring
embed.compare.report.document
embed.compare.curves embed.compare.pooling_weights
embed.compare.report
embed.compare.api embed.compare.recommend
embed.align
embed.change embed.regress
embed.refine
embed.predict embed.label
embed.study
embed.commands
pretrain.mixers pretrain.attention_scores pretrain.objectives
pretrain.shape
pretrain.config pretrain.device
pretrain.data
pretrain.model
pretrain.inference
pretrain.huggingface
pretrain.training
pretrain.train pretrain.fine_tune
pretrain.commands
sklearn
cli
__main__
"""
RANKS = {name: rank for rank, line in enumerate(LAYERS.splitlines()) for name in line.split()}
PACKAGE_FILES = ("firth", "corpora", "embed", "embed.compare", "pretrain")  # belong to no layer


@dataclass(frozen=True)
class Import:
    """An imported module, with file and line, and whether it is imported at import time."""

    file: str
    line: int
    module: str
    at_module_level: bool

    def __str__(self) -> str:
        return f"{self.file}:{self.line} imports {self.module}"


def imports_of(tree: ast.Module, file: str) -> Iterator[Import]:
    """Yield the imports of a file; ``from a import b`` counts as ``a.b``."""
    pending: list[tuple[ast.AST, bool]] = [(tree, True)]
    for node, early in pending:  # grows in the loop
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        elif isinstance(node, ast.ImportFrom):
            base = _absolute(node, file)
            names = [f"{base}.{alias.name}" for alias in node.names]
        else:
            names = []
        for name in names:
            yield Import(file, node.lineno, name.removeprefix("firth."), early)
        late = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) or _is_type_checking(node)
        pending += [
            (inner, early and not late)
            for inner in ast.iter_child_nodes(node)
            if isinstance(inner, ast.stmt | ast.excepthandler | ast.match_case)
        ]


def _is_type_checking(node: ast.AST) -> bool:
    return isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)


def _absolute(node: ast.ImportFrom, file: str) -> str:
    if not node.level:
        return node.module or ""
    parents = Path(file).parts[: -node.level]
    return ".".join([*parents, *([node.module] if node.module else [])])


@functools.cache
def all_imports() -> list[Import]:
    """Return all imports of the program."""
    return [
        found
        for path in FILES
        for found in imports_of(parsed(path), path.relative_to(ROOT).as_posix())
    ]


def module_of(path: Path) -> str:
    """Return the name of a module in ``LAYERS``."""
    return module_name(path).removeprefix("firth.")


MODULES = {module_of(path) for path in FILES}


@functools.cache
def graph() -> dict[str, set[str]]:
    """Return the project modules that each module imports at any time."""
    found: dict[str, set[str]] = {module: set() for module in MODULES}
    for each in all_imports():
        importer = module_of(ROOT / each.file)
        # `a.b.C` is the module a.b; `a.b` may be a module or a name that package a exports
        target = each.module if each.module in MODULES else each.module.rpartition(".")[0]
        if target in MODULES and target != importer:
            found[importer].add(target)
    return found


def layer_of(module: str) -> str | None:
    """Return the entry of LAYERS for a module, its longest matching prefix."""
    parts = module.split(".")
    names = (".".join(parts[:n]) for n in range(len(parts), 0, -1))
    return next((name for name in names if name in RANKS), None)


def upward(edges: Mapping[str, Iterable[str]]) -> set[tuple[str, str]]:
    """Return imports from the importer's own line or below, except within one entry."""
    return {
        (importer, target)
        for importer, targets in edges.items()
        for target in targets
        if importer not in PACKAGE_FILES and target not in PACKAGE_FILES
        if layer_of(importer) != layer_of(target)
        and RANKS[layer_of(target)] >= RANKS[layer_of(importer)]
    }


def cycles(edges: Mapping[str, Iterable[str]]) -> list[list[str]]:
    """Return the import cycles: Tarjan's strongly connected components of two or more."""
    index: dict[str, int] = {}
    low: dict[str, int] = {}
    stack: list[str] = []
    found: list[list[str]] = []

    def visit(module: str) -> None:
        index[module] = low[module] = len(index)
        stack.append(module)
        for target in edges[module]:
            if target not in index:
                visit(target)
            if target in stack:
                low[module] = min(low[module], low[target])
        if low[module] == index[module]:
            start = stack.index(module)
            if len(stack) - start > 1:
                found.append(sorted(stack[start:]))
            del stack[start:]

    for module in edges:
        if module not in index:
            visit(module)
    return found


def test_imports_of_finds_late_relative_and_plain_imports():
    source = (
        "import a.b\nfrom c import d\nfrom ..vectors import X\n"
        "def f():\n    import torch\nif TYPE_CHECKING:\n    import e\n"
    )
    found = imports_of(ast.parse(source), "embed/compare/task.py")
    early = {each.module: each.at_module_level for each in found}
    late = {"torch": False, "e": False}
    assert early == {"a.b": True, "c.d": True, "embed.vectors.X": True, **late}


def test_upward_imports_and_cycles_are_found():
    edges = {
        "corpora.text.segment": ["corpora.encoding.pipeline"],
        "corpora.encoding.pipeline": ["corpora.text.segment", "corpora.encoding.encode"],
        "corpora.encoding.encode": [],
        "corpora.datasets.named": ["corpora.text.segment"],
    }

    assert upward(edges) == {
        ("corpora.text.segment", "corpora.encoding.pipeline"),
        ("corpora.datasets.named", "corpora.text.segment"),
    }
    assert cycles(edges) == [["corpora.encoding.pipeline", "corpora.text.segment"]]


def test_every_module_belongs_to_a_layer():
    assert [name for name in sorted(MODULES) if layer_of(name) is None] == sorted(PACKAGE_FILES)


def test_every_layer_entry_exists():
    assert sorted(RANKS.keys() - MODULES) == []


@pytest.mark.slow
def test_modules_import_only_lower_layers():
    assert upward(graph()) == set()


def test_modules_import_each_other_not_the_public_names():
    assert [str(i) for i in all_imports() if i.module in set(firth.__all__) - set(PACKAGES)] == []


def test_names_of_classes_are_unique():
    names = [
        node.name
        for path in FILES
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef) and not node.name.startswith("_")
    ]
    assert [name for name, n in Counter(names).items() if n > 1] == []


def test_there_are_no_import_cycles():
    assert cycles({name: targets - set(PACKAGE_FILES) for name, targets in graph().items()}) == []


def offenders(folder: str, forbidden: tuple[str, ...], *, only_early: bool = False) -> list[str]:
    """Return imports of forbidden modules, or anything below them, in files of a folder."""
    return [
        str(found)
        for found in all_imports()
        if found.file.startswith(folder)
        and any(f"{found.module}.".startswith(f"{name}.") for name in forbidden)
        and (found.at_module_level or not only_early)
    ]


@pytest.mark.parametrize(
    ("folder", "forbidden"),
    [
        ("corpora/", ("embed", "pretrain", "cli", "transformers")),
        ("embed/", ("pretrain", "cli", "transformers")),
    ],
    ids=["corpora", "embed"],
)
def test_packages_do_not_import(folder, forbidden):
    assert offenders(folder, forbidden) == []


@pytest.mark.parametrize(
    ("folder", "allowed"),
    [
        # evaluation is independent of training
        ("embed/compare/", "protocols registry runs vectors formats query contextual compare"),
        (
            "pretrain/",
            (
                "commands.training protocols registry runs vectors formats svd.train "
                "svd.piece_text contextual.pooling contextual.encoded_text compare.statistics"
            ),
        ),
    ],
    ids=["compare", "pretrain"],
)
def test_only_these_parts_of_embed_are_imported(folder, allowed):
    found = offenders(folder, ("embed",))
    names = [f" embed.{name}." for name in allowed.split()]
    assert [line for line in found if not any(name in line for name in names)] == []


IMPORT_PATH = re.compile(r"firth(?:\.\w+)+(?::\w+)?")


def paths_in_text() -> Iterator[tuple[str, str]]:
    """Yield every string of the program that is an import path, with its file."""
    for path in FILES:
        for node in ast.walk(parsed(path)):
            text = node.value if isinstance(node, ast.Constant) else None
            if isinstance(text, str) and IMPORT_PATH.fullmatch(text):
                yield path.relative_to(ROOT).as_posix(), text


@pytest.mark.slow
def test_import_paths_in_strings_exist():
    found = list(paths_in_text())
    broken = []
    for file, path in found:
        module, _, name = path.partition(":")
        home = ROOT.joinpath(*module.split(".")[1:])
        source = home.with_suffix(".py") if home.with_suffix(".py").is_file() else home
        if not source.exists():
            broken.append(f"{file}: {path}")
        elif name:
            defined = rf"^(def |class |){name}\b"
            if not re.search(defined, source.read_text(encoding="utf-8"), re.MULTILINE):
                broken.append(f"{file}: {path}")
    assert broken == []
    assert len(found) > 25  # methods, encoders, tasks: the pattern still finds them


# Strings with an option or command that are not messages: commands for other processes, and
# click's own.
OPTIONS_ALLOWED = {
    "corpora/artifacts/provenance.py": "arguments of git",
    "corpora/common/command.py": "declares --help-all, and --device of commands that encode",
    "corpora/common/estimate.py": "declares the options --dry-run and --json",
    "corpora/common/cluster.py": "declares the option --cluster of the commands that use one",
    "embed/runs/seeds.py": "hints at the command that compares the runs",
    "embed/study/study.py": "names the commands of steps",
}


def strings_of(tree: ast.AST) -> Iterator[ast.Constant]:
    """Every string of a module that is not a docstring."""
    owners = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef
    docstrings = {
        id(node.body[0].value)
        for node in ast.walk(tree)
        if isinstance(node, owners) and node.body and isinstance(node.body[0], ast.Expr)
    }
    for node in ast.walk(tree):
        is_text = isinstance(node, ast.Constant) and isinstance(node.value, str)
        if is_text and id(node) not in docstrings:
            yield node


@pytest.mark.slow
def test_messages_of_the_library_name_no_options_or_commands():
    found = {
        path.relative_to(ROOT).as_posix(): node.value
        for path in FILES
        if path != ROOT / "cli.py" and path.parent.name != "commands"
        for node in strings_of(parsed(path))
        if re.search(r"--[a-z]|\bfirth [a-z]", node.value)
    }
    assert {file: text for file, text in found.items() if file not in OPTIONS_ALLOWED} == {}
    assert sorted(found) == sorted(OPTIONS_ALLOWED)


@pytest.mark.slow
def test_functions_in_messages_are_public_and_have_a_command():
    public = set(firth.__all__)
    found = {
        name
        for path in FILES
        for node in strings_of(parsed(path))
        for name in re.findall(r"`([a-z_]+)\(\)`", node.value)
    }
    assert found >= {"build_corpus", "pool_run", "train_svd", "train_mlm"}
    assert found <= public
    commands = [as_command_line(f"`{name}()`") for name in found]
    assert [line for line in commands if line.removeprefix("firth ") not in COMMANDS] == []


def test_corpora_imports_torch_only_to_choose_the_device():
    found = offenders("corpora/", ("torch",))
    assert [line for line in found if not line.startswith("corpora/common/device.py:")] == []


def test_only_kernels_import_numba():
    found = [str(i) for i in all_imports() if i.module.split(".")[0] in ("numba", "llvmlite")]
    kernels = re.compile(r"(_kernels|/kernels/\w+|^corpora/common/jit)\.py:")
    assert [line for line in found if not kernels.search(line)] == []


def test_kernels_are_compiled_only_by_our_decorator():
    numba_itself = [i for i in all_imports() if i.module in ("numba", "numba.jit", "numba.njit")]
    assert {i.file for i in numba_itself} == {"corpora/common/jit.py"}


def test_slow_packages_are_imported_where_they_are_used():
    slow = (
        "gensim", "sklearn", "tokenizers", "rich", "pyarrow", "matplotlib", "jinja2", "starlette",
        "uvicorn", "distributed", "fsspec", "mcp", "jsonschema",
    )  # fmt: skip
    for folder in ("corpora/", "embed/", "cli.py"):
        assert offenders(folder, ("torch", *slow), only_early=True) == []
    assert offenders("pretrain/", slow, only_early=True) == []


def test_package_files_import_only_the_lazy_machinery():
    early = [i for i in all_imports() if i.file.endswith("__init__.py") and i.at_module_level]
    allowed = (
        "os", "lazy_loader", "corpora.common.errors.needed_packages",
        "corpora.common.keywords.with_suggestions", "corpora.common.openmp.set_wait_policy",
    )  # fmt: skip
    assert [str(i) for i in early if i.module not in allowed] == []


def test_every_folder_is_an_installed_package():
    folders = sorted({path.parent for path in FILES} - {ROOT})
    assert [str(folder) for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_data_files_of_packages_are_installed():
    config = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["tool"][
        "setuptools"
    ]
    installed = {
        path
        for package, patterns in config["package-data"].items()
        for pattern in patterns
        for path in (ROOT / "firth").joinpath(*package.split(".")[1:]).glob(pattern)
    }
    present = {
        path
        for folder in ("firth", *(f"firth/{name}" for name in PACKAGES))
        for path in (ROOT / folder).rglob("*")
        if path.is_file() and path.suffix != ".py" and path.parent.name != "__pycache__"
    }
    assert present - installed == set()
    assert len(present) > 10  # templates, data sets


def test_no_file_repeats_the_name_of_its_folder():
    """A prefix that several files share is a folder."""
    modules = [path for path in FILES if path.parent != ROOT and path.name != "__init__.py"]
    prefixes = {path: (path.parent.name, path.parent.name.removesuffix("s")) for path in modules}
    assert [
        str(path.relative_to(ROOT))
        for path, names in prefixes.items()
        if any(path.stem.startswith(f"{name}_") for name in names)
    ] == []


def test_names_of_variables_are_no_adverbs_or_pronouns():
    stored = {
        f"{path.relative_to(ROOT)}:{node.lineno}": node.id
        for path in FILES
        for node in ast.walk(parsed(path))
        if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store)
    }
    unclear = {"there", "here", "elsewhere", "theirs", "ours"}
    assert {place: name for place, name in stored.items() if name in unclear} == {}


@pytest.mark.process
def test_help_loads_no_command_and_not_even_numpy():
    slow = "numpy scipy torch gensim numba sklearn tokenizers rich firth.embed.commands"
    code = f"""
import sys
from firth.cli import main
main(["--help"], standalone_mode=False)
print(*({set(slow.split()) | {"firth.corpora.commands"}} & sys.modules.keys()))
"""
    done = run_python("-c", code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == ""


@pytest.mark.process
def test_the_help_of_commands_loads_no_numpy():
    code = """
import sys
from firth.cli import main
for name in ("train-mlm", "train-skipgram", "compare", "neighbors", "study"):
    main([name, "--help"], standalone_mode=False)
print("numpy" in sys.modules)
"""
    done = run_python("-c", code, cwd=ROOT)
    assert done.returncode == 0, done.stderr
    assert done.stdout.splitlines()[-1] == "False"


@pytest.mark.slow
def test_what_the_benchmarks_import_exists():
    names = set(map(module_name, FILES))
    for path in (ROOT / "benchmarks").glob("*.py"):
        for node in ast.walk(parsed(path)):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("firth."):
                module = importlib.import_module(str(node.module))
                for name in (alias.name for alias in node.names):
                    inside = hasattr(module, name) or f"{node.module}.{name}" in names
                    assert inside, f"{path.name}:{node.lineno} imports {node.module}.{name}"
