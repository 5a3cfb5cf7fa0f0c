"""Effect of each option of skip-gram and CBOW on quality, and the variance over seeds.

Each variant differs from the defaults in one or a few options. It is trained with several seeds on
the same text and scored on the same sets, on the items the run covers: Spearman, accuracy by
3CosAdd among the 30,000 most frequent words, and purity. The texts are 1, 4 and 16 million words of
English Wikipedia and the sets MTurk-287, RG-65, MSR and AP, which settings may be chosen on.
Every variant is compared with the first one of its text and method: the difference of the means
over seeds, with Welch's 95 % interval. ``--role reporting`` measures a single variant on other
text, up to 50 million words, on WS-353, SimLex-999 and Google's analogies. ``--engine gensim``
trains the same variants with gensim's word2vec.

    python benchmarks/bench_word2vec_quality.py --corpus 1M-AB --seeds 1 2 3 4 5 \
        --variant '' --variant deterministic=True --json word2vec-deterministic.json
"""

import argparse
import dataclasses
import statistics
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import bare
from firth.corpora.common.errors import FirthError
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.corpora.store.corpus import Corpus, is_corpus
from firth.embed.compare.task import Task
from firth.embed.formats.vector_files import load_vectors
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig
from firth.embed.word2vec.train import train_cbow, train_skipgram

ROLE = roles.TUNING
# By role: the sets, and the parts of English Wikipedia that make each text.
SETS: dict[roles.Role, dict[str, Sequence[str]]] = {
    roles.TUNING: {
        "similarity": ("mturk287", "rg65"), "analogy": ("msr",), "categorization": ("ap",),
    },
    roles.REPORTING: {"similarity": ("ws353", "simlex999"), "analogy": ("questions-words",)},
}  # fmt: skip
TEXTS: dict[roles.Role, dict[str, Sequence[str]]] = {
    roles.TUNING: {"1M-AB": ("AB",), "4M-AB": ("AB",), "16M-AB": ("AB",)},
    roles.REPORTING: {"1M": ("AA",), "16M": ("AA",), "50M": ("AA", "AB", "AC")},
}
METHODS: dict[str, Any] = {
    "skipgram": (SkipGramConfig, train_skipgram),
    "cbow": (CbowConfig, train_cbow),
}
_SMALL_BYTES = {"1M": 6_500_000, "4M": 26_000_000}  # of so many words

VARIANTS: list[dict[str, Any]] = [
    {},
    {"learning_rate": 0.0125},
    {"learning_rate": 0.05},
    {"learning_rate": 0.1},
    {"window": 2},
    {"window": 10},
    {"window_weighting": "flat"},
    {"negatives": 2},
    {"negatives": 10},
    {"negatives": 15},
    {"subsample": 0.0},
    {"subsample": 1e-4},
    {"subsample": 1e-5},
    {"unigram_exponent": 1.0},
    {"boundary": "sentence"},
    {"boundary": "document"},
    {"punctuation": "keep"},
    {"dim": 50},
    {"dim": 300},
    {"dim": 300, "learning_rate": 0.05},
    {"epochs": 1},
    {"epochs": 15},
    {"combine": "sum"},
]


def text_files(name: str, folder: Path, role: roles.Role) -> list[Path]:
    """Return the files of one text; a small one ends at an article boundary."""
    files = [roles.open_text(f"enwiki2015-{part}", role=role) for part in TEXTS[role][name]]
    n_bytes = _SMALL_BYTES.get(name.partition("-")[0])
    if n_bytes is None:
        return files
    with open(harness.unpacked(files[0]), "rb") as file:
        head = file.read(n_bytes)
    small = folder / f"enwiki2015-{name}.txt"
    small.write_bytes(head[: head.rindex(b"</doc>") + len(b"</doc>\n")])
    return [small]


def open_text(name: str, folder: Path, role: roles.Role) -> Corpus:
    """Return the corpus of one text, or an existing corpus."""
    if is_corpus(Path(name)):
        return Corpus.open(name)
    if name not in TEXTS[role]:
        named = ", ".join(TEXTS[role])
        raise SystemExit(f"--corpus {name}: is neither a corpus nor one of {named}")
    return encode_corpus(make_request(text_files(name, folder, role)), folder / f"corpus-{name}")


def train_and_score(
    method: str, corpus: Corpus, options: Mapping[str, Any], tasks: Sequence[Task]
) -> dict[str, Any]:
    """Train one run; return its seed, scores and seconds."""
    config_class, train = METHODS[method]
    with tempfile.TemporaryDirectory() as scratch:
        begun = time.perf_counter()
        run = train(corpus, config_class(**options), Path(scratch) / "run")
        seconds = time.perf_counter() - begun
        scores = harness.score_by_set(tasks, load_vectors(run))
        return {"seed": options["seed"], "seconds": round(seconds, 1), "scores": scores}


def summary(runs: Sequence[Mapping[str, Any]]) -> dict[str, dict[str, float | None]]:
    """Return mean and standard deviation over the seeds, by set."""
    found: dict[str, dict[str, float | None]] = {}
    for name in runs[0]["scores"]:
        values = [run["scores"][name] for run in runs if run["scores"][name] is not None]
        found[name] = {
            "mean": round(statistics.mean(values), 4) if values else None,
            "deviation": round(statistics.stdev(values), 4) if len(values) > 1 else None,
        }
    return found


def differences(
    runs: Sequence[Mapping[str, Any]], base: Sequence[Mapping[str, Any]]
) -> dict[str, dict[str, float]]:
    """Return by set how much the mean of runs exceeds that of others, with Welch's interval."""
    from scipy.stats import ttest_ind

    found = {}
    for name in base[0]["scores"]:
        a, b = ([run["scores"][name] for run in each] for each in (runs, base))
        if None not in (*a, *b) and min(len(a), len(b)) > 1:
            interval = ttest_ind(a, b, equal_var=False).confidence_interval(0.95)
            found[name] = {
                "difference": round(statistics.mean(a) - statistics.mean(b), 4),
                "low": round(float(interval.low), 4),
                "high": round(float(interval.high), 4),
            }
    return found


def line(about: Mapping[str, Any]) -> str:
    """Format a variant's result."""
    numbers = "  ".join(
        f"{name} {_figure(entry['mean'])}±{_figure(entry['deviation'])}"
        for name, entry in about["summary"].items()
    )
    seconds = statistics.median(run["seconds"] for run in about["runs"])
    changes = " ".join(f"{name}={value}" for name, value in about["variant"].items())
    head = f"{about['corpus']} {about['method']} {about['engine']} {changes or '(defaults)'}"
    return f"{head}:  {numbers}  {seconds:.1f} s"


def parse_variant(text: str) -> dict[str, Any]:
    """Parse ``window=10 dim=300`` into options with the types of their defaults."""
    defaults = {
        field.name: field.default
        for config_class, _ in reversed(METHODS.values())
        for field in dataclasses.fields(config_class)
    }
    options = {}
    for part in text.split():
        name, _, value = part.partition("=")
        if name not in defaults:
            raise SystemExit(f"--variant {text!r}: {name} is not an option of skip-gram or CBOW")
        options[name] = _like(defaults[name], value)
    return options


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, more=_own_options)
    variants = [parse_variant(text) for text in arguments.variant or []] or VARIANTS
    if arguments.role is roles.REPORTING and len(variants) > 1:
        raise SystemExit("--role reporting: compares no variants; pass one --variant")
    tasks = roles.read_sets(SETS[arguments.role], role=arguments.role)
    figures: dict[str, Any] = {"machine": harness.machine(), "results": []}
    with tempfile.TemporaryDirectory() as folder:
        for name in arguments.corpus or TEXTS[arguments.role]:
            corpus = open_text(name, Path(folder), arguments.role)
            for method in arguments.method or METHODS:
                for about in series(name, corpus, method, variants, tasks, arguments):
                    figures["results"].append(about)
                    if arguments.json:
                        write_json(arguments.json, figures)


def series(
    name: str,
    corpus: Corpus,
    method: str,
    variants: Sequence[Mapping[str, Any]],
    tasks: Sequence[Task],
    arguments: argparse.Namespace,
) -> Iterator[dict[str, Any]]:
    """Yield the variants measured, each after the first with its difference from the first."""
    first = None
    for variant in variants:
        about = measured(name, corpus, method, variant, tasks, arguments)
        if about is None:
            continue
        if first is not None:
            about["from_first"] = differences(about["runs"], first["runs"])
            for dataset, found in about["from_first"].items():
                print(f"  {dataset}: {found['difference']} [{found['low']} {found['high']}]")
        first = first or about
        yield about


def measured(
    name: str,
    corpus: Corpus,
    method: str,
    variant: Mapping[str, Any],
    tasks: Sequence[Task],
    arguments: argparse.Namespace,
) -> dict[str, Any] | None:
    """Measure and print all seeds of one variant; None if the method or engine lacks it."""
    base = {"engine": arguments.engine, "threads": arguments.threads, **variant}
    if not base.keys() <= {field.name for field in dataclasses.fields(METHODS[method][0])}:
        return None
    try:
        runs = [
            train_and_score(method, corpus, {**base, "seed": seed}, tasks)
            for seed in arguments.seeds
        ]
    except FirthError as error:
        print(f"left out: {name} {method} {dict(variant)}: {error}", flush=True)
        return None
    about = {
        "corpus": name, "method": method, "engine": base["engine"], "variant": dict(variant),
        "summary": summary(runs), "runs": runs,
    }  # fmt: skip
    print(line(about), flush=True)
    return about


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument(
        "--corpus",
        action="append",
        help=f"only these: {', '.join(TEXTS[ROLE])}, or a corpus directory",
    )
    parser.add_argument("--method", choices=METHODS, action="append", help="only these methods")
    parser.add_argument("--engine", choices=("firth", "gensim"), default="firth")
    parser.add_argument("--seeds", type=int, nargs="+", default=[1, 2, 3], help="one run of each")
    parser.add_argument("--threads", type=int, help="all cores by default")
    parser.add_argument(
        "--variant",
        action="append",
        metavar="'NAME=VALUE ...'",
        help="only this, and so on; '' for the defaults",
    )
    roles.add_role_option(parser, ROLE)


def _like(default: Any, value: str) -> Any:
    """Convert text to the type of the default."""
    if isinstance(default, bool):
        return value == "True"
    if isinstance(default, int | float):
        return type(default)(value)
    return int(value) if default is None and value.isdigit() else value


def _figure(value: float | None) -> str:
    """Format a number with three decimals, or a dash."""
    return "-" if value is None else bare(value)


if __name__ == "__main__":
    main()
