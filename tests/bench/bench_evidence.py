"""Which method suits which text: the evidence of ``firth recommend``, measured anew.

Methods and settings that people choose between are trained on nested samples of the documents of
five texts, each sample by itself, and scored on the sets of their language, on the items that all
of them know. What is finished stays in the work folder, so that an interrupted measurement goes on.

    python tests/bench/bench_evidence.py --work /tmp/evidence --json embed/compare/evidence.json
"""

import itertools
import json
import math
import statistics
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import harness

from corpora.artifacts import write_json
from corpora.blocks import ReadOptions
from corpora.build import build_corpus
from corpora.corpus import Corpus, is_corpus
from corpora.request import make_request
from corpora.segment import TextSettings
from embed.compare.advice import is_unspaced
from embed.compare.comparison import compare, read_tasks
from embed.compare.config import CompareConfig
from embed.compare.report import to_json
from embed.methods import find_method
from embed.vectors import load_vectors

CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "svd-100": ("svd", {"dim": 100}),
    "svd-300": ("svd", {"dim": 300}),
    "skipgram-100": ("skipgram", {"dim": 100}),
    "skipgram-300": ("skipgram", {"dim": 300}),
    "cbow-100": ("cbow", {"dim": 100}),
    "subwords-100": ("skipgram", {"dim": 100, "subwords": "3-6"}),
}
ENGLISH = {
    "similarity": ("similarity/ws353.tsv", "similarity/simlex999.tsv", "similarity/mturk287.tsv"),
    "analogies": ("analogy/questions-words.txt", "analogy/msr.txt"),
}
GERMAN = {
    "similarity": tuple(
        f"multilingual/de/{name}.txt" for name in ("gur350", "zg222", "ws353rel", "simlex999")
    ),
    "analogies": ("multilingual/de/analogies-google.txt",),
}
CHINESE = {
    "similarity": ("multilingual/zh/wordsim-240.txt", "multilingual/zh/wordsim-297.txt"),
    "analogies": ("multilingual/zh/CA8_morphological.txt", "multilingual/zh/CA8_semantic.txt"),
}
ALL = 10**12  # tokens: the whole text
# Of the SVD one seed stands for all: scores move in the sixth digit.
TEXTS: dict[str, dict[str, Any]] = {
    "WikiText-2": {
        "seeds": 3,
        "sources": ("wikitext2-train",),
        "about": {"language": "English", "kind": "encyclopedia"},
        "documents": "block",
        "text": TextSettings(segmenter="whitespace"),
        "sets": ENGLISH,
        "tokens": (1_000_000, ALL),
    },
    "Wikipedia, a third": {
        "seeds": 3,
        "sources": ("enwiki2015-AA",),
        "about": {"language": "English", "kind": "encyclopedia"},
        "sets": ENGLISH,
        "tokens": (500_000, 1_000_000, 2_000_000, 4_000_000, 8_000_000, ALL),
    },
    "German novels": {
        "seeds": 3,
        "sources": ("eltec-de",),
        "about": {"language": "German", "kind": "novels"},
        "documents": "block",
        "sets": GERMAN,
        "tokens": (1_000_000, 2_000_000, 4_000_000, ALL),
    },
    "Chinese prose": {
        "seeds": 3,
        "sources": ("zh-modern",),
        "about": {"language": "Chinese", "kind": "prose"},
        "documents": "block",
        "text": TextSettings(segmenter="jieba"),
        "sets": CHINESE,
        "tokens": (1_000_000, 4_000_000, ALL),
    },
    "Wikipedia": {
        "seeds": 1,
        "sources": ("enwiki2015-AA", "enwiki2015-AB", "enwiki2015-AC"),
        "about": {"language": "English", "kind": "encyclopedia"},
        "sets": ENGLISH,
        "tokens": (ALL,),
    },
}
# A mean over sets, and the metric that stands for each set of the kind.
KINDS = {"similarity": "spearman", "analogy": "accuracy"}


def main() -> None:
    """Build, train, score; write what there is after every sample."""
    arguments = harness.parse(
        __doc__ or "",
        repeats=1,
        more=lambda parser: parser.add_argument("--work", type=Path, required=True, help="folder"),
    )
    samples: list[dict[str, Any]] = []
    for name, about in TEXTS.items():
        corpus = build(arguments.work / f"corpus-{name.replace(', ', '-')}", about)
        for tokens in about["tokens"]:
            sample = corpus.sample(tokens)
            folder = arguments.work / sample.fingerprint
            runs = {
                candidate: [
                    train(sample, method, {**options, "seed": seed}, folder / f"{candidate}-{seed}")
                    for seed in range(1, 1 + (1 if method == "svd" else about["seeds"]))
                ]
                for candidate, (method, options) in CANDIDATES.items()
            }
            samples.append(
                {
                    "text": name,
                    **about["about"],
                    "tokens": sample.training_tokens,
                    "documents": sample.training_documents,
                    "unspaced": is_unspaced(sample),
                    **score(runs, about["sets"]),
                }
            )
            tell(samples[-1])
            if arguments.json:
                document = {"machine": harness.machine(), "candidates": described()}
                write_json(arguments.json, {**document, "samples": samples})


def described() -> dict[str, Any]:
    """What a person types for each candidate."""
    return {
        name: {"method": method, "options": options}
        for name, (method, options) in CANDIDATES.items()
    }


def build(path: Path, about: Mapping[str, Any]) -> Corpus:
    """The corpus of one text, unless it stands there."""
    if is_corpus(path):
        return Corpus.open(path)
    sources = [harness.shared_file(f"corpora/{name}.txt.xz") for name in about["sources"]]
    read = ReadOptions(documents=about.get("documents", "file"))
    request = make_request(sources, read=read, text=about.get("text"))
    return build_corpus(request, path)


def train(corpus: Corpus, method: str, options: Mapping[str, Any], run: Path) -> dict[str, Any]:
    """A run, unless it stands there, and the seconds that it took."""
    told = run.with_suffix(".json")
    if not told.is_file():
        chosen = find_method(method)
        start = time.perf_counter()
        chosen.train_function()(corpus, chosen.config_class()(**options), run, force=True)
        write_json(told, {"seconds": round(time.perf_counter() - start, 1)})
    return {"run": run, **json.loads(told.read_text(encoding="utf-8"))}


def score(
    trained: Mapping[str, Sequence[Mapping[str, Any]]], sets: Mapping[str, Sequence[str]]
) -> dict[str, Any]:
    """Scores of all candidates on each set, and means over the sets of a kind, with tests."""
    config = CompareConfig(
        **{
            kind: tuple(str(harness.shared_file(f"evaluation/{file}")) for file in files)
            for kind, files in sets.items()
        }
    )
    several = {name: runs for name, runs in trained.items() if len(runs) > 1}
    groups = {name: tuple(str(each["run"]) for each in runs) for name, runs in several.items()}
    vectors = {
        str(each["run"]) if name in several else name: load_vectors(each["run"])
        for name, runs in trained.items()
        for each in runs
    }
    found = compare(vectors, read_tasks(config), config, groups=groups)
    document = to_json(found, config, {})
    kept = ("run", "task", "dataset", "score", "low", "high", "items_used", "items_total")
    results = [
        {key: result[key] for key in kept} | {"deviation": result.get("deviation", 0.0)}
        for result in document["results"]
        if result["shared_items"]
        and KINDS.get(result["task"]) == result["metric"]
        and result["run"] in (*trained, "random", "one-hot")
    ]
    n_seeds = {name: len(runs) for name, runs in trained.items()}
    return {
        "seeds": n_seeds,
        "words": {
            name: len(load_vectors(runs[0]["run"]).vocabulary) for name, runs in trained.items()
        },
        "seconds": {
            name: statistics.median(each["seconds"] for each in runs)
            for name, runs in trained.items()
        },
        "results": results,
        "means": [mean for kind in KINDS for mean in means(results, kind, list(trained))],
        "differences": [
            difference
            for kind in KINDS
            for difference in differences(document["pairs"], results, kind, n_seeds)
        ],
    }


def means(
    results: Sequence[Mapping[str, Any]], task: str, runs: Sequence[str]
) -> list[dict[str, Any]]:
    """The mean over the sets of a kind, per candidate, and its standard error over items."""
    found = []
    for run in runs:
        own = [r for r in results if r["run"] == run and r["task"] == task]
        own = [r for r in own if r["score"] is not None and r["low"] is not None]
        if own:
            error = math.hypot(*(deviation(r) for r in own)) / len(own)
            mean = math.fsum(r["score"] for r in own) / len(own)
            found.append({"run": run, "task": task, "score": mean, "error": error})
    return found


def differences(
    pairs: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    task: str,
    runs: Mapping[str, int],
) -> list[dict[str, Any]]:
    """The mean difference over the sets of a kind, per two candidates with so many seeds each.

    Its standard error is that over items and seeds: the sets are of different items, and what
    seeds vary is taken for independent from set to set.
    """
    spread = {(r["run"], r["dataset"]): r["deviation"] for r in results if r["task"] == task}
    found = []
    for a, b in itertools.combinations(runs, 2):
        own = [
            pair
            for pair in pairs
            if (pair["a"], pair["b"], pair["task"], pair["metric"]) == (a, b, task, KINDS[task])
            and pair["low"] is not None
        ]
        if own:
            errors = [
                part
                for pair in own
                for part in (
                    deviation(pair),
                    *(spread[run, pair["dataset"]] / math.sqrt(runs[run]) for run in (a, b)),
                )
            ]
            mean = math.fsum(pair["difference"] for pair in own) / len(own)
            error = math.hypot(*errors) / len(own)
            found.append({"a": a, "b": b, "task": task, "difference": mean, "error": error})
    return found


def deviation(of: Mapping[str, Any]) -> float:
    """The standard deviation that goes with an interval of 95 %."""
    return float(of["high"] - of["low"]) / (2 * 1.96)


def tell(sample: Mapping[str, Any]) -> None:
    """One sample in a few lines."""
    print(f"{sample['text']}, {sample['tokens']:,} tokens", flush=True)
    for run, seconds in sample["seconds"].items():
        own = {
            m["task"]: f"{m['score']:.3f} ±{m['error']:.3f}"
            for m in sample["means"]
            if m["run"] == run
        }
        print(f"  {run:14} {seconds:7.1f} s  {own}", flush=True)


if __name__ == "__main__":
    main()
