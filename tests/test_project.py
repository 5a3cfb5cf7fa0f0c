"""What other programs read of the project: workflows, forms, the citation, addresses."""

import re
import tomllib

import pytest

from tests.source import FILES, ROOT

yaml = pytest.importorskip("yaml")

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
WORKFLOWS = sorted((ROOT / ".github/workflows").glob("*.yml"))
FORMS = sorted((ROOT / ".github/ISSUE_TEMPLATE").glob("*.yml"))
PAGES = [*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md"), ROOT / "CITATION.cff"]


def parsed(path):
    """Return a file of YAML."""
    return yaml.safe_load(path.read_text("utf-8"))


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_a_workflow_runs_what_exists_with_pinned_actions(path):
    described = parsed(path)
    assert described["permissions"] in ({}, {"contents": "read"})
    steps = [step for job in described["jobs"].values() for step in job["steps"]]
    actions = [step["uses"] for step in steps if "uses" in step]
    assert all(re.fullmatch(r"[\w/-]+@(release/)?v\d+", action) for action in actions)
    lines = " ".join(step.get("run", "") for step in steps)
    targets = re.findall(r"^([\w-]+):", (ROOT / "Makefile").read_text("utf-8"), re.MULTILINE)
    assert set(re.findall(r"\bmake ([\w-]+)", lines)) <= set(targets)
    extras = {extra for group in re.findall(r"\.\[([\w,]+)\]", lines) for extra in group.split(",")}
    assert extras <= set(PROJECT["optional-dependencies"])
    files = re.findall(r"(?<!\S)-c (\S+)|(?<!\S)(\.ci/\S+)", lines)
    assert all((ROOT / "".join(names)).is_file() for names in files)


@pytest.mark.parametrize("path", FORMS, ids=lambda path: path.stem)
def test_a_form_has_fields_of_different_names(path):
    fields = parsed(path).get("body", [])
    assert len({field["id"] for field in fields}) == len(fields)


def test_the_citation_has_what_its_format_requires():
    cited = parsed(ROOT / "CITATION.cff")
    assert {"cff-version", "message", "title", "authors"} <= set(cited)
    assert cited["license"] == PROJECT["license"]
    assert cited["authors"] == PROJECT["authors"]


def test_pages_and_what_is_installed_name_no_address_of_the_project():
    named = re.compile(r"https://(?:raw\.githubusercontent|github)\.com/[\w.-]+/firth\b")
    texts = [page.read_text("utf-8") for page in [*PAGES, ROOT / "pyproject.toml"]]
    assert [text for text in texts if named.search(text)] == []


def test_help_messages_and_reports_name_no_page_that_an_installation_lacks():
    files = [*FILES, *(ROOT / "embed").rglob("*.html"), *(ROOT / "embed").rglob("*.js")]
    page = re.compile(r"^[^#\n]*(?:\bdocs/|github\.com/firth).*", re.MULTILINE)
    named = {path.name: page.findall(path.read_text("utf-8")) for path in files}
    assert {name: found for name, found in named.items() if found} == {}
