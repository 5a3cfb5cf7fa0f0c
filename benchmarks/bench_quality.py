"""Effect of each option of train-svd on quality: one change at a time from 300 dimensions.

Every variant is trained on the same corpus and scored on the same sets, on the items the run
covers. The seed moves the result only in the sixth digit, so one run per variant is enough. The
texts and sets are those that defaults are chosen on: 16 million words of English Wikipedia and
WikiText-2 (2 million, tokenized by its authors), scored on MTurk-287, RG-65, MSR and AP.
``--widths`` measures 50 to 300 dimensions on samples of half a million words and more instead, and
``--pieces`` numbers of pieces, beside words and n-grams: on pairs of words that all have, and on
the others, of which pieces and n-grams compose a vector. ``--means`` measures means of neighbors
and of n-grams on samples of AB and on WikiText-2, with an interval of each gain, and
``--parts`` further vectors joined with them.
"""

import argparse
import contextlib
import dataclasses
import itertools
import statistics
import tempfile
from pathlib import Path
from typing import Any

import choosing
import harness
import numpy as np
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.errors import SettingError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.task import Task
from firth.embed.compare.tasks.similarity import SimilarityTask
from firth.embed.formats.vector_files import load_vectors
from firth.embed.svd.train import SvdConfig, make_svd_run, train_svd
from firth.embed.vectors.search import unit_length
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import SkipGramConfig
from firth.embed.word2vec.train import train_skipgram

ROLE = roles.TUNING
SETS = {"similarity": ("mturk287", "rg65"), "analogy": ("msr",), "categorization": ("ap",)}
# The settings of each text; None for the defaults.
CORPORA: dict[str, TextSettings | None] = {
    "enwiki2015-AB": None,
    "wikitext2-train": TextSettings(segmenter="whitespace"),
}

WIDTHS = (50, 100, 200, 300)
SIZES = (500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, 16_000_000)  # tokens of AB

PIECES = (8_000, 16_000, 30_000, 60_000)
PIECES_SIZES = (500_000, 4_000_000, 16_000_000)

MEANS: tuple[dict[str, Any], ...] = (
    {"side_means": 25}, {"side_means": 50}, {"side_means": 100},
    {"best": True},
)  # fmt: skip
MEANS_SIZES = (1_000_000, 4_000_000)
TITLES = {"wikitext2-train": "WikiText-2"}
PARTS: dict[str, dict[str, Any]] = {
    "500 dimensions": {"dim": 500},
    "window 2": {"window": 2},
    "window 2, flat": {"window": 2, "window_weighting": "flat"},
    "window 15": {"window": 15},
    "log counts": {"weighting": "log-counts"},
    "subsampling at 1e-4": {"subsample": 1e-4},
    "directions only": {"singular_power": 0},
    "3,000 pieces": {"pieces": 3_000},
    "8,000 pieces": {"pieces": 8_000},
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


def build(name: str, folder: Path) -> Corpus:
    """Build the corpus of one text."""
    source = roles.open_text(name, role=ROLE)
    return encode_corpus(make_request([source], text=CORPORA[name]), folder / name)


def by_width(corpus: Corpus, folder: Path, tasks: list[Task]) -> list[dict[str, Any]]:
    """Score widths on nested samples of a text."""
    found = []
    for tokens, dim in itertools.product(SIZES, WIDTHS):
        sample = corpus.sample(tokens)
        run = make_svd_run(sample, SvdConfig(dim=dim), folder / f"{tokens}-{dim}")
        scores = harness.score_by_set(tasks, load_vectors(run))
        mean = statistics.mean(each or 0.0 for each in scores.values())
        about = {"tokens": sample.training_tokens, "dim": dim, "scores": scores, "mean": mean}
        found.append(about)
        print(about, flush=True)
    return found


def by_pieces(corpus: Corpus, folder: Path, tasks: list[SimilarityTask]) -> list[dict[str, Any]]:
    """Score numbers of pieces on nested samples of a text, beside words and n-grams."""
    found = []
    for tokens in PIECES_SIZES:
        sample = corpus.sample(tokens)
        words = train_svd(sample, SvdConfig(), folder / f"words-{tokens}")
        made = {"words": words}
        for pieces in PIECES:
            with contextlib.suppress(SettingError):  # the text has fewer
                out = folder / f"{pieces}-{tokens}"
                made[f"{pieces:,} pieces"] = train_svd(sample, SvdConfig(pieces=pieces), out)
        made["skip-gram, n-grams"] = train_skipgram(
            sample, SkipGramConfig(subwords="3-6"), folder / f"grams-{tokens}"
        )
        for name, vectors in made.items():
            about: dict[str, Any] = {"tokens": sample.training_tokens, "vectors": name}
            for task in tasks:
                for part, known in (("known", True), ("others", False)):
                    pairs = [p for p in task.pairs if (p.a in words and p.b in words) == known]
                    some = dataclasses.replace(task, pairs=pairs)
                    about[f"{task.dataset} {part}"] = harness.score_by_set([some], vectors)[
                        task.dataset
                    ]
                    about[f"{task.dataset} {part} covered"] = sum(
                        vectors.vector(p.a) is not None and vectors.vector(p.b) is not None
                        for p in pairs
                    )
            found.append(about)
            print(about, flush=True)
    return found


def of_three_seeds(corpus: Corpus, **options: Any) -> list[WordVectors]:
    """Train three times."""
    return [train_svd(corpus, SvdConfig(seed=seed, **options)) for seed in (11, 12, 13)]


def by_means(folder: Path, tasks: list[Task]) -> list[dict[str, Any]]:
    """Score vectors with means appended against those without, three seeds of each."""
    texts = [(name, build(name, folder)) for name in CORPORA]
    samples = [(texts[0][0], texts[0][1].sample(size)) for size in MEANS_SIZES]
    found = []
    for name, corpus in [*samples, *texts]:
        plain = of_three_seeds(corpus)
        for variant in ({}, *MEANS):
            made = of_three_seeds(corpus, **variant) if variant else plain
            about: dict[str, Any] = {
                "text": TITLES.get(name, name), "tokens": corpus.training_tokens,
                "variant": variant, "dim": made[0].dim, "options": as_options(variant),
            }  # fmt: skip
            if variant:
                gain = choosing.advantage(made, plain, tasks)
                about |= {"gain": gain.difference, "low": gain.low, "high": gain.high}
                about |= gain.by_set
            found.append(about)
            print(about, flush=True)
    return found


def as_options(variant: dict[str, Any]) -> str:
    """Return settings as the options of ``train-svd``."""
    options = [
        f"--{name.replace('_', '-')}" + ("" if value is True else f" {value}")
        for name, value in variant.items()
    ]
    return f"`{' '.join(options)}`" if options else "default"


def by_parts(folder: Path, tasks: list[Task]) -> list[dict[str, Any]]:
    """Score vectors with means of neighbors, joined with other vectors of half the length."""
    corpus = build("enwiki2015-AB", folder)
    plain = train_svd(corpus, SvdConfig(side_means=100))
    found = []
    for name, options in PARTS.items():
        part = train_svd(corpus, SvdConfig(**{"dim": 300, **options}))
        both = unit_length(np.array(plain.matrix)), unit_length(np.array(part.matrix)) / 2
        joined = WordVectors(plain.vocabulary, np.hstack(both), counts=plain.counts)
        gain = choosing.advantage([joined], [plain], tasks)
        about = {"part": name, "gain": gain.difference, "low": gain.low, "high": gain.high}
        found.append(about | gain.by_set)
        print(found[-1], flush=True)
    return found


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, more=_own_options)
    figures: dict[str, Any] = {}
    tasks = roles.read_sets(SETS, role=ROLE)
    with tempfile.TemporaryDirectory() as scratch:
        if arguments.widths:
            figures["widths"] = by_width(
                build("enwiki2015-AB", Path(scratch)), Path(scratch), tasks
            )
        if arguments.pieces:
            pairs = [task for task in tasks if isinstance(task, SimilarityTask)]
            figures["pieces"] = by_pieces(
                build("enwiki2015-AB", Path(scratch)), Path(scratch), pairs
            )
        if arguments.means:
            figures["means"] = by_means(Path(scratch), tasks)
        if arguments.parts:
            figures["parts"] = by_parts(Path(scratch), tasks)
        only = arguments.widths or arguments.pieces or arguments.means or arguments.parts
        for name in () if only else arguments.corpus or CORPORA:
            corpus = build(name, Path(scratch))
            figures[name] = []
            for number, variant in enumerate(VARIANTS):
                config = dataclasses.replace(SvdConfig(), **{"dim": 300, **variant})
                run = make_svd_run(corpus, config, Path(scratch) / f"{name}-{number}")
                scores = harness.score_by_set(tasks, load_vectors(run))
                figures[name].append({"variant": variant, "scores": scores})
                print(name, variant, scores, flush=True)
    if arguments.json:
        write_json(arguments.json, {"machine": harness.machine(), **figures})


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--corpus", choices=CORPORA, action="append", help="only these texts")
    parser.add_argument("--widths", action="store_true", help="only widths, by the size of AB")
    parser.add_argument("--means", action="store_true", help="only means of neighbors and n-grams")
    parser.add_argument("--parts", action="store_true", help="only further parts beside these")
    parser.add_argument("--pieces", action="store_true", help="only pieces, by the size of AB")


if __name__ == "__main__":
    main()
