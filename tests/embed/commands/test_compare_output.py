"""Outputs of the compare command besides its table: CSV, a picture, a saved comparison."""

import csv
import io
import json
import re
import shutil
from functools import partial

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import checksums, verify, write_json
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output

WORDS = [f"w{place:02}" for place in range(40)]


@pytest.fixture
def runs(tmp_path):
    """Two finished runs."""
    made = []
    for name, seed in (("one", 1), ("two", 2)):
        matrix = np.random.default_rng(seed).normal(size=(40, 5)).astype(np.float32)
        folder = tmp_path / name
        folder.mkdir()
        WordVectors(WORDS, matrix, counts=np.arange(40, 0, -1)).write(folder)
        write_json(folder / "config.json", {"method": "svd", "dim": 5, "seed": seed})
        write_json(folder / "checksums.json", checksums(folder))
        made.append(str(folder))
    return made


@pytest.fixture
def pairs(tmp_path):
    """A set of twenty pairs."""
    path = tmp_path / "pairs.tsv"
    lines = (f"{WORDS[n]}\t{WORDS[n + 20]}\t{n * 7 % 11}\n" for n in range(20))
    path.write_text("".join(lines))
    return str(path)


ask = partial(command, "compare")


def document(*arguments):
    """The document that a comparison prints."""
    return json.loads(output("compare", *arguments, "--json"))


def test_csv_has_the_results_of_json(runs, pairs):
    rows = list(csv.DictReader(io.StringIO(output("compare", *runs, pairs, "--csv"))))
    as_json = document(*runs, pairs)

    assert [(row["run"], row["metric"]) for row in rows] == [
        (each["run"], each["metric"]) for each in as_json["results"]
    ]
    for row, each in zip(rows, as_json["results"], strict=True):
        assert row["score"] == ("" if each["score"] is None else repr(each["score"]))


def test_a_saved_comparison_names_its_inputs(runs, pairs, tmp_path):
    out = tmp_path / "kept"

    found = document(*runs, pairs, "--out", out)

    verify(out)
    assert json.loads((out / "comparison.json").read_text()) == found
    assert (out / "scores.csv").read_bytes().count(b"\n") == 1 + len(found["results"])
    assert json.loads((out / "config.json").read_text())["method"] == "compare"
    compared = json.loads((out / "provenance.json").read_text())["compared"]
    assert compared == {
        each["run"]: each["fingerprint"] for each in found["runs"] if each["fingerprint"]
    }
    assert set(compared) == set(runs)


def test_a_picture_is_drawn_in_addition_to_the_table(runs, pairs, tmp_path):
    pytest.importorskip("matplotlib")
    picture = tmp_path / "scores.svg"

    assert "spearman" in output("compare", *runs, pairs, "--plot", picture)
    assert picture.read_text().rstrip().endswith("</svg>")


def test_intrinsic_measures_follow_the_scores(runs, pairs):
    table = output("compare", *runs, pairs, "--intrinsic")
    found = document(*runs, pairs, "--intrinsic")

    assert table.index("spearman") < table.index("mean cosine")
    assert {each["run"] for each in found["properties"]} == {*runs, "one-hot", "random"}
    assert any({each["a"], each["b"]} == set(runs) for each in found["agreements"])


@pytest.mark.parametrize("where", ["a run", "inside a run", "around a run", "a set"])
def test_compared_runs_are_never_overwritten(runs, pairs, tmp_path, where):
    places = {
        "a run": runs[0],
        "inside a run": f"{runs[0]}/kept",
        "around a run": tmp_path,
        "a set": pairs,
    }
    before = {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()}

    done = ask(*runs, pairs, "--out", places[where], "--force")

    assert done.exit_code == 1
    assert done.stderr.count("\n") == 1
    assert {file: file.read_bytes() for file in tmp_path.rglob("*") if file.is_file()} == before


def test_force_overwrites_only_comparisons(runs, pairs, tmp_path):
    out, other = tmp_path / "kept", tmp_path / "other"
    shutil.copytree(runs[0], other)
    write_json(other / "checksums.json", {})
    ask(runs[0], pairs, "--out", out)

    refused = ask(*runs, pairs, "--out", out)
    replaced = ask(*runs, pairs, "--out", out, "--force")
    kept = ask(runs[0], pairs, "--out", other, "--force")

    assert (refused.exit_code, replaced.exit_code, kept.exit_code) == (1, 0, 1), replaced.stderr
    assert refused.stderr == (
        f"Error: {out}: already exists; choose another --out or pass --force\n"
    )
    assert kept.stderr == (f"Error: {other}: not a comparison; --force will not overwrite it\n")
    assert len(json.loads((out / "comparison.json").read_text())["runs"]) == 4
    assert (other / "vectors.npy").exists()


def test_an_unreadable_set_does_not_affect_the_others(runs, pairs, tmp_path):
    bad = tmp_path / "bad.tsv"
    bad.write_text("w01\tw02\t3\nw01\n")

    done = ask(*runs, "--similarity", f"{bad}", pairs, "--json")

    found = json.loads(done.stdout)
    assert done.exit_code == 1
    assert {each["dataset"] for each in found["results"]} == {"pairs"}
    [failure] = found["failures"]
    assert failure.startswith(f"{bad}:2: ")
    assert done.stderr == f"Error: {failure}\n"


@pytest.mark.slow
def test_a_picture_that_cannot_be_written_does_not_affect_other_outputs(
    runs, pairs, tmp_path, monkeypatch
):
    def full(_):
        raise OSError(28, "No space left on device")

    out = tmp_path / "kept"
    monkeypatch.setattr("firth.corpora.artifacts.atomic.sync_tree", full)

    done = ask(*runs, pairs, "--plot", tmp_path / "a.svg", "--out", out)

    assert done.exit_code == 1
    assert "spearman" in done.stdout
    assert done.stderr.count("\n") == 1
    verify(out)


@pytest.mark.parametrize("others", [["--json"], ["--intrinsic"]])
def test_csv_conflicts_with_other_formats(runs, pairs, others):
    done = ask(*runs, pairs, "--csv", *others)

    assert done.exit_code == 2
    assert "--csv cannot be combined with --json or --intrinsic" in done.stderr


def test_a_run_with_two_paths_is_compared_once(runs, pairs):
    done = ask(runs[0], f"{runs[0]}/", pairs, "--json")

    assert [each["run"] for each in json.loads(done.stdout)["runs"]] == [
        runs[0],
        "one-hot",
        "random",
    ]
    assert done.stderr == f"{runs[0]}/: given twice, compared once\n"


def test_only_immutable_runs_are_cached(runs, pairs, tmp_path, fresh_cache):
    text = tmp_path / "vectors.txt"
    text.write_text("".join(f"{word} {n} {n * n % 7} 1\n" for n, word in enumerate(WORDS)))

    ask(text, pairs)

    assert not list(fresh_cache.glob("scores/*"))
    ask(runs[0], pairs)
    assert list(fresh_cache.glob("scores/*"))


def test_intrinsic_measures_alone_need_no_set(runs, tmp_path):
    page = tmp_path / "report.html"
    shown = output("compare", *runs, "--intrinsic", "--report", page)
    found = document(*runs, "--intrinsic")

    assert "hubness" in shown
    assert "dataset" not in shown  # no empty table of scores
    assert found["results"] == []
    assert {entry["run"] for entry in found["properties"]} >= set(runs)
    assert "No evaluation set was scored." in page.read_text(encoding="utf-8")


def test_own_words_are_shown_in_the_report(runs, pairs, tmp_path):
    page, words, fewer = tmp_path / "report.html", tmp_path / "words.tsv", tmp_path / "fewer"
    words.write_text("w01\tone\nw02\tone\nw03\ttwo\nzzz\ttwo\nW00\ttwo\nqqq\ttwo\n")
    fewer.mkdir()
    rows = np.random.default_rng(3).normal(size=(39, 5)).astype(np.float32)
    WordVectors([word for word in WORDS if word != "w03"], rows).write(fewer)

    done = ask(*runs, fewer, pairs, "--report", page, "--words-from", words)

    assert done.exit_code == 0, done.output
    assert done.stderr.count("--words: no run has a vector of zzz, qqq\n") == 1
    assert "--words: not in every run, so not on the maps: w03\n" in done.stderr
    text = page.read_text(encoding="utf-8")
    assert re.findall(r'class="word" data-word="(\w+)"', text) == ["w01", "w02", "w03", "w00"]
    assert set(re.findall(r'<g class="c\d" data-word="(\w+)"', text)) == {"w00", "w01", "w02"}
    assert "<bdi>one</bdi>" in text  # the legend of the maps
    assert "In no run:" in text


def test_own_words_that_no_run_has_are_refused_after_the_scores(runs, pairs, tmp_path):
    page = tmp_path / "report.html"
    done = ask(*runs, pairs, "--report", page, "--words", "qqq")
    assert done.exit_code == 1
    assert "spearman" in done.stdout
    assert done.stderr.endswith("Error: --words: no run has a vector of qqq; pass others\n")
    assert not page.exists()


def test_the_result_is_said_in_sentences_in_the_table_and_in_json(runs, pairs):
    said = document(*runs, pairs)["summary"]
    lines = ask(*runs, pairs).stdout.splitlines()
    assert said
    assert [line for line in lines if line.startswith("result: ")] == [
        f"result: {sentence}" for sentence in said
    ]
