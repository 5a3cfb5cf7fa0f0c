"""Encoders beside each other: the same text, pieces and budget, another mixer or objective.

speed      forward and backward of each mixer's layers beside plain torch modules on the same rows
           (encoder_speed.py).
lengths    one layer of attention, with and without a span, and of linear attention, by the length
           of a row.
quality    each mixer, and attention by each objective, trained for --steps, and again for as many
           steps as --minutes hold by the speed that --dry-run measures: held-out loss; minimal
           pairs, tags, tags of ambiguous words by a probe; slots a second, weights.

A training is a cell of the JSON; cells that are there are not measured again. With --page the
tables of the page are written from the cells.

    python benchmarks/bench_encoders.py --json encoders.json --page docs/encoders.md
    python benchmarks/bench_encoders.py --parts quality --encoders lstm --preset mini --steps 100
"""

import argparse
import json
import re
import tempfile
from collections.abc import Iterator, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any

import encoder_speed
import harness
import mlm_quality
import roles
import torch

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.word_pairs import find_set
from firth.embed.compare.inputs.encoder_access import WithEncoder
from firth.embed.compare.tasks.tagging.task import TaggingTask
from firth.embed.formats.vector_files import load_vectors
from firth.embed.vectors.one_thread import ONE_THREAD
from firth.pretrain.config import MlmConfig
from firth.pretrain.inference.mlm_encoder import open_run
from firth.pretrain.mixers import MIXERS
from firth.pretrain.train import make_mlm_run
from firth.pretrain.training.dry_run import estimate_mlm

OBJECTIVES = ("causal", "mixed", "denoise")
PARTS = ("speed", "lengths", "quality")
ROLE = roles.REPORTING
TEXT = "enwiki2015-AA"
SPEED = ("parameters", "tokens_per_second", "tokens", "steps", "dtype", "compile")  # of --dry-run
SAME = ("preset", "pieces", "seed", "dtype")  # settings of all trainings
OWN = ("mixer", "objective", *SAME)  # settings of one
BUDGETS = ("steps", "minutes")
SETS = {"minimal-pairs": ("blimp-reporting",)}
TAGS = ("ud-ewt-train", "ud-ewt-dev", "ud-ewt-test")
POOLED = 1_000  # words: as few as may be, since their vectors are not scored
TWO_TAGS = "two-tags"  # comes with Firth
FIGURES = "<!-- figures: results/encoders.json#cells/* -->"
COLUMNS = {
    "mixer": "--mixer", "objective": "--objective", "parameters": "weights", "steps": "steps",
    "tokens_per_second": "tokens/s", "loss": "held-out loss", "blimp": "BLiMP",
    "interval": "95 %", "tags": "tags", "ambiguous": "ambiguous",
}  # fmt: skip


def cells(arguments: argparse.Namespace) -> Iterator[dict[str, Any]]:
    """Yield what is to be trained: all encoders by one budget, then by the other."""
    for budget in arguments.budgets:
        for name in arguments.encoders:
            mixer, objective = ("attention", name) if name in OBJECTIVES else (name, "masked")
            yield {
                "mixer": mixer, "objective": objective, "budget": budget,
                "amount": getattr(arguments, budget),
                **{name: getattr(arguments, name) for name in ("text", *SAME, "pairs")},
            }  # fmt: skip


def options_of(cell: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return the settings of a cell's training, but for its steps."""
    options = {name: getattr(arguments, name) for name in ("compile", "threads")}
    return options | {name: cell[name] for name in OWN} | {"max_vocabulary": POOLED}


def speed_name(cell: Mapping[str, Any]) -> str:
    """Return the name of a cell's speed, which both budgets share."""
    return ", ".join(f"{cell[name]}" for name in ("text", *OWN))


def measure_speed(
    corpus: Corpus, cell: Mapping[str, Any], arguments: argparse.Namespace
) -> dict[str, Any]:
    """Return what --dry-run measures for a cell."""
    config = MlmConfig(**options_of(cell, arguments), steps=arguments.steps)
    planned = estimate_mlm(corpus, config).sizes
    return {name: planned[name] for name in SPEED}


def quality(
    corpus: Corpus,
    cell: Mapping[str, Any],
    arguments: argparse.Namespace,
    planned: Mapping[str, Any],
) -> dict[str, Any]:
    """Train an encoder with the budget of a cell, and score it; return the figures of its row."""
    options = options_of(cell, arguments)
    steps = cell["amount"]
    if cell["budget"] == "minutes":
        a_step = planned["tokens"] / planned["steps"] / planned["tokens_per_second"]
        steps = max(1, round(60 * cell["amount"] / a_step))
    with tempfile.TemporaryDirectory() as folder:
        run = make_mlm_run(corpus, MlmConfig(**options, steps=steps), Path(folder) / "run")
        scores = score(run, arguments.pairs)
    return {
        "steps": steps,
        **{name: planned[name] for name in ("parameters", "tokens_per_second", "compile")},
        **scores,
    }


def score(run: Path, pairs: int) -> dict[str, Any]:
    """Score a run, but not its start or baselines, which are the same for all encoders."""
    sets = CompareConfig(sets=roles.set_names(SETS, role=ROLE), limit=pairs, baselines="none")
    found = mlm_quality.quality(run, [], sets)
    training = found["training"]
    [blimp] = [each for each in found["results"] if each["run"] == run.name]
    tags = ",".join(str(roles.open_set(name, role=ROLE)) for name in TAGS)
    return {
        "loss": training["held_out_loss"],
        "loss_error": training["held_out_standard_error"],
        "seconds": training["seconds"],
        "blimp": blimp["score"],
        "interval": [blimp["low"], blimp["high"]],
        "tags": tag_accuracy(run, tags)[0],
        "ambiguous": tag_accuracy(run, TWO_TAGS)[1],
    }


def tag_accuracy(run: Path, parts: str) -> tuple[float, float]:
    """Return the accuracy of a linear probe on the states of the layer best in development.

    The second figure is that on words with several tags.
    """
    task = TaggingTask.read(find_set("tagging", parts), CompareConfig())
    words = task.words
    with ONE_THREAD:
        best, predictions = task.train_sources(
            WithEncoder(load_vectors(run), partial(open_run, run))
        )
    right = predictions[best.source] == words.labels[words.test_words]
    return float(right.mean()), float(right[words.ambiguous[words.test_words]].mean())


def measured(cell: Mapping[str, Any], every: Sequence[Mapping[str, Any]]) -> bool:
    """Return whether a cell is among those that are measured."""
    return any(cell.items() <= each.items() for each in every)


def tables(found: Sequence[Mapping[str, Any]], budget: str) -> list[list[str]]:
    """Return the rows of a budget's table."""
    return [
        [_shown(name, each[name]) for name in COLUMNS] for each in found if each["budget"] == budget
    ]


def _shown(name: str, value: Any) -> str:
    """Format a figure: counts in full, losses and scores with three digits."""
    if isinstance(value, list):
        return " to ".join(_shown(name, each) for each in value)
    if name in ("mixer", "objective"):
        return f"`{value}`"
    return f"{value:,}" if isinstance(value, int) else f"{value:.3f}".removeprefix("0")


def write_page(page: Path, found: Sequence[Mapping[str, Any]]) -> None:
    """Write the tables into a page, each below the comment that names its budget."""
    text = page.read_text(encoding="utf-8")
    for budget in BUDGETS:
        rows = tables(found, budget)
        lines = [list(COLUMNS.values()), ["---"] * len(COLUMNS), *rows]
        table = "".join(f"| {' | '.join(line)} |\n" for line in lines) if rows else ""
        if table:
            table = f"{FIGURES}\n{table}"
        start = f"<!-- table: {budget} -->\n"
        pattern = rf"{re.escape(start)}({re.escape(FIGURES)}\n)?(\|.*\n)*"
        text = re.sub(pattern, lambda _, new=start + table: new, text)
    page.write_text(text, encoding="utf-8")


def main() -> None:
    """Measure what is not measured yet."""
    arguments = harness.parse(__doc__, repeats=5, more=_own_options)
    path = arguments.json
    found = json.loads(path.read_text()) if path and path.exists() else {"speed": {}, "cells": []}
    speeds = found.setdefault("speeds", {})
    if arguments.threads:
        torch.set_num_threads(arguments.threads)

    def save() -> None:
        if path:
            write_json(path, {"benchmark": "encoders", **found, **harness.machine()})

    if "speed" in arguments.parts:
        names = [name for name in arguments.encoders if name in encoder_speed.PLAIN]
        dtype = getattr(torch, arguments.dtype)
        found["speed"] |= encoder_speed.speed(
            names, arguments.preset, rows=32, length=128, repeats=arguments.repeats, dtype=dtype
        )
        save()
        print_table(["", *encoder_speed.PIECES], [
            [name, *(f"{each[f'{text}_times_torch']:.2f}" for text in encoder_speed.PIECES)]
            for name, each in found["speed"].items()
        ], title="time, plain torch is 1")  # fmt: skip
    if "lengths" in arguments.parts:
        dtype = getattr(torch, arguments.dtype)
        found["lengths"] = encoder_speed.lengths(
            arguments.preset, repeats=arguments.repeats, dtype=dtype
        )
        save()
        for objective, by_length in found["lengths"].items():
            print_table(["slots", *encoder_speed.MIXED], [
                [length, *(f"{one['microseconds_per_slot']:.0f}" for one in each.values())]
                for length, each in by_length.items()
            ], title=f"{objective}, microseconds per slot")  # fmt: skip
    if "quality" in arguments.parts:
        corpus = open_or_build(roles.open_text(arguments.text, role=ROLE))
        wanted = [cell for cell in cells(arguments) if not measured(cell, found["cells"])]
        for cell in wanted:  # all in a row, so that the machine is as busy for each
            if speed_name(cell) not in speeds:
                speeds[speed_name(cell)] = measure_speed(corpus, cell, arguments)
        save()
        for cell in wanted:
            row = quality(corpus, cell, arguments, speeds[speed_name(cell)])
            found["cells"].append({**cell, **row})
            save()
        for budget in arguments.budgets:
            print_table(list(COLUMNS.values()), tables(found["cells"], budget), title=budget)
    if arguments.page:
        write_page(arguments.page, found["cells"])


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    encoders = [*MIXERS, *OBJECTIVES]
    parser.add_argument("--encoders", nargs="+", default=encoders, help="mixers and objectives")
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--text", choices=roles.TEXTS, default=TEXT)
    parser.add_argument("--pieces", default="8000")
    parser.add_argument("--budgets", nargs="+", choices=BUDGETS, default=BUDGETS)
    parser.add_argument("--steps", type=int, default=400)
    parser.add_argument("--minutes", type=float, default=10.0)
    parser.add_argument("--pairs", type=int, default=40, help="of each paradigm of BLiMP")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--dtype", choices=("float32", "bfloat16"), default="float32")
    parser.add_argument("--compile", choices=("auto", "on", "off"), default="auto")
    parser.add_argument("--threads", type=int)
    parser.add_argument("--page", type=Path, help="write the tables into this page")


if __name__ == "__main__":
    main()
