"""The tables of the task pages: runs with defaults on English Wikipedia, compared on every task.

SVD, skip-gram, CBOW and skip-gram with n-grams are trained with several seeds; masked-LM runs,
which take an hour, are given by ``--mlm``. One comparison scores all of them. Runs and scores are
kept in the work folder, so that an interrupted measurement resumes. ``--tables`` measures nothing
and writes the stored figures into the tables of docs/.

    python benchmarks/bench_tasks.py --work /tmp/tasks --json benchmarks/results/tasks.json
    python benchmarks/bench_tasks.py --tables
"""

import argparse
import json
import lzma
import os
import re
import statistics
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

import bench_evidence
import harness
import roles

from firth.corpora.artifacts.artifact import read_json, write_json
from firth.corpora.common.console import TerminalReporter
from firth.corpora.common.reporting import reporting_to
from firth.embed.compare.api import Compared, compare
from firth.embed.compare.config import CompareConfig
from firth.embed.compare.inputs.baselines import ONE_HOT, RANDOM
from firth.embed.formats.vector_files import load_vectors
from firth.embed.runs.run import trained

ROLE = roles.REPORTING
METHODS: dict[str, tuple[str, dict[str, Any]]] = {
    "svd": ("svd", {}),
    "skipgram": ("skipgram", {}),
    "cbow": ("cbow", {}),
    "subwords": ("skipgram", {"subwords": "3-6"}),
}
LABELS = {
    "svd": "SVD", "skipgram": "skip-gram", "cbow": "CBOW",
    "subwords": "skip-gram, `--subwords 3-6`",
}  # fmt: skip
SETS = {
    "similarity": ("ws353", "ws353-sim", "ws353-rel", "simlex999", "mturk287", "rg65"),
    "analogy": ("questions-words", "msr"),
    "categorization": ("ap", "bless"),
    "odd-one-out": ("8-8-8",),
    "minimal-pairs": ("blimp-reporting",),
}
PARTS = {"tagging": "ud-ewt", "sentences": "sst2"}  # sets of a training, a dev and a test part
ASSOCIATIONS = Path(__file__).with_name("weat.txt")
PAIRS_OF_PARADIGM = 40
# Tasks whose sections are stored: single tests, and the layers of an encoder.
SECTIONED = ("association", "tagging", "sentences")
KEPT = ("run", "dataset", "metric", "section", "score", "low", "high", "deviation", "p",
        "items_used", "items_total")  # fmt: skip
UD, SST = "en_ewt-ud-test", "stsa.binary"
# By task, which names the page: what an item is, and a column's title, set and metric.
TABLES: dict[str, tuple[str, dict[str, tuple[str, str]]]] = {
    "similarity": ("pairs", {
        "WS-353": ("ws353", "spearman"), "SimLex-999": ("simlex999", "spearman"),
        "MTurk-287": ("mturk287", "spearman"), "RG-65": ("rg65", "spearman"),
    }),
    "analogy": ("questions", {
        "Google 3CosAdd": ("questions-words", "accuracy"),
        "Google 3CosMul": ("questions-words", "accuracy_3cosmul"),
        "Google PairDirection": ("questions-words", "accuracy_pairdirection"),
        "MSR 3CosAdd": ("msr", "accuracy"),
    }),
    "categorization": ("words", {
        "AP purity": ("ap", "purity"), "AP nmi": ("ap", "nmi"), "AP ari": ("ap", "ari"),
        "BLESS ari": ("bless", "ari"),
    }),
    "odd-one-out": ("groups", {
        "8-8-8 accuracy": ("8-8-8", "accuracy"), "8-8-8 opp": ("8-8-8", "opp"),
    }),
    "contexts": ("pairs", {
        "all": ("scws", "spearman"), "two words": ("scws-two-words", "spearman"),
        "the same word twice": ("scws-same-word", "spearman"),
    }),
    "tagging": ("words", {
        "accuracy": (UD, "accuracy"), "window": (UD, "accuracy_window"),
        "ambiguous": (UD, "accuracy_ambiguous"),
        "ambiguous, window": (UD, "accuracy_ambiguous_window"),
        "selectivity": (UD, "selectivity"),
    }),
    "sentences": ("sentences", {
        "mean": (SST, "accuracy"), "attention": (SST, "accuracy_attention"),
        "with margin": (SST, "accuracy_attention_margin"),
    }),
}  # fmt: skip
# By intrinsic measure: the title of its column.
PROPERTIES = {
    "mean_cosine": "mean cosine", "isotropy": "isotropy", "hubness": "hubness",
    "largest_hub": "largest hub", "length_frequency": "length and frequency",
}  # fmt: skip
# By set: a column of the seconds that its probes take.
PROBES = {UD: "UD EWT, 204,577 training words", SST: "SST-2, 6,920 sentences"}
BASELINES = (ONE_HOT, RANDOM)
Document = Mapping[str, Any]


def main() -> None:
    """Measure and write the results, or write the tables of the documentation."""
    arguments = harness.parse(__doc__, more=own_options)
    if arguments.tables:
        docs = harness.ROOT / "docs"
        write_tables(read_json(arguments.json or docs / "results/tasks.json"), docs)
        return
    document = measure(arguments)
    if arguments.json:
        write_json(arguments.json, document)
    for page, mark, lines in tables(document):
        print(f"\n{page}, {mark}", *lines, sep="\n")


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--work", type=Path, help="folder of the corpus, runs and scores")
    parser.add_argument("--seeds", type=int, default=3, help="of each method, at least 2")
    parser.add_argument("--tokens", type=int, default=bench_evidence.ALL, help="of a sample")
    parser.add_argument(
        "--mlm", action="append", default=[], metavar="[NAME=]RUN", help="also compare a masked LM"
    )
    parser.add_argument("--tables", action="store_true", help="only write the tables of docs/")


def measure(arguments: argparse.Namespace) -> dict[str, Any]:
    """Train, compare, and return what the pages show."""
    work, seeds = arguments.work, range(1, arguments.seeds + 1)
    if work is None or len(seeds) < 2:
        sys.exit("measuring needs --work FOLDER and at least 2 --seeds")
    os.environ["FIRTH_CACHE"] = str(work / "cache")
    text = bench_evidence.build(work / "corpus", {"sources": ("enwiki2015-AA",)})
    corpus = text.sample(arguments.tokens)
    folder, train = work / corpus.fingerprint, bench_evidence.train
    named = {
        (run := f"{name}-{seed}"): train(corpus, method, {**options, "seed": seed}, folder / run)
        for name, (method, options) in METHODS.items() for seed in seeds
    }  # fmt: skip
    runs = {name: [named[f"{name}-{seed}"] for seed in seeds] for name in METHODS}
    for name, _, run in (given.rpartition("=") for given in arguments.mlm):
        runs[name or "masked LM"] = [Path(run)]
        named[name or "masked LM"] = Path(run)
    times = work / "seconds.jsonl"
    with reporting_to(SecondsReporter(times)):
        compared = compare(named, sets(work / "sets", minimal_pairs=bool(arguments.mlm)))
    if compared.failures:
        sys.exit("\n".join(compared.failures))
    about: dict[str, dict[str, Any]] = {}
    for name, own in runs.items():
        about[name] = described(own)
        if (start := load_vectors(own[0]).start) is not None:
            about[f"{name} start"] = {"dimensions": start.dim}
    sizes = {name: {"dimensions": each["dimensions"]} for name, each in about.items()}
    seconds = probe_seconds(times, runs)
    return {
        "machine": {k: v for k, v in harness.machine().items() if k != "command"},  # has paths
        "tokens": corpus.training_tokens,
        "runs": about,
        **reduced(compared),
        "probe_seconds": {name: sizes.get(name, {}) | each for name, each in seconds.items()},
    }


def sets(folder: Path, *, minimal_pairs: bool) -> CompareConfig:
    """Return all sets; SCWS also divided into pairs of two words and of one word twice."""
    chosen = {option: names for option, names in SETS.items()
              if minimal_pairs or option != "minimal-pairs"}  # fmt: skip
    files = [*roles.set_names(chosen, role=ROLE)]
    for option, name in PARTS.items():
        parts = [f"{name}-{part}" for part in ("train", "dev", "test")]
        files.append(f"{option}=" + ",".join(str(roles.open_set(p, role=ROLE)) for p in parts))
    scws = roles.open_set("scws", role=ROLE)
    return CompareConfig(
        sets=(
            *files,
            f"contexts={scws}",
            *(f"contexts={part}" for part in divided(scws, folder)),
            f"association={ASSOCIATIONS}",
        ),
        limit=PAIRS_OF_PARADIGM,
        sections=True,
        intrinsic=True,
    )


def divided(scws: Path, folder: Path) -> Iterator[Path]:
    """Write the pairs of SCWS with two words and those with one word twice; yield the files."""
    folder.mkdir(parents=True, exist_ok=True)
    with lzma.open(scws, "rt", encoding="utf-8", newline="\n") as file:
        lines = [(line, line.split("\t")) for line in file]
    for name, same in (("two-words", False), ("same-word", True)):
        path = folder / f"scws-{name}.txt"
        path.write_text("".join(line for line, c in lines if (c[1] == c[3]) == same), "utf-8")
        yield path


class SecondsReporter(TerminalReporter):
    """Also appends the seconds that probes took to a file: scores from the cache take none."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self._path = path

    def note(self, message: str) -> None:
        """Write a message."""
        super().note(message)
        if found := re.fullmatch(r"(.+) on (.+): (\d+) s on one core", message):
            with open(self._path, "a", encoding="utf-8") as file:
                file.write(json.dumps([found[1], found[2], int(found[3])]) + "\n")


def probe_seconds(path: Path, runs: Mapping[str, Sequence[Path]]) -> dict[str, dict[str, float]]:
    """Return the median seconds of the probes by row and set."""
    lines = map(json.loads, path.read_text(encoding="utf-8").splitlines())
    by_run = {(Path(run).name, dataset): seconds for run, dataset, seconds in lines}
    names = {name: [run.name for run in each] for name, each in runs.items()}
    names |= {name: [name] for name in BASELINES}
    return {
        name: {of: statistics.median(by_run[run, of] for run in own) for of in PROBES}
        for name, own in names.items()
    }


def described(runs: Sequence[Path]) -> dict[str, Any]:
    """Return sizes, text and training time of the runs of a row."""
    matrix, training = load_vectors(runs[0]).matrix, trained(runs[0])
    return {
        "words": matrix.shape[0],
        "dimensions": matrix.shape[1],
        "seeds": len(runs),
        "corpus": training and training.corpus,
        "training_seconds": bench_evidence.training_seconds(runs),
    }


def reduced(compared: Compared) -> dict[str, Any]:
    """Return the part of a comparison's JSON that the pages show, by task.

    Rows are those of the printed table, on shared items: means over seeds. Associations and
    intrinsic measures concern single vectors, so the first seed is shown (and two for agreement).
    """
    document, rows = compared.document, set(compared.comparison.rows)
    singles = {run for run in compared.comparison.runs if method_and_seed(run)[1] == "1"}
    results: dict[str, list[dict[str, Any]]] = {}
    for each in document["results"]:
        task = each["task"]
        wanted = each["run"] in (singles if task == "association" else rows)
        if each["shared_items"] and wanted and ("section" not in each or task in SECTIONED):
            kept = {key: each[key] for key in KEPT if key in each}
            results.setdefault(task, []).append(kept | {"run": each["run"].removesuffix("-*")})
    pairs = [
        {**pair, "a": pair["a"].removesuffix("-*"), "b": pair["b"].removesuffix("-*")}
        for pair in document["pairs"]
        if {pair["a"], pair["b"]} <= rows - set(BASELINES)
        and ("section" not in pair or pair["task"] == "association")
    ]
    agreements = [
        {"pair": pair} | {key: each[key] for key in ("metric", "score", "low", "high", "words")}
        for each in document["agreements"]
        if (pair := agreement_label(each["a"], each["b"]))
    ]
    return {"results": results, "pairs": pairs, "properties": document["properties"],
            "agreements": agreements}  # fmt: skip


def method_and_seed(run: str) -> tuple[str, str]:
    """Return the two parts of the name of a trained run; other runs have one seed."""
    name, _, seed = run.rpartition("-")
    return (name, seed) if name in METHODS else (run, "1")


def agreement_label(a: str, b: str) -> str:
    """Return the label of a row: two seeds of a method, or two runs of the first seed; else ""."""
    (method, seed), (other, other_seed) = method_and_seed(a), method_and_seed(b)
    if ONE_HOT in (method, other):
        return ""
    if method == other and {seed, other_seed} == {"1", "2"}:
        return f"{LABELS[method]}: two seeds"
    if seed == other_seed == "1":
        return f"{LABELS.get(method, method)}; {LABELS.get(other, other)}"
    return ""


def tables(document: Document) -> Iterator[tuple[str, str, list[str]]]:
    """Yield the page, the mark and the lines of every table."""
    agreements: dict[str, list[str]] = {}
    for each in document["agreements"]:
        agreements.setdefault(each["pair"], [each["pair"]]).append(number(each["score"]))
    seconds = [
        [LABELS.get(run, run), str(found.get("dimensions", "")),
         *(f"{found[dataset]:.0f}" for dataset in PROBES)]
        for run, found in document["probe_seconds"].items()
    ]  # fmt: skip
    for page, part, lines in (
        *((f"tasks/{task}", f"results/{task}/{{run}}", score_table(document, task))
          for task in TABLES),
        ("tasks/associations", "results/association/{section}", association_table(document)),
        ("tasks/intrinsic", "properties/{run}", property_table(document)),
        ("tasks/intrinsic", "agreements/{pair}",
         markdown(["", "neighbors", "Procrustes"], agreements.values())),
        ("performance", "probe_seconds/*", markdown(["", "dimensions", *PROBES.values()], seconds)),
    ):  # fmt: skip
        yield f"{page}.md", f"results/tasks.json#{part}", lines


def write_tables(document: Document, docs: Path) -> None:
    """Replace the tables below their marks, and marks that say that nothing is stored yet."""
    for page, mark, lines in tables(document):
        path = docs / page
        old = path.read_text(encoding="utf-8")
        new = "\n".join([f"<!-- figures: {mark} -->", *lines, ""])
        pattern = rf"<!-- figures: (not stored \()?{re.escape(mark)}(;.*)? -->\n(\|.*\n)+"
        text, found = re.subn(pattern, lambda _, new=new: new, old)  # type: ignore[misc]
        if found != 1:
            sys.exit(f"{path}: {found} tables are marked {mark}; expected 1")
        path.write_text(text, encoding="utf-8")


def score_table(document: Document, task: str) -> list[str]:
    """Return a table with a row per run and a column per set and metric."""
    items, columns = TABLES[task]
    results = {
        (each["run"], each["dataset"], each["metric"]): each
        for each in document["results"][task]
        if "section" not in each
    }
    scored = {run for run, *_ in results}
    runs = [run for run in (*document["runs"], *BASELINES) if run in scored]
    heads = [
        f"{title}, {results[runs[0], *column]['items_used']:,} {items}"
        for title, column in columns.items()
    ]
    return markdown(["vectors, dimensions", *heads], [
        [label(document, run), *(cell(results[run, *column]) for column in columns.values())]
        for run in runs
    ])  # fmt: skip


def association_table(document: Document) -> list[str]:
    """Return a table with a row per test and a column per run of the first seed."""
    results = document["results"]["association"]
    runs = list(dict.fromkeys(each["run"] for each in results if each.get("p") is not None))
    rows = []
    for section in dict.fromkeys(each["section"] for each in results):
        own = {each["run"]: each for each in results if each["section"] == section}
        scores = [f"{cell(own[run], 2)} {p_value(own[run].get('p'))}".rstrip() for run in runs]
        first = own[runs[0]]
        rows.append([section, *scores, f"{first['items_used']}/{first['items_total']}"])
    return markdown(["", *(label(document, run) for run in runs), "words"], rows)


def property_table(document: Document) -> list[str]:
    """Return the intrinsic measures of each run of the first seed."""
    rows: dict[str, dict[str, str]] = {}
    for each in document["properties"]:
        metric, text = (
            each["metric"],
            number(each["score"], 2 if each["metric"] == "hubness" else 3),
        )
        if metric == "largest_hub" and each["score"] is not None:
            text = f"{each['score']:.0f}, *{each['word']}*"
        if method_and_seed(each["run"])[1] == "1":
            rows.setdefault(each["run"], {})[metric] = text
    head = f"{document['properties'][0]['words']:,} words of Wikipedia"
    return markdown([head, *PROPERTIES.values()], [
        [label(document, run), *(cells[metric] for metric in PROPERTIES)]
        for run, cells in rows.items()
    ])  # fmt: skip


def label(document: Document, run: str) -> str:
    """Return the label of a run with its dimensions."""
    name = method_and_seed(run)[0]
    about = document["runs"].get(name)
    if about is None:
        return f"{name}, 300" if name == RANDOM else name
    return f"{LABELS.get(name, name)}, {about['dimensions']}"


def cell(result: Mapping[str, Any], digits: int = 3) -> str:
    """Return a score with its interval and its deviation over seeds."""
    if result["score"] is None:
        return "undefined"
    parts = [number(result["score"], digits)]
    if result["low"] is not None:
        parts.append(f"[{number(result['low'], digits)} {number(result['high'], digits)}]")
    deviation = number(result.get("deviation", 0.0), digits)
    if deviation != number(0.0, digits):
        parts.append(f"±{deviation}")
    return " ".join(parts)


def p_value(p: float | None) -> str:
    """Return a p-value; the fourth decimal only below .01."""
    return "" if p is None else number(p, 4 if p < 0.01 else 2)


def number(value: float | None, digits: int = 3) -> str:
    """Return a number without the zero before its decimal point."""
    if value is None:
        return "–"
    return re.sub(r"^(−?)0\.", r"\1.", f"{value:z.{digits}f}".replace("-", "−"))


def markdown(heads: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    """Return the lines of a table."""
    head, *body = (f"| {' | '.join(line)} |".replace("|  |", "| |") for line in (heads, *rows))
    return [head, f"|{'---|' * len(heads)}", *body]


if __name__ == "__main__":
    main()
