"""Truncated SVD of a PPMI matrix: Firth against scikit-learn's randomized SVD, and ARPACK.

All factor the same matrix, that of the reference corpus with the default options of ``train-svd``,
to the same rank. Besides time, the captured sum of squares matters: ``--arpack`` adds SciPy's
ARPACK, whose result is the optimum. scikit-learn runs with its own number of power iterations, and
with fewer, which is faster and captures less.
"""

import argparse
import resource
import sys
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth.embed.svd.truncated_svd import truncated_svd

ROLE = roles.REPORTING
SKLEARN = "sklearn randomized_svd"  # its own n_iter: 7 if the rank is below a tenth of the size
ARPACK = "scipy svds (ARPACK)"


def reference_matrix() -> Any:
    """Return the PPMI matrix of the reference corpus, counted by Firth."""
    from firth.corpora.encoding.build import open_or_build
    from firth.embed.svd.cooccurrence import count_cooccurrences
    from firth.embed.svd.ppmi import keep_probabilities, weigh
    from firth.embed.svd.train import SvdConfig

    config = SvdConfig()
    corpus = open_or_build(harness.unpacked(roles.open_text("enwiki2015-AA", role=ROLE)))
    view = corpus.view(
        min_count=config.min_count,
        max_vocabulary=None,
        punctuation=config.punctuation,
        boundary=config.boundary,
    )
    counts = count_cooccurrences(
        view,
        window=config.window,
        n_words=config.max_vocabulary,
        weighting=config.window_weighting,
        context=config.context_side,
    )
    return weigh(
        counts,
        weighting=config.weighting,
        keep=keep_probabilities(view.counts, config.subsample)[: config.max_vocabulary],
        context_smoothing=config.context_smoothing,
        shift=config.shift,
    )


def peak_bytes() -> int:
    """Return the peak resident size of this process so far."""
    unit = 1 if sys.platform == "darwin" else 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * unit


def candidates(matrix: Any, arguments: argparse.Namespace) -> dict[str, Callable[[], float]]:
    """Return the ways to factor the matrix; each returns the captured sum of squares."""
    from scipy.sparse.linalg import svds
    from sklearn.utils.extmath import randomized_svd

    rank = arguments.rank

    def firth() -> float:
        return truncated_svd(matrix, rank, device=arguments.device).captured

    def sklearn(n_iter: int | str) -> float:
        _, values, _ = randomized_svd(matrix, rank, n_iter=n_iter, random_state=0)
        return float(np.square(values, dtype=np.float64).sum())

    def arpack() -> float:
        _, values, _ = svds(matrix, rank, random_state=0)
        return float(np.square(values, dtype=np.float64).sum())

    found = {
        "firth": firth,
        SKLEARN: partial(sklearn, "auto"),
        f"{SKLEARN}, n_iter=3": partial(sklearn, 3),
    }
    return {**found, ARPACK: arpack} if arguments.arpack else found


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=2, more=_own_options)
    if arguments.matrix:
        from scipy.sparse import load_npz

        matrix = load_npz(arguments.matrix).tocsr().astype(np.float32)
    else:
        matrix = reference_matrix()
    before = peak_bytes()
    truncated_svd(matrix, arguments.rank, device=arguments.device)
    added = peak_bytes() - before

    measured = harness.time_functions(
        candidates(matrix, arguments), arguments.repeats, keep_outputs=True
    )
    captured = {name: entry.outputs[-1] for name, entry in measured.items()}
    for name, entry in measured.items():
        entry.more["captured"] = captured[name]
    notes: dict[str, Any] = {f"captured by {name}": f"{x:.4e}" for name, x in captured.items()}
    if arguments.arpack:
        best = captured[ARPACK]
        for name, value in captured.items():
            notes[f"captured by {name}"] += f", {1 - value / best:.2%} below the optimum"
    notes["rank"] = arguments.rank
    notes["peak memory added by firth"] = f"at most {added / 1e6:.0f} MB"
    harness.report(
        f"Truncated SVD, {matrix.shape[0]:,} x {matrix.shape[1]:,}",
        measured,
        ours="firth",
        work=matrix.nnz / 1e6,
        unit="M non-zeros",
        arguments=arguments,
        notes=notes,
    )


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--matrix", type=Path, help="a .npz of SciPy instead of the corpus's own")
    parser.add_argument("--rank", type=int, default=300, help="singular values")
    parser.add_argument("--device", default="cpu", help="auto, cpu or cuda")
    parser.add_argument("--arpack", action="store_true", help="find the optimum, too")


if __name__ == "__main__":
    main()
