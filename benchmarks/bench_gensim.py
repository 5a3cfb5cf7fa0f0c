"""gensim by itself beside Firth: both with their own and with each other's settings.

gensim reads a file with a paragraph per line (``corpus_file``), Firth its corpus of the same words.
Scores are compared over five seeds with one worker each: a worker of ``corpus_file`` divides the
lines it has read by those of the whole file, so with T workers the learning rate falls in each
epoch by a T-th of what it should. With all cores there is one run of each, for the speed and to
see what that costs. Cells already in the JSON are not repeated.

    python benchmarks/bench_gensim.py --json benchmarks/results/gensim.json
    python benchmarks/bench_gensim.py --role tuning --corpus enwiki2015-AB --tokens 1M
"""

import argparse
import dataclasses
import inspect
import itertools
import json
import os
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import roles
from bench_word2vec import write_view
from bench_word2vec_quality import METHODS, SETS, differences, summary

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.sampling import parse_sizes
from firth.embed.compare.task import Task
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import default_epochs, default_subsample

ROLE = roles.REPORTING
GENSIM, TUNED_GENSIM = "gensim, its defaults", "gensim, Firth's settings"
PLAIN_FIRTH, FIRTH = "Firth, gensim's settings", "Firth, its defaults"
SYSTEMS = (GENSIM, PLAIN_FIRTH, TUNED_GENSIM, FIRTH)
PAIRS = ((PLAIN_FIRTH, GENSIM), (FIRTH, TUNED_GENSIM))  # with the same settings
# our name of each setting, by gensim's
NAMES = {
    "vector_size": "dim", "window": "window", "negative": "negatives", "sample": "subsample",
    "ns_exponent": "unigram_exponent", "alpha": "learning_rate",
    "epochs": "epochs", "min_count": "min_count",
}  # fmt: skip


def gensim_settings() -> dict[str, Any]:
    """Return gensim's defaults under our names."""
    from gensim.models import Word2Vec

    parameters = inspect.signature(Word2Vec).parameters
    return {ours: parameters[theirs].default for theirs, ours in NAMES.items()}


def firth_settings(method: str, n_tokens: int) -> dict[str, Any]:
    """Return Firth's defaults for a text of some words, under gensim's names."""
    config = METHODS[method][0]()
    subsample = default_subsample(of_tokens=False)
    chosen = {"epochs": default_epochs(n_tokens), "min_count": 5, "subsample": subsample}
    options = {**dataclasses.asdict(config), **chosen}
    return {theirs: options[ours] for theirs, ours in NAMES.items()}


@dataclasses.dataclass(frozen=True)
class Bench:
    """The text in both forms."""

    corpus: Corpus
    lines: Path
    n_tokens: int  # words of the lines

    def train(self, system: str, method: str, workers: int, seed: int) -> WordVectors:
        """Train vectors."""
        if system in (GENSIM, TUNED_GENSIM):
            changed = {} if system == GENSIM else firth_settings(method, self.n_tokens)
            return self._gensim(method, workers=workers, seed=seed, **changed)
        changed = {} if system == FIRTH else gensim_settings()
        config_class, train = METHODS[method]
        vectors: WordVectors = train(
            self.corpus, config_class(threads=workers, seed=seed, **changed)
        )
        return vectors

    def _gensim(self, method: str, **options: Any) -> WordVectors:
        """Train vectors with gensim."""
        from gensim.models import Word2Vec

        model = Word2Vec(corpus_file=str(self.lines), sg=int(method == "skipgram"), **options)
        words = model.wv.index_to_key
        return WordVectors(words, model.wv.vectors, text=self.corpus.text)


def open_bench(source: str, tokens: str | None, role: roles.Role, folder: Path) -> Bench:
    """Open the text, or a sample of it, and write it for gensim."""
    named = roles.open_text(source, role=role) if source in roles.TEXTS else source
    corpus = open_or_build(named)
    if tokens:
        corpus = corpus.sample(parse_sizes(tokens)[0])
    view = corpus.view(min_count=5, punctuation="drop", boundary="paragraph")
    write_view(view, folder / "lines.txt")
    return Bench(corpus, folder / "lines.txt", view.n_tokens)


def missing(
    cells: Sequence[Mapping[str, Any]], methods: Sequence[str], seeds: Sequence[int], cores: int
) -> Iterator[tuple[str, str, int, int]]:
    """Yield the cells that are not measured: method, system, workers and seed."""
    done = {(c["method"], c["system"], c["workers"], c["seed"]) for c in cells}
    wanted = [(seed, 1) for seed in seeds] + [(seed, cores) for seed in seeds[:1] if cores > 1]
    for seed, workers in wanted:
        for method in methods:
            for system in SYSTEMS:
                if (method, system, workers, seed) not in done:
                    yield method, system, workers, seed


def measure(
    bench: Bench, tasks: Sequence[Task], method: str, system: str, workers: int, seed: int
) -> dict[str, Any]:
    """Train and score one cell."""
    begun, begun_cpu = time.perf_counter(), time.process_time()
    vectors = bench.train(system, method, workers, seed)
    seconds, cpu_seconds = time.perf_counter() - begun, time.process_time() - begun_cpu
    results = [harness.scores(task, vectors)[0] for task in tasks]
    return {
        "method": method, "system": system, "workers": workers, "seed": seed,
        "seconds": round(seconds, 1), "cpu_seconds": round(cpu_seconds, 1),
        "words": len(vectors.vocabulary),
        "scores": {measured.dataset: found for measured, found in results},
        "items": {measured.dataset: len(measured.items) for measured, _ in results},
    }  # fmt: skip


def start(path: Path | None, about: Mapping[str, Any]) -> dict[str, Any]:
    """Return the figures so far; exit if those in the file are of another text or other sets."""
    if path is None or not path.exists():
        return {**about, "cells": []}
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    differ = [name for name, value in about.items() if found.get(name) != value]
    if differ:
        raise SystemExit(f"{path}: measured with another {', '.join(differ)}; choose another file")
    return found


def compared(cells: Sequence[Mapping[str, Any]]) -> list[dict[str, Any]]:
    """Return Firth's differences from gensim with the same settings, by method; one worker."""
    found = []
    for method in METHODS:
        for pair in PAIRS:
            ours, theirs = (cells_of(cells, method, system) for system in pair)
            if ours and theirs:
                names = {"method": method, "firth": pair[0], "gensim": pair[1]}
                found.append({**names, "differences": differences(ours, theirs)})
    return found


def cells_of(
    cells: Sequence[Mapping[str, Any]], method: str, system: str, *, many: bool = False
) -> list[Mapping[str, Any]]:
    """Return the cells of a system with one worker, or with many."""
    wanted = (method, system, many)
    return [c for c in cells if (c["method"], c["system"], c["workers"] > 1) == wanted]


def means(cells: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return the means over seeds by method, system and workers: one, and many for the speed."""
    found = {}
    for method, system, many in itertools.product(METHODS, SYSTEMS, (False, True)):
        own = cells_of(cells, method, system, many=many)
        if own:
            name = f"{method}, {system}" + (f", {own[0]['workers']} workers" if many else "")
            times = {
                key: round(statistics.median(c[key] for c in own), 1)
                for key in ("seconds", "cpu_seconds")
            }
            found[name] = {"seeds": len(own), **times, "scores": summary(own)}
    return found


def show(figures: Mapping[str, Any]) -> None:
    """Print the means over seeds, and the differences."""
    sets = list(figures["cells"][0]["scores"])
    rows = []
    for name, row in figures["means"].items():
        scores = (row["scores"][each] for each in sets)
        cells = [f"{found['mean']} ±{found['deviation'] or '-'}" for found in scores]
        rows.append([name, row["seeds"], row["seconds"], row["cpu_seconds"], *cells])
    print_table(["", "seeds", "seconds", "CPU", *sets], rows)
    for each in figures["compared"]:
        print(each["method"], each["firth"], "-", each["gensim"], each["differences"])


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, more=_own_options)
    tasks = roles.read_sets(SETS[arguments.role], role=arguments.role)
    with tempfile.TemporaryDirectory() as folder:
        bench = open_bench(arguments.corpus, arguments.tokens, arguments.role, Path(folder))
        about = {"corpus": bench.corpus.fingerprint, "tokens": bench.n_tokens,
                 "role": str(arguments.role)}  # fmt: skip
        figures = start(arguments.json, about)
        methods = arguments.method or list(METHODS)
        for cell in missing(figures["cells"], methods, arguments.seeds, arguments.cores):
            figures["cells"].append(measure(bench, tasks, *cell))
            print(figures["cells"][-1], flush=True)
            figures["machine"] = harness.machine()
            finish(figures, arguments.json)
    finish(figures, arguments.json)
    show(figures)


def finish(figures: dict[str, Any], path: Path | None) -> None:
    """Add what follows from the cells, and write all figures."""
    cells = figures["cells"]
    figures |= {"means": means(cells), "compared": compared(cells)}
    if path:
        write_json(path, figures)


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument(
        "--corpus",
        default="enwiki2015-AA",
        help=f"{', '.join(roles.TEXTS)}, a corpus, or text as build-corpus takes it",
    )
    parser.add_argument("--tokens", metavar="N", help="size of a sample, such as 1M")
    roles.add_role_option(parser, ROLE)
    parser.add_argument("--method", choices=METHODS, action="append", help="only these methods")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3, 4, 5])
    parser.add_argument("--cores", type=int, default=os.cpu_count() or 1, help="workers for speed")


if __name__ == "__main__":
    main()
