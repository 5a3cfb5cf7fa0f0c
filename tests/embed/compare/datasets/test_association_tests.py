"""Association test files: equal results for all forms, and refusals."""

import gzip
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from firth.embed.compare.datasets.association_tests import (
    AssociationTest,
    WordList,
    read_associations,
)
from tests.embed.compare.datasets.set_files import WORDS, refusal, write

NAMES = ("Flowers", "insects & co", "pleasant", "un pleasant")
LINES = "target X: a, b\ntarget Y: c, d\nattribute A: e, f\nattribute B: g, h\n"
LISTS = (("X", "a", "b"), ("Y", "c", "d"), ("A", "e", "f"), ("B", "g", "h"))
SMALL = tuple(WordList(name, tuple(words)) for name, *words in LISTS)


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
    ("text", "said"),
    [
        ("# nothing\n", ": contains no association tests; expected 'target NAME: word"),
        ("flowers, insects\n", ":1: 'flowers, insects' is not a list; expected 'target NAME"),
        (f"{LINES}target: a, b\n", ":5: 'target: a, b' is not a list"),
        ("word list: a, b\n", ":1: 'word list: a, b' is not a list"),
        ("# no words\n\ntarg1\tX\n", ":3: the list 'X' needs at least 2 words, got 0"),
        ("target X: a, ,\n", ":1: the list 'X' needs at least 2 words, got 1"),
        ("target X: a, b\n\nattribute A: c, b\n", ":3: 'b' is in 'X' and again in 'A'; remove"),
        ("target X: a, b, a\n", ":1: 'a' is in 'X' and again in 'X'; remove one"),
        ("target X: a, b\ntarget X: c, d\n", ":2: two lists are named 'X'; rename one"),
        (f"{LINES}target Z: i, j\n", ":5: 'Z' is one target list too many; a test has two"),
        ("targ1\tX\ta\tb\ntarg1\tY\tc\td\n", ":2: 'Y' is one targ1 list too many; a test has"),
        (LINES.rsplit("attribute", 1)[0], ": the test has no second attribute list; add it"),
        (f": 1\n{LINES}: 2\ntarget X: a, b\n", ":6: the test '2' has no second target list; add"),
        (f": one\n: two\n{LINES}", ":1: the test 'one' has no first target list; add it"),
        (f"{LINES}: two\n{LINES}", ":1: 'target X: a, b' precedes the first ': name' line; name"),
        (f":\n{LINES}", ":1: ':' is an empty test name; correct it"),
        (f": one\n{LINES}: one\n{LINES}", ":6: ': one' is a repeated test name; correct it"),
        ('{"targets":\n {"X": ["a", "b"],}}', ":2: not valid JSON; correct the line"),
        ('{"targets": {"X": [], "X": []}}', ": the key 'X' appears twice; rename one"),
        ('{"flowers": ["a", "b"]}', ": flowers: not an association test; expected {"),
        ('{"targets": {"X": ["a", "b"]}, "colour": 1}', ": not an association test; expected"),
        ('{"targets": [["a", "b"]]}', ": 'targets' does not map names to lists; expected"),
        ('{"targets": {"X": ["a", 1]}}', ": 'X' is not a list of words; expected"),
        ('{"one": {"targ1": {"category": "X"}}}', ": one: 'X' is not a list of words; expected"),
        ('{"targ1": ["a", "b"]}', ": 'targ1' does not map names to lists; expected"),
        ('{"one": {"targets": {"X": ["a"]}}}', ": one: the list 'X' needs at least 2 words, got"),
        ('{"targets": ' * 100_000, ":1: not valid JSON; correct the line"),
        ("{}", ": contains no association tests; expected {"),
    ],
)
def test_malformed_files_are_refused(tmp_path, text, said):
    assert refusal(read_associations, tmp_path, text).startswith(said)


def test_json_may_be_compressed(tmp_path):
    path = write(tmp_path, gzip.compress(json.dumps(as_json(SMALL)[0]).encode()), "test.json.gz")

    assert read_associations(path) == [AssociationTest(None, SMALL)]
