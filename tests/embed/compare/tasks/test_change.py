"""Graded change: the stored distances against judgments, and the change of frequency alone."""

import json
import shutil
from pathlib import Path

import numpy as np
import pytest
from scipy.stats import spearmanr

from firth.corpora.common.errors import ArtifactError, SourceError
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.graded_change import read_graded
from firth.embed.compare.tasks.change import ChangeTask
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import output
from tests.embed.compare.measuring import ask, scores

GOLD = "plane_nn\t0.9\nTree_nn\t0.1\nrag_nn\t0.3\ngraft_nn\t0.5\nunseen_vb\t0.2\n"
CHANGES = {
    "plane_nn": (0.8, 100, 1000),
    "tree": (0.2, 500, 480),
    "rag": (0.5, 20, 10),
    "graft": (0.4, 30, 30),
}


@pytest.fixture
def run(tmp_path):
    """Return the vectors of a run with a table of changes."""
    lines = ["word\tdistance\tp\tq\tcount@1810\tcount@1960"]
    lines += ["\t".join(map(str, [w, d, "", "", *n])) for w, (d, *n) in CHANGES.items()]
    folder = tmp_path / "change"
    folder.mkdir()
    WordVectors(["a@1810"], np.ones((1, 2), np.float32)).write(folder)
    (folder / "change.tsv").write_text("\n".join(lines) + "\n")
    return WordVectors.open(folder)


@pytest.fixture
def gold(tmp_path):
    file = tmp_path / "graded.txt"
    file.write_text(GOLD)
    return file


def test_distances_and_frequencies_are_correlated_with_judgments(run, gold):
    task = ChangeTask.read(gold, CompareConfig())
    judged = [0.9, 0.1, 0.3, 0.5]
    distances = [distance for distance, *_ in CHANGES.values()]
    ratios = [abs(np.log((a + 1) / (b + 1))) for _, a, b in CHANGES.values()]
    assert scores(task, run) == {
        "spearman": pytest.approx(spearmanr(judged, distances)[0]),
        "spearman_frequency": pytest.approx(spearmanr(judged, ratios)[0]),
    }
    first, second = ask(task, run)
    assert (first.items.tolist(), first.items_total) == ([0, 1, 2, 3], 5)
    assert (first.ranked, second.ranked) == (True, False)


def test_prototypes_and_pairs_are_both_scored(gold, tmp_path):
    folder = tmp_path / "contextual"
    folder.mkdir()
    WordVectors(["a@1810"], np.ones((1, 2), np.float32)).write(folder)
    lines = ["word\tdistance\tpairs\tcount@1810\tcount@1960"]
    lines += ["plane_nn\t.9\t.2\t9\t9", "tree\t.1\t.4\t9\t8", "rag\t.3\t.3\t9\t9"]
    (folder / "change.tsv").write_text("\n".join(lines) + "\n")
    task = ChangeTask.read(gold, CompareConfig())
    found = scores(task, WordVectors.open(folder))
    assert (found["spearman"], found["spearman_pairs"]) == (pytest.approx(1), pytest.approx(-1))
    assert [each.ranked for each in ask(task, WordVectors.open(folder))] == [True, False, False]


def test_compare_scores_pairs_of_the_runs_that_have_them(run, gold, tmp_path):
    other = tmp_path / "contextual"
    shutil.copytree(run.path, other)
    lines = (run.path / "change.tsv").read_text().splitlines()
    more = ["pairs", "1", ".2", ".3", ".4"]
    lines = [f"{line}\t{cell}" for line, cell in zip(lines, more, strict=True)]
    (other / "change.tsv").write_text("\n".join(lines) + "\n")
    for both in ((run.path, other), (other, run.path)):
        results = json.loads(output("compare", *both, gold, "--json"))["results"]
        found = {(Path(each["run"]).name, each["metric"]): each["score"] for each in results}
        assert found["change", "spearman"] == found["contextual", "spearman"]
        assert found["contextual", "spearman_pairs"] == pytest.approx(
            spearmanr([0.9, 0.1, 0.3, 0.5], [1, 0.2, 0.3, 0.4])[0]
        )
        assert found.get(("change", "spearman_pairs")) is None
        output("compare", *both, gold)


def test_other_runs_are_not_scored(tiny, gold, tmp_path):
    task = ChangeTask.read(gold, CompareConfig())
    assert task.known(tiny) is None
    [measured, _] = task.measure(tiny, np.zeros(5, bool))
    assert (measured.statistic, measured.reason) == (None, "has no change of words")


def test_compare_scores_a_run_beside_one_that_has_none(run, gold, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    WordVectors(["plane", "tree"], np.eye(2, dtype=np.float32)).write(other)
    results = json.loads(output("compare", run.path, other, gold, "--json"))["results"]
    found = {(Path(each["run"]).name, each["metric"]): each["score"] for each in results}
    assert found["change", "spearman"] == pytest.approx(0.8)
    assert found["other", "spearman"] is None


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "contains no words"),
        ("plane\t0.5\nplane\t0.6\n", "2: 'plane' occurs twice"),
        ("plane\t0.5\ntree\thigh\n", "2: 'high' is not a score"),
        ("plane\t0.5\ntree\n", "2: 'tree' is not a word and a score"),
    ],
)
def test_malformed_sets_are_refused(tmp_path, text, message):
    (tmp_path / "bad.txt").write_text(text)
    with pytest.raises(SourceError, match=message):
        read_graded(tmp_path / "bad.txt")


def test_a_header_is_no_word(tmp_path):
    (tmp_path / "set.tsv").write_text("lemma\tchange\nplane\t0.5\ntree\t.1\n")
    assert [each.word for each in read_graded(tmp_path / "set.tsv")] == ["plane", "tree"]


def test_a_damaged_table_is_refused(run, gold):
    (run.path / "change.tsv").write_text("word\tdistance\nplane\tfar\n")
    with pytest.raises(ArtifactError, match=r"change.tsv: is damaged"):
        ChangeTask.read(gold, CompareConfig()).known(run)
