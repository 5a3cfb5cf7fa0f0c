"""Docstrings of two kinds: full reference for the public API, one sentence for everything else."""

import ast
import functools
import importlib
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.source import FILES, ROOT, module_name, parsed

Function = ast.FunctionDef | ast.AsyncFunctionDef
_SECTION = re.compile(r"^(?P<title>[A-Z][A-Za-z ]+)\n-{3,}$", re.MULTILINE)


@dataclass(frozen=True)
class Place:
    """A public function, method or class, with its location."""

    file: Path
    owner: str
    node: Function | ast.ClassDef

    def __str__(self) -> str:
        name = f"{self.owner}.{self.node.name}" if self.owner else self.node.name
        return f"{self.file.relative_to(ROOT)}:{self.node.lineno} {name}"


def public_places(path: Path) -> Iterator[Place]:
    """Yield the public functions, classes and methods of a module."""
    for node in parsed(path).body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield Place(path, "", node)
            if isinstance(node, ast.ClassDef):
                for inner in node.body:
                    if isinstance(inner, Function) and not inner.name.startswith("_"):
                        yield Place(path, node.name, inner)


@functools.cache
def all_places() -> list[Place]:
    """Return the public functions, classes and methods of all modules."""
    return [place for path in FILES for place in public_places(path)]


def sections(docstring: str) -> dict[str, str]:
    """Split a numpydoc docstring at its underlined headings."""
    marks = list(_SECTION.finditer(docstring))
    ends = [*(mark.start() for mark in marks[1:]), len(docstring)]
    return {
        mark["title"]: docstring[mark.end() : end] for mark, end in zip(marks, ends, strict=False)
    }


def documented(section: str) -> list[str]:
    """Return the names in a Parameters or Attributes section: ``a, b : int`` gives a and b."""
    entries = [line for line in section.splitlines() if line and not line[0].isspace()]
    return [
        name.strip().lstrip("*") for entry in entries for name in entry.split(" :")[0].split(",")
    ]


def parameters(node: Function) -> list[str]:
    """Return the names of a function's parameters, without self and cls."""
    spec = node.args
    every = [*spec.posonlyargs, *spec.args, spec.vararg, *spec.kwonlyargs, spec.kwarg]
    names = [arg.arg for arg in every if arg is not None]
    return names[1:] if names[:1] in (["self"], ["cls"]) else names


def decorators(node: Function | ast.ClassDef) -> set[str]:
    """Return the last names of decorators: ``click.command(...)`` gives command."""
    calls = [d.func if isinstance(d, ast.Call) else d for d in node.decorator_list]
    return {ast.unparse(call).split(".")[-1] for call in calls}


def is_described_elsewhere(place: Place) -> bool:
    """Return whether one sentence is enough, as it is if that names what else describes it.

    So it is for properties, protocol methods and overrides.
    """
    docstring = ast.get_docstring(place.node) or ""
    if decorators(place.node) & {"property", "setter", "cached_property"}:
        return True
    if re.search(r"^.*, as :(?:func|meth):`[\w.]+` does\.$", docstring):
        return True
    if not place.owner:
        return False
    owner = getattr(importlib.import_module(module_name(place.file)), place.owner)
    if getattr(owner, "_is_protocol", False):
        return not sections(docstring)
    return any(place.node.name in vars(base) for base in owner.__mro__[1:])


@functools.cache
def public_names() -> set[str]:
    """Return the public names, and the protocols."""
    stub = ast.parse((ROOT / "firth/__init__.pyi").read_text(encoding="utf-8"))
    names = {
        f"firth.{node.module}.{alias.name}"
        for node in stub.body
        if isinstance(node, ast.ImportFrom) and node.module
        for alias in node.names
    }
    protocols = [ROOT / "embed/protocols.py", ROOT / "embed/compare/task.py"]
    return names | {
        f"{module_name(path)}.{node.name}"
        for path in protocols
        for node in parsed(path).body
        if isinstance(node, ast.ClassDef)
        and {"Protocol", "ABC"} & set(map(ast.unparse, node.bases))
    }


def is_public_api(place: Place) -> bool:
    """Return whether a definition is a public name or a protocol."""
    return f"{module_name(place.file)}.{place.owner or place.node.name}" in public_names()


def public(kind: type) -> list[Place]:
    """Return the functions and methods, or the classes, of the public API."""
    return [p for p in all_places() if isinstance(p.node, kind) and is_public_api(p)]


def wrong_places(places: Iterable[Place], rule: Callable[[Place], bool]) -> list[str]:
    """Return the places that violate a rule."""
    return [str(place) for place in places if not rule(place)]


@pytest.mark.slow
def test_every_module_has_a_docstring():
    silent = [str(path.relative_to(ROOT)) for path in FILES if not ast.get_docstring(parsed(path))]
    assert silent == []


@pytest.mark.slow
def test_public_docstrings_begin_with_a_sentence():
    def opens_with_a_sentence(place: Place) -> bool:
        docstring = ast.get_docstring(place.node) or ""
        first = docstring.split("\n\n")[0].replace("\n", " ").strip()
        return first.endswith((".", ":", "?"))

    assert wrong_places(all_places(), opens_with_a_sentence) == []


@pytest.mark.slow
def test_internals_have_no_reference_docstrings():
    internal = [place for place in all_places() if not is_public_api(place)]
    forms = {"Parameters", "Returns", "Yields", "Attributes"}

    def has_no_form(place: Place) -> bool:
        return not forms & sections(ast.get_docstring(place.node) or "").keys()

    assert wrong_places(internal, has_no_form) == []


def test_documented_parameters_match_the_signature():
    def match_the_signature(place: Place) -> bool:
        if is_described_elsewhere(place):
            return True
        parts = sections(ast.get_docstring(place.node) or "")
        return documented(parts.get("Parameters", "")) == parameters(place.node)

    assert wrong_places(public(Function), match_the_signature) == []


def test_return_values_are_documented():
    def is_documented(place: Place) -> bool:
        if is_described_elsewhere(place) or place.node.returns is None:
            return True
        if place.owner and not parameters(place.node):
            return True  # described by its one sentence, like a property
        parts = sections(ast.get_docstring(place.node) or "")
        has_value = ast.unparse(place.node.returns) not in ("None", "NoReturn", "Never")
        return has_value == bool({"Returns", "Yields"} & parts.keys())

    assert wrong_places(public(Function), is_documented) == []


def test_classes_document_their_parameters_and_fields():
    def document_their_parts(place: Place) -> bool:
        parts = sections(ast.get_docstring(place.node) or "")
        own = documented(parts.get("Parameters", ""))
        if "dataclass" in decorators(place.node):
            named = own + documented(parts.get("Attributes", ""))
            described, others = fields_of(place.node)
            return set(others) <= set(named) <= {*described, *others}
        inits = [n for n in place.node.body if isinstance(n, Function) and n.name == "__init__"]
        return all(own == parameters(init) for init in inits)

    assert wrong_places(public(ast.ClassDef), document_their_parts) == []


def fields_of(node: ast.ClassDef) -> tuple[list[str], list[str]]:
    """Return the public fields of a dataclass: those described by setting(), and others."""
    described, others = [], []
    for inner in node.body:
        if isinstance(inner, ast.AnnAssign) and isinstance(inner.target, ast.Name):
            by_setting = isinstance(inner.value, ast.Call) and "setting" in ast.unparse(
                inner.value.func
            )
            if not inner.target.id.startswith("_"):
                (described if by_setting else others).append(inner.target.id)
    return described, others


def test_the_parser_reads_shared_entries_stars_and_sections():
    docstring = (
        "Do it.\n\nParameters\n----------\na, b : int\n    Both.\n**rest : JSON values\n"
        "    More.\n\nReturns\n-------\nint\n    It."
    )
    node = ast.parse("def f(a, b, **rest): ...").body[0]

    parts = sections(docstring)

    assert documented(parts["Parameters"]) == ["a", "b", "rest"] == parameters(node)
    assert list(parts) == ["Parameters", "Returns"]
