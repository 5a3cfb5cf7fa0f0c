"""CBOW with word2vec.c's update and with the gradient of the mean, each at its best learning rate.

word2vec.c and gensim add the whole update of a window's mean to each of its words; the gradient is
that update divided by their number (Irsoy, Benton and Stratos 2021). Both are trained at several
rates with several seeds on three tuning texts. The rates with the lowest held-out losses are
compared: their losses, and in English their scores on tuning sets, of which German has none. Runs
are kept in the work folder and scores in the JSON, so that an interrupted measurement resumes.

    python benchmarks/bench_cbow_gradient.py --work /tmp/gradient --json cbow-gradient.json
"""

import argparse
import json
import statistics
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import roles
from bench_evidence import ALL, build, score, train
from scipy.stats import norm, ttest_ind

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.corpora.common.console import print_table
from firth.corpora.common.errors import FirthError
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.task import Task
from firth.embed.formats.vector_files import load_vectors

VARIANTS = {"word2vec.c": (0.025, 0.035, 0.05, 0.1, 0.15), "corrected": (0.05, 0.1, 0.2, 0.3, 0.4)}
ROLE = roles.TUNING
SETS = {"similarity": ("mturk287", "rg65"), "analogy": ("msr",)}
# 5 million tokens are 4.3 million words without punctuation: enough for 5 epochs by default
TEXTS: dict[str, dict[str, Any]] = {
    "Wikipedia": {"sources": ("enwiki2015-AB",), "tokens": 5_000_000, "english": True},
    "WikiText-2": {
        "sources": ("wikitext2-train",),
        "documents": "block",
        "text": TextSettings(segmenter="whitespace"),
        "english": True,
    },
    "German novels": {
        "sources": ("eltec-de",),
        "documents": "block",
        "english": False,
        "tokens": 5_000_000,
        "rates": {"word2vec.c": (0.05, 0.1, 0.15), "corrected": (0.1, 0.2, 0.3)},
    },
}
OLD, NEW = VARIANTS


def main() -> None:
    """Train, score and compare; write the results after every cell."""
    arguments = harness.parse(__doc__, more=_own_options)
    figures: dict[str, Any] = {"texts": {}}
    if arguments.json and arguments.json.exists():
        figures = json.loads(arguments.json.read_text(encoding="utf-8"))
    for name in arguments.text or TEXTS:
        about = TEXTS[name]
        folder = arguments.work / f"corpus-{name.replace(' ', '-')}"
        corpus = build(folder, about, ROLE).sample(about.get("tokens", ALL))
        folder = arguments.work / corpus.fingerprint
        found = figures["texts"].setdefault(
            name, {"corpus": corpus.fingerprint, "tokens": corpus.training_tokens, "cells": []}
        )
        tasks = roles.read_sets(SETS, role=ROLE) if about["english"] else []
        rates = about.get("rates", VARIANTS)
        for gradient, rate, seed in missing(found["cells"], rates, arguments.seeds):
            cell = {"gradient": gradient, "rate": rate, "seed": seed}
            try:
                run = cell_run(corpus, folder, gradient, rate, seed)
                found["cells"].append({**cell, **measure(run, tasks)})
            except FirthError:
                found["cells"].append({**cell, "diverged": True})
            print(name, found["cells"][-1], flush=True)
            _write(arguments.json, figures)
        found |= compare_best(found["cells"], corpus, folder, english=about["english"])
        _write(arguments.json, figures)
        show(name, found)


def set_files() -> dict[str, list[Path]]:
    """Return the files of the sets by kind."""
    kinds = {"similarity": SETS["similarity"], "grammar": SETS["analogy"]}
    return {kind: [roles.open_set(n, role=ROLE) for n in names] for kind, names in kinds.items()}


def missing(
    cells: Sequence[Mapping[str, Any]],
    rates: Mapping[str, Sequence[float]],
    seeds: Sequence[int],
) -> Iterator[tuple[str, float, int]]:
    """Yield the cells that are not measured: gradient, learning rate and seed."""
    done = {(cell["gradient"], cell["rate"], cell["seed"]) for cell in cells}
    for seed in seeds:
        for gradient, some in rates.items():
            for rate in some:
                if (gradient, rate, seed) not in done:
                    yield gradient, rate, seed


def cell_run(corpus: Corpus, folder: Path, gradient: str, rate: float, seed: int) -> Path:
    """Train the run of a cell unless it exists."""
    combine = "corrected" if gradient == "corrected" else "mean"
    options = {"combine": combine, "learning_rate": rate, "seed": seed}
    return train(corpus, "cbow", options, folder / f"{gradient}-{rate}-{seed}")


def measure(run: Path, tasks: Sequence[Task]) -> dict[str, Any]:
    """Return the held-out loss of a run, and its score on each set."""
    last = read_metrics(run / METRICS)[-1]
    scores = harness.score_by_set(tasks, load_vectors(run))
    return {
        "held_out_loss": round(last["held_out_loss"], 4),
        "scores": {name: round(score or 0.0, 4) for name, score in scores.items()},
    }


def best_rate(cells: Sequence[Mapping[str, Any]], gradient: str) -> float:
    """Return the rate with the lowest mean held-out loss."""
    diverged = {(c["gradient"], c["rate"]) for c in cells if "diverged" in c}
    own = dict.fromkeys(c["rate"] for c in cells if c["gradient"] == gradient)
    return min(
        (rate for rate in own if (gradient, rate) not in diverged),
        key=lambda rate: statistics.mean(
            c["held_out_loss"] for c in cells if (c["gradient"], c["rate"]) == (gradient, rate)
        ),
    )


def compare_best(
    cells: Sequence[Mapping[str, Any]], corpus: Corpus, folder: Path, *, english: bool
) -> dict[str, Any]:
    """Compare the best rates: losses over seeds by Welch's test, and scores on each set."""
    best = {gradient: best_rate(cells, gradient) for gradient in VARIANTS}
    chosen = {g: [c for c in cells if (c["gradient"], c["rate"]) == (g, best[g])] for g in VARIANTS}
    new, old = ([c["held_out_loss"] for c in chosen[g]] for g in (NEW, OLD))
    test = ttest_ind(new, old, equal_var=False)
    loss = {"difference": statistics.mean(new) - statistics.mean(old), "p": test.pvalue}
    runs = {
        g: [cell_run(corpus, folder, g, best[g], c["seed"]) for c in chosen[g]] for g in (NEW, OLD)
    }
    return {
        "best": best,
        "at_best": {g: {"rate": best[g], **means_of(chosen[g])} for g in VARIANTS},
        "loss": loss,
        "sets": differences(runs) if english else {},
    }


def means_of(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float]]:
    """Return the mean and standard deviation over seeds of the loss and of each score."""
    figures = [{"held_out_loss": cell["held_out_loss"], **cell["scores"]} for cell in cells]
    return {
        name: {
            "mean": statistics.mean(each[name] for each in figures),
            "deviation": statistics.stdev(each[name] for each in figures)
            if len(figures) > 1
            else 0.0,
        }
        for name in figures[0]
    }


def differences(runs: Mapping[str, Sequence[Path]]) -> dict[str, dict[str, float]]:
    """Return by set how much the first runs score above the second, on the items of both.

    The standard error covers items, drawn alike for both, and seeds; p is that of a normal.
    """
    found = {}
    for kind, files in set_files().items():
        for file in files:
            scored = score(runs, {kind: [file]})
            [each] = scored["differences"]
            found[file.stem] = {
                "difference": each["difference"],
                "error": each["error"],
                "p": float(2 * norm.sf(abs(each["difference"]) / each["error"])),
                "items": scored["results"][0]["items_used"],
            }
    return found


def show(name: str, found: Mapping[str, Any]) -> None:
    """Print the means over seeds, and the differences at the best rates."""
    cells = [cell for cell in found["cells"] if "diverged" not in cell]
    sets = list(cells[0]["scores"])
    rows = []
    for gradient, rate in dict.fromkeys((c["gradient"], c["rate"]) for c in cells):
        own = [c for c in cells if (c["gradient"], c["rate"]) == (gradient, rate)]
        mark = " *" if found["best"][gradient] == rate else ""
        values = [[c["scores"][s] for c in own] for s in sets] + [[c["held_out_loss"] for c in own]]
        rows.append([gradient, f"{rate:g}{mark}", *map(_spread, values)])
    print_table(["", "rate", *sets, "held-out loss"], rows, title=f"{name}, corrected - word2vec.c")
    print(f"loss {found['loss']['difference']:+.4f} (p = {found['loss']['p']:.2g})")
    for each, about in found["sets"].items():
        print(
            f"{each} {about['difference']:+.4f} ± {1.96 * about['error']:.4f} "
            f"(p = {about['p']:.2g}, {about['items']} items)",
            flush=True,
        )


def _spread(values: Sequence[float]) -> str:
    """Format mean and standard deviation."""
    deviation = statistics.stdev(values) if len(values) > 1 else 0.0
    return f"{statistics.mean(values):.3f} ±{deviation:.3f}"


def _write(path: Path | None, figures: Mapping[str, Any]) -> None:
    """Write the results so far."""
    if path:
        write_json(path, {**figures, "machine": harness.machine()})


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--work", type=Path, required=True, help="folder of corpora and runs")
    parser.add_argument("--text", action="append", choices=TEXTS, help="only these texts")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3])


if __name__ == "__main__":
    main()
