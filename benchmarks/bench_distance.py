"""How far encoders see: a word that depends on another, some words before it.

In each sentence of a made-up text the last word follows from the first, with --distances words
drawn at random between them. Each mixer is trained on it with the same number of steps, and has to
name the last word of sentences that it has not seen.

    python benchmarks/bench_distance.py --json benchmarks/results/distance.json
    python benchmarks/bench_distance.py --mixers lstm conv --distances 4 --steps 100
"""

import argparse
import tempfile
from pathlib import Path
from typing import Any

import harness
import numpy as np

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import build_corpus
from firth.corpora.reading.text_blocks import ReadOptions
from firth.pretrain.config import MlmConfig
from firth.pretrain.inference.mlm_encoder import open_masked
from firth.pretrain.mixers import MIXERS
from firth.pretrain.train import make_mlm_run

PAIRS, FILLERS = 16, 64
SENTENCES, ASKED = 8_000, 320
MASK = "[MASK]"


def sentences(n: int, distance: int, seed: int) -> list[list[str]]:
    """Return sentences of a first word, ``distance`` others, and the last word."""
    rng = np.random.default_rng((seed, distance))
    firsts = rng.integers(PAIRS, size=n)
    between = rng.integers(FILLERS, size=(n, distance))
    return [
        [f"first{_letters(first)}", *(f"word{_letters(w)}" for w in row), f"last{_letters(first)}"]
        for first, row in zip(firsts.tolist(), between.tolist(), strict=True)
    ]


def _letters(number: int) -> str:
    """Write a number with letters, since words are divided at digits."""
    return chr(ord("a") + number // 8) + chr(ord("a") + number % 8)


def accuracy(run: Path, asked: list[list[str]]) -> float:
    """Return how often the last word is the most likely one."""
    encoder = open_masked(run, "cpu")
    right = 0
    for *before, last in asked:
        [[best]] = encoder.fill_mask(" ".join([*before, MASK]), k=1)
        right += best.piece == last
    return right / len(asked)


def measure(mixer: str, distance: int, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on a made-up text and ask for the last words of other sentences."""
    with tempfile.TemporaryDirectory() as folder:
        text = Path(folder, "text.txt")
        made = sentences(SENTENCES, distance, arguments.seed)
        text.write_text("".join(" ".join(each) + "\n" for each in made), encoding="utf-8")
        corpus = build_corpus(text, Path(folder, "corpus"), read=ReadOptions(documents="line"))
        config = MlmConfig(
            preset="tiny", mixer=mixer, boundary="sentence", steps=arguments.steps,
            batch=arguments.batch, seed=arguments.seed, dtype="float32", compile="off",
            min_count=1, threads=arguments.threads,
        )  # fmt: skip
        run = make_mlm_run(corpus, config, Path(folder, "run"), temporary=True)
        found = accuracy(run, sentences(ASKED, distance, arguments.seed + 1))
    return {
        "mixer": mixer, "distance": distance, "steps": arguments.steps, "seed": arguments.seed,
        "accuracy": found,
    }  # fmt: skip


def main() -> None:
    """Measure every mixer at every distance."""
    arguments = harness.parse(__doc__, more=_own_options)
    cells = []
    for distance in arguments.distances:
        for mixer in arguments.mixers:
            cells.append(measure(mixer, distance, arguments))
            print(cells[-1], flush=True)
            if arguments.json:
                found = {"benchmark": "distance", "batch": arguments.batch, "cells": cells}
                write_json(arguments.json, found | harness.machine())
    print_table(["mixer", *map(str, arguments.distances)], [
        [mixer, *(f"{each['accuracy']:.2f}" for each in cells if each["mixer"] == mixer)]
        for mixer in arguments.mixers
    ])  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--mixers", nargs="+", choices=MIXERS, default=list(MIXERS))
    parser.add_argument("--distances", type=int, nargs="+", default=[3, 10, 30, 100])
    parser.add_argument("--steps", type=int, default=600)
    parser.add_argument("--batch", type=int, default=8, help="rows of a step")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--threads", type=int)


if __name__ == "__main__":
    main()
