"""The comparison with gensim by itself: the same settings in both, and cells measured once."""

import json
from pathlib import Path

import numpy as np
import pytest

from firth.embed.word2vec.config import CbowConfig, SkipGramConfig
from firth.embed.word2vec.gensim_engine import _model
from tests.embed.small_corpus import SmallView
from tests.embed.word2vec.word2vec_cases import ViewedCorpus

gensim_models = pytest.importorskip("gensim.models")
BENCH = Path(__file__).parents[1]
KINDS = {"skipgram": SkipGramConfig, "cbow": CbowConfig}


@pytest.fixture
def bench(monkeypatch):
    """Import benchmarks/bench_gensim.py; its relatives stay importable for this test only."""
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_gensim

    return bench_gensim


class Text(ViewedCorpus):
    """A corpus with the settings that vectors take from it."""

    text = None


@pytest.mark.parametrize("method", KINDS)
def test_gensim_by_itself_has_the_settings_of_the_gensim_engine(bench, method):
    settings = bench.firth_settings(method, 10**7)
    model = gensim_models.Word2Vec(sg=int(method == "skipgram"), **settings)
    engine = _model(KINDS[method](engine="gensim", epochs=settings["epochs"], subsample=1e-4), 1)
    names = [name for name in bench.NAMES if name != "min_count"]  # the engine's text is filtered
    names += ["sg", "cbow_mean", "shrink_windows", "hs"]
    assert {name: getattr(model, name) for name in names} == {
        name: getattr(engine, name) for name in names
    }


@pytest.mark.parametrize("system", range(4))
def test_every_system_trains_the_words_of_the_text(bench, system, tmp_path, monkeypatch):
    # word t occurs 60 - t times; with a min_count of 5 all are kept
    tokens = np.random.default_rng(3).permutation(np.repeat(np.arange(30), np.arange(60, 30, -1)))
    view = SmallView([[f"w{t}" for t in part] for part in np.array_split(tokens, 100)])
    bench.write_view(view, tmp_path / "lines.txt")
    trained = bench.Bench(Text(view), tmp_path / "lines.txt", view.n_tokens)
    calls = []
    recording = lambda corpus, config: calls.append(config)  # noqa: E731
    monkeypatch.setattr(bench, "METHODS", {"cbow": (CbowConfig, recording)})
    vectors = trained.train(bench.SYSTEMS[system], "cbow", 1, 5)
    if bench.SYSTEMS[system].startswith("gensim"):
        assert vectors.vocabulary == view.words
        assert vectors.matrix.shape == (30, 100)
    else:
        changed = {} if bench.SYSTEMS[system] == bench.FIRTH else bench.gensim_settings()
        assert calls == [CbowConfig(threads=1, seed=5, **changed)]


def test_settings_of_gensim_are_known_to_firth(bench):
    theirs = bench.gensim_settings()
    assert theirs["subsample"] == 1e-3
    for kind in KINDS.values():
        assert kind(**theirs).epochs == theirs["epochs"]
    assert bench.firth_settings("cbow", 10**7)["sample"] == 1e-4
    assert bench.firth_settings("cbow", 10**5)["epochs"] == 20


def test_only_missing_cells_are_measured(bench):
    every = list(bench.missing([], ["cbow"], [1, 2], 4))
    assert len(every) == len(set(every)) == 3 * len(bench.SYSTEMS)
    assert sum(workers == 4 for _, _, workers, _ in every) == len(bench.SYSTEMS)
    names = ("method", "system", "workers", "seed")
    done = [dict(zip(names, cell, strict=True)) for cell in every[:5]]
    assert list(bench.missing(done, ["cbow"], [1, 2], 4)) == every[5:]


def test_cells_of_another_text_are_not_continued(bench, tmp_path):
    path = tmp_path / "gensim.json"
    path.write_text(json.dumps({"corpus": "a", "cells": [1]}))
    assert bench.start(path, {"corpus": "a"})["cells"] == [1]
    with pytest.raises(SystemExit, match="measured with another corpus"):
        bench.start(path, {"corpus": "b"})
