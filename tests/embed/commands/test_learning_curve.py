"""The learning-curve command: outputs, reuse, messages and refusals."""

import csv
import json

import numpy as np
import pytest
from click.testing import CliRunner

from firth import cli

A_SIZE = "numbers of tokens such as 500K,1M,2.5M"


def firth(*arguments):
    """Return the result of a command."""
    return CliRunner().invoke(cli.main, list(map(str, arguments)))


@pytest.fixture(scope="module")
def material(tmp_path_factory):
    """A corpus of 300 documents and 30,000 words, and a set of word pairs."""
    folder = tmp_path_factory.mktemp("material")
    words = np.random.default_rng(2).zipf(1.2, (300, 100)) % 900
    lines = (" ".join(f"w{word}x" for word in line) for line in words)
    (folder / "text.txt").write_text("\n".join(lines))
    built = firth(
        "build-corpus", folder / "text.txt", "--out", folder / "corpus", "--documents", "line"
    )
    assert built.exit_code == 0, built.output
    with open(folder / "pairs.tsv", "w", encoding="utf-8", newline="") as file:
        rows = ((f"w{n}x", f"w{n + 1}x", n % 7) for n in range(1, 40))
        csv.writer(file, delimiter="\t", lineterminator="\n").writerows(rows)
    return folder


def curve(material, out, *options):
    """Run the command on that corpus and set, from 12,000 tokens on."""
    return firth(
        "learning-curve", material / "corpus", material / "pairs.tsv", "--out", out,
        "--sizes", "12K", *options,
    )  # fmt: skip


@pytest.fixture(scope="module")
def made(material, tmp_path_factory):
    """A curve of two methods and the printed output."""
    pytest.importorskip("matplotlib")
    out = tmp_path_factory.mktemp("made") / "curve"
    picture = out.parent / "curve.svg"
    done = curve(material, out, "--methods", "svd, cbow", "--plot", picture, "--json")
    assert done.exit_code == 0, done.output
    return out, done


@pytest.mark.slow
def test_every_method_is_trained_at_every_size_and_the_json_is_saved(material, made):
    out, done = made
    assert sorted(path.name for path in out.iterdir()) == [
        "cbow-12K", "cbow-all", "curve.json", "svd-12K", "svd-all",
    ]  # fmt: skip
    assert json.loads(done.stdout) == json.loads((out / "curve.json").read_text())
    assert json.loads(done.stdout)["methods"] == ["svd", "cbow"]
    assert (out.parent / "curve.svg").read_text().startswith("<?xml")
    made_of = json.loads((out / "svd-12K" / "provenance.json").read_text())["corpus"]
    whole = json.loads((material / "corpus" / "manifest.json").read_text())["fingerprint"]
    assert made_of == f"{whole}:120-documents-of-seed-1"


@pytest.mark.slow
def test_the_run_on_all_text_equals_that_of_the_training_command(material, made, tmp_path):
    out, _ = made
    done = firth("train-svd", material / "corpus", "--out", tmp_path / "svd")
    assert done.exit_code == 0, done.output
    for name in ("vectors.npy", "vocabulary.tsv", "config.json"):
        assert (out / "svd-all" / name).read_bytes() == (tmp_path / "svd" / name).read_bytes()


@pytest.mark.slow
def test_the_scores_equal_those_of_compare(material, made):
    out, done = made
    runs = [out / name for name in ("svd-12K", "cbow-12K", "svd-all", "cbow-all")]
    pairs = (material / "pairs.tsv",)
    compared = firth("compare", *runs, *pairs, "--json")
    assert compared.exit_code == 0, compared.output

    def numbers(document):
        names = ("run", "metric", "shared_items", "score", "low", "high", "items_used")
        return sorted([str(entry[name]) for name in names] for entry in document["results"])

    assert numbers(json.loads(done.stdout)) == numbers(json.loads(compared.stdout))


@pytest.mark.slow
def test_existing_runs_are_kept_and_only_new_methods_are_trained(material, made):
    out, done = made
    before = (out / "svd-12K" / "vectors.npy").stat().st_mtime_ns
    again = curve(material, out, "--methods", "svd,cbow", "--json")
    assert again.stdout == done.stdout
    assert again.stderr.count(": kept\n") == 4

    more = curve(material, out, "--methods", "svd,skipgram", "--json")
    assert more.exit_code == 0, more.output
    assert more.stderr.count(": kept\n") == 2
    assert more.stderr.count("skipgram-12K: training on 12,000 tokens of 120 documents\n") == 1
    assert (out / "svd-12K" / "vectors.npy").stat().st_mtime_ns == before
    assert json.loads((out / "curve.json").read_text())["methods"] == ["svd", "skipgram"]


def test_results_are_printed_even_if_they_cannot_be_written(material, made, monkeypatch):
    from firth.embed.compare.curves import api

    out, done = made
    plain = api.write_json

    def full(path, value):
        if path.name.startswith("curve.json"):
            raise OSError(28, "No space left on device", str(path))
        plain(path, value)

    monkeypatch.setattr(api, "write_json", full)
    again = curve(material, out, "--methods", "svd,cbow", "--json")
    assert again.exit_code == 1
    assert again.stdout == done.stdout
    assert "curve.json.new: No space left on device" in again.stderr.splitlines()[-1]


@pytest.mark.slow
def test_an_unreadable_set_and_a_size_with_too_few_words_do_not_affect_the_others(
    material, tmp_path
):
    (tmp_path / "bad.tsv").write_text("one\ttwo\tmany\nthree\tfour\tfew\n")
    options = ("--methods", "svd", "--sizes", "500,12K", "--similarity", f"{tmp_path}/bad.tsv")
    done = curve(material, tmp_path / "curve", *options)
    assert done.exit_code == 1
    # reported before hours of training begin
    assert done.stderr.startswith(f"Error: {tmp_path}/bad.tsv:")
    [_, line] = [line for line in done.stderr.splitlines() if line.startswith("Error: ")]
    assert line.startswith("Error: svd-500: --dim 100 is larger than the vocabulary (")
    assert "pairs, spearman (39 items)" in done.stdout
    assert " 12,000 " in done.stdout
    assert " 500 " not in done.stdout


def test_if_nothing_can_be_trained_the_error_is_one_line(material, tmp_path):
    folder = tmp_path / "few"
    folder.mkdir()
    (folder / "few.txt").write_text("one two three\n")
    done = firth("learning-curve", folder / "few.txt", "--out", tmp_path / "curve")
    assert done.exit_code == 1
    assert done.stderr.splitlines()[-1].startswith("Error: svd-all: ")
    assert "no word occurs 5 times or more" in done.stderr.splitlines()[-1]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (
            ("--methods", "svd,glove"),
            "method: glove: unknown; choose one of svd, skipgram, cbow, nplm, autoencoder, mlm",
        ),
        (
            ("--sizes", "1M,many"),
            f"--sizes must be {A_SIZE}, got 'many'",
        ),
        (("--sizes", "9" * 19), f"--sizes must be {A_SIZE}, got {'9' * 19!r}"),
        (("--seeds", "0"), "--seeds must be at least 1, got 0"),
        (("--seeds", "1001"), "--seeds must be at most 1000, got 1001"),
        (
            ("--methods", "svd,mlm", "--seed", "3000000000"),
            "--seed must be at most 2147483647, got 3000000000",
        ),
        (
            ("--methods", "mlm", "--seed", "2147483647", "--seeds", "3"),
            "--seed must be at most 2147483647, got 2147483649",
        ),
        (("--plot", "curve.jpg"), "--plot curve.jpg: must end in .png or .svg"),
    ],
)
def test_invalid_requests_are_refused_before_any_work(material, tmp_path, options, message):
    done = curve(material, tmp_path / "curve", *options)
    assert done.exit_code == 1
    assert done.stderr == f"Error: {message}\n"
    assert not (tmp_path / "curve").exists()


def test_an_existing_picture_is_refused_before_any_work(material, tmp_path):
    pytest.importorskip("matplotlib")
    (tmp_path / "curve.svg").write_text("mine")
    done = curve(material, tmp_path / "curve", "--plot", tmp_path / "curve.svg")
    assert done.stderr == (
        f"Error: {tmp_path}/curve.svg: already exists; choose another OUT or pass --force\n"
    )
    assert not (tmp_path / "curve").exists()


def test_another_seed_is_refused_if_runs_exist(material, made):
    out, _ = made
    done = curve(material, out, "--methods", "svd", "--seed", "2")
    assert done.exit_code == 1
    assert done.stderr == (
        f"Error: {out}/svd-12K: was made with a different corpus, seed; move it or choose another "
        "--out\n"
    )
