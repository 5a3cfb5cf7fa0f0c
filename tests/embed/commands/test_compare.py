"""The compare command: its output and its one-line errors."""

import json
import math
from functools import partial

import numpy as np
import pytest

from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json
from firth.corpora.artifacts.metrics import write_unit_losses
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output


def finished(folder, vectors, *, method="planted", losses=None):
    """Save vectors as a run of a method, with the held-out losses of units of 10 pairs."""
    folder.mkdir(parents=True)
    vectors.write(folder)
    write_json(folder / "config.json", {"method": method, "seed": 1, "dim": len(folder.name)})
    write_json(folder / "provenance.json", {"corpus": "c0"})
    if losses is not None:
        write_unit_losses(folder, np.array([losses, [10.0] * len(losses)]))
    write_json(folder / CHECKSUMS, checksums(folder))
    return folder


@pytest.fixture
def run(tmp_path, tiny):
    """A run directory with the ``tiny`` vectors."""
    return finished(tmp_path / "runs" / "tiny", tiny)


@pytest.fixture
def pairs(tmp_path):
    """A set of four pairs, one of them with an unknown word."""
    path = tmp_path / "paare-ä.tsv"
    path.write_text("man\tking\t8\nman\twoman\t5\nMan\tapple\t1\nman\tpear\t2\n")
    return path


firth = partial(command, "compare")


def document(*arguments):
    """The document that a comparison prints."""
    return json.loads(output("compare", *arguments, "--json"))


def runs_of(*arguments):
    return [entry["run"] for entry in document(*arguments)["runs"]]


def test_json_gives_every_run_and_both_baselines(run, pairs):
    shown = output("compare", run, pairs, "--json")

    assert "paare-ä" in shown
    found = json.loads(shown)
    assert list(found) == ["runs", "results", "pairs", "summary"]
    first, *baselines = found["runs"]
    assert list(first) == ["run", "method", "fingerprint", "dim"]
    assert (first["run"], first["method"]) == (str(run), "planted")
    assert first["fingerprint"]
    assert baselines == [
        {"run": name, "method": name, "fingerprint": None} for name in ("one-hot", "random")
    ]
    shown, undefined, *_ = found["results"]
    assert (shown["run"], shown["metric"]) == (str(run), "spearman")
    assert (shown["score"], shown["items_used"]) == (pytest.approx(1.0), 3)
    assert shown["remark"] == "fewer than 30 items, so intervals and tests are rough"
    assert (undefined["score"], undefined["reason"]) == (None, "all cosines are equal")


def test_held_out_losses_are_shown_with_paired_errors(tmp_path, pairs, tiny):
    hard = np.array([20.0, 30.0, 28.0, 35.0, 40.0, 27.0])
    more = np.array([1.0, 2.0, 3.0, 2.0, 1.0, 3.0])
    one = finished(tmp_path / "a", tiny, method="cbow", losses=hard)
    twice, thrice = (WordVectors(list(tiny.vocabulary), tiny.matrix * n) for n in (2, 3))
    worse = finished(tmp_path / "bb", twice, method="cbow", losses=hard + more)
    other = finished(tmp_path / "ccc", thrice, method="skipgram", losses=hard)

    lines = output("compare", worse, one, other, pairs).splitlines()
    found = document(worse, one, other, pairs)

    rows = [line.split() for line in lines]
    title = ["held-out", "loss", "loss", "over", "seeds", "difference", "from", "the", "best"]
    header = rows.index(title)
    # differences 0.2 nats on average; sqrt(6/5 * 4) / 60
    assert rows[header + 2 : header + 4] == [
        ["a", "3.00", "±", "0.28"], ["bb", "3.20", "±", "0.28", "0.200", "±", "0.037"],
    ]  # fmt: skip
    assert "± standard error over 6 held-out units; of a difference, paired by unit" in lines
    [[behind, best]] = found["held_out"]
    assert (best["run"], best["loss"], best["units"]) == (str(one), pytest.approx(3.0), 6)
    assert "behind_loss" not in best
    assert (behind["run"], behind["behind_loss"]) == (str(worse), pytest.approx(0.2))
    assert behind["behind_standard_error"] == pytest.approx(math.sqrt(4.8) / 60)


def test_a_fingerprint_names_the_content_of_a_run(run, pairs, tmp_path, tiny):
    copy, other = tmp_path / "copy", tmp_path / "other"
    finished(copy, tiny)
    finished(other, WordVectors(["man"], np.ones((1, 2), dtype=np.float32)))

    mine, different, *_ = (each["fingerprint"] for each in document(run, other, pairs)["runs"])
    same = document(copy, other, pairs)["runs"][0]["fingerprint"]  # copies are compared once

    assert mine == same != different


def test_a_folder_of_vectors_without_checksums_is_compared_too(tmp_path, pairs, tiny):
    tiny.write(tmp_path)

    assert str(tmp_path) in runs_of(tmp_path, pairs)


def test_unknown_words_can_get_a_vector(run, pairs):
    for unknown, used in (("skip", 3), ("zero", 4), ("mean", 4)):
        results = document(run, pairs, "--unknown", unknown)["results"]
        assert {(e["unknown"], e["items_used"]) for e in results} == {(unknown, used)}


def test_a_vectors_file_is_a_run(tmp_path, pairs, tiny):
    path = tmp_path / "tiny.vec"
    rows = [
        f"{w} {' '.join(map(str, v))}" for w, v in zip(tiny.vocabulary, tiny.matrix, strict=True)
    ]
    path.write_text(f"5 2\n{chr(10).join(rows)}\n")

    assert document(path, pairs)["results"][0]["score"] == pytest.approx(1.0)


def test_a_run_with_the_name_of_a_baseline_is_not_confused_with_it(
    tmp_path, pairs, monkeypatch, tiny
):
    finished(tmp_path / "random", tiny)
    monkeypatch.chdir(tmp_path)

    for given in (("random",), ("random", "./random")):  # one run, however it is named
        assert runs_of(*given, pairs) == ["./random", "one-hot", "random"]


def test_a_missing_set_or_run_prints_one_line(run, tmp_path):
    pytest.importorskip("gensim")
    absent = tmp_path / "absent"

    for arguments in ([run, "--analogy", f"{absent}"], [run, absent], [absent]):
        done = firth(*arguments)
        assert done.exit_code == 1
        assert done.stderr.startswith(f"Error: {absent}: ")
        assert done.stderr.count("\n") == 1


def test_vectors_that_are_not_finite_print_one_line_and_keep_other_scores(tmp_path, run, pairs):
    folder = tmp_path / "broken"
    folder.mkdir()
    WordVectors(["man", "king"], np.full((2, 2), np.nan, dtype=np.float32)).write(folder)

    done = firth(folder, run, pairs, "--json")

    assert done.exit_code == 1
    failure = f"{folder}: the vector of 'man' holds NaN or infinity; train the run again"
    assert done.stderr == f"Error: {pairs.stem}: {failure}\n"
    found = json.loads(done.stdout)
    assert found["failures"] == [f"{pairs.stem}: {failure}"]
    assert {result["run"] for result in found["results"]} == {str(run), "one-hot", "random"}


def test_no_run_and_a_wrong_option_are_usage_errors(run):
    assert firth().exit_code == 2
    done = firth(run, "--restrict", "-1")
    assert (done.exit_code, done.stderr) == (1, "Error: --restrict must be at least 0, got -1\n")
