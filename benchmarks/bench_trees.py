"""Attention along the edges of dependency trees, beside the same encoder without edges.

Each encoder is trained on the training part of UD English EWT, with its trees; then a linear probe
learns tags (UPOS) from the last layer's states of the same part, and is scored on the test part.
Trees are those of the treebank, in training and in scoring.

A training is a cell of the JSON; cells that are there are not measured again.

    python benchmarks/bench_trees.py --json benchmarks/results/trees.json
"""

import argparse
import json
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import harness
import mlm_quality
import roles
import torch

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import build_corpus
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.datasets.parts import DEV, TEST, TRAIN
from firth.embed.compare.datasets.tagged_words import read_parts
from firth.embed.compare.probes.examples import standardized
from firth.embed.compare.probes.linear import train_linear
from firth.embed.compare.tasks.tagging.inputs import N_FLAGS, state_inputs
from firth.embed.compare.tasks.tagging.items import TaggingSet
from firth.embed.protocols import ContextualEncoder
from firth.embed.vectors.one_thread import ONE_THREAD
from firth.pretrain.config import MlmConfig
from firth.pretrain.inference.mlm_encoder import open_run
from firth.pretrain.train import make_mlm_run

ROLE = roles.REPORTING
TAGS = ("ud-ewt-train", "ud-ewt-dev", "ud-ewt-test")
EDGES = ("none", "tree", "tree:1")
COLUMNS = {
    "edges": "--attention", "seed": "seed", "loss": "held-out loss",
    "accuracy": "masked pieces", "tags": "tags",
}  # fmt: skip


def cell(corpus: Corpus, words: TaggingSet, options: Mapping[str, Any]) -> dict[str, Any]:
    """Train an encoder and score it; return the figures of its row."""
    edges = None if options["edges"] == "none" else options["edges"]
    settings = {name: value for name, value in options.items() if name != "edges"}
    config = MlmConfig(**settings, attention=edges, dtype="float32", compile="off", threads=1)
    with tempfile.TemporaryDirectory() as folder:
        run = make_mlm_run(corpus, config, Path(folder) / "run", temporary=True)
        scores = mlm_quality.last_scores(run)
        encoder = open_run(run)
    return {
        **options,
        "loss": scores["held_out_loss"],
        "loss_error": scores["held_out_standard_error"],
        "accuracy": scores["held_out_accuracy"],
        "unigram_loss": scores["unigram_loss"],
        "tags": tags(encoder, words),
        "seconds": scores["seconds"],
    }


def tags(encoder: ContextualEncoder, words: TaggingSet) -> float:
    """Return the accuracy of a linear probe on the states of the last layer."""
    raw = state_inputs(encoder, words.words, words.offsets, encoder.n_layers, heads=words.heads)
    with ONE_THREAD:
        table = standardized(raw.table, raw.rows[words.roles == TRAIN], N_FLAGS)
        train, dev, test = (
            words.examples(raw.rows[:, None], words.labels, role) for role in (TRAIN, DEV, TEST)
        )
        probe = train_linear(table, train, dev, len(words.classes))
        return float((probe.predict(test.rows) == test.labels).mean())


def main() -> None:
    """Measure what is not measured yet."""
    arguments = harness.parse(__doc__, repeats=1, more=_own_options)
    path = arguments.json
    found = json.loads(path.read_text())["cells"] if path and path.exists() else []
    torch.set_num_threads(1)
    parts = [roles.open_set(name, role=ROLE) for name in TAGS]
    words = TaggingSet(read_parts(",".join(map(str, parts))), seed=1)
    with tempfile.TemporaryDirectory() as folder:
        corpus = build_corpus(parts[0], Path(folder) / "ewt")
        for seed in arguments.seeds:
            for edges in arguments.edges:
                options = {
                    "edges": edges, "seed": seed, "preset": arguments.preset,
                    "pieces": arguments.pieces, "steps": arguments.steps,
                }  # fmt: skip
                if any(options.items() <= each.items() for each in found):
                    continue
                found.append(cell(corpus, words, options))
                if path:
                    write_json(path, {"benchmark": "trees", "cells": found, **harness.machine()})
    rows = [[str(each[name]) for name in COLUMNS] for each in found]
    print_table(list(COLUMNS.values()), rows, title="attention along edges")


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--edges", nargs="+", default=EDGES, help="none, or as --attention")
    parser.add_argument("--seeds", nargs="+", type=int, default=(1, 2))
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--pieces", default="4000")
    parser.add_argument("--steps", type=int, default=200)


if __name__ == "__main__":
    main()
