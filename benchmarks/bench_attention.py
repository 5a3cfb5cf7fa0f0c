"""Scores and positions of attention beside each other: held-out loss after the same steps.

Each is trained on the text that comes with Firth, by one thread in float32. What is in the JSON is
not measured again.

    python benchmarks/bench_attention.py --json benchmarks/results/attention.json
"""

import argparse
import json
import tempfile
from pathlib import Path
from typing import Any

import harness
import mlm_quality

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.pretrain.attention_scores import SCORES
from firth.pretrain.config import MlmConfig
from firth.pretrain.model.weights import load_model
from firth.pretrain.train import make_mlm_run

COLUMNS = {"score": "--mixer attention:", "positions": "--positions", "weights": "weights"} | {
    name: name.replace("_", " ") for name in ("held_out_loss", "held_out_standard_error")
}
ROTARY, RELATIVE = "rotary", "relative"


def cells(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """List what is to be trained: each score, and the default score with relative positions."""
    pairs = [*((score, ROTARY) for score in SCORES), ("scaled-dot", RELATIVE)]
    names = ("preset", "steps", "batch", "seed")
    options = {name: getattr(arguments, name) for name in names}
    return [{"score": score, "positions": positions, **options} for score, positions in pairs]


def quality(corpus: Corpus, cell: dict[str, Any]) -> dict[str, Any]:
    """Train an encoder; return its number of weights and its last held-out score."""
    options = {**cell, "mixer": f"attention:{cell['score']}"}
    del options["score"]
    fixed: dict[str, Any] = {"threads": 1, "dtype": "float32", "compile": "off", "device": "cpu"}
    config = MlmConfig(**options, **fixed)
    with tempfile.TemporaryDirectory() as folder:
        run = make_mlm_run(corpus, config, Path(folder) / "run", temporary=True)
        found = mlm_quality.last_scores(run)
        weights = sum(weight.numel() for weight in load_model(run).parameters())
    kept = ("held_out_loss", "held_out_standard_error", "held_out_accuracy", "unigram_loss")
    return {"weights": weights, **{name: found[name] for name in kept}}


def main() -> None:
    """Measure what is not measured yet."""
    arguments = harness.parse(__doc__, more=_own_options)
    path = arguments.json
    found = json.loads(path.read_text())["cells"] if path and path.exists() else []
    corpus = open_or_build(Path("wiki-sample"))
    for cell in cells(arguments):
        if not any(cell.items() <= each.items() for each in found):
            found.append({**cell, **quality(corpus, cell)})
        if path:
            write_json(path, {"benchmark": "attention", "cells": found, **harness.machine()})
    print_table(list(COLUMNS.values()), [[each[name] for name in COLUMNS] for each in found])


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--steps", type=int, default=300)
    parser.add_argument("--batch", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)


if __name__ == "__main__":
    main()
