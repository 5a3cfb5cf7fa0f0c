"""Read association tests: two lists of target words, two lists of attribute words."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise
from pathlib import Path
from typing import Any, NamedTuple

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import Row, quoted, read_bytes, read_rows, split
from firth.embed.compare.datasets.head import Head

MIN_WORDS = 2  # per list: the mean over one word would measure that word alone
# Name of a list's role to the places it may take among X, Y, A, B.
_ROLES = {
    "target": (0, 1),
    "attribute": (2, 3),
    "targ1": (0,),
    "targ2": (1,),
    "attr1": (2,),
    "attr2": (3,),
}
_PLACES = ("first target", "second target", "first attribute", "second attribute")
_LIST = re.compile(r"(?P<role>\w+)[ \t]+(?P<name>[^:]*[^:\s])\s*:(?P<words>.*)")
_EXPECTED = "expected 'target NAME: word, word, ...' or 'attribute NAME: word, word, ...'"
_FORMS = (
    'expected {"targets": {"NAME": [...], "NAME": [...]}, "attributes": {"NAME": [...], '
    '"NAME": [...]}}'
)


@dataclass(frozen=True)
class WordList:
    """The words that represent one concept."""

    name: str  # the concept
    words: tuple[str, ...]  # at least MIN_WORDS, distinct, as the file writes them


@dataclass(frozen=True)
class AssociationTest:
    """Two target lists, X and Y, and two attribute lists, A and B."""

    name: str | None  # None for the only, unnamed test of a file
    # X, Y, A, B; no word and no name appears in two of them
    lists: tuple[WordList, WordList, WordList, WordList]


def read_associations(path: Path) -> list[AssociationTest]:
    """Read association tests: lines of lists, or JSON, detected by content."""
    rows = read_rows(path, nothing=f"no association tests; {_EXPECTED}")
    return list(_of_json(path) if rows[0].text.startswith("{") else _of_rows(path, rows))


def looks_like_associations(head: Head) -> bool:
    """Return whether the first line is a list with a role, or JSON has such keys."""
    if head.text.startswith("{"):
        return any(f'"{key}"' in head.text for key in ("targets", *_ROLES))
    try:
        return bool(head.rows) and bool(_list_of(head.rows[0]))
    except SourceError:
        return False


class _List(NamedTuple):
    """A list as a file has it."""

    where: str  # for errors
    role: str
    name: str
    words: Iterable[str]


def _test(name: str | None, where: str, lists: Iterable[_List]) -> AssociationTest:
    """Put each list at the first free place of its role."""
    placed: dict[int, WordList] = {}
    for each in lists:
        place = next((place for place in _ROLES[each.role] if place not in placed), None)
        if place is None:
            raise SourceError(
                f"{each.where}: {each.name!r} is one {each.role} list too many; a test has two "
                "target and two attribute lists; start another test with ': name'"
            )
        words = tuple(word.strip() for word in each.words if word.strip())
        if len(words) < MIN_WORDS:
            raise SourceError(
                f"{each.where}: the list {each.name!r} needs at least {MIN_WORDS} words, "
                f"got {len(words)}"
            )
        if any(other.name == each.name for other in placed.values()):
            raise SourceError(f"{each.where}: two lists are named {each.name!r}; rename one")
        placed[place] = WordList(each.name, words)
        names: dict[str, str] = {}
        for other in placed.values():
            for word in other.words:
                if word in names:
                    raise SourceError(
                        f"{each.where}: {word!r} is in {names[word]!r} and again in "
                        f"{other.name!r}; remove one"
                    )
                names[word] = other.name
    for place, role in enumerate(_PLACES):
        if place not in placed:
            which = "the test" if name is None else f"the test {quoted(name)}"
            raise SourceError(f"{where}: {which} has no {role} list; add it")
    return AssociationTest(name, (placed[0], placed[1], placed[2], placed[3]))


def _of_rows(path: Path, rows: Sequence[Row]) -> Iterator[AssociationTest]:
    """Yield the tests of a file with one list per line."""
    starts = [place for place, row in enumerate(rows) if row.text.startswith(":")]
    _check_names(rows[0], [rows[place] for place in starts])
    if not starts:
        yield _test(None, str(path), map(_list_of, rows))
    for start, stop in pairwise([*starts, len(rows)]):
        where = f"{path}:{rows[start].number}"
        yield _test(rows[start].text[1:].strip(), where, map(_list_of, rows[start + 1 : stop]))


def _check_names(first: Row, names: Sequence[Row]) -> None:
    """Raise unless all tests are named, or none, and the names are distinct."""
    if names and first is not names[0]:
        raise first.wrong("precedes the first ': name' line; name every test")
    seen = set()
    for row in names:
        name = row.text[1:].strip()
        if not name or name in seen:
            raise row.wrong(f"is {'a repeated' if name else 'an empty'} test name; correct it")
        seen.add(name)


def _list_of(row: Row) -> _List:
    """Parse one line."""
    role, name, words = "", "", [""]
    if "\t" in row.text:
        role, name, *words = [*split(row.text, "\t"), ""]
    elif match := _LIST.fullmatch(row.text):
        role, name, words = match["role"], match["name"], match["words"].split(",")
    if role.lower() not in _ROLES:
        raise row.wrong(f"is not a list; {_EXPECTED}")
    return _List(f"{row.path}:{row.number}", role.lower(), name, words)


def _of_json(path: Path) -> Iterator[AssociationTest]:
    """Yield the tests of a JSON file, which has one, or several by name."""
    try:
        found = json.loads(read_bytes(path), object_pairs_hook=_unique_keys)
    except (ValueError, RecursionError) as error:  # messages differ between Python versions
        line = getattr(error, "lineno", 1)
        raise SourceError(f"{path}:{line}: not valid JSON; correct the line") from None
    except KeyError as error:
        raise SourceError(f"{path}: the key {error.args[0]!r} appears twice; rename one") from None
    if not found:
        raise SourceError(f"{path}: contains no association tests; {_FORMS}")
    if found.keys() & {"targets", "attributes", *_ROLES}:
        yield _json_test(path, None, found)
        return
    for name, test in found.items():
        yield _json_test(path, name, test)


def _unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """Build an object, raising KeyError for a repeated key, which json would silently overwrite."""
    found = dict(pairs)
    names = [name for name, _ in pairs]
    if len(found) < len(names):
        raise KeyError(next(name for name in names if names.count(name) > 1))
    return found


def _json_test(path: Path, name: str | None, found: Any) -> AssociationTest:
    """Parse one test of a JSON file."""
    where = str(path) if name is None else f"{path}: {name}"
    return _test(name, str(path), _json_lists(where, found))


def _json_lists(where: str, found: Any) -> Iterator[_List]:
    """Yield each list."""
    if not isinstance(found, dict) or not found.keys() <= {"targets", "attributes", *_ROLES}:
        raise SourceError(f"{where}: not an association test; {_FORMS}")
    for key, value in found.items():
        if key in _ROLES and isinstance(value, dict) and isinstance(value.get("category"), str):
            lists = {value["category"]: value.get("examples")}
        elif key not in _ROLES and isinstance(value, dict):
            lists = value
        else:
            raise SourceError(f"{where}: {key!r} does not map names to lists; {_FORMS}")
        for name, words in lists.items():
            if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
                raise SourceError(f"{where}: {name!r} is not a list of words; {_FORMS}")
            yield _List(where, key.removesuffix("s"), name, words)
