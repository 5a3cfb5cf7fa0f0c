"""Draws the path of a word through the periods, among its neighbors in each."""

import base64
import dataclasses
from pathlib import Path

from firth.corpora.artifacts.figures import Picture
from firth.corpora.common.system import temporary_folder
from firth.embed.change.result import WordChanges
from firth.embed.query.map_picture import draw_map
from firth.embed.query.word_map import map_words
from firth.embed.vectors.word_vectors import WordVectors


def draw_path(
    changes: WordChanges, word: str, path: str | Path, *, k: int = 8, force: bool = False
) -> Picture:
    """Draw where a word is in each period, and its neighbors there (Hamilton et al. 2016, fig. 1).

    The plane is that of the first two principal components of the vectors that are drawn.

    Parameters
    ----------
    changes : WordChanges
        From :func:`firth.word_changes`.
    word : str
        A tested word.
    path
        As of :func:`firth.draw_map`.
    k : int
        Neighbors in each period. A word that is near in several is drawn in the last one.
    force
        As of :func:`firth.draw_map`, whose errors are also raised.

    Returns
    -------
    Picture
        The file; a notebook shows it.
    """
    found = changes.table.words[changes.row(word)]
    numbers = range(len(changes.names))
    [near] = changes.neighbors([found], k)
    last = {each: number for number in numbers for each in near[number]}
    places = [(found, number) for number in numbers] + list(last.items())
    rows = [changes.vocabulary.index(each) for each, _ in places]
    named = [f"{each}@{changes.names[number]}" for each, number in places]
    matrix = changes.vectors[[number for _, number in places], rows]
    drawn = map_words(
        WordVectors(named, matrix), named, [changes.names[number] for _, number in places]
    )
    labels = [f"{found} {name}" for name in changes.names] + list(last)
    arrows = [(number, number + 1) for number in numbers[:-1]]
    return draw_map(
        dataclasses.replace(drawn, words=tuple(labels)), path, title=f"the path of {found}",
        arrows=arrows, force=force,
    )  # fmt: skip


def path_image(changes: WordChanges, word: str) -> str:
    """Return the path of a word as an address that holds the picture."""
    with temporary_folder() as folder:
        draw_path(changes, word, folder / "path.svg")
        picture = (folder / "path.svg").read_bytes()
    return f"data:image/svg+xml;base64,{base64.b64encode(picture).decode('ascii')}"
