"""Epochs of skip-gram and CBOW by size of text and dimension, and rules that choose them.

Trains on nested samples of a tuning text, English Wikipedia AB, and scores on MTurk-287, RG-65 and
MSR. Every training is a line of ``--cells``; those that are there are skipped, so that an
interrupted grid resumes. Then candidate rules (a budget of word visits with a floor and a ceiling)
are compared by their mean regret: how far below the best number of epochs their choice scores.

AB has 16 million words. 50 million would need the reporting parts AA and AC; WikiText-2, the other
English text to tune on, would add an eighth, tokenized differently. So a rule is extrapolated to
larger texts. How well that works is measured inside AB: the rule is also chosen without the largest
size, and its regret there is printed.

    python benchmarks/bench_epochs.py --cells epochs.jsonl
    python benchmarks/bench_epochs.py --cells epochs.jsonl --words 1000000 --dim 100
    python benchmarks/bench_epochs.py --cells epochs.jsonl --rules
"""

import argparse
import itertools
import json
import statistics
import tempfile
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.corpora.common.console import duration, print_table
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.task import Task
from firth.embed.formats.vector_files import load_vectors
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig, default_epochs
from firth.embed.word2vec.train import make_run
from firth.embed.word2vec.trainer import build_trainer

ROLE = roles.TUNING
TEXT = "enwiki2015-AB"
SETS = {"similarity": ("mturk287", "rg65"), "analogy": ("msr",)}
CONFIGS: dict[str, Any] = {"skipgram": SkipGramConfig, "cbow": CbowConfig}
WORDS = (1_000_000, 4_000_000, 16_000_000)  # training words, without rare ones and punctuation
DIMS = (100, 300)
SUBWORDS = (None, "3-6")
EPOCHS = (3, 5, 10, 15, 20, 30, 40)
_WARM_UP_TOKENS = 50_000
_TIE = 0.005  # greatest difference in mean regret that may be a tie


@dataclass(frozen=True, kw_only=True)
class Cell:
    """One training of the grid."""

    method: str
    words: int  # wanted; the training counts its own
    dim: int
    subwords: str | None
    epochs: int
    seed: int

    @property
    def kind(self) -> tuple[str, int, str | None]:
        """What the speed of a training depends on."""
        return self.method, self.dim, self.subwords

    @property
    def visits(self) -> int:
        """Words seen in all epochs, which the time is proportional to."""
        return self.words * self.epochs

    def __str__(self) -> str:
        grams = f" {self.subwords}" if self.subwords else ""
        size = f"{self.words / 1e6:g}M words, {self.dim} dimensions"
        return f"{self.method}{grams}, {size}, {self.epochs} epochs, seed {self.seed}"


# The options that are crossed with the sizes: method, dimensions, n-grams and epochs.
VARIANTS: list[dict[str, Any]] = [
    {"method": method, "dim": dim, "subwords": subwords, "epochs": epochs}
    for method, dim, subwords, epochs in itertools.product(CONFIGS, DIMS, SUBWORDS, EPOCHS)
]


# ---- the grid


def grid(
    words: Iterable[int], seeds: Iterable[int], variants: Iterable[Mapping[str, Any]] = VARIANTS
) -> list[Cell]:
    """Return the cells, the quickest first."""
    cells = [
        Cell(words=size, seed=seed, **variant)
        for size, seed, variant in itertools.product(words, seeds, variants)
    ]
    return sorted(cells, key=lambda cell: (cell.visits, cell.dim, cell.subwords or ""))


def read_cells(path: Path) -> dict[Cell, dict[str, Any]]:
    """Return the finished cells with their measurements; a line cut short is left out."""
    found = {}
    for line in read_metrics(path):
        found[Cell(**line["cell"])] = line
    return found


def measure(
    cells: Sequence[Cell], corpus: Corpus, tasks: Sequence[Task], path: Path, **options: Any
) -> None:
    """Train and score the cells that are not in the file; append each, and print progress."""
    done = read_cells(path)
    samples = nested(corpus, {0, *(cell.words for cell in cells)})
    left = [cell for cell in cells if cell not in done]
    warm: set[tuple[str, int, str | None]] = set()
    _end_last_line(path)
    for number, cell in enumerate(left):
        if cell.kind not in warm:  # compile the kernels, unmeasured
            train(replace(cell, epochs=1), samples[0], [], **options)
            warm.add(cell.kind)
        done[cell] = train(cell, samples[cell.words], tasks, **options)
        with open(path, "a", encoding="utf-8") as file:
            file.write(json.dumps(done[cell]) + "\n")
        rest = seconds_left(left[number + 1 :], done)
        scores = "  ".join(f"{name} {value:.3f}" for name, value in done[cell]["scores"].items())
        took = duration(done[cell]["seconds"])
        print(
            f"{len(cells) - len(left) + number + 1}/{len(cells)}: {cell}: {scores}  {took}; "
            f"about {duration(rest)} left",
            flush=True,
        )


def _end_last_line(path: Path) -> None:
    """Drop a line that an interrupted process cut short, so that none is appended to it."""
    if path.exists():
        whole = path.read_bytes()
        path.write_bytes(whole[: whole.rfind(b"\n") + 1])


def train(cell: Cell, corpus: Corpus, tasks: Sequence[Task], **options: Any) -> dict[str, Any]:
    """Train one cell; return its words, seconds of training and scores."""
    config = CONFIGS[cell.method](
        dim=cell.dim, subwords=cell.subwords, epochs=cell.epochs, seed=cell.seed, **options
    )
    trainer = build_trainer(corpus, config)
    with tempfile.TemporaryDirectory() as scratch:
        run = make_run(trainer, Path(scratch) / "run", force=False)
        last = [line for line in read_metrics(run / METRICS) if "epoch_loss" in line][-1]
        scores = harness.score_by_set(tasks, load_vectors(run))
    return {
        "cell": asdict(cell),
        "n_tokens": trainer.text.n_tokens,
        "seconds": round(last["tokens"] / last["tokens_per_second"], 3),
        # undefined if the text has none of the words
        "scores": {name: score or 0.0 for name, score in scores.items()},
    }


def nested(corpus: Corpus, sizes: Iterable[int]) -> dict[int, Corpus]:
    """Return samples with about so many training words each; those of 0 are a few documents."""
    whole = build_trainer(corpus, SkipGramConfig(epochs=1)).text.n_tokens
    share = corpus.training_tokens / whole
    return {words: corpus.sample(max(round(words * share), _WARM_UP_TOKENS)) for words in sizes}


def seconds_left(cells: Iterable[Cell], done: Mapping[Cell, Mapping[str, Any]]) -> float:
    """Estimate the time of cells by the median speed of their kind, else of all."""
    speeds: dict[Any, list[float]] = {}
    for cell, line in done.items():
        speed = line["seconds"] / (line["n_tokens"] * cell.epochs)
        for key in (cell.kind, None):
            speeds.setdefault(key, []).append(speed)
    return sum(
        cell.visits * statistics.median(speeds.get(cell.kind, speeds[None])) for cell in cells
    )


# ---- rules

EpochRule = Callable[[int, int], float]  # (training words, dimensions) -> epochs


@dataclass(frozen=True)
class Budget:
    """A budget of word visits at 100 dimensions, within bounds of epochs."""

    visits: float
    floor: int
    ceiling: int
    power: float  # the budget grows with dimensions to this power

    def __call__(self, n_tokens: int, dim: int) -> int:
        wanted = self.visits * (dim / 100) ** self.power / n_tokens
        return round(min(max(wanted, self.floor), self.ceiling))

    def __str__(self) -> str:
        return (
            f"{self.visits / 1e6:g}M visits x (dim / 100)^{self.power:g}, "
            f"{self.floor} to {self.ceiling} epochs"
        )


BUDGETS = [
    Budget(visits * 1e6, floor, ceiling, power)
    for visits, floor, ceiling, power in itertools.product(
        (10, 20, 40, 60, 80, 120, 160, 240, 320), (3, 5, 10), (20, 30, 40), (0, 0.5, 1)
    )
]


@dataclass(frozen=True)
class Curve:
    """Scores of one kind of training on one text, by epochs."""

    method: str
    subwords: str | None
    words: int
    dim: int
    n_tokens: int
    epochs: np.ndarray  # float64 (n,), ascending
    scores: np.ndarray  # float64 (n,): mean over sets and seeds

    def regret(self, epochs: float) -> float:
        """Return the loss against the best measured epochs, by interpolation over log epochs.

        The maximum of noisy scores is too high, by the same amount for every rule.
        """
        score = np.interp(np.log(epochs), np.log(self.epochs), self.scores)
        return float(self.scores.max() - score)

    def cost(self, epochs: float) -> float:
        """Return the time relative to the longest training; measured seconds drift more."""
        return float(epochs / self.epochs[-1])


def curves_of(cells: Mapping[Cell, Mapping[str, Any]]) -> list[Curve]:
    """Gather finished cells; a curve needs two numbers of epochs."""
    groups: dict[Any, dict[int, list[Mapping[str, Any]]]] = {}
    for cell, line in cells.items():
        key = (cell.method, cell.words, cell.dim, cell.subwords)
        groups.setdefault(key, {}).setdefault(cell.epochs, []).append(line)
    found = []
    for (method, words, dim, subwords), by_epochs in sorted(groups.items(), key=str):
        lines = [by_epochs[epochs] for epochs in sorted(by_epochs)]
        if len(lines) > 1:
            scores = [np.mean([list(line["scores"].values()) for line in each]) for each in lines]
            found.append(
                Curve(
                    method, subwords, words, dim, lines[0][0]["n_tokens"],
                    np.array(sorted(by_epochs), float), np.array(scores),
                )
            )  # fmt: skip
    return found


@dataclass(frozen=True)
class Judged:
    """A rule on some curves."""

    rule: EpochRule
    regrets: np.ndarray  # float64 (curves,)
    cost: float  # mean share of the time of the longest training

    @property
    def regret(self) -> float:
        """Mean regret."""
        return float(self.regrets.mean())


def judge(rule: EpochRule, curves: Sequence[Curve]) -> Judged:
    """Return the regret and the cost of a rule on curves."""
    epochs = [rule(curve.n_tokens, curve.dim) for curve in curves]
    pairs = list(zip(curves, epochs, strict=True))
    regrets = np.array([curve.regret(each) for curve, each in pairs])
    return Judged(rule, regrets, float(np.mean([curve.cost(each) for curve, each in pairs])))


def choose(rules: Iterable[EpochRule], curves: Sequence[Curve]) -> Judged:
    """Return the cheapest rule that is not clearly worse than the one with the least mean regret.

    Clearly worse: by more than two standard errors of the difference over curves, or by more than
    .005, since the error of a few curves is itself uncertain.
    """
    judged = [judge(rule, curves) for rule in rules]
    best = min(judged, key=lambda each: (each.regret, each.cost))
    tied = [each for each in judged if not _is_worse(each, best)]
    return min(tied, key=lambda each: (each.cost, each.regret))


def _is_worse(one: Judged, best: Judged) -> bool:
    """Return whether a rule is clearly worse than the best."""
    differences = one.regrets - best.regrets
    error = differences.std(ddof=1) / np.sqrt(len(differences)) if len(differences) > 1 else 0.0
    return bool(differences.mean() > min(2 * error, _TIE))


def present(n_tokens: int, dim: int) -> int:
    """Return the epochs of the present rule."""
    return default_epochs(n_tokens)


def rows_of(curves: Sequence[Curve]) -> list[list[str]]:
    """Return a table: the present rule and the chosen one, on all curves and extrapolated."""
    rows = []
    largest = max(curve.words for curve in curves)
    for method in (None, *sorted({curve.method for curve in curves})):
        own = [curve for curve in curves if method in (None, curve.method)]
        smaller = [curve for curve in own if curve.words < largest]
        rows.append(_row(method, "present rule", judge(present, own)))
        rows.append(_row(method, "chosen", choose(BUDGETS, own)))
        if smaller:
            rule = choose(BUDGETS, smaller).rule
            beyond = [curve for curve in own if curve.words == largest]
            rows.append(_row(method, "chosen on smaller, at the largest", judge(rule, beyond)))
    return rows


def _row(method: str | None, name: str, judged: Judged) -> list[str]:
    """Format one row."""
    rule = "" if judged.rule is present else str(judged.rule)
    return [method or "both", name, rule, f"{judged.regret:.4f}", f"{judged.cost:.2f}"]


# ---- the command


def main() -> None:
    """Measure the cells that are missing, then compare rules."""
    arguments = parsed()
    if not arguments.rules:
        wanted = grid(arguments.words, arguments.seeds, chosen_variants(arguments))
        with tempfile.TemporaryDirectory() as folder:
            source = roles.open_text(TEXT, role=ROLE)
            corpus = encode_corpus(make_request([source]), Path(folder) / "corpus")
            tasks = roles.read_sets(SETS, role=ROLE)
            measure(wanted, corpus, tasks, arguments.cells, threads=arguments.threads)
    cells = read_cells(arguments.cells)
    curves = curves_of(cells)
    if not curves:
        raise SystemExit(f"{arguments.cells}: no text with two numbers of epochs to compare")
    columns = ["method", "", "rule", "mean regret", "time / longest"]
    print_table(columns, rows_of(curves), title=f"{len(curves)} curves")
    if arguments.json:
        document = {
            "machine": harness.machine(),
            "curves": [stored(curve) for curve in curves],
            "cells": [stored_cell(cell, line) for cell, line in cells.items()],
        }
        write_json(arguments.json, document)


def stored(curve: Curve) -> dict[str, Any]:
    """Return a curve as it is stored."""
    by_epochs = zip(curve.epochs, curve.scores, strict=True)
    return {
        "method": curve.method, "subwords": curve.subwords, "dim": curve.dim,
        "words": curve.words, "n_tokens": curve.n_tokens,
        "scores": {f"{epochs:g}": round(score, 4) for epochs, score in by_epochs},
    }  # fmt: skip


def stored_cell(cell: Cell, line: Mapping[str, Any]) -> dict[str, Any]:
    """Return a training as it is stored: its options, seed, time and score on each set."""
    scores = {name: round(score, 4) for name, score in line["scores"].items()}
    return {**asdict(cell), "seconds": line["seconds"], "scores": scores}


def chosen_variants(arguments: argparse.Namespace) -> list[dict[str, Any]]:
    """Return the variants that the options leave."""
    grams = arguments.subwords and [None if each == "none" else each for each in arguments.subwords]
    wanted = {
        "method": arguments.method, "dim": arguments.dim, "subwords": grams,
        "epochs": arguments.epochs,
    }  # fmt: skip
    return [
        variant
        for variant in VARIANTS
        if all(values is None or variant[name] in values for name, values in wanted.items())
    ]


def parsed() -> argparse.Namespace:
    """Parse the options."""
    return harness.parse(__doc__, more=_own_options)


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--cells", type=Path, required=True, help="file of finished trainings")
    parser.add_argument("--rules", action="store_true", help="train nothing, only compare rules")
    parser.add_argument("--words", type=int, nargs="+", default=WORDS, help="sizes of the text")
    parser.add_argument("--method", choices=CONFIGS, nargs="+", help="only these methods")
    parser.add_argument("--dim", type=int, choices=DIMS, nargs="+", help="only these dimensions")
    grams = [each or "none" for each in SUBWORDS]
    parser.add_argument("--subwords", choices=grams, nargs="+", help="only these n-grams")
    parser.add_argument("--epochs", type=int, choices=EPOCHS, nargs="+", help="only these")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1], help="one training of each")
    parser.add_argument("--threads", type=int, help="all cores by default")


if __name__ == "__main__":
    main()
