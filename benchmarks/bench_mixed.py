"""Masked, causal and mixed language models after the same computing time: losses and BLiMP.

First the processor time of a step of each objective is measured, in turns; each is then trained for
as many steps as take ``--seconds`` by it. Every tenth pair of the paradigms for tuning is
scored both ways where a run can be read so. Results that are in the JSON are not measured again.

    python benchmarks/bench_mixed.py --json benchmarks/results/mlm-mixed.json
"""

import argparse
import json
import tempfile
import time
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles
import torch

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.tasks.minimal_pairs import preferences
from firth.embed.protocols import SentenceScorer
from firth.pretrain.config import MlmConfig
from firth.pretrain.data.text import learn_text_pieces, open_text
from firth.pretrain.inference.mlm_encoder import open_causal, open_masked
from firth.pretrain.model.encoder import MaskedLanguageModel
from firth.pretrain.objectives import parse_objective
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training.distributed import ProcessGroup
from firth.pretrain.training.optimizer import make_optimizer
from firth.pretrain.training.prepare import build_training_data
from firth.pretrain.training.step import Stepper, StepSettings

ROLE = roles.TUNING
TEXT = "enwiki2015-AB"
NAMES = ("masked", "causal", "mixed:causal_share=0.5", "mixed:causal_share=0.75")
FIXED: dict[str, Any] = {"dtype": "float32", "compile": "off", "threads": 1, "device": "cpu"}
ROWS, TIMED, EACH = 32, 10, 10


def step_seconds(corpus: Corpus, settings: Mapping[str, Any]) -> dict[str, float]:
    """Return the median processor time of a step of each objective, at the mean mask rate."""
    pieces, takes, seconds = None, {}, {name: list[float]() for name in NAMES}
    for name in NAMES:
        config = MlmConfig(objective=name, steps=TIMED, **settings).resolved()
        text = open_text(corpus, config)
        pieces = pieces or learn_text_pieces(text, config)
        data = build_training_data(text, pieces, config, ROWS, torch.device("cpu"))
        model = MaskedLanguageModel(data.shape)
        optimizer = make_optimizer(model, muon_share=config.muon_share, dtype=torch.float32)
        stepper = Stepper(
            model, optimizer, StepSettings(torch.float32, False, False, ROWS), seed=1,
            group=ProcessGroup(), max_segments=data.max_segments,
        )  # fmt: skip
        takes[name] = partial(_step, stepper, data, config.mean_mask_rate)
    for number in range(TIMED):
        for name in NAMES:
            start = time.process_time()
            takes[name](number)
            seconds[name].append(time.process_time() - start)
    return {name: float(np.median(some[1:])) for name, some in seconds.items()}


def _step(stepper: Stepper, data: Any, rate: float, number: int) -> None:
    stepper.step(number, data.batches.batch(number, rate), 1e-3)


def accuracy(encoder: SentenceScorer, pairs: list[dict[str, str]]) -> float:
    """Return the mean over paradigms of the share of pairs whose good sentence scores higher."""
    texts = [pair[name] for pair in pairs for name in ("sentence_good", "sentence_bad")]
    right = preferences(*encoder.score([encoder.words(text) for text in texts]).reshape(-1, 2).T)
    paradigms = np.array([pair["UID"] for pair in pairs])
    return float(np.mean([right[paradigms == name].mean() for name in np.unique(paradigms)]))


def measure(corpus: Corpus, config: MlmConfig, pairs: list[dict[str, str]]) -> dict[str, Any]:
    """Train and score a model in the ways that its objective learns."""
    kind, _ = parse_objective(config.objective)
    with tempfile.TemporaryDirectory() as folder:
        run = make_mlm_run(corpus, config, Path(folder) / "run", temporary=True)
        last = [line for line in read_metrics(run / METRICS) if "held_out_loss" in line][-1]
        prefix, found = "" if kind.causal else "causal_", dict[str, Any]()
        if not kind.causal:
            found["masked_loss"] = round(last["held_out_loss"], 3)
            found["blimp_masked"] = round(accuracy(open_masked(run), pairs), 4)
        if kind.causal or kind.mixed:
            found["causal_loss"] = round(last[f"{prefix}held_out_loss"], 3)
            found["bits_per_character"] = round(last["held_out_bits_per_character"], 3)
            found["blimp_causal"] = round(accuracy(open_causal(run), pairs), 4)
    return found


def main() -> None:
    """Time the steps, then train every objective that is not measured yet."""
    arguments = harness.parse(__doc__, more=_own_options)
    path, options = arguments.json, {"preset": arguments.preset, "pieces": arguments.pieces}
    found = json.loads(path.read_text()) if path and path.exists() else {"runs": {}}
    corpus = open_or_build(arguments.text or roles.open_text(TEXT, role=ROLE))
    lines = roles.open_set("blimp-tuning", role=ROLE).read_text().splitlines()
    pairs = [json.loads(line) for line in lines[::EACH]]
    if "step_seconds" not in found:
        found["step_seconds"] = step_seconds(corpus, options | FIXED)
        print(found["step_seconds"], flush=True)
        _save(path, found)
    for seed in arguments.seeds:
        for name in arguments.objectives:
            key = f"{name} seed {seed}"
            steps = round(arguments.seconds / found["step_seconds"][name])
            if key not in found["runs"]:
                config = MlmConfig(objective=name, steps=steps, seed=seed, **options, **FIXED)
                run = {"objective": name, "seed": seed, "steps": steps}
                found["runs"][key] = run | measure(corpus, config, pairs)
                _save(path, found)
            print(key, found["runs"][key], flush=True)


def _save(path: Path | None, found: Mapping[str, Any]) -> None:
    """Write what was measured so far."""
    if path:
        write_json(path, {"benchmark": "mixed", "text": TEXT, **found, **harness.machine()})


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--seconds", type=float, default=480.0, help="of a step's processor time")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1])
    parser.add_argument("--objectives", nargs="+", choices=NAMES, default=list(NAMES))
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--pieces", default="4000")
    parser.add_argument("--text", type=Path, help="a part of the text")


if __name__ == "__main__":
    main()
