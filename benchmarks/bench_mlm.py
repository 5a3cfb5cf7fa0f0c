"""Masked-LM pretraining on one device: is it right, how fast, how good; in one command.

checks     the loss on the device is a CPU's, in every way it can be computed; batches are the same;
           gradients in parts and a resumed training are the whole's; Hugging Face's loss is ours.
steps      tokens a second of the trainer's own step beside Hugging Face's model of the same layout,
           shape and batch, BertForMaskedLM or ModernBertForMaskedLM with sparse prediction, all in
           bfloat16, in turns; MFU, share of waiting for data, memory.
           Rows are one segment each: so both compute the same loss, which is verified.
spans      the time of one layer of truncated attention by length and span, beside a dense mask.
quality    with --quality CORPUS: an encoder trained for --minutes by the trainer, or with
           --quality RUN an existing run: held-out accuracy, and its scores beside its start and the
           runs --beside, with --untrained also the encoder before its training: similarity,
           analogies, words in context, tags, minimal pairs. --role tuning scores on the sets that
           settings may be chosen on.
curves     with --curve NAME MINUTES RUN: the held-out scores of a run by step, and by minute if its
           steps take MINUTES in all.
held_out   with --held-out CORPUS RUN...: the loss of each run on the held-out text of one corpus,
           to compare runs of versions that hold out other documents.
pool       with --pool RUN: words of the run's corpus that a core pools a second, by the run's own
           encoder and by its export through transformers.

Every number goes to --json, which is written after each part. The status is 1 if a check fails.
"""

import argparse
import importlib.metadata
import importlib.util
import json
import statistics
import sys
import tempfile
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import harness
import mlm_checks
import mlm_quality
import mlm_spans
import mlm_steps
import roles
import torch

from firth.corpora.artifacts.metrics import HeldOutLoss
from firth.corpora.common.console import print_table
from firth.corpora.store.corpus import Corpus
from firth.embed.compare.config import CompareConfig
from firth.embed.contextual.encoders import open_encoder
from firth.embed.contextual.pooling import PoolConfig, pool_words
from firth.embed.runs.run import Run
from firth.pretrain.device import choose_device, device_name, matmul_peak
from firth.pretrain.huggingface.export import write_huggingface
from firth.pretrain.shape import NORMS

PARTS = ("checks", "steps", "spans", "quality", "curves", "held_out", "pool")
ROLE = roles.REPORTING
# The sets of --quality, by role.
SETS: dict[roles.Role, dict[str, tuple[str, ...]]] = {
    roles.REPORTING: {
        "similarity": ("ws353", "simlex999"), "analogy": ("questions-words",),
        "contexts": ("scws",), "minimal-pairs": ("blimp-reporting",),
    },
    roles.TUNING: {
        "similarity": ("mturk287", "rg65"), "analogy": ("msr",),
        "minimal-pairs": ("blimp-tuning",),
    },
}  # fmt: skip
TWO_TAGS = "two-tags"  # a small set of ambiguous words
TAGGING = {roles.REPORTING: ("train", "dev", "test"), roles.TUNING: ("train", "dev")}
_QUICK_OPTIONS = {
    "preset": "1/32/2", "pieces": "300", "sequence_length": 32, "batch": 8,
    "steps": 5, "compile": "off", "dtype": "float32", "min_count": 2,
}  # fmt: skip
_QUICK_PAIR = {"UID": "quick", "sentence_good": "the cat sat .", "sentence_bad": "cat the . sat"}


def main() -> None:
    """Run the requested parts."""
    arguments = harness.parse(__doc__, repeats=5, more=_own_options)
    device = choose_device(arguments.device)
    if arguments.threads:
        torch.set_num_threads(arguments.threads)
    found: dict[str, Any] = {
        "benchmark": "mlm",
        "device": device_name(device),
        "threads": torch.get_num_threads(),
        "quick": arguments.quick,
        "packages": {
            name: importlib.metadata.version(name)
            for name in ("torch", "transformers", "triton")
            if importlib.util.find_spec(name)
        },
        "peak_flops": {
            name: matmul_peak(device, dtype)
            for name, dtype in (("float32", torch.float32), ("bfloat16", torch.bfloat16))
        },
    }
    runs = {"checks": run_checks, "steps": run_steps, "spans": run_spans, "quality": run_quality,
            "curves": run_curves, "held_out": run_held_out, "pool": run_pool}  # fmt: skip
    for part in arguments.parts:
        if part == "quality" and not (arguments.quality or arguments.quick):
            continue
        for name, value in runs[part](arguments, device):
            found.setdefault(part, {})[name] = value
            _write(arguments.json, found)
    if not all(check["holds"] for check in found.get("checks", {}).values()):
        sys.exit("a check failed")


def run_checks(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Yield the checks as they finish."""
    every = []
    for check in mlm_checks.checks(device, compiled=arguments.compile and not arguments.quick):
        every.append([check.name, f"{check.difference:.2g}", f"{check.limit:.0e}",
                      "yes" if check.holds else "NO"])  # fmt: skip
        yield check.name, check.to_json()
    print_table(["check", "difference", "at most", "holds"], every)


def run_steps(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Yield the results of each case."""
    kind = "quick" if arguments.quick else device.type
    for name, case in mlm_steps.CASES[kind].items():
        if arguments.cases and name not in arguments.cases:
            continue
        found = mlm_steps.compare_steps(
            case,
            device,
            compiled=arguments.compile and not arguments.quick,
            steps=1 if arguments.quick else arguments.steps,
            repeats=2 if arguments.quick else arguments.repeats,
            norms=arguments.norms,
        )
        rows = [
            [who, f"{one['tokens_per_second']:,.0f}",
             "-".join(f"{speed:,.0f}" for speed in one["tokens_per_second_spread"]),
             _percent(one.get("mfu")), _percent(one.get("data_share")),
             f"{one['step_bytes'] / 1e9:.1f}" if "step_bytes" in one else "-"]
            for who, one in found["contestants"].items()
        ]  # fmt: skip
        columns = ["", "tokens/s", "spread", "MFU", "data", "GB"]
        print_table(columns, rows, title=f"{name}: {case.rows} x {case.length} slots a step")
        for ratio, value in found["ratios"].items():
            print(f"{ratio}: {value:.2f}")
        yield name, found


def run_spans(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Yield the results for truncated attention."""
    lengths, widths = ((64, 128), (8, 16)) if arguments.quick else (
        (512, 1024, 2048), (8, 16, 32, 64, 128),
    )  # fmt: skip
    found = mlm_spans.spans(
        device,
        rows=32 if device.type == "cuda" else 4,
        span=widths[1],
        lengths=lengths,
        spans=widths,
        repeats=2 if arguments.quick else arguments.repeats,
    )
    rows = [
        [length, *(f"{seconds * 1e3:.2f}" for seconds in ways.values())]
        for length, ways in found["seconds_by_length"].items()
    ]
    ways = list(next(iter(found["seconds_by_length"].values())))
    print_table(["length", *(f"{way}, ms" for way in ways)], rows, title=f"span {found['span']}")
    for name in ("exponent_of_a_slot_in_the_length", "exponent_in_the_span"):
        print(f"{name}: " + ", ".join(f"{way} {value:.2f}" for way, value in found[name].items()))
    yield from found.items()


def run_quality(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Train, or use an existing run, and score it."""
    with tempfile.TemporaryDirectory() as scratch:
        folder = Path(scratch)
        if arguments.quick and not arguments.quality:
            sets = _prepare_quick(arguments, folder)
        else:
            sets = _sets(arguments)
        run = Path(arguments.quality)
        if not (run / "model.safetensors").is_file():
            out = arguments.out or folder / "run"
            run = mlm_quality.train(
                run, out, arguments.options, arguments.minutes, arguments.device
            )
        beside = [*arguments.beside]
        if arguments.untrained:
            beside.append(mlm_quality.untrained(run, folder / f"{run.name}-untrained"))
        found = mlm_quality.quality(run, beside, sets)
    training = found["training"]
    print(f"held out: loss {HeldOutLoss.from_line(training)}, "
          f"unigrams {training['unigram_loss']:.3f}"
          f", accuracy {training['held_out_accuracy']:.3f}")  # fmt: skip
    print_table(["task", "set", "metric", "run", "score"], [
        [each["task"], each["dataset"], each["metric"], each["run"], f"{each['score']}"]
        for each in found["results"]
    ])  # fmt: skip
    yield from found.items()


def _sets(arguments: argparse.Namespace) -> CompareConfig:
    """Return the sets of a role."""
    role, kinds = arguments.role, arguments.kinds
    files = roles.set_names(
        {kind: names for kind, names in SETS[role].items() if not kinds or kind in kinds}, role=role
    )
    if arguments.blimp:
        others = (name for name in files if not name.startswith("minimal-pairs="))
        files = (*others, f"minimal-pairs={arguments.blimp}")
    parts = [str(roles.open_set(f"ud-ewt-{part}", role=role)) for part in TAGGING[role]]
    if not kinds or "tagging" in kinds:
        files = (*files, f"tagging={','.join(parts)}")
    if TWO_TAGS in kinds:
        files = (*files, TWO_TAGS)
    return CompareConfig(sets=files, limit=arguments.pairs)


def run_curves(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Yield the curve of each run."""
    for name, minutes, run in arguments.curve:
        found = mlm_quality.curve(Path(run), float(minutes))
        last = found["held_out"][-1]
        print(f"{name}: held-out loss {last['held_out_loss']:.3f} after {last['step']:,} steps")
        yield name, found


def run_held_out(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Yield the score of each run on the text of the first path."""
    for run in arguments.held_out[1:]:
        found = mlm_quality.held_out_score(run, arguments.held_out[0], arguments.device)
        print(f"{run.name}: held-out loss {found['held_out_loss']:.3f}, "
              f"accuracy {found['held_out_accuracy']:.3f}")  # fmt: skip
        yield run.name, found


def run_pool(arguments: argparse.Namespace, device: torch.device) -> Iterator[tuple[str, Any]]:
    """Yield the speed of the encoders of each run, which take turns."""
    torch.set_num_threads(1)
    for run in arguments.pool:
        with tempfile.TemporaryDirectory() as folder:
            export = Path(folder) / "export"
            write_huggingface(run, export)
            encoders = {"own": run, "export": export}
            speeds: dict[str, list[float]] = {name: [] for name in encoders}
            for name in harness.turns(list(encoders), arguments.repeats):
                speeds[name].append(pool_speed(encoders[name], Run.open(run).corpus()))
        means = {name: statistics.mean(each) for name, each in speeds.items()}
        print(f"{run.name}: " + ", ".join(f"{name} {mean:,.0f}" for name, mean in means.items()))
        yield run.name, {"words_per_second": means, "runs": speeds}


def pool_speed(encoder: Path, corpus: Corpus) -> float:
    """Return the words that are pooled in a second of processor time."""
    opened = open_encoder(encoder, "cpu")
    begun = time.process_time()
    words: int = pool_words(opened, corpus, PoolConfig()).info["tokens"]
    return words / (time.process_time() - begun)


def _prepare_quick(arguments: argparse.Namespace, folder: Path) -> CompareConfig:
    """Make a random corpus to train on; return sentence pairs and a similarity set to score."""
    from firth.corpora.datasets.synthetic import SyntheticConfig, write_gold, write_synthetic
    from firth.corpora.encoding.pipeline import encode_corpus
    from firth.corpora.encoding.request import BuildOptions, make_request
    from firth.corpora.reading.text_blocks import ReadOptions

    write_synthetic(folder / "text.txt", SyntheticConfig(n_tokens=6000))
    read, options = ReadOptions(documents="block"), BuildOptions(held_out=0.1, threads=1)
    request = make_request([folder / "text.txt"], read=read, options=options)
    arguments.quality = encode_corpus(request, folder / "corpus").path
    arguments.options = _QUICK_OPTIONS
    (folder / "pairs.jsonl").write_text(json.dumps(_QUICK_PAIR) + "\n")
    gold, pairs = write_gold(folder / "gold")[0], folder / "pairs.jsonl"
    return CompareConfig(sets=(f"similarity={gold}", f"minimal-pairs={pairs}"))


def _percent(share: float | None) -> str:
    return "-" if share is None else f"{share:.1%}"


def _write(path: Path | None, found: dict[str, Any]) -> None:
    """Write all results so far, with the machine."""
    if path is not None:
        value = {**harness.machine(), **found}
        path.write_text(json.dumps(value, indent=1, ensure_ascii=False, default=str) + "\n")


def _own_options(parser: argparse.ArgumentParser) -> None:
    """Add the options of this benchmark."""
    parser.add_argument("--device", choices=("cpu", "cuda"), default="cpu")
    parser.add_argument(
        "--quick", action="store_true", help="tiny shapes, not compiled: only whether it runs"
    )
    parser.add_argument("--parts", nargs="+", choices=PARTS, default=PARTS)
    parser.add_argument("--cases", nargs="+", help="only these cases, by name")
    parser.add_argument(
        "--norms", nargs="+", choices=NORMS, default=NORMS, help="only steps of these layouts"
    )
    parser.add_argument("--steps", type=int, default=4, help="training steps of a measured call")
    parser.add_argument("--threads", type=int, help="of the CPU; torch's choice by default")
    parser.add_argument(
        "--no-compile", dest="compile", action="store_false", help="nothing is compiled"
    )
    parser.add_argument("--quality", type=Path, help="a corpus to train on, or a finished run")
    parser.add_argument("--minutes", type=float, default=8.0, help="of the training")
    parser.add_argument("--options", type=json.loads, default={}, help="train-mlm's, as JSON")
    parser.add_argument("--out", type=Path, help="where the run is kept")
    roles.add_role_option(parser, ROLE)
    parser.add_argument("--blimp", type=Path, help="sentence pairs, .jsonl or .jsonl.xz")
    parser.add_argument("--pairs", type=int, default=0, help="only so many of each paradigm")
    parser.add_argument(
        "--curve", nargs=3, action="append", default=[], metavar=("NAME", "MINUTES", "RUN"),
        help="a run whose held-out scores are stored",
    )  # fmt: skip
    parser.add_argument(
        "--held-out", type=Path, nargs="+", default=[], metavar="PATH", help="a corpus, then runs"
    )
    parser.add_argument("--pool", type=Path, nargs="+", default=[], help="runs to pool, by name")
    parser.add_argument("--beside", type=Path, nargs="+", default=[], help="runs to compare with")
    kinds = (*SETS[ROLE], "tagging", TWO_TAGS)
    parser.add_argument(
        "--kinds", nargs="+", default=[], choices=kinds, help="of sets of --quality"
    )
    parser.add_argument("--untrained", action="store_true", help="compare the untrained encoder")


if __name__ == "__main__":
    main()
