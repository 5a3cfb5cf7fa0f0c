"""A comparison as one page of HTML: no network, nothing outside the file."""

import base64
import hashlib
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.artifacts.atomic import replacing
from embed.compare.inputs.baselines import ONE_HOT, RANDOM
from embed.compare.report.contents import ReportParts
from embed.compare.report.html.about import count, show_about
from embed.compare.report.html.attention import show_attention
from embed.compare.report.html.contexts import show_contexts
from embed.compare.report.html.curves import show_curve
from embed.compare.report.html.differences import show_differences
from embed.compare.report.html.escape import Html, fold, join, section, tag
from embed.compare.report.html.how_to_read import show_reading
from embed.compare.report.html.intervals import Look, color_of
from embed.compare.report.html.intrinsic import show_intrinsic
from embed.compare.report.html.run_settings import show_settings
from embed.compare.report.html.scores import show_bands, show_remarks, show_scores
from embed.compare.report.html.words import show_maps, show_neighbors
from embed.compare.report.result_groups import ScorePanel, panels_from, rows_of
from embed.compare.report.table import short_names
from embed.compare.scoring.frequency_bands import EDGES

_LONGEST = 28  # characters of a run's name
_STYLE, _SCRIPT = "page.css", "page.js"  # beside this file


def write_report(
    document: Mapping[str, Any], sections: ReportParts, path: Path, *, force: bool = False
) -> None:
    """Write a comparison as one file of HTML that needs nothing else.

    The same document and parts give the same bytes.

    Parameters
    ----------
    document : mapping
        Of :func:`~embed.compare.report.table.to_json`, or read from JSON; with ``properties`` and
        ``agreements`` where there are such.
    sections : ReportParts
        What else the page shows.
    path : Path
        The file; whole or not at all.
    force : bool
        Replace a file that stands there.

    Raises
    ------
    ArtifactError
        ``path`` exists, or cannot be written.
    """
    page = make_page(document, sections)
    with replacing(path, force) as partial:
        partial.write_text(page, encoding="utf-8", newline="\n")


def make_page(document: Mapping[str, Any], parts: ReportParts) -> str:
    """Make the page that :func:`write_report` writes.

    Parameters
    ----------
    document : mapping
        Of a comparison.
    parts : ReportParts
        What else the page shows.

    Returns
    -------
    str
        HTML. Its policy lets it load nothing and run no script but its own.
    """
    looks, panels = _looks(document), panels_from(document)
    content = list(_sections(document, parts, looks, panels))
    title = "Comparison: " + ", ".join(looks[run].name for run in _given(document))
    style, script = (Html(_asset(each)) for each in (_STYLE, _SCRIPT))
    policy = (
        f"default-src 'none'; img-src data:; style-src {_hash(style)}; script-src {_hash(script)}; "
        "base-uri 'none'; form-action 'none'"
    )
    head = tag(
        "head",
        tag("meta", charset="utf-8"),
        tag("meta", http_equiv="Content-Security-Policy", content=Html(policy)),
        tag("meta", name="viewport", content="width=device-width, initial-scale=1"),
        tag("meta", name="color-scheme", content="light dark"),
        tag("title", title),
        tag("style", style),
    )  # fmt: skip
    links = (tag("li", tag("a", heading, href=f"#{anchor}")) for anchor, heading, _ in content)
    body = tag(
        "body",
        tag("a", "Skip to the content", href="#content", class_="skip"),
        tag(
            "header",
            tag("h1", "Comparison of word vectors"),
            tag("p", join((looks[run].show() for run in _given(document)), " ")),
            tag("nav", tag("ul", *links), aria_label="Contents"),
        ),
        tag("main", join((section(*each) for each in content), "\n"), id="content", tabindex=-1),
        tag("script", script),
    )
    return f"<!DOCTYPE html>\n{tag('html', head, body, lang='en')}\n"


def _sections(
    document: Mapping[str, Any],
    parts: ReportParts,
    looks: Mapping[str, Look],
    panels: Sequence[ScorePanel],
) -> Iterator[tuple[str, str, Html]]:
    """Anchor, heading and content of all that there is."""
    whole = [panel for panel in panels if panel.section is None]
    bands = [panel for panel in panels if panel.section in EDGES]
    further = [panel for panel in panels if panel.section and panel.section not in EDGES]
    yield "compared", "What was compared", show_about(document, parts, looks, whole)
    if whole:
        shown = show_scores(whole, looks, "Scores on the items all runs know")
        yield "scores", "Scores", join([shown, show_remarks(document, looks)], "\n")
    if further:
        shown = show_scores(further, looks, "Scores of the sections of sets")
        yield "sections", "Scores by section", fold("All sections", shown)
    if bands:
        yield "bands", "Scores by frequency", show_bands(bands, looks)
    if any(panel.pairs for panel in panels):
        shown = show_differences(whole, bands, further, looks)
        yield "differences", "Pairwise differences", shown
    if document.get("properties"):
        shown = show_intrinsic(document["properties"], document["agreements"], looks)
        yield "intrinsic", "The vectors themselves", shown
    if parts.curve is not None:
        yield "curves", "Learning curves", show_curve(parts.curve)
    if parts.maps:
        yield "maps", "Maps of words", join([_about_maps(), show_maps(parts.maps, looks)])
    if parts.neighbors:
        shown = join([_search(parts), show_neighbors(parts.neighbors, looks)], "\n")
        yield "neighbors", "Neighbors of words", shown
    if parts.contexts:
        yield "contexts", "Words in context", show_contexts(parts.contexts, parts.neighbors, looks)
    if parts.attention:
        shown = show_attention(parts.attention, looks)
        yield "attention", "Attention", join([_about_attention(), shown])
    if parts.facts:
        yield "settings", "Settings and provenance", show_settings(parts.facts, looks)
    yield "reading", "How to read this", show_reading()


def _looks(document: Mapping[str, Any]) -> dict[str, Look]:
    """Names and colors of all rows and runs; the seeds of a row have its color."""
    rows = rows_of(document)
    runs = [run["run"] for run in document["runs"]]
    names = short_names(rows, _LONGEST) | short_names(runs, _LONGEST)
    given = [row for row in rows if row not in (ONE_HOT, RANDOM)]
    colors = {run: color_of(number) for number, run in enumerate(given)}
    for run in document["runs"]:
        colors |= dict.fromkeys(run.get("seeds", ()), colors.get(run["run"], "none"))
    return {run: Look(names[run], colors.get(run, "none")) for run in dict.fromkeys(runs)}


def _given(document: Mapping[str, Any]) -> list[str]:
    """The rows without the baselines."""
    return [row for row in rows_of(document) if row not in (ONE_HOT, RANDOM)]


def _about_maps() -> Html:
    """How maps are to be looked at."""
    return tag(
        "p",
        "The same words, each run on the plane of its two principal components; all but the first "
        "map are turned and mirrored to be like the first. Point at a word to find it in all.",
    )


def _about_attention() -> Html:
    """How attention is to be looked at."""
    return tag(
        "p",
        "Rows attend to columns: the stronger a square, the more the piece at the left takes from "
        "the piece below. Every picture has its own scale.",
    )


def _search(parts: ReportParts) -> Html:
    """A box that looks words up among those that the page holds."""
    words = len(parts.neighbors)
    told = (
        f"This page holds the neighbors of {count(words, 'word')}, and finds a word among these "
        "and among their neighbors; firth neighbors asks a run for any other. "
        "Bold: named by several runs."
    )
    box = tag("input", type="search", id="lookup", autocomplete="off", spellcheck="false")
    label = tag("label", "Look a word up", for_="lookup")
    status = tag("p", id="found", role="status", class_="note")
    return join([tag("p", told), tag("p", label, " ", box, class_="controls"), status])


def _hash(text: str) -> str:
    """What names an inline script or style in the policy of a page."""
    digest = hashlib.sha256(text.encode()).digest()
    return f"'sha256-{base64.b64encode(digest).decode('ascii')}'"


def _asset(file: str) -> str:
    """A file that belongs to this one."""
    return Path(__file__).with_name(file).read_text(encoding="utf-8")
