"""A space for each period: trained by any method on its documents, or that of a run."""

import dataclasses
import json

import numpy as np
import pytest

import firth
from firth import BuildOptions, ReadOptions, build_corpus
from firth.corpora.common.errors import ArtifactError, SettingError, UnknownWordError
from firth.embed.align.mapping import procrustes
from firth.embed.change.config import ChangeConfig
from firth.embed.change.periods import read_periods, read_texts
from firth.embed.change.spaces import rows_of, spaces_of, train_spaces
from firth.embed.change.words import word_changes
from firth.embed.refine.api import refine_vectors
from firth.embed.refine.config import RefineConfig
from firth.embed.registry import METHODS, Method
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.vectors.word_vectors import WordVectors

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
    assert "1 of 13 words have no vector in a run: left out" in capsys.readouterr().err
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
    with pytest.raises(UnknownWordError, match="'rare' has no vector in every period"):
        found.describe(["rare"])


@pytest.mark.parametrize(
    ("config", "message"),
    [
        ({"route": "svd-joint"}, "are runs, which `route=procrustes` compares; pass it, or their"),
        ({"dim": 4}, "`dim` has no effect on runs, which are trained already; leave it out"),
        ({"method": "svd"}, "`method` has no effect on runs, which are trained already"),
        ({"words": ["rare"]}, "'rare' has no vector in a run"),
    ],
    ids=["route", "dim", "method", "word"],
)
def test_refusals_of_runs(runs, config, message):
    words = config.pop("words", None)
    settings = ChangeConfig(**{"route": "procrustes", "min_count": 3, **config})
    with pytest.raises((SettingError, UnknownWordError), match=message):
        word_changes(*runs, settings, words=words)


def test_runs_need_their_corpora(runs, tmp_path):
    refine_vectors(runs[1], RefineConfig(center=True), out=tmp_path / "refined")
    with pytest.raises(
        ArtifactError, match="does not record its training corpus; pass the corpora instead"
    ):
        word_changes(runs[0], tmp_path / "refined", ChangeConfig(route="procrustes"))


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
