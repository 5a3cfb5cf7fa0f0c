"""Count vectors with means of neighbors and of n-grams on a reporting text: scores and time.

One corpus of enwiki2015-AA; train-svd as it is, with ``--side-means`` and with ``--best``, in
turns; processor seconds of the trainings without the corpus. ``bench_quality.py --means`` chose.
"""

import sys
import tempfile
from pathlib import Path
from statistics import median
from typing import Any

import harness
import roles
from bench_evidence import compared
from bench_hyperhyper import processor_seconds

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.pipeline import encode_corpus
from firth.corpora.encoding.request import make_request
from firth.embed.compare.config import CompareConfig

ROLE = roles.REPORTING
TEXT = "enwiki2015-AA"
SETS = {
    "similarity": ("ws353", "simlex999"), "analogy": ("questions-words",),
    "categorization": ("bless",),
}  # fmt: skip
OPTIONS = {"default": [], "--side-means 100": ["--side-means", "100"], "--best": ["--best"]}


def main() -> None:
    """Run the benchmark."""
    arguments = harness.parse(__doc__, repeats=2)
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        source = make_request([roles.open_text(TEXT, role=ROLE)])
        corpus = encode_corpus(source, folder / "corpus").path
        seconds: dict[str, list[float]] = {each: [] for each in OPTIONS}
        for each in harness.turns(list(OPTIONS), arguments.repeats):
            command = ["train-svd", str(corpus), "--out", str(folder / each), "--force"]
            command = [sys.executable, "cli.py", *command, *OPTIONS[each]]
            seconds[each].append(processor_seconds(command))
        runs = {each: [folder / each] for each in OPTIONS}
        config = CompareConfig(sets=roles.set_names(SETS, role=ROLE))
        document = compared(runs, config)
    base = median(seconds["default"])
    results: dict[str, dict[str, Any]] = {
        each: {"processor_seconds": median(of), "runs": of, "times_default": median(of) / base}
        for each, of in seconds.items()
    }
    for result in document["results"]:
        first = ("spearman", "accuracy", "purity")
        if result["metric"] in first and result["shared_items"] and result["run"] in results:
            about = results[result["run"]]
            kept = ("score", "low", "high", "items_used")
            about[result["dataset"]] = {name: result[name] for name in kept}
    print_table(["", "results"], [[each, str(row)] for each, row in results.items()])
    if arguments.json:
        about = {"benchmark": "best", "results": results, "differences": document["pairs"]}
        write_json(arguments.json, {**about, **harness.machine()})


if __name__ == "__main__":
    main()
