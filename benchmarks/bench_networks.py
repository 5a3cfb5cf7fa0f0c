"""The next-word network and the auto-encoders beside SVD and skip-gram, on the same corpus.

All have 100 dimensions, otherwise their defaults, and one seed; the reporting text is cut to
``--megabytes``. Runs are kept in a folder, so that a repeated call only scores.

    python benchmarks/bench_networks.py --runs out/networks --json benchmarks/results/networks.json
    python benchmarks/bench_networks.py --runs out/whole --json networks-whole.json \\
        --megabytes 1000 --threads 2 --methods linear nplm
"""

import argparse
import lzma
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

import firth
from firth.corpora.artifacts.artifact import write_json
from firth.corpora.artifacts.metrics import METRICS, read_metrics
from firth.corpora.common.console import print_table
from firth.embed.nplm.config import with_samples
from firth.embed.nplm.network import NextWordNetwork
from firth.embed.nplm.windows import Noise

ROLE = roles.REPORTING
TEXT = "enwiki2015-AA"
SETS = {
    "similarity": ("ws353", "simlex999"), "analogy": ("questions-words",),
    "categorization": ("bless",),
}  # fmt: skip
DIM = 100


def trainings(threads: int) -> dict[str, Callable[[Any, Path], Any]]:
    """Return the training of each run."""
    shared: dict[str, Any] = {"dim": DIM, "threads": threads}

    def autoencoder(kind: str) -> Callable[[Any, Path], Any]:
        config = firth.AutoencoderConfig(kind=kind, device="cpu", **shared)
        return lambda corpus, out: firth.train_autoencoder(corpus, config, out)

    svd = {power: firth.SvdConfig(singular_power=power, **shared) for power in (0.5, 1.0)}
    skipgram = firth.SkipGramConfig(**shared)
    nplm = firth.NplmConfig(device="cpu", **shared)
    return {
        "svd": lambda corpus, out: firth.train_svd(corpus, svd[0.5], out),
        "svd-power1": lambda corpus, out: firth.train_svd(corpus, svd[1.0], out),
        "skipgram": lambda corpus, out: firth.train_skipgram(corpus, skipgram, out),
        "linear": autoencoder("linear"),
        "nplm": lambda corpus, out: firth.train_nplm(corpus, nplm, out),
        "hidden": autoencoder("hidden"),
        "variational": autoencoder("variational"),
        "denoising": autoencoder("denoising"),
    }


def build_corpus(folder: Path, megabytes: int) -> Any:
    """Return the corpus of the start of the text, built if it is missing."""
    stored = folder / "corpus"
    if not stored.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with lzma.open(roles.open_text(TEXT, role=ROLE)) as file:
            start = file.read(megabytes * 1_000_000)
        text = folder / f"{TEXT}.txt"
        text.write_bytes(start[: start.rindex(b"</doc>") + 7])
        firth.build_corpus(text, stored)
    return firth.Corpus.open(stored)


def figures_of(run: Path) -> dict[str, Any]:
    """Return what a training says of itself: time, losses, what is not reconstructed."""
    found: dict[str, Any] = {"seconds": round(harness.run_seconds(run), 1)}
    lines = read_metrics(run / METRICS)
    last = lines[-1]
    if "unexplained" in last:
        found["unexplained"] = round(last["unexplained"], 4)
    if "divergence" in last:
        found["divergence"] = round(last["divergence"], 2)
    if "share" in last:  # of the squares that the SVD captures
        found["unexplained"] = round(1 - last["share"], 4)
    if run.name == "nplm":
        found["held_out_loss"] = round(last["held_out_loss"], 4)
        found["perplexity"] = round(math.exp(last["held_out_loss"]), 1)
        found["tokens_per_second"] = last["tokens_per_second"]
    return found


def scores_of(folder: Path, names: Mapping[str, Any]) -> dict[str, dict[str, Any]]:
    """Return the first metric of each set for all runs, with the interval, on shared items."""
    config = firth.CompareConfig(baselines="none", sets=roles.set_names(SETS, role=ROLE))
    document = firth.compare([folder / name for name in names], config).document
    found: dict[str, dict[str, Any]] = {name: {} for name in names}
    metrics: dict[str, str] = {}
    for row in document["results"]:
        first = metrics.setdefault(row["dataset"], row["metric"]) == row["metric"]
        if first and row["shared_items"] and row.get("section") is None:
            found[Path(row["run"]).name][row["dataset"]] = round(row["score"], 4)
            found[Path(row["run"]).name][f"{row['dataset']} interval"] = [
                round(row[e], 4) for e in ("low", "high")
            ]
    return found


def step_speed(repeats: int = 200) -> dict[str, float]:
    """Return the best rate of a step of the next-word network, one thread, beside that of BLAS.

    The words are drawn by a Zipf law from 50,000. A step has, for each of B words, 6 operations
    for each weight of the hidden layer and of the outputs drawn: forward, and both gradients.
    """
    import torch

    torch.set_num_threads(1)
    config, n_words = firth.NplmConfig(), 50_000
    counts = (1e7 / np.arange(1, n_words + 1)).astype(np.int64)
    network = NextWordNetwork(n_words, config.dim, config.window, config.hidden, config.seed, "cpu")
    network.start_from_counts(counts)
    noise = Noise(counts, with_samples(config, n_words).samples, config.seed)
    rng, shares = np.random.default_rng(1), counts / counts.sum()
    side = torch.ones(1024, 1024)
    steps, products, drawn = [], [], 0
    for step in range(repeats):
        words = rng.choice(n_words, (config.batch, config.window + 1), p=shares)
        began = time.perf_counter()
        chosen = noise.draw(step)
        network.learn(words[:, 1:], words[:, 0], config.learning_rate, chosen)
        steps.append(time.perf_counter() - began)
        drawn += len(chosen[0])
        began = time.perf_counter()
        side @ side
        products.append(time.perf_counter() - began)
    weights = config.hidden * (config.window * config.dim + drawn / repeats)
    flops = 6 * config.batch * weights / min(steps)
    peak = 2 * 1024**3 / min(products)
    return {
        "tokens_per_second": round(config.batch / min(steps)),
        "distinct_draws": round(drawn / repeats, 1),
        "flops_per_token": round(6 * weights),
        "flops": flops, "blas_flops": peak, "share": round(flops / peak, 3),
    }  # fmt: skip


def options(parser: argparse.ArgumentParser) -> None:
    """Add the folder of the runs and which to train, the size of the text and the threads."""
    names = list(trainings(1))
    parser.add_argument("--runs", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--methods", nargs="+", choices=names, default=names, help="to train")
    parser.add_argument("--megabytes", type=int, default=12, help="of the text, from its start")
    parser.add_argument("--threads", type=int, default=1, help="of each training")


def main() -> None:
    """Train, score and print."""
    arguments = harness.parse(__doc__, more=options)
    corpus = build_corpus(arguments.runs, arguments.megabytes)
    every = trainings(arguments.threads)
    made = {name: every[name] for name in arguments.methods}
    for name, train in made.items():
        out = arguments.runs / name
        if not out.exists():
            print(f"... {name}", flush=True)
            train(corpus, out)
    scores = scores_of(arguments.runs, made)
    rows = {name: {**figures_of(arguments.runs / name), **scores[name]} for name in made}
    sets = [name for each in SETS.values() for name in each]
    print_table(["", *sets], [[name, *(row[each] for each in sets)] for name, row in rows.items()])
    if arguments.json:
        about = {"text": TEXT, "tokens": corpus.training_tokens, "dim": DIM, "step": step_speed()}
        write_json(arguments.json, {**about, "runs": rows, **harness.machine()})


if __name__ == "__main__":
    main()
