"""Nodes of graphs: walks and skip-gram as whole commands beside PecanPy and karateclub, and scores.

Every training is one process on one core, and every program's vectors are scored by `compare` on
the same labels or held-out links. PecanPy and karateclub want environments of their own; a
generated graph of a million nodes is trained on by Firth alone.

    python benchmarks/bench_graphs.py --pecanpy PECAN/bin/pecanpy --karateclub KARATE/bin/python \\
        --json benchmarks/results/graphs.json
"""

import argparse
import shutil
import statistics
import sys
import tempfile
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig

GRAPHS = {  # published by PecanPy on one core: seconds, mean area under the ROC curve
    "ppi_homo_sapiens": (45, 0.700),
    "blogcatalog": (166, 0.757),
    "wikipedia_pos": (57, 0.827),
}
WEIGHTED = ("wikipedia_pos",)
FOLDER = "sequences/graphs"
WALKS, LENGTH, DIM, WINDOW = 10, 80, 128, 10
FEW_WALKS = 2  # from each of a million nodes
FIRTH = [sys.executable, str(harness.ROOT / "cli.py")]
ONE_CORE = ["taskset", "-c", "1"]
SKIPGRAM = f"--dim {DIM} --window {WINDOW} --epochs 1 --subsample 0 --min-count 1".split()
SVD = f"--dim {DIM} --window {WINDOW} --min-count 1 --max-vocabulary 1000000".split()
# karateclub reads a graph of NetworkX with nodes 0, 1, 2 ...
KARATECLUB = f"""
import sys, networkx, numpy
from karateclub import DeepWalk
lines = [line.split()[:2] for line in open(sys.argv[1])]
names = sorted({{name for line in lines for name in line}})
place = {{name: n for n, name in enumerate(names)}}
graph = networkx.Graph([(place[a], place[b]) for a, b in lines])
graph.add_nodes_from(range(len(names)))
model = DeepWalk({WALKS}, {LENGTH}, {DIM}, 1, {WINDOW}, seed=int(sys.argv[3]))
model.fit(graph)
with open(sys.argv[2], "w") as file:
    print(len(names), {DIM}, file=file)
    for name, row in zip(names, model.get_embedding()):
        print(name, *row, file=file)
"""


def main() -> None:
    """Measure and write the results."""
    arguments = harness.parse(__doc__, more=own_options)
    document: dict[str, Any] = {"machine": harness.machine(), "graphs": {}}
    document["machine"].pop("command")  # has paths
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.graphs:
            document["graphs"][name] = nodes_of(name, arguments, Path(folder))
        document["cora"] = links_of("cora", arguments, Path(folder))
        if arguments.million:
            document["million"] = million(Path(folder))
    if arguments.json:
        write_json(arguments.json, document)
    print(document)


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add the peers and what to measure."""
    parser.add_argument("--pecanpy", type=Path, required=True, help="its command")
    parser.add_argument("--karateclub", type=Path, required=True, help="a Python that has it")
    parser.add_argument("--graphs", nargs="*", default=list(GRAPHS), help="which graphs")
    parser.add_argument("--seeds", type=int, default=5, help="trainings of each program")
    parser.add_argument("--million", action="store_true", help="also a graph of a million nodes")


def nodes_of(name: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train on a graph by every program, in turns, and classify its nodes."""
    edges, labels = plain(f"{name}_edges"), plain(f"{name}_labels")
    programs: dict[str, Sequence[str]] = {"pecanpy": (), "skipgram": (), "svd": (), "exact": ()}
    measured = {program: harness.Measurement() for program in programs}
    scores: dict[str, list[dict[str, float]]] = {program: [] for program in programs}
    for seed in range(1, arguments.seeds + 1):
        for program in list(programs)[:: 1 if seed % 2 else -1]:
            out = folder / f"{name}-{program}-{seed}"
            commands = commands_of(program, edges, out, seed, name in WEIGHTED, arguments.pecanpy)
            timed(commands, measured[program])
        runs = {program: run_of(folder / f"{name}-{program}-{seed}") for program in programs}
        for program, score in scored(runs, f"labels={labels}").items():
            scores[program].append(score)
        for program in programs:
            remove(folder / f"{name}-{program}-{seed}")
    return summary(measured, scores)


def links_of(name: str, arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Train on the graph without some links by every program; find links, and classify nodes."""
    edges, labels = plain(f"{name}_edges"), plain(f"{name}_labels")
    programs = ("karateclub", "pecanpy", "skipgram", "svd", "exact")
    measured = {program: harness.Measurement() for program in programs}
    scores: dict[str, list[dict[str, float]]] = {program: [] for program in programs}
    for seed in range(1, arguments.seeds + 1):
        held = folder / f"{name}-held-{seed}"
        build = [*FIRTH, "build-corpus", str(edges), "--walks", f"{WALKS}x{LENGTH}", "--out"]
        harness.run_process([*build, str(held), "--hold-out-links", "0.1", "--seed", str(seed)])
        rest = folder / f"{name}-rest-{seed}.edg"
        write_rest(edges, held / "links.tsv", rest)
        for program in programs[:: 1 if seed % 2 else -1]:
            out = folder / f"{name}-{program}-{seed}"
            if program == "karateclub":
                code = [str(arguments.karateclub), "-c", KARATECLUB]
                commands = [[*code, str(rest), f"{out}.txt", str(seed)]]
            else:
                commands = commands_of(program, rest, out, seed, False, arguments.pecanpy)
            timed(commands, measured[program])
        runs = {program: run_of(folder / f"{name}-{program}-{seed}") for program in programs}
        links = scored(runs, f"links={held / 'links.tsv'}")
        for program, score in scored(runs, f"labels={labels}:label").items():
            scores[program].append(score | links[program])
    return summary(measured, scores)


def commands_of(
    program: str, edges: Path, out: Path, seed: int, weighted: bool, pecanpy: Path
) -> list[list[str]]:
    """Return the commands by which a program makes vectors of a graph."""
    if program == "pecanpy":
        mode = "PreCompFirstOrder" if weighted else "FirstOrderUnweighted"
        shape = f"--dimensions {DIM} --walk-length {LENGTH} --num-walks {WALKS} --workers 1".split()
        more = ["--weighted"] if weighted else []
        files = ["--input", str(edges), "--output", f"{out}.txt"]
        seeds = ["--random_state", str(seed), "--mode", mode, "--delimiter", "\t"]
        return [[str(pecanpy), *files, *shape, *seeds, *more]]
    corpus, more = f"{out}-corpus", ["--weighted"] if weighted else []
    walks = ["--walks", f"{WALKS}x{LENGTH}", "--seed", str(seed), "--threads", "1", *more]
    build = [*FIRTH, "build-corpus", str(edges), *walks, "--out", corpus]
    settings = {"skipgram": SKIPGRAM, "svd": SVD, "exact": [*SVD, "--exact-walks"]}[program]
    command = "train-skipgram" if program == "skipgram" else "train-svd"
    train = [*FIRTH, command, corpus, "--out", str(out), *settings, "--threads", "1"]
    return [build, [*train, "--seed", str(seed)]]


def timed(commands: Sequence[Sequence[str]], measurement: harness.Measurement) -> None:
    """Run the commands of a program on one core, and add their time.

    Their peaks are below that of this process, which scores, so they are not known.
    """
    runs = [harness.run_process([*ONE_CORE, *command]) for command in commands]
    measurement.seconds.append(sum(run[0] for run in runs))


def scored(runs: Mapping[str, Path], dataset: str) -> dict[str, dict[str, float]]:
    """Score vectors on the items that all of them know."""
    compared = compare(dict(runs), CompareConfig(sets=(dataset,)))
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    scores: dict[str, dict[str, float]] = {program: {} for program in runs}
    for row in compared.document["results"]:
        if row["shared_items"] and row["run"] in scores:
            scores[row["run"]][row["metric"]] = row["score"]
    return scores


def summary(
    measured: Mapping[str, harness.Measurement], scores: Mapping[str, list[dict[str, float]]]
) -> dict[str, Any]:
    """Return medians of time, and means and deviations of the scores over seeds."""
    return {
        program: {
            **measured[program].to_json(),
            **measured["pecanpy"].ratios(measured[program]),
            "scores": {
                metric: {
                    "mean": statistics.mean(score[metric] for score in rows),
                    "deviation": statistics.stdev(score[metric] for score in rows),
                }
                for metric in rows[0]
            },
        }
        for program, rows in scores.items()
    }


def million(folder: Path) -> dict[str, Any]:
    """Train on a generated graph of a million nodes and ten million edges with both cores."""
    edges, corpus = folder / "million.edg", folder / "million"
    write_graph(edges, n_nodes=1_000_000, n_links=10)
    walks = ["--walks", f"{FEW_WALKS}x{LENGTH}", "--out", str(corpus)]
    build = [*FIRTH, "build-corpus", str(edges), *walks]
    train = [*FIRTH, "train-skipgram", str(corpus), "--out", str(folder / "run"), *SKIPGRAM]
    steps = {}
    for name, command in (("build", build), ("train", train)):
        estimate = harness.run_process([*command, "--dry-run", "--json"])[2]
        seconds, peak, _, _ = harness.run_process(command)
        steps[name] = {"seconds": seconds, "peak_bytes": peak, "estimate": estimate}
    return steps


def write_graph(path: Path, n_nodes: int, n_links: int) -> None:
    """Write a graph in which a new node is linked to older ones by their degree."""
    random = np.random.default_rng(1)
    ends = np.empty(2 * n_nodes * n_links, np.int64)
    filled = 0
    for node in range(n_nodes):
        older = random.integers(0, max(filled, 1), n_links)
        targets = ends[older] if filled else np.zeros(n_links, np.int64)
        ends[filled : filled + n_links], filled = targets, filled + n_links
        ends[filled : filled + n_links], filled = node, filled + n_links
    pairs = ends.reshape(n_nodes, 2, n_links).swapaxes(1, 2).reshape(-1, 2)
    np.savetxt(path, pairs, fmt="%d", delimiter="\t")


def write_rest(edges: Path, links: Path, rest: Path) -> None:
    """Write the edges of a graph that are not held out."""
    rows = [line.split() for line in links.read_text(encoding="utf-8").splitlines()[1:]]
    gone = {frozenset(row[:2]) for row in rows if row[2] == "1"}
    lines = edges.read_text(encoding="utf-8").splitlines(keepends=True)
    kept = (line for line in lines if frozenset(line.split()[:2]) not in gone)
    rest.write_text("".join(kept), encoding="utf-8")


def plain(name: str) -> Path:
    """Return a file of the graphs, unpacked."""
    path = roles.open_file(FOLDER) / f"{name}.tsv"
    return path if path.exists() else harness.unpacked(path.with_name(f"{name}.tsv.xz"))


def run_of(out: Path) -> Path:
    """Return the run, or the file of vectors, that a program made."""
    return out if out.exists() else Path(f"{out}.txt")


def remove(out: Path) -> None:
    """Remove what a program made."""
    for path in (out, Path(f"{out}-corpus")):
        shutil.rmtree(path, ignore_errors=True)
    Path(f"{out}.txt").unlink(missing_ok=True)


if __name__ == "__main__":
    main()
