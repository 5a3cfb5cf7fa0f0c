"""``firth mcp``: what its tools answer, and a session with a client of the protocol."""

import json
import sys
from pathlib import Path

import pytest

from firth.corpora.common.errors import FirthError
from firth.corpora.store.collocates import collocates
from firth.corpora.store.concordance import concordance
from firth.embed.change.config import ChangeConfig
from firth.embed.change.words import word_changes
from firth.embed.commands import tools as tools_module
from firth.embed.commands.tools import Tools, described
from firth.embed.explore.why import why_near
from firth.embed.resampling.intervals import neighbor_intervals, similarity_intervals
from firth.embed.svd.train import SvdConfig, train_svd
from tests.calls import refusal
from tests.corpora.store.searched import searched_corpus
from tests.embed.themed_run import themed_run

ROOT = Path(__file__).parents[3]


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    """Return a corpus of a dozen words, with the year of each document."""
    return searched_corpus(tmp_path_factory.mktemp("corpus"))


@pytest.fixture(scope="module")
def paths(corpus, tmp_path_factory):
    """Return a corpus, a run of it and a run of its changes, as on the command line."""
    folder = tmp_path_factory.mktemp("runs")
    train_svd(corpus, SvdConfig(dim=5), folder / "svd")
    config = ChangeConfig(dim=4, min_count=1, permutations=9, threads=1)
    changes = word_changes(corpus, config=config, by="year", periods=["1900", "1901-1902"])
    changes.save(folder / "change")
    return [corpus.path, folder / "svd", folder / "change"]


@pytest.fixture(scope="module")
def tools(paths):
    """Return the tools of all runs."""
    return Tools(paths[0], paths[1:])


@pytest.fixture
def ask(tools):
    """Return a function that calls a tool by its name."""
    return lambda name, **arguments: json.loads(
        json.dumps(tools.by_name[name](**arguments), default=tools_module._data)
    )


def test_tools_are_those_that_the_runs_allow(paths, tools):
    corpus, svd, change = paths
    both = ["concordance", "collocates"]
    assert list(Tools(corpus, []).by_name) == both
    assert list(Tools(corpus, [svd]).by_name) == [*both, "neighbors", "why"]
    assert list(Tools(corpus, [change]).by_name) == [*both, "change"]
    assert list(tools.by_name) == [*both, "neighbors", "why", "change"]
    for said in ("'title', 'year'", str(svd), f"{change} (1900, 1901-1902)"):
        assert said in tools.about()


def test_no_tool_takes_a_path_and_every_number_is_bounded(tools):
    for tool in map(described, tools.by_name.values()):
        schema = tool["input_schema"]
        assert not {"corpus", "corpora", "out"} & schema["properties"].keys()
        assert "corpus :" not in tool["description"]
        assert "Raises" not in tool["description"]
        assert not schema["additionalProperties"]
        kinds = [about for about in schema["properties"].values() if about["type"] == "integer"]
        assert {about["maximum"] for about in kinds} <= {100}
    assert described(tools.neighbors)["input_schema"]["required"] == ["word"]


def test_lines_and_collocates_are_those_of_the_corpus(ask, corpus):
    found = ask("concordance", query="sea ship", lines=2, documents="year=1901-")
    expected = concordance(corpus, "sea ship", lines=2, documents="year=1901-")
    assert found["n_found"] == expected.n_found
    for line, one in zip(found["lines"], expected.lines, strict=True):
        assert line["text"] == f"{one.left} [{one.found}] {one.right}".strip()
        assert (line["document"], line["citation"]) == (one.document, one.citation)
    found = ask("collocates", query="sea", top=2)
    expected = collocates(corpus, "sea", top=2)
    assert found["n_near"] == expected.n_near
    for row, one in zip(found["rows"], expected.rows, strict=True):
        assert (row["word"], row["near"]) == (one.word, one.near)
        assert [row["low"], row["high"]] == pytest.approx([one.low, one.high], rel=1e-3)


def test_neighbors_and_why_have_counts_and_intervals_or_the_reason_why_not(ask, tmp_path):
    run = themed_run(tmp_path)
    themed = Tools(tmp_path / "corpus", [run])
    found = themed.neighbors("Sea1", k=3)
    [expected] = neighbor_intervals(run, "sea1", 3)
    assert (found["word"], found["neighbors"]) == ("sea1", expected.neighbors)
    assert None not in (found["neighbors"][0].low, found["neighbors"][0].high)
    assert found["count"] > 0
    found = themed.why("Sea1", "sea2")
    [interval] = similarity_intervals(run, "sea1", "sea2")
    assert (found["low"], found["high"]) == (interval.low, interval.high)
    assert found["low"] < found["cosine"] < found["high"]
    assert min(found["count"]) > 0
    assert "k must be at most 50" in ask("neighbors", word="sea", k=51)["reason"]


def test_why_has_the_shared_contexts_with_a_line_of_each_word(ask, paths):
    found = ask("why", first="sea", second="ship")["contexts"]
    expected = why_near(paths[1], "sea", "ship").contexts
    assert [each["context"] for each in found] == [each.context for each in expected]
    for each, other in zip(found, expected, strict=True):
        assert [line["citation"] for line in each["lines"]] == [x.citation for x in other.lines]


def test_change_has_counts_neighbors_and_sentences_of_each_period(ask, paths):
    found = ask("change", words=["ship", "unseen"], k=2, lines=1)
    assert (found["run"], found["periods"]) == (str(paths[2]), ["1900", "1901-1902"])
    ship, unseen = found["words"]
    assert [len(ship[name]) for name in ("counts", "neighbors", "lines")] == [2, 2, 2]
    assert ship["lines"][0][0]["citation"].endswith("1900")
    assert "unseen" in unseen["missing"]
    assert len(ask("change", top=3)["words"]) == 3


@pytest.mark.parametrize(
    ("name", "arguments", "message"),
    [
        ("search", {}, "there is no 'search'; pass one of: concordance, collocates"),
        ("concordance", {}, "concordance: 'query' is a required property"),
        ("concordance", {"query": "sea", "corpus": "x"}, "'corpus' was unexpected"),
        ("concordance", {"query": "sea", "lines": 101}, "lines: 101 is greater than the maximum"),
        ("concordance", {"query": "sea", "lines": "3"}, "lines: '3' is not of type 'integer'"),
        ("concordance", {"query": "sea", "lines": 2.0}, "lines: 2.0 is not of type 'integer'"),
        ("concordance", {"query": "sea", "order": "up"}, "`order=up`: expected one of text"),
        ("neighbors", {"word": "shp"}, "no vector for 'shp'; did you mean 'ship'"),
        ("neighbors", {"word": "sea", "run": "/etc"}, "there is no '/etc'; pass one of"),
        ("change", {"words": "sea"}, "words: 'sea' is not of type 'array'"),
    ],
)
def test_bad_questions_are_refused_in_one_line(tools, name, arguments, message):
    pytest.importorskip("jsonschema")
    with pytest.raises(FirthError) as caught:
        tools.answer(name, arguments)
    assert message in str(caught.value)
    assert "\n" not in str(caught.value)


def test_answers_are_short_and_have_no_numbers_that_json_lacks(tools, monkeypatch):
    def numbers():
        """Return numbers."""
        return {"numbers": [0.123456, 1.23456e-7, float("nan"), 123456]}

    pytest.importorskip("jsonschema")
    monkeypatch.setitem(tools.by_name, "numbers", numbers)
    assert tools.answer("numbers", {}) == '{"numbers": [0.1235, 1.235e-07, null, 123456]}'
    monkeypatch.setattr(tools_module, "_LONGEST", 1000)
    with pytest.raises(FirthError, match=r"the answer has [\d,]+ characters; ask for less"):
        tools.answer("concordance", {"query": "sea", "lines": 100})


def test_a_missing_package_is_named_with_a_remedy(paths, monkeypatch):
    monkeypatch.setitem(sys.modules, "mcp", None)
    assert refusal("mcp", *paths) == "this needs the package mcp; pip install 'firth[mcp]'"


def test_what_cannot_be_opened_is_refused_before_the_session(paths, tmp_path):
    pytest.importorskip("mcp")
    assert "a run, not a corpus" in refusal("mcp", paths[1])
    assert refusal("mcp", paths[0], tmp_path / "no").endswith("no such run or vectors file")


@pytest.mark.process
def test_a_client_lists_and_calls_the_tools_and_an_error_ends_nothing(paths, tmp_path):
    pytest.importorskip("mcp")
    import anyio
    from mcp import ClientSession, StdioServerParameters
    from mcp.client.stdio import stdio_client

    server = StdioServerParameters(
        command=sys.executable, args=["cli.py", "mcp", *map(str, paths)], cwd=ROOT
    )

    async def session(log):
        async with stdio_client(server, log) as streams, ClientSession(*streams) as client:
            about = await client.initialize()
            listed = await client.list_tools()
            wrong = await client.call_tool("neighbors", {"word": "sea\n" * 999})
            right = await client.call_tool("concordance", {"query": "Sea", "lines": 1})
            return about, listed.tools, wrong, right

    with open(tmp_path / "log", "w", encoding="utf-8") as log:
        about, listed, wrong, right = anyio.run(session, log)
    assert "'title', 'year'" in about.instructions
    names = ["concordance", "collocates", "neighbors", "why", "change"]
    assert [tool.name for tool in listed] == names
    assert all(tool.annotations.read_only_hint for tool in listed)
    assert (wrong.is_error, right.is_error) == (True, False)
    [message], [answer] = wrong.content, right.content
    assert "\n" not in message.text
    assert len(message.text) <= 500
    assert len(json.loads(answer.text)["lines"]) == 1
    assert (tmp_path / "log").read_text() == ""
