"""GraphML."""

import pytest

from firth.corpora.common.errors import SourceError

KEYS = """
<key id="k0" for="node" attr.name="weight" attr.type="double"/>
<key id="k1" for="edge" attr.name="color" attr.type="string"/>
<key id="k2" for="edge" attr.name="weight" attr.type="double">{default}</key>
"""
EDGES = """
<node id="lone"/><node id="a"><data key="k0">7</data></node>
<edge id="e1" source="c" target="a"><data key="k2"> 2.5
</data><data key="k1">red</data></edge>
<node id="c"/>
<edge source="a" target="b"><data key="k1">blue</data></edge>
"""


def graphml(edges, direction="undirected", default="<default>1</default>"):
    """A file as NetworkX writes it."""
    return (
        '<?xml version="1.0" encoding="utf-8"?>\n'
        '<graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
        f'{KEYS.format(default=default)}<graph edgedefault="{direction}">{edges}</graph></graphml>'
    )


def test_nodes_edges_and_weights_are_read(read, edges_of):
    found = read(graphml(EDGES), "g.graphml", weighted=True)
    assert (found.names, found.tally) == (["a", "c", "b"], {"isolated_nodes": 1})
    half = {("a", "c"): 2.5, ("a", "b"): 1}
    assert edges_of(found) == {**half, **{pair[::-1]: weight for pair, weight in half.items()}}
    plain = read(graphml(EDGES), "g.graphml")
    assert plain.graph.weights is None
    assert plain.tally == {"isolated_nodes": 1, "unused_weights": 1}


@pytest.mark.parametrize(
    ("weight", "unused"), [("1", {}), ("1.00", {}), ("10", 1), ("0.1", 1), ("x", 1)]
)
def test_weights_other_than_one_that_are_not_used_are_counted(read, weight, unused):
    found = read(graphml(WEIGHT.format(weight)), "g.graphml")
    assert found.tally == (unused and {"unused_weights": unused})


@pytest.mark.parametrize("direction", ["directed", "undirected"])
def test_an_undirected_file_has_edges_both_ways(read, edges_of, direction):
    found = read(graphml(EDGES, direction), "g.graphml", directed=True)
    both = {("a", "c"): 1, ("b", "a"): 1} if direction == "undirected" else {}
    assert edges_of(found) == {("c", "a"): 1, ("a", "b"): 1, **both}
    assert "directed_edges" not in found.tally
    undirected = read(graphml(EDGES, direction), "g.graphml")
    assert len(undirected.graph.neighbors) == 4
    assert undirected.tally.get("directed_edges", 0) == 2 * (direction == "directed")


def test_an_edge_may_say_whether_it_is_directed(read, edges_of):
    edges = (
        '<edge source="a" target="b" directed="true"/><edge source="b" target="c"/>'
        '<edge source="c" target="d" directed="false"/>'
    )
    found = read(graphml(edges), "g.graphml", directed=True)
    ways = {("a", "b"), ("b", "c"), ("c", "b"), ("c", "d"), ("d", "c")}
    assert set(edges_of(found)) == ways
    assert read(graphml(edges), "g.graphml").tally == {"directed_edges": 1}


BOMB = '<!DOCTYPE x [<!ENTITY a "aa"><!ENTITY b "&a;&a;">]>\n<graphml>&b;</graphml>'
SPACE = (
    "the name 'a b' contains white space, which separates tokens; replace it by _, or drop `walks` "
    "if this is text"
)
WEIGHT = '<edge source="a"\ntarget="b"><data key="k2">{}</data></edge>'
RANGE = "is not between 1e-30 and 1e+30; correct it, or leave the edge out"
GEXF = "is XML of gexf; convert it to GraphML or an edge list"
NO_TARGET = "an element has no attribute 'target'; fix the file"
NO_WEIGHT = "the edge has no weight; add it, or leave out `weighted=True`"
REFUSED = {
    "entities": (BOMB, ":1: has a DOCTYPE, which GraphML does not need; remove it"),
    "cut": ("<graphml>\n<graph", ":2: malformed XML (unclosed token); fix the file"),
    "empty": ("<graphml/>", ": has no edge between two nodes; pass a file with edges"),
    "GEXF": ("<?xml version='1.0'?>\n<gexf/>", f":2: {GEXF}"),
    "white space": (graphml('\n<node id="a b"/>'), f":7: {SPACE}"),
    "no target": (graphml('<edge source="a"/>'), f":6: {NO_TARGET}"),
    "negative": (graphml(WEIGHT.format(-1)), f":7: the weight -1 {RANGE}"),
    "word": (graphml(WEIGHT.format("x")), ":7: the weight 'x' is not a number; correct it"),
    "no weight": (graphml(WEIGHT.format(""), default=""), f":7: {NO_WEIGHT}"),
}


@pytest.mark.parametrize("case", REFUSED)
def test_bad_files_are_refused(read, case):
    text, message = REFUSED[case]
    with pytest.raises(SourceError) as caught:
        read(text, "g.graphml", weighted=True)
    assert str(caught.value) == f"g.graphml{message}"
