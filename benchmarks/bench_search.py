"""Questions to a corpus: the index, the first 100 lines of words of all frequencies, collocates.

Each question is asked of a corpus that is opened anew, with the files in the system's cache. The
words are those of ranks 1, 2, 4, 8, and so on.
"""

import argparse
import statistics
import time
from collections.abc import Callable, Sequence
from typing import Any

import harness
import roles

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import open_or_build
from firth.corpora.store.collocates import collocates
from firth.corpora.store.concordance import concordance
from firth.corpora.store.corpus import Corpus
from firth.corpora.store.occurrences import INDEX, Occurrences

ROLE = roles.REPORTING
TEXT = "enwiki2015-AA"
QUESTIONS: dict[str, Callable[[Corpus, str], Any]] = {
    "100 lines": lambda corpus, word: concordance(corpus, word),
    "100 lines, sorted by the right": lambda corpus, word: concordance(corpus, word, order="right"),
    "100 lines near *the*": lambda corpus, word: concordance(corpus, word, near="the"),
    "collocates with intervals": lambda corpus, word: collocates(corpus, word),
}


def seconds_of(ask: Callable[[Corpus, str], Any], corpus: Corpus, words: Sequence[str]) -> Any:
    """Return the seconds of a question about each word."""
    ask(corpus, words[-1])  # compiles
    found = []
    for word in words:
        opened = Corpus.open(corpus.path)
        started = time.perf_counter()
        ask(opened, word)
        found.append(time.perf_counter() - started)
    return found


def index_seconds(corpus: Corpus, repeats: int) -> list[float]:
    """Return the seconds of making the index, and leave it in place."""
    found = []
    for _ in range(repeats + 1):
        (corpus.path / INDEX).unlink(missing_ok=True)
        started = time.perf_counter()
        Occurrences(corpus).of(0)
        found.append(time.perf_counter() - started)
    return found[1:]  # the first compiles


def main() -> None:
    """Time all questions."""
    arguments = harness.parse(__doc__, repeats=3, more=_own_options)
    corpus = open_or_build(roles.open_text(arguments.text, role=ROLE))
    ranks = [2**power for power in range(40) if 2**power <= len(corpus.vocabulary)]
    words = [corpus.vocabulary[rank - 1] for rank in ranks]
    found: dict[str, Any] = {"index": {"seconds": index_seconds(corpus, arguments.repeats)}}
    found["index"]["median"] = statistics.median(found["index"]["seconds"])
    found["index"]["bytes"] = (corpus.path / INDEX).stat().st_size
    for name, ask in QUESTIONS.items():
        seconds = seconds_of(ask, corpus, words)
        found[name] = {
            "median": statistics.median(seconds), "most": max(seconds), "seconds": seconds,
        }  # fmt: skip
    print_table(
        ["", "median, ms", "most, ms"],
        [[name, round(1000 * each["median"], 1), round(1000 * each.get("most", 0), 1)]
         for name, each in found.items()],
    )  # fmt: skip
    if arguments.json:
        about = {"text": arguments.text, "tokens": corpus.n_tokens, "words": words}
        write_json(arguments.json, {"benchmark": "search", **about, "results": found,
                                    **harness.machine()})  # fmt: skip


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the text."""
    parser.add_argument("--text", default=TEXT)


if __name__ == "__main__":
    main()
