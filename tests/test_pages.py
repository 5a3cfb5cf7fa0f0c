"""Generated pages are current, and links in the documentation work."""

import os
import re
import runpy
from pathlib import Path

import pytest

from tests.run_python import run_python

ROOT = Path(__file__).resolve().parents[1]
NAMES = ("README.md", "CHANGELOG.md", "CONTRIBUTING.md", "SECURITY.md", "benchmarks/README.md")
WRITTEN = [*(ROOT / name for name in NAMES), *sorted((ROOT / "docs").rglob("*.md"))]
SITE = runpy.run_path(str(ROOT / "docs" / "make_site.py"))


@pytest.mark.process
def test_generated_pages_are_current():
    # in a separate process, since click caches the help option of the first caller
    done = run_python(ROOT / "docs" / "make_pages.py", "--check")
    assert (done.returncode, done.stderr) == (0, "")


def headings(path):
    """Return the anchors of a Markdown page, as GitHub makes them."""
    titles = re.findall(r"^#+ (.*)$", path.read_text(encoding="utf-8"), re.MULTILINE)
    return {re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles}


@pytest.mark.parametrize("page", WRITTEN, ids=lambda path: path.name)
def test_links_point_to_existing_files_and_headings(page):
    text = page.read_text(encoding="utf-8")
    text = text.replace(SITE["REPOSITORY"], os.path.relpath(ROOT, page.parent) + "/")
    links = re.findall(r"\]\((?!https?:)([^)#?]*)(?:\?raw=true)?(?:#([^)]*))?\)", text)
    for path, anchor in links:
        target = (page.parent / path) if path else page
        assert target.exists(), path
        assert not anchor or anchor in headings(target), f"{path}#{anchor}"


def test_the_first_screen_of_the_readme_shows_both_commands():
    first_screen = (ROOT / "README.md").read_text(encoding="utf-8").splitlines()[:24]
    assert any("make demo" in line for line in first_screen)
    assert any("make test" in line for line in first_screen)


def test_the_readme_is_short():
    assert len((ROOT / "README.md").read_text(encoding="utf-8").splitlines()) <= 120


def test_the_table_of_contents_has_every_page_once():
    listed = [page for titles in SITE["contents"]().values() for page in titles.values()]
    pages = [path.relative_to(ROOT / "docs").as_posix() for path in ROOT.glob("docs/**/*.md")]
    assert sorted(["index.md", *listed]) == sorted([*pages, *(p for p in set(listed) if ".." in p)])


def test_pages_of_the_site_link_to_each_other_and_to_other_files_in_the_repository():
    pages = ["corpus.md", "tasks/change.md", "../CHANGELOG.md"]
    links = (
        "[`a`](../corpus.md#b) [c](../../CHANGELOG.md) [d](../../LICENSE) [e](#f) [g](https://h)"
    )
    assert SITE["site_text"]("tasks/change.md", f"{links}\n<!-- x -->\n`$1 ](../../$2`", pages) == (
        "[`a`](../corpus.md#b) [c](../CHANGELOG.md) "
        f"[d]({SITE['REPOSITORY']}LICENSE) [e](#f) [g](https://h)\n`$1 ](../../$2`"
    )
    assert SITE["site_text"]("../CHANGELOG.md", "[a](docs/corpus.md)", pages) == "[a](corpus.md)"
