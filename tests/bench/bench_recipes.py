"""Recipes of masked-LM training: the held-out loss of each by step, on a tuning text.

Each recipe is the present default with some settings changed. Besides, two controls of the warm
start: the same vectors in shuffled rows, and noise with the same singular values. A training is a
cell of the JSON; cells that are there are not measured again.

    python tests/bench/bench_recipes.py --json docs/results/mlm-recipes.json
    python tests/bench/bench_recipes.py --steps 2400 --seeds 1 2 --recipes default before
"""

import argparse
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any
from unittest.mock import patch

import harness
import numpy as np
import roles

from corpora.artifacts.artifact import write_json
from corpora.artifacts.metrics import METRICS, read_metrics
from corpora.build.open_or_build import open_or_build
from corpora.common.console import print_table
from corpora.store.corpus import Corpus
from pretrain.config import MlmConfig
from pretrain.train import make_mlm_run
from pretrain.training import warm_start
from pretrain.training.log import PARTS

ROLE = roles.TUNING
TEXT = "enwiki2015-AB"
_15 = {"mask_rate": "0.15"}
RECIPES: dict[str, dict[str, Any]] = {
    "random, AdamW": {"init": "none", "optimizer": "adamw", **_15},
    "SVD, AdamW": {"optimizer": "adamw", **_15},
    "random, Muon": {"init": "none", **_15},
    "shuffled SVD, Muon": {"control": "shuffled", **_15},
    "noise, Muon": {"control": "noise", **_15},
    "SVD, Muon": _15,
    "whole words": {"masking": "word", **_15},
    "default": {},  # masks 30 % first and 15 % last
    "Muon 1e-2": {"muon_rate": 0.01},
    "Muon 4e-2": {"muon_rate": 0.04},
    "AdamW 5e-4": {"learning_rate": 5e-4},
    "AdamW 2e-3": {"learning_rate": 2e-3},
    "weight decay .1": {"weight_decay": 0.1},
}
_Vectors = Callable[[np.ndarray], np.ndarray]


def shuffled(known: np.ndarray) -> np.ndarray:
    """Return the rows in random order."""
    return np.random.default_rng(1).permutation(known)


def noise(known: np.ndarray) -> np.ndarray:
    """Return random rows with the same singular values and right singular vectors."""
    _, values, right = np.linalg.svd(known, full_matrices=False)
    left, _ = np.linalg.qr(np.random.default_rng(1).normal(size=known.shape))
    return ((left * values) @ right).astype(np.float32)


CONTROLS: dict[str, _Vectors] = {"shuffled": shuffled, "noise": noise}


def train(corpus: Corpus, options: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Train without pooling; return losses by step, and shares of the time."""
    settings = dict(options)
    change = CONTROLS.get(settings.pop("control", ""))
    made = warm_start.vectors_from_text

    def vectors_from_text(*arguments: Any, **others: Any) -> np.ndarray:
        vectors = made(*arguments, **others)
        if change is not None:
            known = vectors.any(1)
            vectors[known] = change(vectors[known])
        return vectors

    with patch.object(warm_start, "vectors_from_text", vectors_from_text):
        run = make_mlm_run(corpus, MlmConfig(**settings), out, temporary=True)
    lines = read_metrics(run / METRICS)
    scores = [line for line in lines if "held_out_loss" in line]
    steps = [line for line in lines if "loss" in line]
    return {
        "losses": {str(line["step"]): round(line["held_out_loss"], 4) for line in scores},
        "accuracy": round(scores[-1]["held_out_accuracy"], 4),
        "unigram": round(scores[-1]["unigram_loss"], 4),
        "seconds": round(scores[-1]["seconds"], 1),
        "slots_per_second": round(float(np.median([line["tokens_per_second"] for line in steps]))),
        **{part: round(float(np.mean([line[part] for line in steps])), 4) for part in PARTS},
    }


def cells(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is to be trained, seed by seed."""
    for seed in arguments.seeds:
        for recipe in arguments.recipes:
            yield {
                "recipe": recipe, "preset": arguments.preset, "pieces": arguments.pieces,
                "steps": arguments.steps, "seed": seed,
            }  # fmt: skip


def measured(cell: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a cell is among those that are measured."""
    return any(cell.items() <= each.items() for each in every)


def main() -> None:
    """Train every recipe that is not measured yet."""
    arguments = harness.parse(__doc__, more=_own_options)
    path = arguments.json
    found = json.loads(path.read_text()) if path and path.exists() else {"cells": []}
    corpus = open_or_build(roles.open_text(TEXT, role=ROLE))
    for cell in cells(arguments):
        if measured(cell, found["cells"]):
            continue
        options = {name: value for name, value in cell.items() if name != "recipe"}
        options |= {"dtype": "bfloat16", "compile": arguments.compile}
        options["evaluate_every"] = str(arguments.every)
        with tempfile.TemporaryDirectory() as folder:
            result = train(corpus, options | RECIPES[cell["recipe"]], Path(folder) / "run")
        found["cells"].append({**cell, **result})
        print(cell, result["losses"], flush=True)
        if path:
            write_json(path, {"benchmark": "recipes", "text": TEXT, **found, **harness.machine()})
    columns = ["recipe", "steps", "seed", "loss", "accuracy", "slots/s"]
    print_table(columns, [
        [each["recipe"], each["steps"], each["seed"], list(each["losses"].values())[-1],
         each["accuracy"], each["slots_per_second"]]
        for each in found["cells"]
    ])  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--pieces", default="8000")
    parser.add_argument("--compile", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--every", type=int, default=100, help="steps between evaluations")


if __name__ == "__main__":
    main()
