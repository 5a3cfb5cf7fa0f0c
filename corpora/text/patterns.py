"""Tokens of sequences by a regular expression, SMILES, k-mers or pairs."""

import math
import re
from collections.abc import Callable, Iterable
from functools import cache, partial
from re import _parser  # type: ignore[attr-defined]
from typing import Any

from firth.corpora.common.errors import SettingError
from firth.corpora.text.characters import SEPARATORS
from firth.corpora.text.pairs import PAIRS, UNITS, Token, pair_tokens

# OpenSMILES: bracket atoms, atoms without brackets, rings, bonds, branches and dots; also the
# arrows and bonds of reactions and queries
_NAMED = {
    "smiles": r"\[[^][\s]++]|Cl|Br|[BCNOSPFI*bcnosp]|%[0-9]{2}|%\([0-9]{1,5}\)|[0-9]|"
    r"->|<-|[-=#$:/\\~.()>]"
}
_KMER = re.compile(r"kmer:([1-9][0-9]{0,3})(?::([1-9][0-9]{0,3}))?")
# A search tries at most this many ways at each of so many characters. Two repeats of variable
# length are allowed after each other.
_LONGEST, _MOST_WAYS = 1000, 1e7
_CLEAN = dict.fromkeys(map(ord, SEPARATORS), " ")


@cache
def tokens_by(pattern: str) -> Callable[[str], list[Token]]:
    """Return the function that finds the tokens of a text, in which white space is left out."""
    if kmer := _KMER.fullmatch(pattern):
        return partial(_kmers, int(kmer[1]), int(kmer[2] or 1))
    if pairs := PAIRS.fullmatch(pattern):
        return partial(pair_tokens, pairs.groups())
    if pattern.startswith("pairs:"):
        raise SettingError(
            f"`pattern={pattern}`: expected pairs:SOURCE:TARGET, each {' or '.join(UNITS)}"
        )
    if pattern.startswith("kmer:"):
        raise SettingError(
            f"`pattern={pattern}`: expected kmer:K or kmer:K:STEP with numbers from 1 to 9999, "
            "such as kmer:6 or kmer:6:3"
        )
    return partial(_matches, re.compile(_NAMED.get(pattern) or _checked(pattern)))


def count_unmatched(text: str, tokens: Iterable[Token]) -> int:
    """Return how many characters, except white space, are in no token."""
    gaps, end = [], 0
    for _, start, stop in tokens:
        gaps.append(text[end:start])
        end = stop
    return len("".join("".join([*gaps, text[end:]]).split()))


def _matches(pattern: re.Pattern[str], text: str) -> list[Token]:
    """Return the matches of an expression."""
    return [(match[0].translate(_CLEAN), *match.span()) for match in pattern.finditer(text)]


def _kmers(length: int, step: int, text: str) -> list[Token]:
    """Return the words of a length at every so many characters."""
    places = [place for place, character in enumerate(text) if not character.isspace()]
    joined = "".join(text.split())
    return [
        (joined[first : first + length], places[first], places[first + length - 1] + 1)
        for first in range(0, len(joined) - length + 1, step)
    ]


def _checked(pattern: str) -> str:
    """Return an expression; raise if it is invalid, or matches nothing, or in too many ways."""
    shown = f"`pattern={pattern[:80]}{'...' * (len(pattern) > 80)}`"
    try:
        tree = _parser.parse(pattern)
        shortest, ways = tree.getwidth()[0], _ways(tree)
    except (re.error, RecursionError, OverflowError) as error:
        raise SettingError(f"{shown}: no regular expression ({error}); correct it") from None
    if not shortest:
        raise SettingError(f"{shown}: matches the empty string; a token has a character or more")
    if ways > _MOST_WAYS or len(pattern) > _LONGEST:
        raise SettingError(
            f"{shown}: could take forever, since repeats are nested, or too "
            "many follow each other; make them possessive, such as [a-z]++ for [a-z]+"
        )
    return pattern


def _ways(tree: Iterable[tuple[Any, Any]]) -> float:
    """Return a bound of the ways in which a parsed expression matches at one place."""
    return math.prod(_ways_of(str(kind), about) for kind, about in tree)


def _ways_of(kind: str, about: Any) -> float:
    """Return a bound of the ways in which one part matches."""
    if kind == "BRANCH":
        return sum(map(_ways, about[1]))
    if kind == "GROUPREF_EXISTS":
        return sum(_ways(tree) for tree in about[1:] if tree is not None)
    if kind.endswith("_REPEAT"):
        least, most, tree = about
        if most > 1 and not tree.getwidth()[0]:
            return math.inf
        if kind.startswith("POSSESSIVE"):  # each is matched once
            return _ways(tree)
        most = max(least, min(most, _LONGEST))
        return (most - least + 1) * _ways(tree) ** min(most, 100)
    if kind in ("SUBPATTERN", "ASSERT", "ASSERT_NOT"):
        return _ways(about[-1])
    return _ways(about) if kind == "ATOMIC_GROUP" else 1
