"""The words of a report: maps side by side, neighbors side by side."""

from collections.abc import Iterator, Mapping, Sequence, Set
from dataclasses import replace

import numpy as np

from embed.compare.report.html.escape import Html, decimal, fold, join, name, table, tag
from embed.compare.report.html.intervals import Look, color_of, key
from embed.query.label_places import place_labels
from embed.query.neighbors import Neighbor
from embed.query.word_map import WordMap

_WIDE, _HIGH = 400.0, 340.0  # of a map, in units of its drawing
_MARGINS = np.array([46.0, 20.0])  # so that names fit
_LETTER, _WIDE_LETTER, _LINE = 6.4, 12.0, 13.0  # about what text takes
_FIRST_WIDE = "\u1100"  # scripts from here on have mostly wide letters
_LONGEST = 18  # letters of a word on a map
_GAP = 7.0


def show_maps(maps: Mapping[str, WordMap | str], looks: Mapping[str, Look]) -> Html:
    """Draw the same words as every run has them, side by side.

    Parameters
    ----------
    maps : mapping of str to (WordMap or str)
        By run, or why there is none.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        The first map as it is, the others turned and mirrored to be like it: see :func:`turned`.
    """
    drawn = [found for found in maps.values() if isinstance(found, WordMap)]
    figures = [
        tag("p", looks[run].show(), found)
        if isinstance(found, str)
        else _figure(turned(found, drawn[0]), looks[run])
        for run, found in maps.items()
    ]
    groups = dict.fromkeys(group for found in drawn for group in found.groups if group is not None)
    legend = [
        tag("li", key(color_of(number)), name(group)) for number, group in enumerate(groups)
    ]  # fmt: skip
    return join(
        [
            tag("ul", *legend, class_="legend") if legend else None,
            tag("div", *figures, class_="figures"),
        ]
    )


def turned(found: WordMap, like: WordMap) -> WordMap:
    """Turn and mirror a map so that its words lie as near as may be to those of another.

    Orthogonal Procrustes (Schönemann 1966): of all turns Q that for which the sum of squares of
    ``found Q - like`` is least, Q = U V' with the singular value decomposition
    ``found' like`` = U S V'. Distances on the map stay what they are.

    Parameters
    ----------
    found : WordMap
        Of some words.
    like : WordMap
        Of the same words.

    Returns
    -------
    WordMap
        ``found`` itself where the words differ.
    """
    if found.words != like.words:
        return found
    left, _, right = np.linalg.svd(found.places.T @ like.places)
    return replace(found, places=found.places @ (left @ right))


def show_neighbors(
    neighbors: Mapping[str, Mapping[str, Sequence[Neighbor]]], looks: Mapping[str, Look]
) -> Html:
    """Show the nearest words of some words in every run, side by side.

    Parameters
    ----------
    neighbors : mapping of str to mapping of str to sequence of Neighbor
        By word, then by run.
    looks : mapping of str to Look
        By run.

    Returns
    -------
    Html
        A part that opens for each word; what several runs name is marked.
    """
    parts = (
        tag(
            "div",
            fold(name(word), _neighbor_table(word, of_runs, looks), opened=index == 0),
            class_="word",
            data_word=word,
        )
        for index, (word, of_runs) in enumerate(neighbors.items())
    )
    return tag("div", join(parts, "\n"), class_="words")


def rank_rows(
    columns: Sequence[Sequence[Neighbor]], common: Set[str] = frozenset()
) -> Iterator[Html]:
    """Make the rows of a table of neighbors.

    Parameters
    ----------
    columns : sequence of sequence of Neighbor
        Best first.
    common : set of str
        Words to be marked.

    Yields
    ------
    Html
        A row a rank, as many as the longest column has.
    """
    for rank in range(max(map(len, columns), default=0)):
        yield tag(
            "tr",
            tag("th", rank + 1, scope="row", class_="number"),
            *(_neighbor(found[rank : rank + 1], common) for found in columns),
        )


def _figure(found: WordMap, look: Look) -> Html:
    """A map with its caption."""
    points = _on_paper(found.places)
    sizes = np.array([[_width(_short(word)), _LINE] for word in found.words])
    middles, far = place_labels(points, sizes, (_WIDE, _HIGH), _GAP)
    groups = dict.fromkeys(group for group in found.groups if group is not None)
    numbers = {group: number for number, group in enumerate(groups)}
    marks = [
        _mark(word, numbers.get(group or "", 0), point, middle, line=bool(line))
        for word, group, point, middle, line in zip(
            found.words, found.groups, points, middles, far, strict=True
        )
    ]
    share = decimal(100 * sum(found.share), 1)
    picture = tag(
        "svg", *marks, class_="map", viewBox=f"0 0 {_WIDE:.0f} {_HIGH:.0f}", role="img",
        aria_label=f"Map of {len(found.words)} words in {look.name}; "
        "what is near to what, the neighbors below tell in words",
    )  # fmt: skip
    caption = tag("figcaption", look.show(), f"{share} % of the variance")
    return tag("figure", caption, picture)


def _on_paper(places: np.ndarray) -> np.ndarray:
    """Coordinates in the drawing: one scale for both axes, y downwards."""
    room = np.array([_WIDE, _HIGH]) - 2 * _MARGINS
    middle = (places.max(axis=0) + places.min(axis=0)) / 2
    extent = np.maximum(np.ptp(places, axis=0), 1e-9)
    scale = float((room / extent).min())
    paper: np.ndarray = (places - middle) * scale * [1, -1] + np.array([_WIDE, _HIGH]) / 2
    return paper


def _mark(word: str, number: int, point: np.ndarray, middle: np.ndarray, *, line: bool) -> Html:
    """A word's point and name, and the line between them where they are far apart."""
    (x, y), (text_x, text_y) = point, middle
    shown = tag("text", _short(word), x=f"{text_x:.1f}", y=f"{text_y + 4:.1f}", direction="auto")
    lead = tag("path", d=f"M{x:.1f} {y:.1f}L{text_x:.1f} {text_y:.1f}", class_="rail")
    dot = tag("circle", cx=f"{x:.1f}", cy=f"{y:.1f}", r=3, class_="dot")
    inside = (lead if line else None, dot, shown)
    return tag("g", *inside, class_=color_of(number), data_word=word)


def _short(word: str) -> str:
    """A word as it stands on a map."""
    return word if len(word) <= _LONGEST else f"{word[: _LONGEST - 1]}…"


def _width(word: str) -> float:
    """About what a word takes."""
    return sum(_WIDE_LETTER if letter >= _FIRST_WIDE else _LETTER for letter in word)


def _neighbor_table(
    word: str, of_runs: Mapping[str, Sequence[Neighbor]], looks: Mapping[str, Look]
) -> Html:
    """A column a run, a row a rank."""
    times = [near.word for found in of_runs.values() for near in found]
    common = {each for each in times if times.count(each) > 1}
    rows = rank_rows(list(of_runs.values()), common)
    caption = tag("span", "Nearest to ", name(word), ", by cosine")
    heads = ("Rank", *(looks[run].show() for run in of_runs))
    return table(caption, heads, rows)


def _neighbor(found: Sequence[Neighbor], common: Set[str]) -> Html:
    """A neighbor and its cosine; nothing where the vocabulary has ended."""
    if not found:
        return tag("td")
    [(word, score)] = found
    shown = tag("b" if word in common else "span", name(word), class_="near", data_word=word)
    return tag("td", shown, tag("small", f" {decimal(score, 2)}"))
