"""Pairs of a source and a target, perhaps with tags: a line each, in columns divided by tabs.

``holen TAB holte TAB V;PST`` is the tokens ``h o l e n ⇥ h o l t e ⇥ +V +PST``.
"""

import re
from collections.abc import Iterable, Sequence

COLUMN = "⇥"  # the token between columns, two in every pair
_BLANK = "␣"  # the token of white space between characters
TAG = "+"  # begins tags, so that they are no characters
UNITS = {"characters": r"\S|(?<=\S)\s+(?=\S)", "words": r"\S+"}
PAIRS = re.compile(f"pairs(?::({'|'.join(UNITS)}):({'|'.join(UNITS)}))?")

Token = tuple[str, int, int]  # with its start and stop in the text


def pair_tokens(units: Sequence[str | None], text: str) -> list[Token]:
    """Return the tokens of a line: of the source, the target and the tags.

    A line without a tab is a source alone, without tokens between columns.
    """
    patterns = [*(UNITS[unit or "characters"] for unit in units), r"[^\s;]+(?:\s*;)*"]
    columns = text.split("\t")
    tokens: list[Token] = []
    start = 0
    for number, column in enumerate(columns):
        if number:
            tokens.append((COLUMN, start - 1, start))
        for match in re.finditer(patterns[min(number, 2)], column):
            unit = TAG + match[0].rstrip("; ") if number > 1 else match[0]
            tokens.append(
                (_BLANK if unit.isspace() else unit, start + match.start(), start + match.end())
            )
        start += len(column) + 1
    if len(columns) == 2:
        tokens.append((COLUMN, len(text), len(text)))
    return tokens


def pair_problem(text: str) -> str | None:
    """Say what is wrong with a line of a source, a target and perhaps tags, if something is."""
    columns = text.rstrip("\n").split("\t")
    if len(columns) not in (2, 3):
        return f"no source, target and perhaps tags, divided by tabs, in {text.strip()!r:.80}"
    for name, column in zip(("source", "target"), columns, strict=False):
        if not column.strip():
            return f"no {name} in {text.strip()!r:.80}"
    return f"has {COLUMN}, which stands between columns" if COLUMN in text else None


def units_of(lines: Iterable[str]) -> str:
    """Return the pattern of pairs, of words in columns of which most cells have blanks."""
    rows = [line.split("\t")[:2] for line in lines if line.count("\t") in (1, 2)]
    units = [
        "words" if sum(" " in cell.strip() for cell in column) > len(column) / 2 else "characters"
        for column in (zip(*rows, strict=True) if rows else ((), ()))
    ]
    return f"pairs:{':'.join(units)}"


def spelled(tokens: Sequence[str], unit: str | None) -> str:
    """Return units of a column as the cell that has them."""
    return (" " if unit == "words" else "").join(tokens).replace(_BLANK, " ")
