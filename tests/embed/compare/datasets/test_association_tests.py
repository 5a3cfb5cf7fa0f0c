"""Association test files: equal results for all forms, and refusals."""

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.corpora.common.errors import SourceError
from firth.embed.compare.datasets.association_tests import (
    AssociationTest,
    WordList,
    read_associations,
)
from tests.embed.compare.datasets.set_files import WORDS, write
from tests.embed.compare.refusals import message_of

NAMES = ("Flowers", "insects & co", "pleasant", "un pleasant")
LINES = "target X: a, b\ntarget Y: c, d\nattribute A: e, f\nattribute B: g, h\n"
LISTS = (("X", "a", "b"), ("Y", "c", "d"), ("A", "e", "f"), ("B", "g", "h"))
SMALL = tuple(WordList(name, tuple(words)) for name, *words in LISTS)
EXPECTED = "expected 'target NAME: word, word, ...' or 'attribute NAME: word, word, ...'"
TOO_MANY = (
    "list too many; a test has two target and two attribute lists; start another test with ': name'"
)
FORMS = (
    'expected {"targets": {"NAME": [...], "NAME": [...]}, "attributes": {"NAME": [...], '
    '"NAME": [...]}}'
)


def as_json(lists):
    """A test in both forms of JSON."""
    x, y, a, b = lists
    ours = {
        "targets": {x.name: x.words, y.name: y.words},
        "attributes": {a.name: a.words, b.name: b.words},
    }
    theirs = {
        role: {"category": each.name, "examples": each.words}
        for role, each in zip(("targ1", "targ2", "attr1", "attr2"), lists, strict=True)
    }
    return ours, theirs


@pytest.mark.slow
@given(
    words=st.lists(WORDS, min_size=12, max_size=16, unique=True),
    cuts=st.tuples(*[st.integers(0, 4)] * 3),
    end=st.sampled_from(["\n", "\r\n"]),
    mark=st.sampled_from(["", "\ufeff"]),
)
def test_all_forms_give_the_same_test(tmp_path_factory, words, cuts, end, mark):
    stops = [0, *(2 * place + cut for place, cut in enumerate(sorted(cuts), 1)), len(words)]
    lists = tuple(
        WordList(name, tuple(words[start:stop]))
        for name, start, stop in zip(NAMES, stops, stops[1:], strict=False)
    )
    roles = ("target", "target", "attribute", "attribute")
    lines = [
        f"{role} {each.name} : {' , '.join(each.words)} ,"
        for role, each in zip(roles, lists, strict=True)
    ]
    tabs = [
        "\t".join([role, each.name, *each.words])
        for role, each in zip(("targ1", "targ2", "Attr1", "ATTR2"), lists, strict=True)
    ]
    folder = tmp_path_factory.mktemp("sets")
    texts = [end.join(lines), end.join(reversed(tabs)), *map(json.dumps, as_json(lists))]

    for text in texts:
        assert read_associations(write(folder, mark + text)) == [AssociationTest(None, lists)]


def test_a_file_may_hold_several_named_tests(tmp_path):
    expected = [AssociationTest("one", SMALL), AssociationTest("two: 2", SMALL)]
    ours, theirs = as_json(SMALL)

    lines = write(tmp_path, f"# set\n: one\n{LINES}\n:two: 2\n{LINES}")
    named = write(tmp_path, json.dumps({"one": ours, "two: 2": theirs}), "tests.json")

    assert read_associations(lines) == read_associations(named) == expected


def test_the_first_list_of_a_role_is_x_or_a_in_any_order(tmp_path):
    x, y, a, b = LINES.splitlines()

    [found] = read_associations(write(tmp_path, f"{a}\n{x}\n{b}\n{y}\n"))

    assert found.lists == SMALL


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("# nothing\n", f": contains no association tests; {EXPECTED}"),
        ("flowers, insects\n", f":1: 'flowers, insects' is not a list; {EXPECTED}"),
        (f"{LINES}target: a, b\n", f":5: 'target: a, b' is not a list; {EXPECTED}"),
        ("word list: a, b\n", f":1: 'word list: a, b' is not a list; {EXPECTED}"),
        ("# no words\n\ntarg1\tX\n", ":3: the list 'X' needs at least 2 words, got 0"),
        ("target X: a, ,\n", ":1: the list 'X' needs at least 2 words, got 1"),
        ("target X: a, b\n\nattribute A: c, b\n", ":3: 'b' is in 'X' and again in 'A'; remove one"),
        ("target X: a, b, a\n", ":1: 'a' is in 'X' and again in 'X'; remove one"),
        ("target X: a, b\ntarget X: c, d\n", ":2: two lists are named 'X'; rename one"),
        (
            f"{LINES}target Z: i, j\n",
            f":5: 'Z' is one target {TOO_MANY}",
        ),
        (
            "targ1\tX\ta\tb\ntarg1\tY\tc\td\n",
            f":2: 'Y' is one targ1 {TOO_MANY}",
        ),
        (LINES.rsplit("attribute", 1)[0], ": the test has no second attribute list; add it"),
        (
            f": one\n{LINES}: two\ntarget X: a, b\n",
            ":6: the test 'two' has no second target list; add it",
        ),
        (f": one\n: two\n{LINES}", ":1: the test 'one' has no first target list; add it"),
        (
            f"{LINES}: two\n{LINES}",
            ":1: 'target X: a, b' precedes the first ': name' line; name every test",
        ),
        (f":\n{LINES}", ":1: ':' is an empty test name; correct it"),
        (f": one\n{LINES}: one\n{LINES}", ":6: ': one' is a repeated test name; correct it"),
        ('{"targets":\n {"X": ["a", "b"],}}', ":2: not valid JSON; correct the line"),
        (
            '{"targets": {"X": ["a", "b"], "X": ["c", "d"]}}',
            ": the key 'X' appears twice; rename one",
        ),
        ('{"flowers": ["a", "b"]}', f": flowers: not an association test; {FORMS}"),
        ('{"targets": {"X": ["a", "b"]}, "colour": 1}', f": not an association test; {FORMS}"),
        ('{"targets": [["a", "b"]]}', f": 'targets' does not map names to lists; {FORMS}"),
        ('{"targets": {"X": ["a", 1]}}', f": 'X' is not a list of words; {FORMS}"),
        ('{"one": {"targ1": {"category": "X"}}}', f": one: 'X' is not a list of words; {FORMS}"),
        ('{"targ1": ["a", "b"]}', f": 'targ1' does not map names to lists; {FORMS}"),
        ('{"one": {"targets": {"X": ["a"]}}}', ": one: the list 'X' needs at least 2 words, got 1"),
        ('{"targets": ' * 100_000, ":1: not valid JSON; correct the line"),
        ("{}", ": contains no association tests; " + FORMS),
    ],
)
def test_malformed_files_are_refused(tmp_path, text, message):
    path = write(tmp_path, text)

    assert message_of(SourceError, read_associations, path) == f"{path}{message}"


def test_json_may_be_compressed(tmp_path):
    import gzip

    lists = {
        "targets": {"a": ["x", "y"], "b": ["v", "w"]},
        "attributes": {"c": ["m", "n"], "d": ["o", "p"]},
    }
    path = tmp_path / "test.json.gz"
    path.write_bytes(gzip.compress(json.dumps(lists).encode()))

    [found] = read_associations(path)

    assert list(found.lists[0].words) == ["x", "y"]
