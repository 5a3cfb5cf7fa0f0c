"""The evidence of ``firth recommend``: which method suits which text, measured again.

The candidate methods and settings are trained on nested samples of the documents of five texts and
scored on the sets of their language, on the items that all of them cover. Finished runs are kept in
the work folder, so that an interrupted measurement resumes.

    python benchmarks/bench_evidence.py --work /tmp/evidence --json embed/compare/evidence.json
    python benchmarks/bench_evidence.py --tables  # of docs/recommend.md
"""

import argparse
import itertools
import math
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import roles
from scipy.stats import studentized_range

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import bare
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.reading.text_blocks import ReadOptions
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.recommend import good_candidates, is_unspaced, mean_of, read_evidence
from firth.embed.compare.report.document import to_json
from firth.embed.compare.scoring.comparison import compare_vectors
from firth.embed.compare.scoring.open_runs import describe_run
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.formats.vector_files import load_vectors
from firth.embed.registry import find_method

ROLE = roles.REPORTING
CANDIDATES: dict[str, tuple[str, dict[str, Any]]] = {
    "svd-100": ("svd", {"dim": 100}),
    "svd-300": ("svd", {"dim": 300}),
    "skipgram-100": ("skipgram", {"dim": 100}),
    "skipgram-300": ("skipgram", {"dim": 300}),
    "cbow-100": ("cbow", {"dim": 100}),
    "subwords-100": ("skipgram", {"dim": 100, "subwords": "3-6"}),
}
# Evaluation sets of a language by kind; analogies are split by topic because methods may be good
# at one and bad at the other.
ENGLISH = {
    "similarity": ("ws353", "simlex999", "mturk287"),
    "meaning": ("questions-words",),
    "grammar": ("questions-words", "msr"),
}
GERMAN = {
    "similarity": tuple(f"de/{name}" for name in ("gur350", "zg222", "ws353rel", "simlex999")),
    "meaning": ("de/analogies-google",),
    "grammar": ("de/analogies-google",),
}
CHINESE = {
    "similarity": ("zh/wordsim-240", "zh/wordsim-297"),
    "meaning": ("zh/CA8_semantic",),
    "grammar": ("zh/CA8_morphological",),
}
OPTIONS = {"similarity": "similarity", "meaning": "analogy", "grammar": "analogies"}
METRICS = {"similarity": "spearman", "meaning": "accuracy", "grammar": "accuracy"}
# Number of questions in Google's first five sections, which are about meaning; the German file
# lists the questions in the same order without section lines.
GERMAN_MEANING = 8_869
ALL = 10**12  # tokens: the whole text
# One seed is enough for the SVD: scores move in the sixth digit.
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


def main() -> None:
    """Build, train and score; write the results after every sample."""
    arguments = harness.parse(__doc__, more=_own_options)
    if arguments.tables:
        print("\n".join(tables(read_evidence())))
        return
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
                    "seconds": {name: training_seconds(own) for name, own in runs.items()},
                    **score(runs, divided(about["sets"], arguments.work / "sets")),
                }
            )
            print_figures(samples[-1])
            if arguments.json:
                about_all = {
                    "candidates": described(),
                    "factor": significance_factor(len(CANDIDATES)),
                }
                document = {"machine": harness.machine(), **about_all, "samples": samples}
                write_json(arguments.json, document)


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    kinds = parser.add_mutually_exclusive_group(required=True)
    kinds.add_argument("--work", type=Path, help="folder of runs")
    kinds.add_argument("--tables", action="store_true", help="only print the tables")


def described() -> dict[str, Any]:
    """Return the command-line options of each candidate."""
    return {
        name: {"method": method, "options": options}
        for name, (method, options) in CANDIDATES.items()
    }


def build(path: Path, about: Mapping[str, Any], role: roles.Role = ROLE) -> Corpus:
    """Build the corpus of one text unless it exists."""
    if is_corpus(path):
        return Corpus.open(path)
    sources = [roles.open_text(name, role=role) for name in about["sources"]]
    read = ReadOptions(documents=about.get("documents", "file"))
    request = make_request(sources, read=read, text=about.get("text"))
    return encode_corpus(request, path)


def divided(sets: Mapping[str, Sequence[str]], folder: Path) -> dict[str, list[Path]]:
    """Return the sets by kind; a file with both kinds of analogies is split into two."""
    found: dict[str, list[Path]] = {}
    for kind, names in sets.items():
        for name in names:
            path = roles.open_set(name, role=ROLE)
            part = lines_of(path.name, kind, path.read_text(encoding="utf-8").splitlines())
            if part is not None:
                folder.mkdir(parents=True, exist_ok=True)
                path = folder / f"{path.stem}-{kind}.txt"
                path.write_text("".join(f"{line}\n" for line in part), encoding="utf-8")
            found.setdefault(kind, []).append(path)
    return found


def lines_of(name: str, kind: str, lines: Sequence[str]) -> Sequence[str] | None:
    """Return the lines of a file that belong to a kind; None if all of them do."""
    if name == "analogies-google.txt":
        return lines[:GERMAN_MEANING] if kind == "meaning" else lines[GERMAN_MEANING:]
    if name == "wordsim-297.txt":  # pairs in both sets would count twice
        other = roles.open_set("zh/wordsim-240", role=ROLE)
        known = {frozenset(line.split()[:2]) for line in other.read_text("utf-8").splitlines()}
        return [line for line in lines if frozenset(line.split()[:2]) not in known]
    if name == "questions-words.txt":
        part, inside = [], False
        for line in lines:
            if line.startswith(":"):
                inside = line.startswith(": gram") == (kind == "grammar")
            if inside:
                part.append(line)
        return part
    return None


def significance_factor(n_candidates: int) -> float:
    """Return the number of standard errors at which the best of n candidates differs (p < 0.05).

    Tukey's range: the chance that the apparent best of n equally good candidates is this far from
    any other.
    """
    return float(studentized_range.ppf(0.95, n_candidates, math.inf) / math.sqrt(2))


def train(corpus: Corpus, method: str, options: Mapping[str, Any], run: Path) -> Path:
    """Train a run unless it exists."""
    if not run.is_dir():
        chosen = find_method(method)
        chosen.train_function()(corpus, chosen.config_class()(**options), run, force=True)
    return run


def training_seconds(runs: Sequence[Path]) -> float:
    """Return the shortest time of trainings, which other programs and compiling disturb least."""
    return min(map(harness.run_seconds, runs))


def compared(trained: Mapping[str, Sequence[Path]], config: CompareConfig) -> dict[str, Any]:
    """Return the JSON of a comparison of runs, in which the seeds of a method are a group."""
    names = {
        name: [name] if len(runs) == 1 else [f"{name}-{n}" for n in range(1, len(runs) + 1)]
        for name, runs in trained.items()
    }
    paths = {
        name: run
        for method, runs in trained.items()
        for name, run in zip(names[method], runs, strict=True)
    }
    found = compare_vectors(
        {name: load_vectors(run) for name, run in paths.items()},
        read_tasks(config),
        config,
        groups={method: tuple(own) for method, own in names.items() if len(own) > 1},
        fingerprints={name: describe_run(run)["fingerprint"] for name, run in paths.items()},
    )
    return to_json(found, config, {})


def score(trained: Mapping[str, Sequence[Path]], sets: Mapping[str, list[Path]]) -> dict[str, Any]:
    """Return scores of all candidates on each set, and means over the sets of a kind with tests."""
    options: dict[str, tuple[str, ...]] = {}
    for kind, files in sets.items():
        options[OPTIONS[kind]] = options.get(OPTIONS[kind], ()) + tuple(map(str, files))
    kinds = {file.stem: kind for kind, files in sets.items() for file in files}
    config = CompareConfig(**options)
    document = compared(trained, config)
    kept = ("run", "dataset", "score", "low", "high", "items_used", "items_total")
    results = [
        {"kind": kinds[result["dataset"]], **{key: result[key] for key in kept}}
        | {"deviation": result.get("deviation", 0.0)}
        for result in document["results"]
        if result["shared_items"]
        and METRICS[kinds[result["dataset"]]] == result["metric"]
        and result["run"] in (*trained, "random", "one-hot")
    ]
    pairs = [
        {"kind": kinds[pair["dataset"]], **pair}
        for pair in document["pairs"]
        if METRICS[kinds[pair["dataset"]]] == pair["metric"] and pair["low"] is not None
    ]
    n_seeds = {name: len(runs) for name, runs in trained.items()}
    return {
        "seeds": n_seeds,
        "words": {name: len(load_vectors(runs[0]).vocabulary) for name, runs in trained.items()},
        "results": results,
        "means": [mean for kind in METRICS for mean in means(results, kind, list(trained))],
        "differences": [
            difference
            for kind in METRICS
            for difference in differences(pairs, results, kind, n_seeds)
        ],
    }


def means(
    results: Sequence[Mapping[str, Any]], kind: str, runs: Sequence[str]
) -> list[dict[str, Any]]:
    """Return each candidate's mean over the sets of a kind, with standard error over items."""
    found = []
    for run in runs:
        own = [r for r in results if r["run"] == run and r["kind"] == kind]
        own = [r for r in own if r["score"] is not None and r["low"] is not None]
        if own:
            error = math.hypot(*(deviation(r) for r in own)) / len(own)
            mean = math.fsum(r["score"] for r in own) / len(own)
            found.append({"run": run, "kind": kind, "score": mean, "error": error})
    return found


def differences(
    pairs: Sequence[Mapping[str, Any]],
    results: Sequence[Mapping[str, Any]],
    kind: str,
    runs: Mapping[str, int],
) -> list[dict[str, Any]]:
    """Return mean differences over the sets of a kind for every two candidates.

    The standard error covers items and, if there are several, seeds. Sets are treated as
    independent; those of one kind share almost no items.
    """
    spread = {(r["run"], r["dataset"]): r["deviation"] for r in results}
    found = []
    for a, b in itertools.combinations(runs, 2):
        own = [pair for pair in pairs if (pair["a"], pair["b"], pair["kind"]) == (a, b, kind)]
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
            found.append({"a": a, "b": b, "kind": kind, "difference": mean, "error": error})
    return found


def deviation(of: Mapping[str, Any]) -> float:
    """Return the standard deviation that corresponds to a 95 % interval."""
    return float(of["high"] - of["low"]) / (2 * 1.96)


def tables(evidence: Mapping[str, Any]) -> Iterator[str]:
    """Yield the lines of a table for each kind of sets, and one of the times."""
    names = list(evidence["candidates"])
    for kind in (*METRICS, "seconds"):
        yield from ("", kind, "", f"| text | tokens | {' | '.join(f'`{n}`' for n in names)} |")
        yield "|---" * (len(names) + 2) + "|"
        for sample in evidence["samples"]:
            cells = [_cell(sample, kind, name, names, evidence["factor"]) for name in names]
            tokens = f"{sample['tokens'] / 1e6:.1f}M"
            yield f"| {' | '.join((sample['text'], tokens, *cells))} |"


def _cell(
    sample: Mapping[str, Any], kind: str, name: str, names: Sequence[str], factor: float
) -> str:
    """Return a score, bold if it is not significantly worse than the best, or a time."""
    if kind == "seconds":
        return f"{sample['seconds'][name]:.3g}"
    score = bare(mean_of(sample, kind, name)["score"])
    return f"**{score}**" if name in good_candidates(sample, kind, names, factor) else score


def print_figures(sample: Mapping[str, Any]) -> None:
    """Print one sample in a few lines."""
    print(f"{sample['text']}, {sample['tokens']:,} tokens", flush=True)
    for run in sample["words"]:
        own = [mean for mean in sample["means"] if mean["run"] == run]
        scores_text = "  ".join(f"{m['kind']} {m['score']:.3f} ±{m['error']:.3f}" for m in own)
        print(f"  {run:14} {scores_text}", flush=True)


if __name__ == "__main__":
    main()
