"""Recipes of masked-LM training: the held-out loss of each by step, on a tuning text.

Each recipe is the present default or an earlier one, with some settings changed or a part of the
trainer replaced (recipe_changes.py). A training is a cell of the JSON; cells that are there are not
measured again.

    python tests/bench/bench_recipes.py --json docs/results/mlm-recipes.json
    python tests/bench/bench_recipes.py --steps 2400 --seeds 1 2 --recipes default wsd
"""

import argparse
import contextlib
import json
import tempfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles
from recipe_changes import CHANGES, WITH_NEARBY_HEADS, not_balanced

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.embed.svd.train import SvdConfig, train_svd
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram
from firth.pretrain.config import PRESETS, MlmConfig
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training.log import PARTS

ROLE = roles.TUNING
TEXT = "enwiki2015-AB"
ROWS, SLOTS = 32, 128  # of a step on a CPU and of a row, unless the recipe says otherwise
_15 = {"mask_rate": "0.15"}
_ONCE = {"times": 1}  # AdamW's rate beside Muon is as many times the rate of AdamW alone
_LITTLE_DECAY: dict[str, dict[str, Any]] = {
    "random, AdamW": {"init": "none", "optimizer": "adamw", **_15},
    "SVD, AdamW": {"optimizer": "adamw", **_15},
    "random, Muon": {"init": "none", **_15, **_ONCE},
    "shuffled SVD, Muon": {"change": "shuffled", **_15, **_ONCE},
    "noise, Muon": {"change": "noise", **_15, **_ONCE},
    "SVD, Muon": {**_15, **_ONCE},
    "whole words": {"masking": "word", **_15, **_ONCE},
    "rate x1": _ONCE,  # from here on masks 30 % first and 15 % last
    "Muon 1e-2": {"muon_rate": 0.01, **_ONCE},
    "Muon 4e-2": {"muon_rate": 0.04, **_ONCE},
    "batch 16": {"batch": 16, **_ONCE},
    **{
        name: {"change": name, **_ONCE}
        for name in CHANGES
        if name and name not in WITH_NEARBY_HEADS
    },
    "weight decay .01": {},
    "rate x2": {"times": 2},
    "rate x4": {"times": 4},
    "wsd": {"schedule": "wsd"},
    "masks .40 to .15": {"mask_rate": "0.40:0.15"},
    "masks .50 to .15": {"mask_rate": "0.50:0.15"},
    "skip-gram of words": {"init": "skip-gram"},
    "SVD of words": {"init": "svd"},
}
_RANDOM_HEADS: dict[str, dict[str, Any]] = {
    **{name: {**options, "weight_decay": 0.01} for name, options in _LITTLE_DECAY.items()},
    "random heads": {},
    "weight decay .3": {"weight_decay": 0.3},
    "masks .40 to .15, weight decay .1": {"mask_rate": "0.40:0.15"},
    "batch 16, weight decay .1": {"batch": 16, **_ONCE},
    **{f"start {std}": {"change": std} for std in ("std .04", "std .08", "std .16", "std .32")},
    "half rates": {"rates": 0.5},  # of Muon and AdamW
    "quarter rates": {"rates": 0.25},
}
_PLAIN_MUON: dict[str, dict[str, Any]] = {
    **{name: {**options, "attention_start": "random"} for name, options in _RANDOM_HEADS.items()},
    "plain Muon": {},
    "nearby heads, random table": {"init": "none"},
    "nearby heads, half rates": {"rates": 0.5},
    "nearby heads, twice the rates": {"rates": 2},
    **{name: {"change": name} for name in WITH_NEARBY_HEADS},
    "64 slots": {"sequence_length": 64, "batch": 64},
    "256 slots": {"sequence_length": 256, "batch": 16},
    "conv, attention, conv, attention": {"mixer": "conv,attention,conv,attention"},
}
_LONG_MOMENTUM: dict[str, dict[str, Any]] = {
    **{name: {**options, "balanced": False} for name, options in _PLAIN_MUON.items()},
    "balanced Muon": {},
    "Muon at 3e-2": {"muon_rate": 0.03},
    "momentum .8": {"muon_momentum": 0.8},
    "momentum .9": {"muon_momentum": 0.9},
    "momentum .98": {"muon_momentum": 0.98},
}
RECIPES: dict[str, dict[str, Any]] = {
    **{
        name: {"muon_momentum": 0.95, "mask_rate": "0.30:0.15"} | options
        for name, options in _LONG_MOMENTUM.items()
    },
    "default": {},
}
_WORDS: dict[str, Callable[[Corpus, Path], Any]] = {  # whose vectors pieces may start from
    "svd": lambda corpus, out: train_svd(corpus, SvdConfig(dim=256), out),
    "skip-gram": lambda corpus, out: train_skipgram(corpus, SkipGramConfig(dim=256), out),
}


def train(corpus: Corpus, options: Mapping[str, Any], out: Path) -> dict[str, Any]:
    """Train without pooling; return losses by step, and shares of the time."""
    settings = dict(options)
    change = settings.pop("change", "")
    balanced = settings.pop("balanced", True)
    if settings.get("init") in _WORDS:
        words = out.with_name("words")
        _WORDS[settings["init"]](corpus, words)
        settings["init"] = str(words)
    with CHANGES[""](), contextlib.nullcontext() if balanced else not_balanced(), CHANGES[change]():
        run = make_mlm_run(corpus, MlmConfig(**settings), out, temporary=True)
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
        options |= {"evaluate_every": str(arguments.every)} | RECIPES[cell["recipe"]]
        preset = PRESETS[cell["preset"]]
        if "rates" in options:
            share = options.pop("rates")
            options["learning_rate"] = preset.rate_beside_muon * share
            options["muon_rate"] = MlmConfig.muon_rate * share
        if "times" in options:
            options["learning_rate"] = preset.learning_rate * options.pop("times")
        if "batch" in options:  # as many slots
            slots = options["batch"] * options.get("sequence_length", SLOTS)
            options["steps"] = options["steps"] * ROWS * SLOTS // slots
        with tempfile.TemporaryDirectory() as folder:
            result = train(corpus, options, Path(folder) / "run")
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
