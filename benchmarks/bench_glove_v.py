"""GloVe with the variances of GloVe-V, on the texts of bench_neighbors.py: coverage and cost.

GloVe is trained as Pennington, Socher and Manning (2014) describe, by AdaGrad. Given its context
vectors, a word's vector is a weighted least-squares estimate, whose covariance is the variance of
the residuals times the inverse of the weighted sum of squares of the contexts' vectors (Vallebueno,
Handan-Nader, Manning and Ho 2024); a cosine's variance follows by the delta method.
"""

import argparse
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
import numba
import numpy as np
from bench_neighbors import FEWEST, NEAREST, WIKIPEDIA, articles, bands

from firth import build_corpus
from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.reporting import SilentReporter, reporting_to
from firth.corpora.store.corpus import Corpus
from firth.embed.svd.train import SvdConfig, checked_view, count_words
from firth.embed.vectors.search import unit_length

DIM, EPOCHS, RATE, LARGEST, POWER = 50, 15, 0.05, 10.0, 0.75


def options(parser: argparse.ArgumentParser) -> None:
    """Add sizes."""
    parser.add_argument("--text", default=WIKIPEDIA)
    parser.add_argument("--texts", type=int, default=8, help="trained on, of the million-word ones")
    parser.add_argument("--described", type=int, default=4, help="texts with variances")


def main() -> None:
    """Train on articles dealt out to texts of a million words; measure coverage, time and size."""
    arguments = harness.parse(__doc__, more=options)
    texts = articles(arguments.text, 1 << 62)
    n_texts = sum(len(text.split()) for text in texts) // 1_000_000
    order = np.random.default_rng(1).permutation(len(texts))
    trained = []
    with tempfile.TemporaryDirectory() as name, reporting_to(SilentReporter()):
        for n, part in enumerate(np.array_split(order, n_texts)[: arguments.texts]):
            corpus = build_corpus([texts[i] for i in part], Path(name) / f"{n}")
            trained.append(GloVe(corpus, seed=n))
            print(n, trained[-1].seconds, flush=True)
    result = {
        "text": arguments.text, "texts": len(trained), "dim": DIM, "epochs": EPOCHS,
        **described(trained, arguments.described), **harness.machine(),
    }  # fmt: skip
    print(result)
    if arguments.json:
        write_json(arguments.json, {"benchmark": "GloVe-V", **result})


class GloVe:
    """Word and context vectors of a corpus, with the counts they fit."""

    def __init__(self, corpus: Corpus, seed: int) -> None:
        config = SvdConfig(dim=DIM, window=10, window_weighting="harmonic", subsample=0, threads=2)
        view, n_words = checked_view(corpus, config)
        counts = count_words(view, n_words, config, name="glove", directory=None)
        self.words = view.words[:n_words]
        self.tokens = np.asarray(view.counts[:n_words])
        self.starts, self.columns = counts.starts, counts.columns
        numbers = counts.counts / counts.denominator
        self.logs = np.log(numbers).astype(np.float32)
        self.weights = np.minimum((numbers / LARGEST) ** POWER, 1).astype(np.float32)
        rng = np.random.default_rng(seed)
        # vectors and, last, biases
        start = rng.uniform(-0.5, 0.5, (2, n_words, DIM + 1)) / (DIM + 1)
        self.vectors, self.contexts = start.astype(np.float32)
        squares = np.ones((2, n_words, DIM + 1), np.float32)
        start = time.perf_counter()
        for _ in range(EPOCHS):
            _epoch(
                rng.permutation(n_words), self.starts, self.columns, self.logs, self.weights,
                self.vectors, self.contexts, squares[0], squares[1], np.float32(RATE),
            )  # fmt: skip
        self.vectors, self.contexts = (
            each.astype(np.float64) for each in (self.vectors, self.contexts)
        )
        self.seconds = time.perf_counter() - start

    def covariance(self, row: int) -> np.ndarray | None:
        """Return the covariance of a word's vector, (D, D); None if it has too few contexts."""
        span = slice(*self.starts[row : row + 2])
        contexts = self.contexts[self.columns[span]]
        residuals = (
            self.logs[span] - contexts[:, :-1] @ self.vectors[row, :-1]
            - contexts[:, -1] - self.vectors[row, -1]
        )  # fmt: skip
        free = len(residuals) - DIM
        if free <= 0:
            return None
        weights, contexts = self.weights[span], contexts[:, :-1]
        variance = (weights * residuals**2).sum() / free
        return np.asarray(variance * np.linalg.pinv((contexts * weights[:, None]).T @ contexts))


def described(trained: list[GloVe], n_described: int) -> dict[str, Any]:
    """Measure how often intervals hold the mean cosine over the other texts."""
    shared = set.intersection(*(set(each.words) for each in trained))
    places = [{word: row for row, word in enumerate(each.words)} for each in trained]
    tokens = {
        word: np.median([each.tokens[p[word]] for each, p in zip(trained, places, strict=True)])
        for word in shared
    }
    words = sorted(word for word in shared if tokens[word] >= FEWEST)
    rows = [np.array([p[word] for word in words]) for p in places]
    units = [unit_length(e.vectors[r, :-1]) for e, r in zip(trained, rows, strict=True)]
    total = sum(each @ each.T for each in units)
    frequency = np.array([tokens[word] for word in words])
    least, around, seconds, numbers = [], [], 0.0, 0
    for n in range(n_described):
        cosines = units[n] @ units[n].T
        np.fill_diagonal(cosines, -1)
        near = np.argsort(-cosines, axis=1)[:, :100]
        top = near[:, :NEAREST]
        own = np.take_along_axis(cosines, near, axis=1)
        means = (np.take_along_axis(total, top, axis=1) - own[:, :NEAREST]) / (len(trained) - 1)
        start = time.perf_counter()
        covariances = [trained[n].covariance(row) for row in rows[n].tolist()]
        seconds += time.perf_counter() - start
        numbers += sum(each is not None for each in covariances) * DIM**2
        errors = np.full(own.shape, np.nan)
        for w, (row, cosines_of_row) in enumerate(zip(near, own, strict=True)):
            for place, (other, cosine) in enumerate(zip(row, cosines_of_row, strict=True)):
                pair = (w, other), (other, w)
                variance = 0.0
                for a, b in pair:
                    if covariances[a] is None:
                        variance = np.nan
                        break
                    length = np.linalg.norm(trained[n].vectors[rows[n][a], :-1])
                    slope = (units[n][b] - cosine * units[n][a]) / length
                    variance += slope @ covariances[a] @ slope
                errors[w, place] = np.sqrt(variance)
        scale = np.sqrt(1 + 1 / (len(trained) - 1))
        errors_of_top = errors[:, :NEAREST]
        around.append(np.abs(own[:, :NEAREST] - means) / scale / errors_of_top)
        least.append(np.minimum(frequency[:, None], frequency[top]))
    rarer, away = (np.concatenate(each).ravel() for each in (least, around))
    has_one = np.isfinite(away)
    return {
        "described": n_described, "words": len(words), "seconds_training":
        float(np.median([each.seconds for each in trained])),
        "seconds_covariances": seconds / n_described,
        "covariance_bytes": 4 * numbers // n_described,
        "bands": [
            {
                **band, "with_interval": float(has_one[inside].mean()),
                "coverage": float((away[inside & has_one] <= 1.96).mean()),
            }
            for band, inside in bands(rarer)
        ],
    }  # fmt: skip


@numba.njit(cache=True, fastmath=True)
def _epoch(
    order, starts, columns, logs, weights, vectors, contexts, squares, squares_of_contexts, rate
):
    """Take a step of AdaGrad for each count, word by word in random order."""
    last = vectors.shape[1] - 1
    for w in order:
        for i in range(starts[w], starts[w + 1]):
            c = columns[i]
            error = vectors[w, last] + contexts[c, last] - logs[i]
            for d in range(last):
                error += vectors[w, d] * contexts[c, d]
            error *= weights[i]
            for d in range(last + 1):
                of_word = error * (contexts[c, d] if d < last else np.float32(1))
                of_context = error * (vectors[w, d] if d < last else np.float32(1))
                vectors[w, d] -= rate * of_word / np.sqrt(squares[w, d])
                contexts[c, d] -= rate * of_context / np.sqrt(squares_of_contexts[c, d])
                squares[w, d] += of_word**2
                squares_of_contexts[c, d] += of_context**2


if __name__ == "__main__":
    main()
