"""A space for each period: trained by any method on its documents, or that of a run."""

import dataclasses
import json
import shutil

import numpy as np
import pytest

import firth
from firth import BuildOptions, ReadOptions, build_corpus
from firth.corpora.artifacts.artifact import CHECKSUMS
from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.embed.align.mapping import procrustes
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import read_periods, read_texts
from firth.embed.change.spaces import rows_of, spaces_of, train_spaces
from firth.embed.change.words import word_changes
from firth.embed.formats.vector_files import FORMATS, load_vectors, write_vectors
from firth.embed.refine.api import refine_vectors
from firth.embed.refine.config import RefineConfig
from firth.embed.registry import METHODS, Method
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.change_table import read_changes
from firth.embed.vectors.word_vectors import WordVectors
from tests.calls import command, output

BY = {"by": "part", "periods": ["a", "b"]}
CBOW = ChangeConfig(route="procrustes", method="cbow", dim=4, min_count=3, threads=1)


def documents(part, seed, n=12):
    """Return documents of random words; "rare" is in the first two of a part."""
    rng = np.random.default_rng(seed)
    for number in range(n):
        words = rng.choice([f"w{each}" for each in range(12)], 30).tolist()
        yield {"text": " ".join(words + ["rare"] * 4 * (number < 2)), "part": part}


def build(folder, rows, held_out=0.0):
    """Build a corpus of documents."""
    folder.mkdir(parents=True)
    (folder / "in.jsonl").write_text("\n".join(map(json.dumps, rows)))
    read = ReadOptions(keep=("part",))
    options = BuildOptions(held_out=held_out, threads=1)
    return build_corpus(folder / "in.jsonl", folder / "corpus", read=read, options=options)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    folder = tmp_path_factory.mktemp("spaces") / "both"
    return build(folder, [*documents("a", 1), *documents("b", 2)], held_out=0.2)


def test_a_method_is_trained_on_all_documents_of_a_period(corpus, monkeypatch):
    assert corpus.held_out_units
    seen = []

    def train(given, config):
        view = given.view(punctuation="drop", boundary="paragraph")
        seen.append((dict(zip(view.words, view.counts.tolist(), strict=True)), config))
        return WordVectors(view.words[1:], np.ones((len(view.words) - 1, 4), np.float32))

    class Recorded(Method):
        def train_function(self):
            return train

    recorded = Recorded(*dataclasses.astuple(METHODS["cbow"]))
    monkeypatch.setitem(METHODS, "cbow", recorded)
    periods = read_periods(corpus, **BY)
    view = periods.view("paragraph", "drop")
    texts = read_texts(periods, view)
    spaces = train_spaces(periods, texts, view.words, CBOW)
    for space, text, (counts, config) in zip(spaces, texts, seen, strict=True):
        expected = dict(zip(view.words, text.counts.tolist(), strict=True))
        assert counts == {word: n for word, n in expected.items() if n}
        assert (config.dim, config.min_count) == (4, 3)
        assert config.deterministic
        assert not space[view.words.index(next(iter(counts)))].any()  # without a row


def test_cbow_gives_the_same_changes_again(corpus):
    found = word_changes(corpus, config=CBOW, **BY)
    again = word_changes(corpus, config=dataclasses.replace(CBOW, threads=2), **BY)
    np.testing.assert_array_equal(found.table.distances, again.table.distances)
    assert len(found.table) == 13
    assert found.vectors.shape == (2, 13, 4)
    assert found.recipe["training"]["method"] == "cbow"


@pytest.fixture(scope="module")
def runs(tmp_path_factory):
    """Return runs of two corpora; the second has no vector of "rare"."""
    folder = tmp_path_factory.mktemp("runs")
    made = []
    for part, least in (("a", 3), ("b", 9)):
        own = build(folder / part, documents(part, 1 + (part == "b")))
        config = SvdConfig(dim=4, min_count=least, threads=1)
        made.append(train_svd(own, config, folder / f"run-{part}").path)
    return made


def test_two_runs_are_compared_by_their_vectors(runs, capsys, tmp_path):
    config = ChangeConfig(route="procrustes", min_count=3)
    with firth.show_progress():
        found = word_changes(*runs, config, out=tmp_path / "out")
    assert "1 of 13 types have no vector in a run: left out" in capsys.readouterr().err
    words = found.table.words
    assert sorted(words) == sorted(f"w{n}" for n in range(12))
    rows = [rows_of(WordVectors.open(run), words).astype(np.float64) for run in runs]
    rows = [each - each.mean(axis=0) for each in rows]
    rows = [each / np.linalg.norm(each, axis=1, keepdims=True) for each in rows]
    turned = rows[1] @ procrustes(rows[1], rows[0])
    np.testing.assert_allclose(found.table.distances, 1 - (rows[0] * turned).sum(axis=1), atol=1e-5)
    stored = json.loads((tmp_path / "out" / "config.json").read_text())
    assert [each["path"] for each in stored["runs"]] == [str(run) for run in runs]
    assert (stored["method"], stored["dim"]) == ("change", 4)
    assert found.describe(["rare"])[0].missing.startswith("'rare' has no vector in a period")


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"route": "svd-joint"}, "are vectors, which `route=procrustes` compares; pass it, or cor"),
        ({"dim": 4}, "`dim` has no effect on vectors, which are trained already; leave it out"),
        ({"method": "svd"}, "`method` has no effect on vectors, which are trained already"),
        ({"words": ["rare"]}, "'rare' has no vector in a run"),
    ],
    ids=["route", "dim", "method", "word"],
)
def test_refusals_of_runs(runs, config, message):
    words = config.pop("words", None)
    settings = ChangeConfig(**{"route": "procrustes", "min_count": 3, **config})
    with pytest.raises((SettingError, UnknownWordError), match=message):
        word_changes(*runs, settings, words=words)


def test_a_run_whose_corpus_is_gone_names_the_remedy(runs, tmp_path):
    run = shutil.copytree(runs[0], tmp_path / "run")
    made = json.loads((run / "provenance.json").read_text()) | {"corpus_path": "gone"}
    (run / "provenance.json").write_text(json.dumps(made))
    (run / CHECKSUMS).unlink()
    with pytest.raises(ArtifactError, match="was not found; pass the corpora instead of the runs"):
        word_changes(run, runs[1])


def test_a_run_of_no_corpus_is_compared_without_counts(runs, tmp_path):
    refine_vectors(runs[1], RefineConfig(center=True), out=tmp_path / "refined")
    found = word_changes(runs[0], tmp_path / "refined")
    assert sorted(found.table.words) == sorted(f"w{n}" for n in range(12))
    assert found.counts.shape == (0, 12)


@pytest.fixture(scope="module")
def turned(tmp_path_factory):
    """Return two files of the same vectors, turned, of which two words are exchanged."""
    folder = tmp_path_factory.mktemp("turned")
    rng = np.random.default_rng(3)
    rows = rng.normal(size=(60, 6))
    other = rows @ np.linalg.qr(rng.normal(size=(6, 6)))[0]
    other[[7, 8]] = other[[8, 7]]
    words = [f"w{n}" for n in range(60)]
    for name, matrix, last in (("a.vec", rows, "Old"), ("b.bin", other, "new")):
        vectors = WordVectors([*words[:-1], last], matrix.astype(np.float32))
        write_vectors(vectors, folder / name, FORMATS[name == "b.bin"])
    return folder / "a.vec", folder / "b.bin"


def test_files_of_vectors_are_aligned_by_the_words_that_both_have(turned):
    found = word_changes(*turned)
    table = found.table
    assert sorted(table.words[:2]) == ["w7", "w8"]
    # Procrustes is not exact, since two of 59 words pull elsewhere
    assert table.distances[1] > 5 * table.distances[2]
    assert (len(table), table.p, found.n_untested) == (59, None, 0)
    assert found.no_p.startswith("vectors have no text")
    [word] = found.describe(["W3"], k=2)
    assert (word.word, word.counts, word.shares) == ("w3", [], [])
    assert list(map(len, word.neighbors)) == [2, 2]
    vectors = found.word_vectors()
    assert vectors.counts is None
    assert 1 - vectors.similarity("w7@a.vec", "w7@b.bin") == pytest.approx(
        table.distances[found.row("w7")], abs=1e-5
    )
    opened = word_changes(*(load_vectors(path).in_memory(path.name) for path in turned))
    np.testing.assert_array_equal(opened.table.distances, table.distances)


def test_the_command_shows_what_files_of_vectors_have(turned, tmp_path):
    page, run = tmp_path / "page.html", tmp_path / "run"
    shown = output("change", *turned, "--top", 1, "-k", 2, "--report", page, "--out", run)
    assert [line.split()[-2:] for line in shown.splitlines()[-2:]] == [
        ["a", "period"],
        ["sentences,", "either"],
    ]
    assert "count" not in shown.splitlines()[0]
    assert "59 words compared in every period" in page.read_text()
    assert "Tokens" not in page.read_text()
    assert read_changes(run)["w3"][1] == []
    graded = tmp_path / "graded.tsv"
    graded.write_text("".join(f"w{n}\t{n}\n" for n in range(20)))
    assert " 20/20" in output("compare", run, graded)
    found = json.loads(output("change", *turned, "--top", 1, "--json"))
    assert (found["route"], found["words"][0]["counts"]) == ("procrustes", [])
    assert output("change", *turned, "--csv").startswith("word,distance,p,q,one_document,near@a")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (["--lines", 2], "--lines needs a text, which vectors do not have; leave it out"),
        (["--by", "year"], "--by and --periods divide one corpus; vectors are periods themselves"),
        (["--permutations", 3], "--permutations is of --route svd-joint; leave it out"),
        (["--min-count", 3], "--min-count has no effect on vectors without counts; leave it out"),
        (["--words", "old"], "'old' is not one of the 59 words of the periods; check the"),
    ],
    ids=["sentences", "by", "permutations", "min-count", "word"],
)
def test_refusals_of_files_of_vectors(turned, options, message):
    assert message in command("change", *turned, *options).stderr


def test_vectors_are_not_compared_with_themselves_or_a_corpus(turned, corpus):
    with pytest.raises(SettingError, match=r"a\.vec: is compared with itself"):
        word_changes(turned[0], turned[0])
    with pytest.raises(ArtifactError, match="not a finished corpus; build one with"):
        word_changes(turned[0], corpus)


def test_words_too_few_for_a_rotation_are_refused_or_noted(capsys):
    def changes(n):
        rows = np.random.default_rng(1).normal(size=(2, n, 4)).astype(np.float32)
        words = [f"w{number}" for number in range(n)]
        a, b = (WordVectors(words, rows[k], name=str(k)) for k in range(2))
        return word_changes(a, b)

    with pytest.raises(SettingError, match="with 2 in common, a rotation is not determined; pass"):
        changes(2)
    note = "with 4 in common, a rotation is not determined in 4 dimensions, so distances are too"
    with firth.show_progress():
        changes(5)
        assert note not in capsys.readouterr().err
        changes(4)
    assert note in capsys.readouterr().err


def test_runs_need_the_same_dimensions():
    a, b = (WordVectors(["x"], np.ones((1, dim), np.float32), name=f"d{dim}") for dim in (2, 3))
    with pytest.raises(SettingError, match="d2 has 2 dimensions and d3 3; train both with the sam"):
        spaces_of([a, b], ["x"])


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"method": "cbow"}, "`method` is of `route=procrustes`; leave it out"),
        (
            {"route": "contextual", "encoder": "run", "dim": 3},
            "`dim` has no effect on `route=contextual`, which trains nothing; leave it out",
        ),
    ],
    ids=["method", "dim"],
)
def test_settings_of_training_need_a_training(settings, message):
    with pytest.raises(SettingError, match=message):
        ChangeConfig(**settings)
