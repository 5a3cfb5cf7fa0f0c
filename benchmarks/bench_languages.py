"""Effect of text settings in German and Chinese, on evaluation sets of these languages.

Several corpora per language are built from one text with different text settings; all methods are
trained on each, CBOW and skip-gram with several seeds. A comparison scores some runs on the items
that all of them cover. Finished runs are kept in the work folder, so that an interrupted
measurement resumes.

    python benchmarks/bench_languages.py --work /tmp/languages --json languages.json
"""

import argparse
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import bench_evidence
import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.store.corpus import Corpus
from firth.corpora.text.segment import TextSettings
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import ONE_HOT, RANDOM
from firth.embed.compare.inputs.lookup import find_words
from firth.embed.compare.scoring.sets import read_tasks
from firth.embed.compare.task import Task
from firth.embed.formats.vector_files import load_vectors
from firth.embed.registry import find_method

METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "svd": ("svd", {}),
    "cbow": ("cbow", {}),
    "skipgram": ("skipgram", {}),
    "subwords": ("skipgram", {"subwords": "3-6"}),
    "short subwords": ("skipgram", {"subwords": "1-2"}),
    "mlm": ("mlm", {"preset": "tiny"}),
}
METRICS = ("spearman", "accuracy")  # those that papers report
ROLE = roles.REPORTING
# By language: its text, its corpora with their methods, its evaluation sets, and the comparisons.
LANGUAGES: dict[str, dict[str, Any]] = {
    "German": {
        "text": "eltec-de",
        "corpora": {
            "de": (TextSettings(), ("svd", "cbow", "skipgram", "subwords", "mlm")),
            "de-case": (TextSettings(keep_case=True), ("svd", "cbow", "skipgram", "subwords")),
            "de-plain": (TextSettings(strip_accents=True), ("svd", "skipgram")),
            "de-lemmas": (TextSettings(lemmatize="de"), ("svd",)),
        },
        "similarity": tuple(
            f"de/{name}"
            for name in ("gur65", "gur350", "zg222", "simlex999", "ws353sim", "ws353rel")
        ),
        "analogy": ("de/analogies-google",),
        "comparisons": {
            "methods": ("de/svd", "de/cbow", "de/skipgram", "de/subwords", "de/mlm"),
            "case": (
                *("de/svd", "de-case/svd", "de/cbow", "de-case/cbow"),
                *("de/skipgram", "de-case/skipgram", "de/subwords", "de-case/subwords"),
            ),
            "lemmas": ("de/svd", "de-lemmas/svd"),
            "accents": ("de/svd", "de-plain/svd", "de/skipgram", "de-plain/skipgram"),
        },
    },
    "Chinese": {
        "text": "zh-modern",
        "corpora": {
            "zh-jieba": (
                TextSettings(segmenter="jieba"),
                ("svd", "cbow", "skipgram", "short subwords", "subwords", "mlm"),
            ),
            "zh-characters": (TextSettings(segmenter="characters"), ("svd",)),
        },
        "similarity": ("zh/wordsim-240", "zh/wordsim-297"),
        "analogy": ("zh/CA8_semantic", "zh/CA8_morphological"),
        "comparisons": {
            "methods": (
                *("zh-jieba/svd", "zh-jieba/cbow", "zh-jieba/skipgram"),
                *("zh-jieba/short subwords", "zh-jieba/subwords", "zh-jieba/mlm"),
            ),
            "characters": ("zh-jieba/svd", "zh-characters/svd"),
        },
    },
}


def main() -> None:
    """Build, train and score; write the results after every language."""
    arguments = harness.parse(__doc__, more=own_options)
    figures: dict[str, Any] = {"machine": harness.machine()}
    figures["machine"].pop("command")  # contains the path of the work folder
    figures |= {"seeds": arguments.seeds, "minutes": arguments.minutes}
    for language in arguments.language or LANGUAGES:
        about = LANGUAGES[language]
        if arguments.comparison:
            about = only(about, arguments.comparison)
        figures[language] = measure(about, arguments)
        print_figures(language, figures[language])
        if arguments.json:
            write_json(arguments.json, figures)


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--work", type=Path, required=True, help="folder of corpora and runs")
    parser.add_argument("--seeds", type=int, default=3, help="of each predictive method")
    parser.add_argument("--minutes", type=float, default=0, help="of a masked LM, too; 0 for none")
    parser.add_argument("--comparison", help="only this one, with the runs it needs")
    parser.add_argument("--language", choices=LANGUAGES, action="append", help="only these")


def only(about: Mapping[str, Any], comparison: str) -> dict[str, Any]:
    """Return one comparison of a language, with the corpora and methods it needs."""
    runs = about["comparisons"][comparison]
    corpora = {
        name: (settings, tuple(method for method in methods if f"{name}/{method}" in runs))
        for name, (settings, methods) in about["corpora"].items()
    }
    needed = {name: each for name, each in corpora.items() if each[1]}
    return {**about, "corpora": needed, "comparisons": {comparison: runs}}


def measure(about: Mapping[str, Any], arguments: argparse.Namespace) -> dict[str, Any]:
    """Return all results of one language: corpora, coverage and comparisons."""
    tasks = read_tasks(sets_of(about))
    corpora, runs = {}, {}
    for name, (settings, methods) in about["corpora"].items():
        text = {"sources": (about["text"],), "documents": "block", "text": settings}
        corpus = bench_evidence.build(arguments.work / f"corpus-{name}", text)
        for method in methods:
            if method != "mlm" or arguments.minutes:
                runs[f"{name}/{method}"] = trained(corpus, name, method, arguments)
        corpora[name] = {
            **described(corpus, settings),
            "unknown": unknown(runs[f"{name}/svd"][0], tasks),
        }
    comparisons = {
        name: score({run: runs[run] for run in members if run in runs}, sets_of(about))
        for name, members in about["comparisons"].items()
    }
    return {"corpora": corpora, "items": covered_items(comparisons), "comparisons": comparisons}


def sets_of(about: Mapping[str, Any]) -> CompareConfig:
    """Return the sets of a language."""
    sets = {option: about[option] for option in ("similarity", "analogy")}
    return CompareConfig(sets=roles.set_names(sets, role=ROLE))


def described(corpus: Corpus, settings: TextSettings) -> dict[str, Any]:
    """Return the sizes and text settings of a corpus."""
    return {
        "tokens": corpus.training_tokens,
        "types": len(corpus.vocabulary),
        "documents": corpus.training_documents,
        "all_tokens": corpus.n_tokens,
        "all_documents": corpus.n_documents,
        "text": settings.to_json(),
    }


def trained(corpus: Corpus, name: str, method: str, arguments: argparse.Namespace) -> list[Path]:
    """Train the runs of one method unless they exist; one seed for SVD and masked LM."""
    chosen, options = METHODS[method]
    budget = {"minutes": arguments.minutes} if method == "mlm" else {}
    runs = []
    for seed in range(1, 2 if method in ("svd", "mlm") else arguments.seeds + 1):
        run = arguments.work / name / f"{method.replace(' ', '-')}-{seed}"
        if not run.is_dir():
            print(f"... {run}", flush=True)
            run.parent.mkdir(parents=True, exist_ok=True)
            found = find_method(chosen)
            config = found.config_class()(**options, **budget, seed=seed)
            found.train_function()(corpus, config, run, force=False)
        runs.append(run)
    return runs


def unknown(run: Path, tasks: Sequence[Task]) -> dict[str, dict[str, int]]:
    """Return for each set its words, the words a run does not cover, and why.

    ``several``: segmentation splits the word. ``script``: it has non-ASCII characters that no word
    of the run has, such as traditional characters with a simplified text, or characters newer than
    the text.
    """
    vectors = load_vectors(run)
    known = set("".join(vectors.vocabulary))
    found = {}
    for task in tasks:
        texts = list(dict.fromkeys(task.texts()))
        rows = find_words(vectors, texts).rows
        missing = [text for text in texts if rows[text] < 0]
        cut = [text for text in missing if len(vectors.text.words(text)) > 1]
        foreign = [text for text in missing if letters(vectors.text.words(text)) - known]
        found[task.dataset] = {
            "words": len(texts),
            "unknown": len(missing),
            "several": len(cut),
            "script": len(foreign),
        }
    return found


def letters(words: Sequence[str]) -> set[str]:
    """Return the non-ASCII characters of some words."""
    return {character for character in "".join(words) if not character.isascii()}


def score(trained_runs: Mapping[str, Sequence[Path]], config: CompareConfig) -> dict[str, Any]:
    """Score all runs on shared items, each on its own items, and test every difference."""
    document = bench_evidence.compared(trained_runs, config)
    shown = {*trained_runs, ONE_HOT, RANDOM}
    kept = ("metric", "score", "low", "high", "items_used", "items_total", "shared_items")
    more = ("items_composed", "seeds", "deviation")
    return {
        "results": [
            {"run": result["run"], "dataset": result["dataset"]}
            | {key: result[key] for key in kept}
            | {key: result[key] for key in more if key in result}
            for result in document["results"]
            if result["run"] in shown and result["metric"] in METRICS
        ],
        "pairs": [
            pair
            for pair in document["pairs"]
            if {pair["a"], pair["b"]} <= set(trained_runs) and pair["metric"] in METRICS
        ],
    }


def covered_items(comparisons: Mapping[str, Any]) -> dict[str, dict[str, int]]:
    """Return the items of each set, and by run those that it covers by itself."""
    found: dict[str, dict[str, int]] = {"set": {}}
    for comparison in comparisons.values():
        for result in comparison["results"]:
            if not result["shared_items"] and result["run"] not in (ONE_HOT, RANDOM):
                found["set"][result["dataset"]] = result["items_total"]
                found.setdefault(result["run"], {})[result["dataset"]] = result["items_used"]
    return found


def print_figures(language: str, figures: Mapping[str, Any]) -> None:
    """Print the results of one language."""
    print(language)
    for name, corpus in figures["corpora"].items():
        print(f"  {name}: {corpus['tokens']:,} tokens, {corpus['types']:,} types")
        for dataset, counts in corpus["unknown"].items():
            print(f"    {dataset:24}", *(f"{key} {count}" for key, count in counts.items()))
    for name, comparison in figures["comparisons"].items():
        print(f"  {name}")
        for result in comparison["results"]:
            if result["score"] is not None and result["low"] is not None:
                interval = f"[{result['low']:.3f} {result['high']:.3f}]"
                place = "shared" if result["shared_items"] else "own"
                print(
                    f"    {result['dataset']:24}{result['metric']:18}{result['run']:24}"
                    f"{result['score']:.3f} {interval} {result['items_used']} {place}"
                )


if __name__ == "__main__":
    main()
