"""``firth compare``: what it prints, and what it refuses in one line."""

import json

import numpy as np
import pytest
from click.testing import CliRunner

from cli import SUMMARIES, main
from embed.vectors import WordVectors


@pytest.fixture
def run(tmp_path, tiny):
    """A run directory that holds ``tiny``."""
    folder = tmp_path / "runs" / "tiny"
    folder.mkdir(parents=True)
    tiny.save(folder)
    return folder


@pytest.fixture
def pairs(tmp_path):
    """A set of four pairs, one of them with an unknown word."""
    path = tmp_path / "paare-ä.tsv"
    path.write_text("man\tking\t8\nman\twoman\t5\nMan\tapple\t1\nman\tpear\t2\n")
    return path


def firth(*arguments):
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def test_json_gives_every_run_and_both_baselines(run, pairs):
    done = firth(run, "--similarity", pairs, "--json")

    assert done.exit_code == 0, done.output
    assert "paare-ä" in done.stdout
    results = json.loads(done.stdout)["results"]
    assert [entry["run"] for entry in results] == [str(run), "one-hot", "random"]
    assert results[0] == {
        "run": str(run),
        "task": "similarity",
        "dataset": "paare-ä",
        "metric": "spearman",
        "score": pytest.approx(1.0),
        "items_used": 3,
        "items_total": 4,
    }
    assert results[1]["score"] is None


def test_the_table_tells_what_is_undefined(run, pairs):
    done = firth(run, "--similarity", pairs)

    assert done.exit_code == 0, done.output
    lines = [" ".join(line.split()) for line in done.stdout.splitlines()]
    assert "paare-ä spearman tiny 1.000 * 3 4" in lines
    assert lines[-1] == "undefined: one-hot on paare-ä: all cosines are equal"


def test_the_sets_of_gensim_are_the_default(run):
    done = firth(run, "--json")

    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)["results"]
    assert {(entry["task"], entry["dataset"], entry["metric"]) for entry in results} == {
        ("similarity", "wordsim353", "spearman"),
        ("similarity", "simlex999", "spearman"),
        ("analogy", "questions-words", "accuracy"),
        ("analogy", "questions-words", "accuracy_3cosmul"),
    }
    assert {entry["items_total"] for entry in results} == {353, 999, 19544}


def test_a_vectors_file_is_a_run(tmp_path, pairs, tiny):
    path = tmp_path / "tiny.vec"
    rows = [
        f"{w} {' '.join(map(str, v))}" for w, v in zip(tiny.vocabulary, tiny.matrix, strict=True)
    ]
    path.write_text(f"5 2\n{chr(10).join(rows)}\n")

    done = firth(path, "--similarity", pairs, "--json")

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["results"][0]["score"] == pytest.approx(1.0)


def test_a_run_given_twice_is_compared_once_and_told(run, pairs):
    done = firth(run, run, "--similarity", pairs, "--json")

    assert [entry["run"] for entry in json.loads(done.stdout)["results"]] == [
        str(run),
        "one-hot",
        "random",
    ]
    assert done.stderr == f"{run}: given twice, compared once\n"


def test_a_run_named_as_a_baseline_stays_itself(tmp_path, pairs, monkeypatch, tiny):
    (tmp_path / "random").mkdir()
    tiny.save(tmp_path / "random")
    monkeypatch.chdir(tmp_path)

    done = firth("random", "--similarity", pairs, "--json")

    runs = [entry["run"] for entry in json.loads(done.stdout)["results"]]
    assert runs == ["./random", "one-hot", "random"]


def test_a_malformed_set_is_one_line(run, pairs):
    pairs.write_text("man\tking\t8\nman\twoman\n")

    done = firth(run, "--similarity", pairs)

    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"Error: {pairs}:2: 'man\\twoman' is not word, word, score with tabs between; "
        "correct it, or begin a comment with '#'\n"
    )


def test_a_missing_set_and_a_missing_run_are_one_line(run, tmp_path):
    absent = tmp_path / "absent"

    for arguments in ([run, "--analogies", absent], [absent]):
        done = firth(*arguments)
        assert done.exit_code == 1
        assert done.stderr.startswith(f"Error: {absent}: ")
        assert done.stderr.count("\n") == 1


def test_vectors_that_are_not_finite_are_one_line(tmp_path, pairs):
    folder = tmp_path / "broken"
    folder.mkdir()
    WordVectors(["man", "king"], np.full((2, 2), np.nan, dtype=np.float32)).save(folder)

    done = firth(folder, "--similarity", pairs)

    assert done.exit_code == 1
    assert done.stderr == (
        f"Error: {folder}: the vector of 'man' holds NaN or infinity; make the run again\n"
    )


def test_no_run_and_a_wrong_option_are_usage_errors(run):
    assert firth().exit_code == 2
    done = firth(run, "--restrict", "3")
    assert (done.exit_code, done.stderr) == (
        1,
        "Error: --restrict must be at least 4, got 3\n",
    )


def test_help_opens_with_the_summary_and_shows_an_example():
    done = firth("--help")

    assert SUMMARIES["compare"] in done.stdout
    assert "firth compare out/svd" in done.stdout
