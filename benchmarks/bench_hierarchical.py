"""Attention over words and over sentences, beside one attention and the mean, on long texts.

Passages of 400 words, in five folds that do not divide essays, speakers or presidents. Vectors are
count vectors of the same texts, without the labels.

    python benchmarks/bench_hierarchical.py --json benchmarks/results/hierarchical.json
"""

import csv
import json
import lzma
import re
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.embed.compare.api import compare
from firth.embed.compare.config import CompareConfig

FIRTH = [sys.executable, str(harness.ROOT / "cli.py")]
FOLDS, LENGTH, OF_TEXT = 5, 400, 5
POOLINGS = "mean,attention,hierarchical"
MARKS = {"<c>": ",", "<p>": ".", "<S>": ";", "<l>": ":", "<d>": " -", "<Q>": ""}
KEPT = ("run", "dataset", "metric", "score", "low", "high", "items_used", "chance")
TESTED = ("a", "b", "dataset", "difference", "low", "high", "p")


@dataclass(frozen=True)
class Source:
    """A table of texts: its columns of labels and of groups, and the labels to predict."""

    path: str
    label: str
    groups: tuple[str, ...]
    labels: tuple[str, ...]


SOURCES = {
    "Federalist": Source(
        "authors/federalist/federalist.csv.xz",
        "author",
        ("number",),
        ("HAMILTON", "MADISON", "JAY"),
    ),
    "budgets": Source(
        "regression/speeches/irish_budgets.tsv.xz",
        "party",
        ("namefirst", "namelast"),
        ("FF", "FG", "LAB", "SF"),
    ),
    "addresses": Source(
        "regression/speeches/sotu.tsv.xz",
        "party",
        ("FirstName", "President"),
        ("Democratic", "Republican"),
    ),
}


def main() -> None:
    """Measure and write the results."""
    arguments = harness.parse(__doc__)
    document: dict[str, Any] = {"machine": harness.machine(), "results": {}, "pairs": []}
    document["machine"].pop("command")  # has paths
    for name, source in SOURCES.items():
        with tempfile.TemporaryDirectory() as folder:
            score(document, name, source, Path(folder))
        if arguments.json:
            write_json(arguments.json, document)


def records(source: Source) -> Iterator[dict[str, str]]:
    """Yield the texts with a label to predict."""
    csv.field_size_limit(1 << 30)
    with lzma.open(roles.open_file(source.path), "rt", encoding="utf-8", newline="") as file:
        tabs = ".tsv" in source.path
        table = csv.DictReader(
            file,
            delimiter="\t" if tabs else ",",
            quoting=csv.QUOTE_NONE if tabs else csv.QUOTE_MINIMAL,
        )
        for row in table:
            if row[source.label] in source.labels:
                text = re.sub(r"\s*(<\w>)", lambda mark: MARKS[mark[1]], row["text"])
                group = " ".join(row[field] for field in source.groups)
                yield {"text": text.replace("¶", " "), "label": row[source.label], "group": group}


def score(document: dict[str, Any], name: str, source: Source, folder: Path) -> None:
    """Cut texts into passages, score the poolings, and add rows and tests."""
    with open(folder / "texts.jsonl", "w", encoding="utf-8") as file:
        for record in records(source):
            file.write(json.dumps(record) + "\n")
    corpus, passages = folder / "corpus", folder / f"{name}.tsv"
    build = ["build-corpus", str(folder / "texts.jsonl"), "--keep", "label,group", "--keep-text"]
    firth(*build, "--out", str(corpus))
    firth("train-svd", str(corpus), "--dim", "100", "--out", str(folder / "svd"))
    cut = f"--label label --groups group --length {LENGTH} --limit {OF_TEXT}".split()
    firth("passages", str(corpus), *cut, "--out", str(passages))
    config = CompareConfig(
        sets=(f"sentences={passages}",),
        folds=FOLDS, groups="group", pooling=POOLINGS, baselines="none",
    )  # fmt: skip
    compared = compare({"svd": folder / "svd"}, config)
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    for row in compared.document["results"]:
        if row["shared_items"]:
            kept = {key: row[key] for key in KEPT if key in row}
            document["results"].setdefault(row["run"], {})[name] = {name: kept}
    for pair in compared.document["pairs"]:
        document["pairs"].append({key: pair[key] for key in TESTED if key in pair})


def firth(*words: str) -> None:
    """Run a command."""
    harness.run_process([*FIRTH, *words])


if __name__ == "__main__":
    main()
