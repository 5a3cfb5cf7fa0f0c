"""Peaks of anonymous memory of each command, beside the bound that it was given.

The text is one of ``scale_text.py``. Skip-gram and CBOW get the least that they accept. Each
command first runs on a short text, which compiles its kernels.
"""

import argparse
import dataclasses
import re
import tempfile
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

import harness
from bench_scale import measured
from scale_text import write_text

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.common.errors import SettingError
from firth.corpora.common.memory import parse_memory
from firth.corpora.store.corpus import Corpus
from firth.embed.vectors.word_vectors import WordVectors
from firth.embed.word2vec.config import CbowConfig, SkipGramConfig, Word2VecConfig
from firth.embed.word2vec.trainer import build_trainer

_SHORT = 200_000  # words
_LINE_BYTES = 40_000_000
ALL = {"min_count": 1, "epochs": 1}
WORD2VEC: dict[str, tuple[type[Word2VecConfig], dict[str, Any]]] = {
    "train-skipgram": (SkipGramConfig, {"epochs": 1}),
    "train-skipgram, all words": (SkipGramConfig, {**ALL, "dim": 300}),
    "train-skipgram, deterministic": (SkipGramConfig, {**ALL, "deterministic": True}),
    "train-skipgram, n-grams": (SkipGramConfig, {**ALL, "subwords": "3-6"}),
    "train-cbow": (CbowConfig, {"epochs": 1}),
}


def rows(folder: Path, n_words: int) -> dict[str, dict[str, Any]]:
    """Measure all commands on a text of one size."""
    text, line, corpus = folder / "text.txt", folder / "line.txt", folder / "corpus"
    write_text(text, n_words)
    line.write_bytes(text.read_bytes()[:_LINE_BYTES].replace(b"\n", b" "))
    svd = folder / "svd"
    found = {
        "build-corpus": peak("400M", "build-corpus", text, "--documents", "block", "--out", corpus),
        "build-corpus, one line": peak("400M", "build-corpus", line, "--out", folder / "line"),
        "train-svd": peak("600M", "train-svd", corpus, "--dim", 300, "--out", svd),
    }
    for name, (config, options) in WORD2VEC.items():
        given = [part for key, value in options.items() for part in as_option(key, value)]
        bound = least(corpus, config(**options))
        out = ["--out", folder / "word2vec"]
        found[name] = peak(f"{bound}M", name.partition(",")[0], corpus, *given, *out)
    run = folder / "word2vec"
    words = WordVectors.open(run).vocabulary[:200]
    found["neighbors of 200 words"] = peak(None, "neighbors", run, *words)
    found["analogy"] = peak(None, "analogy", run, *words[:3])
    pairs = folder / "pairs.tsv"
    pairs.write_text("".join(f"{a}\t{b}\t{n}\n" for n, (a, b) in enumerate(pairwise(words))))
    found["compare"] = peak(None, "compare", run, svd, "--similarity", f"{pairs}")
    return found


def least_of(call: Callable[[str], Any]) -> int:
    """Return the least memory that the refusal of 1 MB names, in MiB."""
    try:
        call("1M")
    except SettingError as error:
        return int(re.findall(r"at least `memory=(\d+)M`", str(error))[0])
    raise AssertionError("1 MB was accepted")


def as_option(name: str, value: Any) -> list[Any]:
    """Return a setting as a command's option."""
    flag = f"--{name.replace('_', '-')}"
    return [flag] if value is True else [flag, value]


def least(corpus: Path, config: Word2VecConfig) -> int:
    """Return the least memory that a training accepts, in MiB."""
    opened = Corpus.open(corpus)
    return least_of(
        lambda memory: build_trainer(opened, dataclasses.replace(config, memory=memory)).allocate()
    )


def peak(bound: str | None, command: str, *words: object) -> dict[str, Any]:
    """Run a command within a bound; return its peak and the bound."""
    more = [] if bound is None else ["--memory", bound]
    again = ["--force"] if "--out" in words else []
    found = measured(command, *words, *more, *again)
    limit = {} if bound is None else {"bound_bytes": parse_memory(bound)}
    return {"anonymous_bytes": found["anonymous_bytes"], **limit}


def main() -> None:
    """Measure all commands."""
    arguments = harness.parse(__doc__, more=_own_options)
    for n_words in (_SHORT, arguments.millions * 1_000_000):
        with tempfile.TemporaryDirectory(dir=arguments.folder) as folder:
            found = rows(Path(folder), n_words)
    keys = ("bound_bytes", "anonymous_bytes")
    print_table(
        ["command", "bound, MB", "peak, MB"],
        [
            [name, *(f"{each.get(key, 0) / 1e6:,.0f}" for key in keys)]
            for name, each in found.items()
        ],
    )  # fmt: skip
    if arguments.json:
        about = {"benchmark": "memory", "million_words": arguments.millions}
        write_json(arguments.json, {**about, "results": found, **harness.machine()})


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the size of the text, and where it is."""
    parser.add_argument("--millions", type=int, default=10)
    parser.add_argument("--folder", type=Path, help="by default the system's temporary one")


if __name__ == "__main__":
    main()
