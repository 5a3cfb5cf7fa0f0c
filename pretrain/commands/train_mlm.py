"""``firth train-mlm``: train a contextual encoder by masked or causal language modeling."""

import dataclasses
import math
from pathlib import Path
from typing import TYPE_CHECKING

import click
from click.core import ParameterSource

from firth.corpora.common.command import Command
from firth.embed.commands.training import TrainingRequest, size, training_options
from firth.embed.runs.seeds import KEPT
from firth.pretrain.config import PRESETS, MlmConfig
from firth.pretrain.mixers import ATTENTION
from firth.pretrain.objectives import MASKED

if TYPE_CHECKING:  # it imports numba
    from firth.corpora.store.corpus import Corpus

# presets that learn more than larger ones in fewer minutes times cores (docs/methods/mlm.md)
_BEST_BELOW = {"tiny": 15.0, "micro": 50.0}
_ENOUGH_TOKENS = 50_000_000  # of training text, to judge the method by its results


@click.command("train-mlm", cls=Command)
@training_options("train-mlm", MlmConfig, skip=("dropout",))
def command(request: TrainingRequest[MlmConfig]) -> None:
    """Train an encoder by masked or causal language modeling, like BERT or GPT.

    CORPUS is a corpus, or a source of text that is first built in a cache. If
    interrupted, run the same command to resume. The run can be used like any
    other: its vectors join each word's count vector with what the model
    predicts in its place. With --objective causal, each piece is predicted from
    those before it, and `firth generate` continues texts; with mixed, one model
    does both; with denoise, a decoder predicts hidden spans; with transduce, the
    targets of pairs; with point, it puts words in order. For several GPUs, start
    it with torchrun. With --continue, weights that are trained already learn
    more: from the same text, or from another.

    \b
    Example:
        firth build-corpus wiki-sample --out out/wiki
        firth train-mlm out/wiki --preset tiny --dry-run
        firth train-mlm out/wiki --preset tiny --out out/mlm
        firth neighbors out/mlm king
        firth train-mlm letters.txt --continue out/mlm --epochs 3 --out out/letters
        firth train-mlm out/wiki --objective causal --preset tiny --out out/clm
        firth generate out/clm "the sea"
        torchrun --nproc-per-node 2 -m firth train-mlm out/wiki --out out/mlm2
    """
    from firth.corpora.common.reporting import note

    given, config = click.get_current_context().get_parameter_source, request.config
    if config.continue_ is not None:
        from firth.pretrain.training.origin import continued

        typed = [name for name in vars(config) if given(name) is ParameterSource.COMMANDLINE]
        config = continued(config, typed)
    config = config.resolved()
    request = dataclasses.replace(request, config=config)
    if (better := _better_preset(config)) is not None:
        note(f"in so short a time --preset {better} learns more than {config.preset}")
    if request.dry_run:
        from firth.pretrain.training.dry_run import estimate_mlm

        request.print_plan(estimate_mlm(_open_corpus(request), config))
    else:
        _train(request)


def _better_preset(config: MlmConfig) -> str | None:
    """Return the smaller preset that learns more in the minutes of a config, if one does.

    Measured with attention and masks, on a CPU.
    """
    from firth.corpora.common.device import choose_device
    from firth.corpora.common.threads import thread_count

    usual = (config.mixer, config.objective) == (ATTENTION, MASKED)
    if (
        config.minutes is None
        or config.preset not in PRESETS
        or config.continue_ is not None
        or not usual
        or choose_device(config.device) != "cpu"
    ):
        return None
    work = config.minutes * thread_count(config.threads)
    best = next((name for name, limit in _BEST_BELOW.items() if work < limit), config.preset)
    return best if PRESETS[best].layers < config.size.layers else None


def _open_corpus(request: TrainingRequest[MlmConfig]) -> "Corpus":
    """Open the corpus, or build it with the text settings of what the training goes on from."""
    from firth.pretrain.training.origin import text_of_origin

    return request.open_corpus(request.config.device, text_of_origin(request.config))


def _train(request: TrainingRequest[MlmConfig]) -> None:
    """Train the runs that are not finished, and print a summary of each.

    Of several processes the first decides and prints; the others wait while it builds a corpus.
    """
    import torch

    from firth.corpora.common.reporting import note
    from firth.embed.runs.writer import settings_for
    from firth.pretrain.device import choose_device
    from firth.pretrain.train import make_mlm_run
    from firth.pretrain.training.autotune import batch_rows
    from firth.pretrain.training.distributed import process_group

    runs, config = request.runs, request.config
    with process_group(config.device) as group:
        device = choose_device(config.device, group.local_rank)
        with group.first_ahead():
            corpus, finished = _open_corpus(request), frozenset[Path]()
            if group.is_first:
                least = settings_for(config, corpus)["min_count"]
                chosen = {"batch": batch_rows(config, device, group), "min_count": least}
                finished = runs.finished(corpus.fingerprint, chosen)
        for run, seeded in runs.configs().items():
            kept = bool(group.broadcast(run in finished))
            if not kept:
                make_mlm_run(corpus, seeded, run, force=runs.force)
                if runs.seeds is not None:  # compiled code would change the next run's tuning
                    torch.compiler.reset()
            if group.is_first:
                click.echo(f"{run}: {KEPT}" if kept else summary(run))
                if not kept and (shares := step_time(run)):
                    note(shares)
        if group.is_first and runs.seeds is not None:
            click.echo(runs.hint())


def summary(run: Path) -> str:
    """Describe a run and its held-out score."""
    from firth.corpora.artifacts.metrics import METRICS, HeldOutLoss, read_metrics
    from firth.corpora.common.console import human
    from firth.embed.runs.run import CONTINUED, Run
    from firth.pretrain.objectives import MASKED, parse_objective

    last = [line for line in read_metrics(run / METRICS) if "held_out_loss" in line][-1]
    loss = HeldOutLoss.from_line(last)
    kind, _ = parse_objective(Run.open(run).options.get("objective", MASKED))
    baseline = "chance" if kind.points else "unigram baseline"
    text = (
        f"{size(run)}, held-out loss {loss}{loss.warning} ({baseline} "
        f"{last['unigram_loss']:.{loss.decimals}f}), accuracy {last['held_out_accuracy']:.1%} "
        f"({last['unigram_accuracy']:.1%})"
    )
    if "causal_held_out_loss" in last:
        causal = HeldOutLoss.from_line(
            {name.removeprefix("causal_"): last[name] for name in last if "causal_" in name}
        )
        text += f"; causal held-out loss {causal}, accuracy {last['causal_held_out_accuracy']:.1%}"
    if bits := last.get("held_out_bits_per_character"):
        error = last.get("held_out_bits_standard_error")  # None of one unit
        error = math.nan if error is None else error
        text += f", {HeldOutLoss(bits, error, loss.n_units)} bits per character"
    continued = Run.open(run).entries(CONTINUED)
    for name, losses in continued.items():
        before, after = (HeldOutLoss.from_line(losses[when]) for when in ("before", "after"))
        text += f"\nheld-out loss of the {name.replace('_', ' ')} before {before}, after {after}"
    if last["tokens"] < _ENOUGH_TOKENS and not continued:  # what came before is not counted
        text += (
            f"\ntoo little training text to judge the method: {human(last['tokens'])} tokens; "
            f"results become meaningful from about {human(_ENOUGH_TOKENS)}"
        )
    return text


def step_time(run: Path) -> str:
    """Say which parts of a step took how much of the time; empty if no step was measured."""
    from firth.corpora.artifacts.metrics import METRICS, read_metrics
    from firth.pretrain.training.session import PARTS

    lines = [line for line in read_metrics(run / METRICS) if PARTS[-1] in line]
    if not lines:
        return ""
    shares = {part: sum(line[part] for line in lines) / len(lines) for part in PARTS}
    named = ", ".join(f"{part.replace('_', ' ')} {share:.0%}" for part, share in shares.items())
    return f"{run}: of the time of a step, {named}"
