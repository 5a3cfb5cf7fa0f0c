"""A cost model of every step, from the sizes that bench_scale.py measured, and its errors there.

With n words of text, each cost is a sum of a few terms, fitted to the measured sizes by least
squares of relative errors, none below 0. T, the types, and W, the words of five occurrences and
more, grow by Heaps' law. The non-zeros of the matrix are counted in nested samples of a corpus with
``--corpus``, and kept in the file otherwise.
"""

import argparse
import tempfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import harness
import numpy as np

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.console import print_table
from firth.corpora.common.estimate import extrapolated
from firth.corpora.store.corpus import Corpus
from firth.embed.svd.train import SvdConfig, checked_view, count_words

RESULTS = Path(__file__).parent / "results"
CORES, MANY_CORES = 2, 64  # of the machine measured, and of a large one
SVD_DIM, SVD_WORDS, SKIPGRAM_DIM = 300, 200_000, 100
LINE = 10  # bytes of a word and its count in vocabulary.tsv
MOST_ENTRIES = 2**31 - 1  # of a matrix
RECKONED = {"10,000M": 1e10, "1,000,000M": 1e12}


def power(sizes: np.ndarray, values: np.ndarray) -> tuple[float, float]:
    """Return factor and exponent of the power law through points."""
    exponent, factor = np.polyfit(np.log(sizes), np.log(values), 1)
    return float(np.exp(factor)), float(exponent)


def fitted(terms: Mapping[str, np.ndarray], values: np.ndarray) -> dict[str, float]:
    """Return the coefficients of terms by least squares of relative errors."""
    from scipy.optimize import nnls

    columns = np.stack(list(terms.values()), axis=1) / values[:, None]
    return dict(zip(terms, nnls(columns, np.ones(len(values)))[0].tolist(), strict=True))


class Model:
    """The formulas, fitted to measured sizes."""

    def __init__(self, measured: Mapping[str, Any]) -> None:
        self.measured = measured
        n, types = self._column("types")
        self.types = power(n, types)
        n, run_bytes = self._column("train-skipgram", "bytes")
        self.words = power(n, run_bytes / (8 * SKIPGRAM_DIM + LINE))
        n, seconds = self._column("train-svd", "seconds")
        self.svd = power(n, seconds)
        self.coefficients: dict[str, dict[str, dict[str, float]]] = {}
        for step, costs in self._costs().items():
            self.coefficients[step] = {}
            for cost, names in costs.items():
                n, values = self._column(step, cost)
                terms = self.terms(n)
                chosen = {name: terms[name] for name in names}
                self.coefficients[step][cost] = fitted(chosen, values)

    def terms(self, n: np.ndarray) -> dict[str, np.ndarray]:
        """Return the terms of the formulas at some sizes."""
        words = self.words[0] * n ** self.words[1]
        rows = np.minimum(SVD_WORDS, words)
        return {
            "1": np.ones_like(n),
            "n": n,
            "T": self.types[0] * n ** self.types[1],
            f"n^{self.svd[1]:.2f}": n ** self.svd[1],
            "vectors of the SVD": rows * (4 * SVD_DIM + LINE),
            "tables": 8 * SKIPGRAM_DIM * words,
        }

    def at(self, step: str, cost: str, n: float) -> float:
        """Return a cost of a step with ``n`` words."""
        terms = self.terms(np.array([n]))
        return float(sum(c * terms[name][0] for name, c in self.coefficients[step][cost].items()))

    def _costs(self) -> dict[str, dict[str, list[str]]]:
        """Return the terms of each cost of each step."""
        return {
            "build-corpus": {
                "seconds": ["1", "n"], "bytes": ["n", "T"], "anonymous_bytes": ["1", "T"],
            },
            "train-svd": {"seconds": [f"n^{self.svd[1]:.2f}"], "bytes": ["vectors of the SVD"]},
            "train-skipgram": {
                "seconds": ["n"], "bytes": ["tables"], "anonymous_bytes": ["1", "tables"],
            },
        }  # fmt: skip

    def _column(self, *path: str) -> tuple[np.ndarray, np.ndarray]:
        """Return the sizes at which something was measured, and its values."""
        found = {}
        for size, entry in self.measured.items():
            for key in path:
                entry = entry.get(key) if entry else None
            if entry is not None:
                found[float(size.removesuffix("M")) * 1e6] = float(entry)
        return np.array(list(found)), np.array(list(found.values()))

    def checked(self) -> dict[str, Any]:
        """Return measured and reckoned costs of each step at each size, with the error."""
        found: dict[str, Any] = {}
        for size, entry in self.measured.items():
            n = float(size.removesuffix("M")) * 1e6
            found[size] = {}
            for step, costs in self.coefficients.items():
                if step not in entry:
                    continue
                found[size][step] = {"millions": n / 1e6}
                for cost in costs:
                    real, model = entry[step][cost], self.at(step, cost, n)
                    found[size][step][cost] = {
                        "measured": real, "model": model, "error": model / real - 1,
                    }  # fmt: skip
        return found

    def reckoned(self) -> dict[str, Any]:
        """Return the costs at sizes that were not measured."""
        return {
            size: {
                "types": float(self.terms(np.array([n]))["T"][0]),
                "words": self.words[0] * n ** self.words[1],
                "build_hours": self.at("build-corpus", "seconds", n) / 3600,
                "build_bytes": self.at("build-corpus", "bytes", n),
                "build_memory": self.at("build-corpus", "anonymous_bytes", n),
                "skipgram_hours": self.at("train-skipgram", "seconds", n) / 3600,
                # an upper bound of the speed: threads share the memory's bandwidth
                "skipgram_hours_of_many": self.at("train-skipgram", "seconds", n)
                / 3600 * CORES / MANY_CORES,
                "skipgram_memory": self.at("train-skipgram", "anonymous_bytes", n),
            }
            for size, n in RECKONED.items()
        }  # fmt: skip


def nonzeros(path: Path) -> list[dict[str, int]]:
    """Count the entries of the matrix in nested samples of a corpus."""
    corpus = Corpus.open(path)
    config = SvdConfig(dim=SVD_DIM, max_vocabulary=SVD_WORDS)
    view, n_words = checked_view(corpus, config)
    found = []
    for halvings in reversed(range(5)):
        part = view.of(corpus.sample(corpus.training_tokens >> halvings).stored)
        with tempfile.TemporaryDirectory() as folder:
            counts = count_words(part, n_words, config, name=str(path), directory=Path(folder))
        found.append({"tokens": part.n_tokens, "entries": len(counts.columns)})
    return found


def end_of_matrix(counted: list[dict[str, int]]) -> float:
    """Return the words of text whose matrix has the most entries that one can have."""
    tokens, entries = ([each[name] for each in counted] for name in ("tokens", "entries"))
    sizes = np.geomspace(tokens[-1], 1e13, 2000)
    reached = [extrapolated(tokens, entries, size) >= MOST_ENTRIES for size in sizes]
    return float(sizes[int(np.argmax(reached))]) if any(reached) else float("inf")


def main() -> None:
    """Fit, print the errors, and write JSON."""
    arguments = harness.parse(__doc__, more=_own_options)
    model = Model(read_json(RESULTS / "scale.json")["results"])
    counted = (
        nonzeros(arguments.corpus)
        if arguments.corpus
        else read_json(RESULTS / "cost-model.json")["nonzeros"]
    )
    checked, end = model.checked(), end_of_matrix(counted)
    rows = [
        [size, step, *(f"{100 * costs[name]['error']:+.0f} %" if name in costs else ""
                       for name in ("seconds", "bytes", "anonymous_bytes"))]
        for size, steps in checked.items()
        for step, costs in steps.items()
    ]  # fmt: skip
    print_table(["words", "step", "seconds", "disk", "memory"], rows, title="errors of the model")
    value: dict[str, Any] = {
        "types": {"factor": model.types[0], "exponent": model.types[1]},
        "words": {"factor": model.words[0], "exponent": model.words[1]},
        "coefficients": {
            step: {**costs, **({"exponent": model.svd[1]} if step == "train-svd" else {})}
            for step, costs in model.coefficients.items()
        },
        "checked": checked,
        "reckoned": model.reckoned(),
        "nonzeros": counted,
        "matrix": {
            "words_at_end": end,
            "hours_at_end": model.at("train-svd", "seconds", end) / 3600,
        },
    }
    for name, each in {**value["reckoned"], "matrix": value["matrix"]}.items():
        print(name, each)
    if arguments.json:
        write_json(arguments.json, {"benchmark": "cost-model", **value, **harness.machine()})


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the corpus in which non-zeros are counted."""
    parser.add_argument("--corpus", type=Path, help="count non-zeros in samples of this corpus")


if __name__ == "__main__":
    main()
