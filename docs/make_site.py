"""Build the site of docs/, with search, in build/site: ``make site``.

Its table of contents is that of ``index.md``. Links to other files of the repository lead to its
address, and formulas become MathML, so that the site loads nothing from elsewhere.
"""

import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from posixpath import dirname, join, relpath

import tomli_w

ROOT = Path(__file__).resolve().parents[1]
# Nothing is published there yet: register the address, or replace it here and in .github. What is
# installed names no address of the project.
REPOSITORY = "https://github.com/firth-embeddings/firth/blob/main/"
CODE = re.compile(r"(^ *```.*?^ *```$|`[^`]+`)", re.MULTILINE | re.DOTALL)


def contents() -> dict[str, dict[str, str]]:
    """Return by section the titles of the table of contents, with paths from docs/."""
    sections: dict[str, dict[str, str]] = {}
    for section in (ROOT / "docs/index.md").read_text("utf-8").split("\n## ")[1:]:
        heading, _, body = section.partition("\n")
        for title, page in re.findall(r"\[([^]]+)\]\(([^)]+)\)", " ".join(body.split())):
            sections.setdefault(heading, {})[title[0].upper() + title[1:]] = page
    return sections


def site_text(page: str, text: str, pages: list[str]) -> str:
    """Return the text of a page as the site, which has ``pages``, shows it."""

    def link(match: re.Match[str]) -> str:
        target = relpath(join("docs", dirname(page), match[1]), "docs")
        if target.startswith("../") and target not in pages:
            return f"]({REPOSITORY}{target[3:]}"
        return f"]({relpath(target.removeprefix('../'), dirname(page.removeprefix('../')) or '.')}"

    def formula(match: re.Match[str]) -> str:
        from latex2mathml.converter import convert  # which only `make site` installs

        return convert(match[2], display="block" if match[1] == "$$" else "inline")

    parts = CODE.split(text)
    for at in range(0, len(parts), 2):  # between code
        parts[at] = re.sub(r"(?s)<!--.*?-->\n?", "", parts[at])
        parts[at] = re.sub(r"(?s)(\$\$?)(.+?)\1", formula, parts[at])
        parts[at] = re.sub(r"\]\(([^)#:]+)", link, parts[at])
    return "".join(parts)


if __name__ == "__main__":
    sections, built = contents(), ROOT / "build"
    pages = ["index.md", *(page for titles in sections.values() for page in titles.values())]
    shutil.rmtree(built / "pages", ignore_errors=True)
    shutil.copytree(ROOT / "docs", built / "pages", ignore=shutil.ignore_patterns("*.py"))
    for page in pages:
        text = site_text(page, (ROOT / "docs" / page).read_text("utf-8"), pages)
        (built / "pages" / page.removeprefix("../")).write_text(text, "utf-8")
    settings = tomllib.loads((ROOT / "docs/site.toml").read_text("utf-8"))
    settings["project"]["nav"] = [{"Contents": "index.md"}] + [
        {heading: [{title: page.removeprefix("../")} for title, page in titles.items()]}
        for heading, titles in sections.items()
    ]
    (built / "zensical.toml").write_text(tomli_w.dumps(settings), "utf-8")
    command = [sys.executable, "-m", "zensical", "build", "--strict", "--clean", "--config-file"]
    sys.exit(subprocess.run([*command, built / "zensical.toml"], check=False).returncode)
