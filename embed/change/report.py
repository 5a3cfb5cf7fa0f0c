"""The change of words as a self-contained HTML page."""

from collections.abc import Sequence
from itertools import zip_longest
from pathlib import Path
from typing import Any

from firth.embed.change.path_picture import path_image
from firth.embed.change.result import ChangedWord, WordChanges
from firth.embed.change.table import SURE
from firth.embed.compare.report.html.page import render_page, write_page
from firth.embed.compare.report.html.scale import scale_of

_NAMED = 5  # words in the first sentence
_OPEN_WORDS = 4  # words whose neighbors are shown without a click
_NUMBERS = {"p": "p", "q": "q", "pairs": "Pairs"}  # of a word, and their headings


def write_change_report(
    changes: WordChanges,
    shown: Sequence[ChangedWord],
    path: str | Path,
    *,
    paths_of: Sequence[str] = (),
    force: bool = False,
) -> Path:
    """Write words with their change, neighbors and sentences as one HTML file.

    Parameters
    ----------
    changes : WordChanges
        From :func:`firth.word_changes`.
    shown : sequence of ChangedWord
        The words, from :meth:`WordChanges.describe`.
    path : str or Path
        The file to write. It needs no network; the same changes give the same bytes.
    paths_of : sequence of str
        Words whose path is drawn, as by :func:`firth.draw_path`.
    force : bool
        Replace an existing file.

    Returns
    -------
    Path
        ``path``.

    Raises
    ------
    ArtifactError
        ``path`` exists, or cannot be written.
    """
    asked = {changes.table.words[changes.row(word)] for word in paths_of}
    views = _views(changes, shown, asked)
    result = _result(changes) | {"asked": [word for word in shown if word.word in asked]}
    about = {"names": changes.names, "noun": changes.periods.noun, "result": result}
    page = render_page("change.html", views, **about)
    write_page(page, Path(path), force)
    return Path(path)


def _result(changes: WordChanges) -> dict[str, Any]:
    """Return what the first sentence says."""
    table, n = changes.table, len(changes.table)
    sure = n if table.q is None else int((table.q <= SURE).sum())
    return {
        "texts": " and ".join(corpus.path.name for corpus in changes.periods.corpora),
        "tested": n, "sure": None if table.q is None else sure, "alpha": SURE,
        "first": table.words[: min(sure, _NAMED)], "within": " and ".join(changes.periods.within),
    }  # fmt: skip


def _views(changes: WordChanges, shown: Sequence[ChangedWord], drawn: set[str]) -> dict[str, Any]:
    """Return the data of each section by template name; the paths of some words are drawn."""
    table = changes.table
    numbers = [name for name in _NUMBERS if getattr(table, name) is not None]
    rows = [_row(word, numbers, changes.names) for word in shown]
    for row in rows:
        row["path"] = path_image(changes, row["word"]) if row["word"] in drawn else None
    rows.sort(key=lambda row: row["missing"] is not None)  # they are last
    compared = [row for row in rows if row["missing"] is None]
    about: dict[str, Any] = {
        "tested": table.p is not None,
        "bounded": table.low is not None,
        "alpha": SURE,
    }
    about |= {"counted": len(changes.counts), "within": " and ".join(changes.periods.within)}
    return {
        "change_compared": _compared(changes),
        "change_words": compared
        and about
        | {
            "rows": compared,
            "numbers": [_NUMBERS[name] for name in numbers],
            "scale": scale_of([row["drawn"] for row in compared]),
        },
        "change_neighbors": rows and {"rows": rows, "n_open": _OPEN_WORDS},
        "change_reading": about | {"contextual": table.pairs is not None},
    }


def _compared(changes: WordChanges) -> dict[str, Any]:
    """Return what was compared, and how."""
    period_of = changes.periods.period_of
    return {
        "corpora": [str(corpus.path) for corpus in changes.periods.corpora],
        "vectors": _made(changes),
        "dim": changes.vectors.shape[2],
        "tested": len(changes.table),
        "untested": changes.n_untested,
        "min_count": changes.config.min_count,
        "no_p": (changes.no_p or "").replace("`", ""),
        "periods": [
            {
                "name": name,
                "documents": int((period_of == number).sum()),
                "tokens": int(changes.counts[number].sum()),
            }
            for number, name in enumerate(changes.names)
            if len(changes.counts)
        ],
    }


def _made(changes: WordChanges) -> str:
    """Return how the vectors were made."""
    config, recipe = changes.config, changes.recipe
    if config.route == "contextual":
        return f"contextual: states of {config.encoder}"
    if "runs" in recipe:
        return "procrustes: " + " and ".join(each["path"] for each in recipe["runs"])
    return f"{config.route}: {recipe['training']['method']}"


def _row(word: ChangedWord, numbers: Sequence[str], names: Sequence[str]) -> dict[str, Any]:
    """Return what the page shows of a word."""
    return {
        "word": word.word,
        "missing": word.missing and word.missing.replace("`", ""),
        "distance": word.distance,
        "drawn": {
            "score": word.distance, "low": word.low, "high": word.high, "chance": word.chance,
        },
        "numbers": [getattr(word, name) for name in numbers],
        "counts": word.counts,
        "steps": word.steps,
        "one_document": word.one_document,
        "ranks": list(zip_longest(*word.neighbors)),
        "common": set.intersection(*map(set, word.neighbors)),
        "lines": list(zip(names, word.lines, strict=True)),
    }  # fmt: skip
