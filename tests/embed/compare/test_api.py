"""compare: one call for what `firth compare` does."""

import json
import sys
from types import SimpleNamespace

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import new_artifact, write_json
from firth.corpora.common.errors import ArtifactError, SettingError, SourceError
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.vectors.word_vectors import WordVectors
from tests.embed.compare.refusals import message_of

WORDS = ["cat", "dog", "car", "bus", "tree", "lake"]


@pytest.fixture
def config(tmp_path):
    """A set of pairs."""
    pairs = tmp_path / "pairs.tsv"
    pairs.write_text("cat\tdog\t9\ncar\tbus\t8\ncat\tcar\t2\ntree\tbus\t1\n", encoding="utf-8")
    return CompareConfig(sets=(f"similarity={pairs}",))


@pytest.fixture
def compared(tmp_path, config):
    """Two runs, compared on one good set and one that is missing."""
    rng = np.random.default_rng(4)
    for name in ("a", "b"):
        vectors = rng.normal(size=(len(WORDS), 4)).astype(np.float32)
        with new_artifact(tmp_path / name, {"command": name}) as partial:
            WordVectors(WORDS, vectors).write(partial)
            write_json(partial / "config.json", {"method": name})
    sets = (*config.sets, f"similarity={tmp_path / 'gone.tsv'}")
    return compare([tmp_path / "a", str(tmp_path / "b")], CompareConfig(sets=sets, intrinsic=True))


def test_what_cannot_be_read_is_told_and_kept_and_the_rest_is_scored(compared, capsys):
    [failure] = compared.document["failures"]
    assert "gone.tsv" in failure
    assert {row["dataset"] for row in compared.document["results"]} == {"pairs"}
    assert {row["run"] for row in compared.document["results"]} >= {"one-hot", "random"}
    assert "properties" in compared.document


def test_it_is_shown_stored_and_written_as_a_page(compared, tmp_path, capsys):
    compared.show()
    compared.write_report(str(tmp_path / "page.html"))
    stored = compared.store(tmp_path / "kept")

    shown = capsys.readouterr().out
    assert "spearman" in shown
    assert "intrinsic measures" in shown
    assert "</html>" in (tmp_path / "page.html").read_text(encoding="utf-8")
    kept = json.loads((stored / "comparison.json").read_text(encoding="utf-8"))
    assert kept["results"] == json.loads(json.dumps(compared.document["results"]))


def test_its_scores_are_drawn(compared, tmp_path):
    pytest.importorskip("matplotlib")
    compared.draw(tmp_path / "scores.svg")
    assert "</svg>" in (tmp_path / "scores.svg").read_text(encoding="utf-8")


def test_without_a_run_or_a_set_that_can_be_read_nothing_is_compared(config, tmp_path):
    with pytest.raises(SettingError, match=r"^no run to compare; pass at least one$"):
        compare([], config)
    with pytest.raises(SourceError, match=r"gone\.tsv"):
        compare([tmp_path], CompareConfig(sets=(f"similarity={tmp_path / 'gone.tsv'}",)))


@pytest.mark.usefixtures("compared")
def test_one_run_may_be_named_without_a_list(config, tmp_path):
    for run in (str(tmp_path / "a"), WordVectors.open(tmp_path / "a")):
        assert list(compare(run, config).opened.paths) == [str(tmp_path / "a")]


def test_it_is_one_line_in_python_and_a_table_in_a_notebook(compared, monkeypatch):
    assert repr(compared) == "<Compared: 2 runs on 1 sets>"
    assert len(repr(compared.comparison)) < 100
    page = compared._repr_html_()
    assert "<td>spearman</td>" in page
    assert "<p>on items covered by all runs; * best, = no significant difference" in page
    assert "<p>~ fewer than 30 items, so intervals and tests are rough</p>" in page
    assert "gone.tsv" in page
    frames = SimpleNamespace(DataFrame=lambda data, **options: data)
    monkeypatch.setitem(sys.modules, "pandas", frames)
    assert compared.to_pandas() == compared.document["results"]


def test_vectors_in_memory_are_compared_as_their_run_is(compared, tmp_path, capsys):
    config = CompareConfig(sets=(f"similarity={tmp_path / 'pairs.tsv'}",), intrinsic=True)
    a, b = (WordVectors.open(tmp_path / name) for name in "ab")

    again = compare({"first": a.in_memory(), "second": b, "third": b}, config)

    assert repr(again) == "<Compared: 2 runs on 1 sets>"  # b is given twice
    kept, loose = (
        {row["run"]: row["score"] for row in each.document["results"]} for each in (compared, again)
    )
    assert loose == {
        "first": kept[a.name], "second": kept[b.name],
        "one-hot": kept["one-hot"], "random": kept["random"],
    }  # fmt: skip
    assert again.document["runs"][0] == {
        "run": "first", "method": "in memory", "fingerprint": None, "dim": a.dim,
    }  # fmt: skip
    again.write_report(tmp_path / "page.html")
    stored = json.loads((again.store(tmp_path / "kept") / "provenance.json").read_text())
    assert list(stored["compared"]) == ["second"]


@pytest.mark.usefixtures("compared")
def test_vectors_of_a_run_that_was_replaced_are_refused(config, tmp_path):
    a = WordVectors.open(tmp_path / "a")
    with new_artifact(tmp_path / "a", {"command": "a"}, force=True) as partial:
        WordVectors(WORDS, np.ones((len(WORDS), 4), dtype=np.float32)).write(partial)
    assert message_of(ArtifactError, compare, [a], config) == (
        f"{tmp_path / 'a'}: was replaced after these vectors were opened; reopen it"
    )


@pytest.mark.usefixtures("compared")
def test_contexts_of_vectors_in_memory_are_added(config, tmp_path):
    a = WordVectors.open(tmp_path / "a")
    both = WordVectors(WORDS, a.matrix, contexts=a.matrix, name="both")
    found = compare([both, a.in_memory("plain")], config, add_contexts=True)
    assert list(found.opened.vectors) == ["both w+c", "plain"]


@pytest.mark.usefixtures("compared")
def test_two_runs_of_one_name_are_refused(config, tmp_path):
    a = WordVectors.open(tmp_path / "a")
    assert (
        message_of(SettingError, compare, [a.in_memory("svd"), a.in_memory("svd")], config)
        == "two runs are named 'svd'; pass a mapping of names to runs"
    )
