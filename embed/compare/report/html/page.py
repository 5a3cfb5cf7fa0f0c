"""Write a comparison as one self-contained HTML page."""

import base64
import hashlib
from collections.abc import Mapping
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING, Any

from firth.corpora.artifacts.atomic import atomic_output
from firth.corpora.artifacts.figures import replace_undrawable
from firth.embed.compare.inputs.baselines import BASELINES
from firth.embed.compare.report.contents import ReportParts
from firth.embed.compare.report.document import rows_of
from firth.embed.compare.report.html.attention import attention_view
from firth.embed.compare.report.html.filters import FILTERS
from firth.embed.compare.report.html.run_settings import settings_view
from firth.embed.compare.report.html.scale import colors_of
from firth.embed.compare.report.html.scores import score_views
from firth.embed.compare.report.html.summary import summary_view
from firth.embed.compare.report.html.words import context_view, map_view, neighbor_view
from firth.embed.compare.report.names import short_names
from firth.embed.compare.statistics.ranking import ALPHA

if TYPE_CHECKING:
    from jinja2 import Environment

_LONGEST = 28  # characters of a run's name


def write_report(
    document: Mapping[str, Any], sections: ReportParts, path: Path, *, force: bool = False
) -> None:
    """Write a comparison as one self-contained HTML file; the same input gives the same bytes."""
    write_page(make_page(document, sections), path, force)


def write_page(page: str, path: Path, force: bool) -> None:
    """Write a page with the same bytes on every system."""
    with atomic_output(path, force) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")


def make_page(document: Mapping[str, Any], parts: ReportParts) -> str:
    """Return the page that :func:`write_report` writes."""
    given = [row for row in rows_of(document) if row not in BASELINES]
    styles = _styles(document, given)
    return render_page(
        "page.html", _views(document, parts), given=[styles[run] for run in given], styles=styles
    )


def render_page(template: str, views: Mapping[str, Any], **values: Any) -> str:
    """Return a self-contained page; sections whose view is falsy are left out."""
    stylesheet, script = (
        _clean(files(__package__).joinpath(name).read_text(encoding="utf-8"))
        for name in ("page.css", "page.js")
    )
    page = _environment().get_template(template).render(
        **values,
        views={anchor: view for anchor, view in views.items() if view},
        stylesheet=stylesheet,
        script=script,
        policy=(
            f"default-src 'none'; img-src data:; style-src {_hash(stylesheet)}; "
            f"script-src {_hash(script)}; base-uri 'none'; form-action 'none'"
        ),
    )  # fmt: skip
    return _clean(page)


@cache
def _environment() -> "Environment":
    """Return the template environment, which escapes every inserted value."""
    from jinja2 import Environment, PackageLoader, StrictUndefined  # here, so --help stays quick

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= FILTERS
    return environment


def _views(document: Mapping[str, Any], parts: ReportParts) -> dict[str, Any]:
    """Return the data of each section by template name; falsy if the section is left out."""
    scores = score_views(document, parts.config)
    compared = scores.pop("compared")
    return {
        "summary": summary_view(document, parts.facts),
        "neighbors": neighbor_view(parts.neighbors, parts.unknown),
        "maps": parts.maps and map_view(parts.maps),
        "contexts": parts.contexts and context_view(parts.contexts, parts.neighbors),
        "attention": attention_view(parts.attention),
        **scores,
        "compared": compared,
        "settings": parts.facts and settings_view(parts.facts),
        "reading": {"alpha": ALPHA},
    }


def _styles(document: Mapping[str, Any], given: list[str]) -> dict[str, dict[str, str]]:
    """Return name and color of every row and run; the seeds of a row share its color."""
    runs = [run["run"] for run in document["runs"]]
    names = short_names(rows_of(document), _LONGEST) | short_names(runs, _LONGEST)
    colors = colors_of(given)
    for run in document["runs"]:
        colors |= dict.fromkeys(run.get("seeds", ()), colors.get(run["run"], "none"))
    return {run: {"name": names[run], "color": colors.get(run, "none")} for run in runs}


def _clean(page: str) -> str:
    """Drop indentation, empty lines and undrawable characters."""
    lines = (replace_undrawable(line).strip() for line in page.split("\n"))
    return "\n".join(line for line in lines if line) + "\n"


def _hash(text: str) -> str:
    """Return the source hash of an inline script or stylesheet for the content policy."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"
