"""Quality of a trained encoder: its scores beside those of other runs, and its curve."""

import shutil
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from firth.corpora.artifacts.artifact import CHECKSUMS, checksums, write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.runs.run import Run
from firth.embed.vectors.piece_table import TOKENIZER

KEPT = ("run", "task", "dataset", "metric", "score", "low", "high", "items_used", "items_total")


def train(
    corpus: str | Path, out: Path, options: Mapping[str, Any], minutes: float, device: str
) -> Path:
    """Train or resume a run, by time unless the options name another budget."""
    from firth.corpora.encoding.build import open_or_build
    from firth.pretrain.config import BUDGETS, MlmConfig
    from firth.pretrain.train import make_mlm_run

    budget = {} if any(name in options for name in BUDGETS) else {"minutes": minutes}
    config = MlmConfig(**{"device": device, **budget, **options})
    return make_mlm_run(open_or_build(corpus), config, out)


def quality(run: Path, beside: Sequence[Path], config: CompareConfig) -> dict[str, Any]:
    """Compare a finished run, and what it started from, with other runs.

    Results are those on the items that all runs cover. Encoders run on a GPU if there is one.
    """
    compared = compare([run, *beside], config)
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    results = [
        {key: each[key] for key in KEPT} | {"run": Path(each["run"]).name}
        for each in compared.document["results"]
        if each["shared_items"] and "section" not in each
    ]
    return {
        "run": run.name,
        "options": Run.open(run).options,
        "training": last_scores(run),
        "results": results,
    }


def untrained(run: Path, out: Path) -> Path:
    """Copy a run with the weights that its training began with, and the vectors they pool to."""
    from firth.corpora.tokenizer.json_format import open_pieces
    from firth.embed.svd.piece_text import PieceText
    from firth.embed.vectors.word_vectors import MATRIX, WordVectors
    from firth.pretrain.config import MlmConfig
    from firth.pretrain.data.text import open_text
    from firth.pretrain.model.weights import WEIGHTS, encoder_config, save_model
    from firth.pretrain.training.warm_start import untrained_model

    opened, words = Run.open(run), WordVectors.open(run).untrained
    assert words is not None, f"{run}: was trained by an earlier version"
    config = opened.settings(MlmConfig).resolved()
    text = open_text(opened.corpus(), config).train
    counts = torch.from_numpy(PieceText(text, open_pieces(run / TOKENIZER)).counts)
    shutil.copytree(run, out)
    save_model(untrained_model(run, encoder_config(run), config, counts), out / WEIGHTS)
    np.save(out / MATRIX, words.matrix)
    write_json(out / CHECKSUMS, checksums(out))
    return out


def last_scores(run: Path) -> dict[str, Any]:
    """Return the last held-out evaluation of a run and its last line of metrics."""
    found: dict[str, Any] = {}
    for line in read_metrics(run / METRICS):
        found |= line
    return found


def held_out_score(run: Path, corpus: Path, device: str) -> dict[str, Any]:
    """Score a run of masked pieces on the held-out text of any corpus, by its own pieces."""
    from firth.corpora.encoding.build import open_or_build
    from firth.pretrain.config import MlmConfig
    from firth.pretrain.data.packing import PackedRows
    from firth.pretrain.data.text import open_text
    from firth.pretrain.inference.mlm_encoder import open_masked
    from firth.pretrain.training.evaluation import evaluate
    from firth.pretrain.training.prepare import held_out_batches

    encoder, options = open_masked(run, device), Run.open(run).options
    text = open_text(open_or_build(corpus), MlmConfig(boundary=options["boundary"])).held_out
    place = encoder.model.pieces.weight.device
    length, tree = options["sequence_length"], encoder.model.config.attention_edges is not None
    rows = PackedRows.pack(text, encoder.pieces, length, place, clusters=True, tree=tree)
    batches = held_out_batches(rows, encoder.pieces, micro_batch=32)
    dtype = getattr(torch, options["decided"]["dtype"])
    score = evaluate(encoder.model, batches, dtype)
    return {
        "seed": options["seed"],
        "held_out_loss": score.loss,
        "held_out_standard_error": score.standard_error,
        "held_out_accuracy": score.accuracy,
        "held_out_targets": score.n_targets,
    }


def curve(run: Path, minutes: float) -> dict[str, Any]:
    """Return the options of a run, and its held-out scores by step, of ``minutes`` in all."""
    scores = [line for line in read_metrics(run / METRICS) if "held_out_loss" in line]
    n_steps = scores[-1]["step"]
    kept = ("step", "tokens", "held_out_loss", "held_out_perplexity", "held_out_accuracy",
            "held_out_targets", "unigram_loss", "unigram_accuracy")  # fmt: skip
    return {
        "options": Run.open(run).options,
        "held_out": [
            {"minute": minutes * line["step"] / n_steps, **{name: line[name] for name in kept}}
            for line in scores
        ],
    }
