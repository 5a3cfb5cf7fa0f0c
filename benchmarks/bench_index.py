"""Libraries for approximate nearest neighbors: time to build, speed, recall, size and memory.

The vectors are random but clustered: words lie around centers, and the variance falls from
dimension to dimension, as in trained vectors (plain Gaussian vectors have no near neighbors). All
have length 1. Each library builds and answers in a process of its own. Queries are words, in one
thread and one call. Times are those of the processor, summed over threads, which other processes
change less than those of a clock. recall@10 is the share of the 10 exact neighbors that are found.
With ``--packages FOLDER`` the libraries are in ``FOLDER/usearch`` and so on (``pip install
--target``).
"""

import argparse
import json
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import harness
import numpy as np

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.embed.vectors.search import top_rows, unit_rows

K = 10
M, BUILD_EFFORT = 16, 128  # edges a node, candidates when a node is added: the same in all graphs
EFFORTS = (32, 64, 128, 256)


class Candidate(NamedTuple):
    """How a library builds, saves, opens and searches an index."""

    package: str
    build: Callable[[np.ndarray, int], Any]
    save: Callable[[Any, str], None]
    open: Callable[[str, int], Any]
    search: Callable[[Any, np.ndarray, int], np.ndarray]


def usearch(dtype: str) -> Candidate:
    def build(matrix: np.ndarray, threads: int) -> Any:
        from usearch.index import Index

        index = Index(
            ndim=matrix.shape[1], metric="ip", dtype=dtype, connectivity=M,
            expansion_add=BUILD_EFFORT,
        )  # fmt: skip
        index.add(np.arange(len(matrix)), matrix, threads=threads)
        return index

    def opened(path: str, dim: int) -> Any:
        from usearch.index import Index

        return Index.restore(path, view=True)

    def search(index: Any, queries: np.ndarray, effort: int) -> np.ndarray:
        index.expansion_search = effort
        return index.search(queries, K + 1, threads=1).keys.astype(np.int64)

    return Candidate("usearch", build, lambda index, path: index.save(path), opened, search)


def hnswlib() -> Candidate:
    def build(matrix: np.ndarray, threads: int) -> Any:
        import hnswlib

        index = hnswlib.Index(space="ip", dim=matrix.shape[1])
        index.init_index(max_elements=len(matrix), ef_construction=BUILD_EFFORT, M=M)
        index.add_items(matrix, num_threads=threads)
        return index

    def opened(path: str, dim: int) -> Any:
        import hnswlib

        index = hnswlib.Index(space="ip", dim=dim)
        index.load_index(path)
        return index

    def search(index: Any, queries: np.ndarray, effort: int) -> np.ndarray:
        index.set_ef(effort)
        return index.knn_query(queries, K + 1, num_threads=1)[0].astype(np.int64)

    return Candidate("hnswlib", build, lambda index, path: index.save_index(path), opened, search)


def faiss(kind: str) -> Candidate:
    def build(matrix: np.ndarray, threads: int) -> Any:
        import faiss

        faiss.omp_set_num_threads(threads)
        index = faiss.index_factory(matrix.shape[1], kind, faiss.METRIC_INNER_PRODUCT)
        if kind.startswith("HNSW"):
            index.hnsw.efConstruction = BUILD_EFFORT
        index.train(matrix)
        index.add(matrix)
        return index

    def save(index: Any, path: str) -> None:
        import faiss

        faiss.write_index(index, path)

    def opened(path: str, dim: int) -> Any:
        import faiss

        return faiss.read_index(path)

    def search(index: Any, queries: np.ndarray, effort: int) -> np.ndarray:
        import faiss

        faiss.omp_set_num_threads(1)
        if kind.startswith("HNSW"):
            index.hnsw.efSearch = effort
        else:
            index.nprobe = effort // 4
        return index.search(queries, K + 1)[1]

    return Candidate("faiss-cpu", build, save, opened, search)


CANDIDATES = {
    "usearch, float32": usearch("f32"),
    "usearch, float16": usearch("f16"),
    "hnswlib": hnswlib(),
    "faiss HNSW": faiss(f"HNSW{M},Flat"),
    "faiss IVF": faiss("IVF1000,Flat"),
}


def options(parser: argparse.ArgumentParser) -> None:
    """Add the size, and what the child processes are told."""
    parser.add_argument("--words", type=int, default=1_000_000, help="V")
    parser.add_argument("--dim", type=int, default=300, help="D")
    parser.add_argument("--queries", type=int, default=1000)
    parser.add_argument("--threads", type=int, default=2, help="for building")
    parser.add_argument("--candidates", nargs="+", choices=CANDIDATES, default=list(CANDIDATES))
    parser.add_argument("--packages", type=Path, help="folder of folders of packages")
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)


def clustered(n_words: int, dim: int) -> np.ndarray:
    """Return unit vectors around n_words / 100 centers, float32 (V, D)."""
    rng = np.random.default_rng(1)
    scale = (np.arange(1, dim + 1) ** -0.4).astype(np.float32)
    centers = rng.standard_normal((n_words // 100, dim), dtype=np.float32) * scale
    matrix = np.empty((n_words, dim), np.float32)
    for start in range(0, n_words, 50_000):
        part = matrix[start : start + 50_000]
        part[:] = centers[rng.integers(len(centers), size=len(part))]
        part += 1.5 * rng.standard_normal(part.shape, dtype=np.float32) * scale
        part /= np.linalg.norm(part, axis=1, keepdims=True)
    return matrix


def child(name: str, task: str, folder: Path, n_threads: int) -> dict[str, Any]:
    """Build or search in this process, and return the figures."""
    candidate, path = CANDIDATES[name], folder / "index"
    if task == "build":
        matrix = np.load(folder / "vectors.npy")
        start = time.process_time()
        index = candidate.build(matrix, n_threads)
        seconds = time.process_time() - start
        candidate.save(index, str(path))
        # beyond the matrix
        return {"build_core_seconds": seconds, "build_bytes": peak_bytes() - matrix.nbytes,
                "index_bytes": path.stat().st_size}  # fmt: skip
    rows, exact = np.load(folder / "rows.npy"), np.load(folder / "exact.npy")
    queries = np.load(folder / "vectors.npy", mmap_mode="r")[rows]
    index = candidate.open(str(path), queries.shape[1])
    figures: dict[str, Any] = {"search": {}}
    candidate.search(index, queries, EFFORTS[0])  # pages are read
    for effort in EFFORTS:
        start = time.process_time()
        found = candidate.search(index, queries, effort)
        seconds = time.process_time() - start
        hits = [len(set(e) & set(f)) for f, e in zip(found.tolist(), exact.tolist(), strict=True)]
        figures["search"][f"effort {effort}"] = {
            "queries_per_core_second": len(rows) / seconds, "recall": sum(hits) / exact.size,
        }  # fmt: skip
    return {**figures, "search_bytes": peak_bytes()}


def peak_bytes() -> int:
    """Return the peak of this process alone (Linux; getrusage counts that of its parent)."""
    status = Path("/proc/self/status").read_text(encoding="utf-8")
    return int(status.partition("VmHWM:")[2].split()[0]) * 1024


def main() -> None:
    """Make the vectors and exact answers, then measure each library."""
    arguments = harness.parse(__doc__, more=options)
    if arguments.child:
        name, task, folder = arguments.child
        sys.path.insert(0, str(arguments.packages / CANDIDATES[name].package))
        print(json.dumps(child(name, task, Path(folder), arguments.threads)))
        return
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        matrix = clustered(arguments.words, arguments.dim)
        np.save(folder / "vectors.npy", matrix)
        rows = np.random.default_rng(2).integers(len(matrix), size=arguments.queries)
        np.save(folder / "rows.npy", rows)
        queries = unit_rows(matrix, rows)
        start = time.process_time()
        exact = top_rows(matrix, queries, K, exclude=[[row] for row in rows.tolist()])
        seconds = time.process_time() - start
        np.save(folder / "exact.npy", np.array([found for found, _ in exact]))
        cosine = float(np.mean([scores[-1] for _, scores in exact]))
        del matrix
        results = {}
        for each in arguments.candidates:
            print(f"... {each}", file=sys.stderr, flush=True)
            figures: dict[str, Any] = {}
            for task in ("build", "search"):
                command = [sys.executable, __file__, "--packages", str(arguments.packages)]
                command += ["--threads", str(arguments.threads), "--child", each, task, name]
                figures |= json.loads(harness.run_process(command)[2])
            results[each] = figures
            print(each, json.dumps(figures), file=sys.stderr, flush=True)
    exact_speed = arguments.queries / seconds
    show(results, exact_speed)
    if arguments.json:
        about = {
            "words": arguments.words,
            "dim": arguments.dim,
            "queries": arguments.queries,
            "exact_queries_per_core_second": exact_speed,
            "mean_tenth_cosine": cosine,
        }
        write_json(arguments.json, {"results": results, **about, **harness.machine()})


def show(results: dict[str, Any], exact: float) -> None:
    """Print a row per library and effort."""
    rows = [
        [name, f"{f['build_core_seconds']:.1f}", effort, f"{s['queries_per_core_second']:.0f}",
         f"{s['recall']:.3f}", f"{f['index_bytes'] / 1e6:.0f}"]
        for name, f in results.items()
        for effort, s in f["search"].items()
    ]  # fmt: skip
    print_table(["", "build core-s", "effort", "queries/core-s", "recall@10", "index MB"], rows)
    print(f"exact search: {exact:.0f} queries/core-s")


if __name__ == "__main__":
    main()
