"""Python in docs/python.md and the tutorial runs, and every public name is on the first."""

import ast
import doctest
import importlib
import inspect
import io
import re
import subprocess
import sys
from pathlib import Path

import pytest

import corpora
import embed
from embed.compare.probes import attention_pooling
from pretrain.data.objectives.masked import MaskedPieces
from tests.fenced import fenced_blocks

ROOT = Path(__file__).resolve().parents[1]
PAGE, TUTORIAL = ROOT / "docs" / "python.md", ROOT / "docs" / "tutorial.md"
PACKAGES = ("corpora", "embed", "pretrain")
HOMES = {package: importlib.import_module(package).HOMES for package in PACKAGES}
PUBLIC = [
    (package, name) for package in PACKAGES for names in HOMES[package].values() for name in names
]
FLAGS = doctest.ELLIPSIS | doctest.NORMALIZE_WHITESPACE


def examples_of(page):
    """Return a page's pycon blocks as one doctest, with the page's line numbers."""
    parser, examples = doctest.DocTestParser(), []
    for block in fenced_blocks(page):
        if block.language == "pycon":
            for example in parser.get_examples(block.text):
                example.lineno += block.line - 1
                examples.append(example)
    return doctest.DocTest(examples, {}, page.name, str(page), 0, None)


@pytest.mark.parametrize(("page", "n_lines"), [(PAGE, 30), (TUTORIAL, 5)], ids=["page", "tutorial"])
def test_every_block_gives_the_output_shown(page, n_lines, tmp_path, monkeypatch):
    pytest.importorskip("gensim")  # the pages read its texts and sets
    pytest.importorskip("matplotlib")
    monkeypatch.chdir(tmp_path)
    # shorter measurements and trainings, whose results the pages do not show
    monkeypatch.setattr(MaskedPieces, "held_out_targets", 400)
    monkeypatch.setattr(attention_pooling, "RATES", (1e-2,))
    monkeypatch.setattr(attention_pooling, "MARGINS", ((10.0, 0.1),))
    output = io.StringIO()

    with corpora.show_progress(False):
        found = doctest.DocTestRunner(optionflags=FLAGS).run(examples_of(page), out=output.write)

    assert found.failed == 0, output.getvalue()
    assert found.attempted == page.read_text(encoding="utf-8").count(">>> ") >= n_lines


@pytest.mark.parametrize(("package", "name"), PUBLIC, ids=".".join)
def test_every_public_name_is_documented_and_on_the_page(package, name):
    found = getattr(importlib.import_module(package), name)

    assert f"`{package}.{name}`" in PAGE.read_text(encoding="utf-8")
    described = inspect.getdoc(found) or ""
    if found is not corpora.FirthError:
        assert re.search("^(Parameters|Attributes)\n---", described, re.MULTILINE)
    assert described.split("\n\n")[0].endswith(".")


def test_the_page_names_only_public_names():
    named = re.findall(r"`(corpora|embed|pretrain)\.([A-Za-z_]+)`", PAGE.read_text("utf-8"))
    assert sorted(set(named)) == sorted(PUBLIC)


@pytest.mark.parametrize("package", PACKAGES)
def test_type_checkers_see_all_public_names(package):
    source = (ROOT / package / "__init__.py").read_text(encoding="utf-8")
    found_names = {
        (node.module, alias.name, alias.asname)
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.ImportFrom) and node.module.startswith(f"{package}.")
        for alias in node.names
        if alias.name not in ("lazy_exports", "set_wait_policy")
    }
    assert found_names == {(m, name, name) for m, names in HOMES[package].items() for name in names}


@pytest.mark.parametrize("package", PACKAGES)
def test_public_names_do_not_clash_with_submodules(package):
    # importing the submodule would shadow the name
    modules = {path.stem for path in (ROOT / package).iterdir()}
    assert modules & {name for _, name in PUBLIC} == set()


def test_public_names_are_listed_and_importable_by_star():
    everything = {}
    exec("from embed import *", everything)
    assert set(embed.__all__) <= set(dir(embed))
    assert set(embed.__all__) <= set(everything)


def test_an_unknown_name_raises_the_usual_attribute_error():
    with pytest.raises(AttributeError) as caught:
        embed.train_glove  # noqa: B018
    assert str(caught.value) == "module 'embed' has no attribute 'train_glove'"


@pytest.mark.parametrize("package", PACKAGES)
def test_packages_are_installed_with_py_typed(package):
    pyproject = (ROOT / "pyproject.toml").read_text(encoding="utf-8")
    assert f'{package} = ["py.typed"]' in pyproject
    assert (ROOT / package / "py.typed").is_file()


def test_importing_the_packages_imports_nothing_slow():
    slow = {"numpy", "scipy", "torch", "gensim", "numba", "sklearn", "tokenizers", "rich", "click"}
    code = f"import sys, corpora, embed, pretrain; print(*({slow} & sys.modules.keys()))"
    done = subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True
    )
    assert done.stdout.split() == []
