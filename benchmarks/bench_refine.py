"""Steps of refinement, joined spaces and SIF sentence vectors, on SVD and skip-gram vectors.

With ``--role tuning`` all VARIANTS are scored on the first 25 MB of AB and tuning sets; with
``--role reporting`` the plain vectors, three recipes of the literature, and the joined space that
was chosen, on as much of AA and reporting sets. Skip-gram has three seeds of 10 epochs. Runs are
kept in a folder, so that a repeated call only scores.

    python benchmarks/bench_refine.py --runs out/refine --json benchmarks/results/refine.json
    python benchmarks/bench_refine.py --runs out/refine --json benchmarks/results/refine.json \\
        --role reporting
"""

import argparse
import json
import lzma
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import choosing
import harness
import numpy as np
import roles

import firth
from firth import RefineConfig
from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.text.sentences.split import split_sentences
from firth.embed.align.mapping import centered
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.datasets.parts import TEST
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.statistics.bootstrap import draw_counts, resample
from firth.embed.compare.statistics.estimators import Means
from firth.embed.compare.statistics.significance import paired
from firth.embed.compare.tasks.sentences.pooling_probes import train_mean_probe
from firth.embed.contextual.sif import SentenceVectors, learn, line_vectors
from firth.embed.refine.steps import Moments, apply, moments
from firth.embed.vectors.search import unit_length, unit_matrix
from firth.embed.vectors.word_vectors import WordVectors

ROLE = roles.TUNING
TEXTS = {roles.TUNING: "enwiki2015-AB", roles.REPORTING: "enwiki2015-AA"}
SETS = {
    roles.TUNING: choosing.SETS,
    roles.REPORTING: {
        "similarity": ("ws353", "simlex999"), "analogy": ("questions-words",),
        "categorization": ("bless",), "odd-one-out": ("8-8-8",),
    },
}  # fmt: skip
SENTENCES = {roles.TUNING: "sst2-dev", roles.REPORTING: "sst2-test"}
# text for pairs of sentences: what follows the training text in AB, or another text
FURTHER = {roles.TUNING: "enwiki2015-AB", roles.REPORTING: "enwiki2015-AC"}
PAIRS, FEWEST_WORDS = 2_000, 6
SEEDS, EPOCHS = (1, 2, 3), 10
VARIANTS: dict[str, RefineConfig] = {
    "center": RefineConfig(center=True),
    "unit, center": RefineConfig(normalize=True, center=True),
    **{f"remove-top {n}": RefineConfig(remove_top=n) for n in (1, 2, 3, 5)},
    **{f"unit, remove-top {n}": RefineConfig(normalize=True, remove_top=n) for n in (1, 2)},
    "dim 50": RefineConfig(dim=50),
    "whiten": RefineConfig(whiten=True),
    "unit, whiten": RefineConfig(normalize=True, whiten=True),
    "dim 50, whiten": RefineConfig(dim=50, whiten=True),
}
BY_FREQUENCY = ("center", "remove-top 2", "whiten")  # tried with means weighted by word counts
REPORTED = ("center", "remove-top 2", "whiten")
JOINS: dict[str, dict[str, Any]] = {  # of SVD and skip-gram
    "joined": {},
    "joined, SVD double": {"weights": (2, 1)},
    "joined, skip-gram double": {"weights": (1, 2)},
    "joined, centered": {"center": True},
    "joined, dim 150": {"dim": 150},
    "joined, dim 100": {"dim": 100},
}
CHOSEN_JOIN = "joined"
Runs = Sequence[WordVectors]


def options(parser: argparse.ArgumentParser) -> None:
    """Add the role, the folder of the runs, and the size of the text."""
    roles.add_role_option(parser, ROLE)
    parser.add_argument("--runs", type=Path, required=True, help="folder of the runs")
    parser.add_argument("--megabytes", type=int, default=25, help="of the text, from its start")


def train(folder: Path, role: roles.Role, megabytes: int) -> dict[str, Runs]:
    """Return the runs of each method, trained where they are missing."""
    name = TEXTS[role]
    text, stored = folder / f"{name}.txt", folder / name
    if not stored.exists():
        folder.mkdir(parents=True, exist_ok=True)
        with lzma.open(roles.open_text(name, role=role)) as file:
            start = file.read(megabytes * 1_000_000)
        text.write_bytes(start[: start.rindex(b"</doc>") + 7])
        firth.build_corpus(text, stored)
    corpus = firth.Corpus.open(stored)
    paths = [folder / f"{name}-svd", *(folder / f"{name}-sg-seed{seed}" for seed in SEEDS)]
    if not paths[0].exists():
        firth.train_svd(corpus, firth.SvdConfig(), out=paths[0])
    for seed, path in zip(SEEDS, paths[1:], strict=True):
        if not path.exists():
            config = firth.SkipGramConfig(epochs=EPOCHS, seed=seed, threads=1)
            firth.train_skipgram(corpus, config, out=path)
    svd, *skipgram = map(firth.load_vectors, paths)
    return {"SVD": [svd], "skip-gram": skipgram}


def by_frequency(vectors: WordVectors, name: str) -> WordVectors:
    """Refine with means and covariances weighted by word counts (Yokoi et al. 2024)."""
    rows, counts = np.asarray(vectors.matrix, np.float64), vectors.counts
    assert counts is not None
    shares = counts / counts.sum()
    apart = rows - shares @ rows
    space = Moments(shares @ rows, apart.T @ (apart * shares[:, None]))
    values, axes = space.principal()
    maps = {
        "center": np.eye(len(axes)),
        "remove-top 2": np.eye(len(axes)) - axes[:, :2] @ axes[:, :2].T,
        "whiten": axes / np.sqrt(values),
    }
    return _like(vectors, apply(vectors.matrix, space.mean, maps[name], np.ones(len(rows), bool)))


def join(
    parts: Runs, *, weights: Sequence[float] = (1, 1), center: bool = False, dim: int | None = None
) -> WordVectors:
    """Concatenate unit vectors of the words that all parts have, and reduce them by an SVD."""
    first = parts[0]
    words = [word for word in first.vocabulary if all(part.row(word) is not None for part in parts)]
    rows = np.concatenate(
        [
            weight
            * (centered(unit_matrix(part.matrix)) if center else unit_matrix(part.matrix))[
                list(map(part.row, words))
            ]
            for weight, part in zip(weights, parts, strict=True)
        ],
        axis=1,
    )
    if dim is not None:
        space = moments(rows, np.ones(len(rows), bool))
        second = space.covariance + np.outer(space.mean, space.mean)
        rows = rows @ Moments(space.mean, second).principal()[1][:, :dim]
    return WordVectors(words, rows.astype(np.float32), text=first.text, name="joined")


def _like(vectors: WordVectors, rows: np.ndarray) -> WordVectors:
    return WordVectors(vectors.vocabulary, rows, text=vectors.text, name=vectors.name)


def candidates(runs: Mapping[str, Runs]) -> Iterator[tuple[str, str, Runs]]:
    """Yield method, variant and its runs, one per seed, to choose from."""
    for method, plain in runs.items():
        for name, config in VARIANTS.items():
            yield method, name, [firth.refine_vectors(each, config) for each in plain]
        for name in BY_FREQUENCY:
            yield method, f"{name}, by frequency", [by_frequency(each, name) for each in plain]
    for name, settings in JOINS.items():
        yield "SVD", name, [join([*runs["SVD"], each], **settings) for each in runs["skip-gram"]]


def choose(runs: Mapping[str, Runs]) -> list[dict[str, Any]]:
    """Return scores of all variants on the tuning sets, and how far each exceeds plain vectors."""
    config = CompareConfig(
        sets=roles.set_names(SETS[roles.TUNING], role=roles.TUNING), baselines="none"
    )
    tasks = roles.read_sets(SETS[roles.TUNING], role=roles.TUNING)
    found = [_scored(method, "plain", tasks, plain) for method, plain in runs.items()]
    for method, name, made in candidates(runs):
        plain = [*runs[method]] * (len(made) // len(runs[method]))  # one run of SVD, three joined
        gain = choosing.advantage(made, plain, tasks, config)
        ends = {end: round(getattr(gain, end), 4) for end in ("difference", "low", "high")}
        found.append({**_scored(method, name, tasks, made), **ends})
        print(found[-1], flush=True)
    return found


def _scored(method: str, name: str, tasks: Any, made: Runs) -> dict[str, Any]:
    """Return the mean scores over seeds by set, and their mean."""
    each = [harness.score_by_set(tasks, vectors) for vectors in made]
    scores = {name: float(np.mean([one[name] or 0.0 for one in each])) for name in each[0]}
    return {
        "vectors": method, "variant": name, "mean": round(float(np.mean(list(scores.values()))), 4),
        "sets": {name: round(score, 4) for name, score in scores.items()},
    }  # fmt: skip


def measure(runs: Mapping[str, Runs]) -> list[dict[str, Any]]:
    """Return scores of the steps on the reporting sets, and tests against the plain vectors."""
    tasks = roles.read_sets(SETS[roles.REPORTING], role=roles.REPORTING)
    found = []
    for method, plain in runs.items():
        sides = {method: plain}
        for name in REPORTED:
            refined = [firth.refine_vectors(each, VARIANTS[name]) for each in plain]
            sides[f"{method}, {name}"] = refined
        found += tested(sides, tasks, {method: "plain"})
    return found


def measure_joined(runs: Mapping[str, Runs]) -> list[dict[str, Any]]:
    """Return scores of the joined space on the reporting sets, and tests against its parts."""
    tasks = roles.read_sets(SETS[roles.REPORTING], role=roles.REPORTING)
    settings = JOINS[CHOSEN_JOIN]
    joined = [join([*runs["SVD"], each], **settings) for each in runs["skip-gram"]]
    return tested({**runs, "joined": joined}, tasks, {name: name for name in runs})


def tested(sides: Mapping[str, Runs], tasks: Any, plain: Mapping[str, str]) -> list[dict[str, Any]]:
    """Return scores of the first metric of each set, and differences from the plain sides.

    The p are those of ``firth compare``: paired, Holm-corrected over all pairs of sides.
    """
    named = {f"{name} {n}": run for name, runs in sides.items() for n, run in enumerate(runs)}
    several = {name: runs for name, runs in sides.items() if len(runs) > 1}
    groups = {name: [f"{name} {n}" for n in range(len(runs))] for name, runs in several.items()}
    side_of = {name if name in groups else f"{name} 0": name for name in sides}
    made = compare_vectors(named, tasks, CompareConfig(baselines="none"), groups=groups)
    if made.failures:
        raise SystemExit("\n".join(made.failures))
    rows: dict[tuple[str, str], dict[str, Any]] = {}
    first: dict[str, str] = {}
    for score in made.scores:
        measured = score.measured
        metric = first.setdefault(measured.dataset, measured.metric)
        if score.run not in side_of or not score.shared or measured.section is not None:
            continue
        if measured.metric == metric and score.score is not None:
            row = {"vectors": side_of[score.run], "set": measured.dataset, "items": score.known}
            rows[row["vectors"], measured.dataset] = {**row, "score": round(score.score, 4)}
    for pair in made.pairs:
        sides_of = [side_of.get(pair.a), side_of.get(pair.b)]
        if None in sides_of or pair.section is not None or pair.metric != first[pair.dataset]:
            continue
        for other, key in plain.items():
            if other in sides_of and (sides_of[0] not in plain or sides_of[1] not in plain):
                side, sign = (sides_of[0], 1) if sides_of[1] == other else (sides_of[1], -1)
                found = pair.difference
                ends = sorted(sign * end for end in (found.low, found.high))
                rows[side, pair.dataset][f"over {key}"] = {
                    "difference": round(sign * found.difference, 4),
                    "low": round(ends[0], 4), "high": round(ends[1], 4), "p": round(found.p, 4),
                }  # fmt: skip
    return list(rows.values())


def sentences(runs: Mapping[str, Runs], role: roles.Role) -> list[dict[str, Any]]:
    """Return the accuracy of probes on means, weighted means, and these less what is common."""
    files = [str(roles.open_set(name, role=role)) for name in ("sst2-train", SENTENCES[role])]
    (task,) = read_tasks(CompareConfig(sets=(f"sentences={','.join(files)}",)))
    (fold,) = task.folds
    rows = []
    for method, plain in runs.items():
        vectors = plain[0]
        means = sentence_means(vectors, fold.texts)
        test = fold.places(TEST)
        right = {
            name: train_mean_probe(table, fold).predictions == fold.labels[test]
            for name, table in means.items()
        }
        counts = draw_counts(len(test), 1000, 1, "refine")
        rows += _against_mean(method, right, counts)
    return rows


def following(role: roles.Role, megabytes: int) -> list[tuple[str, str]]:
    """Return the first two sentences of paragraphs, from text that the runs were not trained on."""
    name = FURTHER[role]
    with lzma.open(roles.open_text(name, role=role)) as file:
        file.seek(megabytes * 1_000_000 if name == TEXTS[role] else 0)
        file.readline()
        found = []
        for line in file:
            first, second, *_ = [*split_sentences(line.decode()), "", ""]
            if min(len(first.split()), len(second.split())) >= FEWEST_WORDS:
                found.append((first, second))
            if len(found) == PAIRS:
                return found
    raise SystemExit(f"{name}: has too few paragraphs")


def retrieval(runs: Mapping[str, Runs], pairs: Sequence[tuple[str, str]]) -> list[dict[str, Any]]:
    """Return how often the nearest of all second sentences is the one that follows the first."""
    rows = []
    counts = draw_counts(len(pairs), 1000, 1, "refine")
    for method, plain in runs.items():
        means = sentence_means(plain[0], [text for pair in pairs for text in pair])
        found = {name: unit_length(rows.astype(np.float64)) for name, rows in means.items()}
        right = {
            name: (rows[::2] @ rows[1::2].T).argmax(axis=1) == np.arange(len(pairs))
            for name, rows in found.items()
        }
        rows += _against_mean(method, right, counts)
    return rows


def _against_mean(
    method: str, right: Mapping[str, np.ndarray], counts: np.ndarray
) -> list[dict[str, Any]]:
    """Return the share of right items by pooling, and paired differences from the plain mean."""
    scored = {name: resample(Means(each), counts) for name, each in right.items()}
    rows = []
    for name, each in right.items():
        row = {"vectors": method, "pooling": name, "items": len(each),
               "score": round(float(each.mean()), 4)}  # fmt: skip
        if name != "mean":
            found = paired(scored[name], scored["mean"])
            numbers = ("difference", "low", "high", "p")
            row |= {number: round(getattr(found, number), 4) for number in numbers}
        rows.append(row)
    return rows


def sentence_means(vectors: WordVectors, texts: Sequence[str]) -> dict[str, np.ndarray]:
    """Return the vectors of sentences in three ways, float32 (n, D)."""
    lines = [vectors.words(text) for text in texts]
    plain, weighted = (
        SentenceVectors(vectors, {"common": np.zeros(vectors.dim)}) for _ in range(2)
    )
    plain.weights = np.ones_like(weighted.weights)
    ways = {"mean": plain, "weighted mean": weighted, "SIF": learn(vectors, lines, "sentences")}
    return {name: line_vectors(way, lines)[0].astype(np.float32) for name, way in ways.items()}


def main() -> None:
    """Train, score, and add the figures of the role to the file."""
    arguments = harness.parse(__doc__, more=options)
    role, begun = arguments.role, time.perf_counter()
    runs = train(arguments.runs, role, arguments.megabytes)
    words = choose(runs) if role is roles.TUNING else measure(runs)
    labels = sentences(runs, role)
    nearest = retrieval(runs, following(role, arguments.megabytes))
    for rows in (words, labels, nearest):
        keys = list(rows[-1])
        print_table(keys, [[str(row.get(key, "")) for key in keys] for row in rows])
    if arguments.json:
        before = json.loads(arguments.json.read_text()) if arguments.json.exists() else {}
        counts = runs["SVD"][0].counts
        about = {
            "text": TEXTS[role], "megabytes": arguments.megabytes, "words": len(counts),
            "tokens": int(counts.sum()), "epochs": EPOCHS, "seeds": list(SEEDS),
            "seconds": round(time.perf_counter() - begun, 1), "machine": harness.machine(),
        }  # fmt: skip
        about["machine"]["command"] = ["benchmarks/bench_refine.py", "--role", str(role)]
        found = {**about, "results": words, "labels": labels, "following": nearest}
        if role is roles.REPORTING:
            found["joined"] = measure_joined(runs)
        write_json(arguments.json, {**before, str(role): found})


if __name__ == "__main__":
    main()
