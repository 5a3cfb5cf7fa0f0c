"""The benchmark of recipes: its controls, and that it trains what each recipe says."""

from pathlib import Path

import numpy as np
import pytest
import torch

from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.model.nearby_heads import look_nearby
from firth.pretrain.shape import EncoderConfig
from firth.pretrain.training import muon
from tests.pretrain.small_run import SHAPE
from tests.pretrain.small_training import SMALL, corpus_of

BENCH = Path(__file__).parent / "bench"


@pytest.fixture
def bench(monkeypatch):
    """Import tests/bench/bench_recipes.py; its relatives stay importable for this test only."""
    monkeypatch.syspath_prepend(str(BENCH))
    import bench_recipes

    return bench_recipes


def test_controls_keep_the_rows_or_the_singular_values(bench):
    known = np.random.default_rng(5).normal(size=(50, 8)).astype(np.float32)
    import recipe_changes

    moved, drawn = recipe_changes.shuffled(known), recipe_changes.noise(known)
    assert sorted(map(tuple, moved)) == sorted(map(tuple, known))
    assert not np.array_equal(moved, known)
    values = [np.linalg.svd(each, compute_uv=False) for each in (known, drawn)]
    np.testing.assert_allclose(*values, rtol=1e-4)
    assert np.abs(drawn @ drawn.T - known @ known.T).max() > 1


def test_recipes_differ_as_they_say(bench, tmp_path, monkeypatch):
    import recipe_changes

    monkeypatch.setattr(recipe_changes, "_Z", 0.1)  # or its effect is below what losses show
    corpus = corpus_of(tmp_path)
    options = {**SMALL, "evaluate_every": "6", "muon_rate": 0.2}  # so that Muon's changes show
    changes = ("no bias", "untied", "slow table", "whole matrices", "z-loss", "rare pieces",
               "growing batches", "averaged weights", "skip-gram of pieces", "started at .08",
               "square schedule", "plain Muon", "balanced Muon", "momentum .8",
               "default")  # fmt: skip
    names = ("random heads", "random, AdamW", "shuffled SVD, Muon", "Muon 1e-2", *changes)
    found = {}
    for name in names:
        recipe = {key: value for key, value in bench.RECIPES[name].items() if key != "times"}
        found[name] = bench.train(corpus, options | recipe, tmp_path / name)
    assert [list(each["losses"]) for each in found.values()] == [["0", "6", "12"]] * len(names)
    first = {name: each["losses"]["0"] for name, each in found.items()}
    assert first["random heads"] == first["Muon 1e-2"] != first["plain Muon"]
    assert first["plain Muon"] == first["balanced Muon"] == first["default"]
    assert first["random, AdamW"] == pytest.approx(np.log(60), abs=0.1)
    last = {name: each["losses"]["12"] for name, each in found.items()}
    assert len(set(last.values())) == len(names), last
    assert not any((tmp_path / name / "vectors.npy").exists() for name in names)


def test_recipes_before_balanced_steps_do_without(bench):
    balanced = {name for name, options in bench.RECIPES.items() if options.get("balanced", True)}
    momenta = {"momentum .8", "momentum .9", "momentum .98"}
    assert balanced == {"balanced Muon", "Muon at 3e-2", *momenta, "default"}


def test_fewer_steps_of_muon_leave_small_singular_values_small(bench):
    import recipe_changes

    random = torch.Generator().manual_seed(1)
    left, right = (torch.linalg.qr(torch.randn(size, 24, generator=random))[0] for size in (24, 60))
    matrices = (left * torch.logspace(-2.5, 0, 24) @ right.T)[None]

    def smallest(change):
        with recipe_changes.CHANGES[change]():
            return float(torch.linalg.svdvals(muon.orthogonalized(matrices)).min())

    polynomials, *by_steps = map(
        smallest, ("best polynomials", "", "Muon, 4 steps", "Muon, 3 steps")
    )
    assert polynomials > 0.85 > by_steps[0] > 0.5
    assert by_steps == sorted(by_steps, reverse=True)


def test_starts_of_heads_differ(bench):
    import recipe_changes

    def weights(change):
        model = MaskedLanguageModel(EncoderConfig(n_pieces=80, **{**SHAPE, "layers": 3}), seed=3)
        with recipe_changes.CHANGES[change]():
            look_nearby(model)
        return [block.mixer.qkv.weight.detach().numpy().tobytes() for block in model.core.blocks]

    starts = [name for name in recipe_changes.CHANGES if name.startswith("heads")]
    found = {change: weights(change) for change in ("", *starts)}
    assert len(set(map(tuple, found.values()))) == len(found)
    layers = [np.not_equal(found[""], each).astype(int).tolist() for each in found.values()]
    assert layers == [[0, 0, 0], [1, 0, 1], [0, 1, 0], [0, 0, 1]]


def test_a_measured_cell_is_not_measured_again(bench):
    cell = {"recipe": "default", "steps": 600, "seed": 1}
    assert bench.measured(cell, [{**cell, "losses": {}}])
    assert not bench.measured(cell, [{**cell, "seed": 2}])
