"""Approximate search: with a small stand-in for usearch, and with usearch if it is installed."""

import importlib.util
import json
import shutil
import sys
import types

import numpy as np
import pytest
import scipy.sparse

from firth import load_vectors, make_index, nearest, open_index, write_vectors
from firth.corpora.artifacts.artifact import checksum
from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.embed.query import index as index_module
from firth.embed.query.index import ABOUT, FOLDER, GRAPH
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command as invoke
from tests.calls import output, refusal

WORDS = [f"word{row}" for row in range(300)]
MATRIX = np.random.default_rng(4).standard_normal((300, 12)).astype(np.float32)
MATRIX[17] = 0
HAS_USEARCH = importlib.util.find_spec("usearch") is not None


class Index:
    """Searches exactly, but finds every fourth row only with an effort of 128 or more."""

    def __init__(self, ndim, metric, dtype, connectivity, expansion_add):
        assert (metric, dtype) == ("ip", "f16")
        self.rows = np.empty((0, ndim), np.float16)
        self.expansion_search = 0

    def add(self, keys, vectors, threads):
        assert keys.tolist() == list(range(len(self.rows), len(self.rows) + len(vectors)))
        self.rows = np.concatenate([self.rows, vectors.astype(np.float16)])

    def save(self, path):
        with open(path, "wb") as file:
            np.save(file, self.rows)

    @classmethod
    def restore(cls, path, view):
        rows = np.load(path)
        index = cls(rows.shape[1], "ip", "f16", 16, 128)
        index.rows = rows
        return index

    def search(self, queries, count, threads):
        scores = queries @ self.rows.T.astype(np.float32)
        if self.expansion_search < 128:
            scores[:, ::4] = -np.inf
        keys = np.argsort(-scores, axis=1)[:, :count].astype(np.uint64)
        if len(queries) == 1:
            return types.SimpleNamespace(keys=keys[0])
        return types.SimpleNamespace(keys=keys, counts=np.full(len(keys), keys.shape[1]))


@pytest.fixture
def stand_in(monkeypatch):
    """Put the stand-in in the place of usearch."""
    module = types.ModuleType("usearch.index")
    module.Index = Index
    package = types.ModuleType("usearch")
    package.index = module
    monkeypatch.setitem(sys.modules, "usearch", package)
    monkeypatch.setitem(sys.modules, "usearch.index", module)
    monkeypatch.setattr(index_module, "is_graph", lambda path, n_words, dim: True)


@pytest.fixture(
    params=[
        "stand-in",
        pytest.param(
            "usearch",
            marks=pytest.mark.skipif(not HAS_USEARCH, reason="usearch is not installed"),
        ),
    ]
)
def library(request):
    """Run a test with the stand-in, and with usearch."""
    if request.param == "stand-in":
        request.getfixturevalue("stand_in")
    return request.param


@pytest.fixture
def run(tmp_path):
    """A run with checksums."""
    write_vectors(WordVectors(WORDS, MATRIX), tmp_path / "run", "int8")
    return tmp_path / "run"


@pytest.mark.slow
def test_an_opened_index_finds_what_exact_search_finds(run, library, monkeypatch):
    # several threads make another graph each time, some with words that cannot be reached
    monkeypatch.setattr("firth.embed.query.graph.thread_count", lambda threads: 1)
    made = make_index(run, recall=1.0)
    index = open_index(run)
    exact = load_vectors(run)
    assert (index.recall, index.path) == (made.recall, run / FOLDER)
    assert index.recall == 1.0  # 300 words are fewer than the greatest effort
    words = ["word5", "word8", "word200"]
    assert index.nearest(words, 4) == made.nearest(words, 4) == nearest(exact, words, 4)
    assert index.nearest("word5", 4) == nearest(exact, "word5", 4)
    assert len(index.nearest("word5", 1000)[0]) == 299
    assert index.nearest([]) == []
    assert load_vectors(run, verified=True)  # the checksums of the run hold beside an index


def test_recall_is_that_of_a_naive_count(run, stand_in):
    index = make_index(run, recall=0.5)
    assert index.about["effort"] == 32  # the stand-in then misses every fourth row
    true = nearest(load_vectors(run), WORDS)
    hits = 0
    for word, all_of_them, found in zip(WORDS, true, index.nearest(WORDS), strict=True):
        if word == "word17":  # a zero vector: all words tie at 0, so any count
            hits += len(found)
        else:
            hits += len({each.word for each in all_of_them} & {each.word for each in found})
    assert index.recall == pytest.approx(hits / 3000)
    assert 0.5 < index.recall < 0.95


def test_recall_is_told_for_the_number_of_neighbors_that_is_asked(run, stand_in):
    index = make_index(run, recall=0.5)
    assert list(index.about["recalls"]) == [1, 2, 5, 10, 20, 50, 100, 200, 500, 1000]
    for k in (5, 100, 1000):
        true, found = nearest(load_vectors(run), WORDS, k), index.nearest(WORDS, k)
        hits = 0
        for word, exact, near in zip(WORDS, true, found, strict=True):
            same = {each.word for each in exact} & {each.word for each in near}
            hits += len(near if word == "word17" else same)  # all words tie with a zero vector
        assert index.about["recalls"][k] == pytest.approx(hits / sum(map(len, true)))
    opened = open_index(run)
    measured = {k: opened.recall_for(k)[0] for k in (1, 10, 11, 50, 5000)}
    assert measured == {1: 1, 10: 10, 11: 20, 50: 50, 5000: 1000}
    recall = opened.recall_for(50)[1]
    asked = ("neighbors", run, "word5", "--approximate", "-k", 50)
    note = f"approximate: {recall:.1%} of the 50 nearest are found"
    assert note in invoke(*asked).stderr
    assert json.loads(invoke(*asked, "--json").stdout)["recall"] == recall
    del opened.about["recalls"]  # of an index that was made before
    assert opened.recall_for(50) == (10, opened.recall)
    opened.about["recalls"] = {}
    assert opened.recall_for(50) == (10, opened.recall)


def test_the_least_effort_that_reaches_the_goal_is_kept_or_a_note_says_so(
    run, stand_in, monkeypatch
):
    assert make_index(run, recall=0.95).about["effort"] == 128
    assert open_index(run).recall == 1.0
    monkeypatch.setattr(index_module, "_EFFORTS", (32, 64))
    result = invoke("index", run)
    assert result.exit_code == 0
    assert ": the recall of the index is 0.7" in result.stderr
    assert result.stderr.endswith(", less than 0.95\n")


def test_the_index_of_other_vectors_is_refused_and_made_anew(run, tmp_path, library):
    make_index(run)
    write_vectors(WordVectors(WORDS, MATRIX[::-1].copy()), tmp_path / "other", "int8")
    shutil.copytree(run / FOLDER, tmp_path / "other" / FOLDER)
    with pytest.raises(ArtifactError) as refused:
        open_index(tmp_path / "other")
    assert str(refused.value) == (
        f"{tmp_path / 'other' / FOLDER}: is not the index of these vectors; "
        "make it again with `make_index()`"
    )
    make_index(tmp_path / "other")
    exact = nearest(load_vectors(tmp_path / "other"), "word3", 2)
    assert open_index(tmp_path / "other").nearest("word3", 2) == exact


@pytest.mark.slow
@pytest.mark.parametrize("damage", ["truncated", "changed", "missing", "no record"])
def test_a_damaged_index_is_refused_in_one_line(run, library, damage):
    make_index(run)
    graph = run / FOLDER / GRAPH
    whole = graph.read_bytes()
    if damage == "missing":
        graph.unlink()
    elif damage == "no record":
        (run / FOLDER / ABOUT).write_text("{}")
    else:
        end = b"" if damage == "truncated" else bytes([whole[-1] ^ 1])
        graph.write_bytes(whole[:-1] + end)
    why = "is missing or damaged"
    where = graph
    if damage == "no record":
        where, why = run / FOLDER, "is not the index of these vectors"
    refused = refusal("neighbors", run, "word1", "--approximate")
    assert refused == f"{where}: {why}; make it again with firth index"


NODES = 8 + 2 * 300 * 12 + 64 + 40 + 2 * 300  # where they begin in the file


@pytest.mark.skipif(not HAS_USEARCH, reason="usearch is not installed")
@pytest.mark.parametrize(
    ("place", "number"),
    [
        (0, 301), (4, 48), (NODES, 300), (NODES + 8, 3), (NODES + 10, 33), (NODES + 14, 300),
        (NODES - 600, 7), (NODES - 608, 300), (NODES - 616, 9), (NODES - 632, 17),
        (NODES - 640, 2**32), (8 + 2 * 300 * 12 + 14, 13), (8 + 2 * 300 * 12 + 33, 13),
    ],
    ids=[
        "rows", "columns", "key", "level", "number of edges", "edge", "levels", "entry", "top",
        "edges", "nodes", "kind", "dimensions",
    ],
)  # fmt: skip
def test_a_graph_that_leaves_its_file_is_refused(run, place, number):
    path = make_index(run).path
    data = bytearray((path / GRAPH).read_bytes())
    data[place : place + 2] = (number & 0xFFFF).to_bytes(2, "little")
    data[place + 4] ^= number >> 32
    (path / GRAPH).write_bytes(data)
    about = json.loads((path / ABOUT).read_text())
    (path / ABOUT).write_text(json.dumps(about | {"sha256": checksum(path / GRAPH)}))
    with pytest.raises(ArtifactError, match=r"usearch: is missing or damaged; make it again"):
        open_index(run)


@pytest.mark.parametrize(
    "entry",
    [
        {"effort": None}, {"effort": 0}, {"effort": 10**18}, {"effort": 32.0}, {"recall": "1"},
        {"recall": None}, {"words": 299}, {"dim": 13},
    ],
    ids=str,
)  # fmt: skip
def test_numbers_of_an_index_that_do_not_fit_are_refused(run, stand_in, entry):
    about = make_index(run).path / ABOUT
    about.write_text(json.dumps(json.loads(about.read_text()) | entry))
    with pytest.raises(ArtifactError, match=r"index\.json: is damaged; make it again"):
        open_index(run)


def test_a_file_that_usearch_cannot_open_is_refused(run, stand_in, monkeypatch):
    make_index(run)

    def fail(path, view):
        raise RuntimeError("other version")

    monkeypatch.setattr(Index, "restore", fail)
    with pytest.raises(ArtifactError, match=r"cannot be opened by usearch \(other version\)"):
        open_index(run)


def test_a_run_that_cannot_be_written_has_its_index_in_the_cache(
    run, library, tmp_path, monkeypatch
):
    monkeypatch.setenv("FIRTH_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(
        index_module.os, "access", lambda path, mode: path != run
    )  # root may write all
    index = make_index(run)
    assert index.path.parent == tmp_path / "cache" / "indexes"
    assert not (run / FOLDER).exists()
    assert open_index(run).nearest("word3", 2) == index.nearest("word3", 2)


def test_what_cannot_have_an_index_is_refused(run, tmp_path, stand_in):
    for vectors, why in (
        (WordVectors(WORDS, scipy.sparse.csr_matrix(MATRIX)), "has sparse vectors"),
        (WordVectors(WORDS, MATRIX), "only a run with checksums can have an index"),
    ):
        with pytest.raises(SettingError, match=why):
            make_index(vectors)
    with pytest.raises(ArtifactError, match="has no index; make one with `make_index"):
        open_index(run)
    (run / "scales.npy").write_bytes(b"damaged")
    with pytest.raises(ArtifactError, match="damaged"):
        make_index(run)


def test_bad_numbers_and_words_are_refused(run, stand_in):
    for recall in (0, 1.1):
        with pytest.raises(SettingError, match="`recall` must be above 0 and at most 1"):
            make_index(run, recall=recall)
    index = make_index(run)
    with pytest.raises(SettingError, match="k must be at least 1, got 0"):
        index.nearest("word1", 0)
    with pytest.raises(UnknownWordError, match="no vector for 'wrd'"):
        index.nearest("wrd")


def test_without_usearch_there_is_one_line(run, monkeypatch):
    monkeypatch.setitem(sys.modules, "usearch", None)
    line = "approximate search needs the package usearch; pip install 'firth[ann]'"
    assert refusal("index", run) == line
    assert refusal("neighbors", run, "word1", "--approximate") == line
    output("neighbors", run, "word1")


def test_the_commands_tell_the_recall(run, stand_in):
    made = invoke("index", run)
    size = (run / FOLDER / GRAPH).stat().st_size
    assert made.stdout == (
        f"{run / FOLDER}: 300 words, {size / 1e6:,.1f} MB; finds 100.0% of the 10 nearest words, "
        "100.0% of 100 (measured on 300 words)\n"
    )
    shown = json.loads(invoke("index", run, "--json", "--recall", "0.5").stdout)
    assert shown["effort"] == 32
    assert shown["words"] == shown["sample"] == 300
    found = invoke("neighbors", run, "word1", "-k", "2", "--approximate", "--json")
    recall = shown["recalls"]["2"]
    assert found.stderr.startswith(f"approximate: {recall:.1%} of the 2 nearest are found")
    assert json.loads(found.stdout)["recall"] == recall
    [(word, neighbors)] = json.loads(found.stdout)["neighbors"].items()
    assert (word, len(neighbors)) == ("word1", 2)
    made = invoke("index", run)
    exact = invoke("neighbors", run, "word1", "word2", "-k", "2")
    assert invoke("neighbors", run, "word1", "word2", "-k", "2", "--approximate").stdout == (
        exact.stdout
    )
    for other in (["--context", "[word1]"], ["word1", "--add-contexts"]):
        result = invoke("neighbors", run, "--approximate", *other)
        assert result.exit_code == 2
        assert "--approximate cannot be combined with" in result.stderr


def test_words_near_to_a_vector_are_those_near_to_its_word(run, stand_in):
    index, vectors = make_index(run), load_vectors(run)
    [by_word] = index.nearest("word3", 4)
    [[itself, *by_vector]] = index.nearest(7 * vectors["word3"], 5)
    assert (itself.word, [each.word for each in by_vector]) == (
        "word3", [each.word for each in by_word],
    )  # fmt: skip
    assert len(index.nearest(vectors[["word1", "word2"]], 3)) == 2
    assert index.nearest(vectors["word3"].tolist(), 5) == index.nearest(vectors["word3"], 5)
    assert index.nearest([]) == index.nearest(np.empty((0, 12))) == []
    assert repr(index).endswith("finds 100.0% of the 10 nearest>")
    for wrong, message in (
        (np.ones(3), r"vectors must have shape \(n, 12\), got \(3,\)"),
        (np.full(12, np.nan), "vectors must be finite, got NaN or infinity"),
    ):
        with pytest.raises(SettingError, match=message):
            index.nearest(wrong)
