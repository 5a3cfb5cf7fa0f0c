"""Who wrote passages of novels: books held out or not, with names or without, beside Delta.

Of every second author (tuning) with three novels, the first words of each; every third novel is a
fold. Vectors and encoders learn from the same text, without the authors.

    python benchmarks/bench_authors.py --json benchmarks/results/authors.json
"""

import argparse
import csv
import itertools
import json
import lzma
import sys
import tempfile
from collections import defaultdict
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig

FIRTH = [sys.executable, str(harness.ROOT / "cli.py")]
BOOKS, FOLDS, OF_BOOK = 3, 3, 12
RUNS = {"svd": "train-svd --dim 100"}
ENCODERS = {"mlm": "--mixer attention", "conformer": "--mixer conformer"}
KEPT = ("run", "dataset", "metric", "score", "low", "high", "items_used", "chance", "grouped")
TESTED = ("a", "b", "dataset", "difference", "low", "high", "p")


def main() -> None:
    """Measure and write the results."""
    arguments = harness.parse(__doc__, more=own_options)
    document: dict[str, Any] = {"machine": harness.machine(), "results": {}, "pairs": []}
    document["machine"].pop("command")  # has paths
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        with open(folder / "novels.jsonl", "w", encoding="utf-8") as file:
            for record in novels(arguments.authors, arguments.words):
                file.write(json.dumps(record) + "\n")
        build = ["build-corpus", str(folder / "novels.jsonl"), "--keep", "author,book"]
        firth(*build, "--keep-text", "--out", str(folder / "novels"))
        runs = dict(RUNS)
        if arguments.steps:
            encoder = f"train-mlm --preset tiny --steps {arguments.steps}"
            runs |= {run: f"{encoder} {mixer}" for run, mixer in ENCODERS.items()}
        for run, options in runs.items():
            method, *settings = options.split()
            firth(method, str(folder / "novels"), *settings, "--out", str(folder / run))
        cut = f"passages {folder / 'novels'} --label author --groups book --limit {OF_BOOK}"
        for name, mask in (("names", ""), ("no names", "--mask-names")):
            passages = folder / f"{name}.tsv"
            firth(*f"{cut} {mask}".split(), "--out", str(passages))
            paths = {run: folder / run for run in runs}
            for groups, pooling in (("book", "mean,attention,margin"), ("book", ""), ("", "")):
                score(document, paths, passages, groups, pooling)
                if arguments.json:
                    write_json(arguments.json, document)


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add the sizes."""
    parser.add_argument("--authors", type=int, default=8)
    parser.add_argument("--words", type=int, default=40_000, help="of each novel")
    parser.add_argument("--steps", type=int, default=2_000, help="of encoders; 0 for none")


def novels(n_authors: int, n_words: int) -> Iterator[dict[str, str]]:
    """Yield the first words of some novels of each author."""
    books: dict[str, list[str]] = defaultdict(list)
    with open(roles.open_file("authors/english_novels/novels.tsv"), encoding="utf-8") as table:
        for row in csv.DictReader(table, delimiter="\t"):
            books[row["author"]].append(row["id"])
    chosen = [author for author in sorted(books)[::2] if len(books[author]) >= BOOKS][:n_authors]
    author_of = {book: author for author in chosen for book in books[author][:BOOKS]}
    with lzma.open(
        roles.open_file("authors/english_novels/novels.txt.xz"), "rt", encoding="utf-8"
    ) as file:
        for head, group in itertools.groupby(file, key=lambda line: line.startswith("<doc id=")):
            lines = list(group)
            if head:
                book = lines[-1].split('"')[1]
            elif book in author_of:
                words = "".join(lines).replace("</doc>", "").split(" ")
                text = " ".join(words[:n_words])
                yield {"text": text, "author": author_of[book], "book": book}


def score(
    document: dict[str, Any], runs: dict[str, Path], passages: Path, groups: str, pooling: str
) -> None:
    """Score runs on passages, and add the rows and tests under what was held out."""
    baselines = "none" if pooling else "one-hot"
    config = CompareConfig(
        sets=(f"sentences={passages}",),
        folds=FOLDS, groups=groups, pooling=pooling or "mean", baselines=baselines,
    )  # fmt: skip
    compared = compare(dict(runs), config)
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    held_out = "books held out" if groups else "passages dealt out"
    rows = [row for row in compared.document["results"] if row["shared_items"]]
    for row in rows:
        of_run = document["results"].setdefault(row["run"], {})
        key = f"{passages.stem}, {held_out}"
        of_run.setdefault(key, {key: row[key] for key in KEPT if key in row})
    for pair in compared.document["pairs"]:
        kept = {key: pair[key] for key in TESTED if key in pair}
        document["pairs"].append({"held_out": held_out, **kept})


def firth(*words: str) -> None:
    """Run a command."""
    harness.run_process([*FIRTH, *words])


if __name__ == "__main__":
    main()
