"""Pairs of words: inflection (SIGMORPHON 2018) and grapheme to phoneme (SIGMORPHON 2020).

A small model of each set on one core, scored on the test file: exact match and edit distance,
greedy and with a beam, beside the source as it is and, for inflection, rules of affixes
(affix_rules.py), with the processor time of the training.

    python benchmarks/bench_transduce.py --json benchmarks/results/transduce.json
    python benchmarks/bench_transduce.py --sets german-low --steps 50 --part dev
"""

import argparse
import lzma
import tempfile
import time
from pathlib import Path
from typing import Any

import harness
import roles
from affix_rules import AffixRules

from firth.corpora.artifacts.artifact import write_json
from firth.corpora.common.console import print_table
from firth.corpora.encoding.build import build_corpus
from firth.corpora.encoding.request import BuildOptions
from firth.corpora.text.segment import TextSettings
from firth.pretrain.config import MlmConfig
from firth.pretrain.inference.mlm_encoder import open_transducer
from firth.pretrain.inference.pair_scores import read_sources, score_pairs
from firth.pretrain.train import make_mlm_run

SETS = ("german-medium", "german-high", "english-medium", "english-high", "fre", "dut", "hin")
BEAM = 5


def main() -> None:
    """Train, score and write the results."""
    arguments = harness.parse(__doc__, more=own_options)
    document: dict[str, Any] = {"machine": harness.machine(), "results": []}
    document["machine"].pop("command")  # has paths
    for name in arguments.sets:
        for mixer in arguments.mixers:
            document["results"].append(measured(name, mixer, arguments))
            if arguments.json:
                write_json(arguments.json, document)
    rows = [
        (cell["set"], cell["mixer"], *(f"{cell[who]['exact'][0]:.3f}" for who in shown(cell)))
        for cell in document["results"]
    ]
    print_table(("set", "mixer", "greedy", "beam", "source", "rules"), rows)


def own_options(parser: argparse.ArgumentParser) -> None:
    """Add what is trained."""
    parser.add_argument("--sets", nargs="+", default=SETS)
    parser.add_argument("--mixers", nargs="+", default=("attention",))
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--preset", default="tiny")
    parser.add_argument("--objective", default="transduce")
    parser.add_argument("--part", choices=("dev", "test"), default="test", help="that is scored")


def shown(cell: dict[str, Any]) -> list[str]:
    """Return which scores are columns of the table."""
    return [who for who in ("greedy", "beam", "source", "rules") if who in cell]


def measured(name: str, mixer: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """Train on a set and score its test file."""
    train, test = files_of(name, arguments.part)
    config = MlmConfig(
        objective=arguments.objective, preset=arguments.preset, mixer=mixer, steps=arguments.steps,
        sequence_length=64, threads=1, device="cpu",
    )  # fmt: skip
    with tempfile.TemporaryDirectory() as folder:
        corpus = build_corpus(
            train, f"{folder}/corpus", words=TextSettings(pattern="pairs"),
            options=BuildOptions(held_out=0.02),
        )  # fmt: skip
        start = time.process_time()
        transducer = open_transducer(make_mlm_run(corpus, config, Path(folder) / "run"), "cpu")
        seconds = time.process_time() - start
        sources, targets = read_sources(transducer, test, pairs=True)
        answers = {"source": [source.partition("\t")[0] for source in sources]}
        for who, beam in (("greedy", 1), ("beam", BEAM)):
            answers[who] = [row[0].target for row in transducer.transduce(sources, beam=beam)]
    if "-" in name:
        lines = (line.split("\t") for line in text_of(train).splitlines())
        rules = AffixRules((lemma, form, tags) for lemma, form, tags in lines)
        answers["rules"] = [rules.form(*source.split("\t")) for source in sources]
    scores = {who: score_pairs(transducer, texts, targets) for who, texts in answers.items()}
    return {
        "set": name, "mixer": mixer, "preset": arguments.preset, "steps": arguments.steps,
        "objective": arguments.objective, "part": arguments.part, "pairs": len(targets),
        "processor_seconds": seconds, **scores,
    }  # fmt: skip


def files_of(name: str, part: str) -> tuple[Path, Path]:
    """Return the file of training pairs of a set, and that of others."""
    language, _, size = name.partition("-")
    folder = roles.open_file("transduction/" + ("inflection" if size else "g2p"))
    if not size:
        return folder / f"{name}_train.tsv", folder / f"{name}_{part}.tsv"
    train = next(folder.glob(f"{language}-train-{size}.tsv*"))
    return train, folder / f"{language}-{part}.tsv"


def text_of(path: Path) -> str:
    """Return the text of a file, which may be compressed."""
    opener = lzma.open if path.suffix == ".xz" else open
    with opener(path, "rt", encoding="utf-8") as file:
        return str(file.read())


if __name__ == "__main__":
    main()
