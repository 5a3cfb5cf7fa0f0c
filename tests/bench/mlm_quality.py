"""Quality of a trained encoder: its scores beside those of other runs, and its curve."""

import json
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from corpora.artifacts.metrics import METRICS, read_metrics
from embed.compare.api import compare_runs
from embed.compare.config import CompareConfig

KEPT = ("run", "task", "dataset", "metric", "score", "low", "high", "items_used", "items_total")


def train(
    corpus: str | Path, out: Path, options: Mapping[str, Any], minutes: float, device: str
) -> Path:
    """Train or resume a run, by time unless the options name another budget."""
    from corpora.build.open_or_build import open_or_build
    from pretrain.config import MlmConfig
    from pretrain.train import make_mlm_run

    budgets = ("steps", "epochs", "tokens", "minutes")
    budget = {} if any(name in options for name in budgets) else {"minutes": minutes}
    config = MlmConfig(**{"device": device, **budget, **options})
    return make_mlm_run(open_or_build(corpus), config, out)


def quality(run: Path, beside: Sequence[Path], config: CompareConfig) -> dict[str, Any]:
    """Compare a finished run, and what it started from, with other runs.

    Results are those on the items that all runs cover. Encoders run on a GPU if there is one.
    """
    compared = compare_runs([run, *beside], config)
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    results = [
        {key: each[key] for key in KEPT} | {"run": Path(each["run"]).name}
        for each in compared.document["results"]
        if each["shared_items"] and "section" not in each
    ]
    return {
        "run": run.name,
        "options": json.loads((run / "config.json").read_text()),
        "training": last_scores(run),
        "results": results,
    }


def last_scores(run: Path) -> dict[str, Any]:
    """Return the last held-out evaluation of a run and its last line of metrics."""
    found: dict[str, Any] = {}
    for line in read_metrics(run / METRICS):
        found |= line
    return found


def curve(run: Path, minutes: float) -> dict[str, Any]:
    """Return the options of a run, and its held-out scores by step, of ``minutes`` in all."""
    scores = [line for line in read_metrics(run / METRICS) if "held_out_loss" in line]
    n_steps = scores[-1]["step"]
    kept = ("step", "tokens", "held_out_loss", "held_out_perplexity", "held_out_accuracy",
            "held_out_targets", "unigram_loss", "unigram_accuracy")  # fmt: skip
    return {
        "options": json.loads((run / "config.json").read_text()),
        "held_out": [
            {"minute": minutes * line["step"] / n_steps, **{name: line[name] for name in kept}}
            for line in scores
        ],
    }
