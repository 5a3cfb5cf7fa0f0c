"""Lines of a set of words in context: their fields, and what is wrong with them."""

import math
import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

from corpora.common.errors import SourceError
from embed.compare.datasets.fields import COMMENTS, Line, every_line, quoted

_MARK = re.compile(r"<(/?)(?:b|strong)>")


@dataclass(frozen=True)
class Row:
    """A line in its fields.

    Attributes
    ----------
    path : Path
        The file.
    line : Line
        The line.
    fields : sequence of str
        What stands between its tabs, without white space around it.
    """

    path: Path
    line: Line
    fields: Sequence[str]

    @property
    def is_marked(self) -> bool:
        """Whether something is marked in it, ``<b>so</b>`` or ``<strong>so</strong>``."""
        return _MARK.search(self.line.text) is not None

    def wrong(self, what: str) -> SourceError:
        """Make an error about the whole line.

        Parameters
        ----------
        what : str
            Comes after the line.

        Returns
        -------
        SourceError
            To be raised.
        """
        return self.error(f"{quoted(self.line.text)} {what}")

    def error(self, what: str) -> SourceError:
        """Make an error about a part of the line.

        Parameters
        ----------
        what : str
            Comes after the line's place.

        Returns
        -------
        SourceError
            To be raised.
        """
        return SourceError(f"{self.path}:{self.line.number}: {what}")

    def number(self, field: str) -> float:
        """Read a judgement.

        Parameters
        ----------
        field : str
            One of the fields.

        Returns
        -------
        float
            Finite.

        Raises
        ------
        SourceError
            It is no such number.
        """
        try:
            value = float(field)
        except ValueError:
            value = math.nan
        if not math.isfinite(value):
            raise self.error(f"{quoted(field)} is no judgement; write a number")
        return value

    def parts(self, context: str, which: int) -> tuple[str, ...]:
        """Cut a context at its marks.

        Parameters
        ----------
        context : str
            One of the fields.
        which : int
            What messages call it.

        Returns
        -------
        tuple of str
            Parts 1, 3, 5, ... are what is marked; there is one at least.

        Raises
        ------
        SourceError
            Nothing is marked, or a mark is not closed.
        """
        closing = [tag == "/" for tag in _MARK.findall(context)]
        if not closing or closing != [False, True] * (len(closing) // 2):
            what = "marks no word" if not closing else "does not close every mark that it opens"
            raise self.error(f"context {which} {what}; write <b>word</b> where the target stands")
        parts = tuple(_MARK.split(context)[::2])  # between them is what the group matched
        if not all(part.strip() for part in parts[1::2]):
            raise self.error(f"context {which} marks nothing; write <b>word</b> around the target")
        return parts


def read_rows(path: Path) -> list[Row]:
    """Read the lines that say something.

    Parameters
    ----------
    path : Path
        UTF-8, as :func:`~embed.compare.datasets.fields.read_lines` takes it, fields between tabs.

    Returns
    -------
    list of Row
        Neither blank lines nor comments, which begin with ``#`` or ``//`` and have no tab: so may
        words of a set begin.

    Raises
    ------
    SourceError
        The file is missing, cannot be read or decompressed, or a line is not UTF-8.
    """
    return [
        Row(path, line, [field.strip() for field in line.text.split("\t")])
        for line in every_line(path)
        if line.text and ("\t" in line.text or not line.text.startswith(COMMENTS))
    ]
