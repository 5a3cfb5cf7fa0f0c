"""Quality of a trained encoder: held-out accuracy, BLiMP, word similarity of its vectors."""

import json
import lzma
import math
import time
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np

from corpora.artifacts.metrics import METRICS, read_metrics
from embed.compare.config import CompareConfig
from embed.compare.scoring.comparison import read_tasks
from embed.formats.vector_files import load_vectors
from embed.protocols import SentenceScorer

_TIE = 1e-6  # nats: less is rounding


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


def quality(
    run: Path, *, device: str, blimp: Path, pairs: int | None, similarity: Sequence[Path],
    beside: Sequence[Path],
) -> dict[str, Any]:  # fmt: skip
    """Score a finished run.

    ``blimp`` has sentence pairs, one JSON object per line, of which the first ``pairs`` of each
    paradigm are used (None for all). ``similarity`` are sets for the run's vectors and those of the
    runs ``beside``.
    """
    from pretrain.inference.mlm_encoder import open_run

    begun = time.perf_counter()
    by_paradigm = score_pairs(open_run(run, device), read_pairs(blimp, pairs))
    seconds = time.perf_counter() - begun
    config = json.loads((run / "config.json").read_text())
    return {
        "run": str(run),
        "options": config,
        "training": last_scores(run),
        "blimp": mean_of(by_paradigm),
        "blimp_paradigms": by_paradigm,
        "blimp_seconds": seconds,
        "similarity": {str(path): _similarity(path, similarity) for path in (run, *beside)},
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


def read_pairs(path: Path, pairs: int | None) -> dict[str, list[tuple[str, str]]]:
    """Return good and bad sentences by paradigm."""
    found: dict[str, list[tuple[str, str]]] = defaultdict(list)
    with lzma.open(path, "rt", encoding="utf-8") if path.suffix == ".xz" else open(path) as file:
        for line in file:
            pair = json.loads(line)
            if pairs is None or len(found[pair["UID"]]) < pairs:
                found[pair["UID"]].append((pair["sentence_good"], pair["sentence_bad"]))
    return dict(found)


def score_pairs(
    scorer: SentenceScorer, paradigms: Mapping[str, Sequence[tuple[str, str]]]
) -> dict[str, float]:
    """Return the share of pairs whose good sentence is likelier; a tie counts one half."""
    every = [sentence for pairs in paradigms.values() for pair in pairs for sentence in pair]
    scores = scorer.score([scorer.words(sentence) for sentence in every]).reshape(-1, 2)
    bounds = np.cumsum([len(pairs) for pairs in paradigms.values()])[:-1]
    parts = np.split(scores[:, 0] - scores[:, 1], bounds)
    return {
        name: float(np.mean(np.where(np.abs(part) <= _TIE, 0.5, part > 0)))
        for name, part in zip(paradigms, parts, strict=True)
    }


def mean_of(shares: Mapping[str, float]) -> float:
    """Return the mean over paradigms."""
    return math.fsum(shares.values()) / len(shares)


def _similarity(run: Path, files: Iterable[Path]) -> dict[str, Any]:
    """Return Spearman on each set and the number of pairs the run covers."""
    vectors = load_vectors(run)
    tasks = read_tasks(CompareConfig(similarity=tuple(map(str, files))))
    return {
        measured.dataset: {
            "score": score, "n_used": len(measured.items), "n": measured.items_total,
        }
        for measured, score in (harness.scores(task, vectors)[0] for task in tasks)
    }  # fmt: skip
