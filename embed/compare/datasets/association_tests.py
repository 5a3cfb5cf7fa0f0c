"""Read association tests: two lists of target words, two lists of attribute words."""

import json
import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.fields import Row, read_bytes, read_rows, split
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


class _Test:
    """A test under construction: lists are added one by one."""

    def __init__(self, name: str | None, where: str) -> None:
        self._name, self._where = name, where
        self._lists: list[WordList | None] = [None] * len(_PLACES)

    def add(self, where: str, role: str, name: str, words: Iterable[str]) -> None:
        """Add a list at the first free place of its role."""
        free = next((place for place in _ROLES[role] if self._lists[place] is None), None)
        if free is None:
            raise SourceError(
                f"{where}: {name!r} is one {role} list too many; a test has two target and two "
                "attribute lists; start another test with ': name'"
            )
        found = WordList(name, tuple(word.strip() for word in words if word.strip()))
        if len(found.words) < MIN_WORDS:
            raise SourceError(
                f"{where}: the list {name!r} needs at least {MIN_WORDS} words, "
                f"got {len(found.words)}"
            )
        self._lists[free] = found
        self._check_duplicates(where, found)

    def finish(self) -> AssociationTest:
        """Return the test, or raise if a list is missing."""
        x, y, a, b = self._lists
        if x is None or y is None or a is None or b is None:
            missing = _PLACES[self._lists.index(None)]
            which = "the test" if self._name is None else f"the test {self._name!r}"
            raise SourceError(f"{self._where}: {which} has no {missing} list; add it")
        return AssociationTest(self._name, (x, y, a, b))

    def _check_duplicates(self, where: str, added: WordList) -> None:
        """Raise if the added list repeats a name or a word, its own or another list's."""
        lists = [each for each in self._lists if each is not None]
        if [each.name for each in lists].count(added.name) > 1:
            raise SourceError(f"{where}: two lists are named {added.name!r}; rename one")
        every = [word for each in lists for word in each.words]
        twice = next((word for word in added.words if every.count(word) > 1), None)
        if twice is not None:
            names = [each.name for each in lists for word in each.words if word == twice]
            raise SourceError(
                f"{where}: {twice!r} is in {names[0]!r} and again in {names[1]!r}; remove one"
            )


def _of_rows(path: Path, rows: Sequence[Row]) -> Iterator[AssociationTest]:
    """Yield the tests of a file with one list per line."""
    names = [row for row in rows if row.text.startswith(":")]
    _check_names(rows[0], names)
    test = None if names else _Test(None, str(path))
    for row in rows:
        where = f"{path}:{row.number}"
        if test is not None and not row.text.startswith(":"):
            test.add(where, *_list_of(row))
            continue
        if test is not None:
            yield test.finish()
        test = _Test(row.text[1:].strip(), where)
    if test is not None:
        yield test.finish()


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


def _list_of(row: Row) -> tuple[str, str, list[str]]:
    """Parse one line into role, name and words."""
    role, name, words = "", "", [""]
    if "\t" in row.text:
        role, name, *words = [*split(row.text, "\t"), ""]
    elif match := _LIST.fullmatch(row.text):
        role, name, words = match["role"], match["name"], match["words"].split(",")
    if role.lower() not in _ROLES:
        raise row.wrong(f"is not a list; {_EXPECTED}")
    return role.lower(), name, words


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
    test = _Test(name, str(path))
    for role, list_name, words in _json_lists(where, found):
        if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
            raise SourceError(f"{where}: {list_name!r} is not a list of words; {_FORMS}")
        test.add(where, role, list_name, words)
    return test.finish()


def _json_lists(where: str, found: Any) -> Iterator[tuple[str, str, Any]]:
    """Yield role, name and words of each list; the words are not checked yet."""
    if not isinstance(found, dict) or not found.keys() <= {"targets", "attributes", *_ROLES}:
        raise SourceError(f"{where}: not an association test; {_FORMS}")
    for key, value in found.items():
        if key in _ROLES and isinstance(value, dict) and isinstance(value.get("category"), str):
            yield key, value["category"], value.get("examples")
        elif key not in _ROLES and isinstance(value, dict):
            yield from ((key.removesuffix("s"), name, words) for name, words in value.items())
        else:
            raise SourceError(f"{where}: {key!r} does not map names to lists; {_FORMS}")
