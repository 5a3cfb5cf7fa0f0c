"""First section of the page: which text, which methods, and the result in sentences."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from firth.embed.compare.inputs.baselines import BASELINES
from firth.embed.compare.report.contents import RunFacts
from firth.embed.compare.report.document import rows_of
from firth.embed.compare.report.explanations import CAUSAL, METHODS
from firth.embed.compare.report.summary import LEGEND

_MOST_NAMED = 3  # texts in the heading


def summary_view(document: Mapping[str, Any], facts: Mapping[str, RunFacts]) -> dict[str, Any]:
    """Lay out the texts, the methods and the sentences on the result."""
    about = {run["run"]: run for run in document["runs"]}
    # several seeds have the text and the settings of the first
    first = {row: about[row].get("seeds", [row])[0] for row in rows_of(document)}
    given = {row: run for row, run in first.items() if row not in BASELINES}
    texts: dict[tuple[str, int, int], list[str]] = {}
    named: dict[str, None] = {}  # the texts by the names of their first files
    for row, run in given.items():
        if text := about[run].get("text"):
            if text.get("sources"):
                named[_name(text, brief=True)] = None
            texts.setdefault((_name(text), text["tokens"], text["documents"]), []).append(row)
    return {
        "texts": [
            {"name": name, "tokens": tokens, "documents": documents, "runs": rows}
            for (name, tokens, documents), rows in texts.items()
        ],
        "named": ", ".join([*named][:_MOST_NAMED]) + ", …" * (len(named) > _MOST_NAMED),
        "methods": [
            {
                "run": row,
                "method": _method(about[run]["method"], facts.get(run)),
                "dim": about[run].get("dim"),
            }
            for row, run in given.items()
        ],
        "sentences": document.get("summary", ()),
        "legend": LEGEND,
        "sets": bool(document["results"]),
        "failures": document.get("failures", ()),
        "left_out": document.get("left_out", ()),
    }


def _method(name: str, facts: RunFacts | None) -> str:
    """Describe the method of a run; that a language model is causal is a setting."""
    parts = name.split(" + ")  # of joined vectors
    if facts and facts.config.get("objective") == CAUSAL:
        parts[-1] = CAUSAL
    return " + ".join(METHODS.get(part, part) for part in parts)


def _name(text: Mapping[str, Any], *, brief: bool = False) -> str:
    """Name the sources of a text, which a published run lacks, or briefly the first file."""
    sources = text.get("sources", [])
    named = [Path(each).name for each in sources[:1]] if brief else sources
    more = text["n_sources"] - len(named)
    if not named:
        return f"{more:,} {'source' if more == 1 else 'sources'}"
    return ", ".join(named) + (f" and {more:,} more" if more else "")
