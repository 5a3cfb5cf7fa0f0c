"""Corpora of random walks over a graph."""

import itertools
import json
import shutil

import numpy as np
import pytest
from scipy import sparse

from firth.corpora.artifacts.arrays import save_array
from firth.corpora.common.errors import ArtifactError
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.graphs.walk_options import WalkOptions
from firth.corpora.graphs.walker import Walker
from firth.corpora.reading.graphs.files import read_graph
from firth.corpora.reading.sources import source_files
from firth.corpora.store.corpus import Corpus
from tests.calls import output, refusal
from tests.corpora.small_corpora import arrays, words_of

# A square with a diagonal, a pendant node, and a pair apart; a loop and a repeat
EDGES = "B é\né C\nC D\nD B\nB C\nC tail.\nx !\nB B\nx !\n"


@pytest.fixture
def graph(tmp_path):
    """A small graph whose names have capitals, punctuation and accents."""
    path = tmp_path / "g.edg"
    path.write_text(EDGES, encoding="utf-8")
    return path


def walks(folder, path, name="out", threads=1, **options):
    """Build a corpus of walks."""
    options = WalkOptions(**{"walks": "5x6", **options})
    return build_corpus(path, folder / name, walks=options, options=BuildOptions(threads=threads))


@pytest.mark.parametrize("directed", [False, True])
def test_sentences_are_the_walks_of_the_graph(tmp_path, graph, directed):
    corpus = walks(tmp_path, graph, q=0.5, directed=directed)
    found = read_graph(source_files([graph])[0], directed=directed, weighted=False)
    options = WalkOptions(walks="5x6", q=0.5, directed=directed)
    walker = Walker(found.graph, options)
    expected = []
    for block in walker.starts():
        ids, ends = walker.block(*block)
        names = [found.names[node] for node in ids]
        expected += [names[a:b] for a, b in itertools.pairwise(ends)]

    assert words_of(corpus, "sentences") == expected
    assert words_of(corpus, "documents") == words_of(corpus, "paragraphs") == expected
    assert sorted(corpus.vocabulary) == ["!", "B", "C", "D", "tail.", "x", "é"]
    assert corpus.n_documents == 7 * 5
    assert corpus.training_tokens == corpus.n_tokens == sum(map(len, expected))
    assert corpus.text.words("tail. É") == ["tail.", "É"]


def test_bytes_depend_on_no_thread_and_the_seed(tmp_path, graph):
    first = walks(tmp_path, graph)

    assert arrays(walks(tmp_path, graph, "two", threads=2)) == arrays(first)
    other = walks(tmp_path, graph, "other", seed=2)
    assert arrays(other) != arrays(first)
    assert other.fingerprint != first.fingerprint
    first.verify()


def test_the_graph_is_kept_in_the_order_of_the_vocabulary(tmp_path):
    (tmp_path / "w.edg").write_text("a b 1.5\nb c 2\nc d 3\n")
    corpus = walks(tmp_path, tmp_path / "w.edg", weighted=True)
    kept, words = corpus.graph, corpus.vocabulary.words()
    edges = {}
    for node, word in enumerate(words):
        row = slice(kept.offsets[node], kept.offsets[node + 1])
        assert (np.diff(kept.neighbors[row]) > 0).all()
        for neighbor, weight in zip(kept.neighbors[row], kept.weights[row], strict=True):
            edges[word + words[neighbor]] = float(weight)

    assert words != sorted(words)  # by counts
    assert edges == {"ab": 1.5, "ba": 1.5, "bc": 2, "cb": 2, "cd": 3, "dc": 3}
    assert corpus.manifest["arrays"]["graph/neighbors.npy"] == {"dtype": "int32", "length": 6}


@pytest.mark.parametrize(
    ("name", "values", "problem"),
    [
        ("offsets", [0, 2, 9, 5, 6], "offsets do not ascend"),
        ("offsets", [0, 2, 4, 5, 7], "offsets do not ascend from 0 to 6"),
        ("offsets", [0, 6], "expected int64 of shape (5,)"),
        ("neighbors", [1, 2, 0, 3, 0, 4], "values from 0 to 4, expected 0 to 3"),
        ("neighbors", [1, 2, 0, 3, 0, -1], "values from -1 to 3"),
        ("weights", [1, 2, 3], "float32 of shape (3,), expected float32 of shape (6,)"),
        ("weights", [1, 2, 3, 4, 5, np.nan], "not all are finite and above 0"),
    ],
    ids=str,
)
def test_a_damaged_graph_is_refused(tmp_path, name, values, problem):
    (tmp_path / "w.edg").write_text("a b 1.5\nb c 2\nc d 3\n")
    corpus = walks(tmp_path, tmp_path / "w.edg", weighted=True)
    path = corpus.path / "graph" / f"{name}.npy"
    save_array(path, np.array(values, np.load(path).dtype))

    with pytest.raises(ArtifactError, match="build the corpus again") as refused:
        Corpus.open(corpus.path).graph  # noqa: B018
    assert problem in str(refused.value)


def test_the_command_says_what_was_left_out_and_when_it_is_up_to_date(tmp_path, graph):
    line = ["build-corpus", graph, "--walks", "5x6", "--p", 2, "--threads", 1]
    line += ["--out", tmp_path / "out"]
    built = output(*line)

    assert built == (
        f"{tmp_path / 'out'}: 7 nodes, 7 edges, 35 walks, 210 tokens; held out: 0 walks, 0 tokens\n"
    )
    shown = [line.split() for line in output("corpus-info", tmp_path / "out").splitlines()]
    counts = [["nodes", "7"], ["edges", "7"], ["walks", "35"], ["tokens", "210"]]
    assert [words for words in shown if words in counts] == counts
    assert ["token", "tokens", "walks"] in shown
    assert not {"documents", "sentences"} & {word for words in shown for word in words}
    assert Corpus.open(tmp_path / "out").advice() == [
        "1 edge from a node to itself was left out",
        "1 edge was given more than once",
    ]
    assert output(*line) == f"{tmp_path / 'out'}: up to date\n"
    assert "already exists" in refusal(*line, "--seed", 2)
    shutil.rmtree(tmp_path / "out")
    output(*line, "--held-out", 0.2)
    held_out = Corpus.open(tmp_path / "out").manifest["held_out_tokens"]
    assert 0 < held_out <= 42


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ("--walks 10", "`walks` must be numbers of walks and of their nodes"),
        ("--walks 5x6 --p 0", "--p must be above 0, got 0.0"),
        ("--walks 5x6 --q nan", "--q must be above 0, got nan"),
        ("--directed", "--directed: applies to graphs, which --walks reads; leave it out"),
        ("--walks 5x6 --segmenter jieba", "--segmenter jieba: does nothing for the walks"),
        ("--walks 5x6 --tokens", "--segmenter tokens: does nothing for the walks"),
        ("--walks 5x6 --pattern kmer:3", "--pattern kmer:3: does nothing for the walks"),
        ("--walks 5x6 --documents line", "--documents line: does nothing for the walks"),
        ("--walks 5x6 --phrases npmi", "--phrases npmi: does nothing for the walks"),
        ("--walks 5x6 --keep date", "does nothing for the walks"),
        ("--walks 5x6 --max-types 9", "--max-types 9: does nothing for the walks"),
        ("--walks 5x6 --keep-text", "--keep-text: does nothing for the walks"),
        ("--walks 5x6 --cluster local:2", "--cluster does nothing for the walks"),
        ("{graph} --walks 5x6", "--walks reads the file of one graph, not 2 files"),
    ],
)
def test_refuses(tmp_path, graph, options, message):
    line = options.format(graph=graph).split()
    error = refusal("build-corpus", graph, *line, "--out", tmp_path / "out")

    assert message.replace("`walks`", "--walks") in error
    assert not (tmp_path / "out").exists()


def test_refuses_text(tmp_path):
    with pytest.raises(Exception, match="is text; pass the path of a graph, or drop `walks`"):
        walks(tmp_path, ["a b", "b c"])
    (tmp_path / "story.txt").write_text("Call me Ishmael. Some years ago, never mind.\n")
    error = refusal(
        "build-corpus", tmp_path / "story.txt", "--walks", "5x6", "--out", tmp_path / "out"
    )
    assert error.startswith(f"{tmp_path / 'story.txt'}:1: ")
    (tmp_path / "story.txt").write_text(
        "Call me Ishmael .\nSome years ago .\nNever mind how long .\n"
    )
    error = refusal(
        "build-corpus", tmp_path / "story.txt", "--walks", "5x6", "--out", tmp_path / "out"
    )
    assert error == (
        f"{tmp_path / 'story.txt'}: has no line for 'me', unlike lists of neighbors; drop --walks "
        "if it is text, or let the name of the file end in .adjlist"
    )


def test_held_out_links_are_taken_by_no_walk(tmp_path):
    nodes = range(12)  # a ring with chords
    edges = {frozenset((n, (n + step) % 12)) for n in nodes for step in (1, 3)}
    path = tmp_path / "ring.edg"
    path.write_text("".join("n{} n{}\n".format(*sorted(edge)) for edge in edges))
    out = tmp_path / "out"
    printed = output("build-corpus", path, "--walks", "9x9", "--hold-out-links", 0.25, "--out", out)
    lines = (out / "links.tsv").read_text().splitlines()[1:]
    held_out = {frozenset(line.split()[:2]) for line in lines if line.endswith("1")}
    corpus = Corpus.open(out)
    steps = {
        frozenset(pair)
        for words in words_of(corpus, "sentences")
        for pair in itertools.pairwise(words)
    }

    assert len(held_out) == 6
    assert len(lines) == 12
    assert not steps & held_out
    assert steps | held_out == {frozenset(f"n{n}" for n in edge) for edge in edges}
    assert printed.splitlines()[-1] == f"{out}: 6 links held out, in {out / 'links.tsv'}"
    assert len(corpus.graph.neighbors) == 2 * (len(edges) - 6)
    corpus.verify()


GRAPHML = """<graphml><key id="w" for="edge" attr.name="weight"/><graph edgedefault="directed">
<edge source="A" target="a"><data key="w">2</data></edge>
</graph></graphml>"""


@pytest.mark.parametrize(
    ("name", "options", "notes"),
    [
        ("g.npz", {}, ["2 weights other than 1 were not used; `weighted=True` uses them"]),
        ("g.npz", {"weighted": True}, []),
        (
            "g.graphml",
            {},
            [
                "1 weight other than 1 was not used; `weighted=True` uses it",
                "1 directed edge was read both ways; `directed=True` reads one way",
            ],
        ),
        ("g.graphml", {"weighted": True, "directed": True}, []),
        (
            "g.edg",
            {"weighted": True},
            ["1 weight is as large as Unix times; drop the column and `weighted=True`"],
        ),
    ],
)
def test_what_is_not_read_as_it_is_is_noted(tmp_path, name, options, notes):
    sparse.save_npz(
        tmp_path / "g.npz", sparse.coo_array(np.array([[0, 2, 1], [2, 0, 0], [1, 0, 0]]))
    )
    (tmp_path / "g.graphml").write_text(GRAPHML)
    (tmp_path / "g.edg").write_text("A a 1082040961\n")

    corpus = walks(tmp_path, tmp_path / name, **options)

    assert [line for line in corpus.advice() if "held-out" not in line] == notes


@pytest.mark.parametrize(
    ("edges", "share", "notes"),
    [
        ("ab bc cd da ac bd ae bf", 0.25, []),  # 6 nodes, which 5 edges connect
        (
            "ab bc cd da ac bd ae bf",
            0.75,
            ["3 of 6 links asked for are held out; more would split nodes off"],
        ),
        ("ab bc cd de", 0.5, ["0 of 2 links asked for are held out; more would split nodes off"]),
    ],
)
@pytest.mark.parametrize("directed", [False, True])
def test_fewer_links_than_asked_are_noted(tmp_path, edges, share, notes, directed):
    (tmp_path / "g.edg").write_text("".join(f"{a} {b}\n" for a, b in edges.split()))
    corpus = walks(tmp_path, tmp_path / "g.edg", hold_out_links=share, directed=directed)

    assert [line for line in corpus.advice() if "links" in line] == notes
    tally = corpus.manifest["tally"]
    assert tally["edges"] + tally["held_out_links"] == len(edges.split())


def test_a_dry_run_makes_nothing_and_knows_the_sizes(tmp_path, graph):
    out = tmp_path / "out"
    line = ("build-corpus", graph, "--walks", "5x6", "--threads", 1, "--out", out)
    estimate = json.loads(output(*line, "--dry-run", "--json"))

    assert sorted(path.name for path in tmp_path.iterdir()) == ["g.edg"]
    output(*line)
    size = sum(path.stat().st_size for path in out.rglob("*") if path.is_file())
    assert (estimate["tokens"], estimate["types"]) == (210, 7)
    assert estimate["disk"] == pytest.approx(size, rel=0.1)
    assert "a corpus that is up to date" in output(*line, "--dry-run")
