"""The compare command: its output and its one-line errors."""

import json
import math

import numpy as np
import pytest
from click.testing import CliRunner

from firth.cli import SUMMARIES, main
from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json
from firth.corpora.artifacts.metrics import write_unit_losses
from firth.embed.vectors.word_vectors import WordVectors


def finished(folder, vectors, *, method="planted", losses=None):
    """Save vectors as a run of a method, with the held-out losses of units of 10 pairs."""
    folder.mkdir(parents=True)
    vectors.save(folder)
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


def firth(*arguments):
    return CliRunner().invoke(main, ["compare", *map(str, arguments)])


def runs_of(done):
    return [entry["run"] for entry in json.loads(done.stdout)["runs"]]


def test_json_gives_every_run_and_both_baselines(run, pairs):
    done = firth(run, pairs, "--json")

    assert done.exit_code == 0, done.output
    assert "paare-ä" in done.stdout
    found = json.loads(done.stdout)
    assert list(found) == ["runs", "results", "pairs", "summary"]
    first, *baselines = found["runs"]
    assert list(first) == ["run", "method", "fingerprint"]
    assert (first["run"], first["method"]) == (str(run), "planted")
    assert first["fingerprint"]
    assert baselines == [
        {"run": name, "method": name, "fingerprint": None} for name in ("one-hot", "random")
    ]
    results = found["results"]
    assert [(e["shared_items"], e["metric"], e["run"]) for e in results] == [
        (shared, metric, name)
        for shared in (True, False)
        for metric in ("spearman", "pearson")
        for name in (str(run), "one-hot", "random")
    ]
    assert results[0] == {
        "run": str(run),
        "task": "similarity",
        "dataset": "paare-ä",
        "metric": "spearman",
        "score": pytest.approx(1.0),
        "low": results[0]["low"],
        "high": results[0]["high"],
        "items_used": 3,
        "items_total": 4,
        "unknown": "skip",
        "shared_items": True,
        "remark": "fewer than 30 items, so intervals and tests are rough",
        "few": "items",
    }
    assert results[1]["score"] is None
    assert results[1]["reason"] == "all cosines are equal"


def test_held_out_losses_are_shown_with_paired_errors(tmp_path, pairs, tiny):
    hard = np.array([20.0, 30.0, 28.0, 35.0, 40.0, 27.0])
    more = np.array([1.0, 2.0, 3.0, 2.0, 1.0, 3.0])
    one = finished(tmp_path / "a", tiny, method="cbow", losses=hard)
    worse = finished(tmp_path / "bb", tiny, method="cbow", losses=hard + more)
    other = finished(tmp_path / "ccc", tiny, method="skipgram", losses=hard)

    shown = firth(worse, one, other, pairs)
    found = json.loads(firth(worse, one, other, pairs, "--json").stdout)

    assert shown.exit_code == 0, shown.output
    rows = [line.split() for line in shown.stdout.splitlines()]
    title = ["held-out", "loss", "loss", "over", "seeds", "difference", "from", "the", "best"]
    header = rows.index(title)
    # differences 0.2 nats on average; sqrt(6/5 * 4) / 60
    assert rows[header + 2 : header + 4] == [
        ["a", "3.00", "±", "0.28"], ["bb", "3.20", "±", "0.28", "0.200", "±", "0.037"],
    ]  # fmt: skip
    assert "± standard error over 6 held-out units; of a difference, paired by unit" in (
        shown.stdout.splitlines()
    )
    [[behind, best]] = found["held_out"]
    assert (best["run"], best["loss"], best["units"]) == (str(one), pytest.approx(3.0), 6)
    assert "behind_loss" not in best
    assert (behind["run"], behind["behind_loss"]) == (str(worse), pytest.approx(0.2))
    assert behind["behind_standard_error"] == pytest.approx(math.sqrt(4.8) / 60)


def test_a_fingerprint_names_the_content_of_a_run(run, pairs, tmp_path, tiny):
    copy, other = tmp_path / "copy", tmp_path / "other"
    finished(copy, tiny)
    finished(other, WordVectors(["man"], np.ones((1, 2), dtype=np.float32)))

    done = firth(run, copy, other, pairs, "--json")

    assert done.exit_code == 0, done.output
    mine, same, different, *_ = (e["fingerprint"] for e in json.loads(done.stdout)["runs"])
    assert mine == same
    assert mine != different


def test_a_folder_of_vectors_without_checksums_is_compared_too(tmp_path, pairs, tiny):
    tiny.save(tmp_path)

    for form in ([], ["--json"]):
        done = firth(tmp_path, pairs, *form)
        assert done.exit_code == 0, done.output


def test_the_table_shows_undefined_scores(run, pairs):
    done = firth(run, pairs)

    assert done.exit_code == 0, done.output
    rows = [line.split() for line in done.stdout.splitlines()]
    [mine] = [row for row in rows if row[:3] == ["paare-ä", "spearman", "tiny"]]
    assert mine[3:5] == ["1.000", "*~"]
    assert mine[-2:] == ["3", "3/4"]
    assert ["one-hot", "undefined", "3", "3/4"] in rows
    assert " ".join(rows[-3]) == "undefined: one-hot on paare-ä: all cosines are equal"


@pytest.mark.slow
def test_the_sets_of_gensim_are_the_default(run):
    pytest.importorskip("gensim")
    done = firth(run, "--json")

    assert done.exit_code == 0, done.output
    results = json.loads(done.stdout)["results"]
    assert {(entry["task"], entry["dataset"], entry["metric"]) for entry in results} == {
        *[("similarity", "wordsim353", metric) for metric in ("spearman", "pearson")],
        *[("similarity", "simlex999", metric) for metric in ("spearman", "pearson")],
        ("analogy", "questions-words", "accuracy"),
        ("analogy", "questions-words", "accuracy_3cosmul"),
        ("analogy", "questions-words", "accuracy_pairdirection"),
    }
    assert {entry["items_total"] for entry in results} == {353, 999, 19544}


def test_categories_and_odd_ones_out_are_tasks(run, tmp_path):
    kinds, odd = tmp_path / "kinds.csv", tmp_path / "odd.txt"
    kinds.write_text("man,he\nking,he\nwoman,she\nqueen,she\npear,fruit\n")
    odd.write_text("man\nking\nqueen\n\nwoman\napple\npear\n")

    done = firth(run, "--categorization", f"{kinds}", odd, "--json")

    assert done.exit_code == 0, done.output
    mine = [e for e in json.loads(done.stdout)["results"] if e["run"] == str(run)]
    assert {(e["task"], e["dataset"], e["metric"]) for e in mine} == {
        *[("categorization", "kinds", metric) for metric in ("purity", "nmi", "ari")],
        *[("odd-one-out", "odd", metric) for metric in ("accuracy", "opp")],
    }
    assert {(e["dataset"], e["items_used"], e["items_total"]) for e in mine} == {
        ("kinds", 4, 5),
        ("odd", 2, 3),
    }
    # cosines of man, king and queen with the others: 1.66 2.16 2.31, of woman 1.02; apple is last
    assert {e["score"] for e in mine if e["task"] == "odd-one-out"} == {1.0}


def test_unknown_words_can_get_a_vector(run, pairs):
    for unknown, used in (("skip", 3), ("zero", 4), ("mean", 4)):
        done = firth(run, pairs, "--unknown", unknown, "--json")

        assert done.exit_code == 0, done.output
        results = json.loads(done.stdout)["results"]
        assert {(e["unknown"], e["items_used"]) for e in results} == {(unknown, used)}


def test_two_calls_print_the_same(run, pairs, tmp_path):
    words = ["man", "king", "woman", "apple"]
    other = finished(tmp_path / "other", WordVectors(words, np.eye(4, 3, dtype=np.float32)))

    first, second = (firth(run, other, pairs, "--json") for _ in range(2))

    assert first.exit_code == 0, first.output
    assert first.stdout == second.stdout


def test_a_vectors_file_is_a_run(tmp_path, pairs, tiny):
    path = tmp_path / "tiny.vec"
    rows = [
        f"{w} {' '.join(map(str, v))}" for w, v in zip(tiny.vocabulary, tiny.matrix, strict=True)
    ]
    path.write_text(f"5 2\n{chr(10).join(rows)}\n")

    done = firth(path, pairs, "--json")

    assert done.exit_code == 0, done.output
    assert json.loads(done.stdout)["results"][0]["score"] == pytest.approx(1.0)


def test_a_run_given_twice_is_compared_once_with_a_note(run, pairs):
    done = firth(run, run, pairs, "--json")

    assert runs_of(done) == [str(run), "one-hot", "random"]
    assert done.stderr == f"{run}: given twice, compared once\n"


def test_a_run_with_the_name_of_a_baseline_is_not_confused_with_it(
    tmp_path, pairs, monkeypatch, tiny
):
    finished(tmp_path / "random", tiny)
    monkeypatch.chdir(tmp_path)

    done = firth("random", pairs, "--json")

    assert done.exit_code == 0, done.output
    assert runs_of(done) == ["./random", "one-hot", "random"]


def test_a_baselines_name_given_in_two_ways_is_compared_once(tmp_path, pairs, monkeypatch, tiny):
    finished(tmp_path / "random", tiny)
    monkeypatch.chdir(tmp_path)

    done = firth("random", "./random", pairs, "--json")

    assert done.exit_code == 0, done.output
    assert runs_of(done) == ["./random", "one-hot", "random"]


def test_a_malformed_set_prints_one_line(run, pairs):
    pairs.write_text("man\tking\t8\nman\twoman\n")

    done = firth(run, "--similarity", f"{pairs}")

    assert done.exit_code == 1
    assert done.stdout == ""
    assert done.stderr == (
        f"Error: {pairs}:2: 'man\\twoman' is not word, word, score separated by tabs; "
        "correct it, or start a comment with '#'\n"
    )


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
    WordVectors(["man", "king"], np.full((2, 2), np.nan, dtype=np.float32)).save(folder)

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


def test_help_starts_with_the_summary_and_shows_an_example():
    done = firth("--help")

    assert SUMMARIES["compare"] in done.stdout
    assert "firth compare out/svd" in done.stdout
