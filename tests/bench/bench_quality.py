"""Effect of each option of train-svd on quality: one change at a time from the defaults.

Every variant is trained on the same corpus and scored on the same sets, on the items the run
covers. The seed moves the result only in the sixth digit, so one run per variant is enough. The
texts: 16 million words of English Wikipedia, WikiText-2 (2 million, tokenized by its authors) and
German novels (9 million), each with the sets of its language.
"""

import argparse
import dataclasses
import json
import tempfile
from pathlib import Path
from typing import Any

import harness

from corpora.build.pipeline import build_corpus
from corpora.build.request import make_request
from corpora.store.corpus import Corpus
from corpora.text.segment import TextSettings
from embed.compare.config import CompareConfig
from embed.compare.scoring.comparison import read_tasks
from embed.compare.task import Task
from embed.formats.vector_files import load_vectors
from embed.svd.train import SvdConfig, make_svd_run

ENGLISH = ("similarity/ws353.tsv", "similarity/simlex999.tsv", "similarity/mturk287.tsv")
ENGLISH_ANALOGIES = ("analogy/questions-words.txt", "analogy/msr.txt")
GERMAN = tuple(f"multilingual/de/{n}.txt" for n in ("gur350", "zg222", "ws353rel", "simlex999"))
GERMAN_ANALOGIES = ("multilingual/de/analogies-google.txt",)

CORPORA: dict[str, dict[str, Any]] = {
    "enwiki2015-AA": {"similarity": ENGLISH, "analogies": ENGLISH_ANALOGIES},
    "wikitext2-train": {
        "similarity": ENGLISH,
        "analogies": ENGLISH_ANALOGIES,
        "text": TextSettings(segmenter="whitespace"),
    },
    "eltec-de": {"similarity": GERMAN, "analogies": GERMAN_ANALOGIES},
}

VARIANTS: list[dict[str, Any]] = [
    {},
    {"window": 2},
    {"window": 5},
    {"window": 10},
    {"window_weighting": "dynamic"},
    {"window_weighting": "flat"},
    {"window": 5, "window_weighting": "dynamic"},
    {"subsample": 0.0},
    {"subsample": 1e-4},
    {"subsample": 1e-6},
    {"context_smoothing": 1.0},
    {"shift": 5.0},
    {"singular_power": 0.0},
    {"singular_power": 1.0},
    {"add_contexts": True},
    {"dim": 100},
    {"dim": 500},
    {"boundary": "sentence"},
    {"boundary": "document"},
    {"punctuation": "keep"},
    {"weighting": "log-counts"},
    {"weighting": "counts"},
]


def build(name: str, folder: Path, about: dict[str, Any]) -> Corpus:
    """Build the corpus of one text."""
    source = harness.shared_file(f"corpora/{name}.txt.xz")
    return build_corpus(make_request([source], text=about.get("text")), folder / name)


def tasks_of(about: dict[str, Any]) -> list[Task]:
    """Return the tasks of one text's language."""
    files = {
        kind: tuple(str(harness.shared_file(f"evaluation/{name}")) for name in about[kind])
        for kind in ("similarity", "analogies")
    }
    return read_tasks(CompareConfig(**files))


def score(run: Path, tasks: list[Task]) -> dict[str, float | None]:
    """Return a run's score on each set: Spearman, or accuracy by 3CosAdd."""
    vectors = load_vectors(run)
    found = {}
    for task in tasks:
        measured, found_score = harness.scores(task, vectors)[0]
        found[Path(measured.dataset).stem] = found_score
    return found


def main() -> None:
    """Run the benchmark."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    parser.add_argument("--corpus", choices=CORPORA, action="append", help="only these texts")
    arguments = parser.parse_args()
    figures: dict[str, Any] = {"machine": harness.machine()}
    with tempfile.TemporaryDirectory() as scratch:
        for name in arguments.corpus or CORPORA:
            about = CORPORA[name]
            corpus = build(name, Path(scratch), about)
            tasks = tasks_of(about)
            figures[name] = []
            for number, variant in enumerate(VARIANTS):
                config = dataclasses.replace(SvdConfig(), **variant)
                run = make_svd_run(corpus, config, Path(scratch) / f"{name}-{number}")
                figures[name].append({"variant": variant, "scores": score(run, tasks)})
                print(name, variant, figures[name][-1]["scores"], flush=True)
    if arguments.json:
        arguments.json.write_text(
            json.dumps(figures, indent=1, ensure_ascii=False) + "\n", encoding="utf-8"
        )


if __name__ == "__main__":
    main()
