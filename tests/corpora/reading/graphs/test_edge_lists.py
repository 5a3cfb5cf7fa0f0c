"""Edge lists and adjacency lists."""

import gzip
import lzma

import numpy as np
import pytest

from firth.corpora.common.errors import SourceError
from firth.corpora.reading.graphs.edge_lists import read_edge_list


def naive_edges(lines, directed):
    """The definition with dictionaries; each line has two names and a weight."""
    sums = {}
    for source, target, weight in lines:
        if source != target:
            sums[source, target] = sums.get((source, target), 0) + weight
    if directed:
        return sums
    pairs = {pair for source, target in sums for pair in ((source, target), (target, source))}
    return {(a, b): max(sums.get((a, b), 0), sums.get((b, a), 0)) for a, b in pairs}


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("directed", [False, True])
def test_graphs_match_the_definition(read, edges_of, directed, weighted):
    rng = np.random.default_rng(3)
    lines = [(f"n{a}", f"n{b}", w) for a, b, w in rng.integers(1, 40, size=(600, 3)).tolist()]
    text = "".join(f"{a} {b}" + f" {w / 2}" * weighted + "\n" for a, b, w in lines)

    found = read(text, directed=directed, weighted=weighted)

    expected = naive_edges([(a, b, w / 2) for a, b, w in lines], directed)
    assert edges_of(found) == (expected if weighted else dict.fromkeys(expected, 1))
    seen = dict.fromkeys(name for line in lines for name in line[:2])
    assert found.names == list(seen)
    loops = sum(a == b for a, b, _ in lines)
    n_edges = len(expected) // (1 if directed else 2)
    assert found.tally == {"self_loops": loops, "repeated_edges": 600 - loops - n_edges}


PATH = {("a", "b"): 1, ("b", "a"): 1, ("b", "01"): 1, ("01", "b"): 1}


WRITTEN = {
    "blanks": ("a b\nb 01\n", "g.txt"),
    "comments": ("\ufeff# 01 a\n\n  a   b\r\n% 01 a\r\nb 01", "g.txt"),
    "tabs": ("a\tb\t\nb \t01\n", "g.tsv"),
    "quoted TSV": ('"a"\tb\nb\t01\n', "g.tsv"),
    "CSV": ("a,b\nb, 01\n", "g.csv"),
    "quoted CSV": ('"a","b"\n"b", "01"\n', "g.csv"),
    "header": ("Source,Target\na,b\nb,01\n", "g.csv"),
    "SNAP": ("# 2 edges\nFromNodeId\tToNodeId\na\tb\nb\t01\n", "g.tsv"),
    "from-to": ("from to\na b\nb 01\n", "g.txt"),
    "adjacency": ("a b\nb 01\n01\n", "g.adjlist"),
    "widths": ("a b\nb 01 a a\n01\n", "g.txt"),
    "gzip": (gzip.compress(b"a b\nb 01\n"), "g.txt.gz"),
    "xz": (lzma.compress(b"a b\nb 01\n"), "g.adjlist.xz"),
}


@pytest.mark.parametrize("way", WRITTEN)
def test_each_way_to_write_a_path(read, edges_of, way):
    found = read(*WRITTEN[way])
    assert edges_of(found) == PATH
    assert found.names == ["a", "b", "01"]


@pytest.mark.parametrize("first", ["user item", "a1 b2", "Anna Bert"])
def test_a_line_of_names_above_numbers_is_a_header(read, first):
    assert read(f"{first}\n1 2\n2 3\n", "g.txt").names == ["1", "2", "3"]
    assert read(f"{first}\n1 2\n2 x\n", "g.txt").names == [*first.split(), "1", "2", "x"]


def test_edges_of_names_that_begin_as_comments_are_counted(read):
    found = read("# a graph of tags\n#nodes: 3\na b\n#a b\n%c, b\n", "g.txt")
    assert (found.names, found.tally) == (["a", "b"], {"comments": 3})


def test_names_are_kept_as_they_are(read):
    found = read("1 01\n01 A\nA a\n'q' a\n", "g.txt")
    assert found.names == ["1", "01", "A", "a", "'q'"]


def test_nodes_without_edges_are_counted_and_left_out(read, edges_of):
    found = read("lone\na a\nc b\nb\n", "g.adjlist", directed=True)
    assert (found.names, found.tally) == (["c", "b"], {"isolated_nodes": 2, "self_loops": 1})
    assert edges_of(found) == {("c", "b"): 1}


def test_a_list_with_all_edges_from_both_sides_repeats_none(read):
    assert read("a b c d\nb a\nc a\nd a\n", "g.adjlist").tally == {}
    assert read("a b\nb a\nb c\n").tally == {"repeated_edges": 1}


def test_weights_of_one_direction_add_up_and_both_directions_are_one_edge(read, edges_of):
    text = "source,target,weight\na,b,1\na,b,2.5\nb,a,3.5\nb,c,1e0\nc,b,4\n"
    found = read(text, weighted=True)
    both = [("a", "b", 3.5), ("b", "a", 3.5), ("b", "c", 4), ("c", "b", 4)]
    assert edges_of(found) == {(source, target): weight for source, target, weight in both}
    assert found.tally == {"repeated_edges": 1}  # a,b


@pytest.mark.parametrize("separator", [" ", "\t", ","])
@pytest.mark.parametrize("weighted", [False, True])
def test_pieces_of_a_file_are_read_as_its_lines(separator, weighted):
    pairs = ["a b", "b a", "a c", "#a d", "d e", "", "e f", "f a"]
    lines = [separator.join(pair.split() + ["0.5"] * (weighted and pair != "")) for pair in pairs]
    lines[4] = f" {lines[4]} "
    pieces = [(first + 1, "\n".join(lines[first : first + 2]) + "\n") for first in range(0, 8, 2)]

    edges = read_edge_list(pieces, "graph.edg", weighted)

    whole = read_edge_list([(1, "\n".join(lines))], "graph.edg", weighted)
    assert list(edges.numbers.items()) == [(name, n) for n, name in enumerate("abcdef")]
    assert edges.ends.tolist() == whole.ends.tolist() == [0, 1, 1, 0, 0, 2, 3, 4, 4, 5, 5, 0]
    assert edges.weights.tolist() == whole.weights.tolist() == [0.5] * 6 * weighted


def test_the_encoding_can_be_given(read):
    assert read("é b\n".encode("latin-1"), encoding="latin-1").names == ["é", "b"]


RANGE = "is not between 1e-30 and 1e+30; correct it, or leave the edge out"
KEEP = "keep two columns (a list of neighbors needs the file ending .adjlist, text no `walks`)"
NO_LINE = (
    "unlike lists of neighbors; drop `walks` if it is text, or let the name of the file end in "
)
PROSE = "The cat sat on the mat .\nA dog ran .\nSome birds sang in the old tree , and flew .\n"
THREE = f":1: has 3 columns; pass `weighted=True` if the third is a weight, or {KEEP}"
ONE = "has 1 column; separate two nodes by blanks, a tab or a comma"
NETWORKX = ":1: has 3 columns; write the edges with data=['weight'] or data=False in NetworkX"
WIDTH = "with `weighted=True` a line has two nodes and a weight"
SPACE = (
    "contains white space, which separates tokens; replace it by _, or drop `walks` if this is text"
)
NO_EDGE = ": has no edge between two nodes; pass a file with edges"
QUOTES = "quote names that contain quotes, and double these quotes"
NUL = ":2: contains a NUL byte; pass `errors=replace` if the file is otherwise text"
REFUSED = {
    "third column": ("a b 1\n", THREE),
    "four columns": ("a b\n\n#\na b 1 2", f":4: has 4 columns; {KEEP}"),
    "towns": ("San Luis X a\na b\nSan Luis Y b\n", f":1: has 4 columns; {KEEP}"),
    "prose": (PROSE, f": has no line for 'cat', {NO_LINE}.adjlist"),
    "prose, one width": ("The cat sat\nA dog ran\n", THREE),
    "a neighbor without a line": (
        "a b\nb c a d\nd b\n",
        f": has no line for 'c', {NO_LINE}.adjlist",
    ),
    "networkx": ("a b {}\n", NETWORKX),
    "networkx, some with data": ("a b {}\nb c {'weight': 2}\n", NETWORKX),
    "one column": ("a b\nc\n", f":2: {ONE}"),
    "semicolon": ("a;b\n", f":1: {ONE}"),
    "space": ("a,b\nNew York,Boston\n", f":2: the name 'New York' {SPACE}"),
    "empty": ("a,b\nb,\n", ":2: a node has an empty name; name it"),
    "quotes": ('a,b\n"b,c\n', f":2: malformed CSV (unexpected end of data); {QUOTES}"),
    "nothing": ("", NO_EDGE),
    "loops": ("#a b\na a\n", NO_EDGE),
    "latin-1": (b"a b\n\xe9 b\n", ":2: byte 0xE9 is not UTF-8; pass `encoding=latin-1`"),
    "nul": (b"a b\na \0\n", NUL),
}
REFUSED_WITH_WEIGHTS = {
    "none": ("a b\n", f":1: has 2 columns; {WIDTH}"),
    "word": ("a b 1\na b x", ":2: the weight 'x' is not a number; correct it"),
    **{
        weight: (f"a b 1\na b {weight}", f":2: the weight {weight} {RANGE}")
        for weight in ("-2", "0", "nan", "inf", "1e-40")
    },
}


@pytest.mark.parametrize(
    ("weighted", "case"),
    [*((False, case) for case in REFUSED), *((True, case) for case in REFUSED_WITH_WEIGHTS)],
)
def test_bad_lists_are_refused(read, weighted, case):
    text, message = (REFUSED_WITH_WEIGHTS if weighted else REFUSED)[case]
    with pytest.raises(SourceError) as caught:
        read(text, weighted=weighted)
    assert str(caught.value) == f"graph.edg{message}"


@pytest.mark.parametrize(
    ("text", "error"),
    [
        ("b c 1\nc d -1\n", f"the weight -1 {RANGE}"),
        ("b c 1\nc d\n", f"has 2 columns; {WIDTH}"),
        ("b c 1\nc d 1 1\n", f"has 4 columns; {WIDTH}"),
    ],
)
def test_errors_in_a_later_piece_name_the_line(text, error):
    with pytest.raises(SourceError) as caught:
        read_edge_list([(1, "a b 1\n"), (2, text)], "graph.edg", True)
    assert str(caught.value) == f"graph.edg:3: {error}"


def test_a_file_that_is_named_an_adjacency_list_needs_no_line_for_each_node(read):
    assert read(PROSE, "g.adjlist").names[:2] == ["The", "cat"]


@pytest.mark.parametrize(
    ("weights", "times"),
    [
        (("1082040961", "1155443026", "1098777142.0"), 3),  # seconds
        (("1082040961000", "1155443026123", "1098777142000"), 3),  # milliseconds
        (("1082040961", "1155443026.5", "1098777142"), 0),
        (("1082040961", "20101231", "1098777142"), 0),
        (("1082040961", "99820409610", "1098777142"), 0),  # of money
        (("1", "2", "3"), 0),
    ],
)
def test_weights_that_are_times_are_counted(read, weights, times):
    edges = zip(("a b", "b c", "a b"), weights, strict=True)
    found = read("".join(f"{ends} {weight}\n" for ends, weight in edges), weighted=True)
    assert found.tally.get("times", 0) == times


def test_an_adjacency_list_has_no_weights(read):
    with pytest.raises(SourceError, match=r"^g\.adjlist: an adjacency list has no weights; leave"):
        read("a b c\n", "g.adjlist", weighted=True)
