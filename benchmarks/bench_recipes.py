"""Recipes of masked-LM training: the held-out loss of each by step, on a tuning text.

Each recipe is the present default with some settings changed. A training is a cell of the JSON;
cells that are there are not measured again. Those of ideas that are not in the program, which have
other names, were measured by earlier versions of this file.

    python benchmarks/bench_recipes.py --json benchmarks/results/mlm-recipes.json
    python benchmarks/bench_recipes.py --steps 2400 --seeds 1 2 --recipes default AdamW
"""

import argparse
import json
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.pretrain.config import MlmConfig, MlmTuning
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training.session import PARTS

ROLE = roles.TUNING
TEXT = "enwiki2015-AB"
ROWS, SLOTS = 32, 128  # of a step on a CPU and of a row, unless the recipe says otherwise
RECIPES: dict[str, dict[str, Any]] = {
    "default": {},
    "masks .30 to .15": {"mask_rate": "0.30:0.15"},
    "masks .50 to .15": {"mask_rate": "0.50:0.15"},
    "random table": {"init": "none"},
    "AdamW": {"optimizer": "adamw"},
    "whole words": {"masking": "word"},
    "batch 16": {"batch": 16},
    "64 slots": {"sequence_length": 64, "batch": 64},
    "256 slots": {"sequence_length": 256, "batch": 16},
    "conv, attention, conv, attention": {"mixer": "conv,attention,conv,attention"},
}  # fmt: skip


def train(
    corpus: Corpus, options: Mapping[str, Any], out: Path, tuning: MlmTuning
) -> dict[str, Any]:
    """Train without pooling; return losses by step, and shares of the time."""
    run = make_mlm_run(corpus, MlmConfig(**options), out, temporary=True, tuning=tuning)
    lines = read_metrics(run / METRICS)
    scores = [line for line in lines if "held_out_loss" in line]
    steps = [line for line in lines if "loss" in line]
    return {
        "losses": {str(line["step"]): round(line["held_out_loss"], 4) for line in scores},
        "loss": round(scores[-1]["held_out_loss"], 4),
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
        options |= {name: getattr(arguments, name) for name in ("dtype", "compile", "threads")}
        options |= RECIPES[cell["recipe"]]
        if "batch" in options:  # as many slots
            slots = options["batch"] * options.get("sequence_length", SLOTS)
            options["steps"] = options["steps"] * ROWS * SLOTS // slots
        with tempfile.TemporaryDirectory() as folder:
            tuning = MlmTuning(evaluations=max(1, options["steps"] // arguments.every))
            result = train(corpus, options, Path(folder) / "run", tuning)
        found["cells"].append({**cell, "dtype": arguments.dtype, **result})
        print(cell, result["losses"], flush=True)
        if path:
            write_json(path, {"benchmark": "recipes", "text": TEXT, **found, **harness.machine()})
    columns = ["recipe", "steps", "seed", "loss", "accuracy", "slots/s"]
    print_table(columns, [
        [each["recipe"], each["steps"], each["seed"], each["loss"], each["accuracy"],
         each["slots_per_second"]]
        for each in found["cells"]
    ])  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--recipes", nargs="+", choices=RECIPES, default=list(RECIPES))
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--preset", default="mini")
    parser.add_argument("--pieces", default="8000")
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="bfloat16")
    parser.add_argument("--compile", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--every", type=int, default=100, help="steps between evaluations")


if __name__ == "__main__":
    main()
