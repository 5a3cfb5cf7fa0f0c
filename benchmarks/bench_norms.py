"""Labels and ratings of words, predicted from vectors: scores, intervals, and axes of opposites.

Runs are given; those of the pages were trained with defaults on one corpus. Labels are the parts of
speech that words have in UD EWT, and the categories of BLESS; ratings are the Glasgow norms.
Intervals are tried on words that are left out, with few and with many rated words.

    python benchmarks/bench_norms.py SVD SKIPGRAM CBOW --json benchmarks/results/norms.json
"""

import argparse
import lzma
import sys
import tempfile
from collections import Counter, defaultdict
from pathlib import Path
from typing import Any

import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.statistics.estimators import Correlation
from firth.embed.compare.tasks.described_words import RatingsTask
from firth.embed.formats.vector_files import load_vectors
from firth.embed.predict.api import predict_ratings

ROLE = roles.REPORTING
NAMES = ("svd", "skipgram", "cbow")
SCALES = (
    "Arousal", "Valence", "Dominance", "Concreteness", "Imageability", "Familiarity", "AOA", "Size",
    "Gender",
)  # fmt: skip
KEPT = ("run", "dataset", "metric", "score", "low", "high", "items_used", "chance")
SIZES = 50, 200, 1000, 3000  # rated words to learn from
AXES = {
    "Size": "large,big,huge:small,little,tiny",
    "Valence": "good,happy,love:bad,sad,hate",
    "Gender": "man,he,male:woman,she,female",
}
LEAST_TOKENS, LEAST_SHARE = 5, 0.1  # of a word in UD EWT, and of a tag that counts


def main() -> None:
    """Measure and write the results."""
    arguments = harness.parse(__doc__, more=own_options)
    runs = dict(zip(NAMES, arguments.runs, strict=True))
    glasgow = roles.open_set("glasgow", role=ROLE)
    with tempfile.TemporaryDirectory() as folder:
        sets = [f"labels={path}" for path in write_tags(Path(folder))]
        sets += [f"labels={roles.open_set('bless', role=ROLE)}:category"]
        sets += [f"ratings={glasgow}:{scale}" for scale in SCALES]
        compared = compare(runs, CompareConfig(sets=tuple(sets)))
        if compared.failures:
            sys.exit("\n".join(compared.failures))
        vectors = load_vectors(runs["svd"])
        coverage = [covered(vectors, glasgow, size, Path(folder)) for size in SIZES]
    rows = [each for each in compared.document["results"] if each["shared_items"]]
    document = {
        "machine": {k: v for k, v in harness.machine().items() if k != "command"},  # has paths
        "runs": {name: {"dimensions": load_vectors(run).dim} for name, run in runs.items()},
        "results": [{key: each[key] for key in KEPT if key in each} for each in rows],
        "coverage": coverage,
        "axes": [
            on_axis(name, run, scale, glasgow) for name, run in runs.items() for scale in AXES
        ],
    }
    if arguments.json:
        write_json(arguments.json, document)
    for part in ("results", "coverage", "axes"):
        print(part, *document[part], sep="\n")


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add the runs."""
    parser.add_argument("runs", nargs=len(NAMES), type=Path, help=", ".join(NAMES))


def write_tags(folder: Path) -> list[Path]:
    """Write the most frequent part of speech of each word, and all that it often has."""
    tags: dict[str, Counter[str]] = defaultdict(Counter)
    with lzma.open(roles.open_set("ud-ewt-train", role=ROLE), "rt", encoding="utf-8") as file:
        for fields in (line.split("\t") for line in file):
            if len(fields) == 10 and fields[0].isdecimal() and fields[1].isalpha():
                tags[fields[1].lower()][fields[3]] += 1
    common = {word: counts for word, counts in tags.items() if counts.total() >= LEAST_TOKENS}
    often = {
        word: [tag for tag, n in counts.most_common() if n >= LEAST_SHARE * counts.total()]
        for word, counts in common.items()
    }
    paths = []
    for name, most in (("ud-part-of-speech", 1), ("ud-parts-of-speech", None)):
        paths.append(folder / f"{name}.tsv")
        lines = ["\t".join([word, *found[:most]]) for word, found in often.items()]
        paths[-1].write_text("\n".join(["word\tlabel", *lines]) + "\n", encoding="utf-8")
    return paths


def covered(vectors: Any, glasgow: Path, size: int, folder: Path) -> dict[str, Any]:
    """Learn from some rated words, and return how many of the others are inside their intervals."""
    inside, stated, widths = [], [], []
    for scale in SCALES:
        task = RatingsTask.read(Path(f"{glasgow}:{scale}"), CompareConfig())
        known = np.flatnonzero(task.known(vectors))
        order = np.random.default_rng(size).permutation(known).tolist()
        path = folder / "ratings.csv"
        lines = [f"{task.words[n]},{task.values[n]}" for n in order[:size]]
        path.write_text("\n".join(["word,rating", *lines]) + "\n", encoding="utf-8")
        rest = order[size : size + 1000]
        found = predict_ratings(vectors, path, [task.words[n] for n in rest])
        gold = [task.values[n] for n in rest]
        inside += [r.low <= y <= r.high for r, y in zip(found.rows, gold, strict=True)]
        stated.append(found.coverage)
        widths += [(r.high - r.low) / np.std(gold) for r in found.rows]
    return {
        "words": size,
        "coverage": float(np.mean(inside)),
        "stated": float(np.mean(stated)),
        "width": float(np.mean(widths)),  # standard deviations of the ratings
        "predictions": len(inside),
    }


def on_axis(name: str, run: Path, scale: str, glasgow: Path) -> dict[str, Any]:
    """Correlate the ratings of words with their cosines on an axis of opposites."""
    vectors, axis = load_vectors(run), AXES[scale]
    task = RatingsTask.read(Path(f"{glasgow}:{scale}"), CompareConfig())
    of_axis = axis.replace(":", ",").split(",")
    known = [n for n in np.flatnonzero(task.known(vectors)) if task.words[n] not in of_axis]
    found = predict_ratings(vectors, words=[task.words[n] for n in known], axis=axis)
    gold, cosines = np.array([task.values[n] for n in known]), [row.rating for row in found.rows]
    correlation = Correlation(gold, np.array(cosines), ranked=True)
    score = float(correlation.evaluate(np.ones((1, len(gold)), np.uint8))[0])
    right = sum(cosine > 0 for cosine in found.left_out)
    about = {"run": name, "scale": scale, "axis": axis, "words": len(known)}
    return {**about, "spearman": score, "right": right, "p": found.p}


if __name__ == "__main__":
    main()
